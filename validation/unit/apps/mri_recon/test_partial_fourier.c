/* How far both sides of k-space are sampled (apps/mri_recon/noise/partial_fourier.c), against plain loops. */
#include <math.h>

#include "coil_fixture.h"
#include "free_all.h"
#include "noise/partial_fourier.h"
#include "test_main.h"
#include "voxfield/team_size.h"

static const int64_t matrix[3] = {64, 50, 31};

/* The largest k on one side of an axis, of samples with a weight and less than `below`. */
static float farthest(const scan_trajectory *at, int axis, float sign, float below)
{
    float most = 0;
    for (int64_t m = 0; m < at->samples; m++) {
        const float k = sign * at->k[3 * m + axis];
        if ((!at->weights || at->weights[m] > 0) && k > most && k < below)
            most = k;
    }
    return most;
}

/* The least share of an axis that is sampled on both sides: the shorter side, and a step as long as the longer one's last. */
static double expected_share(const scan_trajectory *at)
{
    double share = 1;
    for (int a = 0; a < 3; a++) {
        const float low = farthest(at, a, -1, INFINITY), high = farthest(at, a, 1, INFINITY);
        const double more = (double)fmaxf(low, high);
        double less = (double)fminf(low, high) + 1;
        if (!(less < 0.9 * more))
            continue;
        less += fmax(more - (double)farthest(at, a, high > low ? 1 : -1, (float)(more - 0.5)) - 1, 0);
        if (less < 0.9 * more)
            share = fmin(share, less / (0.5 * (double)matrix[a]));
    }
    return share;
}

/* Samples of a box that ends early on one side of each axis, or on none, but for some of weight 0. Their numbers are
 * around those that threads and vectors take at a time. */
static void test_reach(void **state)
{
    enum { MOST = 20000 };
    static const int64_t sizes[] = {1, 15, 16, 17, 2047, 2048, 2049, MOST};
    const noise_settings noise = {0};
    const solve_settings solve = {0};
    const coil_settings coils = {0};
    scan_trajectory at = {.k = allocate(3 * MOST * sizeof *at.k)};
    mri_scan scan = {.matrix = {matrix[0], matrix[1], matrix[2]}, .coils = 2, .trajectory = &at, .trajectories = 1};
    float *weights = allocate(MOST * sizeof *weights);
    vf_context_set_team_work(*state, 0);
    assert_int_equal(vf_context_set_threads(*state, 3), VF_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 8 * 2; kind++) {
            double reach[3];
            at.samples = sizes[i];
            at.weights = kind % 2 ? weights : NULL;
            for (int64_t m = 0; m < at.samples; m++) {
                weights[m] = uniform() < 0.9 ? 1 : 0;
                for (int a = 0; a < 3; a++) {
                    const double low = kind >> 1 == 2 * a + 1 ? 0.6 : 1, high = kind >> 1 == 2 * a + 2 ? 0.5 : 1;
                    const double edge =
                        kind % 2 && weights[m] == 0 ? 1.2 : 1; /* those that do not count are farther out */
                    at.k[3 * m + a] = (float)(edge * uniform_between(-low, high) * 0.5 * (double)matrix[a]);
                }
            }
            partial_fourier(*state, &noise, &solve, &coils, &scan, 0, reach);
            for (int a = 0; a < 3; a++)
                assert_true(reach[a] == 0.5 * (double)matrix[a] * expected_share(&at));
        }
    FREE_ALL(at.k, weights);
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_reach))
