/* Sorts by all variants on the CPU or a GPU, against the C library's sort by an order that is written down here. */
#include "libcore/copy/copy_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/sort.h"

enum { GUARD = 64 };

typedef struct type {
    vf_sort_key key;
    int bytes;
    enum { UNSIGNED, SIGNED, FLOATING } kind;
} type;
static const type types[] = {
    {VF_SORT_U8, 1, UNSIGNED},  {VF_SORT_U16, 2, UNSIGNED}, {VF_SORT_U32, 4, UNSIGNED}, {VF_SORT_U64, 8, UNSIGNED},
    {VF_SORT_I8, 1, SIGNED},    {VF_SORT_I16, 2, SIGNED},   {VF_SORT_I32, 4, SIGNED},   {VF_SORT_I64, 8, SIGNED},
    {VF_SORT_F32, 4, FLOATING}, {VF_SORT_F64, 8, FLOATING},
};
enum { TYPES = sizeof types / sizeof *types, U32 = 2 };
static const int value_sizes[3] = {0, 4, 8};

/* ---- the definition ---- */

/* A key's bits, extended by 0. */
static uint64_t bits_of(const type *t, const uint8_t *key)
{
    uint64_t bits = 0;
    for (int b = 0; b < t->bytes; b++)
        bits |= (uint64_t)key[b] << 8 * b;
    return bits;
}

/* A number that orders keys: unsigned, bits [low, high); signed, the value; floating-point, the magnitude's bits, or
 * -1 minus them if the sign is set. Signed numbers are compared after adding 2^63. */
static uint64_t order_of(const type *t, uint64_t bits, int low, int high)
{
    const uint64_t sign = (uint64_t)1 << (8 * t->bytes - 1), middle = (uint64_t)1 << 63;
    if (t->kind == UNSIGNED)
        return high - low == 64 ? bits : bits >> low & (((uint64_t)1 << (high - low)) - 1);
    if (t->kind == SIGNED)
        return middle + (bits & sign ? bits - sign - sign : bits);
    return bits & sign ? middle - 1 - (bits & ~sign) : middle + bits;
}

typedef struct item {
    uint64_t order;
    int64_t place; /* of equal keys, the first is first */
} item;

static int by_order(const void *a, const void *b)
{
    const item *p = a, *q = b;
    return p->order != q->order ? (p->order > q->order) - (p->order < q->order)
                                : (p->place > q->place) - (p->place < q->place);
}

/* ---- keys ---- */

/* ONE_BYTE: all others are equal. ONE_OTHER: all but one are equal. CROWDED: most keys differ in few bits. */
typedef enum keys { RANDOM, FEW, EQUAL, SORTED, REVERSED, SPECIAL, ONE_BYTE, ONE_OTHER, CROWDED, KEYS } keys;

/* Zeros, ones, infinities, NaNs of both signs, the least and the greatest numbers of all types. */
static uint64_t special_bits(const type *t)
{
    static const uint64_t f32[] = {0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
                                   0x7f7fffff, 0x00000001, 0x3f800000, 0};
    static const uint64_t f64[] = {0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0x7fffffffffffffff,
                                   0x7fefffffffffffff, 0x0000000000000001, 0x3ff0000000000000, 0};
    static const uint64_t integers[] = {0, 1, 2, 3, ~(uint64_t)0, ~(uint64_t)1, 127, ~(uint64_t)0 >> 1};
    const int i = (int)integer_between(0, 7);
    const uint64_t sign = (uint64_t)1 << (8 * t->bytes - 1);
    const uint64_t bits = t->kind != FLOATING ? integers[i] : t->bytes == 4 ? f32[i] : f64[i];
    return bits ^ (integer_between(0, 1) ? sign : 0);
}

typedef struct maker {
    const type *t;
    keys kind;
    uint64_t common, few[3];
    int byte;
    int64_t n, other;
} maker;

static maker make_maker(const type *t, keys kind, int64_t n)
{
    maker m = {t,
               kind,
               random_bits(),
               {random_bits(), random_bits(), random_bits()},
               (int)integer_below(t->bytes),
               n,
               integer_below(n)};
    return m;
}

/* Sorted ones ascend as unsigned numbers: other types have two ascending or descending halves. */
static uint64_t key_at(const maker *m, int64_t i)
{
    const int spare = 64 - 8 * m->t->bytes;
    const uint64_t greatest = ~(uint64_t)0 >> spare,
                   ramp = (uint64_t)((double)greatest * 0.999 * (double)i / (double)m->n);
    switch (m->kind) {
    case RANDOM:
        return random_bits();
    case FEW:
        return m->few[integer_between(0, 2)];
    case SORTED:
        return ramp;
    case REVERSED:
        return greatest - ramp;
    case SPECIAL:
        return integer_between(0, 3) ? special_bits(m->t) : random_bits();
    case ONE_BYTE:
        return m->common ^ (random_bits() & 0xff) << 8 * m->byte;
    case CROWDED:
        return integer_between(0, 3) ? m->common ^ (random_bits() & 0x3ff) << 3 * m->byte : random_bits();
    case ONE_OTHER:
        return i == m->other ? ~m->common : m->common;
    default:
        return m->common;
    }
}

/* ---- a sort ---- */

typedef struct problem {
    const type *t;
    vf_sort_options options;
    int64_t n;
    int low, high;              /* bits */
    int64_t size[4], offset[4]; /* of keys, values, keys_out, values_out */
    memory memory[4];
    char what[160];
} problem;

/* Values are random: with consecutive values, a sort that only moved positions would pass. One time in two, outputs begin
 * on a cache line, where the CPU writes long ones differently. */
static problem make_problem(const type *t, int value_bytes, int low, int high, keys kind, int64_t n)
{
    problem p = {.t = t, .options = {.key = t->key, .value_bytes = value_bytes, .low = low, .high = high}, .n = n};
    const bool on_line = integer_between(0, 1);
    const maker m = make_maker(t, kind, n);
    snprintf(p.what, sizeof p.what, "%lld keys of type %d, kind %d, bits %d to %d, values of %d bytes", (long long)n,
             (int)t->key, (int)kind, low, high, value_bytes);
    p.low = low;
    p.high = high > 0 ? high : 8 * t->bytes;
    for (int i = 0; i < 4; i++) {
        p.size[i] = i % 2 ? value_bytes : t->bytes;
        p.offset[i] = i >= 2 && on_line ? 64 : p.size[i] * integer_between(i >= 2, 15);
        p.memory[i] = make_memory(p.offset[i] + p.size[i] * n + (i < 2 ? 0 : GUARD));
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = key_at(&m, i);
        for (int b = 0; b < t->bytes; b++)
            p.memory[0].host[p.offset[0] + i * t->bytes + b] = (uint8_t)(bits >> 8 * b);
    }
    upload(&p.memory[0]);
    return p;
}

static void free_problem(problem *p)
{
    for (int i = 0; i < 4; i++)
        free_memory(&p->memory[i]);
}

/* Writes the expected output into the mirrors. */
static void expect(problem *p)
{
    item *items = malloc(((size_t)p->n + 1) * sizeof *items);
    assert_non_null(items);
    for (int64_t i = 0; i < p->n; i++)
        items[i] = (item){
            order_of(p->t, bits_of(p->t, p->memory[0].host + p->offset[0] + i * p->size[0]), p->low, p->high), i};
    qsort(items, (size_t)p->n, sizeof *items, by_order);
    for (int64_t i = 0; i < p->n; i++)
        for (int a = 0; a < 2; a++)
            memcpy(p->memory[2 + a].host + p->offset[2 + a] + i * p->size[a],
                   p->memory[a].host + p->offset[a] + items[i].place * p->size[a], (size_t)p->size[a]);
    free(items);
}

static void *start_of(const problem *p, int i)
{
    return p->size[i] > 0 ? at(&p->memory[i], p->offset[i]) : NULL;
}

static vf_sort *make_plan(const problem *p, int variant, int64_t more)
{
    vf_sort_options options = p->options;
    vf_sort *plan;
    options.variant = variant < 0 ? NULL : vf_sort_variant_name(vf_device_get_kind(device), variant);
    assert_int_equal(vf_sort_create(device, &options, p->n + more, &plan), VF_OK);
    return plan;
}

static void run_and_check(problem *p, const vf_sort *plan)
{
    for (int i = 2; i < 4; i++)
        if (p->memory[i].array.count > 0) {
            const uint8_t wrong = 0x81;
            assert_int_equal(vf_fill(queue, VF_U8, p->size[i] * p->n, &wrong, at(&p->memory[i], p->offset[i])), VF_OK);
        }
    assert_int_equal(vf_sort_execute(plan, queue, p->n, start_of(p, 0), start_of(p, 1), start_of(p, 2), start_of(p, 3)),
                     VF_OK);
    for (int i = 0; i < 4; i++) /* the inputs are unchanged */
        check_memory(&p->memory[i], p->what);
}

/* All variants. */
static void check_sort(const type *t, int value_bytes, int low, int high, keys kind, int64_t n)
{
    problem p = make_problem(t, value_bytes, low, high, kind, n);
    char what[sizeof p.what];
    memcpy(what, p.what, sizeof what);
    expect(&p);
    for (int v = 0; vf_sort_variant_name(vf_device_get_kind(device), v); v++) {
        vf_sort *plan = make_plan(&p, v, integer_between(0, 100));
        snprintf(p.what, sizeof p.what, "%s: %.120s", vf_sort_variant_name(vf_device_get_kind(device), v), what);
        run_and_check(&p, plan);
        vf_sort_destroy(plan);
    }
    free_problem(&p);
}

/* ---- tests ---- */

static void test_types(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int v = 0; v < 3; v++)
            for (int kind = 0; kind < KEYS; kind++) {
                check_sort(&types[t], value_sizes[v], 0, 0, (keys)kind, 3000);
                if (kind % 3 == v)
                    check_sort(&types[t], value_sizes[v], 0, 0, (keys)kind, 40000 + integer_between(0, 30000));
            }
}

static void test_ranges_of_bits(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 32; bits++)
        for (int kind = 0; kind < KEYS; kind++)
            check_sort(&types[U32], 4, 0, bits, (keys)kind, 1000);
    for (int t = 0; types[t].kind == UNSIGNED; t++)
        for (int i = 0; i < 40; i++) {
            const int high = (int)integer_between(1, 8 * types[t].bytes), low = (int)integer_below(high);
            check_sort(&types[t], value_sizes[i % 3], low, high, i % 4 ? RANDOM : (keys)integer_below(KEYS),
                       integer_between(1, 12000));
        }
}

/* Near a warp, near tiles of GPUs (2048, 4096, 5376, 7680 keys) and data blocks (1024), near the start of another CPU
 * thread, and long ones. */
static void test_lengths(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0,    1,    2,     31,    32,    33,    255,   256,   257,    1023,
                                      1024, 1025, 2047,  2049,  4095,  4096,  4097,  5375,  5377,   7679,
                                      7680, 7681, 15359, 15360, 15361, 32767, 32768, 65537, 300007, (1 << 20) + 3};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int i = 0; i < (lengths[l] < 100000 ? 4 : 2); i++)
            check_sort(&types[integer_below(TYPES)], value_sizes[integer_below(3)], 0, 0,
                       integer_between(0, 1) ? RANDOM : FEW, lengths[l]);
    for (int i = 0; i < 60; i++)
        check_sort(&types[i % 2 ? U32 : integer_below(TYPES)], value_sizes[i % 3], 0, 0, (keys)integer_below(KEYS),
                   integer_between(1, 20000));
}

/* Lengths that the CPU writes in whole lines (sort_pieces_cpu.c), with threads that meet inside lines. */
static void test_long_sorts(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    const int sorts = SANITIZED ? 5 : 10; /* enough for values of each size in whole lines; shorter arrays have none */
    for (int i = 0; i < sorts; i++) {
        const type *t = &types[(i + integer_between(0, 1)) % TYPES];
        const int value_bytes = value_sizes[i % 3];
        const int64_t n = (16 << 20) / (t->bytes + value_bytes) / (i % 2 + 1) + integer_between(0, 100);
        problem p = make_problem(t, value_bytes, 0, 0, i % 4 ? RANDOM : (keys)integer_below(KEYS), n);
        expect(&p);
        assert_int_equal(vf_context_set_threads(ctx, integer_between(1, 3)), VF_OK);
        vf_sort *plan = make_plan(&p, -1, 0);
        run_and_check(&p, plan);
        vf_sort_destroy(plan);
        free_problem(&p);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
}

/* A plan's memory is for the number of threads at its creation. It also sorts fewer keys than it was made for. */
static void test_more_threads_than_planned(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    problem p = make_problem(&types[U32], 4, 0, 20, RANDOM, 400000);
    expect(&p);
    for (int v = 0; vf_sort_variant_name(vf_device_get_kind(device), v); v++) {
        assert_int_equal(vf_context_set_threads(ctx, 1), VF_OK);
        vf_sort *plan = make_plan(&p, v, 100000);
        for (int t = 1; t <= 7; t += 3) {
            assert_int_equal(vf_context_set_threads(ctx, t), VF_OK);
            run_and_check(&p, plan);
        }
        vf_sort_destroy(plan);
    }
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    free_problem(&p);
}

static void refuse_options(vf_sort_options options, int64_t most, const char *why)
{
    vf_sort *plan = (vf_sort *)&plan;
    assert_refused(ctx, vf_sort_create(device, &options, most, &plan), "", why);
    assert_null(plan);
}

static void test_refused_options(void **state)
{
    (void)state;
    refuse_options((vf_sort_options){.key = VF_SORT_KEYS}, 10, "invalid type of keys 10");
    refuse_options((vf_sort_options){.key = (vf_sort_key)-1}, 10, "invalid type of keys -1");
    refuse_options((vf_sort_options){.key = VF_SORT_U32, .value_bytes = 2}, 10, "values of 2 bytes");
    refuse_options((vf_sort_options){.key = VF_SORT_U32, .high = 33}, 10, "bits [0, 33)");
    refuse_options((vf_sort_options){.key = VF_SORT_U8, .high = 9}, 10, "bits [0, 9)");
    refuse_options((vf_sort_options){.key = VF_SORT_U32, .low = -1, .high = 3}, 10, "bits [-1, 3)");
    refuse_options((vf_sort_options){.key = VF_SORT_U32, .low = 3, .high = 3}, 10, "bits [3, 3)");
    refuse_options((vf_sort_options){.key = VF_SORT_I32, .high = 3}, 10, "unsigned");
    refuse_options((vf_sort_options){.key = VF_SORT_F64, .low = 3, .high = 8}, 10, "unsigned");
    refuse_options((vf_sort_options){.key = VF_SORT_U32, .variant = "quick"}, 10, "no variant 'quick'");
    refuse_options((vf_sort_options){.key = VF_SORT_U32}, -1, "-1 keys");
    refuse_options((vf_sort_options){.key = VF_SORT_U32}, ((int64_t)1 << 32) + 1, "4294967297 keys");
}

/* Outputs that begin where an input does, end in one, or are the same. Keys have 4 bytes, values 8. */
static void test_refused_sorts(void **state)
{
    (void)state;
    enum { N = 10 };
    static const int64_t size[4] = {4, 8, 4, 8}, first[4] = {0, 40, 120, 160}, bytes = 240;
    static const char *const names[4] = {"keys is", "values is", "keys_out is", "values_out is"};
    const vf_sort_options pairs = {.key = VF_SORT_F32, .value_bytes = 8}, keys_only = {.key = VF_SORT_F32};
    vf_sort *sort, *sort_keys;
    memory m = make_memory(bytes);
    void *all[4], *a[4];
    for (int i = 0; i < 4; i++)
        all[i] = at(&m, first[i]);
    assert_int_equal(vf_sort_create(device, &pairs, N, &sort), VF_OK);
    assert_int_equal(vf_sort_create(device, &keys_only, N, &sort_keys), VF_OK);
    assert_refused(ctx, vf_sort_execute(sort, queue, N + 1, all[0], all[1], all[2], all[3]), "a sort", "11 keys");
    assert_refused(ctx, vf_sort_execute(sort, queue, -1, all[0], all[1], all[2], all[3]), "a sort", "-1 keys");
    assert_refused(ctx, vf_sort_execute(sort_keys, queue, N, all[0], all[1], all[2], NULL), "a sort", "keys only");
    assert_refused(ctx, vf_sort_execute(sort_keys, queue, N, all[0], NULL, all[2], all[3]), "a sort", "keys only");
    assert_refused(ctx, vf_sort_execute(sort_keys, queue, N, all[0], NULL, all[0], NULL), "a sort", "overlap");
    for (int one = 0; one < 4; one++) {
        memcpy(a, all, sizeof a);
        a[one] = NULL;
        assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", names[one]);
        for (int other = 0; other < 4 && one >= 2; other++) /* from the first overlapping place to the last */
            for (int64_t to = first[other] - N * size[one] + size[one]; to < first[other] + N * size[other];
                 to += size[one]) {
                if (other == one || to < 0 || to + N * size[one] > bytes)
                    continue;
                a[one] = at(&m, to);
                assert_refused(ctx, vf_sort_execute(sort, queue, N, a[0], a[1], a[2], a[3]), "a sort", "overlap");
            }
    }
    check_memory(&m, "refused sorts");
    assert_int_equal(vf_sort_execute(sort, queue, N, all[0], all[0], all[2], all[3]), VF_OK); /* inputs may overlap */
    assert_int_equal(vf_sort_execute(sort_keys, queue, N, all[0], NULL, all[2], NULL), VF_OK);
    assert_int_equal(vf_sort_execute(sort, queue, 0, NULL, NULL, NULL, NULL), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    free_memory(&m);
    vf_sort_destroy(sort);
    vf_sort_destroy(sort_keys);
    vf_sort_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_types), cmocka_unit_test(test_ranges_of_bits),
            cmocka_unit_test(test_lengths), cmocka_unit_test(test_long_sorts),
            cmocka_unit_test(test_more_threads_than_planned), cmocka_unit_test(test_refused_options),
            cmocka_unit_test(test_refused_sorts))
