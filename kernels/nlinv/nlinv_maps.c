/* From Fourier series to maps on the scan's matrix; and whether the samples distinguish the image from folded
 * copies. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "nlinv_internal.h"
#include "voxfield/team_size.h"

/* Maps fall to 0 where the root of the sum of their squares is below this share of its maximum. */
static const double FADES = 1e-3;

/* ---- maps ---- */

/* The smoothed series of a coil: the sum over virtual coils. */
static void unmix(const nlinv *n, int coil, double complex *out)
{
    memset(out, 0, (size_t)n->terms * sizeof *out);
    for (int v = 0; v < n->coils; v++) {
        const double complex m = n->mix[v * n->task->coils + coil];
        const double complex *a = n->x + n->voxels + v * n->terms;
        for (int64_t i = 0; i < n->terms; i++)
            out[i] += m * n->smooth[i] * a[i];
    }
}

/* The series of one plane: the sum along z at the plane's height. */
static void at_height(const nlinv *n, const double complex *height, const double complex *series, double complex *out)
{
    const int64_t terms = n->series[0] * n->series[1];
    memset(out, 0, (size_t)terms * sizeof *out);
    for (int64_t k = 0; k < n->series[2]; k++)
        for (int64_t i = 0; i < terms; i++)
            out[i] += height[k] * series[k * terms + i];
}

/* `series` [coil][terms]; `work` [threads][each]. */
static void sum_planes(const nlinv *n, const nlinv_factor full[3], const double complex *series, double complex *work,
                       size_t each, float complex *maps)
{
    const int64_t *m = n->task->matrix;
    const int64_t plane = m[0] * m[1], planes = m[2] * n->task->coils;
    double complex one = 1;
    const nlinv_factor factors[3] = {full[0], full[1], {.rows = 1, .columns = 1, .matrix = &one, .transpose = &one}};
#pragma omp parallel for schedule(static) num_threads(vf_threads_of_plan(n->ctx, n->threads, 20 * planes * plane))
    for (int64_t p = 0; p < planes; p++) {
        double complex *sum = work + (size_t)omp_get_thread_num() * each, *flat = sum + plane;
        at_height(n, full[2].matrix + p % m[2] * n->series[2], series + p / m[2] * n->terms, flat);
        nlinv_factors_apply(factors, flat, flat + n->series[0] * n->series[1], sum);
        for (int64_t i = 0; i < plane; i++)
            maps[p * plane + i] = (float complex)sum[i];
    }
}

static void normalise(const nlinv *n, float complex *maps)
{
    const int64_t voxels = n->task->matrix[0] * n->task->matrix[1] * n->task->matrix[2];
    const int coils = n->task->coils;
    double most = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(n->ctx, coils *voxels)) reduction(max : most)
    for (int64_t i = 0; i < voxels; i++) {
        double sum = 0;
        for (int c = 0; c < coils; c++)
            sum += nlinv_square(maps[c * voxels + i]);
        most = sum > most ? sum : most;
    }
    if (!(most > 0))
        return;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(n->ctx, 2 * coils * voxels))
    for (int64_t i = 0; i < voxels; i++) {
        double sum = FADES * FADES * most;
        for (int c = 0; c < coils; c++)
            sum += nlinv_square(maps[c * voxels + i]);
        for (int c = 0; c < coils; c++)
            maps[c * voxels + i] *= (float)(1 / sqrt(sum));
    }
}

vf_status nlinv_enlarge(const nlinv *n, float complex *maps)
{
    const vf_nlinv_task *t = n->task;
    nlinv_factor full[3] = {{0}};
    double complex *series = malloc((size_t)t->coils * (size_t)n->terms * sizeof *series), *work = NULL;
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        double *r = malloc((size_t)t->matrix[a] * sizeof *r);
        for (int64_t i = 0; r && i < t->matrix[a]; i++)
            r[i] = (double)(i - t->matrix[a] / 2) / (double)t->matrix[a];
        status = r ? nlinv_factor_create(n->ctx, t->matrix[a], r, n->series[a], n->frequency[a], 1, 1, &full[a])
                   : vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
        free(r);
    }
    const size_t each = (size_t)(t->matrix[0] * t->matrix[1] + n->series[0] * n->series[1] +
                                 t->matrix[0] * (n->series[1] + t->matrix[1]));
    if (status == VF_OK)
        work = malloc((size_t)n->threads * each * sizeof *work);
    if (status == VF_OK && (!series || !work))
        status = vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    if (status == VF_OK) {
        for (int c = 0; c < t->coils; c++)
            unmix(n, c, series + c * n->terms);
        sum_planes(n, full, series, work, each, maps);
        normalise(n, maps);
    }
    for (int a = 0; a < 3; a++)
        nlinv_factor_free(&full[a]);
    free(series);
    free(work);
    return status;
}

/* ---- folding ---- */

/* Distances of folded copies, in fields of view. */
static const double distances[] = {0,      1 / 6., 1 / 5., 1 / 4., 1 / 3., 2 / 5.,
                                   1 / 2., 3 / 5., 2 / 3., 3 / 4., 4 / 5., 5 / 6.};
enum { DISTANCES = sizeof distances / sizeof *distances };

/* The factor from the transfer function to Q at the distances, along one axis. */
static vf_status distance_factor(const nlinv *n, int axis, nlinv_factor *out)
{
    const int64_t count = n->grid[axis];
    double *k = malloc((size_t)count * sizeof *k);
    if (!k)
        return vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int64_t i = 0; i < count; i++)
        k[i] = (double)(2 * i < count ? i : i - count) / (count > 1 ? n->task->periods : 1);
    vf_status status = nlinv_factor_create(n->ctx, count > 1 ? DISTANCES : 1, distances, count, k, 1, 1, out);
    free(k);
    return status;
}

vf_status nlinv_folding(const nlinv *n, double *folding)
{
    nlinv_factor f[3] = {{0}};
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++)
        status = distance_factor(n, a, &f[a]);
    if (status == VF_OK) {
        const size_t work = nlinv_factors_work(f), found = (size_t)(f[0].rows * f[1].rows * f[2].rows);
        double complex *room = malloc(((size_t)n->points + work + found) * sizeof *room);
        if (!room)
            status = vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
        if (status == VF_OK) {
            double complex *q = room + n->points + work;
            for (int64_t i = 0; i < n->points; i++)
                room[i] = n->transfer[i];
            nlinv_factors_apply(f, room, room + n->points, q);
            *folding = 0;
            for (size_t i = 1; i < found; i++)
                *folding = fmax(*folding, cabs(q[i]) / cabs(q[0]));
        }
        free(room);
    }
    for (int a = 0; a < 3; a++)
        nlinv_factor_free(&f[a]);
    return status;
}
