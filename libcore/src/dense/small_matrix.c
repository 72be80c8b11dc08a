#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/dense.h"
#include "voxfield/team_size.h"

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

enum { BLOCK = 512 }; /* numbers of a row at a time: 128 rows of them are 512 KB, in most second-level caches */

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

vf_status vf_mix_rows(vf_context *ctx, int rows, int columns, const void *mix, int64_t count, void *rows_of_data)
{
    const double complex *matrix = mix;
    float complex *data = rows_of_data;
    const int64_t blocks = (count + BLOCK - 1) / BLOCK;
    const int threads = vf_threads_for(ctx, (int64_t)rows * columns * count / 2);
    size_t elements = (size_t)rows * (size_t)columns, per_thread = (size_t)columns * 2 * BLOCK;
    float *small = calloc(2 * elements + (size_t)threads * per_thread, sizeof *small);
    if (!small)
        return vf_fail(ctx, VF_ERR_MEMORY, "mixing %d rows: not enough memory", columns);
    for (size_t e = 0; e < elements; e++) {
        small[2 * e] = (float)creal(matrix[e]);
        small[2 * e + 1] = (float)cimag(matrix[e]);
    }
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
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
