/* Between samples and grid on the CPU: OpenMP threads spread tiles of samples, with the inner loops of the instruction
 * set chosen at run time. */
#include <omp.h>
#include <string.h>

#include "gridding_cpu.h"
#include "gridding_locate.h"
#include "voxfield/team_size.h"

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
                        .exact = state->exact.data,
                        .axis = plan->axis,
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
    int64_t gy = plan->axis[1].grid, groups = (gy + VF_FFT_LINES - 1) / VF_FFT_LINES;
    size_t bytes = (size_t)state->pitch * vf_dtype_bytes(plan->complex_type);
#pragma omp parallel for schedule(static, 16) num_threads(vf_threads_for(plan->ctx, grid_points(plan)))
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

/* The end along x of the tile after number `along`; the first tile follows the last. No kernel that starts in tile
 * `along` reaches beyond it, and other threads may be working there, who may also add zeros to the LANES points before
 * that end. */
static int64_t reach_of_tile(const vf_nufft *plan, int64_t along)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t count = state->tiles.count[0], size = state->tiles.size[0], grid = plan->axis[0].grid;
    if (count == 1)
        return INT64_MAX; /* one thread has the whole axis */
    return (along + 2 < count ? (along + 2) * size : along + 2 == count ? grid : grid + size) - GRIDDING_LANES;
}

/* A piece of a dense tile, summed in memory of its own. */
typedef struct local_sums {
    gridding_job job;
    int64_t extent[3]; /* points of the box that its kernels touch */
} local_sums;

static int64_t reach_along_x(const vf_nufft *plan)
{
    const gridding_simd *simd = ((const gridding_cpu_state *)plan->state)->simd;
    return plan->real == VF_F64 ? simd->reach_f64(plan->kernel.width) : simd->reach_f32(plan->kernel.width);
}

static gridding_place place_of(const vf_nufft *plan, const gridding_job *job, int64_t i)
{
    return job->exact ? gridding_locate_exact(plan->axis, job->exact + 3 * i)
                      : gridding_locate(plan->axis, job->samples[i].k);
}

/* The box that kernels reach from the blocks between that of the piece's first sample and that of its last one: along x
 * the whole tile; blocks follow each other along y, then along z. */
static void find_box(const vf_nufft *plan, int64_t tile, local_sums *p)
{
    const gridding_tiles *tiles = &((const gridding_cpu_state *)plan->state)->tiles;
    const gridding_place from = place_of(plan, &p->job, p->job.first), to = place_of(plan, &p->job, p->job.last - 1);
    int64_t begin[3], end[3], first[3], last[3]; /* points: the tile's; the blocks' */
    for (int a = 0; a < 3; a++) {
        const int64_t along = tile % tiles->count[a];
        tile /= tiles->count[a];
        begin[a] = along * tiles->size[a];
        end[a] = along + 1 < tiles->count[a] ? begin[a] + tiles->size[a] : plan->axis[a].grid;
        first[a] = begin[a] + (from.start[a] - begin[a]) / GRIDDING_CPU_BLOCK * GRIDDING_CPU_BLOCK;
        last[a] = begin[a] + ((to.start[a] - begin[a]) / GRIDDING_CPU_BLOCK + 1) * GRIDDING_CPU_BLOCK;
        last[a] = last[a] < end[a] ? last[a] : end[a];
    }
    const bool layer = last[2] - first[2] <= GRIDDING_CPU_BLOCK; /* the blocks lie along y */
    p->job.origin[0] = begin[0] / GRIDDING_LANES * GRIDDING_LANES;
    p->job.origin[1] = layer ? first[1] : begin[1];
    p->job.origin[2] = first[2];
    p->extent[0] =
        (end[0] - 1 - p->job.origin[0] + reach_along_x(plan) + GRIDDING_LANES - 1) / GRIDDING_LANES * GRIDDING_LANES;
    p->extent[1] = (layer ? last[1] : end[1]) - 1 - p->job.origin[1] + plan->axis[1].width;
    p->extent[2] = last[2] - 1 - first[2] + plan->axis[2].width;
    p->job.pitch = p->extent[0];
    p->job.plane = p->extent[0] * p->extent[1];
}

/* The samples of a tile from number `first` on, as many as are summed together, in piece of memory number `room`. */
static local_sums make_piece(const vf_nufft *plan, const gridding_job *job, int64_t tile, int64_t first, int64_t room)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t end = state->first[tile + 1], points = state->local[0] * state->local[1] * state->local[2];
    local_sums piece = {.job = *job};
    piece.job.first = first;
    piece.job.last = first + GRIDDING_PIECE < end ? first + GRIDDING_PIECE : end;
    piece.job.points = (char *)state->locals.data + (size_t)(room * points) * vf_dtype_bytes(plan->complex_type);
    piece.job.grid[1] = piece.job.grid[2] = INT32_MAX; /* no wrapping here */
    find_box(plan, tile, &piece);
    return piece;
}

static void sum_piece(const vf_nufft *plan, const local_sums *p)
{
    memset(p->job.points, 0, (size_t)(p->job.plane * p->extent[2]) * vf_dtype_bytes(plan->complex_type));
    spread_piece(plan, &p->job);
}

/* grid += plane z of the sums, counted from 0, as far as the tile's kernels reach. */
static void add_plane(const vf_nufft *plan, const local_sums *p, int64_t tile, int64_t z)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t *n = p->extent, *origin = p->job.origin, gy = plan->axis[1].grid, gz = plan->axis[2].grid;
    const int64_t end = reach_of_tile(plan, tile % state->tiles.count[0]) - origin[0], room = state->pitch - origin[0];
    int64_t length = n[0] < end ? n[0] : end;
    length = length < room ? length : room;
    for (int64_t y = 0; y < n[1]; y++) {
        const int64_t from = z * p->job.plane + y * p->job.pitch;
        void *to = gridding_cpu_point(plan, (origin[2] + z) % gz * state->plane + (origin[1] + y) % gy * state->pitch +
                                                origin[0]);
        if (plan->real == VF_F64)
            state->simd->add_f64(2 * length, (const double *)p->job.points + 2 * from, to);
        else
            state->simd->add_f32(2 * length, (const float *)p->job.points + 2 * from, to);
    }
}

static void spread_tile(const vf_nufft *plan, gridding_job *job, int64_t tile)
{
    const gridding_cpu_state *state = plan->state;
    job->first = state->first[tile];
    job->last = state->first[tile + 1];
    if (job->last - job->first <= GRIDDING_PIECE) {
        spread_piece(plan, job);
        return;
    }
    for (int64_t first = job->first; first < job->last; first += GRIDDING_PIECE) {
        const local_sums piece = make_piece(plan, job, tile, first, omp_get_thread_num());
        sum_piece(plan, &piece);
        for (int64_t z = 0; z < piece.extent[2]; z++)
            add_plane(plan, &piece, tile, z);
    }
}

static int64_t pieces_of(const gridding_cpu_state *state, int64_t tile)
{
    return (state->first[tile + 1] - state->first[tile] + GRIDDING_PIECE - 1) / GRIDDING_PIECE;
}

/* Piece n of the tiles from order[begin] on, in room `room`. */
static local_sums nth_piece(const vf_nufft *plan, const gridding_job *job, int64_t begin, int64_t n, int64_t room,
                            int64_t *tile)
{
    const gridding_cpu_state *state = plan->state;
    while (n >= pieces_of(state, state->order[begin]))
        n -= pieces_of(state, state->order[begin++]);
    *tile = state->order[begin];
    return make_piece(plan, job, *tile, state->first[*tile] + n * GRIDDING_PIECE, room);
}

/* Plane `number` of a tile, from its first one on, of a piece. Where a tile is as long as the axis, planes of a piece fall on the
 * same plane of the grid. */
static void add_planes(const vf_nufft *plan, const local_sums *piece, int64_t tile, int64_t number)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t bottom = tile / (state->tiles.count[0] * state->tiles.count[1]) * state->tiles.size[2];
    const int64_t from = bottom + number - piece->job.origin[2], gz = plan->axis[2].grid;
    for (int64_t plane = from < 0 ? from + gz : from; plane < piece->extent[2]; plane += gz)
        add_plane(plan, piece, tile, plane);
}

/* The tiles of a colour from order[begin] to order[end] by all threads: each sums a piece of any of them, then the sums are added,
 * plane by plane, a tile's in the order of its pieces. */
static void spread_together(const vf_nufft *plan, const gridding_job *job, int64_t begin, int64_t end, int threads)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t gz = plan->axis[2].grid, planes = state->local[2] < gz ? state->local[2] : gz;
    int64_t all = 0;
    for (int64_t i = begin; i < end; i++)
        all += pieces_of(state, state->order[i]);
    for (int64_t first = 0; first < all && !vf_cancelled(plan->ctx); first += threads) {
        const int64_t pieces = all - first < threads ? all - first : threads;
#pragma omp parallel num_threads(threads)
        {
            int64_t tile;
#pragma omp for schedule(static, 1)
            for (int64_t i = 0; i < pieces; i++) {
                const local_sums piece = nth_piece(plan, job, begin, first + i, i, &tile);
                sum_piece(plan, &piece);
            }
#pragma omp for schedule(dynamic, 1)
            for (int64_t z = 0; z < planes; z++)
                for (int64_t i = 0; i < pieces; i++) {
                    const local_sums piece = nth_piece(plan, job, begin, first + i, i, &tile);
                    add_planes(plan, &piece, tile, z);
                }
        }
    }
}

vf_status gridding_cpu_spread(const vf_nufft *plan, int segment, const void *values)
{
    const gridding_cpu_state *state = plan->state;
    const int most = state->local_count > 0 ? state->local_count : vf_context_threads(plan->ctx);
    const int threads = vf_threads_of_plan(plan->ctx, most, 2 * covered(plan));
    gridding_job all = make_job(plan, segment, values);
    zero_used_rows(plan);
    for (int c = 0; c < 8; c++) {
        const int64_t begin = threads > 1 ? state->together[c] : state->colour[c];
        spread_together(plan, &all, state->colour[c], begin, threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t i = begin; i < state->colour[c + 1]; i++) {
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
    gridding_job all = make_job(plan, segment, values);
#pragma omp parallel for schedule(dynamic, 4) num_threads(vf_threads_for(plan->ctx, 2 * covered(plan)))
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
