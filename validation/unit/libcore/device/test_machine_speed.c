/* What forecasts take for the speed of this machine: what threads bring; measurements are near each other, short, and of the
 * work that they say. How near a forecast is depends on the machine: validation/bench/forecast.py measures that. */
#include <math.h>

#include "test_main.h"
#include "voxfield/machine_speed.h"
#include "voxfield/timer.h"

static vf_context *context_with(int threads)
{
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
    return ctx;
}

/* One thread brings nothing; each further one brings something, less than the one before. */
static void test_gain(void **state)
{
    (void)state;
    assert_true(vf_team_gain(1) == 1);
    double before = 1;
    for (int n = 2; n <= 256; n++) {
        const double more = vf_team_gain(n) - vf_team_gain(n - 1);
        assert_true(more > 0 && more < before);
        before = more;
    }
    /* docs/threads.md: 16 threads are 8 to 11 times one, where there is enough work. */
    assert_true(vf_team_gain(16) > 8 && vf_team_gain(16) < 11);
}

static void test_measurement(void **state)
{
    (void)state;
    /* The shortest of some, because other programs interrupt: a few milliseconds (1.1 on the reference), and far more where
     * instructions are simulated or checked. */
    double shortest = INFINITY, least = INFINITY, most = 0;
    vf_context *ctx = context_with(2);
    for (int i = 0; i < 5; i++) {
        const double begin = vf_now();
        const vf_machine_speed speed = vf_measure_machine(ctx);
        shortest = fmin(shortest, vf_now() - begin);
        assert_true(isfinite(speed.core) && isfinite(speed.thread));
        least = fmin(least, speed.core);
        most = fmax(most, speed.core);
        assert_true(speed.thread > 0);
    }
    print_message("    core %.2f to %.2f of the reference, in %.2f ms\n", least, most, 1e3 * shortest);
    assert_true(least >= 0.5 && most <= 4 && shortest < 0.2); /* what is believed */
    vf_context_destroy(ctx);
    ctx = context_with(1);
    assert_true(vf_measure_machine(ctx).thread == 0); /* none begins */
    vf_context_destroy(ctx);
}

/* Nobody has started a driver that would have to be left. */
static void test_no_driver(void **state)
{
    (void)state;
    vf_context *ctx = context_with(1);
    assert_true(vf_device_leaving_seconds(ctx) == 0);
    vf_context_destroy(ctx);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_gain), cmocka_unit_test(test_measurement), cmocka_unit_test(test_no_driver))
