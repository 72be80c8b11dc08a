/* The simple gridding to which the published study compares: bilinear weights, division by the weights, inverse FFT. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "voxfield/fft.h"
#include "voxfield/fft_axis.h"

typedef struct grid {
    vf_context *ctx;
    const int64_t *n;
    int64_t points;
    double *values; /* [z][y][x] complex */
    double *weights;
} grid;

/* The two grid points around k on an axis of n points, and the weight of the second. */
static double neighbours(int64_t n, float k, int64_t at[2])
{
    if (n == 1) {
        at[0] = at[1] = 0;
        return 0;
    }
    double turns = (double)k / (double)n, position = (turns - floor(turns)) * (double)n, first = floor(position);
    at[0] = (int64_t)first % n;
    at[1] = (at[0] + 1) % n;
    return position - first;
}

static void spread(grid *g, const float k[3], double re, double im)
{
    int64_t at[3][2];
    double second[3];
    for (int a = 0; a < 3; a++)
        second[a] = neighbours(g->n[a], k[a], at[a]);
    for (int corner = 0; corner < 8; corner++) {
        int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        double weight =
            (x ? second[0] : 1 - second[0]) * (y ? second[1] : 1 - second[1]) * (z ? second[2] : 1 - second[2]);
        int64_t point = (at[2][z] * g->n[1] + at[1][y]) * g->n[0] + at[0][x];
        if (weight == 0)
            continue;
        g->values[2 * point] += weight * re;
        g->values[2 * point + 1] += weight * im;
        g->weights[point] += weight;
    }
}

/* Transforms the grid in place along one axis, from frequencies in FFT order to voxels. */
static vf_status transform(grid *g, int axis)
{
    vf_fft_axis *plan = NULL;
    int64_t stride = axis == 0 ? 1 : axis == 1 ? g->n[0] : g->n[0] * g->n[1], n = g->n[axis];
    vf_status status = vf_fft_axis_create(g->ctx, VF_C128, n, &plan);
    if (status != VF_OK)
        return status;
    vf_fft_lines from = {.data = g->values, .point = stride, .line = axis == 0 ? n : 1, .span = {0, n}}, to = from;
    to.span.first = -(n / 2);
    int64_t lines = axis == 0 ? g->points / n : stride, outer = g->points / n / lines;
    status = vf_fft_axis_pass(plan, VF_FFT_BACKWARD, lines, outer, &from, stride * n, &to, stride * n);
    vf_fft_axis_destroy(plan);
    return status;
}

vf_status vf_bilinear_gridding(vf_context *ctx, const int64_t matrix[3], const vf_nufft_samples *samples, vf_dtype type,
                               const void *c, void *y)
{
    if ((type != VF_C64 && type != VF_C128) || samples->count < 0 || matrix[0] < 1 || matrix[1] < 1 || matrix[2] < 1 ||
        matrix[0] > INT16_MAX || matrix[1] > INT16_MAX || matrix[2] > INT16_MAX)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "bilinear gridding: the matrix or the type is out of range");
    for (int64_t m = 0; m < samples->count; m++)
        for (int a = 0; a < 3; a++)
            if (matrix[a] > 1 && !isfinite(samples->k[3 * m + a]))
                return vf_fail(ctx, VF_ERR_ARGUMENT, "bilinear gridding: the position of sample %lld is not finite",
                               (long long)m + 1);
    grid g = {.ctx = ctx, .n = matrix, .points = matrix[0] * matrix[1] * matrix[2]};
    g.values = aligned_alloc(64, ((size_t)g.points * 16 + 63) / 64 * 64);
    g.weights = calloc((size_t)g.points, sizeof *g.weights);
    vf_status status = VF_OK;
    if (!g.values || !g.weights)
        status =
            vf_fail(ctx, VF_ERR_MEMORY, "bilinear gridding: not enough memory for %lld points", (long long)g.points);
    if (status == VF_OK)
        memset(g.values, 0, (size_t)g.points * 16);
    for (int64_t m = 0; m < samples->count && status == VF_OK; m++)
        if (type == VF_C128)
            spread(&g, samples->k + 3 * m, ((const double *)c)[2 * m], ((const double *)c)[2 * m + 1]);
        else
            spread(&g, samples->k + 3 * m, ((const float *)c)[2 * m], ((const float *)c)[2 * m + 1]);
    for (int64_t i = 0; i < g.points && status == VF_OK; i++)
        for (int part = 0; part < 2; part++)
            g.values[2 * i + part] = g.weights[i] > 0 ? g.values[2 * i + part] / g.weights[i] : 0;
    for (int axis = 0; axis < 3 && status == VF_OK; axis++)
        if (matrix[axis] > 1)
            status = transform(&g, axis);
    for (int64_t i = 0; i < 2 * g.points && status == VF_OK; i++)
        if (type == VF_C128)
            ((double *)y)[i] = g.values[i] / (double)g.points;
        else
            ((float *)y)[i] = (float)(g.values[i] / (double)g.points);
    free(g.values);
    free(g.weights);
    return status;
}
