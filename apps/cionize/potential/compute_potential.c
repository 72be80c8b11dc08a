/* The stage that computes the map: the pipeline that fills its slabs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "potential_common.h"
#include "voxfield/copy.h"
#include "voxfield/pipeline.h"

/* ---- shared with planning ---- */

vf_coulomb_atoms potential_charges(const molecule *m)
{
    return (vf_coulomb_atoms){.count = m->atoms, .x = m->x, .y = m->y, .z = m->z, .charge = m->charge};
}

vf_device *potential_first_device(const vf_context *ctx)
{
    int d = 0;
    while (d + 1 < vf_context_device_count(ctx) && vf_device_failure(vf_context_device(ctx, d)))
        d++;
    return vf_context_device(ctx, d);
}

int potential_slab_axis(map_order order)
{
    return order == MAP_Z_FASTEST ? 0 : 2;
}

vf_status potential_leave_out(vf_context *ctx, const potential_plan *plan, int device, vf_status status)
{
    bool another = false;
    for (int d = 0; d < vf_context_device_count(ctx); d++)
        another |= d != device && !vf_device_failure(vf_context_device(ctx, d));
    if (!plan->spare || !another || !vf_is_device_error(status))
        return status;
    vf_device_give_up(vf_context_device(ctx, device), vf_context_message(ctx));
    vf_context_clear_error(ctx);
    return VF_OK;
}

/* ---- shared with averaging ---- */

vf_box potential_slab_box(const potential_plan *plan, int64_t first, int64_t behind)
{
    vf_box box = vf_grid_box(&plan->problem.grid);
    const int axis = potential_slab_axis(plan->order);
    box.lo[axis] = first;
    box.hi[axis] = behind;
    return box;
}

/* Queues the potential over a box, x fastest. On a GPU, if the method can compute any box, it is split into short
 * launches of equal thickness. */
static vf_status execute(const potential_plan *plan, const vf_potential *sum, vf_queue *queue, const vf_box *box,
                         void *out)
{
    vf_device *device = vf_queue_device(queue);
    vf_context *ctx = vf_device_context(device);
    const int64_t layer_points = vf_box_extent(box, 0) * vf_box_extent(box, 1);
    const double most = fmax(floor(plan->launch_points / (double)layer_points), 1);
    const int64_t layers = vf_box_extent(box, 2), launches = (int64_t)ceil((double)layers / most);
    if (vf_device_is_host(device) || plan->method->extent == VF_POTENTIAL_WHOLE || launches <= 1)
        return vf_potential_compute(sum, queue, box, out);
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < launches; n++) {
        vf_box part = *box;
        const int64_t k = box->lo[2] + layers * n / launches;
        part.lo[2] = k;
        part.hi[2] = box->lo[2] + layers * (n + 1) / launches;
        void *at = vf_offset(device, out, plan->problem.precision, (k - box->lo[2]) * layer_points);
        status = vf_potential_compute(sum, queue, &part, at);
        VF_TRY(status, vf_queue_sync(queue));
        if (status == VF_OK && vf_cancelled(ctx))
            status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return status;
}

vf_status potential_execute(const potential_plan *plan, const vf_potential *sum, vf_queue *queue, const vf_box *box,
                            void *scratch, void *out)
{
    const bool reorder = plan->order == MAP_Z_FASTEST;
    vf_status status = execute(plan, sum, queue, box, reorder ? scratch : out);
    if (status != VF_OK || !reorder)
        return status;
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    return vf_transpose(queue, plan->problem.precision, ny, nz, nx, scratch, (vf_pitch){ny * nx, nx}, out,
                        (vf_pitch){ny * nz, nz});
}

/* ---- computing ---- */

typedef struct computation {
    vf_context *ctx;
    const potential_plan *plan;
    layer_range *slabs;
    int64_t slab_count;
    vf_potential **sums; /* [devices] */
    vf_pipeline *pipeline;
    potential_sink sink;
    void *user;
} computation;

static vf_box slab_box(const computation *c, int64_t slab)
{
    return potential_slab_box(c->plan, c->slabs[slab].first, c->slabs[slab].behind);
}

static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const computation *c = user;
    const vf_box box = slab_box(c, piece->number);
    *bytes = (size_t)vf_box_points(&box) * vf_dtype_bytes(c->plan->problem.precision);
    return potential_execute(c->plan, c->sums[piece->device], piece->queue, &box, piece->scratch, piece->memory);
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    const computation *c = user;
    const vf_box box = slab_box(c, piece->number);
    const int axis = potential_slab_axis(c->plan->order);
    return c->sink(c->user, box.lo[axis], vf_box_extent(&box, axis), piece->host);
}

void potential_cut_for_ranks(potential_plan *plan, int ranks)
{
    const double seconds_least = 0.05; /* fifty times that of an answer */
    slab_cut *cut = &plan->cut;
    const double layer_seconds = plan->seconds * (1 - plan->preparing) / (double)cut->layers;
    if (ranks < 2 || plan->method->extent == VF_POTENTIAL_WHOLE)
        return;
    if (cut->unit == cut->most) /* of equal thickness */
        cut->unit = 1;
    const double units = ceil(seconds_least / fmax(layer_seconds, 1e-12) / (double)cut->unit);
    cut->least = (int64_t)fmin(fmax(units, 1) * (double)cut->unit, (double)cut->most);
    cut->queues *= ranks;
}

layer_range *potential_slabs(const potential_plan *plan, int64_t *count)
{
    if (plan->listed == 0)
        return cut_ranges(&plan->cut, plan->ranges, plan->range, count);
    layer_range *copy = malloc((size_t)plan->listed * sizeof *copy);
    if (copy)
        memcpy(copy, plan->list, (size_t)plan->listed * sizeof *copy);
    *count = plan->listed;
    return copy;
}

static int64_t next(void *user)
{
    const computation *c = user;
    return vf_ranks_next(c->plan->ranks);
}

/* The thickest slab. */
static int64_t most_layers(const computation *c)
{
    int64_t most = 1;
    for (int64_t n = 0; n < c->slab_count; n++)
        most = c->slabs[n].behind - c->slabs[n].first > most ? c->slabs[n].behind - c->slabs[n].first : most;
    return most;
}

static vf_status make_computation(computation *c, const molecule *mol)
{
    const int devices = vf_context_device_count(c->ctx);
    const vf_potential_problem *problem = &c->plan->problem;
    const int64_t layer_points = vf_grid_points(&problem->grid) / c->plan->cut.layers;
    c->slabs = potential_slabs(c->plan, &c->slab_count);
    if (!c->slabs)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for slabs");
    const int64_t slab_points = layer_points * most_layers(c);
    const size_t slab_bytes = (size_t)slab_points * vf_dtype_bytes(problem->precision);
    const vf_pipeline_options stages = {.devices = devices,
                                        .stages = POTENTIAL_QUEUES_PER_GPU,
                                        .buffers = c->plan->slots,
                                        .bytes = slab_bytes,
                                        .scratch = c->plan->order == MAP_Z_FASTEST ? slab_bytes : 0,
                                        .spare = c->plan->spare};
    const vf_coulomb_atoms charges = potential_charges(mol);
    c->sums = calloc((size_t)devices, sizeof *c->sums);
    if (!c->sums)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for %d devices", devices);
    vf_status status = VF_OK;
    for (int d = 0; status == VF_OK && d < devices; d++) {
        vf_device *device = vf_context_device(c->ctx, d);
        if (vf_device_failure(device))
            continue;
        status = vf_potential_create(device, c->plan->method, problem, &charges, &c->sums[d]);
        if (status != VF_OK)
            status = potential_leave_out(c->ctx, c->plan, d, status);
    }
    VF_TRY(status, vf_pipeline_create(c->ctx, &stages, &c->pipeline));
    return status;
}

static void free_computation(computation *c)
{
    vf_pipeline_destroy(c->pipeline);
    for (int d = 0; c->sums && d < vf_context_device_count(c->ctx); d++)
        vf_potential_destroy(c->sums[d]);
    free(c->sums);
    free(c->slabs);
}

vf_status potential_compute(vf_context *ctx, const molecule *mol, const potential_plan *plan, potential_sink sink,
                            void *user, int64_t *slabs_done)
{
    computation c = {.ctx = ctx, .plan = plan, .sink = sink, .user = user};
    vf_pipeline_work work = {.user = &c, .compute = compute, .store = store, .next = plan->ranks ? next : NULL};
    vf_status status = make_computation(&c, mol);
    work.pieces = c.slab_count;
    VF_TRY(status, vf_pipeline_run(c.pipeline, &work));
    for (int d = 0; status == VF_OK && d < vf_context_device_count(ctx); d++)
        slabs_done[d] = vf_pipeline_done(c.pipeline, d);
    free_computation(&c);
    return status;
}
