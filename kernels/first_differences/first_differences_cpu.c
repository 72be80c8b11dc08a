/* The CPU backend. OpenMP threads take planes; within a row along x, neighbour after neighbour is added while the row
 * is in the cache. */
#include "first_differences_backend.h"
#include "voxfield/team_size.h"

/* Adds one neighbour to a row: y += scale w (x - neighbour). */
#define DEFINE_ADD_NEIGHBOUR(name, real)                                                                               \
    static void name(int64_t n, real scale, const real *restrict w, const real *x, const real *neighbour,              \
                     real *restrict y)                                                                                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            real s = w ? scale * w[i] : scale;                                                                         \
            y[2 * i] += s * (x[2 * i] - neighbour[2 * i]);                                                             \
            y[2 * i + 1] += s * (x[2 * i + 1] - neighbour[2 * i + 1]);                                                 \
        }                                                                                                              \
    }
DEFINE_ADD_NEIGHBOUR(add_neighbour_f32, float)
DEFINE_ADD_NEIGHBOUR(add_neighbour_f64, double)
#undef DEFINE_ADD_NEIGHBOUR

typedef struct field {
    vf_dtype type;
    const int64_t *counts;
    int64_t voxels;
    double scale;
    const char *weights, *x;
    char *y;
} field;

/* Adds the neighbours `step` voxels away for `n` voxels starting at `at`, with the axis's weights starting at
 * `weight`. */
static void add_neighbour(const field *f, int64_t n, int axis, int64_t at, int64_t step, int64_t weight)
{
    const int64_t w = axis * f->voxels + weight;
    if (f->type == VF_C128)
        add_neighbour_f64(n, f->scale, f->weights ? (const double *)f->weights + w : NULL,
                          (const double *)f->x + 2 * at, (const double *)f->x + 2 * (at + step),
                          (double *)f->y + 2 * at);
    else
        add_neighbour_f32(n, (float)f->scale, f->weights ? (const float *)f->weights + w : NULL,
                          (const float *)f->x + 2 * at, (const float *)f->x + 2 * (at + step), (float *)f->y + 2 * at);
}

static void add_row(const field *f, int64_t row)
{
    const int64_t nx = f->counts[0], ny = f->counts[1], nz = f->counts[2], plane = nx * ny, at = row * nx;
    add_neighbour(f, nx - 1, 0, at + 1, -1, at + 1);
    add_neighbour(f, nx - 1, 0, at, 1, at + 1);
    if (row % ny > 0)
        add_neighbour(f, nx, 1, at, -nx, at);
    if (row % ny < ny - 1)
        add_neighbour(f, nx, 1, at, nx, at + nx);
    if (row / ny > 0)
        add_neighbour(f, nx, 2, at, -plane, at);
    if (row / ny < nz - 1)
        add_neighbour(f, nx, 2, at, plane, at + plane);
}

static vf_status add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale, const void *weights,
                     const void *x, void *y)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int64_t rows = counts[1] * counts[2];
    const field f = {
        .type = type, .counts = counts, .voxels = counts[0] * rows, .scale = scale, .weights = weights, .x = x, .y = y};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * f.voxels))
    for (int64_t r = 0; r < rows; r++)
        add_row(&f, r);
    return VF_OK;
}

const vf_differences_backend vf_differences_cpu = {.kind = VF_DEVICE_CPU, .add = add};
