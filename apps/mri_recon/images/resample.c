#include "resample.h"

#include <math.h>
#include <stdlib.h>

#include "voxfield/team_size.h"

/* Axes count as parallel if they stay together to this part of a voxel over the whole grid. */
static const double PARALLEL = 0.02;
enum { MOST_POINTS = 8 }; /* along an axis of a voxel */

/* Voxel (i, j, k) of `to` is at index . (i, j, k, 1) of `from`. */
typedef struct resampling {
    const image_grid *from, *to;
    const float *values;
    double index[3][4];
} resampling;

static double determinant(const double a[3][4])
{
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

/* By Cramer's rule. False: the axes lie in a plane. */
static bool find_index(resampling *r)
{
    const double all = determinant(r->from->affine);
    double size = 1;
    for (int k = 0; k < 3; k++)
        size *= hypot(hypot(r->from->affine[0][k], r->from->affine[1][k]), r->from->affine[2][k]);
    if (!(fabs(all) > 1e-6 * size))
        return false;
    for (int column = 0; column < 4; column++)
        for (int k = 0; k < 3; k++) {
            double a[3][4];
            for (int row = 0; row < 3; row++) {
                for (int c = 0; c < 3; c++)
                    a[row][c] = r->from->affine[row][c];
                a[row][k] = r->to->affine[row][column] - (column == 3 ? r->from->affine[row][3] : 0);
            }
            r->index[k][column] = determinant(a) / all;
        }
    return true;
}

/* ---- parallel axes ---- */

/* For each voxel of an axis of `to`: voxels of the parallel axis of `from`, and their weights, of sum 1. */
typedef struct axis_weights {
    int64_t *first;
    int *count;
    double *inside;
    double *weight; /* [voxel][room] */
    int64_t step;   /* between voxels of the axis of `from` */
    int room;
} axis_weights;

/* The axis of `from` that is parallel to each axis of `to`. */
static bool find_parallel(const resampling *r, int axis[3])
{
    bool used[3] = {false};
    for (int a = 0; a < 3; a++) {
        axis[a] = -1;
        for (int k = 0; k < 3; k++)
            if (fabs(r->index[k][a]) * (double)r->to->counts[a] > PARALLEL) {
                if (axis[a] >= 0 || used[k])
                    return false;
                axis[a] = k;
            }
        if (axis[a] < 0)
            return false;
        used[axis[a]] = true;
    }
    return true;
}

/* The voxels of `from`, n of them, whose boxes overlap [centre - width / 2, centre + width / 2]. */
static void box_weights(axis_weights *w, int64_t i, int64_t n, double centre, double width)
{
    const double low = fmax(centre - width / 2, -0.5), high = fmin(centre + width / 2, (double)n - 0.5);
    w->count[i] = 0;
    w->first[i] = 0;
    w->inside[i] = fmax(0, high - low) / width;
    if (!(high - low > 1e-9 * width))
        return;
    w->first[i] = (int64_t)floor(low + 0.5);
    for (int64_t j = w->first[i]; j < n && (double)j - 0.5 < high && w->count[i] < w->room; j++)
        w->weight[i * w->room + w->count[i]++] =
            fmax(0, fmin((double)j + 0.5, high) - fmax((double)j - 0.5, low)) / (high - low);
}

static void linear_weights(axis_weights *w, int64_t i, int64_t n, double centre, double width)
{
    const double low = fmax(centre - width / 2, -0.5), high = fmin(centre + width / 2, (double)n - 0.5);
    const double at = fmin(fmax(centre, 0), (double)n - 1);
    const int64_t first = n > 1 ? (int64_t)fmin(floor(at), (double)n - 2) : 0;
    w->inside[i] = fmax(0, high - low) / width;
    w->count[i] = w->inside[i] > 0 ? (n > 1 ? 2 : 1) : 0;
    w->first[i] = first;
    w->weight[i * w->room] = n > 1 ? 1 - (at - (double)first) : 1;
    w->weight[i * w->room + 1] = at - (double)first;
}

static bool make_axis(const resampling *r, int a, int k, axis_weights *w)
{
    static const double AS_FINE = 1 - 1e-6;
    const int64_t n = r->to->counts[a];
    const double width = fabs(r->index[k][a]);
    double start = r->index[k][3];
    for (int other = 0; other < 3; other++) /* axes that are not quite parallel: in the middle of the others */
        if (other != a)
            start += r->index[k][other] * (double)(r->to->counts[other] - 1) / 2;
    *w = (axis_weights){.step = 1, .room = (int)fmin(ceil(width) + 2, (double)r->from->counts[k] + 2)};
    for (int before = 0; before < k; before++)
        w->step *= r->from->counts[before];
    w->first = calloc((size_t)n, sizeof *w->first);
    w->count = calloc((size_t)n, sizeof *w->count);
    w->inside = calloc((size_t)n, sizeof *w->inside);
    w->weight = calloc((size_t)n * (size_t)w->room, sizeof *w->weight);
    if (!w->first || !w->count || !w->inside || !w->weight)
        return false;
    for (int64_t i = 0; i < n; i++)
        (width >= AS_FINE ? box_weights : linear_weights)(w, i, r->from->counts[k], start + r->index[k][a] * (double)i,
                                                          width);
    return true;
}

static double weighted_mean(const resampling *r, const axis_weights *w, const int64_t at[3])
{
    double sum = 0;
    int64_t base = 0;
    for (int a = 0; a < 3; a++)
        base += w[a].first[at[a]] * w[a].step;
    for (int z = 0; z < w[2].count[at[2]]; z++)
        for (int y = 0; y < w[1].count[at[1]]; y++) {
            const double plane = w[2].weight[at[2] * w[2].room + z] * w[1].weight[at[1] * w[1].room + y];
            for (int x = 0; x < w[0].count[at[0]]; x++)
                sum += plane * w[0].weight[at[0] * w[0].room + x] *
                       (double)r->values[base + x * w[0].step + y * w[1].step + z * w[2].step];
        }
    return sum;
}

static vf_status by_axes(vf_context *ctx, const resampling *r, const int axis[3], float *out, float *inside)
{
    const int64_t *n = r->to->counts;
    axis_weights w[3] = {0};
    bool room = true;
    double work = 4;
    for (int a = 0; a < 3 && room; a++) {
        room = make_axis(r, a, axis[a], &w[a]);
        work *= w[a].room;
    }
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, (int64_t)work *n[0] * n[1] * n[2]))
    for (int64_t row = 0; row < (room ? n[1] * n[2] : 0); row++)
        for (int64_t x = 0; x < n[0]; x++) {
            const int64_t at[3] = {x, row % n[1], row / n[1]};
            out[row * n[0] + x] = (float)weighted_mean(r, w, at);
            inside[row * n[0] + x] = (float)(w[0].inside[at[0]] * w[1].inside[at[1]] * w[2].inside[at[2]]);
        }
    for (int a = 0; a < 3; a++) {
        free(w[a].first);
        free(w[a].count);
        free(w[a].inside);
        free(w[a].weight);
    }
    return room ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to resample an image");
}

/* ---- any axes ---- */

/* False: the point is outside. */
static bool interpolate(const resampling *r, const double at[3], double *out)
{
    const int64_t *n = r->from->counts;
    int64_t first[3], step[3] = {1, n[0], n[0] * n[1]};
    double share[3];
    for (int k = 0; k < 3; k++) {
        if (!(at[k] >= -0.5 && at[k] <= (double)n[k] - 0.5))
            return false;
        const double inner = fmin(fmax(at[k], 0), (double)n[k] - 1);
        first[k] = n[k] > 1 ? (int64_t)fmin(floor(inner), (double)n[k] - 2) : 0;
        share[k] = inner - (double)first[k];
        step[k] = n[k] > 1 ? step[k] : 0;
    }
    const float *v = r->values + first[0] + n[0] * (first[1] + n[1] * first[2]);
    double sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        sum += (x ? share[0] : 1 - share[0]) * (y ? share[1] : 1 - share[1]) * (z ? share[2] : 1 - share[2]) *
               (double)v[x * step[0] + y * step[1] + z * step[2]];
    }
    *out = sum;
    return true;
}

static void mean_of_points(const resampling *r, const int points[3], const int64_t voxel[3], float *out, float *inside)
{
    double sum = 0, value = 0;
    int found = 0;
    for (int p = 0; p < points[0] * points[1] * points[2]; p++) {
        const int part[3] = {p % points[0], p / points[0] % points[1], p / points[0] / points[1]};
        double at[3];
        for (int k = 0; k < 3; k++) {
            at[k] = r->index[k][3];
            for (int a = 0; a < 3; a++)
                at[k] += r->index[k][a] * ((double)voxel[a] + (part[a] + 0.5) / points[a] - 0.5);
        }
        if (!interpolate(r, at, &value))
            continue;
        sum += value;
        found++;
    }
    *out = found > 0 ? (float)(sum / found) : 0;
    *inside = (float)found / (float)(points[0] * points[1] * points[2]);
}

static void by_points(vf_context *ctx, const resampling *r, float *out, float *inside)
{
    const int64_t *n = r->to->counts;
    int points[3];
    int64_t work = 30;
    for (int a = 0; a < 3; a++) {
        const double step = hypot(hypot(r->index[0][a], r->index[1][a]), r->index[2][a]);
        points[a] = (int)fmin(fmax(ceil(2 * step), 1), MOST_POINTS);
        work *= points[a];
    }
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, work *n[0] * n[1] * n[2]))
    for (int64_t row = 0; row < n[1] * n[2]; row++)
        for (int64_t x = 0; x < n[0]; x++) {
            const int64_t voxel[3] = {x, row % n[1], row / n[1]};
            mean_of_points(r, points, voxel, &out[row * n[0] + x], &inside[row * n[0] + x]);
        }
}

vf_status resample_mean(vf_context *ctx, const image_grid *from, const float *values, const image_grid *to, float *out,
                        float *inside)
{
    resampling r = {.from = from, .to = to, .values = values};
    int axis[3];
    if (!find_index(&r))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the axes of an image to resample lie in a plane");
    if (find_parallel(&r, axis))
        return by_axes(ctx, &r, axis, out, inside);
    by_points(ctx, &r, out, inside);
    return VF_OK;
}
