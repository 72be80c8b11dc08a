#include "frame_sums.h"

#include "voxfield/team_size.h"

#include <math.h>
#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

frame_blocks frame_blocks_of(int64_t frames, int64_t points)
{
    static const double most_bytes = 32.0 * (1 << 30);
    const int64_t fit = (int64_t)fmin(most_bytes / (16 * (double)points), FRAME_BLOCKS_MOST), most = larger(fit, 1);
    const int64_t even = larger((frames + most - 1) / most, FRAME_BLOCK_LEAST);
    const int64_t length = (even + FRAME_BLOCK_MULTIPLE - 1) / FRAME_BLOCK_MULTIPLE * FRAME_BLOCK_MULTIPLE;
    return (frame_blocks){.frames = frames, .count = (frames + length - 1) / length, .length = length};
}

int64_t frame_block_frames(const frame_blocks *b, int64_t block)
{
    return block + 1 < b->count ? b->length : b->frames - block * b->length;
}

/* Of some points; `stride`: distance between the values of two frames. The same for both types: */
#define DEFINE_TAKE(name, real)                                                                                        \
    static void name(int64_t points, int64_t frames, int64_t k, const real *values, int64_t stride, double *mean,      \
                     double *squares)                                                                                  \
    {                                                                                                                  \
        for (int64_t f = 0; f < frames; f++) {                                                                         \
            const double share = 1 / (double)(k + f + 1);                                                              \
            const real *v = values + f * stride;                                                                       \
            for (int64_t i = 0; i < points; i++) {                                                                     \
                const double from_mean = (double)v[i] - mean[i];                                                       \
                mean[i] += from_mean * share;                                                                          \
                squares[i] += from_mean * ((double)v[i] - mean[i]);                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_TAKE(take_f32, float)
DEFINE_TAKE(take_f64, double)

void frame_sums_take(const vf_context *ctx, vf_dtype type, int64_t points, int64_t frames, int64_t k,
                     const void *values, double *mean, double *squares)
{
    enum { BLOCK = 1024 }; /* points whose sums stay in the cache */
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * frames * points))
    for (int64_t from = 0; from < points; from += BLOCK) {
        const int64_t some = points - from < BLOCK ? points - from : BLOCK;
        if (k == 0) {
            memset(mean + from, 0, (size_t)some * sizeof *mean);
            memset(squares + from, 0, (size_t)some * sizeof *squares);
        }
        if (type == VF_F64)
            take_f64(some, frames, k, (const double *)values + from, points, mean + from, squares + from);
        else
            take_f32(some, frames, k, (const float *)values + from, points, mean + from, squares + from);
    }
}

void frame_sums_join(const vf_context *ctx, int64_t points, int64_t frames, int64_t k, const double *block_mean,
                     const double *block_squares, double *mean, double *squares)
{
    const double share = (double)frames / (double)(k + frames);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * points))
    for (int64_t i = 0; i < points; i++) {
        const double from_mean = k > 0 ? block_mean[i] - mean[i] : 0;
        mean[i] = k > 0 ? mean[i] + from_mean * share : block_mean[i];
        if (squares)
            squares[i] = (k > 0 ? squares[i] : 0) + block_squares[i] + from_mean * from_mean * (double)k * share;
    }
}

void frame_sums_finish(const vf_context *ctx, vf_dtype type, int64_t points, int64_t frames, const double *mean,
                       const double *squares, void *mean_out, void *deviation_out)
{
    const double share = 1 / (double)frames;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * points))
    for (int64_t i = 0; i < points; i++) {
        const double deviation = squares ? sqrt(squares[i] * share) : 0;
        if (type == VF_F64) {
            ((double *)mean_out)[i] = mean[i];
            if (deviation_out)
                ((double *)deviation_out)[i] = deviation;
        } else {
            ((float *)mean_out)[i] = (float)mean[i];
            if (deviation_out)
                ((float *)deviation_out)[i] = (float)deviation;
        }
    }
}
