/* Sums over frames in blocks: against two passes in long double, and joined from blocks that were made apart.
 *
 * usage: test_frame_sums DEVICE [TEST...]     (any device: the sums are the host's)
 */
#include "free_all.h"
#include "potential/frame_sums.h"

#include "device_fixture.h"

#include <math.h>

enum { POINTS = 2500 }; /* more than a block of the cache */

static void test_blocks(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        const int64_t frames = 1 + (int64_t)pow(10, 7 * uniform()), points = 1 + (int64_t)pow(10, 11 * uniform());
        const frame_blocks b = frame_blocks_of(frames, points);
        int64_t sum = 0;
        for (int64_t n = 0; n < b.count; n++) {
            const int64_t some = frame_block_frames(&b, n);
            assert_true(some >= 1 && some <= b.length && (some == b.length || n + 1 == b.count));
            sum += some;
        }
        assert_true(b.frames == frames && sum == frames);
        assert_true(b.count <= FRAME_BLOCKS_MOST && b.length >= FRAME_BLOCK_LEAST);
        assert_int_equal(b.length % FRAME_BLOCK_MULTIPLE, 0);
        assert_true(b.count == 1 || (double)b.count * 16 * (double)points <= 32.0 * (1 << 30));
        /* Not fewer than there could be: blocks are a third longer than needed at most, by their multiple. */
        const double fit = fmax(fmin(FRAME_BLOCKS_MOST, floor(32.0 * (1 << 30) / (16 * (double)points))), 1);
        assert_true((double)b.length < fmax((double)frames / fit, FRAME_BLOCK_LEAST) + 1 + FRAME_BLOCK_MULTIPLE);
    }
}

/* Values as average.c has them: [frames][points] of either type. A third of the points has equal values; another third
 * a mean that is 10^4 times the deviation. */
static void *draw(vf_dtype type, int64_t frames)
{
    void *values = malloc((size_t)(frames * POINTS) * vf_dtype_bytes(type));
    assert_non_null(values);
    for (int64_t n = 0; n < frames * POINTS; n++) {
        const int64_t i = n % POINTS;
        const double offset = (double)(i % 7) - 3, own = i % 3 == 0 ? 0 : 2 * uniform() - 1,
                     v = offset * (i % 3 == 1 ? 1e4 : 1) + own;
        if (type == VF_F64)
            ((double *)values)[n] = v;
        else
            ((float *)values)[n] = (float)v;
    }
    return values;
}

static double at(vf_dtype type, const void *values, int64_t n)
{
    return type == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

/* The sums of a block, from pieces of 1 to 4 frames. */
static void sum_block(const frame_blocks *b, int64_t block, vf_dtype type, const void *values, double *mean,
                      double *squares)
{
    const int64_t first = block * b->length, frames = frame_block_frames(b, block);
    for (int64_t k = 0, some; k < frames; k += some) {
        some = 1 + (int64_t)(uniform() * 4);
        some = some < frames - k ? some : frames - k;
        frame_sums_take(ctx, type, POINTS, some, k,
                        (const char *)values + (size_t)((first + k) * POINTS) * vf_dtype_bytes(type), mean, squares);
    }
}

/* Each frame adds an error of 3 u: to the mean, of the largest value; to the squares, relative and times kappa (average.h),
 * which is at most n 3 u / 2 sqrt(mean^2 + deviation^2) for the deviation. Joining adds as much for each block. */
static void check(vf_dtype type, int64_t frames)
{
    const frame_blocks b = frame_blocks_of(frames, POINTS);
    void *values = draw(type, frames);
    double *sums = malloc(6 * POINTS * sizeof *sums), *mean = sums, *squares = sums + POINTS, *all = sums + 2 * POINTS,
           *all_squares = sums + 3 * POINTS, *alone = sums + 4 * POINTS;
    char *out = malloc(3 * POINTS * sizeof(double)), *deviation_out = out + POINTS * sizeof(double),
         *alone_out = out + 2 * POINTS * sizeof(double);
    assert_true(sums && out);
    for (int64_t n = 0; n < b.count; n++) {
        sum_block(&b, n, type, values, mean, squares);
        /* Whole, and without the squares in parts of the points. */
        frame_sums_join(ctx, POINTS, frame_block_frames(&b, n), n * b.length, mean, squares, all, all_squares);
        for (int64_t i = 0, some; i < POINTS; i += some) {
            some = 1 + (int64_t)(uniform() * 1000);
            some = some < POINTS - i ? some : POINTS - i;
            frame_sums_join(ctx, some, frame_block_frames(&b, n), n * b.length, mean + i, NULL, alone + i, NULL);
        }
    }
    frame_sums_finish(ctx, type, POINTS, frames, all, all_squares, out, deviation_out);
    frame_sums_finish(ctx, type, POINTS, frames, alone, NULL, alone_out, NULL);
    assert_memory_equal(out, alone_out, POINTS * vf_dtype_bytes(type));
    const double u = 0x1p-53, rounding = type == VF_F64 ? u : 0x1p-24, each = 3 * (double)(frames + b.count) * u;
    for (int64_t i = 0; i < POINTS; i++) {
        long double m = 0, s = 0, most = 0;
        for (int64_t k = 0; k < frames; k++) {
            const long double v = (long double)at(type, values, k * POINTS + i);
            m += v / (long double)frames;
            most = fabsl(v) > most ? fabsl(v) : most;
        }
        for (int64_t k = 0; k < frames; k++) {
            const long double d = (long double)at(type, values, k * POINTS + i) - m;
            s += d * d / (long double)frames;
        }
        const double expected = (double)m, deviation = (double)sqrtl(s), limit = (each + u) * (double)most;
        if (!(fabs(at(type, out, i) - expected) <= limit + rounding * fabs(expected)) ||
            !(fabs(at(type, deviation_out, i) - deviation) <= 2 * limit + rounding * deviation))
            fail_msg("%lld frames, point %lld: %.17g +- %.17g for %.17g +- %.17g", (long long)frames, (long long)i,
                     at(type, out, i), at(type, deviation_out, i), expected, deviation);
        assert_true(i % 3 != 0 || (at(type, out, i) == at(type, values, i) && at(type, deviation_out, i) == 0));
    }
    FREE_ALL(values, sums, out);
}

static void test_sums(void **state)
{
    (void)state;
    const int64_t frames[] = {1, 2, FRAME_BLOCK_LEAST, FRAME_BLOCK_LEAST + 1, 2 * FRAME_BLOCK_LEAST, 500, 3000};
    for (size_t n = 0; n < sizeof frames / sizeof *frames; n++)
        check(n % 2 ? VF_F64 : VF_F32, frames[n]);
    for (int trial = 0; trial < 4; trial++)
        check(trial % 2 ? VF_F64 : VF_F32, 1 + (int64_t)(uniform() * 300));
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_blocks), cmocka_unit_test(test_sums))
