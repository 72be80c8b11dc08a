/* P = 1 - tau Im (A - i tau)^-1, by Gauss-Jordan elimination in blocks of rows, in place. No pivoting is needed: the
 * anti-Hermitian part of A - i tau is definite, and that of every Schur complement is at least as definite. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_internal.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

enum { BLOCK = 32, TILE = 512 };

/* The least truncation: what remains because coil maps are not perfectly smooth. */
static const double LEAST_TAU = 1e-6;

double espirit_truncation(const espirit *e)
{
    return e->task->truncation > 0 ? e->task->truncation : LEAST_TAU;
}

typedef struct panel {
    int64_t n, first;
    int width;
    double dr[BLOCK * BLOCK], di[BLOCK * BLOCK]; /* the inverse of the block on the diagonal */
    double *re, *im;                             /* [width][n] rows of the block, multiplied by that inverse */
    espirit_add_rows *add;
} panel;

/* Inverts a[m][BLOCK] in place. */
static void invert_block(int m, double *re, double *im)
{
    for (int k = 0; k < m; k++) {
        const double x = re[k * BLOCK + k], y = im[k * BLOCK + k], size = x * x + y * y;
        const double px = x / size, py = -y / size;
        re[k * BLOCK + k] = 1;
        im[k * BLOCK + k] = 0;
        for (int j = 0; j < m; j++) {
            const double u = re[k * BLOCK + j], v = im[k * BLOCK + j];
            re[k * BLOCK + j] = u * px - v * py;
            im[k * BLOCK + j] = u * py + v * px;
        }
        for (int i = 0; i < m; i++) {
            if (i == k)
                continue;
            const double fx = re[i * BLOCK + k], fy = im[i * BLOCK + k];
            re[i * BLOCK + k] = im[i * BLOCK + k] = 0;
            for (int j = 0; j < m; j++) {
                re[i * BLOCK + j] -= fx * re[k * BLOCK + j] - fy * im[k * BLOCK + j];
                im[i * BLOCK + j] -= fx * im[k * BLOCK + j] + fy * re[k * BLOCK + j];
            }
        }
    }
}

static espirit_add_rows *const add_rows_of[VF_ISA_COUNT] = {
    espirit_add_rows_baseline,
#if defined(__x86_64__)
    espirit_add_rows_avx2,
    espirit_add_rows_avx512,
#endif
};

/* Columns [from, to) of out += sign * factor[width] * rows[width]. */
static void add_rows(const panel *p, const double *fr, const double *fi, double sign, const double *rr,
                     const double *ri, int64_t from, int64_t to, double *outr, double *outi)
{
    p->add(p->width, p->n, fr, fi, sign, rr, ri, from, to, outr, outi);
}

/* Computes the panel: the inverse of the diagonal block times its rows, with the inverse itself in the block's
 * columns. */
static void make_panel(const espirit *e, panel *p)
{
    const int64_t n = p->n;
    double *ar = e->re + p->first * n, *ai = e->im + p->first * n;
    for (int i = 0; i < p->width; i++)
        for (int j = 0; j < p->width; j++) {
            p->dr[i * BLOCK + j] = ar[i * n + p->first + j];
            p->di[i * BLOCK + j] = ai[i * n + p->first + j];
        }
    invert_block(p->width, p->dr, p->di);
    for (int i = 0; i < p->width; i++) { /* makes the product leave the inverse there */
        memset(ar + i * n + p->first, 0, (size_t)p->width * sizeof *ar);
        memset(ai + i * n + p->first, 0, (size_t)p->width * sizeof *ai);
        ar[i * n + p->first + i] = 1;
    }
    memset(p->re, 0, (size_t)(p->width * n) * sizeof *p->re);
    memset(p->im, 0, (size_t)(p->width * n) * sizeof *p->im);
    for (int i = 0; i < p->width; i++)
        add_rows(p, p->dr + i * BLOCK, p->di + i * BLOCK, 1, ar, ai, 0, n, p->re + i * n, p->im + i * n);
}

static void eliminate(const espirit *e, const panel *p, int64_t row)
{
    double fr[BLOCK], fi[BLOCK];
    double *ar = e->re + row * p->n, *ai = e->im + row * p->n;
    const size_t bytes = (size_t)p->width * sizeof *fr;
    memcpy(fr, ar + p->first, bytes);
    memcpy(fi, ai + p->first, bytes);
    memset(ar + p->first, 0, bytes);
    memset(ai + p->first, 0, bytes);
    for (int64_t from = 0; from < p->n; from += TILE)
        add_rows(p, fr, fi, -1, p->re, p->im, from, from + TILE < p->n ? from + TILE : p->n, ar, ai);
}

static vf_status invert(espirit *e, double *work)
{
    const int64_t n = e->rows;
    panel p = {.n = n, .re = work, .im = work + BLOCK * n, .add = add_rows_of[vf_cpu_isa()]};
    for (p.first = 0; p.first < n && !vf_cancelled(e->ctx); p.first += BLOCK) {
        p.width = n - p.first < BLOCK ? (int)(n - p.first) : BLOCK;
        make_panel(e, &p);
#pragma omp parallel for schedule(static) num_threads(vf_threads_of_plan(e->ctx, e->threads, n *n *BLOCK))
        for (int64_t row = 0; row < n; row++)
            if (row < p.first || row >= p.first + p.width)
                eliminate(e, &p, row);
        memcpy(e->re + p.first * n, p.re, (size_t)(p.width * n) * sizeof *p.re);
        memcpy(e->im + p.first * n, p.im, (size_t)(p.width * n) * sizeof *p.im);
    }
    return vf_cancelled(e->ctx) ? vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* A lower bound of A's largest eigenvalue, by a few steps of the power method; a constant factor does not matter. */
static double largest_eigenvalue(const espirit *e, double *work)
{
    const int64_t n = e->rows;
    double *x = work, *y = work + 2 * n, norm = 0;
    for (int64_t i = 0; i < n; i++) { /* start from the diagonal; the longest column would do as well */
        x[i] = 1;
        x[n + i] = 0;
    }
    for (int step = 0; step < 8; step++) {
        norm = 0;
        for (int64_t r = 0; r < n; r++) {
            double re = 0, im = 0;
            for (int64_t q = 0; q < n; q++) {
                re += e->re[r * n + q] * x[q] - e->im[r * n + q] * x[n + q];
                im += e->re[r * n + q] * x[n + q] + e->im[r * n + q] * x[q];
            }
            y[r] = re;
            y[n + r] = im;
            norm += re * re + im * im;
        }
        norm = sqrt(norm);
        for (int64_t i = 0; i < 2 * n; i++)
            x[i] = norm > 0 ? y[i] / norm : 0;
    }
    return norm;
}

vf_status espirit_projector(espirit *e)
{
    const int64_t n = e->rows;
    double patches = 1, trace = 0;
    for (int a = 0; a < 3; a++)
        patches *= (double)(e->task->block[a] - e->width[a] + 1);
    for (int64_t i = 0; i < n; i++)
        trace += e->re[i * n + i];
    double *work = malloc((size_t)n * 2 * BLOCK * sizeof *work);
    if (!work)
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    const double noise = pow(e->sigma * (sqrt(patches) + sqrt((double)n)), 2);
    const double largest = fmax(largest_eigenvalue(e, work), trace / (double)n);
    const double tau = fmax(noise, espirit_truncation(e) * largest);
    for (int64_t i = 0; i < n; i++)
        e->im[i * n + i] = -tau;
    vf_status status = invert(e, work);
    free(work);
    for (int64_t i = 0; i < n && status == VF_OK; i++)
        for (int64_t j = 0; j <= i; j++) { /* (X - X^H) / 2i, then 1 - tau times that */
            const double re = 0.5 * tau * (e->im[i * n + j] + e->im[j * n + i]);
            const double im = -0.5 * tau * (e->re[i * n + j] - e->re[j * n + i]);
            e->re[i * n + j] = e->re[j * n + i] = (i == j) - re;
            e->im[i * n + j] = -im;
            e->im[j * n + i] = im;
        }
    espirit_tell(e, 0.2);
    return status;
}
