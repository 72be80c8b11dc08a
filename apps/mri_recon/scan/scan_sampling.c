/* How densely a scan samples k-space. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mri_scan.h"
#include "voxfield/team_size.h"

/* Samples farther apart than this, in cycles per field of view, are not neighbours on a readout. */
static const double NEIGHBOURS = 1.5;
/* The edge of an axis begins at this fraction of its reach. */
static const double EDGE = 0.8;
/* Samples may be this far outside the region, a sphere, cylinder or box, in units of its reach. */
static const double SLACK = 1.05;
static const double ROUNDING = 1e-6; /* of k in single precision */
/* Cells along an axis that are counted together, 64 in all; samples at a time; into how many shares blocks are divided. */
enum { BLOCK = 4, STRETCH = 1 << 18, SHARES = 256 };

/* Axes whose squares add up to a radius: a sphere, cylinders, a box. */
static const bool ROUND[5][3] = {{1, 1, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {0, 0, 0}};

/* The sampled region of k-space, in cycles per field of view. */
typedef struct k_region {
    double scale[3], reach[3];
    int64_t n[3], blocks[3]; /* unit cells, and blocks of them */
    int shape;               /* index into ROUND */
} k_region;

/* The largest square whose root, as it is rounded, is 1. */
static const double SQUARE_OF_1 = 1 + DBL_EPSILON;

/* As fmax and fmin for numbers, but no function: for loops over samples. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The sum of squares over round axes, or the largest square. `at` is in units of reach. */
static double region_square(const bool *round, const double at[3])
{
    double sum = 0, most = 0;
    for (int a = 0; a < 3; a++) {
        sum += round[a] ? at[a] * at[a] : 0;
        most = larger(most, at[a] * at[a]);
    }
    return larger(sum, most);
}

static double region_radius(const bool *round, const double at[3])
{
    return sqrt(region_square(round, at));
}

static void position(const k_region *r, const float *k, double at[3])
{
    for (int a = 0; a < 3; a++)
        at[a] = r->n[a] > 1 ? (double)k[a] * r->scale[a] : 0;
}

/* Finds the smallest shape that contains all samples. */
static void find_region(vf_context *ctx, const mri_scan *raw, const scan_trajectory *t, k_region *r)
{
    const int threads = vf_threads_for(ctx, 5 * t->samples);
    double far[3] = {0}, most[5] = {0};
    *r = (k_region){.reach = {1, 1, 1}};
    for (int a = 0; a < 3; a++) {
        r->n[a] = raw->matrix[a] > 1 ? raw->crop[a] : 1;
        r->scale[a] = (double)raw->crop[a] / (double)raw->matrix[a];
        r->blocks[a] = (r->n[a] + BLOCK - 1) / BLOCK;
    }
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : far)
    for (int64_t m = 0; m < t->samples; m++)
        for (int a = 0; a < 3; a++)
            far[a] = larger(far[a], fabs((double)t->k[3 * m + a]));
    for (int a = 0; a < 3; a++)
        if (r->n[a] > 1)
            r->reach[a] = fmax(r->reach[a], fmin(far[a] * r->scale[a], 0.5 * (double)r->n[a]));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : most)
    for (int64_t m = 0; m < t->samples; m++) {
        double at[3];
        position(r, t->k + 3 * m, at);
        for (int a = 0; a < 3; a++)
            at[a] /= r->reach[a];
        for (int s = 0; s < 5; s++)
            most[s] = larger(most[s], region_square(ROUND[s], at));
    }
    while (r->shape < 4 && sqrt(most[r->shape]) > SLACK)
        r->shape++;
}

/* The length of readout that a sample represents, at most 1 cycle. */
static double length_of(const k_region *r, const scan_trajectory *t, int64_t m)
{
    double at[3], least = INFINITY;
    position(r, t->k + 3 * m, at);
    for (int64_t other = m - 1; other <= m + 1; other += 2) {
        double to[3];
        if (other < 0 || other >= t->samples)
            continue;
        position(r, t->k + 3 * other, to);
        double sum = 0;
        for (int a = 0; a < 3; a++)
            sum += (to[a] - at[a]) * (to[a] - at[a]);
        least = smaller(least, sum);
    }
    least = sqrt(least);
    return least < NEIGHBOURS ? smaller(least, 1) : 1;
}

/* Where a sample is. */
typedef struct k_place {
    int64_t block; /* -1: it does not count */
    float length;
    unsigned char cell, share; /* cell of the block; share of the blocks that one thread counts */
} k_place;

/* Cells of the region, all and at the edges of each axis, and how many of them the samples represent. */
typedef struct k_sums {
    double all[4], held[4]; /* at the edges of x, y, z; all */
} k_sums;

/* For each block: cells with a sample, and the length of readouts. */
typedef struct k_blocks {
    uint64_t *held; /* one bit per cell */
    float *length;
    k_place *place, *sorted;      /* [STRETCH] */
    int64_t (*begin)[SHARES + 1]; /* [slice of a stretch][thread that counts] */
    k_sums *sums;                 /* [blocks along z] */
} k_blocks;

static k_place place_of(const k_region *r, const scan_trajectory *t, int64_t m)
{
    double at[3];
    k_place out = {.block = -1};
    if (t->weights && !(t->weights[m] > 0))
        return out;
    position(r, t->k + 3 * m, at);
    out = (k_place){.length = (float)length_of(r, t, m)};
    for (int a = 2; a >= 0; a--) {
        const double half_up = at[a] + 0.5;
        const int64_t whole = (int64_t)half_up, place = whole - ((double)whole > half_up) + r->n[a] / 2;
        const int64_t n = place < 0 ? 0 : place < r->n[a] ? place : r->n[a] - 1;
        out.cell = (unsigned char)(out.cell * BLOCK + n % BLOCK);
        out.block = out.block * r->blocks[a] + n / BLOCK;
    }
    out.share = (unsigned char)(out.block / r->blocks[0] % SHARES);
    return out;
}

/* Puts the places of a slice of a stretch, [first, end), in the order of the threads that count them, and of samples.
 * begin[own]: where those of thread `own` begin. */
static void sort_slice(const k_blocks *b, const int owner[SHARES], int threads, int64_t first, int64_t end,
                       int64_t *begin)
{
    int64_t at[SHARES] = {0}, place = first;
    for (int64_t i = first; i < end; i++)
        at[owner[b->place[i].share]] += b->place[i].block >= 0;
    for (int own = 0; own < threads; own++) {
        begin[own] = place;
        place += at[own];
        at[own] = begin[own];
    }
    begin[threads] = place;
    for (int64_t i = first; i < end; i++)
        if (b->place[i].block >= 0)
            b->sorted[at[owner[b->place[i].share]]++] = b->place[i];
}

/* A stretch of samples after another: all threads find their places, and then each counts those of its blocks, in
 * order, so the bits do not depend on the number of threads. */
static void count_samples(const vf_context *ctx, const k_region *r, const scan_trajectory *t, k_blocks *b)
{
    const int wanted = vf_threads_for(ctx, 20 * t->samples), threads = wanted < SHARES ? wanted : SHARES;
    int owner[SHARES];
    for (int s = 0; s < SHARES; s++)
        owner[s] = s % threads;
    for (int64_t first = 0; first < t->samples; first += STRETCH) {
        const int64_t count = t->samples - first < STRETCH ? t->samples - first : STRETCH;
#pragma omp parallel for schedule(static) num_threads(wanted)
        for (int slice = 0; slice < threads; slice++) {
            const int64_t begin = count * slice / threads, end = count * (slice + 1) / threads;
            for (int64_t i = begin; i < end; i++)
                b->place[i] = place_of(r, t, first + i);
            sort_slice(b, owner, threads, begin, end, b->begin[slice]);
        }
#pragma omp parallel for schedule(static) num_threads(wanted)
        for (int own = 0; own < threads; own++)
            for (int slice = 0; slice < threads; slice++)
                for (int64_t i = b->begin[slice][own]; i < b->begin[slice][own + 1]; i++) {
                    const k_place *at = &b->sorted[i];
                    b->length[at->block] += at->length;
                    b->held[at->block] |= (uint64_t)1 << at->cell;
                }
    }
}

static void add_block(const k_region *r, const int64_t block[3], double held, k_sums *sums)
{
    int64_t within = 0, end[3], first[3];
    double middle[3], of[3][BLOCK];
    for (int a = 0; a < 3; a++) {
        first[a] = BLOCK * block[a];
        end[a] = first[a] + BLOCK < r->n[a] ? first[a] + BLOCK : r->n[a];
        for (int64_t cell = first[a]; cell < end[a]; cell++)
            of[a][cell - first[a]] = r->n[a] > 1 ? (double)(cell - r->n[a] / 2) / r->reach[a] : 0;
        middle[a] = r->n[a] > 1 ? (0.5 * (double)(first[a] + end[a] - 1) - (double)(r->n[a] / 2)) / r->reach[a] : 0;
    }
    for (int64_t z = first[2]; z < end[2]; z++)
        for (int64_t y = first[1]; y < end[1]; y++)
            for (int64_t x = first[0]; x < end[0]; x++) {
                const double at[3] = {of[0][x - first[0]], of[1][y - first[1]], of[2][z - first[2]]};
                within += region_square(ROUND[r->shape], at) <= SQUARE_OF_1;
            }
    held = fmin(held, (double)within);
    for (int a = 0; a < 4; a++)
        if (a == 3 || fabs(middle[a]) >= EDGE) {
            sums->all[a] += (double)within;
            sums->held[a] += held;
        }
}

/* The sums over layers of blocks are added in order, so the bits do not depend on the number of threads. */
static void judge(const vf_context *ctx, const k_region *r, const k_blocks *b, scan_sampling *out)
{
    const int64_t layer = r->blocks[0] * r->blocks[1];
    k_sums sums = {{0}, {0}};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * r->n[0] * r->n[1] * r->n[2]))
    for (int64_t z = 0; z < r->blocks[2]; z++) {
        b->sums[z] = (k_sums){{0}, {0}};
        for (int64_t i = 0; i < layer; i++) {
            const int64_t block[3] = {i % r->blocks[0], i / r->blocks[0], z}, at = z * layer + i;
            add_block(r, block, fmin((double)b->length[at], (double)__builtin_popcountll(b->held[at])), &b->sums[z]);
        }
    }
    for (int64_t z = 0; z < r->blocks[2]; z++)
        for (int a = 0; a < 4; a++) {
            sums.all[a] += b->sums[z].all[a];
            sums.held[a] += b->sums[z].held[a];
        }
    if (sums.held[3] > 0)
        out->mean = fmax(out->mean, sums.all[3] / sums.held[3]);
    for (int a = 0; a < 3; a++)
        if (sums.held[a] > 0 && r->n[a] > 1)
            out->edge = fmax(out->edge, sums.all[a] / sums.held[a]);
    out->edge = fmax(out->edge, out->mean);
}

vf_status scan_measure_sampling(vf_context *ctx, const mri_scan *raw, scan_sampling *out)
{
    vf_status status = VF_OK;
    *out = (scan_sampling){1, 1};
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++) {
        k_region r;
        find_region(ctx, raw, &raw->trajectory[t], &r);
        const size_t blocks = (size_t)(r.blocks[0] * r.blocks[1] * r.blocks[2]);
        k_blocks b = {.held = calloc(blocks, sizeof *b.held),
                      .length = calloc(blocks, sizeof *b.length),
                      .place = malloc(STRETCH * sizeof *b.place),
                      .sorted = malloc(STRETCH * sizeof *b.sorted),
                      .begin = malloc(SHARES * sizeof *b.begin),
                      .sums = malloc((size_t)r.blocks[2] * sizeof *b.sums)};
        if (b.held && b.length && b.place && b.sorted && b.begin && b.sums) {
            count_samples(ctx, &r, &raw->trajectory[t], &b);
            judge(ctx, &r, &b, out);
        } else {
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory to count the cells of k-space");
        }
        free(b.held);
        free(b.length);
        free(b.place);
        free(b.sorted);
        free(b.begin);
        free(b.sums);
    }
    return status;
}

/* How far out a cell begins along an axis, relative to the samples' reach. */
static double cell_begins(const k_region *r, int64_t cell, int64_t n, int a)
{
    return fmax(fabs((double)(cell - n / 2)) - 0.5, 0) * r->scale[a] / r->reach[a];
}

void scan_mark_reached(vf_context *ctx, const mri_scan *raw, int trajectory, bool *reached)
{
    const int64_t *n = raw->matrix;
    k_region r;
    find_region(ctx, raw, &raw->trajectory[trajectory], &r);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * n[0] * n[1] * n[2]))
    for (int64_t row = 0; row < n[1] * n[2]; row++) {
        double at[3] = {0, cell_begins(&r, row % n[1], n[1], 1), cell_begins(&r, row / n[1], n[2], 2)};
        for (int64_t x = 0; x < n[0]; x++) {
            at[0] = cell_begins(&r, x, n[0], 0);
            reached[row * n[0] + x] |= region_radius(ROUND[r.shape], at) <= 1 + ROUNDING;
        }
    }
}
