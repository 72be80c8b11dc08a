/* Reductions of libcore, on the CPU or a GPU: NaN, infinity, both zeros, ties, and empty arrays. */
#include "reduction_fixture.h"

/* Sets a number; in an array of complex elements the parts count. */
static void set_number(vf_dtype type, void *x, int64_t i, double value)
{
    if (type == VF_F32 || type == VF_C64)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

/* All reductions of floating-point numbers but products, with y = x, against the definition. */
static void special_case(vf_dtype type, int64_t n, const void *x, int64_t offset)
{
    placed px = place(type, n, offset, x), py = place(type, n, 0, x);
    for (int r = 0; r < VF_REDUCTION_COUNT; r++) {
        if (!can_reduce((vf_reduction)r, type) || r == VF_REDUCE_PRODUCT)
            continue;
        vf_reduce *plan = make_plan((vf_reduction)r, type, n);
        const vf_reduced want = vf_reduce_ref((vf_reduction)r, type, n, x, x);
        const vf_reduced got = run(plan, n, px.data, r == VF_REDUCE_DOT ? py.data : NULL);
        /* One part may be finite where the other is not. */
        const double any = bound_of((vf_reduction)r, type, n, x, x), bound = isfinite(any) ? any : 1e-9;
        assert_result(&got, &want, bound, (vf_reduction)r, type, n);
        vf_reduce_destroy(plan);
    }
    vf_array_free(&px.all);
    vf_array_free(&py.all);
}

/* Each kind with each place; in the largest size, each kind and each place once or twice. */
static void test_nan_and_infinity(void **state)
{
    (void)state;
    static const int64_t some[] = {1, 2, 33, 1001, 4097, 70001};
    for (int t = VF_F32; t <= VF_C128; t++)
        for (int s = 0; s < 6; s++) {
            const vf_dtype type = (vf_dtype)t;
            const int64_t n = some[s], places[] = {0, n - 1, n / 2, n / 3, 31 % n, 4096 % n, (int64_t)(uniform() * n)};
            for (int p = 0; p < 7; p++)
                for (int kind = 0; kind < 5; kind++) {
                    if (s == 5 && kind != (p + t) % 5)
                        continue;
                    void *x = random_elements(type, n);
                    if (kind == 1) /* another after it */
                        set_number(type, x, n - 1, NAN);
                    if (kind == 3)
                        set_number(type, x, n - 1, INFINITY);
                    if (kind == 4) /* infinity is more than any number, -infinity less */
                        set_number(type, x, places[p] / 2, -INFINITY);
                    set_number(type, x, places[p], kind < 2 ? NAN : kind == 2 ? -INFINITY : INFINITY);
                    special_case(type, n, x, p % 3);
                    free(x);
                }
        }
}

/* One or two of NaN, 0 and infinity among factors near 1: real products are as defined, whatever the grouping. Of complex
 * ones only what the header says: NaN makes both parts NaN, infinity makes the product not finite, and 0 makes it 0. */
static void product_case(vf_dtype type, int64_t n, int kind)
{
    static const double values[][2] = {
        {NAN, 1}, {1, NAN}, {0, 1},        {-0.0, 0},       {INFINITY, 1},        {-INFINITY, 1},
        {1, 0},   {NAN, 0}, {INFINITY, 0}, {NAN, INFINITY}, {INFINITY, -INFINITY}};
    const bool is_complex = type == VF_C64 || type == VF_C128;
    const int64_t at[2] = {integer_between(0, n - 1), integer_between(0, n - 1)};
    void *x = elements_for(VF_REDUCE_PRODUCT, type, n);
    double a = 1, b = 1;
    for (int v = 0; v < 2; v++) {
        if (values[kind][v] == 1 || (v == 1 && at[1] == at[0] && values[kind][0] != 1))
            continue;
        *(v == 0 ? &a : &b) = values[kind][v];
        set_number(type, x, is_complex ? 2 * at[v] + integer_between(0, 1) : at[v], values[kind][v]);
        for (int part = 0; is_complex && values[kind][v] == 0 && part < 2; part++)
            set_number(type, x, 2 * at[v] + part, 0);
    }
    placed px = place(type, n, kind % 3, x);
    vf_reduce *plan = make_plan(VF_REDUCE_PRODUCT, type, n);
    const vf_reduced want = vf_reduce_ref(VF_REDUCE_PRODUCT, type, n, x, NULL);
    const vf_reduced got = run(plan, n, px.data, NULL);
    const bool is_nan = isnan(a) || isnan(b), infinite = isinf(a) || isinf(b);
    if (!is_complex)
        assert_result(&got, &want, 0, VF_REDUCE_PRODUCT, type, n);
    else if (is_nan)
        assert_true(isnan(got.re) && isnan(got.im));
    else if (infinite)
        assert_false(isfinite(got.re) && isfinite(got.im));
    else
        assert_true(got.re == 0 && got.im == 0);
    vf_reduce_destroy(plan);
    vf_array_free(&px.all);
    free(x);
}

static void test_special_products(void **state)
{
    (void)state;
    static const int64_t some[] = {1, 2, 33, 1001, 4097, 70001};
    for (int t = VF_F32; t <= VF_C128; t++)
        for (int s = 0; s < 6; s++)
            for (int kind = 0; kind < 11 && !lacks_double(device, (vf_dtype)t); kind++)
                product_case((vf_dtype)t, some[s], kind);
}

/* What the header says of empty arrays. */
static void test_identities(void **state)
{
    (void)state;
    static const struct {
        vf_reduction reduction;
        vf_dtype type;
        vf_reduced result;
    } cases[] = {{VF_REDUCE_SUM, VF_F64, {.re = 0}},         {VF_REDUCE_SUM, VF_I32, {.re = 0}},
                 {VF_REDUCE_MIN, VF_F32, {.index = -1}},     {VF_REDUCE_MAX, VF_I64, {.index = -1}},
                 {VF_REDUCE_PRODUCT, VF_F32, {.re = 1}},     {VF_REDUCE_PRODUCT, VF_C128, {.re = 1}},
                 {VF_REDUCE_PRODUCT, VF_U8, {.integer = 1}}, {VF_REDUCE_AND, VF_I32, {.integer = -1}},
                 {VF_REDUCE_AND, VF_I64, {.integer = -1}},   {VF_REDUCE_AND, VF_U8, {.integer = 255}},
                 {VF_REDUCE_OR, VF_I64, {.re = 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (lacks_double(device, cases[c].type))
            continue;
        vf_reduce *plan = make_plan(cases[c].reduction, cases[c].type, 10);
        const vf_reduced got = run(plan, 0, NULL, NULL);
        assert_result(&got, &cases[c].result, 0, cases[c].reduction, cases[c].type, 0);
        vf_reduce_destroy(plan);
    }
}

/* All elements equal: the first counts, for any value. */
static void test_all_the_same(void **state)
{
    (void)state;
    static const double values[] = {INFINITY, -INFINITY, NAN, 0, -0.0, 1};
    static const int64_t some[] = {1, 31, 4097, 20001};
    for (int t = 0; t < 2; t++)
        for (int s = 0; s < 4; s++)
            for (int v = 0; v < 6; v++) {
                const vf_dtype type = t ? VF_F64 : VF_F32;
                void *x = allocate_host((size_t)some[s] * 8);
                for (int64_t i = 0; i < some[s]; i++)
                    set_number(type, x, i, values[v]);
                special_case(type, some[s], x, v % 2);
                free(x);
            }
}

/* -0 equals 0, so the first of them is both the least and the greatest. */
static void test_zeros(void **state)
{
    (void)state;
    enum { N = 5000 };
    for (int t = 0; t < 2; t++)
        for (int first = 0; first < 2; first++) {
            const vf_dtype type = t ? VF_F64 : VF_F32;
            double x[N];
            for (int64_t i = 0; i < N; i++)
                set_number(type, x, i, i % 2 == first ? 0.0 : -0.0);
            special_case(type, N, x, first);
        }
}

static void extreme_case(vf_dtype type, int64_t n, const void *x, int64_t offset)
{
    placed px = place(type, n, offset, x);
    for (int r = VF_REDUCE_MIN; r <= VF_REDUCE_MAX && !lacks_double(device, type); r++) {
        vf_reduce *plan = make_plan((vf_reduction)r, type, n);
        const vf_reduced want = vf_reduce_ref((vf_reduction)r, type, n, x, NULL);
        const vf_reduced got = run(plan, n, px.data, NULL);
        assert_result(&got, &want, 0, (vf_reduction)r, type, n);
        vf_reduce_destroy(plan);
    }
    vf_array_free(&px.all);
}

/* Many equal extremes; ascending and descending; one extreme anywhere; the limits of a type. */
static void test_ties_and_places(void **state)
{
    (void)state;
    static const vf_dtype types[] = {VF_F32, VF_F64, VF_I32, VF_I64, VF_U8};
    const int64_t n = 70001;
    for (int t = 0; t < 5; t++)
        for (int kind = 0; kind < 16; kind++) {
            void *x = allocate_host((size_t)n * 8);
            const int64_t places[] = {0, 1, 31, 32, 1023, 1024, 4095, 4096, 16384, 65535, n - 1};
            for (int64_t i = 0; i < n; i++) {
                const int64_t value = kind == 0               ? (int64_t)(uniform() * 3)
                                      : kind == 1             ? i / 300
                                      : kind == 2             ? (n - i) / 300
                                      : kind == 3             ? (i % 2 ? 255 : 0)
                                      : kind == 4             ? 100 + (int64_t)(uniform() * 50)
                                      : i == places[kind - 5] ? (kind % 2 ? 1 : 9)
                                                              : 5;
                switch (types[t]) {
                case VF_F32:
                    ((float *)x)[i] = (float)value;
                    break;
                case VF_F64:
                    ((double *)x)[i] = (double)value;
                    break;
                case VF_I32:
                    ((int32_t *)x)[i] = kind == 3 ? (i % 2 ? INT32_MAX : INT32_MIN) : (int32_t)value - 5;
                    break;
                case VF_I64:
                    ((int64_t *)x)[i] = kind == 3 ? (i % 2 ? INT64_MAX : INT64_MIN) : value - 5;
                    break;
                default:
                    ((uint8_t *)x)[i] = (uint8_t)value;
                    break;
                }
            }
            extreme_case(types[t], n, x, kind % 5);
            free(x);
        }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_nan_and_infinity), cmocka_unit_test(test_all_the_same),
            cmocka_unit_test(test_zeros), cmocka_unit_test(test_ties_and_places),
            cmocka_unit_test(test_special_products), cmocka_unit_test(test_identities))
