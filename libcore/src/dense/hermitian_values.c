/* Eigenvalues without eigenvectors: Householder reflections make a real tridiagonal matrix (Golub and Van Loan, Matrix
 * Computations, 4th ed., 8.3.1), the QL algorithm with implicit shifts its eigenvalues (the same, 8.3.5; Dubrulle, Martin
 * and Wilkinson, Numer. Math. 12 (1968) 377). That is one pass of n^3 instead of a dozen. */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "voxfield/dense.h"

/* Makes v of column k below the diagonal, so that (1 - v v^H) annihilates it except for its first element, and returns
 * that element's size. |v|^2 is 2; or v is 0. */
static double reflector(int n, const double complex *a, int k, double complex *v)
{
    double largest = 0, sum = 0;
    for (int i = k + 1; i < n; i++) {
        v[i] = a[i * n + k];
        largest = fmax(largest, fmax(fabs(creal(v[i])), fabs(cimag(v[i]))));
    }
    for (int i = k + 1; i < n && largest > 0; i++) {
        v[i] /= largest; /* or squares could leave the range */
        sum += creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]);
    }
    const double length = sqrt(sum), first = largest > 0 ? cabs(v[k + 1]) : 0;
    if (largest > 0) {
        v[k + 1] = first > 0 ? v[k + 1] * ((first + length) / first) : length;
        const double factor = 1 / sqrt(length * (length + first));
        for (int i = k + 1; i < n; i++)
            v[i] *= factor;
    }
    return largest * length;
}

/* A <- (1 - v v^H) A (1 - v v^H) for rows and columns from `first` on: A - v w^H - w v^H, where w = A v - v (v^H A v) / 2.
 * Written with real numbers, without the checks for infinity that C has for products of complex ones. */
static void reflect(int n, double complex *a, int first, const double complex *v, double complex *w)
{
    double self = 0;
    for (int i = first; i < n; i++) {
        const double *row = (const double *)(a + (size_t)i * (size_t)n), *x = (const double *)v;
        double re = 0, im = 0;
        for (int j = first; j < n; j++) {
            re += row[2 * j] * x[2 * j] - row[2 * j + 1] * x[2 * j + 1];
            im += row[2 * j] * x[2 * j + 1] + row[2 * j + 1] * x[2 * j];
        }
        w[i] = re + im * I;
        self += x[2 * i] * re + x[2 * i + 1] * im;
    }
    for (int i = first; i < n; i++)
        w[i] -= 0.5 * self * v[i];
    for (int i = first; i < n; i++) {
        double *row = (double *)(a + (size_t)i * (size_t)n);
        const double *x = (const double *)v, *y = (const double *)w;
        const double vr = x[2 * i], vi = x[2 * i + 1], wr = y[2 * i], wi = y[2 * i + 1];
        for (int j = first; j < n; j++) {
            row[2 * j] -= vr * y[2 * j] + vi * y[2 * j + 1] + wr * x[2 * j] + wi * x[2 * j + 1];
            row[2 * j + 1] -= vi * y[2 * j] - vr * y[2 * j + 1] + wi * x[2 * j] - wr * x[2 * j + 1];
        }
    }
}

/* One sweep from row m up to row l. beside[i] is the element between rows i and i + 1. */
static void sweep(double *d, double *beside, int l, int m)
{
    double g = (d[l + 1] - d[l]) / (2 * beside[l]), s = 1, c = 1, p = 0;
    g = d[m] - d[l] + beside[l] / (g + copysign(hypot(g, 1), g));
    for (int i = m - 1; i >= l; i--) {
        const double f = s * beside[i], b = c * beside[i], r = hypot(f, g);
        beside[i + 1] = r;
        if (r == 0) { /* the matrix fell apart */
            d[i + 1] -= p;
            beside[m] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
    }
    d[l] -= p;
    beside[l] = g;
    beside[m] = 0;
}

static void diagonalise(int n, double *d, double *beside)
{
    enum { MOST_SWEEPS = 60 }; /* 1 or 2 for an eigenvalue in practice; the limit only stops for a matrix with NaN */
    for (int l = 0; l < n; l++)
        for (int i = 0; i < MOST_SWEEPS; i++) {
            int m = l;
            while (m < n - 1 && fabs(d[m]) + fabs(d[m + 1]) + fabs(beside[m]) != fabs(d[m]) + fabs(d[m + 1]))
                m++;
            if (m == l)
                break;
            sweep(d, beside, l, m);
        }
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

void vf_hermitian_values(int n, void *matrix, double *values, void *scratch)
{
    double complex *a = matrix, *v = scratch, *w = v + n;
    double *beside = (double *)(w + n);
    for (int k = 0; k < n; k++) {
        values[k] = creal(a[k * n + k]);
        beside[k] = k + 1 < n ? reflector(n, a, k, v) : 0;
        if (beside[k] > 0 && k + 2 < n)
            reflect(n, a, k + 1, v, w);
    }
    diagonalise(n, values, beside);
    qsort(values, (size_t)n, sizeof *values, descending);
}
