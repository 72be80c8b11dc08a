/* Coil maps where there is no signal. There the covariance is that of noise and ringing, and maps from it lead the
 * solver astray: it finds signal where there is none. Coils vary slowly, so the maps of the voxels around stand in.
 *
 * In blocks of BLOCK^3 voxels, sums of signal-weighted maps are blurred over ever wider boxes, each with a smaller
 * weight than the one before, and added up: a block takes what the nearest signal says. To each voxel's own map,
 * weighted with its signal, the interpolated sum is added with the weight OWN, and the result normalised. So a map that
 * is well seen stays as it is, and the others go over into their surroundings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"

enum { BLOCK = 4 };
/* The weight of the first box around a block, relative to the block, of each wider one to the one before, and of the
 * surroundings to a voxel's own signal: voxels below a tenth of the signal around (in amplitude) follow it. */
static const float FIRST = 1e-2f, NEXT = 1e-1f, OWN = 1e-2f;

typedef struct blocks {
    int64_t n[3], count; /* blocks along x, y, z */
    int64_t side[3];     /* voxels: BLOCK, or 1 along an axis of one voxel */
    float *sum;          /* [2 coils][z][y][x]: re, im of each coil; then blurred */
    float *blurred, *line;
} blocks;

static void sum_blocks(const blocks *b, const int64_t n[3], const float *signal, const float complex *map, float *re,
                       float *im)
{
    memset(re, 0, (size_t)b->count * sizeof *re);
    memset(im, 0, (size_t)b->count * sizeof *im);
    for (int64_t z = 0; z < n[2]; z++)
        for (int64_t y = 0; y < n[1]; y++) {
            const int64_t row = (z * n[1] + y) * n[0];
            const int64_t to = (z / b->side[2] * b->n[1] + y / b->side[1]) * b->n[0];
            for (int64_t x = 0; x < n[0]; x++) {
                re[to + x / b->side[0]] += signal[row + x] * crealf(map[row + x]);
                im[to + x / b->side[0]] += signal[row + x] * cimagf(map[row + x]);
            }
        }
}

/* Means over 2 radius + 1 blocks along one axis, cut at the borders. */
static void blur_axis(const blocks *b, int axis, int64_t radius, float *values, float *line)
{
    const int64_t n = b->n[axis], step = axis == 0 ? 1 : axis == 1 ? b->n[0] : b->n[0] * b->n[1];
    for (int64_t start = 0; start < b->count; start++) {
        if (start / step % n != 0)
            continue;
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            line[i] = values[start + i * step];
        for (int64_t i = 0; i < radius && i < n; i++)
            sum += line[i];
        for (int64_t i = 0; i < n; i++) {
            sum += i + radius < n ? line[i + radius] : 0;
            sum -= i - radius - 1 >= 0 ? line[i - radius - 1] : 0;
            values[start + i * step] = (float)(sum / (double)(2 * radius + 1));
        }
    }
}

/* sum += weights times blurs of it, wider and wider. */
static void spread(const blocks *b, float *sum, float *blurred, float *line)
{
    const int64_t widest = b->n[0] > b->n[1] ? b->n[0] : b->n[1], most = widest > b->n[2] ? widest : b->n[2];
    float weight = FIRST;
    memcpy(blurred, sum, (size_t)b->count * sizeof *sum);
    for (int64_t radius = 1; radius < 2 * most; radius *= 2, weight *= NEXT) {
        for (int axis = 0; axis < 3; axis++)
            blur_axis(b, axis, radius, blurred, line);
        for (int64_t i = 0; i < b->count; i++)
            sum[i] += weight * blurred[i];
    }
}

/* Where a voxel lies between the middles of blocks: the lower one, the upper one, and the upper one's share. */
static float between(int64_t voxel, int64_t side, int64_t blocks_along, int64_t *lower, int64_t *upper)
{
    const float at = ((float)voxel + 0.5f) / (float)side - 0.5f;
    const float floor_of = floorf(at);
    *lower = floor_of > 0 ? (int64_t)floor_of : 0;
    *upper = floor_of + 1 < (float)blocks_along ? (int64_t)floor_of + 1 : blocks_along - 1;
    return at - floor_of;
}

static void extend_row(const blocks *b, const int64_t n[3], int coils, int64_t z, int64_t y, const float *signal,
                       float complex *maps)
{
    const int64_t voxels = n[0] * n[1] * n[2], row = (z * n[1] + y) * n[0];
    const float volume = (float)(b->side[0] * b->side[1] * b->side[2]);
    int64_t z0, z1, y0, y1;
    const float fz = between(z, b->side[2], b->n[2], &z0, &z1), fy = between(y, b->side[1], b->n[1], &y0, &y1);
    const int64_t corner[4] = {(z0 * b->n[1] + y0) * b->n[0], (z0 * b->n[1] + y1) * b->n[0],
                               (z1 * b->n[1] + y0) * b->n[0], (z1 * b->n[1] + y1) * b->n[0]};
    const float share[4] = {(1 - fz) * (1 - fy), (1 - fz) * fy, fz * (1 - fy), fz * fy};
    for (int64_t x = 0; x < n[0]; x++) {
        int64_t x0, x1;
        const float fx = between(x, b->side[0], b->n[0], &x0, &x1), own = signal[row + x];
        double squares = 0;
        for (int c = 0; c < coils; c++) {
            float part[2];
            for (int p = 0; p < 2; p++) {
                const float *sum = b->sum + (2 * c + p) * b->count;
                part[p] = 0;
                for (int k = 0; k < 4; k++)
                    part[p] += share[k] * ((1 - fx) * sum[corner[k] + x0] + fx * sum[corner[k] + x1]);
            }
            float complex *s = &maps[c * voxels + row + x];
            *s = own * *s + OWN / volume * (part[0] + part[1] * I);
            squares += (double)crealf(*s) * crealf(*s) + (double)cimagf(*s) * cimagf(*s);
        }
        const float scale = squares > 0 ? (float)(1 / sqrt(squares)) : 0;
        for (int c = 0; c < coils; c++)
            maps[c * voxels + row + x] *= scale;
    }
}

vf_status coil_maps_extend(vf_context *ctx, const int64_t matrix[3], int coils, const float *signal,
                           float complex *maps)
{
    const int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    const int threads = vf_context_threads(ctx);
    blocks b = {.count = 1};
    float largest = 0;
    int64_t longest = 1;
    for (int a = 0; a < 3; a++) {
        b.side[a] = matrix[a] > 1 ? BLOCK : 1;
        b.n[a] = (matrix[a] + b.side[a] - 1) / b.side[a];
        b.count *= b.n[a];
        longest = b.n[a] > longest ? b.n[a] : longest;
    }
    b.sum = malloc((size_t)b.count * 2 * (size_t)coils * sizeof *b.sum);
    b.blurred = malloc((size_t)b.count * (size_t)threads * sizeof *b.blurred);
    b.line = malloc((size_t)longest * (size_t)threads * sizeof *b.line);
    float *weight = malloc((size_t)voxels * sizeof *weight);
    vf_status status = VF_OK;
    if (!b.sum || !b.blurred || !b.line || !weight)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory to extend the maps of %d coils", coils);
    for (int64_t i = 0; status == VF_OK && i < voxels; i++)
        largest = signal[i] > largest ? signal[i] : largest;
    for (int64_t i = 0; status == VF_OK && i < voxels; i++)
        weight[i] = largest > 0 ? signal[i] / largest : 0; /* so that nothing under- or overflows */
    if (status == VF_OK) {
        /* A coil's parts are one thread's, whatever the number of threads. */
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
        for (int part = 0; part < threads; part++)
            for (int c = part; c < coils; c += threads) {
                float *re = b.sum + 2 * c * b.count, *im = re + b.count;
                sum_blocks(&b, matrix, weight, maps + c * voxels, re, im);
                spread(&b, re, b.blurred + part * b.count, b.line + part * longest);
                spread(&b, im, b.blurred + part * b.count, b.line + part * longest);
            }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int64_t r = 0; r < matrix[1] * matrix[2]; r++)
            extend_row(&b, matrix, coils, r / matrix[1], r % matrix[1], weight, maps);
    }
    free(b.sum);
    free(b.blurred);
    free(b.line);
    free(weight);
    return status;
}
