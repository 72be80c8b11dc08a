/* The CPU backend: OpenMP threads spread tiles of samples, with the inner loops of the instruction set chosen at run
 * time.
 *
 * A kernel that starts in one tile reaches into the next along each axis, and no further. So tiles are coloured like a
 * chessboard, with up to 8 colours. Threads spread tiles of one colour at the same time without touching a common
 * point. So the order of terms at a point does not depend on the threads. A tile with more than a thread's share of its colour's
 * samples, as in the centre of a radial scan, is spread by all threads together. */
#include <stdlib.h>
#include <string.h>

#include "gridding_cpu.h"

#include "voxfield/team_size.h"

/* The smallest tile, in points. Along x it must hold all points that spreading a sample touches: see
 * gridding_simd.h. */
enum { TILE_X = GRIDDING_REACH + GRIDDING_LANES, TILE = 16, COLOURS = 8 };

static const gridding_simd *const simd[VF_ISA_COUNT] = {
    &gridding_simd_baseline,
#if defined(__x86_64__)
    &gridding_simd_avx2,
    &gridding_simd_avx512,
#endif
};

const gridding_simd *gridding_simd_here(void)
{
    return simd[vf_cpu_isa()];
}

/* Frees what depends on the samples. */
static void forget_samples(gridding_cpu_state *state)
{
    vf_array_free(&state->samples);
    vf_array_free(&state->exact);
    vf_array_free(&state->locals);
    vf_array_free(&state->factor);
    vf_array_free(&state->field);
    free(state->first);
    free(state->order);
    free(state->used);
    state->first = state->order = NULL;
    state->used = NULL;
}

static void destroy(vf_nufft *plan)
{
    gridding_cpu_state *state = plan->state;
    forget_samples(state);
    vf_array_free(&state->table);
    vf_array_free(&state->grid);
    for (int a = 0; a < 3; a++) {
        vf_array_free(&state->scale[a]);
        bool shared = false;
        for (int b = 0; b < a; b++)
            shared = shared || state->fft[b] == state->fft[a];
        if (!shared)
            vf_fft_axis_destroy(state->fft[a]);
    }
    free(state);
    plan->state = NULL;
}

/* ---- the plan ---- */

static int64_t total_tiles(const gridding_cpu_state *state)
{
    return state->tiles.count[0] * state->tiles.count[1] * state->tiles.count[2];
}

/* The number of tiles: even, each at least as long as the kernel's reach; or 1. */
static int64_t count_tiles(const gridding_axis *axis, int64_t least)
{
    int64_t reach = axis->width > least ? axis->width : least, tiles = axis->grid / reach;
    return tiles < 2 ? 1 : tiles / 2 * 2;
}

static vf_status sort_samples(vf_nufft *plan, gridding_cpu_state *state, const vf_nufft_samples *samples,
                              unsigned char *starts)
{
    for (int a = 0; a < 3; a++) {
        state->tiles.count[a] = count_tiles(&plan->axis[a], a == 0 ? TILE_X : TILE);
        state->tiles.size[a] = plan->axis[a].grid / state->tiles.count[a];
    }
    int64_t tiles = total_tiles(state);
    state->first = calloc((size_t)tiles + 1, sizeof *state->first);
    state->order = calloc((size_t)tiles, sizeof *state->order);
    if (!state->first || !state->order)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for %lld tiles", (long long)tiles);
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32,
                        plan->samples * (int64_t)(sizeof(gridding_record) / sizeof(float)), &state->samples);
    if (samples->exact)
        VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F64, 3 * plan->samples, &state->exact));
    VF_TRY(status, gridding_sort(plan, samples, &state->tiles, GRIDDING_CPU_BLOCK, state->samples.data, state->first,
                                 starts, state->exact.data));
    return status;
}

static int colour_of(const gridding_cpu_state *state, int64_t tile)
{
    const int64_t *count = state->tiles.count;
    int64_t x = tile % count[0], y = tile / count[0] % count[1], z = tile / count[0] / count[1];
    return (int)(x % 2 + 2 * (y % 2) + 4 * (z % 2));
}

typedef struct filled_tile {
    int64_t tile, samples;
} filled_tile;

static int by_samples(const void *a, const void *b)
{
    const filled_tile *p = a, *q = b;
    return p->samples != q->samples ? (p->samples < q->samples) - (p->samples > q->samples)
                                    : (p->tile > q->tile) - (p->tile < q->tile);
}

/* How many of a colour's tiles, the fullest first, hold more than a thread's share of its samples. */
static int64_t count_dense(const vf_nufft *plan, const filled_tile *filled, int64_t count)
{
    const int threads = vf_context_threads(plan->ctx);
    int64_t samples = 0, dense = 0;
    for (int64_t i = 0; i < count; i++)
        samples += filled[i].samples;
    while (threads > 1 && dense < count && filled[dense].samples > 2 * GRIDDING_PIECE &&
           filled[dense].samples > samples / threads)
        dense++;
    return dense;
}

/* Orders the tiles by colour, the fullest first, so that no thread is left with a full one at the end. */
static vf_status order_tiles(const vf_nufft *plan, gridding_cpu_state *state)
{
    int64_t tiles = total_tiles(state), count = 0;
    filled_tile *filled = malloc((size_t)tiles * sizeof *filled);
    if (!filled)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for %lld tiles", (long long)tiles);
    for (int c = 0; c < COLOURS; c++) {
        int64_t begin = count;
        for (int64_t t = 0; t < tiles; t++)
            if (colour_of(state, t) == c && state->first[t + 1] > state->first[t])
                filled[count++] = (filled_tile){t, state->first[t + 1] - state->first[t]};
        qsort(filled + begin, (size_t)(count - begin), sizeof *filled, by_samples);
        state->colour[c] = begin;
        state->together[c] = begin + count_dense(plan, filled + begin, count - begin);
    }
    state->colour[COLOURS] = count;
    for (int64_t i = 0; i < count; i++)
        state->order[i] = filled[i].tile;
    free(filled);
    return VF_OK;
}

/* to[i] |= from[i - by], i modulo n: bytes. */
static void mark_shifted(int64_t n, int64_t by, const unsigned char *from, unsigned char *restrict to)
{
    for (int64_t i = by; i < n; i++)
        to[i] |= from[i - by];
    for (int64_t i = 0; i < by; i++)
        to[i] |= from[n + i - by];
}

/* Marks the rows that kernels reach: a kernel covers the row where it starts and the next `width` - 1, along y, then
 * along z. `starts`: [grid z][grid y]. */
static vf_status find_used_rows(const vf_nufft *plan, gridding_cpu_state *state, const unsigned char *starts)
{
    int64_t gy = plan->axis[1].grid, gz = plan->axis[2].grid;
    unsigned char *along_y = calloc((size_t)(gy * gz), 1);
    state->used = calloc((size_t)(gy * gz), 1);
    if (!along_y || !state->used) {
        free(along_y);
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for a plan");
    }
    for (int64_t z = 0; z < gz; z++)
        for (int64_t w = 0; w < plan->axis[1].width; w++)
            mark_shifted(gy, w % gy, starts + z * gy, along_y + z * gy);
    for (int64_t w = 0; w < plan->axis[2].width; w++)
        mark_shifted(gy * gz, w % gz * gy, along_y, state->used);
    free(along_y);
    return VF_OK;
}

/* Coefficient p of the polynomial of point j, along an axis. */
static double coefficient(const vf_nufft *plan, int a, int p, int j)
{
    const gridding_kernel *kernel = &plan->kernel;
    if (plan->axis[a].width > 1)
        return j < kernel->width ? kernel->coefficient[p][j] : 0;
    return j == 0 && p == kernel->degree ? 1 : 0;
}

static vf_status make_table(const vf_nufft *plan, gridding_cpu_state *state)
{
    size_t bytes = plan->real == VF_F64 ? sizeof(gridding_table_f64) : sizeof(gridding_table_f32);
    vf_status status =
        vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, (int64_t)(bytes / sizeof(float)), &state->table);
    if (status != VF_OK)
        return status;
    memset(state->table.data, 0, bytes);
    gridding_table_f32 *f32 = state->table.data;
    gridding_table_f64 *f64 = state->table.data;
    const int width = plan->kernel.width;
    const int half = (plan->real == VF_F64 ? state->simd->lanes_f64 : state->simd->lanes_f32) / 2;
    for (int p = 0; p <= plan->kernel.degree; p++)
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < width; i++) {
                const double c = coefficient(plan, a, p, i);
                const bool narrow = a > 0 && width <= half;
                if (plan->real == VF_F64)
                    f64->once[a][p][i] = c;
                else
                    f32->once[a][p][i] = (float)c;
                if (narrow && plan->real == VF_F64)
                    f64->sides[p][(a - 1) * half + i] = c;
                else if (narrow)
                    f32->sides[p][(a - 1) * half + i] = (float)c;
                for (int zeros = 0; a == 0 && zeros < GRIDDING_BEGINNINGS; zeros++)
                    if (plan->real == VF_F64)
                        f64->begun[zeros][p][zeros + i] = c;
                    else
                        f32->begun[zeros][p][zeros + i] = (float)c;
            }
    return VF_OK;
}

static void set_real(vf_array *array, int64_t i, double value)
{
    if (array->type == VF_F64)
        ((double *)array->data)[i] = value;
    else
        ((float *)array->data)[i] = (float)value;
}

static vf_status make_grid(vf_nufft *plan, gridding_cpu_state *state)
{
    /* Rows are padded for kernels in whole vectors that reach beyond the end, and to whole cache lines. */
    int64_t reach = (plan->kernel.width + 2 * GRIDDING_LANES - 2) / GRIDDING_LANES * GRIDDING_LANES;
    state->pitch = (plan->axis[0].grid + reach + 7) / 8 * 8;
    state->plane = state->pitch * plan->axis[1].grid;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type,
                                       state->plane * plan->axis[2].grid + GRIDDING_REACH, &state->grid);
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        for (int b = 0; b < a; b++)
            if (plan->axis[b].grid == plan->axis[a].grid)
                state->fft[a] = state->fft[b];
        if (!state->fft[a])
            status = vf_fft_axis_create(plan->ctx, plan->complex_type, plan->axis[a].grid, &state->fft[a]);
        VF_TRY(status,
               vf_array_create(plan->device, VF_SPACE_DEVICE, plan->real, plan->axis[a].voxels, &state->scale[a]));
        for (int64_t i = 0; status == VF_OK && i < plan->axis[a].voxels; i++)
            set_real(&state->scale[a], i, plan->scale[a][i]);
    }
    return status;
}

/* Keeps the segments' factors in the order of the sorted samples, and the field. */
static vf_status keep_segments(vf_nufft *plan, gridding_cpu_state *state, const float *field)
{
    int segments = plan->segments.count;
    if (segments == 0)
        return VF_OK;
    vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_F32, plan->voxels, &state->field);
    if (status == VF_OK)
        status =
            vf_array_create(plan->device, VF_SPACE_DEVICE, plan->real, 2 * segments * plan->samples, &state->factor);
    if (status != VF_OK)
        return status;
    memcpy(state->field.data, field, (size_t)plan->voxels * sizeof *field);
    for (int64_t i = 0; i < plan->samples; i++) {
        const int64_t index = ((const gridding_record *)state->samples.data)[i].index;
        for (int64_t l = 0; l < segments; l++)
            for (int part = 0; part < 2; part++)
                set_real(&state->factor, 2 * (l * plan->samples + i) + part,
                         plan->segments.coefficient[2 * (l * plan->samples + index) + part]);
    }
    free(plan->segments.coefficient); /* only the sorted copy is used */
    plan->segments.coefficient = NULL;
    return VF_OK;
}

static int64_t held(const vf_nufft *plan, const gridding_cpu_state *state)
{
    const vf_array *arrays[] = {&state->samples, &state->exact,  &state->table, &state->grid,
                                &state->locals,  &state->factor, &state->field};
    int64_t bytes = plan->axis[1].grid * plan->axis[2].grid + vf_fft_axis_bytes(state->fft[0]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    for (int a = 1; a < 3; a++)
        if (state->fft[a] != state->fft[0] && state->fft[a] != state->fft[a - 1])
            bytes += vf_fft_axis_bytes(state->fft[a]);
    return bytes;
}

/* If a tile is dense, allocates memory for the sums of a piece, for each thread. */
static vf_status make_locals(const vf_nufft *plan, gridding_cpu_state *state)
{
    int64_t fullest = 0;
    for (int64_t t = 0; t < total_tiles(state); t++)
        fullest = state->first[t + 1] - state->first[t] > fullest ? state->first[t + 1] - state->first[t] : fullest;
    if (fullest <= GRIDDING_PIECE)
        return VF_OK;
    for (int a = 0; a < 3; a++) /* the last tile of an axis is the longest */
        state->local[a] = plan->axis[a].grid - (state->tiles.count[a] - 1) * state->tiles.size[a] + plan->axis[a].width;
    state->local[0] = (state->local[0] + 2 * GRIDDING_LANES + GRIDDING_REACH) / 8 * 8;
    state->local_count = vf_context_threads(plan->ctx);
    return vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type,
                           state->local_count * state->local[0] * state->local[1] * state->local[2], &state->locals);
}

static vf_status place_samples(vf_nufft *plan, gridding_cpu_state *state, const vf_nufft_samples *samples)
{
    unsigned char *starts = calloc((size_t)(plan->axis[1].grid * plan->axis[2].grid), 1);
    vf_status status = starts ? sort_samples(plan, state, samples, starts)
                              : vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for a plan");
    VF_TRY(status, order_tiles(plan, state));
    VF_TRY(status, find_used_rows(plan, state, starts));
    VF_TRY(status, make_locals(plan, state));
    free(starts);
    return status;
}

static vf_status create(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    gridding_cpu_state *state = calloc(1, sizeof *state);
    if (!state)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory for a plan");
    plan->state = state;
    state->simd = gridding_simd_here();
    vf_status status = place_samples(plan, state, samples);
    VF_TRY(status, make_table(plan, state));
    VF_TRY(status, make_grid(plan, state));
    VF_TRY(status, keep_segments(plan, state, field));
    if (status == VF_OK)
        plan->bytes = held(plan, state);
    return status;
}

vf_status gridding_cpu_set_samples(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    gridding_cpu_state *state = plan->state;
    forget_samples(state);
    vf_status status = place_samples(plan, state, samples);
    VF_TRY(status, keep_segments(plan, state, field));
    if (status == VF_OK)
        plan->bytes = held(plan, state);
    return status;
}

/* Copies between the image in the grid and an image, with the phase of a segment's time. `sign` -1: into the grid. */
static void rotate(const vf_nufft *plan, int segment, int sign, void *image)
{
    const gridding_cpu_state *state = plan->state;
    int64_t nx = plan->axis[0].voxels, ny = plan->axis[1].voxels;
    size_t element = vf_dtype_bytes(plan->complex_type);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 5 * plan->voxels))
    for (int64_t row = 0; row < ny * plan->axis[2].voxels; row++) {
        void *voxels = (char *)image + (size_t)(row * nx) * element;
        void *grid = gridding_cpu_point(plan, row / ny * state->plane + row % ny * state->pitch);
        gridding_phase phase = {.count = nx,
                                .time = plan->segments.time[segment],
                                .field = (const float *)state->field.data + row * nx,
                                .in = sign > 0 ? grid : voxels,
                                .out = sign > 0 ? voxels : grid};
        if (plan->real == VF_F64)
            state->simd->rotate_f64(&phase, sign, sign > 0 && segment > 0);
        else
            state->simd->rotate_f32(&phase, sign, sign > 0 && segment > 0);
    }
}

/* ---- the operators ---- */

static vf_status adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y)
{
    (void)queue;
    size_t element = vf_dtype_bytes(plan->complex_type);
    vf_status status = VF_OK;
    for (int b = 0; b < batch && status == VF_OK; b++) {
        const void *values = (const char *)c + (size_t)(b * plan->samples) * element;
        void *image = (char *)y + (size_t)(b * plan->voxels) * element;
        bool phases = plan->segments.count > 0;
        for (int l = 0; l < (phases ? plan->segments.count : 1) && status == VF_OK; l++) {
            status = gridding_cpu_spread(plan, l, values);
            VF_TRY(status, gridding_cpu_to_image(plan, phases ? NULL : image));
            if (status == VF_OK && phases)
                rotate(plan, l, 1, image);
        }
    }
    return status;
}

static vf_status forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    (void)queue;
    size_t element = vf_dtype_bytes(plan->complex_type);
    vf_status status = VF_OK;
    for (int b = 0; b < batch && status == VF_OK; b++) {
        void *values = (char *)c + (size_t)(b * plan->samples) * element;
        const void *image = (const char *)x + (size_t)(b * plan->voxels) * element;
        bool phases = plan->segments.count > 0;
        for (int l = 0; l < (phases ? plan->segments.count : 1) && status == VF_OK; l++) {
            if (phases)
                rotate(plan, l, -1, (void *)image);
            status = gridding_cpu_from_image(plan, phases ? NULL : image);
            VF_TRY(status, gridding_cpu_interpolate(plan, l, values));
        }
    }
    return status;
}

const gridding_backend gridding_cpu = {.create = create, .adjoint = adjoint, .forward = forward, .destroy = destroy};
