/* A list of items that several pools share, as the ranks of a job do: every item is done once, whichever pools fail. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "random_fixture.h"
#include "ranks/hand_out.h"

enum { MOST_POOLS = 7, MOST_ITEMS = 300 };

/* ---- the list alone ---- */

static void test_list(void **state)
{
    (void)state;
    vf_context *ctx;
    hand_out list;
    const double cost[] = {4, 3, 2, 1};
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(hand_out_create(ctx, 4, cost, &list), VF_OK);
    for (int n = 0; n < 4; n++)
        assert_int_equal(hand_out_take(&list, n % 2), n);
    assert_int_equal(hand_out_take(&list, 0), VF_NEXT_LATER);
    assert_false(hand_out_done(&list, 1, 0)); /* another rank's */
    assert_false(hand_out_done(&list, 0, 4));
    assert_false(hand_out_done(&list, 0, -1));
    assert_true(hand_out_done(&list, 0, 0));
    assert_false(hand_out_done(&list, 0, 0)); /* again */
    assert_true(list.done == 4 && list.all == 10);
    assert_int_equal(hand_out_give_back(&list, 0), 1); /* item 2; what is done stays done */
    assert_int_equal(hand_out_take(&list, 1), 2);
    assert_true(hand_out_done(&list, 1, 1) && hand_out_done(&list, 1, 3));
    assert_int_equal(hand_out_take(&list, 1), VF_NEXT_LATER);
    assert_true(hand_out_done(&list, 1, 2));
    assert_int_equal(hand_out_take(&list, 0), VF_NEXT_NONE);
    assert_true(list.done == 10 && list.left == 0);
    hand_out_free(&list);
    assert_int_equal(hand_out_create(ctx, 0, NULL, &list), VF_OK);
    assert_int_equal(hand_out_take(&list, 0), VF_NEXT_NONE);
    hand_out_free(&list);
    vf_context_destroy(ctx);
}

/* ---- pools ---- */

typedef struct shared {
    pthread_mutex_t lock;
    hand_out list;
    atomic_int consumed[MOST_ITEMS];
} shared;

typedef struct pool {
    shared *all;
    vf_context *ctx;
    int rank, workers, devices[4];
    int64_t fail_at, broken_at; /* pieces begun when all fails, and when the last device does; -1: never */
    atomic_llong begun;
    vf_status status;
} pool;

static int64_t next(void *user)
{
    pool *p = user;
    pthread_mutex_lock(&p->all->lock);
    const int64_t item = hand_out_take(&p->all->list, p->rank);
    pthread_mutex_unlock(&p->all->lock);
    return item;
}

static vf_status produce(void *user, int worker, int slot, int64_t item)
{
    pool *p = user;
    (void)slot;
    const int64_t begun = atomic_fetch_add(&p->begun, 1);
    usleep((useconds_t)((uint64_t)item * 2654435761u % 300));
    if (p->fail_at >= 0 && begun >= p->fail_at)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "rank %d fails", p->rank);
    if (p->broken_at >= 0 && begun >= p->broken_at && worker == p->workers - 1)
        return vf_fail(p->ctx, VF_ERR_DEVICE, "the last device of rank %d fails", p->rank);
    return VF_OK;
}

static vf_status consume(void *user, int slot, int64_t item)
{
    pool *p = user;
    (void)slot;
    atomic_fetch_add(&p->all->consumed[item], 1);
    pthread_mutex_lock(&p->all->lock);
    const bool mine = hand_out_done(&p->all->list, p->rank, item);
    pthread_mutex_unlock(&p->all->lock);
    return mine ? VF_OK : vf_fail(p->ctx, VF_ERR_INTERNAL, "item %lld is not of rank %d", (long long)item, p->rank);
}

static void *run_pool(void *argument)
{
    pool *p = argument;
    const vf_workpool work = {.items = p->all->list.items,
                              .workers = p->workers,
                              .slots = p->workers + 1,
                              .user = p,
                              .produce = produce,
                              .consume = consume,
                              .next = next,
                              .devices = p->devices};
    p->status = vf_workpool_run(p->ctx, &work);
    pthread_mutex_lock(&p->all->lock);
    (void)hand_out_give_back(&p->all->list, p->rank);
    pthread_mutex_unlock(&p->all->lock);
    return NULL;
}

static void run_pools(int pools, int64_t items, bool all_fail)
{
    shared *all = calloc(1, sizeof *all);
    pool *p = calloc((size_t)pools, sizeof *p);
    pthread_t thread[MOST_POOLS];
    vf_context *ctx;
    assert_non_null(all);
    assert_non_null(p);
    pthread_mutex_init(&all->lock, NULL);
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(hand_out_create(ctx, items, NULL, &all->list), VF_OK);
    for (int n = 0; n < pools; n++) {
        p[n] = (pool){.all = all, .rank = n, .workers = 1 + (int)(uniform() * 4), .devices = {0, 1, 2, 3}};
        p[n].fail_at = all_fail || (n > 0 && uniform() < 0.4) ? (int64_t)(uniform() * 10) : -1;
        p[n].broken_at = p[n].workers > 1 && uniform() < 0.5 ? (int64_t)(uniform() * 10) : -1;
        assert_int_equal(vf_context_create(&p[n].ctx), VF_OK);
    }
    for (int n = 0; n < pools; n++)
        assert_int_equal(pthread_create(&thread[n], NULL, run_pool, &p[n]), 0);
    for (int n = 0; n < pools; n++)
        pthread_join(thread[n], NULL);
    for (int64_t n = 0; n < items && !all_fail; n++)
        assert_int_equal(all->consumed[n], 1);
    for (int n = 0; n < pools; n++) {
        const bool failed = p[n].fail_at >= 0 && p[n].begun > p[n].fail_at;
        assert_int_equal(p[n].status, failed ? VF_ERR_MEMORY : VF_OK);
        vf_context_destroy(p[n].ctx);
    }
    if (!all_fail)
        assert_int_equal(all->list.left, 0);
    hand_out_free(&all->list);
    vf_context_destroy(ctx);
    free(all);
    free(p);
}

static void test_pools(void **state)
{
    (void)state;
    for (int trial = 0; trial < 60; trial++)
        run_pools(1 + (int)(uniform() * MOST_POOLS), (int64_t)(uniform() * MOST_ITEMS), false);
    for (int64_t items = 0; items < 4; items++)
        run_pools(MOST_POOLS, items, false);
}

static void test_all_fail(void **state)
{
    (void)state;
    for (int trial = 0; trial < 10; trial++)
        run_pools(1 + (int)(uniform() * MOST_POOLS), MOST_ITEMS, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_pools),
                                       cmocka_unit_test(test_all_fail)};
    alarm(120); /* a test that hangs has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
