/* The stage that computes: which device, how the map is cut into slabs, and the pipeline that fills them. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize.h"
#include "coulomb_sum.h"
#include "voxfield/copy.h"
#include "voxfield/pipeline.h"

enum {
    QUEUES_PER_GPU = 2,    /* one computes while the other copies */
    LAYER_MULTIPLE_X = 32, /* the kernels' tile: 32 points along x; their blocks are 8 layers along z */
    LAYER_MULTIPLE_Z = 8,
};
static const double slab_seconds = 0.25;  /* long enough to keep a device busy, short enough to stop at once */
static const double launch_seconds = 0.2; /* of one GPU kernel: a desktop's watchdog ends longer ones */
static const double slabs_least = 8;      /* a worker: writing overlaps with computing, the last device waits little */
static const double measure_seconds = 4e-3, measure_seconds_most = 0.1;
static const double slab_bytes_most = 128 << 20;
/* Pairs a second, to weigh a GPU before it is started: desktop cards have few units for double precision. */
static const double typical_gpu_rate_single = 1.5e12, typical_gpu_rate_double = 0.05e12;

static vf_coulomb_options kernel_options(const cionize_settings *s, double scale)
{
    return (vf_coulomb_options){.scale = scale,
                                .r_min = s->r_min,
                                .distance_dielectric = s->distance_dielectric,
                                .precision = s->precision,
                                .variant = s->variant};
}

static vf_coulomb_atoms kernel_atoms(const molecule *m, int64_t most)
{
    return (vf_coulomb_atoms){
        .count = m->atoms < most ? m->atoms : most, .x = m->x, .y = m->y, .z = m->z, .charge = m->charge};
}

/* ---- planning ---- */

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

/* Pairs a second on a device, from a run of the real kernel over `count` atoms and a box that fills the device. */
static vf_status measure_rate(vf_device *device, const cionize_settings *s, const molecule *m, int64_t count,
                              int64_t layers, double *rate, char *variant, size_t variant_size)
{
    vf_queue *queue = NULL;
    vf_coulomb *plan = NULL;
    vf_array values = {0};
    vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {64, 64, layers}};
    vf_coulomb_atoms atoms = kernel_atoms(m, count);
    vf_coulomb_options options = kernel_options(s, 1);
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
    double fastest = INFINITY, first = vf_now();
    for (int run = 0; status == VF_OK && run < 100; run++) {
        double spent = vf_now() - first;
        if (run >= 3 && (spent > measure_seconds_most || (run >= 10 && spent > measure_seconds)))
            break;
        double began = vf_now();
        status = vf_coulomb_execute(plan, queue, &box, values.data);
        if (status == VF_OK)
            status = vf_queue_sync(queue);
        fastest = fmin(fastest, vf_now() - began);
    }
    *rate = (double)atoms.count * (double)vf_box_points(&box) / fmax(fastest, 1e-9);
done:
    vf_queue_destroy(queue); /* waits for what may still run */
    vf_array_free(&values);
    vf_coulomb_destroy(plan);
    return status;
}

/* On one thread, times the threads: a team that must wait for one of its threads on a busy machine says nothing. */
static vf_status measure_cpu(vf_device *cpu, const cionize_settings *s, const molecule *m, double *rate, char *variant,
                             size_t variant_size)
{
    vf_context *ctx = vf_device_context(cpu);
    bool slow = s->variant && strcmp(s->variant, "ref") == 0; /* and always on one thread */
    int threads = vf_context_threads(ctx);
    vf_status status = vf_context_set_threads(ctx, 1);
    if (status == VF_OK)
        status = measure_rate(cpu, s, m, slow ? 16 : 256, slow ? 1 : LAYER_MULTIPLE_Z, rate, variant, variant_size);
    vf_status restored = vf_context_set_threads(ctx, threads);
    if (!slow)
        *rate *= threads;
    return status == VF_OK ? restored : status;
}

/* Measures the context's devices as they are: *rate is that of one of them. */
static vf_status measure_device(vf_context *ctx, const cionize_settings *s, const molecule *m, potential_plan *plan,
                                double *rate)
{
    vf_device *device = vf_context_device(ctx, 0);
    if (vf_device_is_host(device))
        return measure_cpu(device, s, m, rate, plan->variant, sizeof plan->variant);
    return measure_rate(device, s, m, 2048, 256, rate, plan->variant, sizeof plan->variant);
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
    double gpu_seconds = plan->evaluations / (gpu_rate * vf_context_device_count(ctx));
    if (vf_cancelled(ctx))
        return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    if (status == VF_OK && gpu_seconds < cpu_seconds) {
        *rate = gpu_rate;
        snprintf(why, why_size, "about %.2g s, the CPU would take %.2g s", gpu_seconds, cpu_seconds);
        return VF_OK;
    }
    if (status == VF_OK) {
        snprintf(why, why_size, "%s would take longer", vf_device_name(vf_context_device(ctx, 0)));
    } else {
        vf_warn(ctx, "the GPU cannot be used: %s", vf_context_message(ctx));
        vf_context_clear_error(ctx);
        snprintf(why, why_size, "the GPU cannot be used");
    }
    status = vf_context_set_devices(ctx, "cpu");
    return status == VF_OK ? measure_device(ctx, s, m, plan, rate) : status;
}

/* Sets the context's devices, plan->variant, plan->device, plan->seconds and plan->launch_pairs. */
static vf_status choose_device(vf_context *ctx, const cionize_settings *s, const molecule *m, potential_plan *plan)
{
    double rate = 0;
    char why[300] = "";
    vf_status status;
    const char *wish = s->device;
    if (strcmp(wish, "auto") == 0 && s->variant && has_variant(VF_DEVICE_CUDA, s->variant))
        wish = "cuda"; /* only a GPU has that variant */
    else if (strcmp(wish, "auto") == 0 && s->variant)
        wish = "cpu";
    if (strcmp(wish, "auto") == 0) {
        status = choose_automatically(ctx, s, m, plan, &rate, why, sizeof why);
    } else {
        status = vf_context_set_devices(ctx, wish);
        if (status == VF_OK)
            status = measure_device(ctx, s, m, plan, &rate);
    }
    if (status != VF_OK)
        return status;
    vf_device *device = vf_context_device(ctx, 0);
    int devices = vf_context_device_count(ctx), threads = vf_context_threads(ctx);
    plan->seconds = plan->evaluations / (rate * devices);
    plan->launch_pairs = launch_seconds * rate;
    char count[48] = "";
    if (devices > 1)
        snprintf(count, sizeof count, ", %d of them", devices);
    else if (vf_device_is_host(device))
        snprintf(count, sizeof count, ", %d thread%s", threads, threads == 1 ? "" : "s");
    snprintf(plan->device, sizeof plan->device, "%s (%s%s)%s%s", vf_device_spec(device), vf_device_name(device), count,
             why[0] ? "; auto: " : "", why);
    return VF_OK;
}

/* The axis along which slabs are cut: the file's slowest. */
static int slab_axis(map_order order)
{
    return order == MAP_Z_FASTEST ? 0 : 2;
}

static vf_status plan_slabs(vf_context *ctx, const cionize_settings *s, const vf_grid *grid, potential_plan *plan)
{
    vf_device *device = vf_context_device(ctx, 0);
    bool host = vf_device_is_host(device);
    int axis = slab_axis(plan->order);
    double layer_bytes =
        (double)vf_grid_points(grid) / (double)grid->counts[axis] * (double)vf_dtype_bytes(s->precision);
    plan->workers = host ? 1 : QUEUES_PER_GPU * vf_context_device_count(ctx);
    plan->slots = host ? 2 : plan->workers + 2;
    /* Slabs in memory: each stage computes into one more where layers must be reordered. */
    const int more = plan->order == MAP_Z_FASTEST, host_buffers = plan->slots + (host ? more : 0),
              device_buffers = QUEUES_PER_GPU * (1 + more);

    uint64_t host_free = 0, device_free = UINT64_MAX, total = 0;
    vf_host_memory(&host_free, &total);
    for (int d = 0; !host && d < vf_context_device_count(ctx); d++) {
        uint64_t free_there = 0;
        vf_status status = vf_device_memory(vf_context_device(ctx, d), &free_there, &total);
        if (status != VF_OK)
            return status;
        device_free = free_there < device_free ? free_there : device_free;
    }

    double most = fmin(0.5 * (double)host_free / host_buffers, 0.8 * (double)device_free / device_buffers);
    int devices = vf_context_device_count(ctx);
    double share = fmin(slab_seconds / fmax(plan->seconds * devices, 1e-9), 1 / (slabs_least * plan->workers));
    double by_time = share * (double)grid->counts[axis];
    int64_t multiple = axis == 0 ? LAYER_MULTIPLE_X : LAYER_MULTIPLE_Z;
    double layers = floor(fmin(by_time, slab_bytes_most / layer_bytes) / (double)multiple) * (double)multiple;
    layers = fmin(fmax(layers, (double)multiple), (double)grid->counts[axis]);
    if (layers * layer_bytes > slab_bytes_most) /* even one tile's thickness is much: thinner, but one layer at least */
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
    plan->layers = (int64_t)layers;
    plan->slabs = (grid->counts[axis] + plan->layers - 1) / plan->layers;
    return VF_OK;
}

vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol, const vf_grid *grid,
                            map_order order, potential_plan *plan)
{
    *plan = (potential_plan){.order = order};
    plan->scale = potential_constant(settings->unit, settings->temperature) / settings->dielectric;
    plan->evaluations = (double)mol->atoms * (double)vf_grid_points(grid);
    vf_status status = check_threads(ctx, 2); /* measuring on the CPU starts a team, too */
    if (status == VF_OK)
        status = choose_device(ctx, settings, mol, plan);
    if (status == VF_OK)
        status = plan_slabs(ctx, settings, grid, plan);
    if (status == VF_OK && plan->workers > 1)
        status = check_threads(ctx, plan->workers + 1);
    return status;
}

/* ---- computing ---- */

typedef struct computation {
    vf_context *ctx;
    const vf_grid *grid;
    const potential_plan *plan;
    vf_dtype type;
    vf_coulomb **kernels; /* [devices] */
    vf_pipeline *pipeline;
    potential_sink sink;
    void *user;
} computation;

static vf_box slab_box(const computation *c, int64_t slab)
{
    vf_box box = vf_grid_box(c->grid);
    int axis = slab_axis(c->plan->order);
    box.lo[axis] = slab * c->plan->layers;
    if (box.hi[axis] - box.lo[axis] > c->plan->layers)
        box.hi[axis] = box.lo[axis] + c->plan->layers;
    return box;
}

/* Puts the sum over a box into the queue, x fastest; on a GPU in launches that end soon, one after the other. */
static vf_status execute(const computation *c, const vf_coulomb *kernel, vf_queue *queue, const vf_box *box, void *out)
{
    double layer_pairs = c->plan->evaluations / (double)vf_grid_points(c->grid) * (double)vf_box_points(box) /
                         (double)vf_box_extent(box, 2);
    double thickness = fmax(floor(c->plan->launch_pairs / fmax(layer_pairs, 1)), 1);
    if (vf_device_is_host(vf_queue_device(queue)) || thickness >= (double)vf_box_extent(box, 2))
        return vf_coulomb_execute(kernel, queue, box, out);
    int64_t layer_points = vf_box_extent(box, 0) * vf_box_extent(box, 1), step = (int64_t)thickness;
    vf_status status = VF_OK;
    for (int64_t k = box->lo[2]; status == VF_OK && k < box->hi[2]; k += step) {
        vf_box part = *box;
        part.lo[2] = k;
        part.hi[2] = k + step < box->hi[2] ? k + step : box->hi[2];
        char *at = (char *)out + (size_t)((k - box->lo[2]) * layer_points) * vf_dtype_bytes(c->type);
        status = vf_coulomb_execute(kernel, queue, &part, at);
        if (status == VF_OK)
            status = vf_queue_sync(queue);
        if (status == VF_OK && vf_cancelled(c->ctx))
            status = vf_fail(c->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return status;
}

static vf_status compute(void *user, const vf_piece *piece, size_t *bytes)
{
    const computation *c = user;
    const vf_box box = slab_box(c, piece->number);
    const bool reorder = c->plan->order == MAP_Z_FASTEST;
    *bytes = (size_t)vf_box_points(&box) * vf_dtype_bytes(c->type);
    vf_status status =
        execute(c, c->kernels[piece->device], piece->queue, &box, reorder ? piece->scratch : piece->memory);
    if (status != VF_OK || !reorder)
        return status;
    const int64_t nx = vf_box_extent(&box, 0), ny = vf_box_extent(&box, 1), nz = vf_box_extent(&box, 2);
    return vf_transpose(piece->queue, c->type, ny, nz, nx, piece->scratch, (vf_pitch){ny * nx, nx}, piece->memory,
                        (vf_pitch){ny * nz, nz});
}

static vf_status store(void *user, const vf_piece *piece)
{
    const computation *c = user;
    const vf_box box = slab_box(c, piece->number);
    const int axis = slab_axis(c->plan->order);
    return c->sink(c->user, box.lo[axis], vf_box_extent(&box, axis), piece->host);
}

static vf_status make_computation(computation *c, const cionize_settings *settings, const molecule *mol)
{
    const int devices = vf_context_device_count(c->ctx);
    const int64_t slab_points = vf_grid_points(c->grid) / c->grid->counts[slab_axis(c->plan->order)] * c->plan->layers;
    const size_t slab_bytes = (size_t)slab_points * vf_dtype_bytes(c->type);
    const vf_pipeline_options stages = {.devices = devices,
                                        .stages = QUEUES_PER_GPU,
                                        .buffers = c->plan->slots,
                                        .bytes = slab_bytes,
                                        .scratch = c->plan->order == MAP_Z_FASTEST ? slab_bytes : 0};
    vf_coulomb_atoms atoms = kernel_atoms(mol, INT64_MAX);
    vf_coulomb_options options = kernel_options(settings, c->plan->scale);
    c->kernels = calloc((size_t)devices, sizeof *c->kernels);
    if (!c->kernels)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for %d devices", devices);
    vf_status status = VF_OK;
    for (int d = 0; status == VF_OK && d < devices; d++)
        status = vf_coulomb_create(vf_context_device(c->ctx, d), c->grid, &atoms, &options, &c->kernels[d]);
    if (status == VF_OK)
        status = vf_pipeline_create(c->ctx, &stages, &c->pipeline);
    return status;
}

static void free_computation(computation *c)
{
    vf_pipeline_destroy(c->pipeline);
    for (int d = 0; c->kernels && d < vf_context_device_count(c->ctx); d++)
        vf_coulomb_destroy(c->kernels[d]);
    free(c->kernels);
}

vf_status potential_compute(vf_context *ctx, const cionize_settings *settings, const molecule *mol, const vf_grid *grid,
                            const potential_plan *plan, potential_sink sink, void *user)
{
    computation c = {.ctx = ctx, .grid = grid, .plan = plan, .type = settings->precision, .sink = sink, .user = user};
    const vf_pipeline_work work = {.pieces = plan->slabs, .user = &c, .compute = compute, .store = store};
    vf_status status = make_computation(&c, settings, mol);
    if (status == VF_OK)
        status = vf_pipeline_run(c.pipeline, &work);
    free_computation(&c);
    return status;
}
