/* How maps are split into slabs: all layers once, thickness within its bounds, and devices that finish together. */
#include <math.h>

#include "potential/cut_slabs.h"
#include "test_main.h"

static void check(const slab_cut *cut)
{
    const int64_t slabs = slab_count(cut);
    int64_t before = cut->most;
    assert_int_equal(slab_first(cut, 0), 0);
    assert_int_equal(slab_first(cut, slabs), cut->layers);
    for (int64_t n = 0; n < slabs; n++) {
        const int64_t first = slab_first(cut, n), thickness = slab_first(cut, n + 1) - first;
        assert_int_equal(first % cut->unit, 0);
        assert_true(thickness > 0 && thickness <= cut->most && thickness <= before);
        assert_true(thickness >= cut->least || n == slabs - 1);
        before = thickness;
    }
}

static void test_all_layers_once(void **state)
{
    (void)state;
    static const int64_t layers[] = {1, 2, 7, 8, 9, 31, 32, 33, 100, 246, 783, 4001};
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
        for (int64_t unit = 1; unit <= 32; unit *= unit == 1 ? 8 : 4)
            for (int64_t least = 1; least <= 4; least++)
                for (int64_t most = least; most <= 20; most += 5)
                    for (int queues = 1; queues <= 16; queues += 5)
                        check(&(slab_cut){layers[l], unit, unit * most, unit * least, queues});
}

static void test_one_thickness(void **state)
{
    (void)state;
    const slab_cut cut = {100, 8, 24, 24, 1};
    assert_int_equal(slab_count(&cut), 5);
    for (int n = 0; n < 5; n++)
        assert_int_equal(slab_first(&cut, n), 24 * n);
}

enum { QUEUES = 2, MOST_DEVICES = 8 };

/* Compares the time when the last of several devices finishes with the ideal. Devices of these speeds have two
 * queues each and work on one slab at a time; a queue takes the next slab as soon as its own is finished. */
static double loss(const slab_cut *cut, int devices, const double *speed)
{
    double free_at[MOST_DEVICES] = {0}, asks_at[MOST_DEVICES][QUEUES] = {{0}}, last = 0, together = 0;
    const int64_t slabs = slab_count(cut);
    for (int64_t n = 0; n < slabs; n++) {
        int d = 0, q = 0;
        for (int k = 0; k < QUEUES; k++)
            for (int i = 0; i < devices; i++)
                if (asks_at[i][k] < asks_at[d][q]) {
                    d = i;
                    q = k;
                }
        const double begins = fmax(asks_at[d][q], free_at[d]);
        free_at[d] = asks_at[d][q] = begins + (double)(slab_first(cut, n + 1) - slab_first(cut, n)) / speed[d];
        last = fmax(last, free_at[d]);
    }
    for (int d = 0; d < devices; d++)
        together += speed[d];
    return last * together / (double)cut->layers - 1;
}

/* When no slab is left, a device still has at most two slabs to process, which by then have the minimum thickness. So
 * it finishes at most two such slabs later than the mean, layers / devices. (With slabs of equal thickness the loss
 * would be ten times that.) */
static void test_devices_are_done_together(void **state)
{
    (void)state;
    for (int devices = 2; devices <= MOST_DEVICES; devices++)
        for (int64_t layers = 200; layers <= 800; layers += 37)
            for (int uneven = 0; uneven <= 2; uneven++) {
                double speed[MOST_DEVICES];
                for (int d = 0; d < devices; d++)
                    speed[d] = 1 + 0.03 * uneven * sin(1 + 7 * d);
                const int64_t most = layers / (8 * QUEUES * devices) + 1;
                const slab_cut cut = {layers, 1, most, 1, QUEUES * devices};
                assert_true(loss(&cut, devices, speed) <= 2.0 * devices / (double)layers);
            }
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_all_layers_once), cmocka_unit_test(test_one_thickness),
          cmocka_unit_test(test_devices_are_done_together))
