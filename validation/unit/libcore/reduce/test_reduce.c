/* Reductions of libcore, on the CPU or a GPU, against their definition. */
#include "free_all.h"
#include "reduce_fixture.h"

#include "reduce/reduce_internal.h"

/* Near warps, vectors, data blocks of all shapes that a table may have, chunks of the CPU, and several runs. */
static const int64_t sizes[] = {0,    1,    2,    15,    16,    17,    31,    32,    33,     63,     127,     129,
                                255,  256,  257,  511,   513,   1001,  1023,  1025,  2047,   2049,   4095,    4096,
                                4097, 8191, 8193, 16383, 16384, 16385, 32769, 65537, 100003, 262145, 1048579, 6000011};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 6000011, MANY = 1 << 20 };

static const char *const reduction_names[] = {"sum", "dot", "squares", "min", "max"};

static vf_reduce *make_plan(vf_reduction reduction, vf_dtype type, int64_t most)
{
    vf_reduce *plan = NULL;
    need(vf_reduce_create(device, reduction, type, most, &plan));
    assert_non_null(plan);
    return plan;
}

/* Runs a plan and returns the result. vf_reduce_now must give the same, and nothing may be written around it. */
static vf_reduced run(const vf_reduce *plan, int64_t n, const void *x, const void *y)
{
    vf_array results;
    vf_reduced host[3], poison[3], result, again;
    memset(poison, SENTINEL, sizeof poison);
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, sizeof host, &results));
    need(vf_queue_copy(queue, results.data, poison, sizeof poison));
    need(vf_reduce_execute(plan, queue, n, x, y, (vf_reduced *)results.data + 1));
    need(vf_queue_copy(queue, host, results.data, sizeof host));
    need(vf_queue_sync(queue));
    assert_memory_equal(&host[0], &poison[0], sizeof *host);
    assert_memory_equal(&host[2], &poison[2], sizeof *host);
    result = host[1];
    memset(&again, SENTINEL, sizeof again);
    need(vf_reduce_now(plan, queue, n, x, y, &again));
    assert_memory_equal(&result, &again, sizeof result);
    vf_array_free(&results);
    return result;
}

static void assert_result(const vf_reduced *got, const vf_reduced *want, double bound, vf_reduction reduction,
                          vf_dtype type, int64_t n)
{
    if ((same(got->re, want->re) || fabs(got->re - want->re) <= bound) &&
        (same(got->im, want->im) || fabs(got->im - want->im) <= bound) && got->integer == want->integer &&
        got->index == want->index)
        return;
    fail_msg("%s of %lld %s: (%.17g, %.17g), %lld at %lld instead of (%.17g, %.17g), %lld at %lld within %g",
             reduction_names[reduction], (long long)n, type_name(type), got->re, got->im, (long long)got->integer,
             (long long)got->index, want->re, want->im, (long long)want->integer, (long long)want->index, bound);
}

/* The error of a sum in double precision is at most k 2^-53 times the sum of the terms' magnitudes, if no term goes
 * through more than k roundings (Higham, Accuracy and Stability, 4.2). The CPU's longest path: 1/16 of a chunk,
 * which is 2^14 elements or 1/1024 of all, the 16 columns, the 1024 chunks. Complex elements have two numbers each,
 * and for the dot product both may be in one column. A GPU's path is shorter, because it has more threads. Three
 * more for the product and the reference's own rounding to double, twice for parts. */
static double bound_of(vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y)
{
    if (reduction >= VF_REDUCE_MIN || type >= VF_I32)
        return 0;
    const bool is_complex = type == VF_C64 || type == VF_C128;
    const bool is_double = type == VF_F64 || type == VF_C128;
    double size = 0;
    for (int64_t i = 0; i < (is_complex ? 2 * n : n); i++) {
        const double u = is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
        const int64_t other = is_complex ? i ^ 1 : i;
        const double v = reduction == VF_REDUCE_SUM       ? 1
                         : reduction == VF_REDUCE_SQUARES ? u
                         : is_double                      ? ((const double *)y)[i]
                                                          : (double)((const float *)y)[i];
        const double w = reduction != VF_REDUCE_DOT ? 0
                         : is_double                ? ((const double *)y)[other]
                                                    : (double)((const float *)y)[other];
        size += fabs(u) * fmax(fabs(v), fabs(w));
    }
    const double longest = 2 * fmax(1024, (double)n / 16384 + 4) + 16 + 1024 + 6;
    return fmin(longest, 2 * (double)n + 6) * 0x1p-53 * size;
}

typedef struct input {
    void *x, *y;
    placed on_device[2];
} input;

static input make_input(vf_reduction reduction, vf_dtype type, int64_t n, int64_t offset, int64_t offset_y)
{
    input in = {.x = random_elements(type, n)};
    in.on_device[0] = place(type, n, offset, in.x);
    if (reduction == VF_REDUCE_DOT) {
        in.y = random_elements(type, n);
        in.on_device[1] = place(type, n, offset_y, in.y);
    }
    return in;
}

static void free_input(input *in)
{
    free(in->x);
    free(in->y);
    vf_array_free(&in->on_device[0].all);
    vf_array_free(&in->on_device[1].all);
}

/* The largest size: sums of each type, and each reduction of f32. */
static void sizes_case(vf_reduction reduction, vf_dtype type)
{
    /* Offsets of x and y: aligned; the same; different ones. */
    static const int64_t offsets[][2] = {{0, 0}, {1, 1}, {3, 0}, {0, 5}, {31, 17}};
    vf_reduce *plan = make_plan(reduction, type, MOST);
    const bool largest = reduction == VF_REDUCE_SUM || type == VF_F32;
    for (int s = SIZES - (SANITIZED ? 3
                          : largest ? 1
                                    : 2);
         s >= 0; s--) /* largest first: unclean scratch memory shows */
        for (size_t o = 0; o < (sizes[s] < 10000 ? 5 : sizes[s] < MANY ? 2 : 1); o++) {
            const size_t which = sizes[s] < MANY ? o : (size_t)s % 2;
            const int64_t n = sizes[s];
            input in = make_input(reduction, type, n, offsets[which][0], offsets[which][1]);
            const vf_reduced want = vf_reduce_ref(reduction, type, n, in.x, in.y);
            const vf_reduced got = run(plan, n, in.on_device[0].data, in.on_device[1].data);
            assert_result(&got, &want, bound_of(reduction, type, n, in.x, in.y), reduction, type, n);
            free_input(&in);
        }
    vf_reduce_destroy(plan);
}

static void test_sizes(void **state)
{
    (void)state;
    for (int r = 0; r < VF_REDUCTION_COUNT; r++)
        for (int t = 0; t < VF_DTYPE_COUNT; t++)
            if (vf_reduce_exists((vf_reduction)r, (vf_dtype)t))
                sizes_case((vf_reduction)r, (vf_dtype)t);
}

/* The same bits for any number of threads, all instruction sets, and any start of the array. */
static void same_bits_case(vf_reduction reduction, vf_dtype type, int64_t n)
{
    static const int threads[] = {1, 2, 7};
    static const int64_t offsets[] = {0, 1, 2, 7};
    const bool dot = reduction == VF_REDUCE_DOT;
    void *x = random_elements(type, n), *y = dot ? random_elements(type, n) : NULL;
    vf_reduced first = {0};
    const int sets = instruction_sets(), before = vf_context_threads(ctx);
    vf_reduce *plan = make_plan(reduction, type, n);
    for (int o = 0; o < 4; o++) {
        placed px = place(type, n, offsets[o], x), py = {0};
        if (dot)
            py = place(type, n, offsets[3 - o], y);
        for (int t = 0; t < 3; t++)
            for (int isa = 0; isa < (o == 0 ? sets : 1); isa++) {
                need(vf_context_set_threads(ctx, threads[t]));
                setenv("VOXFIELD_ISA", vf_isa_name((vf_isa)isa), 1);
                const vf_reduced got = run(plan, n, px.data, py.data);
                if (o == 0 && t == 0 && isa == 0)
                    first = got;
                if (memcmp(&got, &first, sizeof got) != 0)
                    fail_msg("%s of %lld %s: other bits with offset %lld, %d threads, %s", reduction_names[reduction],
                             (long long)n, type_name(type), (long long)offsets[o], threads[t],
                             vf_isa_name((vf_isa)isa));
            }
        vf_array_free(&px.all);
        vf_array_free(&py.all);
    }
    need(vf_context_set_threads(ctx, before));
    unsetenv("VOXFIELD_ISA");
    vf_reduce_destroy(plan);
    free(x);
    free(y);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const int64_t some[] = {33, 4097, 100003, 1048579};
    for (int r = 0; r < VF_REDUCTION_COUNT; r++)
        for (int t = 0; t < VF_DTYPE_COUNT; t++)
            for (int s = 0; s < (SANITIZED ? 3 : 4); s++)
                if (vf_reduce_exists((vf_reduction)r, (vf_dtype)t))
                    same_bits_case((vf_reduction)r, (vf_dtype)t, some[s]);
}

/* Whole numbers add up exactly in double precision but not in single, and in 64 bits but not in 32. */
static void test_wide_accumulators(void **state)
{
    (void)state;
    const int64_t n = MANY + 3;
    float *x = allocate_host((size_t)n * sizeof *x);
    int32_t *k = allocate_host((size_t)n * sizeof *k);
    int64_t *l = allocate_host((size_t)n * sizeof *l);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(1 + (i * 7919) % 65521);
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        k[i] = INT32_MAX - (int32_t)(i % 2);
        l[i] = INT64_MAX;
    }
    placed px = place(VF_F32, n, 1, x), pk = place(VF_I32, n, 0, k), pl = place(VF_I64, n, 1, l);
    vf_reduce *plan = make_plan(VF_REDUCE_SUM, VF_F32, n);
    assert_true(run(plan, n, px.data, NULL).re == sum);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_SQUARES, VF_F32, n);
    assert_true(run(plan, n, px.data, NULL).re == squares);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_DOT, VF_F32, n);
    assert_true(run(plan, n, px.data, px.data).re == squares);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_SUM, VF_I32, n);
    assert_int_equal(run(plan, n, pk.data, NULL).integer, n * INT32_MAX - n / 2);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_SUM, VF_I64, n);
    assert_int_equal(run(plan, n, pl.data, NULL).integer, (int64_t)((uint64_t)n * INT64_MAX)); /* wraps */
    vf_reduce_destroy(plan);
    FREE_ALL(take_back(&px), take_back(&pk), take_back(&pl), x, k, l);
}

/* Sets a number; in an array of complex elements the parts count. */
static void set_number(vf_dtype type, void *x, int64_t i, double value)
{
    if (type == VF_F32 || type == VF_C64)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

/* All reductions of floating-point numbers, with y = x, against the definition. */
static void special_case(vf_dtype type, int64_t n, const void *x, int64_t offset)
{
    placed px = place(type, n, offset, x), py = place(type, n, 0, x);
    for (int r = 0; r < VF_REDUCTION_COUNT; r++) {
        if (!vf_reduce_exists((vf_reduction)r, type))
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
    for (int r = VF_REDUCE_MIN; r <= VF_REDUCE_MAX; r++) {
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

/* More elements than a 31-bit index allows. */
static void large_case(vf_dtype type, const void *one, const void *two)
{
    const int64_t n = large_count;
    if (!has_memory(bytes_of_large(type), "a reduction of more than 2^31 elements"))
        return;
    large x = make_large(type, one, two);
    vf_reduce *plan = make_plan(VF_REDUCE_SUM, type, n);
    vf_reduced got = run(plan, n, x.data, NULL);
    assert_true(got.re + (double)got.integer == (double)n + 1);
    vf_reduce_destroy(plan);
    for (int least = 0; least < 2; least++) {
        plan = make_plan(least ? VF_REDUCE_MIN : VF_REDUCE_MAX, type, n);
        got = run(plan, n, x.data, NULL);
        assert_true(got.re + (double)got.integer == (least ? 1 : 2));
        assert_int_equal(got.index, least ? 0 : n - 1);
        vf_reduce_destroy(plan);
    }
    free_large(&x);
}

static void test_large(void **state)
{
    (void)state;
    const uint8_t bytes[2] = {1, 2};
    const float numbers[2] = {1, 2};
    large_case(VF_U8, &bytes[0], &bytes[1]);
    large_case(VF_F32, &numbers[0], &numbers[1]);
}

/* ---- an operator that does not commute, in the CPU's chunks ---- */

typedef struct matrix {
    uint32_t of[4];
} matrix;

static void append(void *state, const void *next)
{
    const matrix a = *(matrix *)state, *b = next;
    for (int i = 0; i < 4; i++)
        ((matrix *)state)->of[i] = a.of[i & 2] * b->of[i & 1] + a.of[(i & 2) + 1] * b->of[(i & 1) + 2];
}

static void multiply(const void *user, int64_t at, int64_t count, void *state)
{
    const matrix *x = user;
    matrix product = x[at];
    for (int64_t i = at + 1; i < at + count; i++)
        append(&product, &x[i]);
    memcpy(state, &product, sizeof product);
}

static void test_products_of_matrices(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES - 1; s++) {
        const int64_t n = sizes[s];
        matrix *x = random_elements(VF_I32, 4 * n), want = {{1, 0, 0, 1}}, got = want;
        for (int64_t i = 0; i < n; i++) {
            for (int e = 0; e < 4; e++)
                x[i].of[e] |= e % 3 == 0; /* odd on the diagonal: products do not vanish */
            append(&want, &x[i]);
        }
        const vf_chunked what = {x, multiply, append};
        vf_reduce_in_chunks(queue, n, &what, &got);
        assert_memory_equal(&got, &want, sizeof got);
        free(x);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    vf_reduce *plan = NULL;
    vf_reduced result;
    float x[4] = {1, 2, 3, 4};
    placed px = place(VF_F32, 4, 0, x);
    static const struct {
        int reduction, type;
        int64_t most;
    } bad[] = {{VF_REDUCE_MIN, VF_C64, 1},
               {VF_REDUCE_MAX, VF_C128, 1},
               {VF_REDUCE_DOT, VF_I32, 1},
               {VF_REDUCE_SQUARES, VF_U8, 1},
               {VF_REDUCE_SUM, VF_F32, -1},
               {VF_REDUCE_SUM, VF_U8, INT64_MAX - 1},
               {5, VF_F32, 1},
               {-1, VF_F32, 1},
               {VF_REDUCE_SUM, 7, 1}};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        assert_int_equal(
            vf_reduce_create(device, (vf_reduction)bad[b].reduction, (vf_dtype)bad[b].type, bad[b].most, &plan),
            VF_ERR_ARGUMENT);
        assert_null(plan);
    }
    plan = make_plan(VF_REDUCE_SUM, VF_F32, 3);
    assert_int_equal(vf_reduce_now(plan, queue, 4, px.data, NULL, &result), VF_ERR_ARGUMENT);
    assert_int_equal(vf_reduce_now(plan, queue, -1, px.data, NULL, &result), VF_ERR_ARGUMENT);
    assert_int_equal(vf_reduce_now(plan, queue, 3, NULL, NULL, &result), VF_ERR_ARGUMENT);
    assert_int_equal(vf_reduce_now(plan, queue, 3, px.data, px.data, &result), VF_ERR_ARGUMENT);
    need(vf_reduce_now(plan, queue, 3, px.data, NULL, &result));
    assert_true(result.re == 6);
    need(vf_reduce_now(plan, queue, 0, NULL, NULL, &result));
    assert_true(result.re == 0 && result.index == 0);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_DOT, VF_F32, 3);
    assert_int_equal(vf_reduce_now(plan, queue, 3, px.data, NULL, &result), VF_ERR_ARGUMENT);
    vf_reduce_destroy(plan);
    plan = make_plan(VF_REDUCE_MIN, VF_F32, 0);
    need(vf_reduce_now(plan, queue, 0, NULL, NULL, &result));
    assert_int_equal(result.index, -1);
    vf_reduce_destroy(plan);
    vf_reduce_destroy(NULL);
    vf_array_free(&px.all);
    vf_context_clear_error(ctx);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sizes), cmocka_unit_test(test_same_bits),
            cmocka_unit_test(test_wide_accumulators), cmocka_unit_test(test_nan_and_infinity),
            cmocka_unit_test(test_all_the_same), cmocka_unit_test(test_zeros), cmocka_unit_test(test_ties_and_places),
            cmocka_unit_test(test_large), cmocka_unit_test(test_products_of_matrices), cmocka_unit_test(test_refusals))
