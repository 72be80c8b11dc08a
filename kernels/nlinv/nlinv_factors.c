/* Sums of Fourier series on any grid: a matrix along each axis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nlinv_internal.h"

vf_status nlinv_factor_create(vf_context *ctx, int64_t rows, const double *r, int64_t columns, const double *k,
                              int sign, double scale, nlinv_factor *out)
{
    const size_t count = (size_t)(rows * columns);
    *out = (nlinv_factor){.rows = rows, .columns = columns};
    out->matrix = malloc(count * sizeof *out->matrix);
    out->transpose = malloc(count * sizeof *out->transpose);
    if (!out->matrix || !out->transpose)
        return vf_fail(ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double phase = sign * 2 * M_PI * r[i] * k[j];
            const double complex turn = scale * cos(phase) + scale * sin(phase) * I;
            out->matrix[i * columns + j] = out->transpose[j * rows + i] = turn;
        }
    return VF_OK;
}

void nlinv_factor_free(nlinv_factor *factor)
{
    free(factor->matrix);
    free(factor->transpose);
    *factor = (nlinv_factor){0};
}

/* out += s in. Uses real numbers, because the product of complex numbers in C checks for NaN. */
static void add(int64_t count, double complex s, const double complex *in, double complex *out)
{
    const double re = creal(s), im = cimag(s);
    const double *restrict a = (const double *)in;
    double *restrict y = (double *)out;
    for (int64_t i = 0; i < 2 * count; i += 2) {
        y[i] += re * a[i] - im * a[i + 1];
        y[i + 1] += re * a[i + 1] + im * a[i];
    }
}

/* Applies the factor to `lines` lines along x. */
static void along_x(const nlinv_factor *f, int64_t lines, const double complex *in, double complex *out)
{
    memset(out, 0, (size_t)(lines * f->rows) * sizeof *out);
    for (int64_t l = 0; l < lines; l++)
        for (int64_t j = 0; j < f->columns; j++)
            add(f->rows, in[l * f->columns + j], f->transpose + j * f->rows, out + l * f->rows);
}

/* [before][columns][after] to [before][rows][after] */
static void along(const nlinv_factor *f, int64_t before, int64_t after, const double complex *in, double complex *out)
{
    memset(out, 0, (size_t)(before * f->rows * after) * sizeof *out);
    for (int64_t b = 0; b < before; b++)
        for (int64_t i = 0; i < f->rows; i++)
            for (int64_t j = 0; j < f->columns; j++)
                add(after, f->matrix[i * f->columns + j], in + (b * f->columns + j) * after,
                    out + (b * f->rows + i) * after);
}

size_t nlinv_factors_work(const nlinv_factor f[3])
{
    return (size_t)(f[2].columns * f[0].rows * (f[1].columns + f[1].rows));
}

void nlinv_factors_apply(const nlinv_factor f[3], const double complex *in, double complex *work, double complex *out)
{
    double complex *second = work + f[2].columns * f[1].columns * f[0].rows;
    along_x(&f[0], f[2].columns * f[1].columns, in, work);
    along(&f[1], f[2].columns, f[0].rows, work, second);
    along(&f[2], 1, f[1].rows * f[0].rows, second, out);
}
