/* Scans of libcore, on the CPU or a GPU: NaN, infinity, zeros, exact and wide sums, and what is refused. */
#include "refusal_fixture.h"
#include "scan_cases.h"

/* NaN stays until the segment ends, and infinities until they meet. */
static void special_case(const vf_scan_options *options)
{
    static const int64_t some[] = {1, 40, 5000, 70001};
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const int64_t offsets[3] = {1, 0, 0};
    if (!is_real(options))
        return;
    for (int s = 0; s < 4; s++)
        for (int v = 0; v < 4; v++) {
            const int64_t n = some[s];
            void *x = elements(options, n);
            uint8_t *head = random_heads(options, n, 0.0005);
            for (int p = 0; p < (v == 3 ? 2 : 1); p++) { /* both infinities: NaN from the second one on */
                const int64_t i = (int64_t)(uniform() * (double)n);
                const double value = values[v < 3 ? v : 1 + p];
                if (options->type == VF_F32)
                    ((float *)x)[i] = (float)value;
                else
                    ((double *)x)[i] = value;
            }
            vf_scan *plan = make_scan(options, n);
            void *y = scan_at(plan, n, x, head, offsets);
            const size_t size = vf_dtype_bytes(options->type);
            unsigned char *want = defined(options, n, x, head, false);
            for (int64_t i = 0; i < n; i++) {
                const double a = number(options->type, y, i), b = number(options->type, want, i);
                const bool as_much = isnan(a) ? isnan(b) : isinf(a) ? a == b : isfinite(b);
                if (!as_much)
                    fail_msg("%s, %lld elements: y[%lld] is %g instead of %g", name_of(options), (long long)n,
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
        const vf_scan_options options = {.type = VF_F32, .exclusive = v % 2 != 0, .variant = variant};
        vf_scan *plan = make_scan(&options, n);
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

/* Sums that no longer fit in 32 bits are right in 64, also across tiles. */
static void test_wide_sums(void **state)
{
    (void)state;
    const int64_t n = 300007;
    const char *variant;
    int32_t *x = allocate_host((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = i < n / 4 ? INT32_MIN : INT32_MAX;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++) {
        vf_scan *plan = make_scan(&(vf_scan_options){.type = VF_I32, .variant = variant, .wide = true}, n);
        int64_t *y = scan_at(plan, n, x, NULL, (const int64_t[3]){1, 0, 0}), sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += x[i];
            assert_int_equal(y[i], sum);
        }
        free(y);
        vf_scan_destroy(plan);
    }
    free(x);
}

/* Of zeros, the first one counts, with its sign; of NaN, the first one. */
static void test_zeros_of_extremes(void **state)
{
    (void)state;
    enum { N = 9001 };
    const char *variant;
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = uniform() < 0.5 ? 0.0F : -0.0F;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++)
        for (int o = VF_SCAN_MIN; o <= VF_SCAN_MAX; o++) {
            const vf_scan_options options = {.type = VF_F32, .variant = variant, .op = (vf_scan_operator)o};
            vf_scan *plan = make_scan(&options, N);
            float *y = scan_at(plan, N, x, NULL, (const int64_t[3]){0, 0, 0});
            for (int i = 0; i < N; i++)
                assert_memory_equal(&y[i], &x[0], sizeof *y);
            free(y);
            vf_scan_destroy(plan);
        }
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
    const vf_scan_options odd[] = {{.type = VF_F32, .op = VF_SCAN_AND},
                                   {.type = VF_F64, .op = VF_SCAN_OR},
                                   {.type = VF_U8, .op = VF_SCAN_MAX},
                                   {.type = VF_C64, .op = VF_SCAN_PRODUCT},
                                   {.type = VF_I64, .wide = true},
                                   {.type = VF_U8, .wide = true},
                                   {.type = VF_I32, .op = VF_SCAN_MIN, .wide = true}};
    for (size_t o = 0; o < sizeof odd / sizeof *odd; o++)
        assert_refused(ctx, vf_scan_create(device, &odd[o], 4, &plan), "a scan", odd[o].wide ? "wide" : "not defined");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_F32, .op = (vf_scan_operator)6}, 4, &plan),
                   "a scan", "invalid operator 6");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_I32, .wide = true}, INT64_MAX / 8, &plan),
                   "the plan of a scan", "memory"); /* of y */
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = (vf_dtype)99}, 4, &plan),
                   "the plan of a scan", "invalid element type 99");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_F32}, -5, &plan), "the plan of a scan",
                   "-5 elements");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_F32}, INT64_MAX, &plan),
                   "the plan of a scan", "memory");
    assert_refused(ctx, vf_scan_create(device, &(vf_scan_options){.type = VF_U8}, INT64_MAX / 8, &plan),
                   "the plan of a scan", "memory"); /* of y */
    assert_null(plan);
    plan = make_scan(&(vf_scan_options){.type = VF_F32}, 3);
    assert_int_equal(vf_scan_execute(plan, queue, 4, x.data, NULL, x.data), VF_ERR_ARGUMENT);
    assert_int_equal(vf_scan_execute(plan, queue, -1, x.data, NULL, x.data), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, h.data, x.data), "a scan", "needs head");
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, NULL, NULL, x.data), "a scan", "x is NULL");
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, NULL, NULL), "a scan", "y is NULL");
    need(vf_scan_execute(plan, queue, 0, NULL, NULL, NULL));
    vf_scan_destroy(plan);
    plan = make_scan(&(vf_scan_options){.type = VF_F32, .segmented = true}, 3);
    assert_refused(ctx, vf_scan_execute(plan, queue, 3, x.data, NULL, x.data), "a scan", "needs head");
    vf_scan_destroy(plan);
    vf_scan_destroy(NULL);
    plan = make_scan(&(vf_scan_options){.type = VF_F32}, 0);
    vf_scan_destroy(plan);
    vf_array_free(&x.all);
    vf_array_free(&h.all);
    vf_context_clear_error(ctx);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_nan_and_infinity), cmocka_unit_test(test_exact_sums),
            cmocka_unit_test(test_wide_sums), cmocka_unit_test(test_zeros_of_extremes), cmocka_unit_test(test_refusals))
