/* The backend-independent part: checks, the choice of the backend, and the weights. */
#include "first_differences.h"

#include <math.h>
#include <stdlib.h>

#include "backend/registry.h"
#include "first_differences_backend.h"
#include "voxfield/team_size.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_differences_cpu},
    {&vf_cuda_only, &vf_differences_cuda},
    {&vf_opencl_only, &vf_differences_opencl},
    {0},
};

static bool possible(const int64_t counts[3])
{
    int64_t voxels = 1;
    for (int a = 0; a < 3; a++) {
        if (counts[a] < 1 || counts[a] > ((int64_t)1 << 50) / voxels)
            return false;
        voxels *= counts[a];
    }
    return true;
}

vf_status vf_first_differences_add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale,
                                   const void *weights, const void *x, void *y)
{
    vf_device *device = vf_queue_device(queue);
    if (!possible(counts) || (type != VF_C64 && type != VF_C128) || !isfinite(scale) || !x || !y || x == y)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT,
                       "first differences: a grid of %lld x %lld x %lld, a scale of %g, or vectors that are missing, "
                       "the same or not complex",
                       (long long)counts[0], (long long)counts[1], (long long)counts[2], scale);
    const void *table;
    vf_status status = vf_backend_choose(backends, "first differences", device, NULL, &table, NULL);
    const vf_differences_backend *backend = table;
    return status == VF_OK ? backend->add(queue, type, counts, scale, weights, x, y) : status;
}

/* ---- weights ---- */

/* Rows along x, the unit of work of a thread. */
typedef struct image_rows {
    int64_t counts[3], voxels, rows;
    int images;
    const float *references;
    const unsigned char *known;
} image_rows;

/* Whether the voxels of a row have predecessors along an axis; along x, all but the first do. */
static bool has_before(const image_rows *g, int64_t row, int axis)
{
    return axis == 0 || (axis == 1 ? row % g->counts[1] : row / g->counts[1]) > 0;
}

/* The difference between voxel x of a row and its predecessor along an axis. */
static double difference(const image_rows *g, const float *image, int64_t row, int axis, int64_t x)
{
    const int64_t steps[3] = {1, g->counts[0], g->counts[0] * g->counts[1]};
    const float *at = image + row * g->counts[0] + x;
    return (double)at[0] - (double)at[-steps[axis]];
}

/* Whether the images say something of both voxels of a difference. */
static bool is_known(const image_rows *g, int64_t row, int axis, int64_t x)
{
    const int64_t steps[3] = {1, g->counts[0], g->counts[0] * g->counts[1]}, at = row * g->counts[0] + x;
    return !g->known || (g->known[at] && g->known[at - steps[axis]]);
}

static double squares_of_row(const image_rows *g, const float *image, int64_t row)
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        for (int64_t x = a == 0; has_before(g, row, a) && x < g->counts[0]; x++) {
            const double d = is_known(g, row, a, x) ? difference(g, image, row, a, x) : 0;
            sum += d * d;
        }
    return sum;
}

static int64_t known_of_row(const image_rows *g, int64_t row)
{
    int64_t sum = 0;
    for (int a = 0; a < 3; a++)
        for (int64_t x = a == 0; has_before(g, row, a) && x < g->counts[0]; x++)
            sum += is_known(g, row, a, x);
    return sum;
}

/* The number of differences that the images say something of. */
static double known_differences(vf_context *ctx, const image_rows *g)
{
    const int64_t *n = g->counts;
    int64_t sum = 0;
    if (!g->known)
        return (double)(n[0] - 1) * (double)g->rows + (double)(g->voxels / n[1] * (n[1] - 1)) +
               (double)(g->voxels / n[2] * (n[2] - 1));
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 3 * g->voxels)) reduction(+ : sum)
    for (int64_t row = 0; row < g->rows; row++)
        sum += known_of_row(g, row);
    return (double)sum;
}

/* 1 / (sharpness h)^2, where h is the root mean square of the image's differences; 0 if h is 0. Row sums are added in
 * order, so the bits do not depend on the number of threads. */
static double inverse_square(vf_context *ctx, const image_rows *g, const float *image, double sharpness, double *of_row)
{
    const double differences = known_differences(ctx, g);
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 3 * g->voxels))
    for (int64_t row = 0; row < g->rows; row++)
        of_row[row] = squares_of_row(g, image, row);
    for (int64_t row = 0; row < g->rows; row++)
        sum += of_row[row];
    return sum > 0 ? differences / (sum * sharpness * sharpness) : 0;
}

/* `factor`: [images] the inverse_square of each image. */
static void weights_of_row(const image_rows *g, const double *factor, int64_t row, float *weights)
{
    for (int a = 0; a < 3; a++) {
        float *to = weights + a * g->voxels + row * g->counts[0];
        const bool before = has_before(g, row, a);
        for (int64_t x = 0; x < g->counts[0]; x++) {
            float sum = 0;
            const bool inside = before && (a > 0 || x > 0);
            for (int r = 0; inside && r < g->images && is_known(g, row, a, x); r++) {
                const double d = difference(g, g->references + r * g->voxels, row, a, x);
                sum += (float)(d * d * factor[r]);
            }
            to[x] = inside ? 1 / (1 + sum) : 0;
        }
    }
}

/* The index of the first value of the references that is not finite; their number if all are. */
static int64_t first_bad(vf_context *ctx, const image_rows *g)
{
    const int64_t all = g->images * g->voxels;
    int64_t first = all;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, all)) reduction(min : first)
    for (int64_t i = 0; i < all; i++)
        if (!isfinite(g->references[i]) && i < first)
            first = i;
    return first;
}

vf_status vf_first_differences_weights(vf_context *ctx, const int64_t counts[3], int images, const float *references,
                                       const unsigned char *known, double sharpness, float *weights)
{
    /* Limits that keep the squares within the range of double precision. */
    if (!possible(counts) || images < 1 || !references || !weights || !(sharpness >= 1e-100 && sharpness <= 1e100))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "first differences: %d reference images with a sharpness of %g are not supported, or an "
                       "argument is missing",
                       images, sharpness);
    const image_rows g = {.counts = {counts[0], counts[1], counts[2]},
                          .voxels = counts[0] * counts[1] * counts[2],
                          .rows = counts[1] * counts[2],
                          .images = images,
                          .references = references,
                          .known = known};
    const int64_t bad = first_bad(ctx, &g);
    if (bad < images * g.voxels)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "first differences: reference image %lld is not finite at voxel %lld",
                       (long long)(bad / g.voxels), (long long)(bad % g.voxels));
    double *of_row = malloc((size_t)g.rows * sizeof *of_row), *factor = malloc((size_t)images * sizeof *factor);
    const bool room = of_row && factor;
    for (int r = 0; room && r < images; r++)
        factor[r] = inverse_square(ctx, &g, references + r * g.voxels, sharpness, of_row);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 10 * images * g.voxels))
    for (int64_t row = 0; row < (room ? g.rows : 0); row++)
        weights_of_row(&g, factor, row, weights);
    free(of_row);
    free(factor);
    return room ? VF_OK
                : vf_fail(ctx, VF_ERR_MEMORY, "first differences: not enough memory for the weights of an image");
}
