/* The mean and deviation of the potential over a trajectory: the pipeline that sums frames slab by slab, and its
 * accumulators. average.h explains the method, its accuracy and cost. */
#include "average.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "periodic_frames.h"
#include "potential_common.h"
#include "voxfield/pipeline.h"

enum { MOST_FRAMES = 4 }; /* frames in a piece: the accumulators are read and written once per piece */
static const double slab_seconds_least = 1e-2; /* of a frame: longer than its preparation */
static const double slabs_wanted = 64;
static const double piece_bytes_most = 128 << 20;

typedef struct averaging {
    vf_context *ctx;
    const molecule *mol;
    const trajectory *t;
    const frame_selection *selection;
    const potential_plan *plan;
    vf_dtype type;                   /* plan->problem.precision */
    int64_t layer_points, thickness; /* layers of a slab; the last slab may be thinner */
    int64_t slabs;
    layer_range *slab; /* [slabs] */
    int64_t frames;    /* in a piece; the last piece of a slab may have fewer */
    int64_t groups;    /* pieces in a slab */
    int ranks;         /* that the slabs are for */
    int64_t at;        /* the next piece of this rank's slab */
    vf_pipeline *pipeline;
    double *mean, *squares;         /* [points of a slab] */
    void *mean_out, *deviation_out; /* the same, for the sink */
    average_sink sink;
    average_progress progress;
    void *user;
} averaging;

/* ---- dividing the work ---- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* How many bytes a piece may have, so that everything fits into memory. */
static vf_status piece_bytes(const averaging *a, double *most)
{
    const bool host = vf_device_is_host(vf_context_device(a->ctx, 0)), reorder = a->plan->order == MAP_Z_FASTEST;
    /* In pieces. Besides the buffers: accumulators and results (six times the size of a frame's values in single
     * precision, four times in double) and a scratch buffer for each stage. */
    const double host_pieces = a->plan->slots + 6 + (host && reorder ? a->plan->workers : 0);
    const double device_pieces = POTENTIAL_QUEUES_PER_GPU * (reorder ? 2 : 1);
    const double atoms_bytes =
        (double)(POTENTIAL_QUEUES_PER_GPU * MOST_FRAMES) * (double)a->mol->atoms * 4 * sizeof(double);
    const double plan_share = a->plan->method->costly_plans ? 8 : 1; /* values, and meshes while a plan is made */
    uint64_t free_bytes = 0, total = 0;
    vf_host_memory(&free_bytes, &total);
    *most = 0.5 * (double)free_bytes / host_pieces;
    if (!a->plan->method->costly_plans)
        *most = smaller(*most, piece_bytes_most);
    for (int d = 0; !host && d < vf_context_device_count(a->ctx); d++) {
        vf_device *device = vf_context_device(a->ctx, d);
        if (vf_device_failure(device))
            continue;
        vf_status status = vf_device_memory(device, &free_bytes, &total);
        if (status != VF_OK)
            status = potential_leave_out(a->ctx, a->plan, d, status);
        if (status != VF_OK)
            return status;
        if (!vf_device_failure(device))
            *most = smaller(*most, (0.8 * (double)free_bytes - atoms_bytes) / device_pieces / plan_share);
    }
    return VF_OK;
}

static vf_status cut_work(averaging *a)
{
    const bool host = vf_device_is_host(vf_context_device(a->ctx, 0));
    const int devices = host ? 1 : vf_context_device_count(a->ctx); /* devices simulated by the CPU count as one */
    const double layers = (double)a->plan->cut.layers, layer_seconds = a->plan->seconds * devices / layers;
    double most = 0;
    vf_status status = piece_bytes(a, &most);
    if (status != VF_OK)
        return status;
    const int64_t n = a->selection->count, unit = a->plan->cut.unit;
    const double layer_bytes = (double)a->layer_points * (double)vf_dtype_bytes(a->type);
    const double most_layers = floor(most / layer_bytes) / (a->plan->method->costly_plans ? layers : 1);
    a->frames = (int64_t)fmax(smaller(smaller(MOST_FRAMES, (double)n), floor(most_layers)), 1);
    double thickness = fmax(ceil(layers / slabs_wanted), ceil(slab_seconds_least / fmax(layer_seconds, 1e-12)));
    if (a->plan->method->costly_plans) /* each slab makes a plan of each frame: one slab, or one a rank */
        thickness = ceil(layers / (double)(a->ranks > 1 ? a->ranks : 1));
    thickness = ceil(thickness / (double)unit) * (double)unit;
    thickness = smaller(thickness, floor(most / (layer_bytes * (double)a->frames)));
    if (thickness > (double)unit)
        thickness = floor(thickness / (double)unit) * (double)unit;
    a->thickness = (int64_t)smaller(fmax(thickness, 1), layers);
    if (a->plan->method->extent == VF_POTENTIAL_WHOLE)
        a->thickness = a->plan->cut.layers;
    const slab_cut even = {
        .layers = a->plan->cut.layers, .unit = a->thickness, .most = a->thickness, .least = a->thickness, .queues = 1};
    a->slab = a->plan->listed > 0 ? potential_slabs(a->plan, &a->slabs)
                                  : cut_ranges(&even, a->plan->ranges, a->plan->range, &a->slabs);
    for (int64_t k = 0; a->slab && k < a->slabs; k++) /* the list of another rank may have thicker ones */
        a->thickness =
            a->slab[k].behind - a->slab[k].first > a->thickness ? a->slab[k].behind - a->slab[k].first : a->thickness;
    a->groups = (n + a->frames - 1) / a->frames;
    return a->slab ? VF_OK : vf_fail(a->ctx, VF_ERR_MEMORY, "no memory");
}

static vf_box slab_box(const averaging *a, int64_t slab)
{
    return potential_slab_box(a->plan, a->slab[slab].first, a->slab[slab].behind);
}

/* The number of selected frames in a piece; *first: the first of them. */
static int64_t frames_of(const averaging *a, int64_t piece, int64_t *first)
{
    *first = piece % a->groups * a->frames;
    const int64_t left = a->selection->count - *first;
    return left < a->frames ? left : a->frames;
}

/* ---- one piece ---- */

/* Reads the coordinates of a frame, by its number in the file; xyz: [3][atoms]. */
static vf_status read_frame(const averaging *a, int64_t frame, double *xyz)
{
    const int64_t atoms = a->mol->atoms;
    vf_status status = trajectory_read(a->t, frame, xyz, xyz + atoms, xyz + 2 * atoms);
    for (int64_t i = 0; status == VF_OK && i < 3 * atoms; i++)
        if (!(fabs(xyz[i]) <= VF_COULOMB_MAX_COORDINATE))
            status =
                vf_fail(a->ctx, VF_ERR_INPUT,
                        "%s: frame %" PRId64 ": %c of atom %" PRId64 " is %g angstrom, beyond the limit of %g; the "
                        "simulation failed or the file is damaged; leave out that frame with --frames",
                        trajectory_path(a->t), frame + 1, (int)"xyz"[i / atoms], i % atoms + 1, xyz[i],
                        VF_COULOMB_MAX_COORDINATE);
    return status;
}

static vf_status make_sum(const averaging *a, vf_device *device, int64_t frame, double *xyz, vf_potential **sum)
{
    const int64_t n = a->mol->atoms;
    const vf_coulomb_atoms charges = {.count = n, .x = xyz, .y = xyz + n, .z = xyz + 2 * n, .charge = a->mol->charge};
    vf_potential_problem problem = a->plan->problem;
    vf_status status = read_frame(a, frame, xyz);
    if (status == VF_OK && a->plan->follows_cells)
        status = frame_grid(a->ctx, a->t, frame, &a->plan->problem.grid, &problem.grid);
    return status == VF_OK ? vf_potential_create(device, a->plan->method, &problem, &charges, sum) : status;
}

static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const averaging *a = user;
    const vf_box box = slab_box(a, piece->number / a->groups);
    vf_device *device = vf_queue_device(piece->queue);
    const int64_t points = vf_box_points(&box);
    int64_t first;
    const int64_t frames = frames_of(a, piece->number, &first);
    vf_potential *sums[MOST_FRAMES] = {NULL};
    *bytes = (size_t)(frames * points) * vf_dtype_bytes(a->type);
    double *xyz = malloc(3 * (size_t)a->mol->atoms * sizeof *xyz);
    vf_status status =
        xyz ? VF_OK
            : vf_fail(a->ctx, VF_ERR_MEMORY, "no memory for the coordinates of %" PRId64 " atoms", a->mol->atoms);
    for (int64_t f = 0; status == VF_OK && f < frames; f++) {
        status = make_sum(a, device, a->selection->first + (first + f) * a->selection->step, xyz, &sums[f]);
        if (status == VF_OK)
            status = potential_execute(a->plan, sums[f], piece->queue, &box, piece->scratch,
                                       vf_offset(device, piece->memory, a->type, f * points));
        if (vf_device_is_host(device)) { /* it is done already */
            vf_potential_destroy(sums[f]);
            sums[f] = NULL;
        }
    }
    const vf_status ended = vf_queue_sync(piece->queue); /* also after a failure: a kernel may still be running */
    for (int f = 0; f < MOST_FRAMES; f++)
        vf_potential_destroy(sums[f]);
    free(xyz);
    return status == VF_OK ? ended : status;
}

/* ---- the accumulators ---- */

/* Adds frames k + 1, ..., k + frames of some points. `stride`: distance between the values of two frames. The same for
 * both types: */
#define DEFINE_TAKE(name, real)                                                                                        \
    static void name(int64_t points, int64_t frames, int64_t k, const real *values, int64_t stride, double *mean,      \
                     double *squares)                                                                                  \
    {                                                                                                                  \
        for (int64_t f = 0; f < frames; f++) {                                                                         \
            const double share = 1 / (double)(k + f + 1);                                                              \
            const real *v = values + f * stride;                                                                       \
            for (int64_t i = 0; i < points; i++) {                                                                     \
                const double from_mean = (double)v[i] - mean[i];                                                       \
                mean[i] += from_mean * share;                                                                          \
                squares[i] += from_mean * ((double)v[i] - mean[i]);                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_TAKE(take_f32, float)
DEFINE_TAKE(take_f64, double)

/* Adds a piece's frames after `k` earlier ones, in blocks whose accumulators stay in the cache. */
static void take_frames(averaging *a, int64_t points, int64_t frames, int64_t k, const void *values)
{
    enum { BLOCK = 1024 };
#pragma omp parallel for schedule(static) num_threads(vf_context_threads(a->ctx))
    for (int64_t from = 0; from < points; from += BLOCK) {
        const int64_t some = points - from < BLOCK ? points - from : BLOCK;
        if (k == 0) {
            memset(a->mean + from, 0, (size_t)some * sizeof *a->mean);
            memset(a->squares + from, 0, (size_t)some * sizeof *a->squares);
        }
        if (a->type == VF_F64)
            take_f64(some, frames, k, (const double *)values + from, points, a->mean + from, a->squares + from);
        else
            take_f32(some, frames, k, (const float *)values + from, points, a->mean + from, a->squares + from);
    }
}

/* Computes the two maps of a slab from its sums. */
static void finish_slab(averaging *a, int64_t points)
{
    const double share = 1 / (double)a->selection->count;
#pragma omp parallel for schedule(static) num_threads(vf_context_threads(a->ctx))
    for (int64_t i = 0; i < points; i++) {
        const double deviation = sqrt(a->squares[i] * share);
        if (a->type == VF_F64) {
            ((double *)a->mean_out)[i] = a->mean[i];
            ((double *)a->deviation_out)[i] = deviation;
        } else {
            ((float *)a->mean_out)[i] = (float)a->mean[i];
            ((float *)a->deviation_out)[i] = (float)deviation;
        }
    }
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    averaging *a = user;
    const vf_box box = slab_box(a, piece->number / a->groups);
    const int axis = potential_slab_axis(a->plan->order);
    const int64_t points = vf_box_points(&box);
    int64_t first;
    const int64_t frames = frames_of(a, piece->number, &first);
    take_frames(a, points, frames, first, piece->host);
    vf_status status = VF_OK;
    if (first + frames == a->selection->count) {
        finish_slab(a, points);
        status = a->sink(a->user, box.lo[axis], vf_box_extent(&box, axis), a->mean_out, a->deviation_out);
    }
    a->progress(a->user, (double)(piece->number + 1) / (double)(a->slabs * a->groups));
    return status;
}

/* ---- all slabs ---- */

static vf_status check(const averaging *a)
{
    const frame_selection *s = a->selection;
    const int64_t frames = trajectory_frames(a->t);
    if (trajectory_atoms(a->t) != a->mol->atoms)
        return vf_fail(a->ctx, VF_ERR_INPUT,
                       "%s: frames have %" PRId64 " atom%s, but the molecule has %" PRId64
                       "; both must have the same atoms in the same order. Make the molecule's file from the structure "
                       "that was simulated, or reduce the trajectory to its atoms (catdcd, cpptraj, MDAnalysis)",
                       trajectory_path(a->t), trajectory_atoms(a->t), vf_plural(trajectory_atoms(a->t)), a->mol->atoms);
    if (s->count < 1 || s->step < 1 || s->first < 0 || s->first >= frames ||
        s->count - 1 > (frames - 1 - s->first) / s->step)
        return vf_fail(a->ctx, VF_ERR_ARGUMENT,
                       "%s: %" PRId64 " frames from number %" PRId64 " in steps of %" PRId64
                       " do not exist; the file has "
                       "%" PRId64,
                       trajectory_path(a->t), s->count, s->first + 1, s->step, frames);
    return VF_OK;
}

static vf_status allocate(averaging *a)
{
    const size_t points = (size_t)(a->thickness * a->layer_points), bytes = points * vf_dtype_bytes(a->type);
    const vf_pipeline_options stages = {.devices = vf_context_device_count(a->ctx),
                                        .stages = POTENTIAL_QUEUES_PER_GPU,
                                        .buffers = a->plan->slots,
                                        .bytes = (size_t)a->frames * bytes,
                                        .scratch = a->plan->order == MAP_Z_FASTEST ? bytes : 0,
                                        .spare = a->plan->spare};
    a->mean = malloc(points * sizeof *a->mean);
    a->squares = malloc(points * sizeof *a->squares);
    a->mean_out = malloc(bytes);
    a->deviation_out = malloc(bytes);
    if (!a->mean || !a->squares || !a->mean_out || !a->deviation_out)
        return vf_fail(a->ctx, VF_ERR_MEMORY,
                       "no memory for the sums of %zu grid points; use a larger --spacing or a smaller grid", points);
    return vf_pipeline_create(a->ctx, &stages, &a->pipeline);
}

/* All pieces of a slab, then those of the next that rank 0 gives. */
static int64_t next(void *user)
{
    averaging *a = user;
    if (a->at % a->groups == 0) {
        const int64_t slab = vf_ranks_next(a->plan->ranks);
        if (slab < 0)
            return slab;
        a->at = slab * a->groups;
    }
    return a->at++;
}

layer_range *average_slabs(vf_context *ctx, const molecule *mol, const frame_selection *selection,
                           const potential_plan *plan, int ranks, int64_t *count)
{
    averaging a = {.ctx = ctx,
                   .mol = mol,
                   .selection = selection,
                   .plan = plan,
                   .ranks = ranks,
                   .type = plan->problem.precision,
                   .layer_points = vf_grid_points(&plan->problem.grid) / plan->cut.layers};
    const vf_status status = cut_work(&a);
    *count = a.slabs;
    return status == VF_OK ? a.slab : NULL;
}

vf_status average_compute(vf_context *ctx, const molecule *mol, const trajectory *t, const frame_selection *selection,
                          const potential_plan *plan, average_sink sink, average_progress progress, void *user)
{
    averaging a = {.ctx = ctx,
                   .mol = mol,
                   .t = t,
                   .selection = selection,
                   .plan = plan,
                   .type = plan->problem.precision,
                   .layer_points = vf_grid_points(&plan->problem.grid) / plan->cut.layers,
                   .sink = sink,
                   .progress = progress,
                   .user = user};
    vf_pipeline_work work = {.user = &a, .compute = compute, .store = store, .next = plan->ranks ? next : NULL};
    vf_status status = check(&a);
    if (status == VF_OK)
        status = cut_work(&a);
    if (status == VF_OK)
        status = allocate(&a);
    work.pieces = a.slabs * a.groups;
    if (status == VF_OK)
        status = vf_pipeline_run(a.pipeline, &work);
    vf_pipeline_destroy(a.pipeline);
    free(a.slab);
    free(a.mean);
    free(a.squares);
    free(a.mean_out);
    free(a.deviation_out);
    return status;
}
