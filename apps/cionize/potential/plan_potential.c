/* Plans the computation: the method, the device, and the slabs. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "potential_common.h"
#include "self_test.h"
#include "voxfield/append.h"
#include "voxfield/workpool.h"

enum {
    LAYER_MULTIPLE_X = 64, /* tiles of the kernels: 64 points along x */
    LAYER_MULTIPLE_Z = 8,  /* tile blocks on the CPU: 8 layers along z; on a GPU, one */
};
static const double slab_seconds = 0.4;    /* long enough to keep a device busy, short enough for a quick stop */
static const double launch_seconds = 0.5;  /* of one GPU kernel: enough for a whole slab, which keeps the GPU busiest */
static const double watched_seconds = 0.2; /* the same if a display watchdog kills long kernels */
static const double slabs_least = 8; /* per worker: writing overlaps with computing, and the last device waits little */
static const double fill_points =
    1 << 18; /* of a slab on a GPU: two of them fill it, with two blocks per multiprocessor */
static const double fill_seconds = 5e-4; /* of a slab: much longer than starting a kernel and a copy */
static const double slab_bytes_most = 128 << 20;

/* ---- the method ---- */

vf_pair_potential potential_pair(const cionize_settings *s)
{
    return (vf_pair_potential){.law = s->distance_dielectric ? VF_PAIR_DISTANCE_DIELECTRIC : VF_PAIR_COULOMB,
                               .scale = potential_constant(s->unit, s->temperature) / s->dielectric,
                               .r_min = s->r_min};
}

static vf_potential_problem problem_of(const cionize_settings *s, const vf_grid *grid)
{
    return (vf_potential_problem){.grid = *grid,
                                  .pair = potential_pair(s),
                                  .precision = s->precision,
                                  .tolerance = s->accuracy,
                                  .variant = s->variant,
                                  .sigma = s->sigma,
                                  .vacuum = s->vacuum,
                                  .cutoff = s->cutoff,
                                  .cutoff_law = s->cutoff_law,
                                  .switch_from = s->switch_from};
}

/* What a method is expected to take does not know where the charges are: those far from a small map cost a mesh little,
 * and where charges cancel, a tolerance of the rms potential is hard to keep. So methods that are not exact give the
 * costs of the actual problem, and these have the last word, unless exactness takes next to no time. */
static vf_status reconsider_method(vf_context *ctx, const molecule *mol, vf_device_kind kind, potential_plan *plan)
{
    static const double worthwhile = 5e-3; /* seconds */
    const vf_coulomb_atoms charges = potential_charges(mol);
    const vf_potential_problem *problem = &plan->problem;
    const vf_potential_method *chosen = plan->method, *other;
    const double atoms = (double)mol->atoms, points = (double)vf_grid_points(&problem->grid);
    const int threads = vf_context_threads(ctx);
    double least = INFINITY;
    vf_status status = VF_OK;
    if (kind != VF_DEVICE_CPU || !vf_device_is_host(vf_context_device(ctx, 0)) ||
        (chosen->tolerance[problem->precision] == 0 &&
         chosen->expected_seconds(problem, kind, threads, atoms, points) < worthwhile))
        return VF_OK;
    for (int m = 0; status == VF_OK && (other = vf_potential_method_at(m)); m++) {
        vf_potential_estimate e = {0};
        if (vf_potential_check(ctx, other, problem, kind) != VF_OK) {
            vf_context_clear_error(ctx);
            continue;
        }
        if (other->tolerance[problem->precision] > 0)
            status = other->estimate(vf_context_device(ctx, 0), problem, &charges, 0, &e); /* 0: by the model alone */
        else
            e.seconds = other->expected_seconds(problem, kind, threads, atoms, points);
        if (status == VF_OK && e.seconds < least) {
            least = e.seconds;
            plan->method = other;
        }
    }
    return status;
}

vf_status potential_choose_method(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                  const vf_grid *grid, vf_device_kind kind, potential_plan *plan)
{
    plan->problem = problem_of(settings, grid);
    plan->method = settings->method;
    if (plan->method)
        return vf_potential_check(ctx, plan->method, &plan->problem, kind);
    vf_status status = vf_potential_choose(ctx, &plan->problem, kind, mol->atoms, &plan->method);
    return status == VF_OK ? reconsider_method(ctx, mol, kind, plan) : status;
}

static bool has_variant(const vf_potential_method *method, vf_device_kind kind, const char *variant)
{
    const char *name;
    for (int i = 0; variant && (name = method->variant_name(kind, i)); i++)
        if (strcmp(name, variant) == 0)
            return true;
    return !variant;
}

/* ---- the device ---- */

bool potential_on_host(const vf_context *ctx)
{
    bool host = true;
    for (int d = 0; d < vf_context_device_count(ctx); d++)
        host &= vf_device_is_host(vf_context_device(ctx, d));
    return host;
}

/* The number of devices of a kind. */
static int devices_of(const vf_context *ctx, vf_device_kind kind)
{
    int count = 0;
    for (int d = 0; d < vf_context_device_count(ctx); d++)
        count += vf_device_get_kind(vf_context_device(ctx, d)) == kind;
    return count;
}

/* The first device of a kind; NULL: none. */
static vf_device *first_of(const vf_context *ctx, vf_device_kind kind)
{
    for (int d = 0; d < vf_context_device_count(ctx); d++)
        if (vf_device_get_kind(vf_context_device(ctx, d)) == kind)
            return vf_context_device(ctx, d);
    return NULL;
}

/* The work to plan: a number of maps of one molecule. */
typedef struct work {
    const molecule *mol;
    double maps;
    vf_potential_estimate estimate; /* for one map on one of the devices; of several kinds, on the slowest */
    double parallel; /* how many of it work as fast as all devices. Those simulated by the CPU count as one */
} work;

/* Estimates the work on the current devices of the context: one of each kind. */
static vf_status measure_device(vf_context *ctx, const potential_plan *plan, work *w)
{
    const vf_coulomb_atoms charges = potential_charges(w->mol);
    double speed = 0;
    vf_status status = VF_OK;
    w->estimate = (vf_potential_estimate){0};
    for (int kind = 0; status == VF_OK && kind < VF_DEVICE_KINDS; kind++) {
        const int count = devices_of(ctx, (vf_device_kind)kind), parallel = kind == VF_DEVICE_CPU ? 1 : count;
        vf_potential_estimate e = {0};
        if (count == 0)
            continue;
        status = plan->method->estimate(first_of(ctx, (vf_device_kind)kind), &plan->problem, &charges,
                                        w->maps / parallel, &e);
        const uint64_t host_bytes = e.host_bytes > w->estimate.host_bytes ? e.host_bytes : w->estimate.host_bytes,
                       device_bytes =
                           e.device_bytes > w->estimate.device_bytes ? e.device_bytes : w->estimate.device_bytes;
        speed += parallel / fmax(e.seconds, 1e-12);
        if (!(e.seconds < w->estimate.seconds))
            w->estimate = e;
        w->estimate.host_bytes = host_bytes;
        w->estimate.device_bytes = device_bytes;
    }
    w->parallel = fmax(speed * w->estimate.seconds, 1);
    return status;
}

/* For all maps on all devices. */
static double all_seconds(const work *w)
{
    return w->estimate.seconds * w->maps / w->parallel;
}

/* For all maps on one GPU, as is typical of GPUs. */
static double typical_gpu_seconds(const vf_context *ctx, const potential_plan *plan, const work *w)
{
    return w->maps * plan->method->expected_seconds(&plan->problem, VF_DEVICE_CUDA, vf_context_threads(ctx),
                                                    (double)w->mol->atoms, (double)vf_grid_points(&plan->problem.grid));
}

/* "auto": the GPUs if the estimate says that they finish earlier, and a measurement confirms it; otherwise the CPU. An
 * unusable GPU is not an error here. */
static vf_status choose_automatically(vf_context *ctx, const potential_plan *plan, work *w, char *why, size_t why_size)
{
    vf_status status = vf_context_set_devices(ctx, "cpu");
    VF_TRY(status, measure_device(ctx, plan, w));
    if (status != VF_OK || !(plan->method->devices >> VF_DEVICE_CUDA & 1))
        return status;
    const double cpu_seconds = all_seconds(w);
    status = vf_device_choose(ctx, cpu_seconds, typical_gpu_seconds(ctx, plan, w), INT_MAX, why, why_size);
    if (status == VF_OK && vf_device_is_host(vf_context_device(ctx, 0)))
        return VF_OK;
    VF_TRY(status, measure_device(ctx, plan, w));
    const double gpu_seconds = all_seconds(w);
    if (vf_cancelled(ctx))
        return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    if (status == VF_OK && gpu_seconds < cpu_seconds) {
        snprintf(why, why_size, "the GPU, once started, takes about %.2g s; the CPU would take %.2g s", gpu_seconds,
                 cpu_seconds);
        return VF_OK;
    }
    if (status == VF_OK) {
        snprintf(why, why_size, "%s would take %.2g s, the CPU %.2g s", vf_device_name(vf_context_device(ctx, 0)),
                 gpu_seconds, cpu_seconds);
    } else {
        vf_warn(ctx, "cannot use the GPU: %s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
        snprintf(why, why_size, "cannot use the GPU");
    }
    status = vf_context_set_devices(ctx, "cpu");
    return status == VF_OK ? measure_device(ctx, plan, w) : status;
}

/* The device that the user requested, by its name or that of a variant; or "auto". */
static const char *wished_device(const cionize_settings *s)
{
    const vf_potential_method *method = s->method ? s->method : vf_potential_method_at(0);
    if (!s->variant || strcmp(s->device, "auto") != 0)
        return s->device;
    return has_variant(method, VF_DEVICE_CUDA, s->variant) ? "cuda" : "cpu";
}

/* The kind of the first of a list of devices. */
static vf_device_kind kind_of(const char *devices)
{
    return strncmp(devices, "cuda", 4) == 0     ? VF_DEVICE_CUDA
           : strncmp(devices, "opencl", 6) == 0 ? VF_DEVICE_OPENCL
                                                : VF_DEVICE_CPU;
}

/* For each kind of the context's devices. */
static vf_status check_kinds(vf_context *ctx, const potential_plan *plan)
{
    vf_status status = VF_OK;
    for (int kind = 0; status == VF_OK && kind < VF_DEVICE_KINDS; kind++)
        if (first_of(ctx, (vf_device_kind)kind))
            status = vf_potential_check(ctx, plan->method, &plan->problem, (vf_device_kind)kind);
    return status;
}

/* "cuda:0 (NVIDIA H200, 2 of them)"; of several kinds, one after the other. */
static void describe_devices(const vf_context *ctx, const char *why, potential_plan *plan)
{
    const int threads = vf_context_threads(ctx);
    size_t used = 0;
    plan->device[0] = '\0';
    for (int kind = 0; kind < VF_DEVICE_KINDS; kind++) {
        const vf_device *device = first_of(ctx, (vf_device_kind)kind);
        const int devices = devices_of(ctx, (vf_device_kind)kind);
        char count[64] = "", shared[48] = "";
        if (!device)
            continue;
        if (kind == VF_DEVICE_CPU)
            snprintf(shared, sizeof shared, ", %d thread%s", threads, threads == 1 ? "" : "s");
        if (devices > 1)
            snprintf(count, sizeof count, ", %d of them", devices);
        used = vf_append(plan->device, sizeof plan->device, "%s%s (%s%s%s)", used ? " and " : "",
                         vf_device_spec(device), vf_device_name(device), shared, count);
    }
    if (devices_of(ctx, vf_device_get_kind(vf_context_device(ctx, 0))) < vf_context_device_count(ctx))
        vf_append(plan->device, sizeof plan->device, ", whose last digits differ");
    if (why[0])
        vf_append(plan->device, sizeof plan->device, "; auto: %s", why);
}

void potential_warm_up(vf_context *ctx, const cionize_settings *settings, double file_bytes)
{
    const char *wish = wished_device(settings);
    const vf_potential_problem problem = problem_of(settings, &(vf_grid){.cell = {.kind = VF_CELL_NONE}});
    const vf_potential_method *method = settings->method ? settings->method : vf_potential_method_at(0);
    double atoms, points;
    expected_size(settings, file_bytes, &atoms, &points);
    const double seconds = method->expected_seconds(&problem, VF_DEVICE_CPU, vf_context_threads(ctx), atoms, points);
    const bool may_gain = seconds > VF_CUDA_START_SECONDS + VF_CUDA_USE_SECONDS;
    if (may_gain || strcmp(wish, "auto") != 0)
        vf_device_warm_up(ctx, wish);
}

/* Sets the context's devices, plan->variant, plan->device, plan->evaluations, plan->seconds (for one map) and
 * plan->launch_points. */
static vf_status choose_device(vf_context *ctx, const cionize_settings *s, work *w, potential_plan *plan)
{
    char why[300] = "";
    vf_status status;
    const char *wish = wished_device(s);
    if (strcmp(wish, "auto") == 0) {
        status = choose_automatically(ctx, plan, w, why, sizeof why);
        plan->spare = true;
    } else {
        status = vf_device_means_all(wish) ? vf_device_choose_gpus(ctx, typical_gpu_seconds(ctx, plan, w), INT_MAX)
                                           : vf_context_set_devices(ctx, wish);
        VF_TRY(status, check_kinds(ctx, plan));
        VF_TRY(status, vf_self_test(ctx, VF_SELF_TEST_POTENTIALS, true));
        VF_TRY(status, measure_device(ctx, plan, w));
    }
    if (status != VF_OK)
        return status;
    const int devices = vf_context_device_count(ctx);
    snprintf(plan->variant, sizeof plan->variant, "%s", w->estimate.variant);
    plan->evaluations = w->estimate.evaluations;
    plan->parallel = w->parallel;
    plan->seconds = w->estimate.seconds / w->parallel;
    plan->preparing = w->estimate.preparing;
    bool watched = false;
    for (int d = 0; d < devices; d++)
        watched |= vf_device_watched(vf_context_device(ctx, d));
    plan->launch_points = (watched ? watched_seconds : launch_seconds) / fmax(w->estimate.seconds, 1e-12) *
                          (double)vf_grid_points(&plan->problem.grid);
    describe_devices(ctx, why, plan);
    return VF_OK;
}

/* The memory for slabs on the host and on each GPU. Some is left for other programs and for the method's own needs; below 0 if these
 * alone are more than there is. */
static vf_status memory_for_slabs(vf_context *ctx, const vf_potential_estimate *e, potential_plan *plan,
                                  double *host_most, double *device_most)
{
    uint64_t host_free = 0, total = 0;
    const int devices = vf_context_device_count(ctx);
    vf_host_memory(&host_free, &total);
    *host_most = 0.5 * (double)host_free - (double)e->host_bytes * devices;
    *device_most = INFINITY;
    for (int d = 0; d < devices; d++) {
        uint64_t free_there = 0;
        vf_device *device = vf_context_device(ctx, d);
        if (vf_device_is_host(device))
            continue;
        vf_status status = vf_device_memory(device, &free_there, &total);
        if (status != VF_OK)
            status = potential_leave_out(ctx, plan, d, status);
        if (status != VF_OK)
            return status;
        if (!vf_device_failure(device))
            *device_most = fmin(*device_most, 0.8 * (double)free_there - (double)e->device_bytes);
    }
    return VF_OK;
}

/* Maximum and minimum thickness of slabs, and their common factor, in layers; by time and devices. */
typedef struct thickness {
    double most, least, multiple;
} thickness;

static thickness choose_thickness(const vf_context *ctx, const potential_plan *plan, double layer_bytes)
{
    const vf_grid *grid = &plan->problem.grid;
    const bool host = potential_on_host(ctx);
    const int axis = potential_slab_axis(plan->order), devices = vf_context_device_count(ctx);
    const double layers_here = (double)grid->counts[axis], device_seconds = plan->seconds * plan->parallel;
    thickness t = {.multiple = axis == 0 ? LAYER_MULTIPLE_X : host || devices == 1 ? LAYER_MULTIPLE_Z : 1};
    if (plan->method->extent == VF_POTENTIAL_WHOLE)
        return (thickness){layers_here, layers_here, layers_here};
    const double share = fmin(slab_seconds / fmax(device_seconds, 1e-9), 1 / (slabs_least * plan->workers));
    const double filled = fmax(fill_points / (double)vf_grid_points(grid), fill_seconds / fmax(device_seconds, 1e-9));
    t.least = host || devices == 1 ? t.multiple : fmax(ceil(filled * layers_here / t.multiple), 1) * t.multiple;
    t.most = floor(fmin(share * layers_here, slab_bytes_most / layer_bytes) / t.multiple) * t.multiple;
    t.most = fmin(fmax(t.most, t.least), layers_here);
    if (t.most * layer_bytes >
        slab_bytes_most) /* if even the thinnest slabs are too large, use thinner ones, of at least one layer */
        t.most = fmax(floor(slab_bytes_most / layer_bytes), 1);
    return t;
}

/* `what` of the grid, and the method with its `own` bytes, do not fit: `most` bytes are left for the former, or less than none. */
static vf_status too_large(vf_context *ctx, const potential_plan *plan, bool on_device, const char *what, double own,
                           double most)
{
    const double layers = on_device ? (double)plan->device_bytes : (double)plan->host_bytes;
    char need[32], usable[32], with[64];
    vf_format_bytes(own, need, sizeof need);
    snprintf(with, sizeof with, ", and --method %s another %s", plan->method->name, need);
    return vf_fail(ctx, on_device ? VF_ERR_DEVICE_MEMORY : VF_ERR_MEMORY,
                   "not enough memory: %s of this grid needs %s of %s memory%s, but only %s may be used; use a larger "
                   "--spacing or a smaller grid",
                   what, vf_format_bytes(layers, need, sizeof need), on_device ? "GPU" : "host",
                   own > 0.01 * layers ? with : "", vf_format_bytes(most + own, usable, sizeof usable));
}

static vf_status plan_slabs(vf_context *ctx, const vf_potential_estimate *e, potential_plan *plan)
{
    const vf_grid *grid = &plan->problem.grid;
    const bool host = potential_on_host(ctx);
    const int axis = potential_slab_axis(plan->order), devices = vf_context_device_count(ctx);
    const double layer_bytes =
        (double)vf_grid_points(grid) / (double)grid->counts[axis] * (double)vf_dtype_bytes(plan->problem.precision);
    const int hosts = devices_of(ctx, VF_DEVICE_CPU);
    plan->workers = hosts + POTENTIAL_QUEUES_PER_GPU * (devices - hosts);
    plan->slots = plan->workers + (host ? 1 : 2);
    /* Slabs in memory: each stage needs one more if layers must be reordered. */
    const int more = plan->order == MAP_Z_FASTEST, host_buffers = plan->slots + more * hosts,
              device_buffers = POTENTIAL_QUEUES_PER_GPU * (1 + more);
    double host_most = 0, device_most = 0;
    vf_status status = memory_for_slabs(ctx, e, plan, &host_most, &device_most);
    if (status != VF_OK)
        return status;
    const thickness t = choose_thickness(ctx, plan, layer_bytes);
    const double fits = floor(fmin(host_most / host_buffers, device_most / device_buffers) / layer_bytes);
    const bool needs_all = plan->method->extent == VF_POTENTIAL_WHOLE;
    const double needed = needs_all ? t.most : 1, layers = fmin(t.most, fits);
    plan->host_bytes = (uint64_t)(fmax(layers, needed) * layer_bytes * host_buffers);
    plan->device_bytes = host ? 0 : (uint64_t)(fmax(layers, needed) * layer_bytes * device_buffers);
    if (!(layers >= needed)) {
        const bool on_device = needed * layer_bytes * device_buffers > device_most;
        return too_large(ctx, plan, on_device, needs_all ? "the whole" : "one layer",
                         on_device ? (double)e->device_bytes : (double)e->host_bytes * devices,
                         on_device ? device_most : host_most);
    }
    const bool odd = fmod(layers, t.multiple) > 0; /* not a multiple: all slabs have the same thickness */
    plan->cut = (slab_cut){.layers = grid->counts[axis],
                           .unit = (int64_t)(odd ? layers : t.multiple),
                           .most = (int64_t)layers,
                           .least = (int64_t)(devices == 1 || odd ? layers : fmin(t.least, layers)),
                           .queues = plan->workers};
    plan->slabs = slab_count(&plan->cut);
    return VF_OK;
}

vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol, const vf_grid *grid,
                            map_order order, int64_t maps, potential_plan *plan)
{
    work w = {.mol = mol, .maps = (double)maps};
    *plan = (potential_plan){.order = order, .maps = maps};
    vf_status status = potential_choose_method(ctx, settings, mol, grid, kind_of(wished_device(settings)), plan);
    if (status == VF_OK)
        status = vf_check_threads(ctx, 2); /* measuring on the CPU also starts a team */
    VF_TRY(status, choose_device(ctx, settings, &w, plan));
    VF_TRY(status, plan_slabs(ctx, &w.estimate, plan));
    if (status == VF_OK && plan->workers > 1)
        status = vf_check_threads(ctx, plan->workers + 1);
    return status;
}
