/* The mean and deviation of the potential over a trajectory: the pipeline that sums frames slab by slab. average.h
 * explains the method, its accuracy and cost. */
#include "average.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame_sums.h"
#include "molecule/molecule_part.h"
#include "periodic_frames.h"
#include "potential_common.h"
#include "voxfield/pipeline.h"
#include "voxfield/workpool.h"

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
    int64_t layers;                  /* of the map */
    frame_blocks blocks;
    bool keeps; /* sums of blocks go to the sink */
    int64_t slabs;
    layer_range *slab;  /* [slabs] layers of a block: layer l of block b has the number b * layers + l */
    int64_t frames;     /* in a piece; the last piece of a block may have fewer */
    int64_t groups;     /* pieces in a slab, at most */
    int ranks;          /* that the slabs are for */
    int64_t work, done; /* layers of single frames */
    int64_t now, at;    /* the slab whose pieces are handed out, and the next of them */
    vf_pipeline *pipeline;
    double *mean, *squares;          /* [points of a slab] of a block */
    double *joined, *joined_squares; /* the same, of all blocks so far */
    void *mean_out, *deviation_out;  /* the same, for the sink */
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
    const bool host = potential_on_host(a->ctx), reorder = a->plan->order == MAP_Z_FASTEST;
    /* In pieces. Besides the buffers: sums and results (six times the size of a frame's values in single
     * precision, ten with several blocks, less in double) and a scratch buffer for each stage. */
    const double host_pieces =
        a->plan->slots + (a->blocks.count > 1 ? 10 : 6) + (host && reorder ? a->plan->workers : 0);
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

/* Slabs of the layers of all blocks, or of the plan's ranges of them. If the sums are kept, block after block; otherwise
 * all blocks of a slab, one after another. */
static layer_range *cut_blocks(averaging *a)
{
    const slab_cut even = {
        .layers = a->layers, .unit = a->thickness, .most = a->thickness, .least = a->thickness, .queues = 1};
    const int64_t blocks = a->blocks.count, ranges = a->plan->ranges, most = ranges + blocks;
    layer_range *range = malloc((size_t)most * sizeof *range), *slab = NULL, *list = NULL;
    int64_t count = 0;
    for (int64_t r = 0; range && r < ranges; r++)
        for (int64_t at = a->plan->range[r].first, end; at < a->plan->range[r].behind; at = end) {
            end = (at / a->layers + 1) * a->layers;
            end = end < a->plan->range[r].behind ? end : a->plan->range[r].behind;
            range[count++] = (layer_range){at, end};
        }
    if (range)
        slab = cut_ranges(&even, count, range, &a->slabs);
    free(range);
    if (count > 0 || !slab)
        return slab;
    list = malloc((size_t)(a->slabs * blocks) * sizeof *list);
    for (int64_t k = 0; list && k < a->slabs * blocks; k++)
        list[k] = (layer_range){k % blocks * a->layers + slab[k / blocks].first,
                                k % blocks * a->layers + slab[k / blocks].behind};
    a->slabs *= blocks;
    free(slab);
    return list;
}

static vf_status cut_work(averaging *a)
{
    const double layers = (double)a->plan->cut.layers, layer_seconds = a->plan->seconds * a->plan->parallel / layers;
    double most = 0;
    vf_status status = piece_bytes(a, &most);
    if (status != VF_OK)
        return status;
    const int64_t n = a->selection->count, unit = a->plan->cut.unit;
    const double layer_bytes = (double)a->layer_points * (double)vf_dtype_bytes(a->type);
    const double most_layers = floor(most / layer_bytes) / (a->plan->method->costly_plans ? layers : 1);
    a->frames = (int64_t)fmax(smaller(smaller(MOST_FRAMES, (double)n), floor(most_layers)), 1);
    double thickness = fmax(ceil(layers / slabs_wanted), ceil(slab_seconds_least / fmax(layer_seconds, 1e-12)));
    if (a->plan->method
            ->costly_plans) /* each slab makes a plan of each frame: one slab, or one a rank without a block */
        thickness = ceil(layers / fmax(ceil((double)a->ranks / (double)a->blocks.count), 1));
    thickness = ceil(thickness / (double)unit) * (double)unit;
    thickness = smaller(thickness, floor(most / (layer_bytes * (double)a->frames)));
    if (thickness > (double)unit)
        thickness = floor(thickness / (double)unit) * (double)unit;
    a->thickness = (int64_t)smaller(fmax(thickness, 1), layers);
    if (a->plan->method->extent == VF_POTENTIAL_WHOLE)
        a->thickness = a->plan->cut.layers;
    a->slab = a->plan->listed > 0 ? potential_slabs(a->plan, &a->slabs) : cut_blocks(a);
    for (int64_t k = 0; a->slab && k < a->slabs; k++) {
        const int64_t thick = a->slab[k].behind - a->slab[k].first;
        a->thickness = thick > a->thickness ? thick : a->thickness; /* the list of another rank may have thicker ones */
        a->work += thick * frame_block_frames(&a->blocks, a->slab[k].first / a->layers);
    }
    const int64_t length = a->blocks.count > 1 ? a->blocks.length : n;
    a->groups = (length + a->frames - 1) / a->frames;
    return a->slab ? VF_OK : vf_fail(a->ctx, VF_ERR_MEMORY, "no memory");
}

static vf_box slab_box(const averaging *a, int64_t slab)
{
    const int64_t block = a->slab[slab].first / a->layers;
    return potential_slab_box(a->plan, a->slab[slab].first - block * a->layers,
                              a->slab[slab].behind - block * a->layers);
}

/* The number of selected frames in a piece, none if the block has fewer pieces; *first: the first of them. */
static int64_t frames_of(const averaging *a, int64_t piece, int64_t *first)
{
    const int64_t block = a->slab[piece / a->groups].first / a->layers, before = piece % a->groups * a->frames;
    const int64_t left = frame_block_frames(&a->blocks, block) - before;
    *first = block * a->blocks.length + before;
    return left <= 0 ? 0 : left < a->frames ? left : a->frames;
}

/* ---- one piece ---- */

/* Reads the coordinates of a frame, by its number in the file; xyz: [3][atoms of the whole]. */
static vf_status read_frame(const averaging *a, int64_t frame, double *xyz)
{
    const int64_t atoms = molecule_whole_atoms(a->mol);
    vf_status status = trajectory_read(a->t, frame, xyz, xyz + atoms, xyz + 2 * atoms);
    for (int64_t i = 0; status == VF_OK && i < 3 * atoms; i++)
        if (!(fabs(xyz[i]) <= VF_COULOMB_MAX_COORDINATE))
            status =
                vf_fail(a->ctx, VF_ERR_INPUT,
                        "%s: frame %" PRId64 ": %c of atom %" PRId64 " is %g angstrom, beyond the limit of %g; the "
                        "simulation failed or the file is damaged; leave out that frame with --frames",
                        trajectory_path(a->t), frame + 1, (int)"xyz"[i / atoms], i % atoms + 1, xyz[i],
                        VF_COULOMB_MAX_COORDINATE);
    molecule_gather(a->mol, xyz, xyz + atoms, xyz + 2 * atoms);
    return status;
}

static vf_status make_sum(const averaging *a, vf_device *device, int64_t frame, double *xyz, vf_potential **sum)
{
    const int64_t n = molecule_whole_atoms(a->mol);
    const vf_coulomb_atoms charges = {
        .count = a->mol->atoms, .x = xyz, .y = xyz + n, .z = xyz + 2 * n, .charge = a->mol->charge};
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
    double *xyz = malloc(3 * (size_t)molecule_whole_atoms(a->mol) * sizeof *xyz);
    vf_status status =
        xyz ? VF_OK
            : vf_fail(a->ctx, VF_ERR_MEMORY, "no memory for the coordinates of %" PRId64 " atoms", a->mol->atoms);
    for (int64_t f = 0; status == VF_OK && f < frames; f++) {
        status = make_sum(a, device, a->selection->first + (first + f) * a->selection->step, xyz, &sums[f]);
        VF_TRY(status, potential_execute(a->plan, sums[f], piece->queue, &box, piece->scratch,
                                         vf_offset(device, piece->memory, a->type, f * points)));
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

/* ---- sums of the frames ---- */

/* What a block's sums become: kept, joined to those before, or, if there is only one, the result. */
static vf_status end_block(averaging *a, int64_t slab, const vf_box *box)
{
    const layer_range *items = &a->slab[slab];
    const int64_t block = items->first / a->layers, points = vf_box_points(box);
    const int axis = potential_slab_axis(a->plan->order);
    const double *mean = a->mean, *squares = a->squares;
    if (a->keeps)
        return a->sink(a->user, items->first, items->behind - items->first, mean, squares);
    if (a->blocks.count > 1) {
        frame_sums_join(a->ctx, points, frame_block_frames(&a->blocks, block), block * a->blocks.length, mean, squares,
                        a->joined, a->joined_squares);
        mean = a->joined;
        squares = a->joined_squares;
    }
    if (block + 1 < a->blocks.count)
        return VF_OK;
    frame_sums_finish(a->ctx, a->type, points, a->blocks.frames, mean, squares, a->mean_out, a->deviation_out);
    return a->sink(a->user, box->lo[axis], vf_box_extent(box, axis), a->mean_out, a->deviation_out);
}

static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    averaging *a = user;
    const int64_t slab = piece->number / a->groups;
    const vf_box box = slab_box(a, slab);
    int64_t first;
    const int64_t frames = frames_of(a, piece->number, &first), block = a->slab[slab].first / a->layers,
                  of_block = first - block * a->blocks.length;
    frame_sums_take(a->ctx, a->type, vf_box_points(&box), frames, of_block, piece->host, a->mean, a->squares);
    const vf_status status =
        of_block + frames == frame_block_frames(&a->blocks, block) ? end_block(a, slab, &box) : VF_OK;
    a->done += frames * (a->slab[slab].behind - a->slab[slab].first);
    a->progress(a->user, (double)a->done / (double)a->work);
    return status;
}

/* ---- all slabs ---- */

static vf_status check(const averaging *a)
{
    const frame_selection *s = a->selection;
    const int64_t frames = trajectory_frames(a->t);
    const int64_t atoms = molecule_whole_atoms(a->mol);
    if (trajectory_atoms(a->t) != atoms)
        return vf_fail(a->ctx, VF_ERR_INPUT,
                       "%s: frames have %" PRId64 " atom%s, but the molecule has %" PRId64
                       "; both must have the same atoms in the same order. Make the molecule's file from the structure "
                       "that was simulated, or reduce the trajectory to its atoms (catdcd, cpptraj, MDAnalysis)",
                       trajectory_path(a->t), trajectory_atoms(a->t), vf_plural(trajectory_atoms(a->t)), atoms);
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
    double **sums[] = {&a->mean, &a->squares, &a->joined, &a->joined_squares};
    bool made = true;
    for (int n = 0; n < (a->blocks.count > 1 && !a->keeps ? 4 : 2); n++)
        made = (*sums[n] = malloc(points * sizeof **sums[n])) && made;
    a->mean_out = a->keeps ? NULL : malloc(bytes);
    a->deviation_out = a->keeps ? NULL : malloc(bytes);
    if (!made || (!a->keeps && (!a->mean_out || !a->deviation_out)))
        return vf_fail(a->ctx, VF_ERR_MEMORY,
                       "no memory for the sums of %zu grid points; use a larger --spacing or a smaller grid", points);
    return vf_pipeline_create(a->ctx, &stages, &a->pipeline);
}

/* All pieces of a slab, then those of the next, or of the next that rank 0 gives. */
static int64_t next(void *user)
{
    averaging *a = user;
    int64_t first;
    if (a->now < 0 || a->at == (a->now + 1) * a->groups || frames_of(a, a->at, &first) == 0) {
        const int64_t slab = a->plan->ranks          ? vf_ranks_next(a->plan->ranks)
                             : a->now + 1 < a->slabs ? a->now + 1
                                                     : VF_NEXT_NONE;
        if (slab < 0)
            return slab;
        a->now = slab;
        a->at = slab * a->groups;
    }
    return a->at++;
}

static averaging averaging_of(vf_context *ctx, const molecule *mol, const frame_selection *selection,
                              const potential_plan *plan)
{
    const int64_t points = vf_grid_points(&plan->problem.grid), layers = plan->cut.layers;
    const frame_blocks blocks = frame_blocks_of(selection->count, points);
    return (averaging){.ctx = ctx,
                       .mol = mol,
                       .selection = selection,
                       .plan = plan,
                       .type = plan->problem.precision,
                       .layers = layers,
                       .layer_points = points / layers,
                       .blocks = blocks,
                       .keeps = blocks.count > 1 && plan->ranges > 0,
                       .now = -1};
}

layer_range *average_slabs(vf_context *ctx, const molecule *mol, const frame_selection *selection,
                           const potential_plan *plan, int ranks, int64_t *count)
{
    averaging a = averaging_of(ctx, mol, selection, plan);
    a.ranks = ranks;
    const vf_status status = cut_work(&a);
    *count = a.slabs;
    return status == VF_OK ? a.slab : NULL;
}

vf_status average_compute(vf_context *ctx, const molecule *mol, const trajectory *t, const frame_selection *selection,
                          const potential_plan *plan, average_sink sink, average_progress progress, void *user)
{
    averaging a = averaging_of(ctx, mol, selection, plan);
    a.t = t;
    a.sink = sink;
    a.progress = progress;
    a.user = user;
    vf_pipeline_work work = {.user = &a, .compute = compute, .store = store, .next = next};
    vf_status status = check(&a);
    VF_TRY(status, cut_work(&a));
    VF_TRY(status, allocate(&a));
    work.pieces = a.slabs * a.groups;
    VF_TRY(status, vf_pipeline_run(a.pipeline, &work));
    vf_pipeline_destroy(a.pipeline);
    free(a.slab);
    free(a.mean);
    free(a.squares);
    free(a.joined);
    free(a.joined_squares);
    free(a.mean_out);
    free(a.deviation_out);
    return status;
}
