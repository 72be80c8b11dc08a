/* What becomes of a block's Gram matrix on the host. */
#include <complex.h>
#include <math.h>
#include <stddef.h>

#include "low_rank_backend.h"
#include "voxfield/dense.h"

static double trace(int k, const double complex *gram)
{
    double sum = 0;
    for (int i = 0; i < k; i++)
        sum += creal(gram[(size_t)i * (size_t)k + (size_t)i]);
    return sum;
}

static double singular(double eigenvalue)
{
    return eigenvalue > 0 ? sqrt(eigenvalue) : 0;
}

void low_rank_weigh(int k, double threshold, void *matrix, void *scratch, double *values)
{
    double complex *gram = matrix, *vectors = scratch;
    const size_t n = (size_t)k;
    const double power = trace(k, gram);
    if (!isfinite(power) || power <= threshold * threshold) { /* the largest singular value is at most sqrt(power) */
        for (size_t i = 0; i < n * n; i++)
            gram[i] = isfinite(power) ? 0 : NAN;
        return;
    }
    vf_hermitian_eigen(k, gram, values, vectors);
    for (size_t i = 0; i < n * n; i++)
        gram[i] = 0;
    for (size_t i = 0; i < n && singular(values[i]) > threshold; i++) {
        const double factor = 1 - threshold / singular(values[i]);
        const double complex *v = vectors + i * n;
        for (size_t r = 0; r < n; r++) {
            const double re = factor * creal(v[r]), im = factor * cimag(v[r]);
            double *row = (double *)(gram + r * n);
            const double *other = (const double *)v;
            for (size_t c = 0; c < n; c++) { /* v_r conj(v_c) */
                row[2 * c] += re * other[2 * c] + im * other[2 * c + 1];
                row[2 * c + 1] += im * other[2 * c] - re * other[2 * c + 1];
            }
        }
    }
}

double low_rank_sum(int k, void *gram, void *vectors, double *values)
{
    double sum = 0;
    if (!isfinite(trace(k, gram)))
        return NAN;
    vf_hermitian_eigen(k, gram, values, vectors);
    for (int i = 0; i < k; i++)
        sum += singular(values[i]);
    return sum;
}
