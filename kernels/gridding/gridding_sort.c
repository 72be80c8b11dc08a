/* Sorts samples by the tile of the grid in which their kernels start. Threads share the samples out in the caller's
 * order, so the order does not depend on their number. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "gridding_simd.h"

/* Buckets in the order of the result: tiles, and blocks of rows and planes within a tile, y fastest. A kernel's bucket
 * is part[0][start x] + part[1][start y] + part[2][start z]. */
typedef struct buckets {
    int64_t total, in_tile;
    uint32_t *part[3];
} buckets;

static void free_buckets(buckets *b)
{
    for (int a = 0; a < 3; a++)
        free(b->part[a]);
}

static bool make_buckets(const vf_nufft *plan, const gridding_tiles *tiles, int64_t block, buckets *b)
{
    int64_t blocks[3] = {1, 1, 1};
    for (int a = 1; a < 3 && block > 0; a++) {
        const int64_t longest = plan->axis[a].grid - (tiles->count[a] - 1) * tiles->size[a];
        blocks[a] = (longest + block - 1) / block;
    }
    *b = (buckets){.total = tiles->count[0] * tiles->count[1] * tiles->count[2], .in_tile = blocks[1] * blocks[2]};
    b->total *= b->in_tile;
    int64_t tile_stride = b->in_tile, block_stride = 1;
    for (int a = 0; a < 3; a++) {
        b->part[a] = malloc((size_t)plan->axis[a].grid * sizeof *b->part[a]);
        for (int64_t i = 0; b->part[a] && i < plan->axis[a].grid; i++) {
            const int64_t along = i / tiles->size[a], last = tiles->count[a] - 1, tile = along < last ? along : last;
            const int64_t within = blocks[a] > 1 ? (i - tile * tiles->size[a]) / block : 0;
            b->part[a][i] = (uint32_t)(tile * tile_stride + within * block_stride);
        }
        tile_stride *= tiles->count[a];
        block_stride *= blocks[a];
    }
    return b->part[0] && b->part[1] && b->part[2];
}

static void put_samples(const vf_nufft *plan, const gridding_places *places, const uint32_t *order, int count,
                        void *sorted, int64_t at)
{
    gridding_sample_f32 *f32 = (gridding_sample_f32 *)sorted + at;
    gridding_sample_f64 *f64 = (gridding_sample_f64 *)sorted + at;
    if (plan->real == VF_F64)
        for (int i = 0; i < count; i++) {
            for (int a = 0; a < 3; a++) {
                f64[i].offset[a] = places->offset[a][i];
                f64[i].start[a] = (int16_t)places->start[a][i];
            }
            f64[i].index = order[i];
        }
    else
        for (int i = 0; i < count; i++) {
            for (int a = 0; a < 3; a++) {
                f32[i].offset[a] = (float)places->offset[a][i];
                f32[i].start[a] = (int16_t)places->start[a][i];
            }
            f32[i].index = order[i];
        }
}

/* Threads that are worth their own counts of the buckets. */
static int threads_for(const vf_nufft *plan, int64_t samples, int64_t total)
{
    const int64_t worth = samples / (2 * total + 32768) + 1;
    const int threads = vf_context_threads(plan->ctx);
    return worth < threads ? (int)worth : threads;
}

/* A thread's part of the samples. */
static int64_t part_begin(int64_t samples, int threads, int thread)
{
    return samples * thread / threads;
}

/* order[place] = the caller's number of each sample; counts [threads][total], zeros. Sets first [tiles + 1]. */
static void order_samples(const vf_nufft *plan, const vf_nufft_samples *samples, const buckets *b, int threads,
                          uint32_t *bucket, uint32_t *order, int64_t *counts, int64_t *first)
{
    const int64_t in_tile = b->in_tile, total = b->total;
    void (*const locate)(const gridding_axis *, int, gridding_places *) = gridding_simd_here()->locate;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const int64_t end = part_begin(samples->count, threads, t + 1);
        gridding_places places;
        for (int64_t m = part_begin(samples->count, threads, t); m < end; m += GRIDDING_BLOCK) {
            const int some = end - m < GRIDDING_BLOCK ? (int)(end - m) : GRIDDING_BLOCK;
            for (int i = 0; i < some; i++)
                for (int a = 0; a < 3; a++)
                    places.k[a][i] = samples->k[3 * (m + i) + a];
            locate(plan->axis, some, &places);
            for (int i = 0; i < some; i++) {
                bucket[m + i] =
                    b->part[0][places.start[0][i]] + b->part[1][places.start[1][i]] + b->part[2][places.start[2][i]];
                counts[t * total + bucket[m + i]]++;
            }
        }
    }
    int64_t at = 0;
    for (int64_t i = 0; i < total; i++) {
        if (i % in_tile == 0)
            first[i / in_tile] = at;
        for (int t = 0; t < threads; t++) {
            const int64_t n = counts[t * total + i];
            counts[t * total + i] = at;
            at += n;
        }
    }
    first[total / in_tile] = at;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const int64_t end = part_begin(samples->count, threads, t + 1);
        for (int64_t m = part_begin(samples->count, threads, t); m < end; m++)
            order[counts[t * total + bucket[m]]++] = (uint32_t)m;
    }
}

/* sorted[i] = the place of sample order[i]. Threads may mark the same row. */
static void store_sorted(const vf_nufft *plan, const vf_nufft_samples *samples, int threads, const uint32_t *order,
                         void *sorted, unsigned char *starts)
{
    enum { AHEAD = 24 };
    const int64_t count = samples->count, blocks = (count + GRIDDING_BLOCK - 1) / GRIDDING_BLOCK;
    const gridding_simd *simd = gridding_simd_here();
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < blocks; n++) {
        gridding_places places;
        const int64_t m = n * GRIDDING_BLOCK;
        const int some = count - m < GRIDDING_BLOCK ? (int)(count - m) : GRIDDING_BLOCK;
        for (int i = 0; i < some; i++) {
            const float *k = samples->k + 3 * (int64_t)order[m + i];
            __builtin_prefetch(samples->k + 3 * (int64_t)order[m + i + AHEAD < count ? m + i + AHEAD : m + i]);
            for (int a = 0; a < 3; a++)
                places.k[a][i] = k[a];
        }
        simd->locate(plan->axis, some, &places);
        put_samples(plan, &places, order + m, some, sorted, m);
        for (int i = 0; starts && i < some; i++)
            __atomic_store_n(&starts[places.start[2][i] * plan->axis[1].grid + places.start[1][i]], 1,
                             __ATOMIC_RELAXED);
    }
}

vf_status gridding_sort(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_tiles *tiles,
                        int64_t block, void *sorted, int64_t *first, unsigned char *starts)
{
    buckets b;
    const bool made = make_buckets(plan, tiles, block, &b);
    const int threads = threads_for(plan, samples->count, b.total);
    uint32_t *bucket = sorted; /* has room for that, and is written only when buckets are needed no more */
    uint32_t *order = malloc(((size_t)samples->count + 1) * sizeof *order);
    int64_t *counts = calloc((size_t)(threads * b.total), sizeof *counts);
    vf_status status = VF_OK;
    if (!made || !order || !counts) {
        status = vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory to sort %lld samples",
                         (long long)samples->count);
        goto done;
    }
    order_samples(plan, samples, &b, threads, bucket, order, counts, first);
    store_sorted(plan, samples, threads, order, sorted, starts);
done:
    free_buckets(&b);
    free(order);
    free(counts);
    return status;
}
