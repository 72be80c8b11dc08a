/* How fast stencils are: each variant, both precisions, constant and variable coefficients, and sweeps of Jacobi's
 * method, as a share of the copy's speed in the same run.
 *
 * usage: bench_stencil DEVICE [REPORT.json [EDGE]]     (none; a cube of 384 points a side on a GPU, 256 on a CPU)
 *
 * Bytes count once: x, the coefficients, b and the result. The copy moves as many bytes as the variant, in half of
 * them from each of its two arrays. Before it is timed, every variant must have the bits of the CPU's default; "ref" is
 * left out. A time is the median of several batches, between events on a GPU, and the copy takes turns with the
 * variant. */
#include "bench_device.h"
#include "bench_peers.h"
#include "voxfield/stencil.h"

enum { BATCHES = 7, MOST_IN_BATCH = 50, ARRAYS = 7, KINDS = 4 };
#define BATCH_SECONDS 5e-3

typedef struct kind {
    const char *name;
    bool variable, reacts, sweeps;
    int arrays; /* read and written, of about the grid's size */
} kind;
static const kind kinds[KINDS] = {{"constant", false, false, false, 2},
                                  {"variable", true, false, false, 5},
                                  {"variable with reaction", true, true, false, 6},
                                  {"sweep of variable with reaction", true, true, true, 7}};

/* X, Y: vectors. The others are coefficients, of the largest size that a family of faces has. */
enum { X, Y, B, REACTION, FACES };

static int64_t edge, points, room_of_array;
static vf_array there[ARRAYS];
static double *host[ARRAYS]; /* the same numbers on the host, in the type in use; X to FACES + 2 */
static void *expected, *got;
static vf_array copy_from, copy_to;

typedef struct job {
    const kind *what;
    vf_stencil *plan; /* NULL: the copy */
    int times;
} job;

static void run_job(void *user)
{
    const job *j = user;
    for (int i = 0; i < j->times; i++) {
        if (!j->plan)
            need(vf_copy(queue, VF_U8, j->what->arrays * room_of_array / 2 / 16 * 16, copy_from.data, copy_to.data));
        else if (j->what->sweeps)
            need(vf_stencil_jacobi(j->plan, queue, 1, 0.8, there[B].data, there[X].data, there[Y].data));
        else
            need(vf_stencil_apply(j->plan, queue, there[X].data, there[Y].data));
    }
}

/* Seconds of one execution, in a batch. */
static double time_job(job *j)
{
    double seconds;
    if (vf_device_is_host(device)) {
        const double began = vf_now();
        run_job(j);
        seconds = vf_now() - began;
    } else {
        seconds = bench_gpu_seconds(vf_queue_native(queue), run_job, j);
    }
    if (seconds < 0)
        need(vf_fail(ctx, VF_ERR_DEVICE, "events failed"));
    return seconds / j->times;
}

static void size_batch(job *j)
{
    j->times = 1;
    (void)time_job(j);
    const double once = time_job(j);
    j->times = once * MOST_IN_BATCH < BATCH_SECONDS ? MOST_IN_BATCH : (int)(BATCH_SECONDS / once) + 1;
}

static vf_stencil_options options_of(const kind *what, vf_dtype type, bool on_host)
{
    vf_stencil_options o = {.type = type, .counts = {edge, edge, edge}, .centre = 6.5, .axis = {-1, -1.25, -0.75}};
    for (int a = 0; a < 3; a++) {
        o.spacing[a] = 0.5 + 0.1 * a;
        if (what->variable)
            o.faces[a] = on_host ? host[FACES + a] : there[FACES + a].data;
    }
    if (what->reacts)
        o.reaction = on_host ? host[REACTION] : there[REACTION].data;
    return o;
}

/* What all variants must compute, by the CPU. */
static void expect(const kind *what, vf_dtype type)
{
    vf_device *cpu = vf_context_host(ctx);
    vf_queue *on_cpu;
    vf_stencil *plan;
    const vf_stencil_options o = options_of(what, type, true);
    need(vf_queue_create(cpu, &on_cpu));
    need(vf_stencil_create(cpu, &o, &plan));
    if (what->sweeps)
        need(vf_stencil_jacobi(plan, on_cpu, 1, 0.8, host[B], host[X], expected));
    else
        need(vf_stencil_apply(plan, on_cpu, host[X], expected));
    vf_stencil_destroy(plan);
    vf_queue_destroy(on_cpu);
}

static bool is_right(job *j, vf_dtype type)
{
    const size_t bytes = (size_t)points * vf_dtype_bytes(type);
    j->times = 1;
    need(vf_fill(queue, VF_U8, (int64_t)bytes, &(uint8_t){0xff}, there[Y].data));
    run_job(j);
    need(vf_queue_copy(queue, got, there[Y].data, bytes));
    need(vf_queue_sync(queue));
    return memcmp(got, expected, bytes) == 0;
}

static void measure(const kind *what, vf_dtype type, const char *variant)
{
    double seconds[BATCHES], beside[BATCHES];
    char key[128];
    vf_stencil_options o = options_of(what, type, false);
    job ours = {what, NULL, 1}, copy = {what, NULL, 1};
    o.variant = variant;
    need(vf_stencil_create(device, &o, &ours.plan));
    snprintf(key, sizeof key, "%s, %s, %s", what->name, type == VF_F32 ? "single" : "double", variant);
    if (!is_right(&ours, type)) {
        printf("%s: WRONG\n", key);
        failures++;
    }
    size_batch(&ours);
    size_batch(&copy);
    for (int b = 0; b < BATCHES; b++) {
        seconds[b] = time_job(&ours);
        beside[b] = time_job(&copy);
    }
    const double bytes = (double)what->arrays * (double)points * (double)vf_dtype_bytes(type);
    const double copied = (double)(what->arrays * room_of_array / 2 / 16 * 16) * 2;
    const double rate = bytes / median(seconds, BATCHES), ceiling = copied / median(beside, BATCHES);
    printf("  %-52s %8.1f GB/s  %.3f of the copy, %6.2f G points/s\n", key, 1e-9 * rate, rate / ceiling,
           1e-9 * (double)points / median(seconds, BATCHES));
    vf_report_begin(report, key);
    vf_report_number(report, "bytes_per_second", rate);
    vf_report_number(report, "copy_bytes_per_second", ceiling);
    vf_report_number(report, "share", rate / ceiling);
    vf_report_end(report);
    vf_stencil_destroy(ours.plan);
}

/* The same random numbers in one precision on the host and on the device. */
static void make_numbers(vf_dtype type)
{
    const int64_t count = points + edge * edge;
    for (int a = 0; a < ARRAYS; a++) {
        const double from = a < REACTION ? -1 : 0.5;
        if (a == Y)
            continue;
        for (int64_t i = 0; i < count; i++) {
            const double value = from + (1 - from) * (double)((uint64_t)(i + 7 * a) * 2654435761U % 1000003) / 1000003;
            if (type == VF_F32)
                ((float *)host[a])[i] = (float)value;
            else
                host[a][i] = value;
        }
        need(vf_queue_copy(queue, there[a].data, host[a], (size_t)count * vf_dtype_bytes(type)));
    }
    need(vf_queue_sync(queue));
    room_of_array = points * (int64_t)vf_dtype_bytes(type);
}

static void make_all(void)
{
    const int64_t count = points + edge * edge;
    for (int a = 0; a < ARRAYS; a++) {
        host[a] = room((size_t)count, sizeof(double));
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, count, &there[a]));
    }
    expected = room((size_t)points, sizeof(double));
    got = room((size_t)points, sizeof(double));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, ARRAYS * points / 2 + 16, &copy_from));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, ARRAYS * points / 2 + 16, &copy_to));
    need(vf_fill(queue, VF_F64, ARRAYS * points / 2, &(double){0.25}, copy_from.data));
}

static void free_all(void)
{
    for (int a = 0; a < ARRAYS; a++) {
        free(host[a]);
        vf_array_free(&there[a]);
    }
    free(expected);
    free(got);
    vf_array_free(&copy_from);
    vf_array_free(&copy_to);
}

int main(int argc, char **argv)
{
    const int ended = begin("bench_stencil", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    const char *variant;
    if (ended >= 0)
        return ended;
    edge = argc > 3 ? whole_number(argv[3], 1024) : vf_device_is_host(device) ? 256 : 384;
    if (!edge)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "EDGE '%s': expected a whole number from 1 to 1024", argv[3]));
    points = edge * edge * edge;
    make_all();
    printf("%s: %s, %lld points a side\n", vf_device_spec(device), vf_device_name(device), (long long)edge);
    vf_report_integer(report, "edge", edge);
    for (int t = 0; t < 2; t++) {
        const vf_dtype type = t ? VF_F64 : VF_F32;
        make_numbers(type);
        for (int k = 0; k < KINDS; k++) {
            expect(&kinds[k], type);
            for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
                if (strcmp(variant, "ref") != 0 && strcmp(variant, "baseline") != 0 && runs_here(variant) &&
                    (strcmp(variant, "avx512") != 0 || vf_cpu_isa() >= VF_ISA_AVX512))
                    measure(&kinds[k], type, variant);
        }
    }
    free_all();
    return end();
}
