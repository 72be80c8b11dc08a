/* The CPU backend. For a batch of blocks, threads take in turn: the segments' Gram matrices, the blocks' eigenproblems,
 * and the segments' products. */
#include <complex.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/variants.h"
#include "low_rank_backend.h"
#include "low_rank_simd.h"
#include "voxfield/team_size.h"

typedef struct cpu_state {
    const low_rank_isa *simd;
    int threads, solvers; /* solvers: eigenproblems at the same time */
    int64_t square, tile; /* numbers of a padded matrix, and of a tile of it */
    double *grams;        /* [batch][segments][re, im][square]; then P in the first segment */
    double *tiles;        /* [threads][in, out][re, im][tile] */
    double *dense;        /* [solvers]: two matrices of side x side, and side values; complex numbers interleaved */
    int64_t *places;      /* [threads][side + LOW_RANK_TILE] */
    double *sums;         /* [batch] */
} cpu_state;

static int padded(int n)
{
    return (n + LOW_RANK_PAD - 1) / LOW_RANK_PAD * LOW_RANK_PAD;
}

static void destroy(vf_low_rank *plan)
{
    cpu_state *s = plan->state;
    free(s->grams);
    free(s->tiles);
    free(s->dense);
    free(s->places);
    free(s->sums);
    free(s);
    plan->state = NULL;
}

static size_t dense_numbers(const vf_low_rank *plan)
{
    return (size_t)plan->side * (4 * (size_t)plan->side + 1);
}

static vf_status create(vf_low_rank *plan)
{
    static const low_rank_isa *const sets[VF_ISA_COUNT] = {
        &low_rank_isa_baseline,
#if defined(__x86_64__)
        &low_rank_isa_avx2,
        &low_rank_isa_avx512,
#endif
    };
    vf_context *ctx = vf_device_context(plan->device);
    vf_isa isa;
    const vf_status status = vf_variant_isa(plan->device, "low rank", &plan->variant, &isa);
    if (status != VF_OK)
        return status;
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "low rank: not enough memory for a plan");
    plan->state = s;
    s->simd = sets[isa];
    s->threads = vf_context_threads(ctx);
    s->solvers = s->threads < plan->batch ? s->threads : plan->batch;
    s->square = (int64_t)padded(plan->side) * padded(plan->side);
    s->tile = (int64_t)padded(plan->side) * LOW_RANK_TILE;
    const size_t threads = (size_t)s->threads, places = (size_t)plan->side + LOW_RANK_TILE;
    const size_t grams = 2 * (size_t)plan->batch * (size_t)plan->segments * (size_t)s->square;
    const size_t tiles = 4 * threads * (size_t)s->tile, dense = (size_t)s->solvers * dense_numbers(plan);
    s->grams = malloc(grams * sizeof *s->grams);
    s->tiles = malloc(tiles * sizeof *s->tiles);
    s->dense = malloc(dense * sizeof *s->dense);
    s->places = malloc(threads * places * sizeof *s->places);
    s->sums = malloc((size_t)plan->batch * sizeof *s->sums);
    plan->bytes =
        (int64_t)((grams + tiles + dense + (size_t)plan->batch) * sizeof(double) + threads * places * sizeof(int64_t));
    if (!s->grams || !s->tiles || !s->dense || !s->places || !s->sums)
        return vf_fail(ctx, VF_ERR_MEMORY, "low rank: not enough memory for matrices of %d rows", plan->side);
    return VF_OK;
}

/* ---- one segment of one block ---- */

/* A segment, and the memory of the thread that works on it. */
typedef struct piece {
    const vf_low_rank *plan;
    const low_rank_task *task;
    low_rank_block block;
    int width;                 /* of its padded matrices */
    int64_t first, count;      /* of the longer side; count <= 0 if the block has no such segment */
    low_rank_parts matrix;     /* the Gram matrix of the segment */
    low_rank_parts tile, out;  /* LOW_RANK_TILE rows */
    int64_t *shorter, *longer; /* where the tile's columns and rows lie */
} piece;

static low_rank_parts matrix_of(const vf_low_rank *plan, int place, int segment)
{
    const cpu_state *s = plan->state;
    double *re = s->grams + 2 * ((int64_t)place * plan->segments + segment) * s->square;
    return (low_rank_parts){re, re + s->square};
}

/* Segment `job` of a batch that begins with block `base`. */
static piece open_piece(const vf_low_rank *plan, const low_rank_task *task, int64_t base, int64_t job)
{
    const cpu_state *s = plan->state;
    const int thread = omp_get_thread_num(), place = (int)(job / plan->segments), segment = (int)(job % plan->segments);
    double *memory = s->tiles + 4 * thread * s->tile;
    piece p = {.plan = plan,
               .task = task,
               .block = low_rank_block_at(&task->grid, base + place),
               .first = segment * plan->segment,
               .matrix = matrix_of(plan, place, segment),
               .tile = {memory, memory + s->tile},
               .out = {memory + 2 * s->tile, memory + 3 * s->tile},
               .shorter = s->places + thread * ((int64_t)plan->side + LOW_RANK_TILE)};
    const int64_t rest = p.block.longer - p.first;
    p.longer = p.shorter + plan->side;
    p.width = padded(p.block.shorter);
    p.count = rest < plan->segment ? rest : plan->segment;
    for (int j = 0; p.count > 0 && j < p.block.shorter; j++)
        p.shorter[j] = low_rank_shorter(&task->grid, &p.block, j);
    return p;
}

/* Rows of the segment from `row` on; the number of them that there are. */
static int locate_rows(const piece *p, int64_t row)
{
    const int rows = p->count - row < LOW_RANK_TILE ? (int)(p->count - row) : LOW_RANK_TILE;
    for (int l = 0; l < rows; l++)
        p->longer[l] = low_rank_longer(&p->task->grid, &p->block, p->first + row + l);
    return rows;
}

/* Rows `row` to row + LOW_RANK_TILE - 1 of the segment; 0 beyond its end and in the columns of padding. */
static void load_tile(const piece *p, int64_t row)
{
    const int rows = locate_rows(p, row), k = p->block.shorter;
    for (int l = 0; l < LOW_RANK_TILE; l++) {
        double *re = p->tile.re + (size_t)l * (size_t)p->width, *im = p->tile.im + (re - p->tile.re);
        for (int j = l < rows ? k : 0; j < p->width; j++)
            re[j] = im[j] = 0;
        for (int j = 0; l < rows && j < k; j++) {
            const int64_t at = 2 * (p->longer[l] + p->shorter[j]);
            if (p->plan->type == VF_C128) {
                re[j] = ((const double *)p->task->v)[at];
                im[j] = ((const double *)p->task->v)[at + 1];
            } else {
                re[j] = (double)((const float *)p->task->v)[at];
                im[j] = (double)((const float *)p->task->v)[at + 1];
            }
        }
    }
}

static void store_tile(const piece *p, int64_t row)
{
    const int rows = locate_rows(p, row);
    for (int l = 0; l < rows; l++)
        for (int j = 0; j < p->block.shorter; j++) {
            const int64_t at = 2 * (p->longer[l] + p->shorter[j]);
            const size_t from = (size_t)l * (size_t)p->width + (size_t)j;
            if (p->plan->type == VF_C128) {
                ((double *)p->task->z)[at] = p->out.re[from];
                ((double *)p->task->z)[at + 1] = p->out.im[from];
            } else {
                ((float *)p->task->z)[at] = (float)p->out.re[from];
                ((float *)p->task->z)[at + 1] = (float)p->out.im[from];
            }
        }
}

static void make_gram(const piece *p)
{
    const cpu_state *s = p->plan->state;
    const size_t bytes = (size_t)p->width * (size_t)p->width * sizeof(double);
    memset(p->matrix.re, 0, bytes);
    memset(p->matrix.im, 0, bytes);
    for (int64_t row = 0; row < p->count; row += LOW_RANK_TILE) {
        load_tile(p, row);
        s->simd->add_gram(p->width, p->tile, p->matrix);
    }
}

static void multiply(const piece *p, low_rank_parts by)
{
    const cpu_state *s = p->plan->state;
    for (int64_t row = 0; row < p->count; row += LOW_RANK_TILE) {
        load_tile(p, row);
        s->simd->multiply(p->width, p->block.shorter, p->tile, by, p->out);
        store_tile(p, row);
    }
}

/* ---- one block ---- */

/* Adds the segments' matrices in order. Their lower triangles count. */
static void add_segments(const vf_low_rank *plan, int place, int k, double complex *gram)
{
    const int width = padded(k);
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double re = 0, im = 0;
            for (int segment = 0; segment < plan->segments; segment++) {
                const low_rank_parts m = matrix_of(plan, place, segment);
                re += m.re[i * width + j];
                im += m.im[i * width + j];
            }
            const double up[2] = {re, i == j ? 0 : -im}, low[2] = {re, i == j ? 0 : im};
            memcpy(gram + j * k + i, up, sizeof up);
            memcpy(gram + i * k + j, low, sizeof low);
        }
}

static void solve(const vf_low_rank *plan, const low_rank_task *task, int64_t base, int place)
{
    const cpu_state *s = plan->state;
    const int k = low_rank_block_at(&task->grid, base + place).shorter, width = padded(k);
    double *dense = s->dense + (size_t)vf_room_of(s->solvers, plan->batch, place) * dense_numbers(plan);
    double *vectors = dense + 2 * (size_t)k * (size_t)k, *values = vectors + 2 * (size_t)k * (size_t)k;
    add_segments(plan, place, k, (double complex *)dense);
    if (!task->z) {
        s->sums[place] = low_rank_sum(k, dense, vectors, values);
        return;
    }
    low_rank_weigh(k, task->threshold, dense, vectors, values);
    const low_rank_parts p = matrix_of(plan, place, 0);
    for (int i = 0; i < k; i++)
        for (int j = 0; j < width; j++) {
            p.re[i * width + j] = j < k ? dense[2 * (i * k + j)] : 0;
            p.im[i * width + j] = j < k ? dense[2 * (i * k + j) + 1] : 0;
        }
}

static vf_status execute(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task)
{
    const cpu_state *s = plan->state;
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int threads = vf_threads_of_plan(ctx, s->threads, 2 * task->grid.voxels * task->grid.frames);
    for (int64_t base = 0; base < task->grid.all_blocks && !vf_cancelled(ctx); base += plan->batch) {
        const int64_t rest = task->grid.all_blocks - base;
        const int blocks = rest < plan->batch ? (int)rest : plan->batch;
        const int64_t jobs = (int64_t)blocks * plan->segments;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t job = 0; job < jobs; job++) {
            const piece p = open_piece(plan, task, base, job);
            make_gram(&p);
        }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int place = 0; place < blocks; place++)
            if (!vf_cancelled(ctx))
                solve(plan, task, base, place);
        for (int place = 0; !task->z && place < blocks; place++)
            *task->sum += s->sums[place];
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t job = 0; job < (task->z && !vf_cancelled(ctx) ? jobs : 0); job++) {
            const piece p = open_piece(plan, task, base, job);
            multiply(&p, matrix_of(plan, (int)(job / plan->segments), 0));
        }
    }
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

const vf_low_rank_backend vf_low_rank_cpu = {
    .kind = VF_DEVICE_CPU, .create = create, .execute = execute, .destroy = destroy};
