#include <complex.h>
#include <math.h>

#include "voxfield/dense.h"

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

int vf_cholesky(int n, void *matrix, double tolerance)
{
    double complex *a = matrix;
    for (int j = 0; j < n; j++) {
        double pivot = creal(a[j * n + j]), own = pivot;
        for (int k = 0; k < j; k++)
            pivot -= square(a[j * n + k]);
        if (!(pivot > tolerance * own) || !(pivot > 0) || !isfinite(pivot))
            return j;
        double root = sqrt(pivot);
        a[j * n + j] = root;
        for (int i = j + 1; i < n; i++) {
            double complex sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * conj(a[j * n + k]);
            a[i * n + j] = sum / root;
            a[j * n + i] = 0;
        }
    }
    return -1;
}

void vf_invert_lower(int n, void *matrix)
{
    double complex *l = matrix;
    for (int j = 0; j < n; j++) {
        l[j * n + j] = 1 / l[j * n + j];
        for (int i = j + 1; i < n; i++) {
            double complex sum = 0;
            for (int k = j; k < i; k++)
                sum -= l[i * n + k] * l[k * n + j];
            l[i * n + j] = sum / l[i * n + i];
        }
    }
}
