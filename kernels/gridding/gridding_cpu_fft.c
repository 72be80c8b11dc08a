/* The transforms of the CPU backend. Along each axis, only the voxels' range is needed after the transform (or nonzero
 * before it), so each pass is shorter than the last. The passes along x and y of a plane are done together, while the
 * plane is in the cache. Rows that no kernel reaches are zero and are not transformed. */
#include <omp.h>
#include <string.h>

#include "gridding_cpu.h"
#include "voxfield/team_size.h"

static vf_fft_span voxel_span(const vf_nufft *plan, int a)
{
    return (vf_fft_span){-(plan->axis[a].voxels / 2), plan->axis[a].voxels};
}

static vf_fft_span grid_span(const vf_nufft *plan, int a)
{
    return (vf_fft_span){0, plan->axis[a].grid};
}

/* Adds what was spread beyond the end of a row to its start. */
static void fold(const vf_nufft *plan, void *row)
{
    int64_t n = 2 * plan->axis[0].grid, beyond = 2 * (plan->axis[0].width - 1);
    float *f32 = row;
    double *f64 = row;
    for (int64_t i = 0; i < beyond; i++)
        if (plan->real == VF_F64)
            f64[i] += f64[n + i];
        else
            f32[i] += f32[n + i];
}

/* Copies the start of a row beyond its end. */
static void extend(const vf_nufft *plan, void *row)
{
    const gridding_cpu_state *state = plan->state;
    size_t element = vf_dtype_bytes(plan->complex_type), n = (size_t)plan->axis[0].grid;
    for (size_t i = 0; i < (size_t)state->pitch - n; i++)
        memcpy((char *)row + (n + i) * element, (char *)row + i % n * element, element);
}

static bool any_used(const gridding_cpu_state *state, int64_t row, int64_t count)
{
    return memchr(state->used + row, 1, (size_t)count) != NULL;
}

/* Rows y .. y + VF_FFT_LINES of a plane, along x. */
static void x_group(const vf_nufft *plan, vf_fft_direction direction, int64_t z, int64_t y)
{
    const gridding_cpu_state *state = plan->state;
    int64_t left = plan->axis[1].grid - y, count = left < VF_FFT_LINES ? left : VF_FFT_LINES;
    int64_t at = z * state->plane + y * state->pitch;
    bool adjoint = direction == VF_FFT_BACKWARD, used = any_used(state, z * plan->axis[1].grid + y, count);
    vf_fft_lines voxels = {.data = gridding_cpu_point(plan, at),
                           .point = 1,
                           .line = state->pitch,
                           .span = voxel_span(plan, 0),
                           .scale = state->scale[0].data};
    vf_fft_lines grid = {
        .data = gridding_cpu_point(plan, at), .point = 1, .line = state->pitch, .span = grid_span(plan, 0)};
    size_t row_bytes = (size_t)plan->axis[0].voxels * vf_dtype_bytes(plan->complex_type);
    void *rows = vf_fft_axis_rows(state->fft[0], omp_get_thread_num());
    if (used && adjoint)
        for (int64_t r = 0; r < count; r++)
            fold(plan, gridding_cpu_point(plan, at + r * state->pitch));
    if (used)
        vf_fft_axis_lines(state->fft[0], direction, count, adjoint ? &grid : &voxels, adjoint ? &voxels : &grid, rows);
    else if (adjoint)
        for (int64_t r = 0; r < count; r++)
            memset(gridding_cpu_point(plan, at + r * state->pitch), 0, row_bytes);
    if (used && !adjoint)
        for (int64_t r = 0; r < count; r++)
            extend(plan, gridding_cpu_point(plan, at + r * state->pitch));
}

/* Columns x .. x + count of a plane, along y; the voxels are in the grid, or in `image`. */
static void y_group(const vf_nufft *plan, vf_fft_direction direction, void *image, int64_t z, int64_t x, int64_t count)
{
    const gridding_cpu_state *state = plan->state;
    vf_fft_lines grid = {.data = gridding_cpu_point(plan, z * state->plane + x),
                         .point = state->pitch,
                         .line = 1,
                         .span = grid_span(plan, 1)};
    vf_fft_lines voxels = grid;
    voxels.span = voxel_span(plan, 1);
    voxels.scale = state->scale[1].data;
    if (image) {
        voxels.data = (char *)image + (size_t)x * vf_dtype_bytes(plan->complex_type);
        voxels.point = plan->axis[0].voxels;
    }
    bool adjoint = direction == VF_FFT_BACKWARD;
    vf_fft_axis_lines(state->fft[1], direction, count, adjoint ? &grid : &voxels, adjoint ? &voxels : &grid,
                      vf_fft_axis_rows(state->fft[1], omp_get_thread_num()));
}

static void transform_plane(const vf_nufft *plan, vf_fft_direction direction, void *image, int64_t z)
{
    if (direction == VF_FFT_FORWARD)
        y_group(plan, direction, image, z, 0, plan->axis[0].voxels);
    for (int64_t y = 0; y < plan->axis[1].grid; y += VF_FFT_LINES)
        x_group(plan, direction, z, y);
    if (direction == VF_FFT_BACKWARD)
        y_group(plan, direction, image, z, 0, plan->axis[0].voxels);
}

/* Too few planes for the threads (two dimensions): one axis at a time. */
static void transform_few_planes(const vf_nufft *plan, vf_fft_direction direction, void *image, int threads)
{
    int64_t planes = plan->axis[2].grid, voxels = plan->axis[0].voxels;
    int64_t x_groups = (plan->axis[1].grid + VF_FFT_LINES - 1) / VF_FFT_LINES,
            y_groups = (voxels + VF_FFT_LINES - 1) / VF_FFT_LINES;
    for (int pass = 0; pass < 2; pass++) {
        bool along_x = (pass == 0) == (direction == VF_FFT_BACKWARD);
        int64_t groups = along_x ? x_groups : y_groups;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t g = 0; g < groups * planes; g++) {
            int64_t at = g % groups * VF_FFT_LINES, left = voxels - at;
            if (along_x)
                x_group(plan, direction, g / groups, at);
            else
                y_group(plan, direction, image, g / groups, at, left < VF_FFT_LINES ? left : VF_FFT_LINES);
        }
    }
}

/* `image`: a single plane's voxels, if they are not in the grid. */
static vf_status transform_planes(const vf_nufft *plan, vf_fft_direction direction, void *image)
{
    const gridding_cpu_state *state = plan->state;
    const int64_t points = plan->axis[0].grid * plan->axis[1].grid * plan->axis[2].grid;
    const int threads = vf_threads_of_plan(plan->ctx, vf_fft_axis_threads(state->fft[0]), 2 * points);
    if (plan->axis[2].grid < threads) {
        transform_few_planes(plan, direction, image, threads);
    } else {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t z = 0; z < plan->axis[2].grid; z++)
            if (!vf_cancelled(plan->ctx))
                transform_plane(plan, direction, image, z);
    }
    return vf_cancelled(plan->ctx) ? vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* Transforms all columns of voxels along z, between the grid and the image, or in place. */
static vf_status transform_z(const vf_nufft *plan, vf_fft_direction direction, void *image)
{
    const gridding_cpu_state *state = plan->state;
    int64_t nx = plan->axis[0].voxels, ny = plan->axis[1].voxels;
    bool adjoint = direction == VF_FFT_BACKWARD;
    vf_fft_lines grid = {
        .data = state->grid.data, .point = state->plane, .line = 1, .span = grid_span(plan, 2), .scale = NULL};
    vf_fft_lines voxels = {.data = image ? image : state->grid.data,
                           .point = image ? nx * ny : state->plane,
                           .line = 1,
                           .span = voxel_span(plan, 2),
                           .scale = state->scale[2].data};
    int64_t voxels_outer = image ? nx : state->pitch;
    return vf_fft_axis_pass(state->fft[2], direction, nx, ny, adjoint ? &grid : &voxels,
                            adjoint ? state->pitch : voxels_outer, adjoint ? &voxels : &grid,
                            adjoint ? voxels_outer : state->pitch);
}

vf_status gridding_cpu_to_image(const vf_nufft *plan, void *image)
{
    const bool plane = plan->axis[2].grid == 1;
    vf_status status = transform_planes(plan, VF_FFT_BACKWARD, plane ? image : NULL);
    return status == VF_OK && !plane ? transform_z(plan, VF_FFT_BACKWARD, image) : status;
}

vf_status gridding_cpu_from_image(const vf_nufft *plan, const void *image)
{
    const bool plane = plan->axis[2].grid == 1;
    vf_status status = plane ? VF_OK : transform_z(plan, VF_FFT_FORWARD, (void *)image);
    return status == VF_OK ? transform_planes(plan, VF_FFT_FORWARD, plane ? (void *)image : NULL) : status;
}
