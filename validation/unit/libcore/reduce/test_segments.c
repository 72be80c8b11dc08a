/* Reductions of segments, on the CPU or a GPU, against the definition of each segment's reduction. */
#include "reduction_fixture.h"
#include "refusal_fixture.h"

#include "reduce/segments_internal.h"

static const vf_reduction reductions[] = {VF_REDUCE_SUM, VF_REDUCE_PRODUCT, VF_REDUCE_MIN, VF_REDUCE_MAX};
static const vf_dtype types[] = {VF_F32, VF_F64, VF_I32, VF_I64};

/* Where segments begin, and the end. */
typedef struct list {
    int64_t n, count;
    int64_t *offsets;
} list;

enum kinds { ONE, ONES, RANDOM, EMPTY_TOO, UNEVEN, TILES, NO_ELEMENTS, KINDS };

/* The length of the next segment. Tiles of a GPU have 2048 elements, threads 8, pieces of the CPU 16384. */
static int64_t next_length(int kind, int64_t s, int64_t n)
{
    static const int64_t tiles[] = {2048, 2047, 1, 4096, 0, 8, 2040, 7, 16384, 1, 16383, 65536, 0, 0, 2049};
    switch (kind) {
    case ONE:
        return n;
    case ONES:
        return 1;
    case RANDOM:
        return integer_between(1, 100);
    case EMPTY_TOO: /* 100 empty ones in turn with short ones, or one of more than eight tiles */
        return s % 128 < 100 ? 0 : s % 128 == 120 ? 50000 : integer_between(0, 40);
    case UNEVEN: /* as many short ones as elements of the long one */
        return s < n / 2 ? 1 : n;
    case TILES:
        return tiles[s % 15];
    default:
        return 0;
    }
}

static list make_list(int kind, int64_t n)
{
    enum { EMPTY = 5000 }; /* behind the last element */
    list l = {.n = n, .offsets = allocate_host((size_t)(8 * n + EMPTY + 600) * sizeof(int64_t))};
    int64_t at = 0;
    for (l.offsets[0] = 0; at < n; l.offsets[++l.count] = at) {
        const int64_t length = next_length(kind, l.count, n);
        at += length < n - at ? length : n - at;
    }
    if (kind == EMPTY_TOO || kind == NO_ELEMENTS)
        for (int i = 0; i < EMPTY; i++)
            l.offsets[++l.count] = n;
    return l;
}

/* The results in new host memory, from arrays that begin `shift` elements behind an aligned address. */
static vf_reduced *run_list(const vf_reduce_segments *plan, const list *l, const void *x, int64_t shift)
{
    placed px = place(plan->type, l->n, shift, x), po = place(VF_I64, l->count + 1, shift, l->offsets),
           pr = place(VF_I64, 4 * l->count, 0, NULL);
    assert_int_equal(sizeof(vf_reduced), 4 * sizeof(int64_t));
    need(vf_reduce_segments_execute(plan, queue, l->n, px.data, l->count, po.data, pr.data));
    FREE_ALL(take_back(&px), take_back(&po));
    return take_back(&pr);
}

static void check_results(const vf_reduce_segments *plan, const list *l, const void *x, const vf_reduced *got)
{
    const size_t size = vf_dtype_bytes(plan->type);
    for (int64_t s = 0; s < l->count; s++) {
        const int64_t begin = l->offsets[s], n = l->offsets[s + 1] - begin;
        const void *from = (const char *)x + (size_t)begin * size;
        vf_reduced want = vf_reduce_ref(plan->reduction, plan->type, n, from, NULL);
        if ((plan->reduction == VF_REDUCE_MIN || plan->reduction == VF_REDUCE_MAX) && n > 0)
            want.index += begin;
        const double any = bound_of(plan->reduction, plan->type, n, from, NULL);
        assert_result(&got[s], &want, isfinite(any) ? any : 0, plan->reduction, plan->type, n);
    }
}

static vf_reduce_segments *make_segments(vf_reduction reduction, vf_dtype type, int64_t most)
{
    vf_reduce_segments *plan = NULL;
    need(vf_reduce_segments_create(device, reduction, type, most, &plan));
    assert_non_null(plan);
    return plan;
}

static void lists_case(vf_reduction reduction, vf_dtype type)
{
    static const int64_t some[] = {1, 7, 8, 9, 2047, 2048, 2049, 16383, 16385, 70001, 200003};
    vf_reduce_segments *plan = make_segments(reduction, type, 200003);
    for (int s = 10; s >= 0; s--)
        for (int kind = 0; kind < KINDS; kind++) {
            const list l = make_list(kind, kind == NO_ELEMENTS ? 0 : some[s]);
            void *x = elements_for(reduction, type, l.n);
            if (type == VF_F32 && kind != ONE && l.n > 100) /* NaN stays in its segment */
                ((float *)x)[integer_between(0, l.n - 1)] = NAN;
            vf_reduced *got = run_list(plan, &l, x, (s + kind) % 3);
            check_results(plan, &l, x, got);
            FREE_ALL(got, x, l.offsets);
        }
    vf_reduce_segments_destroy(plan);
}

static void test_lists(void **state)
{
    (void)state;
    for (int r = 0; r < 4; r++)
        for (int t = 0; t < 4; t++)
            lists_case(reductions[r], types[t]);
}

/* The same bits each time, for any number of threads and any start of the arrays. */
static void test_same_bits(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 7};
    const int before = vf_context_threads(ctx);
    for (int t = 0; t < 2; t++)
        for (int kind = 0; kind < NO_ELEMENTS; kind++) {
            const list l = make_list(kind, 100003);
            void *x = random_elements(types[t], l.n);
            vf_reduce_segments *plan = make_segments(VF_REDUCE_SUM, types[t], l.n);
            vf_reduced *first = NULL;
            for (int i = 0; i < 3; i++) {
                need(vf_context_set_threads(ctx, threads[i]));
                vf_reduced *got = run_list(plan, &l, x, i);
                if (first)
                    assert_memory_equal(got, first, (size_t)l.count * sizeof *got);
                free(first);
                first = got;
            }
            vf_reduce_segments_destroy(plan);
            FREE_ALL(first, x, l.offsets);
        }
    need(vf_context_set_threads(ctx, before));
}

static void test_refusals(void **state)
{
    (void)state;
    static const char what[] = "a reduction of segments";
    const float numbers[4] = {1, 2, 3, 4};
    const int64_t offsets[3] = {0, 1, 3};
    vf_reduce_segments *plan = NULL;
    placed x = place(VF_F32, 4, 0, numbers), o = place(VF_I64, 3, 0, offsets), r = place(VF_I64, 8, 0, NULL);
    assert_refused(ctx, vf_reduce_segments_create(device, VF_REDUCE_DOT, VF_F32, 4, &plan), what, "not defined");
    assert_refused(ctx, vf_reduce_segments_create(device, VF_REDUCE_SUM, VF_C64, 4, &plan), what, "VF_C64");
    assert_refused(ctx, vf_reduce_segments_create(device, VF_REDUCE_SUM, VF_F32, -1, &plan), "the plan of",
                   "-1 elements");
    assert_refused(ctx, vf_reduce_segments_create(device, VF_REDUCE_SUM, VF_F32, INT64_MAX, &plan), "the plan of",
                   "memory");
    assert_null(plan);
    plan = make_segments(VF_REDUCE_SUM, VF_F32, 3);
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 4, x.data, 2, o.data, r.data), what, "4 elements");
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 3, x.data, 0, o.data, r.data), what, "0 segments");
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 3, x.data, -2, o.data, r.data), what, "-2 segments");
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 3, NULL, 2, o.data, r.data), what, "x is NULL");
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 3, x.data, 2, NULL, r.data), what, "offsets is NULL");
    assert_refused(ctx, vf_reduce_segments_execute(plan, queue, 3, x.data, 2, o.data, NULL), what, "results is NULL");
    need(vf_reduce_segments_execute(plan, queue, 0, NULL, 0, NULL, NULL));
    need(vf_reduce_segments_execute(plan, queue, 3, x.data, 2, o.data, r.data));
    FREE_ALL(take_back(&x), take_back(&o));
    vf_reduced *got = take_back(&r);
    assert_true(got[0].re == 1 && got[1].re == 5);
    free(got);
    vf_reduce_segments_destroy(plan);
    vf_reduce_segments_destroy(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_lists), cmocka_unit_test(test_same_bits),
            cmocka_unit_test(test_refusals))
