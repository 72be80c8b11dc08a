/* Blocks of image series after a threshold of their singular values: the library's (between guards), the true ones, and
 * the allowed distance.
 *
 * The bound, in the Frobenius norm, for a block of L x k. k is the shorter side or, for "ref", the number of frames.
 * U = 2^-53, S is the block's norm, t the threshold.
 *   Gram matrix   L terms: (L + 2) U S^2. Eigenproblem: about 10 sweeps rotate an element k times each, with 6 U per
 *                 rotation. So its values and vectors are exact for a matrix at the distance 60 k U S^2.
 *                 Together D = (L + 60 k + 100) U S^2.
 *   M f(G)        with f = max(0, 1 - t / sqrt(lambda)), it changes by at most D / (2 t). Between the eigenvectors i
 *                 and j the factor is s_i |f_i - f_j| / |s_i^2 - s_j^2| <= 1 / (2 t), in all three cases of s_i, s_j
 *                 and t. It also changes by at most sqrt(k D), because singular values that are wrongly dropped or
 *                 kept have s^2 <= D.
 *   the product   vectors that are not exactly orthonormal, 60 k U each, and sums of k terms, twice: (130 k + 10)
 *                 sqrt(k) U S.
 *   rounding      u |Z|, u = 2^-24 or U.
 * The sum of the singular values has an error of sum_i min(sqrt(D), D / s_i), and a relative rounding error of k U.
 * Second-order terms, and the error of the reference decomposition, 100 k U S: 1 %, and twice the product's error. */
#ifndef LOW_RANK_FIXTURE_H
#define LOW_RANK_FIXTURE_H

#include "free_all.h"
#include "low_rank.h"
#include "queue_fixture.h"
#include "svd_fixture.h"

enum { GUARD = 32 };

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline double complex number(double re, double im)
{
    const double parts[2] = {re, im};
    double complex v;
    memcpy(&v, parts, sizeof v);
    return v;
}

/* Parts in [-1, 1], in single precision. */
static inline double complex random_number(void)
{
    volatile float re = (float)(2 * uniform() - 1), im = (float)(2 * uniform() - 1);
    return number((double)re, (double)im);
}

/* ---- the device's side ---- */

typedef struct problem {
    int64_t counts[4], block[3], shift[3];
    vf_dtype type;
} problem;

static inline int64_t voxels_of(const problem *p)
{
    return p->counts[0] * p->counts[1] * p->counts[2];
}

static inline int64_t size_of(const problem *p)
{
    return voxels_of(p) * p->counts[3];
}

static inline vf_array upload(const problem *p, const double complex *values, vf_array *host)
{
    const int64_t n = size_of(p);
    vf_array array = {0};
    *host = (vf_array){0};
    need(vf_array_create(device, VF_SPACE_DEVICE, p->type, n + 2 * GUARD, &array));
    need(vf_array_create(device, VF_SPACE_PINNED, p->type, n + 2 * GUARD, host));
    for (int64_t i = -GUARD; i < n + GUARD; i++) {
        const double complex v = i >= 0 && i < n ? (values ? values[i] : number(NAN, NAN)) : (double)(12345 + i);
        if (p->type == VF_C128)
            ((double complex *)host->data)[i + GUARD] = v;
        else
            ((float complex *)host->data)[i + GUARD] = (float complex)v;
    }
    need(vf_array_copy(queue, &array, host, array.count));
    need(vf_queue_sync(queue));
    return array;
}

static inline void download(const problem *p, vf_array *array, vf_array *host, double complex *values)
{
    need(vf_array_copy(queue, host, array, array->count));
    need(vf_queue_sync(queue));
    for (int64_t i = -GUARD; i < size_of(p) + GUARD; i++) {
        const double complex v = p->type == VF_C128 ? ((double complex *)host->data)[i + GUARD]
                                                    : (double complex)((float complex *)host->data)[i + GUARD];
        if (i >= 0 && i < size_of(p))
            values[i] = v;
        else if (!(creal(v) == (double)(12345 + i) && cimag(v) == 0))
            fail_msg("written to element %lld of %lld", (long long)i, (long long)size_of(p));
    }
    vf_array_free(array);
    vf_array_free(host);
}

/* z, and the norm of v. */
static inline double complex *threshold(const problem *p, const char *variant, double t, bool in_place,
                                        const double complex *v, double *norm)
{
    vf_array host_in, host_out, in = upload(p, v, &host_in), out = upload(p, NULL, &host_out);
    double complex *z = room(size_of(p), sizeof *z), *same = room(size_of(p), sizeof *same);
    vf_low_rank *plan;
    *norm = NAN;
    need(vf_low_rank_create(device, p->type, p->counts, p->block, variant, &plan));
    void *from = vf_array_at(&in, GUARD);
    need(vf_low_rank_norm(plan, queue, p->shift, from, norm));
    need(vf_low_rank_threshold(plan, queue, p->shift, t, from, in_place ? from : vf_array_at(&out, GUARD)));
    need(vf_queue_sync(queue));
    vf_low_rank_destroy(plan);
    download(p, &in, &host_in, same);
    download(p, &out, &host_out, z);
    if (in_place)
        memcpy(z, same, (size_t)size_of(p) * sizeof *z);
    else if (memcmp(same, v, (size_t)size_of(p) * sizeof *z) != 0)
        fail_msg("the input was written to");
    free(same);
    return z;
}

/* The variants of this device that this machine can run, followed by NULL. */
static inline const char *variant_name(int index)
{
    static const char *const names[] = {"simd", "baseline", "avx2", "avx512", "ref", NULL};
    if (vf_device_get_kind(device) != VF_DEVICE_CPU)
        return index == 0 ? vf_device_get_kind(device) == VF_DEVICE_CUDA ? "cuda" : "opencl" : NULL;
    return names[index];
}

/* ---- the true result ---- */

/* Lists the voxels of one block, by the header's definition; returns their number. */
static inline int64_t list_block(const problem *p, int64_t block, int64_t *list)
{
    int64_t count = 0;
    for (int64_t n = 0; n < voxels_of(p); n++) {
        int64_t rest = n, number_of = 0, step = 1;
        for (int a = 0; a < 3; a++) {
            const int64_t size = p->counts[a], width = smaller(p->block[a], size);
            const int64_t position = ((rest % size - p->shift[a]) % size + size) % size;
            rest /= size;
            number_of += step * (position / width);
            step *= (size + width - 1) / width;
        }
        if (number_of == block)
            list[count++] = n;
    }
    return count;
}

/* One block as a matrix, its decomposition, and the positions of its elements. */
typedef struct matrix {
    int64_t count, rows, columns; /* count: voxels; columns <= rows */
    double k;                     /* of the bounds */
    bool turned;
    int64_t *list;
    double complex *us, *v, *right; /* true result: thresholded, set by check */
    double *s, norm, sum;           /* Frobenius, nuclear */
} matrix;

static inline int64_t place_of(const problem *p, const matrix *m, int64_t row, int64_t column)
{
    return m->turned ? row * voxels_of(p) + m->list[column] : column * voxels_of(p) + m->list[row];
}

static inline matrix open_matrix(const problem *p, int64_t block, const double complex *x)
{
    matrix m = {.list = room(voxels_of(p), sizeof *m.list)};
    m.count = list_block(p, block, m.list);
    m.turned = m.count < p->counts[3];
    m.rows = m.turned ? p->counts[3] : m.count;
    m.columns = m.turned ? m.count : p->counts[3];
    m.us = room(m.rows * m.columns, sizeof *m.us);
    m.v = room(m.columns * m.columns, sizeof *m.v);
    m.s = room(m.columns, sizeof *m.s);
    for (int64_t i = 0; i < m.rows * m.columns; i++)
        m.us[i] = x[place_of(p, &m, i / m.columns, i % m.columns)];
    m.k = (double)m.columns;
    svd(m.rows, m.columns, m.us, m.s, m.v);
    for (int64_t j = 0; j < m.columns; j++) {
        m.norm += m.s[j] * m.s[j];
        m.sum += m.s[j];
    }
    m.norm = sqrt(m.norm);
    return m;
}

static inline void close_matrix(matrix *m)
{
    FREE_ALL(m->list, m->us, m->right, m->v, m->s);
}

/* Element (row, column) of U diag(max(0, s - t)) V^H. */
static inline double complex thresholded(const matrix *m, double t, int64_t row, int64_t column)
{
    double complex sum = 0;
    for (int64_t j = 0; j < m->columns; j++)
        if (m->s[j] > t)
            sum += (1 - t / m->s[j]) * m->us[row * m->columns + j] * conj(m->v[column * m->columns + j]);
    return sum;
}

/* D and the other bounds; see the head of the file. */
static inline double gram_error(const matrix *m)
{
    return ((double)m->rows + 60 * m->k + 100) * 0x1p-53 * m->norm * m->norm;
}

static inline double allowed_error(const matrix *m, vf_dtype type, double t)
{
    const double k = m->k, d = gram_error(m), u = type == VF_C128 ? 0x1p-53 : 0x1p-24;
    const double lost = t > 0 ? fmin(d / (2 * t), sqrt(k * d)) : sqrt(k * d);
    return 1.01 * (lost + 2 * (130 * k + 10) * sqrt(k) * 0x1p-53 * m->norm + u * m->norm);
}

static inline int64_t blocks_of(const problem *p)
{
    int64_t blocks = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t width = smaller(p->block[a], p->counts[a]);
        blocks *= (p->counts[a] + width - 1) / width;
    }
    return blocks;
}

/* The result of a variant for a series. */
typedef struct outcome {
    const char *variant;
    double complex *z;
    double norm;
    double allowed; /* for the norm */
} outcome;

static inline void check_block(const problem *p, matrix *m, double t, outcome *o)
{
    double off = 0, lost = 0;
    m->k = strcmp(o->variant, "ref") == 0 ? (double)p->counts[3] : (double)m->columns;
    for (int64_t i = 0; i < m->rows * m->columns; i++) {
        const double complex apart = o->z[place_of(p, m, i / m->columns, i % m->columns)] - m->right[i];
        off += creal(apart * conj(apart));
    }
    if (!(sqrt(off) <= allowed_error(m, p->type, t)))
        fail_msg("%s, %s: %lld x %lld, threshold %g: off by %.3g of %.3g, allowed %.3g", o->variant,
                 vf_dtype_name(p->type), (long long)m->rows, (long long)m->columns, t, sqrt(off), m->norm,
                 allowed_error(m, p->type, t));
    for (int64_t j = 0; j < m->columns; j++)
        lost += m->s[j] > 0 ? fmin(sqrt(gram_error(m)), gram_error(m) / m->s[j]) : sqrt(gram_error(m));
    o->allowed += lost + 230 * m->k * m->k * 0x1p-53 * m->norm;
}

/* Checks each block. One decomposition serves all variants. */
static inline void check(const problem *p, double t, const double complex *x, int count, outcome *o)
{
    double right = 0;
    int64_t voxels = 0;
    for (int64_t b = 0; b < blocks_of(p); b++) {
        matrix m = open_matrix(p, b, x);
        m.right = room(m.rows * m.columns, sizeof *m.right);
        for (int64_t i = 0; i < m.rows * m.columns; i++)
            m.right[i] = thresholded(&m, t, i / m.columns, i % m.columns);
        for (int v = 0; v < count; v++)
            check_block(p, &m, t, &o[v]);
        right += m.sum;
        voxels += m.count;
        close_matrix(&m);
    }
    assert_int_equal(voxels, voxels_of(p));
    for (int v = 0; v < count; v++)
        if (!(fabs(o[v].norm - right) <= 1.01 * o[v].allowed + (double)blocks_of(p) * 0x1p-53 * right))
            fail_msg("%s: the norm is %.17g instead of %.17g, allowed %.3g", o[v].variant, o[v].norm, right,
                     o[v].allowed);
}

#endif
