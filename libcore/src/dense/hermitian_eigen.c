#include <complex.h>
#include <math.h>
#include <stddef.h>

#include "voxfield/dense.h"

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* Rotates rows p and q of m, seen as m[row][n]: (p, q) <- (c p - s q, conj(s) p + c q). */
static void rotate_rows(int n, double complex *m, int p, int q, double c, double complex s)
{
    double complex *x = m + (size_t)p * (size_t)n, *y = m + (size_t)q * (size_t)n;
    for (int k = 0; k < n; k++) {
        double complex xk = x[k], yk = y[k];
        x[k] = c * xk - s * yk;
        y[k] = conj(s) * xk + c * yk;
    }
}

/* A <- J A J^H with the rotation J that makes A[p][q] = 0; vectors <- J vectors. */
static void annihilate(int n, double complex *a, double complex *vectors, int p, int q)
{
    double complex apq = a[p * n + q];
    double size = cabs(apq), theta = (creal(a[q * n + q]) - creal(a[p * n + p])) / (2 * size);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1);
    double complex s = t * c * (apq / size);
    rotate_rows(n, a, p, q, c, s);
    for (int k = 0; k < n; k++) { /* the same from the right, conjugated */
        double complex x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - conj(s) * y;
        a[k * n + q] = s * x + c * y;
    }
    a[p * n + q] = a[q * n + p] = 0;
    rotate_rows(n, vectors, p, q, c, s);
}

static void sort_rows(int n, double *values, double complex *vectors)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (values[j] > values[best])
                best = j;
        double value = values[i];
        values[i] = values[best];
        values[best] = value;
        for (int k = 0; k < n && best != i; k++) {
            double complex z = vectors[i * n + k];
            vectors[i * n + k] = vectors[best * n + k];
            vectors[best * n + k] = z;
        }
    }
}

/* From a row of J...J, with J...J A (J...J)^H diagonal, to the eigenvector: its conjugate, up to a phase. */
static void finish_vector(int n, double complex *vector)
{
    int largest = 0;
    for (int k = 1; k < n; k++)
        if (square(vector[k]) > square(vector[largest]))
            largest = k;
    double complex turn = vector[largest] / cabs(vector[largest]);
    for (int k = 0; k < n; k++)
        vector[k] = k == largest ? cabs(vector[k]) : conj(vector[k]) * turn;
}

void vf_hermitian_eigen(int n, void *matrix, double *values, void *rows)
{
    double complex *a = matrix, *vectors = rows;
    /* Convergence is quadratic: 6 to 10 sweeps in practice. The limit only stops for a matrix with NaN. */
    enum { MOST_SWEEPS = 40 };
    double largest = 0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(creal(a[i * n + i])));
        for (int j = 0; j < n; j++)
            vectors[i * n + j] = i == j;
    }
    double negligible = 1e-17 * largest;
    for (int sweep = 0, rotations = 1; sweep < MOST_SWEEPS && rotations > 0; sweep++) {
        rotations = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (cabs(a[p * n + q]) > negligible) {
                    annihilate(n, a, vectors, p, q);
                    rotations++;
                }
    }
    for (int i = 0; i < n; i++)
        values[i] = creal(a[i * n + i]);
    sort_rows(n, values, vectors);
    for (int i = 0; i < n; i++)
        finish_vector(n, vectors + (size_t)i * (size_t)n);
}
