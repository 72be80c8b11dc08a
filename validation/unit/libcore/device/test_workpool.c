/* The work pool: every item once and in order, memory bounded by the slots, and it ends after any failure. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "voxfield/device.h"
#include "voxfield/timer.h"
#include "voxfield/workpool.h"

enum { MOST_SLOTS = 16, MOST_ITEMS = 4000 };

/* The state that the functions below share. A failed check sets `wrong`, because cmocka's checks do not work on other
 * threads. */
typedef struct record {
    vf_context *ctx;
    vf_workpool pool;
    atomic_int wrong;
    atomic_int produced[MOST_ITEMS];
    _Atomic(int64_t) consumed;
    atomic_int busy[MOST_SLOTS]; /* 1: being produced, 2: finished, 3: being consumed */
    int64_t held[MOST_SLOTS];    /* plain memory: the thread sanitizer detects races on it */
    int64_t fail_produce, fail_consume, cancel_at;
    int sleep_most; /* microseconds */
    int devices[MOST_SLOTS];
    int64_t fail_from[MOST_SLOTS]; /* a device fails at every item from this one on, if not 0; -1: at all */
    atomic_int given_up[MOST_SLOTS];
    int by_worker[MOST_SLOTS];
} record;

static void expect(record *r, int condition, int number)
{
    int none = 0;
    if (!condition)
        atomic_compare_exchange_strong(&r->wrong, &none, number);
}

static void pause_a_little(const record *r, int64_t item, unsigned salt)
{
    if (r->sleep_most)
        usleep((useconds_t)((uint64_t)(item + 1) * 2654435761u * (salt + 1) % (uint64_t)r->sleep_most));
}

static vf_status produce(void *user, int worker, int slot, int64_t item)
{
    record *r = user;
    int idle = 0;
    expect(r, worker >= 0 && worker < r->pool.workers, 1);
    expect(r, slot == item % r->pool.slots, 2);
    expect(r, item < atomic_load(&r->consumed) + r->pool.slots, 3); /* the bound on memory */
    expect(r, atomic_compare_exchange_strong(&r->busy[slot], &idle, 1), 4);
    r->by_worker[worker]++;
    r->held[slot] = item;
    pause_a_little(r, item, 0);
    const int64_t from = r->fail_from[r->devices[worker]];
    if (from != 0 && item >= from) {
        r->held[slot] = -1;
        atomic_store(&r->busy[slot], 0);
        return vf_fail(r->ctx, item % 2 ? VF_ERR_DEVICE : VF_ERR_DEVICE_MEMORY, "device %d fails", r->devices[worker]);
    }
    if (item == r->fail_produce)
        return vf_fail(r->ctx, VF_ERR_DEVICE, "item %lld cannot be made", (long long)item);
    expect(r, atomic_fetch_add(&r->produced[item], 1) == 0, 5);
    atomic_store(&r->busy[slot], 2);
    return VF_OK;
}

static vf_status consume(void *user, int slot, int64_t item)
{
    record *r = user;
    int finished = 2;
    expect(r, item == atomic_load(&r->consumed), 6);
    expect(r, atomic_compare_exchange_strong(&r->busy[slot], &finished, 3), 7);
    expect(r, r->held[slot] == item, 8);
    pause_a_little(r, item, 1);
    if (item == r->fail_consume)
        return vf_fail(r->ctx, VF_ERR_OUTPUT, "item %lld cannot be kept", (long long)item);
    if (item == r->cancel_at)
        vf_context_cancel(r->ctx);
    atomic_store(&r->busy[slot], 0);
    atomic_store(&r->consumed, item + 1);
    return VF_OK;
}

static record *new_record(int64_t items, int workers, int slots)
{
    record *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_true(items <= MOST_ITEMS && slots <= MOST_SLOTS);
    assert_int_equal(vf_context_create(&r->ctx), VF_OK);
    r->pool = (vf_workpool){
        .items = items, .workers = workers, .slots = slots, .user = r, .produce = produce, .consume = consume};
    r->fail_produce = r->fail_consume = r->cancel_at = -1;
    return r;
}

static void free_record(record *r)
{
    if (r->wrong)
        fail_msg("check %d of produce and consume failed", r->wrong);
    vf_context_destroy(r->ctx);
    free(r);
}

static void test_every_item_once_and_in_order(void **state)
{
    (void)state;
    static const struct {
        int64_t items;
        int workers, slots, sleep_most;
    } cases[] = {{0, 1, 1, 0},     {1, 1, 1, 0},     {1, 4, 5, 0},     {7, 1, 1, 100},   {100, 1, 2, 200},
                 {100, 2, 2, 300}, {100, 3, 4, 300}, {200, 8, 9, 500}, {50, 8, 16, 900}, {4000, 4, 6, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        record *r = new_record(cases[c].items, cases[c].workers, cases[c].slots);
        r->sleep_most = cases[c].sleep_most;
        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_OK);
        assert_int_equal(r->consumed, cases[c].items);
        for (int64_t i = 0; i < cases[c].items; i++)
            assert_int_equal(r->produced[i], 1);
        assert_int_equal(vf_context_status(r->ctx), VF_OK);
        free_record(r);
    }
}

static vf_status uneven(void *user, int worker, int slot, int64_t item)
{
    record *r = user;
    (void)slot;
    (void)item;
    r->by_worker[worker]++;
    usleep(worker == 0 ? 20000 : 1000);
    return VF_OK;
}

static vf_status swallow(void *user, int slot, int64_t item)
{
    (void)user;
    (void)slot;
    (void)item;
    return VF_OK;
}

/* A worker twenty times slower than the others must not make them wait for an equal share. */
static void test_the_fastest_does_the_most(void **state)
{
    (void)state;
    record *r = new_record(120, 3, 16);
    r->pool.produce = uneven;
    r->pool.consume = swallow;
    assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_OK);
    assert_int_equal(r->by_worker[0] + r->by_worker[1] + r->by_worker[2], 120);
    assert_true(r->by_worker[0] < 30);
    free_record(r);
}

static void give_up(void *user, int device, const char *error)
{
    record *r = user;
    char expected[32];
    snprintf(expected, sizeof expected, "device %d fails", device);
    expect(r, strcmp(error, expected) == 0, 9);
    r->given_up[device]++;
}

static record *new_record_of_devices(int64_t items, int devices, int workers_each, int more_slots)
{
    record *r = new_record(items, devices * workers_each, devices * workers_each + more_slots);
    for (int w = 0; w < r->pool.workers; w++)
        r->devices[w] = w % devices;
    r->pool.devices = r->devices;
    r->pool.give_up = give_up;
    return r;
}

/* Devices fail until one is left: every item still appears once and in order, without an error. */
static void test_takeover(void **state)
{
    (void)state;
    for (int devices = 2; devices <= 4; devices++)
        for (int each = 1; each <= 3; each++)
            for (int more = 0; more <= 1; more++)
                for (int failing = 1; failing < devices; failing++)
                    for (int64_t from = 1; from <= 40; from += 13) {
                        record *r = new_record_of_devices(60, devices, each, more);
                        r->sleep_most = 150;
                        for (int d = 0; d < failing; d++)
                            r->fail_from[d] = from + 3 * d;
                        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_OK);
                        assert_int_equal(vf_context_status(r->ctx), VF_OK);
                        assert_int_equal(r->consumed, 60);
                        for (int64_t i = 0; i < 60; i++)
                            assert_int_equal(r->produced[i], 1);
                        for (int d = 0; d < devices; d++)
                            assert_true(r->given_up[d] <= (d < failing));
                        free_record(r);
                    }
}

/* Two of four devices fail at all they take, so the first items are made again, some of them while others are. */
static void test_devices_that_make_nothing(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        record *r = new_record_of_devices(12, 4, 2, 3);
        r->sleep_most = 400;
        r->fail_from[round % 4] = r->fail_from[(round + 1) % 4] = -1;
        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_OK);
        for (int64_t i = 0; i < 12; i++)
            assert_int_equal(r->produced[i], 1);
        free_record(r);
    }
}

/* An item's device fails when all other items are done: another device still takes the item over. */
static vf_status fail_late(void *user, int worker, int slot, int64_t item)
{
    record *r = user;
    (void)slot;
    if (item == 2 && r->by_worker[3] == 0 && worker != 3) {
        r->by_worker[3] = 1;
        for (double began = vf_now(); r->produced[4] + r->produced[3] < 2 && vf_now() - began < 10;)
            usleep(200);
        usleep(20000); /* the others have looked for more items */
        return vf_fail(r->ctx, VF_ERR_DEVICE, "device %d fails", r->devices[worker]);
    }
    r->produced[item]++;
    return VF_OK;
}

static void test_the_last_item_is_taken_over(void **state)
{
    (void)state;
    record *r = new_record_of_devices(5, 3, 1, 2);
    r->pool.produce = fail_late;
    r->pool.consume = swallow;
    assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(r->produced[i], 1);
    assert_int_equal(r->given_up[0] + r->given_up[1] + r->given_up[2], 1);
    free_record(r);
}

static void test_the_last_device_fails(void **state)
{
    (void)state;
    for (int devices = 1; devices <= 3; devices++)
        for (int each = 1; each <= 2; each++)
            for (int which = 0; which < 3; which++) { /* all devices; two kinds of error; and a cancelled run */
                record *r = new_record_of_devices(60, devices, each, 1);
                r->sleep_most = 150;
                r->fail_from[0] = 10;
                for (int d = 1; which == 0 && d < devices; d++)
                    r->fail_from[d] = 10 + 5 * d;
                r->fail_consume = which == 1 ? 20 : -1;
                r->cancel_at = which == 2 ? 20 : -1;
                const vf_status expected = which == 1 ? VF_ERR_OUTPUT : VF_ERR_CANCELLED;
                const vf_status status = vf_workpool_run(r->ctx, &r->pool);
                if (which == 0 || devices == 1)
                    assert_true(vf_is_device_error(status) && strstr(vf_context_message(r->ctx), "fails"));
                else
                    assert_int_equal(status, expected);
                assert_int_equal(vf_context_status(r->ctx), status);
                assert_true(r->consumed < 60);
                int given_up = 0;
                for (int d = 0; d < devices; d++)
                    given_up += r->given_up[d];
                assert_true(given_up < devices);
                free_record(r);
            }
}

static void test_failures(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++)
        for (int which = 0; which < 2; which++)
            for (int64_t at = 0; at < 40; at += 13) {
                record *r = new_record(40, workers, workers + 1);
                r->sleep_most = 200;
                *(which ? &r->fail_consume : &r->fail_produce) = at;
                vf_status status = vf_workpool_run(r->ctx, &r->pool);
                assert_int_equal(status, which ? VF_ERR_OUTPUT : VF_ERR_DEVICE);
                assert_int_equal(vf_context_status(r->ctx), status);
                assert_non_null(strstr(vf_context_message(r->ctx), which ? "cannot be kept" : "cannot be made"));
                /* Items before the failing one may have been consumed, but none after it. */
                assert_true(r->consumed <= at);
                for (int64_t i = at + workers + 1; i < 40; i++)
                    assert_int_equal(r->produced[i], 0);
                free_record(r);
            }
}

static void test_cancelled_by_the_consumer(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++) {
        record *r = new_record(1000, workers, workers + 1);
        r->cancel_at = 17;
        r->sleep_most = 100;
        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_ERR_CANCELLED);
        assert_true(r->consumed >= 18 && r->consumed <= 18 + 2 * (workers + 1));
        assert_int_equal(vf_context_status(r->ctx), VF_ERR_CANCELLED);
        free_record(r);
    }
}

static void *cancel_soon(void *context)
{
    usleep(30000);
    vf_context_cancel(context);
    return NULL;
}

static vf_status wait_for_cancel(void *user, int worker, int slot, int64_t item)
{
    record *r = user;
    (void)worker;
    (void)slot;
    (void)item;
    while (!vf_cancelled(r->ctx))
        usleep(1000);
    return vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
}

static vf_status slow(void *user, int worker, int slot, int64_t item)
{
    record *r = user;
    (void)slot;
    (void)item;
    r->by_worker[worker]++;
    usleep(20000);
    return VF_OK;
}

/* A signal handler cannot wake a thread: the pool must check by itself. */
static void test_cancelled_from_outside(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        record *r = new_record(1000, 3, 4);
        pthread_t thread;
        r->pool.produce = which ? slow : wait_for_cancel;
        r->pool.consume = swallow;
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, r->ctx), 0);
        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_ERR_CANCELLED);
        assert_true(r->by_worker[0] + r->by_worker[1] + r->by_worker[2] < 500); /* and not all 1000 */
        pthread_join(thread, NULL);
        free_record(r);
    }
}

static void test_cancelled_before(void **state)
{
    (void)state;
    record *r = new_record(5, 2, 3);
    vf_context_cancel(r->ctx);
    assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_ERR_CANCELLED);
    assert_int_equal(r->consumed, 0);
    free_record(r);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const struct {
        int64_t items;
        int workers, slots;
    } cases[] = {{-1, 1, 1}, {1, 0, 1}, {1, -1, 1}, {1, 2, 1}, {1, 1, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        record *r = new_record(cases[c].items, cases[c].workers, cases[c].slots);
        assert_int_equal(vf_workpool_run(r->ctx, &r->pool), VF_ERR_INTERNAL);
        assert_int_equal(r->consumed, 0);
        free_record(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_devices_that_make_nothing),
                                       cmocka_unit_test(test_every_item_once_and_in_order),
                                       cmocka_unit_test(test_the_fastest_does_the_most),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_takeover),
                                       cmocka_unit_test(test_the_last_item_is_taken_over),
                                       cmocka_unit_test(test_the_last_device_fails),
                                       cmocka_unit_test(test_cancelled_by_the_consumer),
                                       cmocka_unit_test(test_cancelled_from_outside),
                                       cmocka_unit_test(test_cancelled_before),
                                       cmocka_unit_test(test_nonsense)};
    alarm(120); /* a test that hangs has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
