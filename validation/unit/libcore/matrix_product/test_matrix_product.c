/* Matrix products: every variant of the device against sums in long double, and against each other bit for bit.
 *
 * The bound: n products and sums, u half an epsilon. A chain of n fused multiply-adds from 0, or of n products and n - 1
 * sums, has at most n roundings of each term: n u sum |a b|, and (n + 1) u sum |a b| with terms of second order. */
#include <math.h>

#include "queue_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/matrix_product.h"

/* Around the tiles of registers (6 and 12 rows, 4 to 32 columns), of GPUs (8, 16, 64, 128) and of a block. */
static const int64_t sizes[][3] = {
    {1, 1, 1},      {1, 1, 300},     {5, 7, 3},      {6, 8, 4},     {7, 33, 9},     {12, 16, 8},
    {13, 31, 17},   {16, 16, 16},    {17, 15, 31},   {64, 64, 64},  {65, 63, 66},   {1, 200, 40},
    {200, 1, 40},   {128, 128, 128}, {129, 132, 12}, {193, 7, 257}, {24, 257, 513}, {191, 256, 255},
    {260, 300, 20}, {3, 4, 0},       {0, 5, 4},      {5, 0, 4},
};
enum { SIZES = sizeof sizes / sizeof *sizes, GUARD = 40 };

typedef struct matrix {
    vf_dtype type;
    int64_t rows, columns;
    void *host;
    vf_array array;
} matrix;

static double get(const matrix *m, int64_t i, int64_t j)
{
    const int64_t at = i * m->columns + j;
    return m->type == VF_F32 ? (double)((const float *)m->host)[at] : ((const double *)m->host)[at];
}

static void put(matrix *m, int64_t i, int64_t j, double value)
{
    const int64_t at = i * m->columns + j;
    if (m->type == VF_F32)
        ((float *)m->host)[at] = (float)value;
    else
        ((double *)m->host)[at] = value;
}

static size_t bytes_of(const matrix *m)
{
    return (size_t)(m->rows * m->columns) * vf_dtype_bytes(m->type);
}

static void upload(matrix *m)
{
    assert_int_equal(vf_queue_copy(queue, m->array.data, m->host, bytes_of(m)), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
}

/* Random numbers in [-1, 1], or whole ones of magnitude up to `whole`. */
static matrix make_matrix(vf_dtype type, int64_t rows, int64_t columns, int whole)
{
    matrix m = {.type = type, .rows = rows, .columns = columns, .host = malloc((size_t)(rows * columns + 1) * 8)};
    assert_non_null(m.host);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            put(&m, i, j, whole ? (double)integer_between(-whole, whole) : uniform_between(-1, 1));
    assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, type, rows * columns, &m.array), VF_OK);
    upload(&m);
    return m;
}

static void free_matrix(matrix *m)
{
    free(m->host);
    vf_array_free(&m->array);
}

/* The product by a variant, at a place in memory that is or is not aligned to vectors. What is beside it must stay. */
static matrix product(const char *variant, const matrix *a, const matrix *b)
{
    const vf_dtype type = a->type;
    const size_t size = vf_dtype_bytes(type);
    const int64_t count = a->rows * b->columns, first = GUARD + (a->columns % 2);
    matrix c = make_matrix(type, a->rows, b->columns, 0), wide = make_matrix(type, 1, count + first + GUARD, 5);
    char *before = malloc(bytes_of(&wide));
    vf_matrix_product *plan;
    assert_non_null(before);
    memcpy(before, wide.host, bytes_of(&wide));
    assert_int_equal(vf_matrix_product_create(device, type, variant, &plan), VF_OK);
    assert_int_equal(vf_matrix_product_execute(plan, queue, a->rows, b->columns, a->columns, a->array.data,
                                               b->array.data, vf_array_at(&wide.array, first)),
                     VF_OK);
    assert_int_equal(vf_queue_copy(queue, wide.host, wide.array.data, bytes_of(&wide)), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    const size_t from = (size_t)first * size, to = from + (size_t)count * size;
    assert_memory_equal(before, wide.host, from);
    assert_memory_equal(before + to, (char *)wide.host + to, GUARD * size);
    memcpy(c.host, (char *)wide.host + from, to - from);
    vf_matrix_product_destroy(plan);
    free(before);
    free_matrix(&wide);
    return c;
}

static void check(const char *variant, const matrix *a, const matrix *b, const matrix *c)
{
    const long double u = a->type == VF_F32 ? 0x1p-24L : 0x1p-53L;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->columns; j++) {
            long double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < a->columns; l++) {
                const long double term = (long double)get(a, i, l) * get(b, l, j);
                sum += term;
                magnitude += fabsl(term);
            }
            if (!(fabsl(get(c, i, j) - sum) <= (long double)(a->columns + 1) * u * magnitude))
                fail_msg("%s, %s: element (%lld, %lld) of %lld x %lld, %lld terms, is %.17g, not %.17Lg", variant,
                         vf_dtype_name(a->type), (long long)i, (long long)j, (long long)c->rows, (long long)c->columns,
                         (long long)a->columns, get(c, i, j), sum);
        }
}

static void check_size(vf_dtype type, const int64_t size[3])
{
    matrix a = make_matrix(type, size[0], size[2], 0), b = make_matrix(type, size[2], size[1], 0),
           first = {.host = NULL};
    const char *variant;
    for (int v = 0; (variant = vf_matrix_product_variant_name(vf_device_get_kind(device), v)); v++) {
        if (!can_run(variant))
            continue;
        matrix c = product(variant, &a, &b);
        const bool chain = strcmp(variant, "ref") != 0 && (strcmp(variant, "baseline") != 0 || v == 0);
        if (chain && first.host) /* the same bits are as right */
            assert_memory_equal(first.host, c.host, bytes_of(&c));
        else
            check(variant, &a, &b, &c);
        if (!first.host && vf_cpu_isa() > VF_ISA_BASELINE)
            first = c;
        else
            free_matrix(&c);
    }
    free_matrix(&first);
    free_matrix(&a);
    free_matrix(&b);
}

static void test_sizes(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        check_size(VF_F32, sizes[s]);
        check_size(VF_F64, sizes[s]);
    }
}

static void test_random_sizes(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 12; repeat++) {
        const int64_t size[3] = {integer_between(1, 90), integer_between(1, 90), integer_between(1, 90)};
        check_size(repeat % 2 ? VF_F32 : VF_F64, size);
    }
}

/* The GPU's default, and the CPU's with any number of threads. */
static void test_same_bits(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    matrix a = make_matrix(VF_F32, 400, 300, 0), b = make_matrix(VF_F32, 300, 530, 0), first = product(NULL, &a, &b);
    vf_device *host = vf_context_host(ctx);
    vf_queue *its_queue;
    float *c = malloc(bytes_of(&first));
    assert_non_null(c);
    assert_int_equal(vf_queue_create(host, &its_queue), VF_OK);
    for (int t = 1; t <= 5; t += 2) {
        vf_matrix_product *plan;
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        assert_int_equal(vf_matrix_product_create(host, VF_F32, NULL, &plan), VF_OK);
        assert_int_equal(vf_matrix_product_execute(plan, its_queue, 400, 530, 300, a.host, b.host, c), VF_OK);
        if (vf_device_is_host(device) || vf_cpu_isa() > VF_ISA_BASELINE)
            assert_memory_equal(c, first.host, bytes_of(&first));
        vf_matrix_product_destroy(plan);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_queue_destroy(its_queue);
    free(c);
    free_matrix(&first);
    free_matrix(&a);
    free_matrix(&b);
}

/* (A B) D = A (B D). Products of small integers are exact. */
static void test_associative(void **state)
{
    (void)state;
    const char *variant;
    for (int v = 0; (variant = vf_matrix_product_variant_name(vf_device_get_kind(device), v)); v++) {
        if (!can_run(variant))
            continue;
        matrix a = make_matrix(VF_F32, 37, 70, 9), b = make_matrix(VF_F32, 70, 41, 9),
               d = make_matrix(VF_F32, 41, 33, 9);
        matrix ab = product(variant, &a, &b), bd = product(variant, &b, &d);
        upload(&ab);
        upload(&bd);
        matrix left = product(variant, &ab, &d), right = product(variant, &a, &bd);
        assert_memory_equal(left.host, right.host, bytes_of(&left)); /* at most 70 x 41 x 9^3 < 2^24 */
        matrix *const all[] = {&a, &b, &d, &ab, &bd, &left, &right};
        for (int i = 0; i < 7; i++)
            free_matrix(all[i]);
    }
}

/* A NaN in A reaches its row, one in B its column, and nothing else, at any place of a tile. */
static void test_nan(void **state)
{
    (void)state;
    enum { M = 35, N = 70, K = 19 };
    const char *variant;
    for (int v = 0; (variant = vf_matrix_product_variant_name(vf_device_get_kind(device), v)); v++)
        for (int round = 0; round < 4 && can_run(variant); round++) {
            matrix a = make_matrix(round % 2 ? VF_F32 : VF_F64, M, K, 0), b = make_matrix(a.type, K, N, 0);
            const int64_t row = round ? integer_below(M) : M - 1, column = round ? integer_below(N) : N - 1;
            put(&a, row, round ? integer_below(K) : K - 1, NAN);
            put(&b, round ? integer_below(K) : K - 1, column, round % 2 ? NAN : INFINITY);
            upload(&a);
            upload(&b);
            matrix c = product(variant, &a, &b);
            for (int64_t i = 0; i < M; i++)
                for (int64_t j = 0; j < N; j++)
                    assert_int_equal(!isfinite(get(&c, i, j)), i == row || j == column);
            free_matrix(&a);
            free_matrix(&b);
            free_matrix(&c);
        }
}

/* A context that is cancelled stays so, hence one of its own. */
static void test_cancelled(void **state)
{
    (void)state;
    const double a[2] = {2, 3}, b[2] = {5, 7};
    double c = 0;
    vf_context *own;
    vf_queue *its_queue;
    vf_matrix_product *plan;
    assert_int_equal(vf_context_create(&own), VF_OK);
    assert_int_equal(vf_queue_create(vf_context_host(own), &its_queue), VF_OK);
    assert_int_equal(vf_matrix_product_create(vf_context_host(own), VF_F64, NULL, &plan), VF_OK);
    assert_int_equal(vf_matrix_product_execute(plan, its_queue, 1, 1, 2, a, b, &c), VF_OK);
    assert_true(c == 31);
    vf_context_cancel(own);
    assert_int_equal(vf_matrix_product_execute(plan, its_queue, 1, 1, 2, a, b, &c), VF_ERR_CANCELLED);
    vf_matrix_product_destroy(plan);
    vf_queue_destroy(its_queue);
    vf_context_destroy(own);
}

static void test_refused(void **state)
{
    (void)state;
    const char what[] = "a matrix product";
    matrix m = make_matrix(VF_F32, 4, 4, 0);
    void *x = m.array.data;
    vf_matrix_product *plan = (vf_matrix_product *)&plan;
    assert_refused(ctx, vf_matrix_product_create(device, VF_C64, NULL, &plan), what, "not VF_C64");
    assert_null(plan);
    plan = (vf_matrix_product *)&plan;
    assert_refused(ctx, vf_matrix_product_create(device, VF_F32, "tile9", &plan), what, "'tile9'");
    assert_null(plan);
    assert_int_equal(vf_matrix_product_create(device, VF_F32, NULL, &plan), VF_OK);
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, -1, 2, 2, x, x, x), what, "A is -1 x 2");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, 2, -1, 2, x, x, x), what, "B is 2 x -1");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, 2, 2, -3, x, x, x), what, "A is 2 x -3");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, INT64_MAX, 2, 2, x, x, x), what, "exceeds any memory");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, INT64_C(1) << 33, INT64_C(1) << 33, 0, x, x, x), what,
                   "C of");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, 2, 2, 2, NULL, x, x), what, "A is NULL");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, 2, 2, 2, x, NULL, x), what, "B is NULL");
    assert_refused(ctx, vf_matrix_product_execute(plan, queue, 2, 2, 2, x, x, NULL), what, "C is NULL");
    assert_int_equal(vf_matrix_product_execute(plan, queue, 0, 2, 2, NULL, x, NULL), VF_OK);
    assert_int_equal(vf_matrix_product_execute(plan, queue, 2, 2, 0, NULL, NULL, x), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    vf_matrix_product_destroy(plan);
    vf_matrix_product_destroy(NULL);
    free_matrix(&m);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sizes), cmocka_unit_test(test_random_sizes),
            cmocka_unit_test(test_same_bits), cmocka_unit_test(test_associative), cmocka_unit_test(test_nan),
            cmocka_unit_test(test_cancelled), cmocka_unit_test(test_refused))
