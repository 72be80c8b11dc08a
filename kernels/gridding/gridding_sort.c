/* Sorts samples by the tile of the grid in which their kernels start. Threads share the samples out in the caller's
 * order, so the order does not depend on their number. */
#include <stdlib.h>
#include <string.h>

#include "gridding_simd.h"
#include "voxfield/team_size.h"

static void free_buckets(gridding_buckets *b)
{
    for (int a = 0; a < 3; a++)
        free(b->part[a]);
}

static bool make_buckets(const vf_nufft *plan, const gridding_tiles *tiles, int64_t block, gridding_buckets *b)
{
    int64_t blocks[3] = {1, 1, 1};
    for (int a = 1; a < 3 && block > 0; a++) {
        const int64_t longest = plan->axis[a].grid - (tiles->count[a] - 1) * tiles->size[a];
        blocks[a] = (longest + block - 1) / block;
    }
    *b = (gridding_buckets){.total = tiles->count[0] * tiles->count[1] * tiles->count[2],
                            .in_tile = blocks[1] * blocks[2]};
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

/* Parts of the samples, up to one a thread, that are worth their own counts of the buckets. */
static int parts_of(const vf_nufft *plan, int64_t samples, int64_t total)
{
    const int64_t worth = samples / (2 * total + 32768) + 1;
    const int threads = vf_context_threads(plan->ctx);
    return worth < threads ? (int)worth : threads;
}

static int64_t part_begin(int64_t samples, int parts, int part)
{
    return samples * part / parts;
}

/* Sets the bucket of each sample, and marks the rows where kernels start; threads may mark the same one. Adds to counts
 * [parts][total]. Returns false if a position is not finite. */
static bool count_samples(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_buckets *b, int parts,
                          uint32_t *bucket, uint32_t *counts, unsigned char *starts)
{
    const gridding_simd *simd = gridding_simd_here();
    bool finite = true;
#pragma omp parallel for schedule(static, 1) num_threads(vf_threads_for(plan->ctx, parts > 1 ? samples->count : 0)) reduction(&& : finite)
    for (int t = 0; t < parts; t++) {
        const int64_t end = part_begin(samples->count, parts, t + 1);
        uint32_t *count = counts + t * b->total;
        for (int64_t m = part_begin(samples->count, parts, t); m < end && finite; m += GRIDDING_BLOCK) {
            const int some = end - m < GRIDDING_BLOCK ? (int)(end - m) : GRIDDING_BLOCK;
            finite = samples->exact ? simd->find_exact(plan->axis, b, some, samples->exact + 3 * m, bucket + m, starts)
                                    : simd->find_buckets(plan->axis, b, some, samples->k + 3 * m, bucket + m, starts);
            for (int i = 0; finite && i < some; i++)
                count[bucket[m + i]]++;
        }
    }
    return finite;
}

/* Turns counts into each part's first place in each bucket. */
static void place_buckets(const gridding_buckets *b, int parts, uint32_t *counts, int64_t *first)
{
    uint32_t at = 0;
    for (int64_t i = 0; i < b->total; i++) {
        if (i % b->in_tile == 0)
            first[i / b->in_tile] = at;
        for (int t = 0; t < parts; t++) {
            const uint32_t n = counts[t * b->total + i];
            counts[t * b->total + i] = at;
            at += n;
        }
    }
    first[b->total / b->in_tile] = at;
}

typedef uint32_t four_words __attribute__((vector_size(sizeof(gridding_record))));

/* Writes records in one piece: three positions and what follows them in memory, which the index replaces. */
static void store_sorted(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_buckets *b, int parts,
                         const uint32_t *bucket, uint32_t *places, gridding_record *sorted)
{
    enum { AHEAD = 16 };
#pragma omp parallel for schedule(static, 1) num_threads(vf_threads_for(plan->ctx, parts > 1 ? samples->count : 0))
    for (int t = 0; t < parts; t++) {
        const int64_t end = part_begin(samples->count, parts, t + 1);
        uint32_t *place = places + t * b->total;
        int64_t m = part_begin(samples->count, parts, t);
        for (; m < end - 1; m++) {
            __builtin_prefetch(sorted + place[bucket[m + AHEAD < end ? m + AHEAD : m]], 1);
            four_words record;
            memcpy(&record, samples->k + 3 * m, sizeof record);
            record[3] = (uint32_t)m;
            memcpy(sorted + place[bucket[m]]++, &record, sizeof record);
        }
        if (m < end) {
            const float *k = samples->k + 3 * m;
            sorted[place[bucket[m]]++] = (gridding_record){{k[0], k[1], k[2]}, (uint32_t)m};
        }
    }
}

static void store_exact(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_buckets *b, int parts,
                        const uint32_t *bucket, uint32_t *places, gridding_record *sorted, double *exact)
{
#pragma omp parallel for schedule(static, 1) num_threads(vf_threads_for(plan->ctx, parts > 1 ? samples->count : 0))
    for (int t = 0; t < parts; t++) {
        const int64_t end = part_begin(samples->count, parts, t + 1);
        for (int64_t m = part_begin(samples->count, parts, t); m < end; m++) {
            const uint32_t at = places[t * b->total + bucket[m]]++;
            sorted[at] = (gridding_record){.index = (uint32_t)m};
            memcpy(exact + 3 * (int64_t)at, samples->exact + 3 * m, 3 * sizeof *exact);
        }
    }
}

vf_status gridding_sort(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_tiles *tiles,
                        int64_t block, gridding_record *sorted, int64_t *first, unsigned char *starts, double *exact)
{
    gridding_buckets b;
    const bool made = make_buckets(plan, tiles, block, &b);
    const int parts = parts_of(plan, samples->count, b.total);
    uint32_t *bucket = malloc(((size_t)samples->count + 1) * sizeof *bucket);
    uint32_t *counts = calloc((size_t)(parts * b.total), sizeof *counts);
    vf_large_pages(bucket, (size_t)samples->count * sizeof *bucket);
    vf_status status = VF_OK;
    if (!made || !bucket || !counts)
        status = vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory to sort %lld samples",
                         (long long)samples->count);
    if (status == VF_OK && !count_samples(plan, samples, &b, parts, bucket, counts, starts)) {
        const int64_t matrix[3] = {plan->axis[0].voxels, plan->axis[1].voxels, plan->axis[2].voxels};
        status = gridding_check_positions(plan->ctx, matrix, samples);
        VF_TRY(status, vf_fail(plan->ctx, VF_ERR_INTERNAL, "NUFFT: positions changed while they were sorted"));
    }
    if (status == VF_OK) {
        place_buckets(&b, parts, counts, first);
        if (samples->exact)
            store_exact(plan, samples, &b, parts, bucket, counts, sorted, exact);
        else
            store_sorted(plan, samples, &b, parts, bucket, counts, sorted);
    }
    free_buckets(&b);
    free(bucket);
    free(counts);
    return status;
}
