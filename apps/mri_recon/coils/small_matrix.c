#include "small_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

int small_matrix_cholesky(int n, double complex *a, double tolerance)
{
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

void small_matrix_invert_lower(int n, double complex *l)
{
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

void small_matrix_eigen(int n, double complex *a, double *values, double complex *vectors)
{
    /* Convergence is quadratic: 6 to 10 sweeps in practice. The bound only ends a matrix with NaN in it. */
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

enum { BLOCK = 512 }; /* samples at a time: 128 coils of them are 512 KB, in most second-level caches */

/* The matrix times `width` columns that begin at `data`. Single precision: rounding is that of the data's own storage
 * times the number of columns at most. `work` holds columns * 2 * BLOCK numbers. */
static void apply_block(int rows, int columns, const float *matrix, int64_t count, int width, float *restrict work,
                        float complex *data)
{
    for (int j = 0; j < columns; j++)
        for (int m = 0; m < width; m++) {
            work[(2 * j) * BLOCK + m] = crealf(data[j * count + m]);
            work[(2 * j + 1) * BLOCK + m] = cimagf(data[j * count + m]);
        }
    for (int i = 0; i < rows; i++) {
        float re[BLOCK] = {0}, im[BLOCK] = {0};
        for (int j = 0; j < columns; j++) {
            float a = matrix[2 * (i * columns + j)], b = matrix[2 * (i * columns + j) + 1];
            if (a == 0 && b == 0)
                continue; /* of a triangular matrix, half */
            const float *x = work + (2 * j) * BLOCK, *y = x + BLOCK;
            for (int m = 0; m < width; m++) {
                re[m] += a * x[m] - b * y[m];
                im[m] += a * y[m] + b * x[m];
            }
        }
        float *out = (float *)(data + i * count);
        for (int m = 0; m < width; m++) {
            out[2 * m] = re[m];
            out[2 * m + 1] = im[m];
        }
    }
}

vf_status small_matrix_apply(vf_context *ctx, int rows, int columns, const double complex *matrix, int64_t count,
                             float complex *data)
{
    int threads = vf_context_threads(ctx);
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
    if (threads > blocks)
        threads = blocks > 0 ? (int)blocks : 1;
    size_t elements = (size_t)rows * (size_t)columns, per_thread = (size_t)columns * 2 * BLOCK;
    float *small = calloc(2 * elements + (size_t)threads * per_thread, sizeof *small);
    if (!small)
        return vf_fail(ctx, VF_ERR_MEMORY, "mixing %d coils: not enough memory", columns);
    for (size_t e = 0; e < elements; e++) {
        small[2 * e] = (float)creal(matrix[e]);
        small[2 * e + 1] = (float)cimag(matrix[e]);
    }
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < blocks; b++) {
        float *work = small + 2 * elements + (size_t)omp_get_thread_num() * per_thread;
        int64_t first = b * BLOCK;
        int width = count - first < BLOCK ? (int)(count - first) : BLOCK;
        if (!vf_cancelled(ctx))
            apply_block(rows, columns, small, count, width, work, data + first);
    }
    free(small);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
