/* Scans of libcore, on the CPU or a GPU, all variants, against their definition. */
#include "scan_cases.h"

/* Near warps, vectors, data blocks of all shapes that a table may have, the CPU's runs and chunks, 32 data blocks,
 * and more than 256 of them, which exceed a group of the look-back. */
static const int64_t sizes[] = {0,    1,     2,     15,    16,     17,     31,     32,     33,      127,    129,
                                257,  1001,  1023,  1024,  1025,   2047,   2049,   4095,   4096,    4097,   8191,
                                8193, 16385, 65537, 65536, 131071, 131073, 100003, 262145, 1048579, 6000011};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 6000011, MEDIUM = 10000, LARGE = 1 << 20 };

/* The largest sizes are tested for only one kind of each type, and of sums; products get out of range. Only small ones for
 * "ref", which is the definition. The very largest is for a GPU's supergroups, and on a CPU for results of so many bytes
 * that they bypass its caches. */
static bool is_too_long(const vf_scan_options *o, int64_t n)
{
    if (o->op != VF_SCAN_SUM && n > (o->type == VF_F64 || o->type == VF_I64 ? 70000 : 131073))
        return true;
    return (n >= LARGE && (o->exclusive || o->segmented != (o->type == VF_F32 || o->type == VF_U8))) ||
           (n == MOST && vf_device_is_host(device) && result_bytes(o) < 8) ||
           (n >= MEDIUM && strcmp(o->variant, "ref") == 0);
}

static void sizes_case(const vf_scan_options *options)
{
    static const int64_t offsets[][3] = {{0, 0, 0}, {1, 1, 1}, {3, 0, 2}, {0, 17, -1}, {31, 2, 5}};
    static const double often[] = {0.01, 0.3, 0, 1, 0.0001};
    const int first = 2 * options->exclusive + options->segmented; /* so each size meets several of them */
    vf_scan *plan = make_scan(options, MOST);
    for (int s = SIZES - 1; s >= 0; s--) /* the largest first: a plan that does not clean its scratch memory shows */
        for (int o = 0; o < (sizes[s] < MEDIUM && options->op == VF_SCAN_SUM ? 5 : 1); o++) {
            const int64_t n = sizes[s];
            if (is_too_long(options, n) || (SANITIZED && n >= LARGE))
                continue;
            int64_t at[3];
            memcpy(at, offsets[(o + s + first) % 5], sizeof at);
            if (vf_scan_result(options) != options->type && at[2] < 0)
                at[2] = 1;
            void *x = elements(options, n);
            uint8_t *head = random_heads(options, n, often[(s + 2 * o) % 5]);
            void *y = scan_at(plan, n, x, head, at);
            assert_scan(options, n, x, head, y);
            FREE_ALL(x, head, y);
        }
    vf_scan_destroy(plan);
}

static void test_sizes(void **state)
{
    (void)state;
    for_all(sizes_case);
}

/* The same bits each time, with any number of threads, and any start of the arrays. */
static void same_bits_case(const vf_scan_options *options)
{
    if (strcmp(options->variant, "ref") == 0)
        return;
    static const int threads[] = {1, 2, 7};
    static const int64_t some[] = {4097, 100003, 1048579}, offsets[][3] = {{0, 0, 0}, {1, 2, 3}, {7, 0, 0}};
    const int before = vf_context_threads(ctx);
    for (int s = 0; s < (SANITIZED || options->op != VF_SCAN_SUM ? 2 : 3); s++) {
        const int64_t n = some[s];
        void *x = elements(options, n), *first = NULL;
        uint8_t *head = random_heads(options, n, 0.0002);
        vf_scan *plan = make_scan(options, n);
        for (int t = 0; t < 3; t++)
            for (int o = 0; o < (t == 0 ? 3 : 1); o++) {
                need(vf_context_set_threads(ctx, threads[t]));
                void *y = scan_at(plan, n, x, head, offsets[o]);
                if (first && memcmp(y, first, (size_t)n * result_bytes(options)) != 0)
                    fail_msg("%s, %lld elements: other bits with %d threads, offsets %d", name_of(options),
                             (long long)n, threads[t], o);
                if (first)
                    free(y);
                else
                    first = y;
            }
        vf_scan_destroy(plan);
        FREE_ALL(first, head, x);
    }
    need(vf_context_set_threads(ctx, before));
}

static void test_same_bits(void **state)
{
    (void)state;
    for_all(same_bits_case);
}

/* One plan, many times, without waiting: a scan must not see remains of the previous one. */
static void test_again_and_again(void **state)
{
    (void)state;
    enum { TIMES = 40 };
    const int64_t n = 200001;
    const char *variant;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++) {
        const vf_scan_options options = {.type = VF_I32, .variant = variant};
        vf_scan *plan = make_scan(&options, n);
        int32_t *x = random_elements(VF_I32, n);
        placed px = place(VF_I32, n, 0, x), py[TIMES];
        for (int t = 0; t < TIMES; t++)
            py[t] = place(VF_I32, n - 1000 * t, t, NULL);
        for (int t = 0; t < TIMES; t++)
            need(vf_scan_execute(plan, queue, py[t].n, px.data, NULL, py[t].data));
        for (int t = 0; t < TIMES; t++) {
            const int64_t here = py[t].n;
            void *y = take_back(&py[t]);
            assert_scan(&options, here, x, NULL, y);
            free(y);
        }
        vf_array_free(&px.all);
        free(x);
        vf_scan_destroy(plan);
    }
}

/* More elements than a 31-bit index allows: ones. On a GPU in place. On the CPU the results of most pieces overwrite
 * each other, but those of the last two include the sums of all. One thread has the same indices as several, which
 * would spin for each other on a busy machine. */
static void test_large(void **state)
{
    (void)state;
    const char *variant;
    const int32_t one = 1;
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    if (!has_memory(bytes_of_large(VF_I32), "a scan of more than 2^31 elements"))
        return;
    const int before = vf_context_threads(ctx);
    need(vf_context_set_threads(ctx, 1));
    uint32_t *piece = allocate_host(PIECE * sizeof *piece);
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++) {
        if (strcmp(variant, "ref") == 0)
            continue;
        const vf_scan_options options = {.type = VF_I32, .variant = variant};
        large x = make_large(VF_I32, &one, &one), y = gpu ? x : make_large(VF_I32, &one, &one);
        vf_scan *plan = make_scan(&options, large_count);
        need(vf_scan_execute(plan, queue, large_count, x.data, NULL, y.data));
        for (int64_t p = 0; p < PIECES; p++) {
            if (!is_apart(p))
                continue;
            copy_piece(&y, p, piece, true);
            for (int64_t i = 0; i < count_of(p); i++)
                if (piece[i] != (uint32_t)(p * PIECE + i + 1))
                    fail_msg("%s: y[%lld] is %u", variant, (long long)(p * PIECE + i), piece[i]);
        }
        vf_scan_destroy(plan);
        if (!gpu)
            free_large(&y);
        free_large(&x);
    }
    need(vf_context_set_threads(ctx, before));
    free(piece);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sizes), cmocka_unit_test(test_same_bits),
            cmocka_unit_test(test_again_and_again), cmocka_unit_test(test_large))
