/* How fast the primitives are: throughput against size, next to a peer on the device in the same run. Peers are
 * CUB and cudaMemcpyAsync within the device on a GPU, and a copy with streaming stores on the CPU.
 *
 * usage: bench_primitives DEVICE [REPORT.json]
 *
 * Numbers are small integers, and sums of any range are below 2^24. So every result is exact in any order, even
 * scans in single precision. It is compared for equality at every size before it is timed.
 *
 * A time is the median of several batches of consecutive executions, between events on a GPU. Peers and our
 * functions take turns. Small arrays stay in the caches, so shares of the memory's speed are meaningful only for the
 * largest sizes. Bytes count as read and written once: 2 n for a copy, n for a sum. Sizes are in 4-byte elements, also
 * those of bytes, but for sorts (pairs).
 *
 * A share is one median divided by another of the same size. On the CPU all are compared with the copy. Functions
 * that only read are limited by the read speed of a core or its memory link, which is less than that of reading and
 * writing at once. The plain read, a bitwise or of everything, shows that limit. */
#include "bench_histograms.h"
#include "voxfield/copy.h"
#include "voxfield/reduce.h"
#include "voxfield/scan.h"
#include "voxfield/sort.h"

enum { LEAST = 10, MOST_GPU = 28, MOST_CPU = 26, MOST_SORT = 27, MOST_SIZES = MOST_GPU - LEAST + 1 };
enum { BATCHES = 9, MOST_IN_BATCH = 200 };
#define BATCH_SECONDS (on_gpu() ? 1e-3 : 2e-2)

typedef struct op op;
struct op {
    const char *name;
    double bytes; /* per element, read and written */
    void (*run)(const op *o, int64_t n);
    bool (*right)(const op *o, int64_t n);
    int peer;   /* bench_peer, or -1 */
    int most;   /* size, as a power of two; 0: the device's */
    double bar; /* on a GPU, share of the peer's throughput; 0: none */
    bool large; /* only the largest size */
    enum { EVERYWHERE, GPUS, CPUS } where;
    void *plan;
    double rate[MOST_SIZES], peer_rate[MOST_SIZES]; /* bytes per second; on the CPU the second is the copy's */
};

static bench_truth truth;
static vf_array x, y, z, small, host; /* [most] floats each, except `small`, which holds sums and counts */
static const float fill_value = 0.25f;
static vf_array scratch[PEERS];
static int most_log;

static bool on_gpu(void)
{
    return !vf_device_is_host(device);
}

static int threads(void)
{
    return vf_context_threads(ctx);
}

static void upload(vf_array *to, const void *from, size_t bytes)
{
    need(vf_queue_copy(queue, to->data, from, bytes));
    need(vf_queue_sync(queue));
}

/* The first `bytes` of an array, on the host. */
static const void *fetch(const vf_array *from, size_t bytes)
{
    if (on_gpu())
        need(vf_queue_copy(queue, host.data, from->data, bytes));
    need(vf_queue_sync(queue));
    return on_gpu() ? host.data : from->data;
}

/* Fills the first `bytes` of y, and all of `small`, with a value that no result has. */
static void poison(int64_t bytes)
{
    static const uint8_t wrong = 0x81;
    need(vf_fill(queue, VF_U8, bytes, &wrong, y.data));
    need(vf_fill(queue, VF_U8, small.count * 8, &wrong, small.data));
}

/* ---- the operations ---- */

static void run_copy(const op *o, int64_t n)
{
    (void)o;
    need(vf_copy(queue, VF_F32, n, x.data, y.data));
}

static bool copy_right(const op *o, int64_t n)
{
    (void)o;
    return truth_is_copy(&truth, n, fetch(&y, (size_t)n * 4));
}

static void run_fill(const op *o, int64_t n)
{
    (void)o;
    need(vf_fill(queue, VF_F32, n, &fill_value, y.data));
}

static bool fill_right(const op *o, int64_t n)
{
    (void)o;
    return truth_is_filled(&truth, n, fetch(&y, (size_t)n * 4), fill_value);
}

static uint32_t bits_read;

static void run_read(const op *o, int64_t n)
{
    (void)o;
    bits_read = bench_plain_read(threads(), n, x.data);
}

static bool read_right(const op *o, int64_t n)
{
    uint32_t all = 0;
    for (int64_t i = 0; i < n; i++)
        all |= ((const uint32_t *)x.data)[i];
    (void)o;
    return all == bits_read;
}

static void run_sum(const op *o, int64_t n)
{
    need(vf_reduce_execute(o->plan, queue, n, x.data, NULL, small.data));
}

static void run_dot(const op *o, int64_t n)
{
    need(vf_reduce_execute(o->plan, queue, n, x.data, z.data, small.data));
}

static bool sum_right(const op *o, int64_t n)
{
    const vf_reduced *got = fetch(&small, sizeof *got);
    return got->re == (o->run == run_dot ? truth_dot : truth_sum)(&truth, n);
}

static void run_scan(const op *o, int64_t n)
{
    need(vf_scan_execute(o->plan, queue, n, x.data, NULL, y.data));
}

static bool scan_right(const op *o, int64_t n)
{
    (void)o;
    return truth_is_scan(&truth, n, fetch(&y, (size_t)n * 4));
}

static void run_histogram(const op *o, int64_t n)
{
    count_histogram(o->plan, n, small.data);
}

static bool histogram_right(const op *o, int64_t n)
{
    const histogram_case *c = o->plan;
    const uint64_t *got = fetch(&small, MOST_HISTOGRAM_BINS * sizeof *got);
    if (n < truth.n)
        return truth_is_histogram(&truth, 4 * n, got); /* of random bytes */
    return memcmp(got, c->expected, (size_t)(c->edges ? c->edges : TRUTH_BINS) * sizeof *got) == 0;
}

/* Keys in z, values 0, 1, ... in x. y receives both, sorted, keys first. */
static void run_sort(const op *o, int64_t n)
{
    uint32_t *out = y.data;
    need(vf_sort_execute(o->plan, queue, n, z.data, x.data, out, out + n));
}

static bool sort_right(const op *o, int64_t n)
{
    const uint32_t *keys = fetch(&y, (size_t)n * 8);
    (void)o;
    return truth_is_sorted(&truth, n, keys, keys + n);
}

enum { COPY, FILL, READ, SUM, DOT, SCAN, SCAN_THREE, HISTOGRAM, FLAT, IMAGE, TRISH, EVEN, UNEVEN, SORT, OPS };
/* clang-format off */
static op ops[OPS] = {
    [COPY] = {.name = "copy", .bytes = 8, .run = run_copy, .right = copy_right, .peer = PEER_COPY, .bar = 0.97},
    [FILL] = {.name = "fill", .bytes = 4, .run = run_fill, .right = fill_right, .peer = PEER_SET},
    [READ] = {.name = "plain read", .bytes = 4, .run = run_read, .right = read_right, .peer = -1, .where = CPUS},
    [SUM] = {.name = "sum", .bytes = 4, .run = run_sum, .right = sum_right, .peer = PEER_SUM, .bar = 1},
    [DOT] = {.name = "dot", .bytes = 8, .run = run_dot, .right = sum_right, .peer = -1},
    [SCAN] = {.name = "inclusive scan", .bytes = 8, .run = run_scan, .right = scan_right, .peer = PEER_SCAN, .bar = 1},
    [SCAN_THREE] = {.name = "inclusive scan, three kernels", .bytes = 8, .run = run_scan, .right = scan_right,
                    .peer = -1, .where = GPUS},
    [HISTOGRAM] = {.name = "histogram of bytes", .bytes = 4, .run = run_histogram, .right = histogram_right,
                   .peer = PEER_BYTES, .bar = 1},
    [FLAT] = {.name = "histogram of equal bytes", .bytes = 4, .run = run_histogram, .right = histogram_right,
              .peer = -1, .bar = 0.8, .large = true},
    [IMAGE] = {.name = "histogram of an image", .bytes = 4, .run = run_histogram, .right = histogram_right,
               .peer = -1, .bar = 0.8, .large = true},
    [TRISH] = {.name = "histogram of bytes, TRISH", .bytes = 4, .run = run_histogram, .right = histogram_right,
               .peer = -1, .large = true, .where = GPUS},
    [EVEN] = {.name = "histogram, 256 even edges", .bytes = 4, .run = run_histogram, .right = histogram_right,
              .peer = PEER_EDGES, .bar = 1, .large = true},
    [UNEVEN] = {.name = "histogram, 1,000 uneven edges", .bytes = 4, .run = run_histogram, .right = histogram_right,
                .peer = PEER_EDGES, .bar = 1, .large = true},
    [SORT] = {.name = "sort of pairs", .bytes = 16, .run = run_sort, .right = sort_right, .peer = PEER_SORT, .bar = 1,
              .most = MOST_SORT, .where = GPUS},
};
/* clang-format on */

static histogram_case histograms[] = {{.data = RANDOM_BYTES},
                                      {.data = FLAT_BYTES},
                                      {.data = IMAGE_BYTES},
                                      {.data = RANDOM_BYTES, .variant = "trish"},
                                      {.data = UNIFORM_NUMBERS, .edges = EVEN_BINS},
                                      {.data = UNIFORM_NUMBERS, .edges = UNEVEN_BINS}};
static bool is_histogram(const op *o)
{
    return o->run == run_histogram;
}

static void make_plans(void)
{
    const int64_t most = (int64_t)1 << most_log;
    const vf_scan_options single = {.type = VF_F32}, three = {.type = VF_F32, .variant = "three-kernel"};
    vf_reduce *sum, *dot;
    vf_scan *scan, *scan_three;
    vf_sort *sort;
    need(vf_reduce_create(device, VF_REDUCE_SUM, VF_F32, most, &sum));
    need(vf_reduce_create(device, VF_REDUCE_DOT, VF_F32, most, &dot));
    need(vf_scan_create(device, &single, most, &scan));
    ops[SUM].plan = sum;
    ops[DOT].plan = dot;
    ops[SCAN].plan = scan;
    if (!on_gpu())
        return;
    need(vf_scan_create(device, &three, most, &scan_three));
    need(vf_sort_create(device, &(vf_sort_options){.key = VF_SORT_U32, .value_bytes = 4}, (int64_t)1 << MOST_SORT,
                        &sort));
    ops[SCAN_THREE].plan = scan_three;
    ops[SORT].plan = sort;
}

/* ---- peers ---- */

static void run_peer(const op *o, int64_t n)
{
    const bool counts = o->peer == PEER_SUM || is_histogram(o);
    const bench_peer_input in = is_histogram(o)   ? peer_histogram(o->plan)
                                : o == &ops[SORT] ? (bench_peer_input){.data = z.data, .values = x.data}
                                                  : (bench_peer_input){.data = x.data};
    if (!on_gpu())
        bench_stream_copy(threads(), n, x.data, y.data);
    else if (!bench_peer_run((bench_peer)o->peer, vf_queue_native(queue), scratch[o->peer].data,
                             (size_t)scratch[o->peer].count, n, in, (counts ? &small : &y)->data))
        need(vf_fail(ctx, VF_ERR_DEVICE, "%s failed", bench_peer_name((bench_peer)o->peer)));
}

static void make_peers(void)
{
    for (int p = 0; on_gpu() && p < PEERS; p++) {
        size_t most = 0;
        for (int log = LEAST; log <= (p == PEER_SORT ? MOST_SORT : most_log); log++) {
            const size_t bytes = bench_peer_scratch((bench_peer)p, (int64_t)1 << log);
            most = bytes > most ? bytes : most;
        }
        if (most == SIZE_MAX)
            need(vf_fail(ctx, VF_ERR_DEVICE, "%s failed", bench_peer_name((bench_peer)p)));
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)most, &scratch[p]));
    }
}

static bool has_peer(const op *o)
{
    return !on_gpu() || o->peer >= 0;
}

static const char *peer_name(const op *o)
{
    return on_gpu() ? bench_peer_name((bench_peer)o->peer) : "copy with streaming stores";
}

/* A peer with a wrong result is left out. */
static bool peer_right(const op *o, int64_t n)
{
    if (!on_gpu() || o->peer == PEER_COPY)
        return copy_right(o, n);
    if (is_histogram(o))
        return histogram_right(o, n);
    if (o->peer == PEER_SCAN)
        return scan_right(o, n);
    if (o->peer == PEER_SORT)
        return sort_right(o, n);
    if (o->peer == PEER_SUM)
        return (double)*(const float *)fetch(&small, sizeof(float)) == truth_sum(&truth, n);
    return truth_is_filled(&truth, n, fetch(&y, (size_t)n * 4), 0);
}

/* ---- time ---- */

typedef struct batch {
    const op *o;
    void (*run)(const op *o, int64_t n);
    int64_t n;
    int count;
} batch;

static void put_batch(void *user)
{
    const batch *b = user;
    for (int i = 0; i < b->count; i++)
        b->run(b->o, b->n);
}

/* Seconds per execution. */
static double time_batch(batch *b)
{
    if (on_gpu()) {
        const double seconds = bench_gpu_seconds(vf_queue_native(queue), put_batch, b);
        if (!(seconds > 0))
            need(vf_fail(ctx, VF_ERR_DEVICE, "%s could not be timed", b->o->name));
        return seconds / b->count;
    }
    const double began = vf_now();
    put_batch(b);
    return (vf_now() - began) / b->count;
}

/* The number of executions in a batch, from a few executions, which also wake sleeping hardware. */
static batch make_batch(const op *o, void (*run)(const op *o, int64_t n), int64_t n)
{
    batch b = {.o = o, .run = run, .n = n, .count = 2};
    (void)time_batch(&b);
    const double count = BATCH_SECONDS / time_batch(&b);
    b.count = count < 1 ? 1 : count > MOST_IN_BATCH ? MOST_IN_BATCH : (int)count;
    return b;
}

static void check(const char *name, bool right, int64_t n)
{
    failures += !right;
    if (!right)
        printf("%s of %lld elements: WRONG\n", name, (long long)n);
}

static void measure(op *o, int log)
{
    const int64_t n = (int64_t)1 << log;
    double seconds[BATCHES], peers[BATCHES];
    const bool beside = has_peer(o);
    poison(o == &ops[SORT] ? 8 * n : 4 * n);
    o->run(o, n);
    check(o->name, o->right(o, n), n);
    batch ours = make_batch(o, o->run, n), theirs = {0};
    if (beside) {
        poison(o == &ops[SORT] ? 8 * n : 4 * n);
        run_peer(o, n);
        check(peer_name(o), peer_right(o, n), n);
        theirs = make_batch(o, run_peer, n);
    }
    for (int i = 0; i < BATCHES; i++) {
        seconds[i] = time_batch(&ours);
        peers[i] = beside ? time_batch(&theirs) : 0;
    }
    o->rate[log - LEAST] = o->bytes * (double)n / median(seconds, BATCHES);
    o->peer_rate[log - LEAST] = beside ? (on_gpu() ? o : &ops[COPY])->bytes * (double)n / median(peers, BATCHES) : 0;
}

static bool is_run(const op *o)
{
    return o->where == EVERYWHERE || (o->where == GPUS) == on_gpu();
}

static int most_of(const op *o)
{
    return o->most > 0 && o->most < most_log ? o->most : most_log;
}

#include "bench_primitives_results.h"

static void make_all(void)
{
    const int64_t most = (int64_t)1 << most_log;
    if (!truth_make(&truth, most_log, threads()))
        need(vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers, or sums that are not exact", (long long)most));
    vf_array *arrays[] = {&x, &y, &z};
    for (int a = 0; a < 3; a++)
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, most, arrays[a]));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_I64, MOST_HISTOGRAM_BINS, &small)); /* more than a vf_reduced */
    if (on_gpu())
        need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, most, &host));
    upload(&x, truth.x, (size_t)most * 4);
    upload(&z, truth.y, (size_t)most * 4);
    make_plans();
    make_peers();
    for (const double began = vf_now(); on_gpu() && vf_now() - began < 0.3; need(vf_queue_sync(queue)))
        run_copy(&ops[COPY], most); /* raises the clock */
}

static void free_all(void)
{
    vf_reduce_destroy(ops[SUM].plan);
    vf_reduce_destroy(ops[DOT].plan);
    vf_scan_destroy(ops[SCAN].plan);
    vf_scan_destroy(ops[SCAN_THREE].plan);
    for (int h = 0; h <= UNEVEN - HISTOGRAM; h++)
        vf_histogram_destroy(histograms[h].plan);
    free_histogram_inputs();
    vf_sort_destroy(ops[SORT].plan);
    for (int p = 0; p < PEERS; p++)
        vf_array_free(&scratch[p]);
    vf_array_free(&x);
    vf_array_free(&y);
    vf_array_free(&z);
    vf_array_free(&small);
    vf_array_free(&host);
    truth_free(&truth);
}

/* Sorts and histograms get random numbers, sorts on a GPU also values 0, 1, ... */
static void make_random(void)
{
    uint32_t *values = host.data;
    truth_randomise(&truth);
    upload(&z, truth.random, (size_t)4 << most_log);
    make_histogram_inputs(truth.n, truth.random, z);
    for (int h = 0; h <= UNEVEN - HISTOGRAM; h++) {
        ops[HISTOGRAM + h].plan = &histograms[h];
        if (is_run(&ops[HISTOGRAM + h]))
            plan_histogram(&histograms[h], truth.n, truth.random);
    }
    for (int64_t i = 0; on_gpu() && i < (int64_t)1 << MOST_SORT; i++)
        values[i] = (uint32_t)i;
    if (on_gpu())
        upload(&x, values, (size_t)4 << MOST_SORT);
}

int main(int argc, char **argv)
{
    const double first = vf_now();
    int ended = begin("bench_primitives", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    most_log = on_gpu() ? MOST_GPU : MOST_CPU;
    make_all();
    for (op *o = ops; o < ops + OPS; o++) {
        if (o == &ops[HISTOGRAM])
            make_random();
        for (int log = o->large ? most_of(o) : LEAST; is_run(o) && log <= most_of(o); log++)
            measure(o, log);
    }
    const double ceiling = ops[COPY].peer_rate[most_log - LEAST];
    printf("%s: %s, copy %.1f GB/s (%s)\n", vf_device_spec(device), vf_device_name(device), 1e-9 * ceiling,
           peer_name(&ops[COPY]));
    print_table();
    vf_report_number(report, "copy_bytes_per_second", ceiling);
    vf_report_text(report, "copy_by", peer_name(&ops[COPY]));
    if (!on_gpu())
        vf_report_integer(report, "threads", threads());
    report_curves();
    note_bars(ceiling);
    vf_report_number(report, "seconds", vf_now() - first);
    printf("%.1f s\n", vf_now() - first);
    free_all();
    return end();
}
