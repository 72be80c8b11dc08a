/* Maps that stay in memory, and writing them. */
#include <stdlib.h>
#include <string.h>

#include "map_output.h"
#include "potential/potential_common.h"
#include "voxfield/copy.h"

/* Changes the order of layers between [x][y][z], in planes of x, and [z][y][x] of the grid. */
static vf_status exchange(vf_context *ctx, vf_dtype type, int64_t batch, int64_t rows, int64_t columns, const void *x,
                          vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    vf_queue *queue = NULL;
    vf_status status = vf_queue_create(vf_context_host(ctx), &queue);
    VF_TRY(status, vf_transpose(queue, type, batch, rows, columns, x, x_pitch, y, y_pitch));
    vf_queue_destroy(queue);
    return status;
}

vf_status store_layers(vf_context *ctx, const vf_grid *grid, vf_dtype type, map_order order, int64_t first,
                       int64_t count, const void *values, void *map)
{
    const int64_t nx = grid->counts[0], ny = grid->counts[1], nz = grid->counts[2];
    const size_t bytes = vf_dtype_bytes(type);
    if (order == MAP_X_FASTEST) {
        memcpy((char *)map + (size_t)(first * nx * ny) * bytes, values, (size_t)(count * nx * ny) * bytes);
        return VF_OK;
    }
    return exchange(ctx, type, ny, count, nz, values, (vf_pitch){ny * nz, nz}, (char *)map + (size_t)first * bytes,
                    (vf_pitch){ny * nx, nx});
}

static vf_status load_layers(vf_context *ctx, const vf_grid *grid, vf_dtype type, map_order order, int64_t first,
                             int64_t count, const void *map, void *values)
{
    const int64_t nx = grid->counts[0], ny = grid->counts[1], nz = grid->counts[2];
    const size_t bytes = vf_dtype_bytes(type);
    if (order == MAP_X_FASTEST) {
        memcpy(values, (const char *)map + (size_t)(first * nx * ny) * bytes, (size_t)(count * nx * ny) * bytes);
        return VF_OK;
    }
    return exchange(ctx, type, ny, nz, count, (const char *)map + (size_t)first * bytes, (vf_pitch){ny * nx, nx},
                    values, (vf_pitch){ny * nz, nz});
}

/* The potential of extra charges, slab by slab, on the context's first working device. */
typedef struct extra_sums {
    vf_potential *sums;
    vf_queue *queue;
    vf_array values, host; /* a slab */
    void *ordered;         /* the slab in the file's order */
} extra_sums;

static vf_status make_extra(vf_context *ctx, const potential_plan *plan, const molecule *extra, int64_t slab,
                            extra_sums *e)
{
    const vf_dtype type = plan->problem.precision;
    const vf_coulomb_atoms charges = potential_charges(extra);
    vf_device *device = potential_first_device(ctx);
    vf_status status = vf_potential_create(device, plan->method, &plan->problem, &charges, &e->sums);
    VF_TRY(status, vf_queue_create(device, &e->queue));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, type, slab, &e->values));
    VF_TRY(status, vf_array_create(device, VF_SPACE_PINNED, type, slab, &e->host));
    e->ordered = malloc((size_t)slab * vf_dtype_bytes(type));
    if (status == VF_OK && !e->ordered)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for a slab of %lld points", (long long)slab);
    return status;
}

static void free_extra(extra_sums *e)
{
    free(e->ordered);
    vf_array_free(&e->host);
    vf_array_free(&e->values);
    vf_queue_destroy(e->queue);
    vf_potential_destroy(e->sums);
}

/* Adds the potential on layers [first, first + count) to `values`, which are in the output's order. */
static vf_status add_extra(vf_context *ctx, const vf_grid *grid, const map_output *out, extra_sums *e, int64_t first,
                           int64_t count, void *values)
{
    vf_box box = vf_grid_box(grid);
    const int axis = potential_slab_axis(out->order);
    const vf_dtype type = e->values.type;
    box.lo[axis] = first;
    box.hi[axis] = first + count;
    const int64_t points = vf_box_points(&box), nx = vf_box_extent(&box, 0), ny = grid->counts[1], nz = grid->counts[2];
    vf_status status = vf_potential_compute(e->sums, e->queue, &box, e->values.data);
    VF_TRY(status, vf_array_copy(e->queue, &e->host, &e->values, points));
    VF_TRY(status, vf_queue_sync(e->queue));
    const void *sums = e->host.data;
    if (status == VF_OK && out->order == MAP_Z_FASTEST) {
        status = exchange(ctx, type, ny, nz, nx, sums, (vf_pitch){ny * nx, nx}, e->ordered, (vf_pitch){ny * nz, nz});
        sums = e->ordered;
    }
    for (int64_t i = 0; status == VF_OK && i < points; i++) {
        if (type == VF_F64)
            ((double *)values)[i] += ((const double *)sums)[i];
        else
            ((float *)values)[i] += ((const float *)sums)[i];
    }
    return status;
}

vf_status write_stored_map(vf_context *ctx, const potential_plan *plan, const void *map, const molecule *extra,
                           map_output *out)
{
    enum { SLAB_POINTS = 1 << 22 };
    const vf_grid *grid = &plan->problem.grid;
    const bool whole = extra && plan->method->extent == VF_POTENTIAL_WHOLE;
    extra_sums e = {0};
    vf_status status = map_output_begin(out);
    const int64_t layers = grid->counts[potential_slab_axis(out->order)], layer = vf_grid_points(grid) / layers;
    const int64_t step = whole                 ? layers
                         : layer < SLAB_POINTS ? SLAB_POINTS / layer
                                               : 1,
                  slab = (step < layers ? step : layers) * layer;
    void *values = malloc((size_t)slab * vf_dtype_bytes(out->info->type));
    if (status == VF_OK && !values)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for a slab of %lld points", (long long)slab);
    if (status == VF_OK && extra)
        status = make_extra(ctx, plan, extra, slab, &e);
    for (int64_t first = 0; status == VF_OK && first < layers; first += step) {
        const int64_t count = layers - first < step ? layers - first : step;
        status = load_layers(ctx, grid, out->info->type, out->order, first, count, map, values);
        if (status == VF_OK && extra)
            status = add_extra(ctx, grid, out, &e, first, count, values);
        VF_TRY(status, map_output_take(out, first, count, values));
    }
    free_extra(&e);
    free(values);
    return status == VF_OK ? map_output_commit(out) : status;
}
