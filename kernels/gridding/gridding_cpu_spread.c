/* Between samples and grid on the CPU: OpenMP threads spread tiles of samples, with the inner loops of the instruction
 * set chosen at run time. */
#include <omp.h>
#include <string.h>

#include "gridding_cpu.h"

enum { CHUNK = 512 }; /* samples per unit of work when interpolating */

/* The number of grid points under all kernels, with repetition. */
static int64_t covered(const vf_nufft *plan)
{
    return plan->samples * plan->axis[0].width * plan->axis[1].width * plan->axis[2].width;
}

static int64_t grid_points(const vf_nufft *plan)
{
    return plan->axis[0].grid * plan->axis[1].grid * plan->axis[2].grid;
}

static gridding_job make_job(const vf_nufft *plan, int segment, const void *values)
{
    const gridding_cpu_state *state = plan->state;
    gridding_job job = {.samples = state->samples.data,
                        .table = state->table.data,
                        .degree = plan->kernel.degree,
                        .kernel_width = plan->kernel.width,
                        .pitch = state->pitch,
                        .plane = state->plane,
                        .points = state->grid.data,
                        .values = (void *)values,
                        .add = segment > 0};
    for (int a = 0; a < 3; a++) {
        job.width[a] = plan->axis[a].width;
        job.grid[a] = plan->axis[a].grid;
    }
    if (plan->segments.count > 0)
        job.factor =
            (const char *)state->factor.data + (size_t)(segment * plan->samples) * vf_dtype_bytes(plan->complex_type);
    return job;
}

/* Zeroes rows in the groups in which the transforms read them. */
static void zero_used_rows(const vf_nufft *plan)
{
    const gridding_cpu_state *state = plan->state;
    int threads = gridding_cpu_threads(plan, grid_points(plan));
    int64_t gy = plan->axis[1].grid, groups = (gy + VF_FFT_LINES - 1) / VF_FFT_LINES;
    size_t bytes = (size_t)state->pitch * vf_dtype_bytes(plan->complex_type);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t g = 0; g < groups * plan->axis[2].grid; g++) {
        int64_t y = g % groups * VF_FFT_LINES, row = g / groups * gy + y;
        size_t rows = (size_t)(gy - y < VF_FFT_LINES ? gy - y : VF_FFT_LINES);
        if (memchr(state->used + row, 1, rows))
            memset(gridding_cpu_point(plan, row * state->pitch), 0, rows * bytes);
    }
}

static void spread_piece(const vf_nufft *plan, const gridding_job *job)
{
    const gridding_cpu_state *state = plan->state;
    if (plan->real == VF_F64)
        state->simd->spread_f64(job);
    else
        state->simd->spread_f32(job);
}

/* The end of the tile after number `along` of an axis; the first tile follows the last. No kernel that starts in tile
 * `along` reaches beyond it, and other threads may be working there. Along x, they may also add zeros to the LANES
 * points before that end. */
static int64_t reach_of_tile(const vf_nufft *plan, int axis, int64_t along)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t count = state->tiles.count[axis], size = state->tiles.size[axis], grid = plan->axis[axis].grid;
    if (count == 1)
        return INT64_MAX; /* one thread has the whole axis */
    const int64_t end = along + 2 < count ? (along + 2) * size : along + 2 == count ? grid : grid + size;
    return axis == 0 ? end - GRIDDING_LANES : end;
}

/* grid += the sums of a piece, whose first point is `origin`, as far as the tile's kernels reach. The local array is as
 * long as the longest tile needs, and zero beyond. */
static void add_local(const vf_nufft *plan, const void *local, const int64_t origin[3], const int64_t tile[3])
{
    const gridding_cpu_state *state = plan->state;
    const int64_t *n = state->local, *grid = (const int64_t[]){0, plan->axis[1].grid, plan->axis[2].grid};
    int64_t reached[3];
    for (int a = 0; a < 3; a++) {
        const int64_t end = reach_of_tile(plan, a, tile[a]) - origin[a];
        reached[a] = n[a] < end ? n[a] : end;
    }
    const int64_t length = reached[0] < state->pitch - origin[0] ? reached[0] : state->pitch - origin[0];
    for (int64_t z = 0; z < reached[2]; z++)
        for (int64_t y = 0; y < reached[1]; y++) {
            const int64_t from = (z * n[1] + y) * n[0];
            void *to = gridding_cpu_point(plan, (origin[2] + z) % grid[2] * state->plane +
                                                    (origin[1] + y) % grid[1] * state->pitch + origin[0]);
            for (int64_t i = 0; i < 2 * length; i++)
                if (plan->real == VF_F64)
                    ((double *)to)[i] += ((const double *)local)[2 * from + i];
                else
                    ((float *)to)[i] += ((const float *)local)[2 * from + i];
        }
}

static void spread_tile(const vf_nufft *plan, gridding_job *job, int64_t tile)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t *count = state->tiles.count, *size = state->tiles.size;
    const int64_t first = state->first[tile], last = state->first[tile + 1];
    job->first = first;
    job->last = last;
    if (last - first <= GRIDDING_PIECE) {
        spread_piece(plan, job);
        return;
    }
    const size_t bytes =
        (size_t)(state->local[0] * state->local[1] * state->local[2]) * vf_dtype_bytes(plan->complex_type);
    const int64_t at[3] = {tile % count[0], tile / count[0] % count[1], tile / count[0] / count[1]};
    gridding_job piece = *job;
    piece.origin[0] = at[0] * size[0] / GRIDDING_LANES * GRIDDING_LANES;
    piece.origin[1] = at[1] * size[1];
    piece.origin[2] = at[2] * size[2];
    piece.points = (char *)state->locals.data + (size_t)omp_get_thread_num() * bytes;
    piece.pitch = state->local[0];
    piece.plane = state->local[0] * state->local[1];
    piece.grid[1] = piece.grid[2] = INT32_MAX; /* no wrapping here */
    for (piece.first = first; piece.first < last; piece.first = piece.last) {
        piece.last = piece.first + GRIDDING_PIECE < last ? piece.first + GRIDDING_PIECE : last;
        memset(piece.points, 0, bytes);
        spread_piece(plan, &piece);
        add_local(plan, piece.points, piece.origin, at);
    }
}

vf_status gridding_cpu_spread(const vf_nufft *plan, int segment, const void *values)
{
    const gridding_cpu_state *state = plan->state;
    int threads = gridding_cpu_threads(plan, covered(plan));
    if (state->local_count > 0 && threads > state->local_count)
        threads = state->local_count;
    gridding_job all = make_job(plan, segment, values);
    zero_used_rows(plan);
    for (int c = 0; c < 8; c++) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
        for (int64_t i = state->colour[c]; i < state->colour[c + 1]; i++) {
            gridding_job job = all;
            if (!vf_cancelled(plan->ctx))
                spread_tile(plan, &job, state->order[i]);
        }
    }
    return vf_cancelled(plan->ctx) ? vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status gridding_cpu_interpolate(const vf_nufft *plan, int segment, void *values)
{
    const gridding_cpu_state *state = plan->state;
    int threads = gridding_cpu_threads(plan, covered(plan));
    gridding_job all = make_job(plan, segment, values);
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < plan->samples; i += CHUNK) {
        gridding_job job = all;
        job.first = i;
        job.last = i + CHUNK < plan->samples ? i + CHUNK : plan->samples;
        if (vf_cancelled(plan->ctx))
            continue;
        if (plan->real == VF_F64)
            state->simd->interpolate_f64(&job);
        else
            state->simd->interpolate_f32(&job);
    }
    return vf_cancelled(plan->ctx) ? vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
