/* The smoothing of an image's envelope (apps/mri_recon/noise/envelope.c) against its definition, for any number of threads. */
#include "coil_fixture.h"
#include "free_all.h"
#include "noise/envelope.h"
#include "test_main.h"

/* A box filter along an axis; lines before and after `at` are `step` apart. */
static void filter(int64_t voxels, int64_t length, int64_t step, const double *from, double *to)
{
    const int64_t reach = length / 24;
    for (int64_t v = 0; v < voxels; v++) {
        double sum = 0;
        for (int64_t i = -reach; i <= reach; i++) {
            const int64_t at = v / step % length + i;
            sum += at >= 0 && at < length ? from[v + i * step] : 0;
        }
        to[v] = sum / (double)(2 * reach + 1);
    }
}

/* Numbers of lines that are no multiples of what is filtered together. A running sum of at most 121 numbers up to 1 has as many
 * additions and subtractions of numbers up to 11, in each of 6 filters: 6 * 2 * 121 * 11 * 2^-53 < 2^-39. */
static void test_smoothing(void **state)
{
    static const int64_t grids[][3] = {{31, 50, 27}, {121, 53, 1}, {24, 1, 1}, {23, 5, 48}, {7, 9, 25}, {1, 72, 30}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        const int64_t *n = grids[g], voxels = n[0] * n[1] * n[2], step[3] = {1, n[0], n[0] * n[1]};
        double *given = allocate((size_t)voxels * sizeof *given), *first = allocate((size_t)voxels * sizeof *first);
        double *expected = allocate((size_t)voxels * sizeof *expected), *next = allocate((size_t)voxels * sizeof *next);
        for (int64_t v = 0; v < voxels; v++)
            expected[v] = given[v] = uniform_between(0, 1);
        for (int axis = 0; axis < 6; axis++) {
            filter(voxels, n[axis % 3], step[axis % 3], expected, next);
            memcpy(expected, next, (size_t)voxels * sizeof *next);
        }
        for (int threads = 1; threads <= 3; threads++) {
            set_threads(*state, threads);
            double *room = allocate((size_t)envelope_smooth_room(*state, n) * sizeof *room);
            memcpy(next, given, (size_t)voxels * sizeof *next);
            envelope_smooth(*state, n, next, room);
            for (int64_t v = 0; v < voxels; v++)
                assert_near(next[v], expected[v], 0x1p-39);
            if (threads == 1)
                memcpy(first, next, (size_t)voxels * sizeof *next);
            assert_memory_equal(first, next, (size_t)voxels * sizeof *next);
            free(room);
        }
        FREE_ALL(given, first, expected, next);
    }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_smoothing))
