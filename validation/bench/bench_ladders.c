/* Published steps of optimisation, measured again: the matrix product, the transpose, and the sum of 512 numbers in
 * shared memory.
 *
 * usage: bench_ladders DEVICE [REPORT.json [SIDE]]     (none; matrices of 4096 a side on a GPU, 1024 on a CPU)
 *
 * The matrix product, 2 SIDE^3 operations, is compared with cuBLAS on a GPU, where it is installed, and on a CPU with
 * multiply-adds in registers. The other two are compared with the copy, the sum also with vf_reduce. All numbers are
 * small integers, so that every result is exact; it is compared with others' before it is timed. A time is the median of
 * several batches, between events on a GPU; the peer takes turns. */
#include "bench_ladders.h"
#include "bench_ceilings.h"
#include "bench_device.h"
#include "bench_peers.h"
#include "voxfield/matrix_product.h"
#include "voxfield/reduce.h"

enum { ROUNDS = 5, MOST_IN_BATCH = 50 };
#define BATCH_SECONDS 4e-3

static int64_t side, numbers; /* of a matrix */
static vf_array a, b, c;      /* [side][side], of doubles at most */
static void *host, *truth;

typedef struct job job;
struct job {
    void (*run)(const job *j);
    int times;
    vf_dtype type;
    vf_matrix_product *plan;
    vf_reduce *sum;
    void *cublas;
    int which;
};

static bool on_gpu(void)
{
    return !vf_device_is_host(device);
}

static void *stream(void)
{
    return vf_queue_native(queue);
}

static void need_true(bool fine)
{
    if (!fine)
        need(vf_fail(ctx, VF_ERR_DEVICE, "a kernel failed"));
}

static void run_times(void *user)
{
    const job *j = user;
    for (int i = 0; i < j->times; i++)
        j->run(j);
}

static double time_job(job *j)
{
    double seconds;
    if (on_gpu()) {
        seconds = bench_gpu_seconds(stream(), run_times, j);
    } else {
        const double began = vf_now();
        run_times(j);
        seconds = vf_now() - began;
    }
    need_true(seconds >= 0);
    return seconds / j->times;
}

static void size_batch(job *j)
{
    j->times = 1;
    (void)time_job(j);
    const double once = time_job(j);
    j->times = once * MOST_IN_BATCH < BATCH_SECONDS ? MOST_IN_BATCH : (int)(BATCH_SECONDS / once) + 1;
}

/* Medians of both; the peer may have no function. */
static void time_both(job *ours, job *peer, double *seconds, double *beside)
{
    double times[ROUNDS], peers[ROUNDS] = {0};
    size_batch(ours);
    if (peer->run)
        size_batch(peer);
    for (int r = 0; r < ROUNDS; r++) {
        times[r] = time_job(ours);
        peers[r] = peer->run ? time_job(peer) : 0;
    }
    *seconds = median(times, ROUNDS);
    *beside = median(peers, ROUNDS);
}

static void fetch(int64_t count, vf_dtype type, void *to)
{
    need(vf_queue_copy(queue, to, c.data, (size_t)count * vf_dtype_bytes(type)));
    need(vf_queue_sync(queue));
}

/* Runs a job once on a cleared result, and compares that with `truth`, or makes it the truth. */
static void check(job *j, const char *key, int64_t count, bool is_truth)
{
    const size_t bytes = (size_t)count * vf_dtype_bytes(j->type);
    need(vf_fill(queue, VF_U8, (int64_t)bytes, &(uint8_t){0xff}, c.data));
    j->run(j);
    fetch(count, j->type, is_truth ? truth : host);
    if (!is_truth && memcmp(host, truth, bytes) != 0) {
        printf("%s: WRONG\n", key);
        failures++;
    }
}

static void report_rate(const char *key, const char *unit, double rate, double beside)
{
    printf("  %-46s %9.1f %s", key, 1e-9 * rate, unit);
    vf_report_begin(report, key);
    vf_report_number(report, "per_second", rate);
    if (beside > 0) {
        printf("  %.3f of the peer", rate / beside);
        vf_report_number(report, "peer_per_second", beside);
        vf_report_number(report, "share", rate / beside);
    }
    printf("\n");
    vf_report_end(report);
}

static void make_integers(vf_dtype type)
{
    for (int array = 0; array < 2; array++) {
        for (int64_t i = 0; i < numbers; i++) {
            const int value = (int)integer_between(-8, 8); /* sums of 2^16 products are below 2^24 */
            if (type == VF_F32)
                ((float *)host)[i] = (float)value;
            else
                ((double *)host)[i] = value;
        }
        need(vf_queue_copy(queue, array ? b.data : a.data, host, (size_t)numbers * vf_dtype_bytes(type)));
        need(vf_queue_sync(queue));
    }
}

/* ---- the matrix product ---- */

static void run_product(const job *j)
{
    need(vf_matrix_product_execute(j->plan, queue, side, side, side, a.data, b.data, c.data));
}

static void run_cublas(const job *j)
{
    need_true(bench_cublas_product(j->cublas, j->type == VF_F64, side, side, side, a.data, b.data, c.data));
}

static void measure_product(vf_dtype type, const char *variant, job *peer, double ceiling)
{
    const double operations = 2.0 * (double)side * (double)side * (double)side;
    job ours = {.run = run_product, .type = type};
    double seconds, beside;
    char key[96];
    snprintf(key, sizeof key, "product, %s, %s", type == VF_F32 ? "single" : "double", variant);
    need(vf_matrix_product_create(device, type, variant, &ours.plan));
    check(&ours, key, numbers, false);
    time_both(&ours, peer, &seconds, &beside);
    report_rate(key, "GFLOPS", operations / seconds, peer->run ? operations / beside : ceiling);
    vf_matrix_product_destroy(ours.plan);
}

/* The truth is the peer's, or the CPU's by its baseline. */
static void products(vf_dtype type)
{
    job peer = {.type = type}, first = {.run = run_product, .type = type};
    const char *variant;
    const double ceiling = on_gpu() ? 0 : 2 * bench_ceiling_fma(vf_context_threads(ctx)) / (type == VF_F64 ? 2 : 1);
    make_integers(type);
    peer.cublas = on_gpu() ? bench_cublas_create(stream()) : NULL;
    peer.run = peer.cublas ? run_cublas : NULL;
    need(vf_matrix_product_create(device, type, on_gpu() ? "naive" : "baseline", &first.plan));
    check(peer.run ? &peer : &first, "", numbers, true);
    for (int v = 0; (variant = vf_matrix_product_variant_name(vf_device_get_kind(device), v)); v++)
        if (strcmp(variant, "ref") != 0 && runs_here(variant) &&
            (strcmp(variant, "avx512") != 0 || vf_cpu_isa() >= VF_ISA_AVX512))
            measure_product(type, variant, &peer, ceiling);
    vf_matrix_product_destroy(first.plan);
    bench_cublas_free(peer.cublas);
}

/* ---- the transpose ---- */

static void run_copy(const job *j)
{
    need(vf_copy(queue, j->type, numbers, a.data, c.data));
}

static void run_transpose(const job *j)
{
    const vf_pitch pitch = {side, numbers};
    if (j->which < LADDER_TRANSPOSES)
        need_true(bench_ladder_transpose((ladder_transpose)j->which, stream(), side, side, a.data, c.data));
    else
        need(vf_transpose(queue, j->type, 1, side, side, a.data, pitch, c.data, pitch));
}

static void transposes(void)
{
    static const char *const names[] = {"transpose, naive", "transpose, tiled", "transpose, padded (vf_transpose)"};
    double seconds, beside;
    make_integers(VF_F32);
    need(vf_queue_copy(queue, host, a.data, (size_t)numbers * sizeof(float)));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++)
            ((float *)truth)[j * side + i] = ((const float *)host)[i * side + j];
    for (int which = on_gpu() ? 0 : LADDER_TRANSPOSES; which <= LADDER_TRANSPOSES; which++) {
        job ours = {.run = run_transpose, .type = VF_F32, .which = which}, copy = {.run = run_copy, .type = VF_F32};
        check(&ours, names[which], numbers, false);
        time_both(&ours, &copy, &seconds, &beside);
        report_rate(names[which], "GB/s", 8.0 * (double)numbers / seconds, 8.0 * (double)numbers / beside);
    }
}

/* ---- the sum of 512 ---- */

static void run_sums(const job *j)
{
    need_true(bench_ladder_sums(j->which, stream(), numbers / LADDER_SUMMED, a.data, c.data));
}

static void run_reduce(const job *j)
{
    need(vf_reduce_execute(j->sum, queue, numbers, a.data, NULL, c.data));
}

static void sums(void)
{
    static const char *const names[] = {"sums of 512, neighbours first", "sums of 512, halves first", "sum, vf_reduce"};
    double seconds, beside;
    job reduce = {.run = run_reduce, .type = VF_F32};
    job copy = {.run = run_copy, .type = VF_F32};
    make_integers(VF_F32);
    need(vf_queue_copy(queue, host, a.data, (size_t)numbers * sizeof(float)));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < numbers; i++) {
        float *sum = (float *)truth + i / LADDER_SUMMED;
        *sum = (i % LADDER_SUMMED ? *sum : 0) + ((const float *)host)[i];
    }
    need(vf_reduce_create(device, VF_REDUCE_SUM, VF_F32, numbers, &reduce.sum));
    for (int which = 0; which < 3; which++) {
        job ours = {.run = run_sums, .type = VF_F32, .which = which};
        job *const one = which < 2 ? &ours : &reduce;
        if (which < 2)
            check(one, names[which], numbers / LADDER_SUMMED, false);
        time_both(one, &copy, &seconds, &beside);
        report_rate(names[which], "GB/s", 4.0 * (double)numbers / seconds, 8.0 * (double)numbers / beside);
    }
    vf_reduce_destroy(reduce.sum);
}

int main(int argc, char **argv)
{
    const int ended = begin("bench_ladders", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    side = argc > 3 ? whole_number(argv[3], 16384) : on_gpu() ? 4096 : 1024;
    if (side % 32)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "SIDE: expected a multiple of 32, at most 16384"));
    if (!side)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "SIDE '%s': expected a whole number from 32 to 16384", argv[3]));
    numbers = side * side;
    vf_array *const arrays[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++)
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, numbers, arrays[i]));
    host = room((size_t)numbers, sizeof(double));
    truth = room((size_t)numbers, sizeof(double));
    printf("%s: %s, matrices of %lld a side\n", vf_device_spec(device), vf_device_name(device), (long long)side);
    vf_report_integer(report, "side", side);
    products(VF_F32);
    products(VF_F64);
    transposes();
    if (on_gpu())
        sums();
    free(host);
    free(truth);
    for (int i = 0; i < 3; i++)
        vf_array_free(arrays[i]);
    return end();
}
