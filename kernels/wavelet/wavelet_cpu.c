/* The CPU backend: each level is one pass over its box, all axes together.
 *
 * Forward and inverse have the same structure. Along an axis, pair i of outputs needs the pairs i to i + moments - 1 of
 * inputs (forward), or i - moments + 1 to i (inverse). On the fine side, pair i is the numbers 2i and 2i + 1; on the
 * bands' side, number i of the coarse part and of the detail.
 *
 * A thread takes a block of pairs along y and z. It walks along z and keeps the last `moments` pairs of slabs that are
 * already transformed along x and y. To make a slab, it walks along y and keeps the last `moments` pairs of rows that
 * are already transformed along x. So numbers pass through memory once, and the second-level cache holds the rest. Rows
 * are contiguous in all steps: a row along x is first split into its even and odd numbers.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/variants.h"
#include "voxfield/team_size.h"
#include "wavelet_cpu.h"

/* Approximate bytes of a thread's slabs; pairs of a block along y and z; bytes between the threads' working memory, so
 * that they do not start at the same offset in a page. */
enum {
    SLAB_BYTES = 1 << 18,
    LEAST_PAIRS = 4,
    MOST_PAIRS_Y = 32,
    MOST_PAIRS_Z = 16,
    GAP = 320,
    ALIGNMENT = 64,
};

/* One side of a pass: an image, which may be shifted, or bands, whose coarse part lies elsewhere. Steps of rows and
 * planes in numbers. */
typedef struct side {
    bool bands;
    char *data, *coarse;
    int64_t row, plane, coarse_row, coarse_plane;
    int64_t shift[3];
} side;

typedef struct pass {
    const vf_wavelet *plan;
    const cpu_state *state;
    vf_wavelet_box box;
    side from, to;
    const vf_wavelet_soft *soft;
    const void *filter[2];
    int64_t steps[3];  /* pairs of numbers along each axis; numbers, if the axis is not transformed */
    int64_t blocks[3]; /* and how many of them a block has, [1] and [2] */
} pass;

/* A thread's working memory. */
typedef struct room {
    char *line, *even, *odd, *low, *high; /* parts of a row along x */
    char *rows;                           /* [taps] transformed along x */
    char *slabs;                          /* [taps] transformed along x and y */
} room;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t round_up(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* ---- blocks ---- */

static int64_t pieces(int64_t all, int64_t each)
{
    return (all + each - 1) / each;
}

/* Pairs next to a block that it needs too, so that it transforms them again. */
static int overlap(const pass *p, int axis)
{
    return p->box.split[axis] ? p->plan->moments - 1 : 0;
}

/* Blocks of at most `most` pairs along y and z, such that the thread with most of them has least to do. */
static void share_blocks(pass *p, const int64_t most[3])
{
    const int threads = p->state->threads;
    int64_t least = INT64_MAX, parts[3] = {0, pieces(p->steps[1], most[1]), pieces(p->steps[2], most[2])};
    const int64_t fewest_y = parts[1], most_y = larger(fewest_y, p->steps[1] / LEAST_PAIRS),
                  most_z = larger(parts[2], p->steps[2] / LEAST_PAIRS);
    for (; parts[2] <= most_z; parts[2]++)
        for (parts[1] = fewest_y; parts[1] <= most_y; parts[1]++) {
            const int64_t y = larger(1, pieces(p->steps[1], parts[1])), z = larger(1, pieces(p->steps[2], parts[2]));
            const int64_t one = (y + overlap(p, 1)) * (z + overlap(p, 2));
            const int64_t work = pieces(pieces(p->steps[1], y) * pieces(p->steps[2], z), threads) * one;
            if (work < least) {
                least = work;
                p->blocks[1] = y;
                p->blocks[2] = z;
            }
        }
}

static void lay_blocks(pass *p)
{
    const vf_wavelet_box *box = &p->box;
    const int slots = box->split[2] ? 2 * p->plan->moments : 1;
    const int64_t fit = SLAB_BYTES / (slots * 2 * box->counts[0] * (int64_t)p->state->element);
    for (int a = 0; a < 3; a++)
        p->steps[a] = box->counts[a] / (box->split[a] ? 2 : 1);
    p->blocks[0] = p->steps[0];
    p->blocks[1] = p->blocks[2] = 1;
    share_blocks(p, (const int64_t[3]){0, smaller(larger(fit, LEAST_PAIRS), MOST_PAIRS_Y), MOST_PAIRS_Z});
}

static int64_t slab_rows(const pass *p)
{
    return p->blocks[1] * (p->box.split[1] ? 2 : 1);
}

/* Lays out the working memory from `at`; returns its bytes. */
static int64_t lay_room(const pass *p, char *at, room *r)
{
    const int taps = 2 * p->plan->moments, rows = p->box.split[1] ? taps : 0, slabs = p->box.split[2] ? taps : 1;
    const int64_t n = p->box.counts[0], half = n / 2 + taps;
    char **const parts[] = {&r->line, &r->even, &r->odd, &r->low, &r->high, &r->rows, &r->slabs};
    const int64_t numbers[] = {n, half, half, half, half, rows * n, slabs * slab_rows(p) * n};
    int64_t bytes = 0;
    for (int i = 0; i < 7; i++) {
        *parts[i] = at ? at + bytes : NULL;
        bytes += round_up(numbers[i] * (int64_t)p->state->element, ALIGNMENT);
    }
    return bytes;
}

static pass pass_of(const vf_wavelet *plan, int level, bool inverse)
{
    const cpu_state *s = plan->state;
    pass p = {.plan = plan, .state = s, .box = vf_wavelet_box_of(plan, level)};
    for (int output = 0; output < 2; output++)
        p.filter[output] = plan->precision == VF_F64 ? (const void *)s->filter_f64[inverse][output]
                                                     : (const void *)s->filter_f32[inverse][output];
    lay_blocks(&p);
    return p;
}

/* ---- a plan ---- */

static void destroy(vf_wavelet *plan)
{
    cpu_state *s = plan->state;
    vf_array_free(&s->work);
    free(s);
    plan->state = NULL;
}

static void lay_filters(const vf_wavelet *plan, cpu_state *s)
{
    for (int m = 0; m < plan->moments; m++)
        for (int b = 0; b < 2; b++) {
            const int k = 2 * m + b, back = 2 * (plan->moments - 1 - m);
            s->filter_f64[0][0][k] = plan->low[k];
            s->filter_f64[0][1][k] = plan->high[k];
            s->filter_f64[1][b][back] = plan->low[k];
            s->filter_f64[1][b][back + 1] = plan->high[k];
        }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2 * plan->moments; k++)
            s->filter_f32[i / 2][i % 2][k] = (float)s->filter_f64[i / 2][i % 2][k];
}

static vf_status create(vf_wavelet *plan, const char *variant)
{
    static const wavelet_simd *const sets[VF_ISA_COUNT] = {[VF_ISA_BASELINE] = &wavelet_simd_baseline,
                                                           [VF_ISA_AVX2] = &wavelet_simd_avx2,
                                                           [VF_ISA_AVX512] = &wavelet_simd_avx512};
    vf_context *ctx = vf_device_context(plan->device);
    vf_isa isa;
    vf_status status = vf_variant_isa(plan->device, "wavelet", &variant, &isa);
    if (status != VF_OK)
        return status;
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "wavelet: not enough memory for a plan");
    plan->state = s;
    s->lines = plan->precision == VF_F64 ? &sets[isa]->f64 : &sets[isa]->f32;
    s->threads = vf_context_threads(ctx);
    s->element = vf_dtype_bytes(plan->type);
    lay_filters(plan, s);
    for (int l = plan->levels > 0; l <= plan->levels; l++) {
        const pass p = pass_of(plan, l, false);
        room r;
        s->work_bytes = larger(s->work_bytes, lay_room(&p, NULL, &r) + GAP);
    }
    return vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, s->work_bytes * s->threads, &s->work);
}

/* ---- where numbers lie ---- */

/* A row along x in two pieces. */
typedef struct row_piece {
    char *at;
    int64_t count;
    bool coarse; /* along all axes */
} row_piece;

static void locate(const pass *p, const side *s, int64_t y, int64_t z, row_piece piece[2])
{
    const int64_t *n = p->box.counts, element = (int64_t)p->state->element;
    if (s->bands) {
        const bool coarse = !(p->box.split[1] && y >= n[1] / 2) && !(p->box.split[2] && z >= n[2] / 2);
        char *row = s->data + (y * s->row + z * s->plane) * element;
        piece[0].count = p->steps[0];
        piece[0].at = coarse ? s->coarse + (y * s->coarse_row + z * s->coarse_plane) * element : row;
        piece[0].coarse = coarse;
        piece[1].at = row + p->steps[0] * element;
    } else {
        const int64_t from_y = y < s->shift[1] ? y - s->shift[1] + n[1] : y - s->shift[1],
                      from_z = z < s->shift[2] ? z - s->shift[2] + n[2] : z - s->shift[2];
        char *row = s->data + (from_y * s->row + from_z * s->plane) * element;
        piece[0].count = s->shift[0];
        piece[0].at = row + (s->shift[0] > 0 ? n[0] - s->shift[0] : 0) * element;
        piece[0].coarse = false;
        piece[1].at = row;
    }
    piece[1].count = n[0] - piece[0].count;
    piece[1].coarse = false;
}

/* Number b of pair `step` of an axis; pairs repeat periodically. */
static int64_t position(const pass *p, const side *s, int axis, int64_t step, int b)
{
    const int64_t n = p->steps[axis], i = step < 0 ? step + n : step >= n ? step - n : step;
    if (!p->box.split[axis])
        return i;
    return s->bands ? i + b * n : 2 * i + b;
}

/* The first pair of inputs for pair `output`, and how many more each pair needs. */
static int64_t first_input(const pass *p, int axis, int64_t output)
{
    return p->from.bands ? output - overlap(p, axis) : output;
}

/* ---- along x ---- */

/* A row of a length of its own, copied together. */
static void join(const pass *p, const row_piece piece[2], char *row)
{
    const size_t element = p->state->element;
    memcpy(row, piece[0].at, (size_t)piece[0].count * element);
    memcpy(row + (size_t)piece[0].count * element, piece[1].at, (size_t)piece[1].count * element);
}

/* `count` pairs of the rows x and y, which begin with the first pair that is needed. */
static void combine_neighbours(const pass *p, int64_t count, const char *x, const char *y, char *first, char *second)
{
    const int moments = p->plan->moments;
    const void *rows[WAVELET_MOST_TAPS];
    for (int m = 0; m < moments; m++) {
        rows[2 * m] = x + (size_t)m * p->state->element;
        rows[2 * m + 1] = y + (size_t)m * p->state->element;
    }
    p->state->lines->combine[moments - 1](count, p->filter[0], p->filter[1], rows, first, second);
}

static void forward_row(const pass *p, const room *r, const row_piece piece[2], char *row)
{
    const int64_t half = p->steps[0], element = (int64_t)p->state->element;
    const size_t more = (size_t)overlap(p, 0) * p->state->element;
    const char *whole = piece[1].at;
    if (piece[0].count > 0) {
        join(p, piece, r->line);
        whole = r->line;
    }
    p->state->lines->split(half, whole, r->even, r->odd);
    memcpy(r->even + half * element, r->even, more);
    memcpy(r->odd + half * element, r->odd, more);
    combine_neighbours(p, half, r->even, r->odd, row, row + half * element);
}

/* Straight from the bands, except for the first pairs, which also need the last ones. */
static void inverse_row(const pass *p, const room *r, const row_piece piece[2], char *row)
{
    const int more = overlap(p, 0);
    const int64_t half = p->steps[0], element = (int64_t)p->state->element, end = (half - more) * element,
                  reach = more * element;
    char *const ends[2] = {r->low, r->high};
    for (int i = 0; i < 2; i++) {
        memcpy(ends[i], piece[i].at + end, (size_t)reach);
        memcpy(ends[i] + reach, piece[i].at, (size_t)reach);
    }
    combine_neighbours(p, more, r->low, r->high, r->even, r->odd);
    combine_neighbours(p, half - more, piece[0].at, piece[1].at, r->even + reach, r->odd + reach);
    p->state->lines->merge(half, r->even, r->odd, row);
}

/* Input row (y, z), transformed along x. */
static void make_row(const pass *p, const room *r, int64_t y, int64_t z, char *row)
{
    row_piece piece[2];
    locate(p, &p->from, y, z, piece);
    if (!p->box.split[0])
        join(p, piece, row);
    else if (p->from.bands)
        inverse_row(p, r, piece, row);
    else
        forward_row(p, r, piece, row);
}

/* ---- along y and z ---- */

/* Input slab z, transformed along x and y, for `count` pairs of outputs from `first` on. */
static void make_slab(const pass *p, const room *r, int64_t first, int64_t count, int64_t z, char *slab)
{
    const int moments = p->plan->moments, more = overlap(p, 1), pair = p->box.split[1] ? 2 : 1;
    const size_t bytes = (size_t)p->box.counts[0] * p->state->element;
    const int64_t from = first_input(p, 1, first);
    for (int64_t t = 0; t < count + more; t++) {
        for (int b = 0; b < pair; b++)
            make_row(p, r, position(p, &p->from, 1, from + t, b), z,
                     pair == 2 ? r->rows + (size_t)(t % moments * 2 + b) * bytes : slab + (size_t)t * bytes);
        if (pair == 1 || t < more)
            continue;
        const void *rows[WAVELET_MOST_TAPS];
        for (int k = 0; k < 2 * moments; k++)
            rows[k] = r->rows + (size_t)((t - more + k / 2) % moments * 2 + k % 2) * bytes;
        char *to = slab + (size_t)(2 * (t - more)) * bytes;
        p->state->lines->combine[moments - 1](p->box.counts[0], p->filter[0], p->filter[1], rows, to, to + bytes);
    }
}

static void apply_soft(const pass *p, const row_piece piece[2])
{
    for (int i = 0; i < 2; i++)
        if (p->soft && !piece[i].coarse)
            p->state->lines->soft(piece[i].count, p->soft->scale, p->soft->level, piece[i].at);
}

/* Output rows (y, z[0]) and (y, z[1]) of the slabs' rows. */
static void store_pair(const pass *p, const char *const *slabs, int64_t row, int64_t y, const int64_t z[2])
{
    const int moments = p->plan->moments;
    const size_t element = p->state->element;
    size_t at = (size_t)(row * p->box.counts[0]) * element;
    row_piece first[2], second[2];
    locate(p, &p->to, y, z[0], first);
    locate(p, &p->to, y, z[1], second);
    for (int i = 0; i < 2; i++) {
        const void *rows[WAVELET_MOST_TAPS];
        for (int k = 0; k < 2 * moments; k++)
            rows[k] = slabs[k] + at;
        p->state->lines->combine[moments - 1](first[i].count, p->filter[0], p->filter[1], rows, first[i].at,
                                              second[i].at);
        at += (size_t)first[i].count * element;
    }
    apply_soft(p, first);
    apply_soft(p, second);
}

static void store_row(const pass *p, const char *row, int64_t y, int64_t z)
{
    const size_t element = p->state->element;
    row_piece piece[2];
    locate(p, &p->to, y, z, piece);
    memcpy(piece[0].at, row, (size_t)piece[0].count * element);
    memcpy(piece[1].at, row + (size_t)piece[0].count * element, (size_t)piece[1].count * element);
    apply_soft(p, piece);
}

/* Stores pair `step` along z of `count` pairs along y from `first` on. */
static void store_slabs(const pass *p, const char *const *slabs, int64_t first, int64_t count, int64_t step)
{
    const int pair = p->box.split[1] ? 2 : 1;
    const int64_t z[2] = {position(p, &p->to, 2, step, 0), position(p, &p->to, 2, step, 1)};
    for (int64_t row = 0; row < pair * count; row++) {
        const int64_t y = position(p, &p->to, 1, first + row / pair, (int)(row % pair));
        if (p->box.split[2])
            store_pair(p, slabs, row, y, z);
        else
            store_row(p, slabs[0] + (size_t)(row * p->box.counts[0]) * p->state->element, y, z[0]);
    }
}

static void do_block(const pass *p, const room *r, int64_t block_y, int64_t block_z)
{
    const int moments = p->plan->moments, more = overlap(p, 2), pair = p->box.split[2] ? 2 : 1;
    const int64_t y = block_y * p->blocks[1], count = smaller(p->blocks[1], p->steps[1] - y),
                  z = block_z * p->blocks[2], steps = smaller(p->blocks[2], p->steps[2] - z),
                  from = first_input(p, 2, z);
    const size_t bytes = (size_t)(slab_rows(p) * p->box.counts[0]) * p->state->element;
    for (int64_t t = 0; t < steps + more; t++) {
        const char *slabs[WAVELET_MOST_TAPS] = {r->slabs};
        for (int b = 0; b < pair; b++)
            make_slab(p, r, y, count, position(p, &p->from, 2, from + t, b),
                      r->slabs + (pair == 2 ? (size_t)(t % moments * 2 + b) * bytes : 0));
        if (t < more)
            continue;
        for (int k = 0; k < 2 * moments && pair == 2; k++)
            slabs[k] = r->slabs + (size_t)((t - more + k / 2) % moments * 2 + k % 2) * bytes;
        store_slabs(p, slabs, y, count, z + t - more);
    }
}

static void run(const pass *p)
{
    const cpu_state *s = p->state;
    const int64_t along_y = pieces(p->steps[1], p->blocks[1]), blocks = along_y * pieces(p->steps[2], p->blocks[2]),
                  numbers = p->box.counts[0] * p->box.counts[1] * p->box.counts[2];
    const vf_context *ctx = vf_device_context(p->plan->device);
#pragma omp parallel for schedule(static) num_threads(vf_threads_of_plan(ctx, s->threads, 5 * numbers))
    for (int64_t i = 0; i < blocks; i++) {
        const int thread = omp_get_thread_num();
        room r;
        lay_room(p, (char *)s->work.data + thread * s->work_bytes, &r);
        do_block(p, &r, i % along_y, i / along_y);
    }
}

/* ---- the levels ---- */

/* The padded array, shifted, with level 1; before level l > 1, the coarse part after level l - 1. */
static side image_side(const pass *p, int level, const void *v, const int64_t shift[3])
{
    const int64_t *n = p->box.counts;
    side s = {.row = n[0], .plane = n[0] * n[1]};
    s.data = level > 1 ? vf_wavelet_band(p->plan, level - 1) : (void *)v;
    for (int a = 0; a < 3 && level <= 1; a++)
        s.shift[a] = shift[a];
    return s;
}

/* The bands in c. The coarse part lies there after the last level, in the plan before. */
static side bands_side(const pass *p, int level, int levels, const void *c)
{
    const vf_wavelet *plan = p->plan;
    side s = {.bands = true, .data = (char *)c, .row = plan->padded[0], .plane = plan->padded[0] * plan->padded[1]};
    s.coarse = s.data;
    s.coarse_row = s.row;
    s.coarse_plane = s.plane;
    if (level < levels) {
        const vf_wavelet_box next = vf_wavelet_box_of(plan, level + 1);
        s.coarse = vf_wavelet_band(plan, level);
        s.coarse_row = next.counts[0];
        s.coarse_plane = next.counts[0] * next.counts[1];
    }
    return s;
}

static vf_status forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels,
                         const vf_wavelet_soft *soft, const void *v, void *c)
{
    (void)queue;
    for (int l = levels > 0; l <= levels; l++) {
        pass p = pass_of(plan, l, false);
        p.from = image_side(&p, l, v, shift);
        p.to = bands_side(&p, l, levels, c);
        p.soft = soft;
        run(&p);
    }
    return VF_OK;
}

static vf_status adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v)
{
    (void)queue;
    for (int l = plan->levels; l >= (plan->levels > 0); l--) {
        pass p = pass_of(plan, l, true);
        p.from = bands_side(&p, l, plan->levels, c);
        p.to = image_side(&p, l, v, shift);
        run(&p);
    }
    return VF_OK;
}

const vf_wavelet_backend vf_wavelet_cpu = {.kind = VF_DEVICE_CPU,
                                           .create = create,
                                           .forward = forward,
                                           .adjoint = adjoint,
                                           .magnitudes = wavelet_cpu_magnitudes,
                                           .finest = wavelet_cpu_finest,
                                           .destroy = destroy};
