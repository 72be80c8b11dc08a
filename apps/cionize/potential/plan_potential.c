/* The plan of the computation: on which device, and how the map is cut into slabs. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "potential_common.h"

enum {
    LAYER_MULTIPLE_X = 64, /* the kernels' tiles: 64 points along x */
    LAYER_MULTIPLE_Z = 8,  /* the blocks of those on the CPU: 8 layers along z; on a GPU one */
};
static const double slab_seconds = 0.4;    /* long enough to keep a device busy, short enough to stop at once */
static const double launch_seconds = 0.5;  /* of one kernel on a GPU: all of a slab at once keeps it busiest; but */
static const double watched_seconds = 0.2; /* where one that runs long is ended */
static const double slabs_least = 8;       /* a worker: writing overlaps with computing, the last device waits little */
static const double fill_points = 1 << 18; /* of a slab on a GPU: two fill it, with two blocks on each multiprocessor */
static const double fill_seconds = 5e-4;   /* of a slab: much longer than starting a kernel and a copy */
static const double measure_seconds = 4e-3, measure_seconds_most = 0.1;
static const double measure_share = 0.02; /* of the whole work, at most: of little work there is little to know */
static const double slab_bytes_most = 128 << 20;
/* Pairs a second, to weigh a GPU before it is started: desktop cards have few units for double precision. */
static const double typical_gpu_rate_single = 1.5e12, typical_gpu_rate_double = 0.05e12;
/* And of a core, to see whether a GPU might be worth starting before there is anything to measure with. */
static const double typical_core_rate_single = 5e9, typical_core_rate_double = 1e9;

static void *wait_for_lock(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    pthread_exit(NULL); /* as OpenMP's: this loads a library, and ends the process where memory is short; better now */
}

/* OpenMP ends the process when it cannot start a thread, and leaves half a file behind. So see first whether as many
 * can be started as there will be: a team for each of the threads that compute and for the caller, which writes. */
static vf_status check_threads(vf_context *ctx, int teams)
{
    int wanted = teams * vf_context_threads(ctx) - 1, started = 0, error = 0;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = calloc((size_t)wanted, sizeof *threads);
    if (!threads)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d threads", wanted);
    pthread_mutex_lock(&lock);
    while (started < wanted && !error) {
        error = pthread_create(&threads[started], NULL, wait_for_lock, &lock);
        started += !error;
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (error)
        return vf_fail(ctx, VF_ERR_MEMORY,
                       "cannot start %d threads, only %d: %s; use fewer --threads, or raise the limits on "
                       "processes and memory (ulimit -u, -v)",
                       wanted, started, strerror(error));
    return VF_OK;
}

static bool has_variant(vf_device_kind kind, const char *variant)
{
    const char *name;
    for (int i = 0; variant && (name = vf_coulomb_variant_name(kind, i)); i++)
        if (strcmp(name, variant) == 0)
            return true;
    return !variant;
}

/* Pairs a second on a device, from a run of the real kernel over `count` atoms and a box that fills the device. `work`
 * is what the device will have to do, in pairs. */
static vf_status measure_rate(vf_device *device, const cionize_settings *s, const molecule *m, int64_t count,
                              int64_t layers, double work, double *rate, char *variant, size_t variant_size)
{
    vf_queue *queue = NULL;
    vf_coulomb *plan = NULL;
    vf_array values = {0};
    vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {64, 64, layers}};
    vf_coulomb_atoms atoms = potential_kernel_atoms(m, count);
    vf_coulomb_options options = potential_kernel_options(s, 1);
    vf_box box = vf_grid_box(&grid);
    memcpy(grid.origin, m->lo, sizeof grid.origin);
    vf_status status = vf_coulomb_create(device, &grid, &atoms, &options, &plan);
    if (status != VF_OK)
        goto done;
    snprintf(variant, variant_size, "%s", vf_coulomb_variant(plan));
    status = vf_queue_create(device, &queue);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, s->precision, vf_box_points(&box), &values);
    /* The fastest of several: the first ones wake threads up, and others may be disturbed. */
    const double pairs = (double)atoms.count * (double)vf_box_points(&box);
    const int least_runs = vf_device_is_host(device) ? 1 : 3; /* a GPU's first loads the kernel */
    double fastest = INFINITY, first = vf_now();
    for (int run = 0; status == VF_OK && run < 100; run++) {
        double spent = vf_now() - first;
        if (run >= least_runs && run * pairs > measure_share * work)
            break;
        if (run >= 3 && (spent > measure_seconds_most || (run >= 10 && spent > measure_seconds)))
            break;
        double began = vf_now();
        status = vf_coulomb_execute(plan, queue, &box, values.data);
        if (status == VF_OK)
            status = vf_queue_sync(queue);
        fastest = fmin(fastest, vf_now() - began);
    }
    *rate = pairs / fmax(fastest, 1e-9);
done:
    vf_queue_destroy(queue); /* waits for what may still run */
    vf_array_free(&values);
    vf_coulomb_destroy(plan);
    return status;
}

/* On one thread, times the threads: a team that must wait for one of its threads on a busy machine says nothing. */
static vf_status measure_cpu(vf_device *cpu, const cionize_settings *s, const molecule *m, double work, double *rate,
                             char *variant, size_t variant_size)
{
    vf_context *ctx = vf_device_context(cpu);
    bool slow = s->variant && strcmp(s->variant, "ref") == 0; /* and always on one thread */
    int threads = vf_context_threads(ctx);
    vf_status status = vf_context_set_threads(ctx, 1);
    if (status == VF_OK)
        status = measure_rate(cpu, s, m, slow ? 16 : 256, slow ? 1 : LAYER_MULTIPLE_Z, slow ? work : work / threads,
                              rate, variant, variant_size);
    vf_status restored = vf_context_set_threads(ctx, threads);
    if (!slow)
        *rate *= threads;
    return status == VF_OK ? restored : status;
}

/* How many devices add up. Those made of the CPU are one. */
static int parallel_devices(const vf_context *ctx)
{
    return vf_device_is_host(vf_context_device(ctx, 0)) ? 1 : vf_context_device_count(ctx);
}

/* Measures the context's devices as they are: *rate is that of one of them. */
static vf_status measure_device(vf_context *ctx, const cionize_settings *s, const molecule *m, potential_plan *plan,
                                double *rate)
{
    vf_device *device = vf_context_device(ctx, 0);
    if (vf_device_is_host(device))
        return measure_cpu(device, s, m, plan->evaluations, rate, plan->variant, sizeof plan->variant);
    return measure_rate(device, s, m, 2048, 256, plan->evaluations / parallel_devices(ctx), rate, plan->variant,
                        sizeof plan->variant);
}

/* "auto": the CPU, or the GPUs if they are expected to be done sooner and, once measured, still are. A GPU that cannot
 * be used is no error here. */
static vf_status choose_automatically(vf_context *ctx, const cionize_settings *s, const molecule *m,
                                      potential_plan *plan, double *rate, char *why, size_t why_size)
{
    vf_status status = vf_context_set_devices(ctx, "cpu");
    if (status == VF_OK)
        status = measure_device(ctx, s, m, plan, rate);
    if (status != VF_OK)
        return status;
    double cpu_seconds = plan->evaluations / *rate, gpu_rate = 0;
    double typical = s->precision == VF_F64 ? typical_gpu_rate_double : typical_gpu_rate_single;
    status = vf_device_choose(ctx, cpu_seconds, plan->evaluations / typical, why, why_size);
    if (status == VF_OK && vf_device_is_host(vf_context_device(ctx, 0)))
        return VF_OK;
    if (status == VF_OK)
        status = measure_device(ctx, s, m, plan, &gpu_rate);
    double gpu_seconds = plan->evaluations / (gpu_rate * parallel_devices(ctx));
    if (vf_cancelled(ctx))
        return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    if (status == VF_OK && gpu_seconds < cpu_seconds) {
        *rate = gpu_rate;
        snprintf(why, why_size, "about %.2g s of work, now that it is started; the CPU would take %.2g s", gpu_seconds,
                 cpu_seconds);
        return VF_OK;
    }
    if (status == VF_OK) {
        snprintf(why, why_size, "%s would take %.2g s, the CPU %.2g s", vf_device_name(vf_context_device(ctx, 0)),
                 gpu_seconds, cpu_seconds);
    } else {
        vf_warn(ctx, "the GPU cannot be used: %s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
        snprintf(why, why_size, "the GPU cannot be used");
    }
    status = vf_context_set_devices(ctx, "cpu");
    return status == VF_OK ? measure_device(ctx, s, m, plan, rate) : status;
}

/* The device that is asked for, by its name or by that of a variant; or "auto". */
static const char *wished_device(const cionize_settings *s)
{
    if (!s->variant || strcmp(s->device, "auto") != 0)
        return s->device;
    return has_variant(VF_DEVICE_CUDA, s->variant) ? "cuda" : "cpu";
}

void potential_warm_up(vf_context *ctx, const cionize_settings *settings, double file_bytes)
{
    const char *wish = wished_device(settings);
    const double rate =
        (settings->precision == VF_F64 ? typical_core_rate_double : typical_core_rate_single) * vf_context_threads(ctx);
    if (strcmp(wish, "auto") != 0 ||
        expected_evaluations(settings, file_bytes) / rate > VF_CUDA_START_SECONDS + VF_CUDA_USE_SECONDS)
        vf_device_warm_up(ctx, wish);
}

/* Sets the context's devices, plan->variant, plan->device, plan->seconds and plan->launch_pairs. */
static vf_status choose_device(vf_context *ctx, const cionize_settings *s, const molecule *m, potential_plan *plan)
{
    double rate = 0;
    char why[300] = "";
    vf_status status;
    const char *wish = wished_device(s);
    if (strcmp(wish, "auto") == 0) {
        status = choose_automatically(ctx, s, m, plan, &rate, why, sizeof why);
        plan->spare = true;
    } else {
        status = vf_context_set_devices(ctx, wish);
        if (status == VF_OK)
            status = measure_device(ctx, s, m, plan, &rate);
    }
    if (status != VF_OK)
        return status;
    vf_device *device = vf_context_device(ctx, 0);
    int devices = vf_context_device_count(ctx), threads = vf_context_threads(ctx);
    plan->seconds = plan->evaluations / (rate * parallel_devices(ctx));
    bool watched = false;
    for (int d = 0; d < devices; d++)
        watched |= vf_device_watched(vf_context_device(ctx, d));
    plan->launch_pairs = (watched ? watched_seconds : launch_seconds) * rate;
    char count[64] = "", shared[48] = "";
    if (vf_device_is_host(device))
        snprintf(shared, sizeof shared, ", %d thread%s", threads, threads == 1 ? "" : "s");
    if (devices > 1)
        snprintf(count, sizeof count, ", %d of them", devices);
    snprintf(plan->device, sizeof plan->device, "%s (%s%s%s)%s%s", vf_device_spec(device), vf_device_name(device),
             shared, count, why[0] ? "; auto: " : "", why);
    return VF_OK;
}

static vf_status plan_slabs(vf_context *ctx, const cionize_settings *s, const vf_grid *grid, potential_plan *plan)
{
    bool host = vf_device_is_host(vf_context_device(ctx, 0));
    int axis = potential_slab_axis(plan->order);
    double layer_bytes =
        (double)vf_grid_points(grid) / (double)grid->counts[axis] * (double)vf_dtype_bytes(s->precision);
    plan->workers = (host ? 1 : POTENTIAL_QUEUES_PER_GPU) * vf_context_device_count(ctx);
    plan->slots = plan->workers + (host ? 1 : 2);
    /* Slabs in memory: each stage computes into one more where layers must be reordered. */
    const int more = plan->order == MAP_Z_FASTEST, host_buffers = plan->slots + (host ? more * plan->workers : 0),
              device_buffers = POTENTIAL_QUEUES_PER_GPU * (1 + more);

    uint64_t host_free = 0, device_free = UINT64_MAX, total = 0;
    vf_host_memory(&host_free, &total);
    for (int d = 0; !host && d < vf_context_device_count(ctx); d++) {
        uint64_t free_there = 0;
        vf_device *device = vf_context_device(ctx, d);
        vf_status status = vf_device_memory(device, &free_there, &total);
        if (status != VF_OK)
            status = potential_leave_out(ctx, plan, d, status);
        if (status != VF_OK)
            return status;
        if (!vf_device_failure(device))
            device_free = free_there < device_free ? free_there : device_free;
    }

    double most = fmin(0.5 * (double)host_free / host_buffers, 0.8 * (double)device_free / device_buffers);
    const int devices = vf_context_device_count(ctx);
    const double layers_here = (double)grid->counts[axis], device_seconds = plan->seconds * parallel_devices(ctx);
    const double multiple = axis == 0 ? LAYER_MULTIPLE_X : host || devices == 1 ? LAYER_MULTIPLE_Z : 1;
    double share = fmin(slab_seconds / fmax(device_seconds, 1e-9), 1 / (slabs_least * plan->workers));
    double filled = fmax(fill_points / (double)vf_grid_points(grid), fill_seconds / fmax(device_seconds, 1e-9));
    double least = host || devices == 1 ? multiple : fmax(ceil(filled * layers_here / multiple), 1) * multiple;
    double layers = floor(fmin(share * layers_here, slab_bytes_most / layer_bytes) / multiple) * multiple;
    layers = fmin(fmax(layers, least), layers_here);
    if (layers * layer_bytes > slab_bytes_most) /* even the thinnest is much: thinner still, but one layer at least */
        layers = fmax(floor(slab_bytes_most / layer_bytes), 1);
    if (layers * layer_bytes > most)
        layers = floor(most / layer_bytes);
    plan->host_bytes = (uint64_t)(fmax(layers, 1) * layer_bytes * host_buffers);
    plan->device_bytes = host ? 0 : (uint64_t)(fmax(layers, 1) * layer_bytes * device_buffers);
    if (!(layers >= 1)) {
        char need[32], have[32], usable[32];
        bool on_device = layer_bytes * device_buffers > 0.8 * (double)device_free;
        return vf_fail(
            ctx, on_device ? VF_ERR_DEVICE_MEMORY : VF_ERR_MEMORY,
            "one layer of this grid needs %s of %s memory and of the %s there are, %s may be used; use a larger "
            "--spacing or a smaller grid",
            vf_format_bytes(on_device ? (double)plan->device_bytes : (double)plan->host_bytes, need, sizeof need),
            on_device ? "GPU" : "host",
            vf_format_bytes(on_device ? (double)device_free : (double)host_free, have, sizeof have),
            vf_format_bytes(on_device ? 0.8 * (double)device_free : 0.5 * (double)host_free, usable, sizeof usable));
    }
    const bool whole = fmod(layers, multiple) > 0; /* no multiple: all slabs are as thick */
    plan->cut = (slab_cut){.layers = grid->counts[axis],
                           .unit = (int64_t)(whole ? layers : multiple),
                           .most = (int64_t)layers,
                           .least = (int64_t)(devices == 1 || whole ? layers : fmin(least, layers)),
                           .queues = plan->workers};
    plan->slabs = slab_count(&plan->cut);
    return VF_OK;
}

vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol, const vf_grid *grid,
                            map_order order, int64_t maps, potential_plan *plan)
{
    *plan = (potential_plan){.order = order};
    plan->scale = potential_constant(settings->unit, settings->temperature) / settings->dielectric;
    const double evaluations = (double)mol->atoms * (double)vf_grid_points(grid);
    plan->evaluations = evaluations * (double)maps;
    vf_status status = check_threads(ctx, 2); /* measuring on the CPU starts a team, too */
    if (status == VF_OK)
        status = choose_device(ctx, settings, mol, plan);
    plan->evaluations = evaluations;
    plan->seconds /= (double)maps;
    if (status == VF_OK)
        status = plan_slabs(ctx, settings, grid, plan);
    if (status == VF_OK && plan->workers > 1)
        status = check_threads(ctx, plan->workers + 1);
    return status;
}
