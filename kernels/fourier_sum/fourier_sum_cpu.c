/* The CPU backend. It cuts voxels (adjoint) or samples (forward) into pieces, which OpenMP threads compute with the
 * instruction set chosen at run time. Grids without off-resonance are computed by blocks of a lattice, everything else
 * pair by pair. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "fourier_sum_backend.h"
#include "fourier_sum_simd.h"
#include "voxfield/team_size.h"

static const fourier_simd *const simd[VF_ISA_COUNT] = {
    fourier_simd_baseline,
#if defined(__x86_64__)
    fourier_simd_avx2,
    fourier_simd_avx512,
#endif
};

typedef struct cpu_state {
    const fourier_simd *set;
    int threads;
    size_t sums_at,
        thread_bytes; /* per thread: the instruction set's workspace, then sums [most_batch][2][PAIRS_OUTER] */
    char *workspace;
} cpu_state;

static char *thread_workspace(const cpu_state *s)
{
    return s->workspace + (size_t)omp_get_thread_num() * s->thread_bytes;
}

/* For `points` samples or voxels, and each of the other kind. */
static int threads_for_points(const vf_fourier *plan, int batch, int64_t points)
{
    const int64_t others = plan->samples > plan->voxels ? plan->samples : plan->voxels;
    return vf_threads_of_plan(vf_device_context(plan->device), ((const cpu_state *)plan->state)->threads,
                              batch * points * (others / 8 + 1));
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static vf_status create(vf_fourier *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    vf_isa isa;
    vf_status status = vf_variant_isa(plan->device, "Fourier sum", &plan->variant, &isa);
    if (status != VF_OK)
        return status;
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
    plan->state = s;
    s->set = &simd[isa][plan->options.precision == VF_F64];
    s->threads = vf_context_threads(ctx);
    s->sums_at = whole_lines(s->set->workspace);
    s->thread_bytes = s->sums_at + (size_t)plan->most_batch * 2 * PAIRS_OUTER * sizeof(double);
    s->workspace = aligned_alloc(64, (size_t)s->threads * s->thread_bytes);
    if (!s->workspace)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the Fourier sum: %zu bytes for each of %d threads",
                       s->thread_bytes, s->threads);
    return VF_OK;
}

static void destroy(vf_fourier *plan)
{
    cpu_state *s = plan->state;
    free(s->workspace);
    free(s);
    plan->state = NULL;
}

static vf_status done(const vf_fourier *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* ---- any points ---- */

/* Copies of the points' coordinates, padded to whole vectors. */
typedef struct point_list {
    double at[4][PAIRS_INNER];
} point_list;

static void list_voxels(const vf_fourier *plan, int64_t first, int count, point_list *list)
{
    for (int n = 0; n < count; n++) {
        double at[4];
        vf_fourier_voxel(plan, first + n, at);
        for (int a = 0; a < 4; a++)
            list->at[a][n] = at[a];
    }
}

static void list_samples(const vf_fourier *plan, int64_t first, int count, point_list *list)
{
    const double *rows[4] = {plan->k.x, plan->k.y, plan->k.z, plan->k.w};
    memset(list, 0, sizeof *list);
    for (int a = 0; a < 4; a++)
        if (rows[a])
            memcpy(list->at[a], rows[a] + first, sizeof(double) * (size_t)count);
}

/* The sums of up to PAIRS_OUTER points, starting at `first`, over all points of the other kind. */
static void pairs_piece(const vf_fourier *plan, bool forward, int batch, const void *values, int64_t first, int count,
                        int64_t stride, int64_t at, void *out)
{
    const cpu_state *s = plan->state;
    char *workspace = thread_workspace(s);
    double *sums = (double *)(workspace + s->sums_at);
    point_list outer = {0}, inner;
    int64_t all = forward ? plan->voxels : plan->samples;
    size_t value_bytes = vf_dtype_bytes(vf_dtype_complex(plan->options.precision));
    fourier_pairs p = {.sign = forward ? -1 : 1, .coils = batch, .stride = all, .sums = sums};
    (forward ? list_samples : list_voxels)(plan, first, count, &outer);
    for (int a = 0; a < 4; a++) {
        p.to[a] = outer.at[a];
        p.from[a] = a < 3 || plan->has_field ? inner.at[a] : NULL;
    }
    memset(sums, 0, (size_t)batch * 2 * PAIRS_OUTER * sizeof *sums);
    for (int64_t i = 0; i < all; i += PAIRS_INNER) {
        p.inner = all - i < PAIRS_INNER ? (int)(all - i) : PAIRS_INNER;
        p.values = (const char *)values + (size_t)i * value_bytes;
        (forward ? list_voxels : list_samples)(plan, i, p.inner, &inner);
        s->set->pairs(workspace, &p);
    }
    for (int b = 0; b < batch; b++)
        for (int n = 0; n < count; n++)
            for (int part = 0; part < 2; part++) {
                int64_t to = 2 * (b * stride + at + n) + part;
                double sum = sums[(2 * b + part) * PAIRS_OUTER + n];
                if (plan->options.precision == VF_F64)
                    ((double *)out)[to] = sum;
                else
                    ((float *)out)[to] = (float)sum;
            }
}

/* All outer points of a call: `count`, starting at `first`. */
static vf_status pairs_all(const vf_fourier *plan, bool forward, int batch, const void *values, int64_t first,
                           int64_t count, void *out)
{
    int64_t pieces = (count + PAIRS_OUTER - 1) / PAIRS_OUTER;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_for_points(plan, batch, count))
    for (int64_t n = 0; n < pieces; n++)
        if (!vf_cancelled(vf_device_context(plan->device))) {
            int64_t at = n * PAIRS_OUTER;
            int here = count - at < PAIRS_OUTER ? (int)(count - at) : PAIRS_OUTER;
            pairs_piece(plan, forward, batch, values, first + at, here, count, at, out);
        }
    return done(plan);
}

/* ---- points of a grid ---- */

static const int block_size[3] = {BLOCK_X, BLOCK_Y, BLOCK_Z};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The blocks that contain voxels of a range. */
typedef struct block_range {
    int64_t first[3], along[3], blocks;
} block_range;

/* For the voxels [first, end) of the memory order, first < end. */
static block_range blocks_of(const vf_grid *g, int64_t first, int64_t end)
{
    block_range range = {.blocks = 1};
    int64_t lo[3], hi[3], from = first, to = end - 1;
    for (int a = 0; a < 3; a++) {
        lo[a] = from % g->counts[a];
        hi[a] = to % g->counts[a];
        from /= g->counts[a];
        to /= g->counts[a];
    }
    for (int a = 2; a >= 0; a--) {
        bool one = a == 2 || (lo[a + 1] == hi[a + 1] &&
                              (a == 1 || lo[2] == hi[2])); /* the range is within one plane, or one row */
        range.first[a] = (one ? lo[a] : 0) / block_size[a];
        range.along[a] = (one ? hi[a] : g->counts[a] - 1) / block_size[a] - range.first[a] + 1;
        range.blocks *= range.along[a];
    }
    return range;
}

/* Makes block `number`, with its rows that have voxels in [first, end) of the memory order. Vectors of voxels begin at
 * `first`. */
static void make_block(const vf_fourier *plan, const block_range *range, int64_t number, int64_t first, int64_t end,
                       fourier_lattice_block *block, fourier_row row[BLOCK_ROWS])
{
    const vf_grid *g = &plan->grid;
    int64_t begin[3] = {number % range->along[0], number / range->along[0] % range->along[1],
                        number / range->along[0] / range->along[1]};
    *block = (fourier_lattice_block){.samples = plan->samples, .k = {plan->k.x, plan->k.y, plan->k.z}, .row = row};
    for (int a = 0; a < 3; a++) {
        begin[a] = (begin[a] + range->first[a]) * block_size[a];
        block->spacing[a] = g->spacing[a];
        block->centre[a] = g->origin[a] + g->spacing[a] * ((double)begin[a] + 0.5 * (block_size[a] - 1));
    }
    int64_t width = clamp(g->counts[0] - begin[0], 0, BLOCK_X);
    for (int z = 0; z < BLOCK_Z && begin[2] + z < g->counts[2]; z++)
        for (int y = 0; y < BLOCK_Y && begin[1] + y < g->counts[1]; y++) {
            int64_t start = ((begin[2] + z) * g->counts[1] + begin[1] + y) * g->counts[0] + begin[0];
            int64_t from = clamp(first, start, start + width), to = clamp(end, start, start + width);
            if (from < to)
                row[block->rows++] = (fourier_row){.y = (short)y,
                                                   .z = (short)z,
                                                   .begin = (short)(from - start),
                                                   .end = (short)(to - start),
                                                   .at = from - first};
        }
}

static size_t value_bytes(const vf_fourier *plan, int64_t count)
{
    return (size_t)count * vf_dtype_bytes(vf_dtype_complex(plan->options.precision));
}

static vf_status lattice_adjoint(const vf_fourier *plan, int batch, const void *c, int64_t first, int64_t count,
                                 void *y)
{
    const cpu_state *s = plan->state;
    block_range range = blocks_of(&plan->grid, first, first + count);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_for_points(plan, batch, count))
    for (int64_t n = 0; n < range.blocks; n++) {
        fourier_lattice_block block;
        fourier_row row[BLOCK_ROWS];
        make_block(plan, &range, n, first, first + count, &block, row);
        for (int b = 0; b < batch && block.rows > 0 && !vf_cancelled(vf_device_context(plan->device));
             b += LATTICE_COILS)
            s->set->lattice_adjoint(thread_workspace(s), &block, batch - b < LATTICE_COILS ? batch - b : LATTICE_COILS,
                                    (const char *)c + value_bytes(plan, b * plan->samples),
                                    (char *)y + value_bytes(plan, b * count), count);
    }
    return done(plan);
}

/* The forward sum of `coils` vectors for samples [first, first + count). */
static void lattice_forward_piece(const vf_fourier *plan, const block_range *range, int coils, const void *x,
                                  int64_t first, int64_t count, void *c)
{
    const cpu_state *s = plan->state;
    void *workspace = thread_workspace(s);
    fourier_lattice_block block;
    fourier_row row[BLOCK_ROWS];
    for (int64_t n = 0; n < range->blocks && !vf_cancelled(vf_device_context(plan->device)); n++) {
        make_block(plan, range, n, 0, plan->voxels, &block, row);
        block.samples = count;
        for (int a = 0; a < 3; a++)
            block.k[a] += first;
        if (n == 0)
            s->set->lattice_forward_begin(workspace, &block, coils);
        s->set->lattice_forward_block(workspace, &block, coils, x, plan->voxels);
    }
    s->set->lattice_forward_end(workspace, &block, coils, (char *)c + value_bytes(plan, first), plan->samples);
}

static vf_status lattice_forward(const vf_fourier *plan, int batch, const void *x, void *c)
{
    block_range range = blocks_of(&plan->grid, 0, plan->voxels);
    int64_t pieces = (plan->samples + LATTICE_SAMPLES - 1) / LATTICE_SAMPLES;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_for_points(plan, batch, plan->samples))
    for (int64_t n = 0; n < pieces; n++) {
        int64_t first = n * LATTICE_SAMPLES;
        int64_t count = clamp(plan->samples - first, 0, LATTICE_SAMPLES);
        for (int b = 0; b < batch && !vf_cancelled(vf_device_context(plan->device)); b += LATTICE_COILS)
            lattice_forward_piece(plan, &range, batch - b < LATTICE_COILS ? batch - b : LATTICE_COILS,
                                  (const char *)x + value_bytes(plan, b * plan->voxels), first, count,
                                  (char *)c + value_bytes(plan, b * plan->samples));
    }
    return done(plan);
}

static vf_status adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first,
                         int64_t count, void *y)
{
    (void)queue;
    if (plan->has_grid && !plan->has_field)
        return lattice_adjoint(plan, batch, c, first, count, y);
    return pairs_all(plan, false, batch, c, first, count, y);
}

static vf_status forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    (void)queue;
    if (plan->has_grid && !plan->has_field)
        return lattice_forward(plan, batch, x, c);
    return pairs_all(plan, true, batch, x, 0, plan->samples, c);
}

const vf_fourier_backend vf_fourier_cpu = {.variants = {VF_DEVICE_CPU, vf_isa_variants},
                                           .create = create,
                                           .adjoint = adjoint,
                                           .forward = forward,
                                           .destroy = destroy};
