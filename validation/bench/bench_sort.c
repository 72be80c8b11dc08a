/* How fast the variants of the sort are: on the CPU beside Highway's vqsort at equal threads, 1 and 2, on a GPU beside CUB.
 *
 * usage: bench_sort DEVICE [REPORT.json [KEYS]]     (none; 2^16, 2^20, 2^24 on the CPU, 2^26 on a GPU)
 *
 * Random keys; values number the pairs. vqsort sorts pairs as numbers of twice the bits, the key above the value, so both
 * have the same result. Each result is checked. A rate is that of the least of several times: processor time for one
 * thread, which other programs disturb less, and the time between events on a GPU. The variant "ref" is left out. */
#include <time.h>

#include "bench_device.h"
#include "bench_peers.h"
#include "bench_sort_peers.h"
#include "voxfield/sort.h"

enum { MOST_RUNS = 200, VARIANTS = 8 };
static const double bar = 1, seconds_of_runs = 0.5; /* of the peer's rate, for the default variant */

typedef struct kind {
    const char *name;
    vf_sort_key key;
    int bytes, value_bytes;
    bench_sort_type type;
} kind;
static const kind kinds[] = {
    {"u32 keys", VF_SORT_U32, 4, 0, SORT_KEYS_U32},
    {"u64 keys", VF_SORT_U64, 8, 0, SORT_KEYS_U64},
    {"f32 keys", VF_SORT_F32, 4, 0, SORT_KEYS_F32},
    {"u32 keys, u32 values", VF_SORT_U32, 4, 4, SORT_PAIRS_32},
    {"u64 keys, u64 values", VF_SORT_U64, 8, 8, SORT_PAIRS_64},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int64_t n;
static vf_array scratch, there[4]; /* on the device: keys, values, keys_out, values_out */
static char *here[4], *packed[3];  /* the same on the host; what vqsort gets, a copy, its scratch array */

static double now(bool processor)
{
    struct timespec t;
    clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- keys and checks ---- */

static uint64_t number(const char *array, int bytes, int64_t i)
{
    uint32_t narrow;
    uint64_t wide;
    memcpy(&narrow, array + i * bytes, 4);
    if (bytes == 4)
        return narrow;
    memcpy(&wide, array + i * bytes, 8);
    return wide;
}

static void put(char *array, int bytes, int64_t i, uint64_t x)
{
    const uint32_t narrow = (uint32_t)x;
    memcpy(array + i * bytes, bytes == 4 ? (const void *)&narrow : &x, (size_t)bytes);
}

static void make_keys(const kind *k)
{
    for (int64_t i = 0; i < n; i++) {
        const float real = (float)uniform_between(-1, 1);
        uint64_t bits = random_bits();
        if (k->key == VF_SORT_F32)
            memcpy(&bits, &real, sizeof real);
        put(here[0], k->bytes, i, bits);
        put(packed[0], k->bytes, k->value_bytes ? 2 * i + 1 : i, bits);
        if (k->value_bytes) {
            put(here[1], k->value_bytes, i, (uint64_t)i);
            put(packed[0], k->bytes, 2 * i, (uint64_t)i);
        }
    }
    for (int a = 0; a < 2; a++)
        need(vf_queue_copy(queue, there[a].data, here[a], (size_t)(n * (a ? k->value_bytes : k->bytes))));
    need(vf_queue_sync(queue));
}

static bool less(const kind *k, uint64_t a, uint64_t b)
{
    float x, y;
    const uint32_t p = (uint32_t)a, q = (uint32_t)b;
    memcpy(&x, &p, sizeof x);
    memcpy(&y, &q, sizeof y);
    return k->key == VF_SORT_F32 ? x < y : a < b;
}

/* A sum that every key changes. */
static uint64_t hash(const char *keys, int bytes)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t state = number(keys, bytes, i);
        sum += splitmix(&state);
    }
    return sum;
}

static void check(const kind *k, const char *variant)
{
    for (int a = 2; a < 4; a++)
        need(vf_queue_copy(queue, here[a], there[a].data, (size_t)(n * (a == 3 ? k->value_bytes : k->bytes))));
    need(vf_queue_sync(queue));
    bool right = hash(here[0], k->bytes) == hash(here[2], k->bytes);
    for (int64_t i = 0; i < n && right; i++) {
        const uint64_t key = number(here[2], k->bytes, i), before = i ? number(here[2], k->bytes, i - 1) : key;
        right = !less(k, key, before);
        if (k->value_bytes && right) {
            const uint64_t value = number(here[3], k->value_bytes, i);
            right = value < (uint64_t)n && number(here[0], k->bytes, (int64_t)value) == key &&
                    (i == 0 || less(k, before, key) || number(here[3], k->value_bytes, i - 1) < value);
        }
    }
    failures += !right;
    if (!right)
        printf("%s, %lld %s: WRONG\n", variant, (long long)n, k->name);
}

static void check_vqsort(const kind *k, const char *sorted)
{
    bool right = true;
    for (int64_t i = 0; i < n && right; i++)
        right = k->value_bytes ? number(sorted, k->bytes, 2 * i + 1) == number(here[2], k->bytes, i) &&
                                     number(sorted, k->bytes, 2 * i) == number(here[3], k->value_bytes, i)
                               : number(sorted, k->bytes, i) == number(here[2], k->bytes, i);
    failures += !right;
    if (!right)
        printf("vqsort, %lld %s: WRONG\n", (long long)n, k->name);
}

/* ---- times ---- */

typedef struct sorting {
    const vf_sort *plan; /* NULL: the peer */
    const kind *k;
} sorting;

static void put_sort(void *user)
{
    const sorting *s = user;
    const void *const in[2] = {there[0].data, s->k->value_bytes ? there[1].data : NULL};
    void *const out[2] = {there[2].data, s->k->value_bytes ? there[3].data : NULL};
    size_t bytes = (size_t)scratch.count;
    if (s->plan)
        need(vf_sort_execute(s->plan, queue, n, in[0], in[1], out[0], out[1]));
    else if (!bench_cub_sort(s->k->type, vf_queue_native(queue), scratch.data, &bytes, n, in, out))
        need(vf_fail(ctx, VF_ERR_DEVICE, "CUB's sort failed"));
}

static double time_sort(const vf_sort *plan, const kind *k, bool processor)
{
    sorting s = {plan, k};
    if (!vf_device_is_host(device))
        return bench_gpu_seconds(vf_queue_native(queue), put_sort, &s);
    const double began = now(processor);
    put_sort(&s);
    return now(processor) - began;
}

/* Scratch memory for CUB. */
static void make_scratch(const kind *k)
{
    const void *const in[2] = {NULL, NULL};
    void *const out[2] = {NULL, NULL};
    size_t bytes = 0;
    vf_array_free(&scratch);
    if (!bench_cub_sort(k->type, vf_queue_native(queue), NULL, &bytes, n, in, out))
        need(vf_fail(ctx, VF_ERR_DEVICE, "CUB's sort failed"));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, &scratch));
}

static double time_vqsort(const kind *k, int threads, bool processor, bool checked)
{
    memcpy(packed[1], packed[0], (size_t)(n * (k->bytes + k->value_bytes)));
    const double began = now(processor);
    const char *sorted = bench_vqsort(k->type, threads, n, packed[1], packed[2]);
    const double seconds = now(processor) - began;
    if (checked)
        check_vqsort(k, sorted);
    return seconds;
}

static void measure(const kind *k, int threads)
{
    const bool on_cpu = vf_device_is_host(device), processor = on_cpu && threads == 1;
    const bool beside = !on_cpu || bench_has_vqsort();
    const char *name, *peer = on_cpu ? "vqsort" : "CUB";
    vf_sort *plan[VARIANTS];
    double least[VARIANTS], theirs = beside ? 1e9 : 0;
    int variants = 0;
    for (; (name = vf_sort_variant_name(vf_device_get_kind(device), variants)) && strcmp(name, "ref") != 0;
         variants++) {
        const vf_sort_options options = {.key = k->key, .value_bytes = k->value_bytes, .variant = name};
        need(vf_sort_create(device, &options, n, &plan[variants]));
        least[variants] = time_sort(plan[variants], k, processor);
        check(k, name);
    }
    if (!on_cpu)
        make_scratch(k);
    const double once = least[0] > 1e-9 ? least[0] : 1e-9;
    int runs = (int)(seconds_of_runs / once / 4);
    runs = runs < 3 ? 3 : runs > MOST_RUNS ? MOST_RUNS : runs;
    for (int r = 0; r < runs; r++) {
        for (int v = 0; v < variants; v++) {
            const double seconds = time_sort(plan[v], k, processor);
            least[v] = seconds < least[v] ? seconds : least[v];
        }
        if (!beside)
            continue;
        const double seconds = on_cpu ? time_vqsort(k, threads, processor, r == 0) : time_sort(NULL, k, false);
        if (r == 0 && !on_cpu)
            check(k, "CUB");
        theirs = seconds < theirs ? seconds : theirs;
    }
    for (int v = 0; v < variants; v++) {
        char key[96];
        name = vf_sort_variant_name(vf_device_get_kind(device), v);
        snprintf(key, sizeof key, "%s, %lld %s, %d threads", name, (long long)n, k->name, threads);
        printf("  %-6s %-21s %9.1f M/s", name, k->name, 1e-6 * (double)n / least[v]);
        vf_report_begin(report, key);
        vf_report_number(report, "keys_per_second", (double)n / least[v]);
        if (theirs > 0) {
            printf("  %6.2f of %s", theirs / least[v], peer);
            vf_report_number(report, "peer_keys_per_second", (double)n / theirs);
            vf_report_text(report, "peer", peer);
            vf_report_number(report, "share", theirs / least[v]);
            if (v == 0)
                printf(": %s (%.1f)", theirs / least[v] >= bar ? "met" : "MISSED", bar);
        }
        printf("\n");
        vf_report_end(report);
        vf_sort_destroy(plan[v]);
    }
}

static void run(int64_t count)
{
    n = count;
    for (int threads = 1; threads <= 2; threads++) {
        if (threads > 1 && (!vf_device_is_host(device) || vf_context_threads(ctx) < 2))
            return;
        const int all = vf_context_threads(ctx);
        need(vf_context_set_threads(ctx, threads));
        printf("%lld keys, %d threads\n", (long long)n, threads);
        for (int k = 0; k < KINDS; k++) {
            make_keys(&kinds[k]);
            measure(&kinds[k], threads);
        }
        need(vf_context_set_threads(ctx, all));
    }
}

int main(int argc, char **argv)
{
    static const int64_t on_cpu[] = {1 << 16, 1 << 20, 1 << 24}, on_gpu[] = {1 << 26};
    const int64_t given = argc > 3 ? whole_number(argv[3], (int64_t)1 << 28) : 0;
    const int ended = begin("bench_sort", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    const bool is_cpu = vf_device_is_host(device);
    if (argc > 3 && !given)
        need(vf_fail(ctx, VF_ERR_ARGUMENT, "KEYS '%s': expected a whole number from 1 to 268435456", argv[3]));
    if (is_cpu && !bench_has_vqsort())
        printf("alone: built without Highway's vqsort (libhwy-dev, and a C++ compiler)\n");
    const int64_t most = given ? given : is_cpu ? on_cpu[2] : on_gpu[0];
    for (int a = 0; a < 4; a++) {
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, 8 * most, &there[a]));
        here[a] = room((size_t)most, 8);
    }
    for (int a = 0; a < 3; a++)
        packed[a] = room((size_t)most, 16);
    if (given)
        run(given);
    else
        for (int i = 0; i < (is_cpu ? 3 : 1); i++)
            run(is_cpu ? on_cpu[i] : on_gpu[i]);
    for (int a = 0; a < 4; a++) {
        vf_array_free(&there[a]);
        free(here[a]);
    }
    for (int a = 0; a < 3; a++)
        free(packed[a]);
    vf_array_free(&scratch);
    return end();
}
