/* Early start of GPUs, with simulated devices, and the rule of "auto", with given numbers. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "device/warm_up.h"
#include "test_main.h"
#include "voxfield/timer.h"

enum { DEVICES = 4 };
static const double start = VF_CUDA_START_SECONDS, use = VF_CUDA_USE_SECONDS;

/* ---- devices that are slow, or fail ---- */

typedef struct fake {
    int there, broken; /* number of devices; the one that cannot start; -1: none */
    int sleep;         /* microseconds for each */
    atomic_bool *gate; /* no device starts to sleep until it is open; NULL: open */
    atomic_int counted, begun;
    int order[DEVICES]; /* plain memory: the thread sanitizer detects races on it */
} fake;

static int fake_count(void *user)
{
    fake *f = user;
    atomic_fetch_add(&f->counted, 1);
    return f->there;
}

static bool fake_start(void *user, int ordinal)
{
    fake *f = user;
    f->order[atomic_fetch_add(&f->begun, 1)] = ordinal;
    while (f->gate && !atomic_load(f->gate))
        usleep(100);
    usleep((useconds_t)f->sleep);
    return ordinal != f->broken;
}

static vf_starter starter_of(fake *f)
{
    return (vf_starter){.count = fake_count, .start = fake_start, .user = f};
}

static const int all[DEVICES] = {2, 0, 3, 1};

static void test_started_in_order(void **state)
{
    (void)state;
    fake f = {.there = DEVICES, .broken = -1, .sleep = 1000};
    const vf_starter starter = starter_of(&f);
    vf_warm_up w;
    vf_warm_up_init(&w);
    const double began = vf_now();
    vf_warm_up_begin(&w, &starter, all, DEVICES);
    vf_warm_up_state s = vf_warm_up_get(&w);
    assert_true(s.begun && (s.ended || s.started == 0));
    vf_warm_up_join(&w);
    s = vf_warm_up_get(&w);
    assert_true(s.begun && s.ended);
    assert_int_equal(s.started, DEVICES);
    assert_memory_equal(f.order, all, sizeof all);
    /* usleep() sleeps at least as long as requested. */
    assert_true(s.seconds >= 1e-3 * DEVICES && s.seconds <= vf_now() - began);
    assert_true(s.waited >= 0 && s.waited <= vf_now() - began);
    vf_warm_up_join(&w); /* there is nothing left to wait for */
    vf_warm_up_end(&w);
}

static void test_begun_twice(void **state)
{
    (void)state;
    fake f = {.there = DEVICES, .broken = -1}, other = f;
    const vf_starter starter = starter_of(&f), second = starter_of(&other);
    vf_warm_up w;
    vf_warm_up_init(&w);
    vf_warm_up_begin(&w, &starter, all, 2);
    vf_warm_up_begin(&w, &second, all, DEVICES);
    vf_warm_up_join(&w);
    vf_warm_up_begin(&w, &second, all, DEVICES); /* ignored after the end, too */
    vf_warm_up_join(&w);
    assert_int_equal(vf_warm_up_get(&w).started, 2);
    assert_true(f.counted == 1 && f.begun == 2 && other.counted == 0);
    vf_warm_up_end(&w);
}

/* Ended without a join, at any moment: the thread has ended, too. */
static void test_ended_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        fake f = {.there = DEVICES, .broken = -1, .sleep = 2000};
        const vf_starter starter = starter_of(&f);
        vf_warm_up w;
        vf_warm_up_init(&w);
        vf_warm_up_begin(&w, &starter, all, DEVICES);
        usleep((useconds_t)(round % 10 * 300));
        vf_warm_up_end(&w);
        const int begun = f.begun;
        assert_true(begun <= DEVICES);
        usleep(100);
        assert_int_equal(f.begun, begun);
    }
}

/* Devices that have not begun to start do not delay the end. Here, the first becomes ready when no device is needed
 * any more.
 */
static void test_end_stops(void **state)
{
    (void)state;
    vf_warm_up w;
    fake f = {.there = DEVICES, .broken = -1, .gate = &w.unwanted};
    const vf_starter starter = starter_of(&f);
    vf_warm_up_init(&w);
    vf_warm_up_begin(&w, &starter, all, DEVICES);
    while (f.begun == 0)
        usleep(100);
    vf_warm_up_end(&w);
    assert_int_equal(f.begun, 1);
}

static void test_failing_devices(void **state)
{
    (void)state;
    static const struct {
        int there, broken, started, begun;
    } cases[] = {{0, -1, 0, 0}, {DEVICES, 0, DEVICES - 1, DEVICES}, {3, -1, 3, 3}, {1, 0, 0, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fake f = {.there = cases[c].there, .broken = cases[c].broken};
        const vf_starter starter = starter_of(&f);
        vf_warm_up w;
        vf_warm_up_init(&w);
        vf_warm_up_begin(&w, &starter, all, DEVICES);
        vf_warm_up_join(&w);
        const vf_warm_up_state s = vf_warm_up_get(&w);
        assert_true(s.begun && s.ended);
        assert_int_equal(s.started, cases[c].started);
        assert_int_equal(f.begun, cases[c].begun);
        vf_warm_up_end(&w);
    }
}

/* A caller waits for the devices that it uses, and then wants no others: the second starts when the first is there, or never. */
static void test_waits_for_some(void **state)
{
    (void)state;
    vf_warm_up w;
    fake f = {.there = DEVICES, .broken = -1, .sleep = 30000};
    const vf_starter starter = starter_of(&f);
    vf_warm_up_init(&w);
    vf_warm_up_begin(&w, &starter, all, DEVICES);
    vf_warm_up_wait(&w, &all[0], 1);
    assert_true(atomic_load(&w.tried) >= 1);
    vf_warm_up_wait(&w, (const int[]){all[1], 7}, 2); /* 7: not among them */
    assert_true(atomic_load(&w.tried) >= 2);
    vf_warm_up_wait(&w, (const int[]){7}, 1);
    vf_warm_up_stop(&w);
    vf_warm_up_wait(&w, &all[DEVICES - 1], 1); /* never starts, so this ends with the thread */
    assert_true(atomic_load(&w.ended) && f.begun < DEVICES);
    vf_warm_up_wait(&w, all, DEVICES);
    vf_warm_up_end(&w);
}

/* ---- of a context ---- */

static void test_context(void **state)
{
    (void)state;
    static const char *const nothing[] = {"cpu", "", "cuda:", "cuda:0,0", "gpu", "cuda0"};
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    for (size_t n = 0; n < sizeof nothing / sizeof *nothing; n++)
        vf_device_warm_up(ctx, nothing[n]);
    assert_false(vf_device_warm_up_state(ctx).begun);
    vf_device_warm_up(ctx, "auto");
    vf_device_warm_up(ctx, "cuda");
    assert_int_equal(vf_device_warm_up_state(ctx).begun, vf_built_with_cuda());
    assert_int_equal(vf_context_status(ctx), VF_OK); /* whatever the result */
    vf_context_destroy(ctx);                         /* while the start is in progress */
}

/* If a device is requested, the program waits for its start, and then reports errors. */
static void test_set_devices_waits(void **state)
{
    (void)state;
    atomic_bool gate = false;
    fake f = {.there = 1001, .broken = 0, .sleep = 20000, .gate = &gate};
    const vf_starter starter = starter_of(&f);
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    vf_warm_up_begin(vf_context_warm_up(ctx), &starter, &(int){1000}, 1);
    assert_int_equal(vf_context_set_devices(ctx, "cpu"), VF_OK);
    assert_false(vf_device_warm_up_state(ctx).ended); /* "cpu" does not wait */
    atomic_store(&gate, true);
    assert_int_not_equal(vf_context_set_devices(ctx, "cuda:1000"), VF_OK);
    assert_int_equal(atomic_load(&vf_context_warm_up(ctx)->tried), 1);
    assert_non_null(strstr(vf_context_message(ctx), "cuda:1000"));
    vf_context_destroy(ctx);
}

/* ---- the rule ---- */

static void test_left(void **state)
{
    (void)state;
    static const struct {
        vf_warm_up_state warm;
        double left;
    } cases[] = {
        {{0}, VF_CUDA_START_SECONDS},
        {{.begun = true}, VF_CUDA_START_SECONDS},
        {{.begun = true, .seconds = 0.75 * VF_CUDA_START_SECONDS}, 0.25 * VF_CUDA_START_SECONDS},
        {{.begun = true, .seconds = 3 * VF_CUDA_START_SECONDS}, 2 * VF_CUDA_START_SECONDS}, /* too late by this much */
        {{.begun = true, .ended = true, .seconds = 5}, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) /* one subtraction's rounding */
        assert_true(fabs(vf_warm_up_left(&cases[c].warm) - cases[c].left) <= 1e-15);
}

static void test_rule(void **state)
{
    (void)state;
    const double fixed = start + use;
    const struct {
        vf_device_costs costs;
        int gpus, choice;
    } cases[] = {
        /* Both sides of the break-even point: the work on the GPU, its start and its use against the CPU. */
        {{.cpu = 0.01 + 0.999 * fixed, .gpu = 0.01, .start = start}, 1, 0},
        {{.cpu = 0.01 + 1.001 * fixed, .gpu = 0.01, .start = start}, 1, 1},
        {{.cpu = 1e-4, .gpu = 1e-6, .start = start}, 1, 0},
        {{.cpu = 100, .gpu = 1, .start = start}, 1, 1},
        {{.cpu = 0.5, .gpu = 10, .start = start}, 1, 0}, /* double precision on a consumer GPU */
        /* A finished early start costs nothing more; a half finished one, half. */
        {{.cpu = 0.01 + 1.1 * use, .gpu = 0.01, .start = 0}, 1, 1},
        {{.cpu = 0.01 + 0.9 * use, .gpu = 0.01, .start = 0}, 1, 0},
        {{.cpu = 0.01 + use + 0.6 * start, .gpu = 0.01, .start = 0.5 * start}, 1, 1},
        {{.cpu = 0.01 + use + 0.4 * start, .gpu = 0.01, .start = 0.5 * start}, 1, 0},
        /* No GPU. */
        {{.cpu = 100, .gpu = 1, .start = 0}, 0, 0},
        {{.cpu = 100, .gpu = 1, .start = 0}, -1, 0},
        /* An additional GPU pays off if it saves more than its start: gpu / n + n start is least at n = sqrt(gpu /
         * start). */
        {{.cpu = 1e6, .gpu = 9.1 * start, .start = start}, 8, 3},
        {{.cpu = 1e6, .gpu = 9.1 * start, .start = start}, 2, 2},
        {{.cpu = 1e6, .gpu = 1.9 * start, .start = start}, 8, 1}, /* 1.9 + 1 < 0.95 + 2 */
        {{.cpu = 1e6, .gpu = 2.1 * start, .start = start}, 8, 2},
        {{.cpu = 1e6, .gpu = 1e4, .start = start}, 8, 8},
        /* An unknown time never favours a GPU. */
        {{.cpu = NAN, .gpu = 1, .start = 0}, 1, 0},
        {{.cpu = 100, .gpu = NAN, .start = 0}, 1, 0},
        {{.cpu = 100, .gpu = 1, .start = NAN}, 1, 0},
        {{.cpu = INFINITY, .gpu = INFINITY, .start = 0}, 1, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double seconds = -1;
        const vf_device_costs *k = &cases[c].costs;
        const int choice = vf_device_rule(k, cases[c].gpus, &seconds);
        if (choice != cases[c].choice)
            fail_msg("case %zu: %d, not %d", c, choice, cases[c].choice);
        const double expected = choice ? k->start + (choice - 1) * start + k->gpu / choice + use : k->cpu;
        assert_true(seconds == expected || (isnan(seconds) && isnan(k->cpu)));
        assert_int_equal(vf_device_rule(k, cases[c].gpus, NULL), choice);
    }
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_started_in_order), cmocka_unit_test(test_begun_twice),
          cmocka_unit_test(test_ended_at_once), cmocka_unit_test(test_failing_devices),
          cmocka_unit_test(test_waits_for_some), cmocka_unit_test(test_end_stops), cmocka_unit_test(test_context),
          cmocka_unit_test(test_set_devices_waits), cmocka_unit_test(test_left), cmocka_unit_test(test_rule))
