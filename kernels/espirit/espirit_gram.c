/* The Gram matrix of patches. An element is a sum over patches p of d_v(p + i) conj(d_v'(p + j)). For one difference j
 * - i, this is the sum of the products d_v(q) conj(d_v'(q + j - i)) over a box. So products are computed once for each
 * pair of coils and difference, and the sums over boxes, which have most of it in common, axis by axis. The work grows with
 * the number of elements, not with elements times patches. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "espirit_internal.h"
#include "voxfield/dense.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

/* Pairs of points in a patch, sorted by their difference. */
typedef struct differences {
    int *first; /* [spans + 1] the first pair of each difference, in `pair` */
    int *pair;  /* [points^2][2] */
} differences;

static int difference_of(const espirit *e, int i, int j)
{
    const int *p = e->offset + 3 * (size_t)i, *q = e->offset + 3 * (size_t)j;
    int at = 0;
    for (int a = 2; a >= 0; a--)
        at = at * e->span[a] + q[a] - p[a] + e->width[a] - 1;
    return at;
}

/* A counting sort; pairs with one difference keep the order of i and j. */
static vf_status sort_pairs(const espirit *e, differences *out)
{
    const int all = e->points * e->points;
    out->first = calloc((size_t)e->spans + 2, sizeof *out->first);
    out->pair = malloc(2 * (size_t)all * sizeof *out->pair);
    if (!out->first || !out->pair)
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int n = 0; n < all; n++)
        out->first[difference_of(e, n / e->points, n % e->points) + 2]++;
    for (int at = 2; at < e->spans + 2; at++)
        out->first[at] += out->first[at - 1];
    for (int n = 0; n < all; n++) {
        const int to = out->first[difference_of(e, n / e->points, n % e->points) + 1]++;
        out->pair[2 * to] = n / e->points;
        out->pair[2 * to + 1] = n % e->points;
    }
    return VF_OK;
}

/* Elements (v, i), (v', j) for one pair of coils and one difference of offsets; `sums` [re, im][z][y][x] of the box of each i. */
static void fill(espirit *e, int v, int w, const differences *by, int at, const double *sums)
{
    const int64_t boxes = (int64_t)e->width[0] * e->width[1] * e->width[2];
    for (int n = by->first[at]; n < by->first[at + 1]; n++) {
        const int i = by->pair[2 * n], j = by->pair[2 * n + 1], *of = e->offset + 3 * (size_t)i;
        const int64_t r = (int64_t)v * e->points + i, s = (int64_t)w * e->points + j;
        const int64_t box = ((int64_t)of[2] * e->width[1] + of[1]) * e->width[0] + of[0];
        e->re[r * e->rows + s] = e->re[s * e->rows + r] = sums[box];
        e->im[r * e->rows + s] = sums[boxes + box];
        e->im[s * e->rows + r] = -sums[boxes + box];
        if (r == s)
            e->im[r * e->rows + r] = 0;
    }
}

static espirit_box_sums *const box_sums_of[VF_ISA_COUNT] = {
    espirit_box_sums_baseline,
#if defined(__x86_64__)
    espirit_box_sums_avx2,
    espirit_box_sums_avx512,
#endif
};

/* The block's real and imaginary parts, `parts` [v][2][samples], and the same with zeros around, `wide` [v][2][padded], so that a
 * sample of any difference is there. */
static void split_block(const espirit *e, double *parts, double *wide)
{
    const int64_t *n = e->task->block, *p = e->padded, padded = p[0] * p[1] * p[2];
    for (int64_t v = 0; v < e->coils; v++)
        for (int64_t q = 0; q < e->samples; q++) {
            const double complex d = e->block[v * e->samples + q];
            const int64_t at[3] = {q % n[0] + e->width[0] - 1, q / n[0] % n[1] + e->width[1] - 1,
                                   q / n[0] / n[1] + e->width[2] - 1};
            const int64_t to = 2 * v * padded + (at[2] * p[1] + at[1]) * p[0] + at[0];
            parts[2 * v * e->samples + q] = wide[to] = creal(d);
            parts[(2 * v + 1) * e->samples + q] = wide[to + padded] = cimag(d);
        }
}

static vf_status fill_all(espirit *e)
{
    const int64_t *n = e->task->block, jobs = (int64_t)e->coils * e->coils * e->spans;
    int64_t padded = 1, boxes = 2;
    for (int a = 0; a < 3; a++) {
        e->padded[a] = n[a] + 2 * (e->width[a] - 1);
        padded *= e->padded[a];
        boxes *= e->width[a];
    }
    const int64_t room = (e->width[2] + 2) * 2 * n[0] * n[1] + e->width[1] * n[0] + boxes;
    differences by = {0};
    double *rooms = malloc((size_t)(e->threads * room) * sizeof *rooms);
    double *parts = malloc((size_t)(2 * e->coils * e->samples) * sizeof *parts);
    double *wide = calloc((size_t)(2 * e->coils * padded), sizeof *wide);
    espirit_box_sums *const sum = box_sums_of[vf_cpu_isa()];
    vf_status status =
        rooms && parts && wide ? sort_pairs(e, &by) : vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    if (status == VF_OK)
        split_block(e, parts, wide);
#pragma omp parallel for schedule(dynamic, 8) num_threads(vf_threads_of_plan(e->ctx, e->threads, jobs * e->samples))
    for (int64_t job = 0; job < (status == VF_OK ? jobs : 0); job++) {
        double *own = rooms + omp_get_thread_num() * room, *sums = own + room - boxes;
        const int v = (int)(job / e->spans / e->coils), w = (int)(job / e->spans % e->coils);
        const int at = (int)(job % e->spans);
        const int d[3] = {at % e->span[0] - e->width[0] + 1, at / e->span[0] % e->span[1] - e->width[1] + 1,
                          at / e->span[0] / e->span[1] - e->width[2] + 1};
        /* Skip if it is the conjugate of another one, or if no two points differ by this. */
        if (w < v || (w == v && at > e->spans / 2) || by.first[at] == by.first[at + 1] || vf_cancelled(e->ctx))
            continue;
        sum(e, parts + 2 * v * e->samples, wide + 2 * w * padded, d, own, sums);
        fill(e, v, w, &by, at, sums);
    }
    free(rooms);
    free(parts);
    free(wide);
    free(by.first);
    free(by.pair);
    if (status == VF_OK && vf_cancelled(e->ctx))
        status = vf_fail(e->ctx, VF_ERR_CANCELLED, "interrupted");
    return status;
}

/* Estimates sigma from the smallest eigenvalues of A, restricted to all coils and as many points of a patch as make 96
 * rows. These eigenvalues are noise, and start at sigma^2 (sqrt M - sqrt n)^2. Their lower quarter is compared. */
static vf_status estimate_sigma(espirit *e)
{
    enum { ROWS = 96 };
    const int points = (int)fmin(e->points, fmax(1, (double)(ROWS / e->coils)));
    const int n = points * e->coils;
    double complex *a = malloc(((size_t)n + 3) * (size_t)n * sizeof *a);
    double *values = malloc((size_t)n * sizeof *values);
    double patches = 1, sum = 0;
    if (!a || !values) {
        free(a);
        free(values);
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    }
    for (int axis = 0; axis < 3; axis++)
        patches *= (double)(e->task->block[axis] - e->width[axis] + 1);
    for (int r = 0; r < n; r++)
        for (int s = 0; s < n; s++) { /* neighbouring points in the middle of the patch */
            const int first = (e->points - points) / 2;
            const int64_t p = (int64_t)(r / points) * e->points + first + r % points;
            const int64_t q = (int64_t)(s / points) * e->points + first + s % points;
            a[r * n + s] = e->re[p * e->rows + q] + e->im[p * e->rows + q] * I;
        }
    vf_hermitian_values(n, a, values, a + (size_t)n * (size_t)n);
    const int least = n - n / 4 < n ? n - n / 4 : n - 1;
    for (int k = least; k < n; k++)
        sum += fmax(values[k], 0) / (n - least);
    const double edge = sqrt(patches) - 0.7 * sqrt(n);
    e->sigma = sqrt(sum) / fmax(edge, 0.3 * sqrt(patches));
    free(a);
    free(values);
    return VF_OK;
}

vf_status espirit_gram(espirit *e)
{
    const size_t bytes = (size_t)e->rows * (size_t)e->rows * sizeof(double);
    e->re = malloc(bytes);
    e->im = malloc(bytes);
    if (!e->re || !e->im)
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    vf_status status = fill_all(e);
    if (status == VF_OK && !(e->sigma > 0))
        status = estimate_sigma(e);
    espirit_tell(e, 0.2);
    return status;
}
