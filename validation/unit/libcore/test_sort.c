/* Sorts on the CPU or a GPU, against the C library's sort. */
#include "libcore/copy/copy_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/sort.h"

/* Lengths near a warp, near the start of another CPU thread, and lengths that CUB's data blocks do not divide. */
static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 255, 1000, 4097, 32767, 32768, 65537, 300007, (1 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

/* A key, and below it the place of its pair: so equal keys keep their order. */
static uint64_t key_and_place(uint32_t key, int64_t place)
{
    return (uint64_t)key << 32 | (uint64_t)place;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

typedef enum keys { RANDOM, FEW, EQUAL, SORTED, REVERSED, GREATEST, KEYS } keys;

static uint32_t key_at(keys kind, int bits, int64_t i, int64_t n)
{
    const uint32_t most = (uint32_t)(((uint64_t)1 << bits) - 1);
    switch (kind) {
    case RANDOM:
        return (uint32_t)random_bits() & most;
    case FEW:
        return (uint32_t)integer_between(0, 2) & most;
    case EQUAL:
        return most / 2;
    case SORTED:
        return (uint32_t)((double)most * (double)i / (double)n);
    case REVERSED:
        return most - (uint32_t)((double)most * (double)i / (double)n);
    default:
        return most - (uint32_t)integer_between(0, most > 1);
    }
}

/* Values are random: with consecutive values, a sort that only moved positions would pass. One time in two, outputs begin
 * on a cache line, where the CPU writes long ones differently. */
static void check_sort(const vf_sort *plan, keys kind, int bits, int64_t n)
{
    const bool on_line = integer_between(0, 1);
    const int64_t offset[4] = {4 * integer_between(0, 15), 4 * integer_between(0, 15),
                               on_line ? 64 : 4 * integer_between(1, 15), on_line ? 64 : 4 * integer_between(1, 15)};
    memory m[4];
    char what[96];
    uint64_t *pairs = malloc(((size_t)n + 1) * sizeof *pairs);
    assert_non_null(pairs);
    snprintf(what, sizeof what, "%lld pairs of %d bits, keys of kind %d", (long long)n, bits, (int)kind);
    for (int i = 0; i < 4; i++)
        m[i] = make_memory(offset[i] + 4 * n + (i < 2 ? 0 : GUARD));
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = key_at(kind, bits, i, n); /* the values are what make_memory has drawn */
        pairs[i] = key_and_place(key, i);
        memcpy(m[0].host + offset[0] + 4 * i, &key, 4);
    }
    upload(&m[0]);
    assert_int_equal(vf_sort_execute(plan, queue, n, at(&m[0], offset[0]), at(&m[1], offset[1]), at(&m[2], offset[2]),
                                     at(&m[3], offset[3])),
                     VF_OK);
    qsort(pairs, (size_t)n, sizeof *pairs, by_number);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = (uint32_t)(pairs[i] >> 32), place = (uint32_t)pairs[i];
        memcpy(m[2].host + offset[2] + 4 * i, &key, 4);
        memcpy(m[3].host + offset[3] + 4 * i, m[1].host + offset[1] + 4 * (int64_t)place, 4);
    }
    for (int i = 0; i < 4; i++) { /* the inputs are unchanged */
        check_memory(&m[i], what);
        free_memory(&m[i]);
    }
    free(pairs);
}

static void check_sorts(int bits, int64_t n, keys kind)
{
    vf_sort *plan;
    assert_int_equal(vf_sort_create(device, bits, n + integer_between(0, 100), &plan), VF_OK);
    check_sort(plan, kind, bits, n);
    check_sort(plan, RANDOM, bits, integer_between(0, n)); /* a shorter one with the same plan */
    vf_sort_destroy(plan);
}

static void test_every_number_of_bits(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 32; bits++)
        for (int kind = 0; kind < KEYS; kind++) {
            check_sorts(bits, 1000, (keys)kind);
            check_sorts(bits, 40000 + integer_between(0, 30000), (keys)kind);
        }
}

static void test_lengths(void **state)
{
    (void)state;
    static const int bits[] = {1, 8, 9, 16, 21, 32};
    for (int l = 0; l < LENGTHS; l++)
        for (int b = 0; b < 6 && (lengths[l] < 100000 || b % 3 == 1); b++)
            check_sorts(bits[b], lengths[l], integer_between(0, 1) ? RANDOM : FEW);
}

/* Lengths that the CPU writes in whole lines (STREAM_FROM in sort_cpu.c), with threads that meet inside lines. */
static void test_long_sorts(void **state)
{
    (void)state;
    static const int bits[] = {11, 20, 32};
    const int threads = vf_context_threads(ctx);
    for (int b = 0; b < 3; b++)
        for (int other = 0; other < 2; other++) {
            const int64_t n = (1 << 21) + integer_between(0, 100);
            vf_sort *plan;
            assert_int_equal(vf_context_set_threads(ctx, integer_between(1, 3)), VF_OK);
            assert_int_equal(vf_sort_create(device, bits[b], n, &plan), VF_OK);
            check_sort(plan, other ? (keys)integer_between(FEW, GREATEST) : RANDOM, bits[b], n);
            vf_sort_destroy(plan);
        }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
}

/* A plan's memory is for the number of threads at its creation. */
static void test_more_threads_than_planned(void **state)
{
    (void)state;
    enum { N = 400000 };
    vf_sort *sort;
    const int threads = vf_context_threads(ctx);
    assert_int_equal(vf_context_set_threads(ctx, 1), VF_OK);
    assert_int_equal(vf_sort_create(device, 20, N, &sort), VF_OK);
    for (int t = 1; t <= 7; t += 3) {
        assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
        check_sort(sort, RANDOM, 20, N);
        check_sorts(20, N, RANDOM);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    vf_sort_destroy(sort);
}

/* Outputs that begin where an input does, end in one, or are the same. */
static void test_refused_sorts(void **state)
{
    (void)state;
    enum { N = 10 };
    vf_sort *sort;
    memory m = make_memory(4 * 4 * N);
    uint32_t *at_of[4], *a[4];
    for (int i = 0; i < 4; i++)
        at_of[i] = at(&m, (int64_t)4 * N * i);
    assert_refused(ctx, vf_sort_create(device, 0, N, &sort), "a sort", "0 bits");
    assert_refused(ctx, vf_sort_create(device, 33, N, &sort), "a sort", "33 bits");
    assert_refused(ctx, vf_sort_create(device, 8, -1, &sort), "a sort", "-1 pairs");
    assert_refused(ctx, vf_sort_create(device, 8, ((int64_t)1 << 32) + 1, &sort), "a sort", "4294967297 pairs");
    assert_int_equal(vf_sort_create(device, 8, N, &sort), VF_OK);
    assert_refused(ctx, vf_sort_execute(sort, queue, N + 1, at_of[0], at_of[1], at_of[2], at_of[3]), "a sort",
                   "11 pairs");
    assert_refused(ctx, vf_sort_execute(sort, queue, -1, at_of[0], at_of[1], at_of[2], at_of[3]), "a sort", "-1 pairs");
    static const char *const names[4] = {"keys is", "values is", "keys_out is", "values_out is"};
    for (int one = 0; one < 4; one++) {
        for (int i = 0; i < 4; i++)
            a[i] = i == one ? NULL : at_of[i];
        assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", names[one]);
        for (int other = 0; other < 4 && one >= 2; other++)
            for (int shift = 1 - N; shift < N && other != one; shift++) {
                a[one] = at_of[other] + shift;
                if (a[one] < at_of[0] || a[one] > at_of[3])
                    continue;
                assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", "overlap");
            }
    }
    check_memory(&m, "refused sorts");
    assert_int_equal(vf_sort_execute(sort, queue, N, at_of[0], at_of[0], at_of[2], at_of[3]), VF_OK); /* inputs may */
    assert_int_equal(vf_sort_execute(sort, queue, 0, NULL, NULL, NULL, NULL), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    free_memory(&m);
    vf_sort_destroy(sort);
    vf_sort_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_every_number_of_bits), cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_long_sorts), cmocka_unit_test(test_more_threads_than_planned),
            cmocka_unit_test(test_refused_sorts))
