/* The Gram matrix of patches. An element is a sum over patches p of d_v(p + i) conj(d_v'(p + j)). For one difference j
 * - i, this is the sum of the products d_v(q) conj(d_v'(q + j - i)) over a box. So products are computed once for each
 * pair of coils and difference, and the sums over boxes come from running sums. The work grows with the number of
 * elements, not with elements times patches. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "espirit_internal.h"
#include "voxfield/dense.h"
#include "voxfield/team_size.h"

/* Running sums: at n, the sum of the products over all q with every component below n. [n0 + 1] fastest. Where a component
 * of n is 0, they are 0, as they were given. */
static void running_sums(const espirit *e, const double complex *x, const double complex *y, const int *d,
                         double complex *sum)
{
    const int64_t *n = e->task->block, row = n[0] + 1, plane = row * (n[1] + 1);
    for (int64_t q2 = 0; q2 < n[2]; q2++)
        for (int64_t q1 = 0; q1 < n[1]; q1++) {
            const int64_t b1 = q1 + d[1], b2 = q2 + d[2];
            const bool inside = b1 >= 0 && b1 < n[1] && b2 >= 0 && b2 < n[2];
            double complex *out = sum + (q2 + 1) * plane + (q1 + 1) * row + 1, line = 0;
            for (int64_t q0 = 0; q0 < n[0]; q0++) {
                const int64_t b0 = q0 + d[0];
                if (inside && b0 >= 0 && b0 < n[0]) {
                    const double complex u = x[(q2 * n[1] + q1) * n[0] + q0], v = y[(b2 * n[1] + b1) * n[0] + b0];
                    line += creal(u) * creal(v) + cimag(u) * cimag(v) + (cimag(u) * creal(v) - creal(u) * cimag(v)) * I;
                }
                out[q0] = line + out[q0 - row] + out[q0 - plane] - out[q0 - row - plane];
            }
        }
}

static double complex box(const espirit *e, const double complex *sum, const int *first)
{
    const int64_t *n = e->task->block, row = n[0] + 1, plane = row * (n[1] + 1);
    double complex total = 0;
    for (int corner = 0; corner < 8; corner++) {
        int64_t at[3];
        int sign = 1;
        for (int a = 0; a < 3; a++) {
            const bool low = corner >> a & 1;
            at[a] = first[a] + (low ? 0 : n[a] - e->width[a] + 1);
            sign = low ? -sign : sign;
        }
        total += sign * sum[at[2] * plane + at[1] * row + at[0]];
    }
    return total;
}

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

/* Elements (v, i), (v', j) for one pair of coils and one difference of offsets. */
static void fill(espirit *e, int v, int w, const differences *by, int at, const double complex *sum)
{
    for (int n = by->first[at]; n < by->first[at + 1]; n++) {
        const int i = by->pair[2 * n], j = by->pair[2 * n + 1];
        const int64_t r = (int64_t)v * e->points + i, s = (int64_t)w * e->points + j;
        const double complex value = box(e, sum, e->offset + 3 * (size_t)i);
        e->re[r * e->rows + s] = e->re[s * e->rows + r] = creal(value);
        e->im[r * e->rows + s] = cimag(value);
        e->im[s * e->rows + r] = -cimag(value);
        if (r == s)
            e->im[r * e->rows + r] = 0;
    }
}

static vf_status fill_all(espirit *e)
{
    const int64_t *n = e->task->block;
    const size_t table = (size_t)((n[0] + 1) * (n[1] + 1) * (n[2] + 1));
    const int64_t jobs = (int64_t)e->coils * e->coils * e->spans;
    differences by = {0};
    double complex *sums = calloc((size_t)e->threads * table, sizeof *sums);
    vf_status status = sums ? sort_pairs(e, &by) : vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
#pragma omp parallel for schedule(dynamic, 8) num_threads(vf_threads_of_plan(e->ctx, e->threads, jobs * e->samples))
    for (int64_t job = 0; job < (status == VF_OK ? jobs : 0); job++) {
        double complex *sum = sums + (size_t)omp_get_thread_num() * table;
        const int v = (int)(job / e->spans / e->coils), w = (int)(job / e->spans % e->coils);
        const int at = (int)(job % e->spans);
        const int d[3] = {at % e->span[0] - e->width[0] + 1, at / e->span[0] % e->span[1] - e->width[1] + 1,
                          at / e->span[0] / e->span[1] - e->width[2] + 1};
        /* Skip if it is the conjugate of another one, or if no two points differ by this. */
        if (w < v || (w == v && at > e->spans / 2) || by.first[at] == by.first[at + 1] || vf_cancelled(e->ctx))
            continue;
        running_sums(e, e->block + v * e->samples, e->block + w * e->samples, d, sum);
        fill(e, v, w, &by, at, sum);
    }
    free(sums);
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
