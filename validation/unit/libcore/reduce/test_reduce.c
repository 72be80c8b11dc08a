/* Reductions of libcore, on the CPU or a GPU, against their definition. */
#include "reduction_fixture.h"

/* Near warps, vectors, data blocks of all shapes that a table may have, chunks of the CPU, and several runs. */
static const int64_t sizes[] = {0,    1,    2,    15,    16,    17,    31,    32,    33,     63,     127,     129,
                                255,  256,  257,  511,   513,   1001,  1023,  1025,  2047,   2049,   4095,    4096,
                                4097, 8191, 8193, 16383, 16384, 16385, 32769, 65537, 100003, 262145, 1048579, 6000011};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 6000011, MANY = 1 << 20 };

typedef struct input {
    void *x, *y;
    placed on_device[2];
} input;

static input make_input(vf_reduction reduction, vf_dtype type, int64_t n, int64_t offset, int64_t offset_y)
{
    input in = {.x = elements_for(reduction, type, n)};
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

/* The largest size: sums of each type, and each reduction of f32; a CPU that plays an OpenCL device has none of a million. */
static void sizes_case(vf_reduction reduction, vf_dtype type)
{
    /* Offsets of x and y: aligned; the same; different ones. */
    static const int64_t offsets[][2] = {{0, 0}, {1, 1}, {3, 0}, {0, 5}, {31, 17}};
    vf_reduce *plan = make_plan(reduction, type, MOST);
    const bool largest = reduction == VF_REDUCE_SUM || type == VF_F32;
    const bool played = vf_device_get_kind(device) == VF_DEVICE_OPENCL;
    for (int s = SIZES - (SANITIZED || played ? 3
                          : largest           ? 1
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
            if (can_reduce((vf_reduction)r, (vf_dtype)t))
                sizes_case((vf_reduction)r, (vf_dtype)t);
}

/* The same bits for any number of threads, all instruction sets, and any start of the array. */
static void same_bits_case(vf_reduction reduction, vf_dtype type, int64_t n)
{
    static const int threads[] = {1, 2, 7};
    static const int64_t offsets[] = {0, 1, 2, 7};
    const bool dot = reduction == VF_REDUCE_DOT;
    void *x = elements_for(reduction, type, n), *y = dot ? random_elements(type, n) : NULL;
    vf_reduced first = {0};
    const bool opencl = vf_device_get_kind(device) == VF_DEVICE_OPENCL; /* knows nothing of the host's threads */
    const int sets = opencl ? 1 : instruction_sets(), before = vf_context_threads(ctx);
    vf_reduce *plan = make_plan(reduction, type, n);
    for (int o = 0; o < 4; o++) {
        placed px = place(type, n, offsets[o], x), py = {0};
        if (dot)
            py = place(type, n, offsets[3 - o], y);
        for (int t = 0; t < (opencl ? 1 : 3); t++)
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
            for (int s = 0; s < (SANITIZED || vf_device_get_kind(device) == VF_DEVICE_OPENCL ? 3 : 4); s++)
                if (can_reduce((vf_reduction)r, (vf_dtype)t))
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
    } bad[] = {{VF_REDUCE_MIN, VF_C64, 1},    {VF_REDUCE_MAX, VF_C128, 1},
               {VF_REDUCE_DOT, VF_I32, 1},    {VF_REDUCE_SQUARES, VF_U8, 1},
               {VF_REDUCE_SUM, VF_F32, -1},   {VF_REDUCE_SUM, VF_U8, INT64_MAX - 1},
               {VF_REDUCE_AND, VF_F32, 1},    {VF_REDUCE_OR, VF_C64, 1},
               {VF_REDUCE_OR + 1, VF_F32, 1}, {-1, VF_F32, 1},
               {VF_REDUCE_SUM, 7, 1}};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        assert_int_equal(
            vf_reduce_create(device, (vf_reduction)bad[b].reduction, (vf_dtype)bad[b].type, bad[b].most, &plan),
            VF_ERR_ARGUMENT);
        assert_null(plan);
    }
    if (lacks_double(device, VF_F64))
        assert_int_equal(vf_reduce_create(device, VF_REDUCE_SUM, VF_F64, 3, &plan), VF_ERR_UNSUPPORTED);
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
            cmocka_unit_test(test_wide_accumulators), cmocka_unit_test(test_large),
            cmocka_unit_test(test_products_of_matrices), cmocka_unit_test(test_refusals))
