/* Scans of libcore, on the CPU or a GPU, all variants, against their definition. */
#include "free_all.h"
#include "libcore/reduce/reduce_fixture.h"
#include "refusal_fixture.h"

#include "scan/scan_plan.h"

/* Near warps, vectors, data blocks of all shapes that a table may have, the CPU's runs and chunks, 32 data blocks,
 * and more than 256 of them, which exceed a group of the look-back. */
static const int64_t sizes[] = {0,    1,     2,     15,    16,     17,     31,     32,     33,      127,    129,
                                257,  1001,  1023,  1024,  1025,   2047,   2049,   4095,   4096,    4097,   8191,
                                8193, 16385, 65537, 65536, 131071, 131073, 100003, 262145, 1048579, 6000011};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 6000011, MEDIUM = 10000, LARGE = 1 << 20 };

static const vf_dtype types[] = {VF_F32, VF_F64, VF_I32, VF_I64, VF_U8};
enum { TYPES = sizeof types / sizeof *types };

static vf_dtype result_type(vf_dtype type)
{
    return type == VF_U8 ? VF_I64 : type;
}

static vf_scan *make_plan(const vf_scan_options *options, int64_t most)
{
    vf_scan *plan = NULL;
    need(vf_scan_create(device, options, most, &plan));
    assert_non_null(plan);
    return plan;
}

/* The scan of x in new host memory, by the definition. `magnitudes`: of |x|. */
static void *defined(const vf_scan_options *options, int64_t n, const void *x, const uint8_t *head, bool magnitudes)
{
    const vf_scan plan = {.options = *options};
    const size_t size = vf_dtype_bytes(options->type);
    void *y = allocate_host((size_t)n * 8), *of = (void *)(uintptr_t)x;
    if (magnitudes) {
        of = allocate_host((size_t)n * size);
        for (int64_t i = 0; i < n; i++)
            if (options->type == VF_F32)
                ((float *)of)[i] = fabsf(((const float *)x)[i]);
            else
                ((double *)of)[i] = fabs(((const double *)x)[i]);
    }
    need(vf_scan_ops_ref.execute(&plan, queue, n, of, head, y));
    if (magnitudes)
        free(of);
    return y;
}

static double number(vf_dtype type, const void *x, int64_t i)
{
    return type == VF_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Sums of integers are exact. The error of a floating-point sum is at most k u times the sum of the terms'
 * magnitudes, where k is the most roundings of a term (Higham, Accuracy and Stability, 4.2). The CPU adds in double
 * precision, and rounds to the type last: a run of 1,024, then all runs one after the other. A GPU adds in the type:
 * at most nWork = 32 numbers serially (twice: for the block's sum and the results), lanes, warps and three levels of
 * look-back with 5 each, and one supergroup after the other; or, with three kernels, data blocks and runs. In all,
 * fewer than n / 1024 + 64. */
static double bound_of(vf_dtype type, int64_t n, double magnitude)
{
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    const double runs = (double)n / 1024 + (gpu ? 160 : 1040);
    const double inner = (gpu && type == VF_F32 ? 0x1p-24 : 0x1p-53) * fmin(runs, 2 * (double)n + 2);
    return (inner + (type == VF_F32 ? 0x1p-24 : 0x1p-53)) * 1.01 * magnitude;
}

static void assert_scan(const vf_scan_options *options, int64_t n, const void *x, const uint8_t *head, const void *got)
{
    const bool real = options->type == VF_F32 || options->type == VF_F64;
    const size_t size = vf_dtype_bytes(result_type(options->type));
    unsigned char *want = defined(options, n, x, head, false);
    void *magnitudes = real ? defined(options, n, x, head, true) : NULL;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *g = (const unsigned char *)got + (size_t)i * size, *w = want + (size_t)i * size;
        if (memcmp(g, w, size) == 0)
            continue;
        if (real) {
            const double a = number(options->type, got, i), b = number(options->type, want, i);
            const double m = number(options->type, magnitudes, i);
            if ((isnan(a) && isnan(b)) || a == b || fabs(a - b) <= bound_of(options->type, n, m))
                continue;
            fail_msg("%s %s%s%s scan of %lld: y[%lld] is %.17g instead of %.17g within %g",
                     options->variant ? options->variant : "default", type_name(options->type),
                     options->exclusive ? " exclusive" : "", options->segmented ? " segmented" : "", (long long)n,
                     (long long)i, a, b, bound_of(options->type, n, m));
        }
        fail_msg("%s %s%s%s scan of %lld: y[%lld] is wrong", options->variant ? options->variant : "default",
                 type_name(options->type), options->exclusive ? " exclusive" : "",
                 options->segmented ? " segmented" : "", (long long)n, (long long)i);
    }
    free(want);
    free(magnitudes);
}

/* Flags, a share `often` of them set, with any nonzero value; NULL without segments. */
static uint8_t *random_heads(const vf_scan_options *options, int64_t n, double often)
{
    if (!options->segmented)
        return NULL;
    uint8_t *head = allocate_host((size_t)n);
    for (int64_t i = 0; i < n; i++)
        head[i] = uniform() < often ? (uint8_t)(1 + uniform() * 255) : 0;
    return head;
}

/* The scan on the device, in new host memory; offsets of x, head and y. In place if y's is negative. */
static void *scan_at(const vf_scan *plan, int64_t n, const void *x, const uint8_t *head, const int64_t offsets[3])
{
    const vf_dtype type = plan->options.type;
    placed px = place(type, n, offsets[0], x), ph = {0}, py = {0};
    if (head)
        ph = place(VF_U8, n, offsets[1], head);
    if (offsets[2] >= 0)
        py = place(result_type(type), n, offsets[2], NULL);
    need(vf_scan_execute(plan, queue, n, px.data, ph.data, offsets[2] < 0 ? px.data : py.data));
    void *y = take_back(offsets[2] < 0 ? &px : &py);
    if (offsets[2] >= 0) { /* x is unchanged */
        void *still = take_back(&px);
        assert_memory_equal(still, x, (size_t)n * vf_dtype_bytes(type));
        free(still);
    }
    if (head)
        free(take_back(&ph));
    return y;
}

/* The largest sizes are tested for only one kind of each type, and only small ones for "ref", which is the definition. The
 * very largest is for a GPU's supergroups, and on a CPU for results of so many bytes that they bypass its caches. */
static bool is_too_long(const vf_scan_options *o, int64_t n)
{
    return (n >= LARGE && (o->exclusive || o->segmented != (o->type == VF_F32 || o->type == VF_U8))) ||
           (n == MOST && vf_device_is_host(device) && vf_dtype_bytes(result_type(o->type)) < 8) ||
           (n >= MEDIUM && strcmp(o->variant, "ref") == 0);
}

static void sizes_case(const vf_scan_options *options)
{
    static const int64_t offsets[][3] = {{0, 0, 0}, {1, 1, 1}, {3, 0, 2}, {0, 17, -1}, {31, 2, 5}};
    static const double often[] = {0.01, 0.3, 0, 1, 0.0001};
    const int first = 2 * options->exclusive + options->segmented; /* so each size meets several of them */
    vf_scan *plan = make_plan(options, MOST);
    for (int s = SIZES - 1; s >= 0; s--) /* the largest first: a plan that does not clean its scratch memory shows */
        for (int o = 0; o < (sizes[s] < MEDIUM ? 5 : 1); o++) {
            const int64_t n = sizes[s];
            if (is_too_long(options, n) || (SANITIZED && n >= LARGE))
                continue;
            int64_t at[3];
            memcpy(at, offsets[(o + s + first) % 5], sizeof at);
            if (options->type == VF_U8 && at[2] < 0)
                at[2] = 1;
            void *x = random_elements(options->type, n);
            uint8_t *head = random_heads(options, n, often[(s + 2 * o) % 5]);
            void *y = scan_at(plan, n, x, head, at);
            assert_scan(options, n, x, head, y);
            FREE_ALL(x, head, y);
        }
    vf_scan_destroy(plan);
}

/* Calls `test` for each variant, type and kind. */
static void for_all(void (*test)(const vf_scan_options *))
{
    const char *variant;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++)
        for (int t = 0; t < TYPES; t++)
            for (int kind = 0; kind < 4; kind++)
                test(&(vf_scan_options){types[t], kind % 2 != 0, kind / 2 != 0, variant});
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
    for (int s = 0; s < (SANITIZED ? 2 : 3); s++) {
        const int64_t n = some[s];
        void *x = random_elements(options->type, n), *first = NULL;
        uint8_t *head = random_heads(options, n, 0.0002);
        vf_scan *plan = make_plan(options, n);
        for (int t = 0; t < 3; t++)
            for (int o = 0; o < (t == 0 ? 3 : 1); o++) {
                need(vf_context_set_threads(ctx, threads[t]));
                void *y = scan_at(plan, n, x, head, offsets[o]);
                if (first && memcmp(y, first, (size_t)n * vf_dtype_bytes(result_type(options->type))) != 0)
                    fail_msg("%s scan of %lld %s: other bits with %d threads, offsets %d", options->variant,
                             (long long)n, type_name(options->type), threads[t], o);
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

/* NaN stays until the segment ends, and infinities until they meet. */
static void special_case(const vf_scan_options *options)
{
    static const int64_t some[] = {1, 40, 5000, 70001};
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const int64_t offsets[3] = {1, 0, 0};
    if (options->type != VF_F32 && options->type != VF_F64)
        return;
    for (int s = 0; s < 4; s++)
        for (int v = 0; v < 4; v++) {
            const int64_t n = some[s];
            void *x = random_elements(options->type, n);
            uint8_t *head = random_heads(options, n, 0.0005);
            for (int p = 0; p < (v == 3 ? 2 : 1); p++) { /* both infinities: NaN from the second one on */
                const int64_t i = (int64_t)(uniform() * (double)n);
                const double value = values[v < 3 ? v : 1 + p];
                if (options->type == VF_F32)
                    ((float *)x)[i] = (float)value;
                else
                    ((double *)x)[i] = value;
            }
            vf_scan *plan = make_plan(options, n);
            void *y = scan_at(plan, n, x, head, offsets);
            const size_t size = vf_dtype_bytes(options->type);
            unsigned char *want = defined(options, n, x, head, false);
            for (int64_t i = 0; i < n; i++) {
                const double a = number(options->type, y, i), b = number(options->type, want, i);
                const bool as_much = isnan(a) ? isnan(b) : isinf(a) ? a == b : isfinite(b);
                if (!as_much)
                    fail_msg("%s scan of %lld: y[%lld] is %g instead of %g", options->variant, (long long)n,
                             (long long)i, a, b);
            }
            assert_true(size > 0);
            vf_scan_destroy(plan);
            FREE_ALL(want, x, head, y);
        }
}

static void test_nan_and_infinity(void **state)
{
    (void)state;
    for_all(special_case);
}

/* Whole numbers add up exactly as long as the sums are below 2^24, so no grouping may change a bit. Results of more
 * than 32 MiB, for which the CPU bypasses its caches. */
static void test_exact_sums(void **state)
{
    (void)state;
    const int64_t n = 8400017;
    const char *variant;
    float *x = allocate_host((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i % 3);
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++) {
        const vf_scan_options options = {VF_F32, v % 2 != 0, false, variant};
        vf_scan *plan = make_plan(&options, n);
        float *y = scan_at(plan, n, x, NULL, (const int64_t[3]){0, 0, 0});
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const double before = sum;
            sum += (double)x[i];
            if ((double)y[i] != (options.exclusive ? before : sum))
                fail_msg("%s: y[%lld] is %g, not %g", variant, (long long)i, (double)y[i], sum);
        }
        free(y);
        vf_scan_destroy(plan);
    }
    free(x);
}

/* One plan, many times, without waiting: a scan must not see remains of the previous one. */
static void test_again_and_again(void **state)
{
    (void)state;
    enum { TIMES = 40 };
    const int64_t n = 200001;
    const char *variant;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++) {
        const vf_scan_options options = {VF_I32, false, false, variant};
        vf_scan *plan = make_plan(&options, n);
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
        const vf_scan_options options = {VF_I32, false, false, variant};
        large x = make_large(VF_I32, &one, &one), y = gpu ? x : make_large(VF_I32, &one, &one);
        vf_scan *plan = make_plan(&options, large_count);
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

static void test_refusals(void **state)
{
    (void)state;
    vf_scan *plan = NULL;
    const uint8_t heads[4] = {1};
    const float numbers[4] = {1, 2, 3, 4};
    placed x = place(VF_F32, 4, 0, numbers), h = place(VF_U8, 4, 0, heads);
    const vf_scan_options bad[] = {{.type = VF_C64}, {.type = VF_C128}, {.type = VF_F32, .variant = "none"}};
    for (int b = 0; b < 3; b++) {
        assert_int_equal(vf_scan_create(device, &bad[b], 4, &plan), VF_ERR_ARGUMENT);
        assert_null(plan);
        vf_context_clear_error(ctx);
    }
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_C64}, 4, &plan), "a scan", "VF_C64");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = (vf_dtype)99}, 4, &plan),
                   "the plan of a scan", "invalid element type 99");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_F32}, -5, &plan), "the plan of a scan",
                   "-5 elements");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_F32}, INT64_MAX, &plan),
                   "the plan of a scan", "memory");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_U8}, INT64_MAX / 8, &plan),
                   "the plan of a scan", "memory"); /* of y */
    assert_null(plan);
    plan = make_plan(&(vf_scan_options){.type = VF_F32}, 3);
    assert_int_equal(vf_scan_execute(plan, queue, 4, x.data, NULL, x.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_scan_execute(plan, queue, -1, x.data, NULL, x.data), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, h.data, x.data), "a scan", "needs head");
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, NULL, NULL, x.data), "a scan", "x is NULL");
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, NULL, NULL), "a scan", "y is NULL");
    need(vf_scan_execute(plan, queue, 0, NULL, NULL, NULL));
    vf_scan_destroy(plan);
    plan = make_plan(&(vf_scan_options){.type = VF_F32, .segmented = true}, 3);
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, NULL, x.data), "a scan", "needs head");
    vf_scan_destroy(plan);
    vf_scan_destroy(NULL);
    plan = make_plan(&(vf_scan_options){.type = VF_F32}, 0);
    vf_scan_destroy(plan);
    vf_array_free(&x.all);
    vf_array_free(&h.all);
    vf_context_clear_error(ctx);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sizes), cmocka_unit_test(test_same_bits),
            cmocka_unit_test(test_nan_and_infinity), cmocka_unit_test(test_exact_sums),
            cmocka_unit_test(test_again_and_again), cmocka_unit_test(test_large), cmocka_unit_test(test_refusals))
