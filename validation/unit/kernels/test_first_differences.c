/* Weighted first differences against their matrix, entry by entry, on fresh random numbers.
 *
 * usage: test_first_differences DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound: a voxel's value is y plus at most six terms s w (x - x'). u is the unit roundoff (2^-24 or 2^-53). s is
 * rounded to the precision (u); the difference, s w and their product have one rounding each (3 u); there are at
 * most seven additions. So the relative error of a term is at most 11 u, that of y 7 u: |error| <= 11 u (|y| + sum
 * |s w| (|x| + |x'|)), and 1 % for second-order terms. */
#include <complex.h>
#include <math.h>

#include "first_differences.h"
#include "free_all.h"
#include "queue_fixture.h"

enum { GUARD = 64 };

/* `count` random real numbers from `least` to 1, rounded to single precision, so exact in both precisions. */
static double *random_numbers(int64_t count, double least)
{
    double *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++) {
        volatile float single = (float)(least + (1 - least) * uniform());
        v[n] = (double)single;
    }
    return v;
}

/* Real numbers of a precision in the device's memory, with GUARD numbers of a pattern before and after them. */
typedef struct guarded {
    vf_array all, host;
    int64_t count;
    void *data;
} guarded;

static guarded upload(vf_dtype real, int64_t count, const double *values)
{
    guarded g = {.count = count};
    need(vf_array_create(device, VF_SPACE_DEVICE, real, count + 2 * GUARD, &g.all));
    need(vf_array_create(device, VF_SPACE_PINNED, real, count + 2 * GUARD, &g.host));
    for (int64_t n = -GUARD; n < count + GUARD; n++) {
        double v = n < 0 || n >= count ? 12345 + (double)n : values[n];
        if (real == VF_F64)
            ((double *)g.host.data)[n + GUARD] = v;
        else
            ((float *)g.host.data)[n + GUARD] = (float)v;
    }
    need(vf_array_copy(queue, &g.all, &g.host, g.all.count));
    need(vf_queue_sync(queue));
    g.data = (char *)g.all.data + GUARD * vf_dtype_bytes(real);
    return g;
}

/* Checks the guards, copies the values out and frees the array. */
static void download(guarded *g, double *values)
{
    need(vf_array_copy(queue, &g->host, &g->all, g->all.count));
    need(vf_queue_sync(queue));
    for (int64_t n = -GUARD; n < g->count + GUARD; n++) {
        double v =
            g->host.type == VF_F64 ? ((double *)g->host.data)[n + GUARD] : (double)((float *)g->host.data)[n + GUARD];
        if (n >= 0 && n < g->count)
            values[n] = v;
        else if (!(v == 12345 + (double)n))
            fail_msg("written to element %lld of %lld", (long long)n, (long long)g->count);
    }
    vf_array_free(&g->all);
    vf_array_free(&g->host);
}

static int64_t voxels(const int64_t counts[3])
{
    return counts[0] * counts[1] * counts[2];
}

/* y += scale D^H D x by the library; complex numbers as pairs. */
static void add(vf_dtype real, const int64_t counts[3], double scale, const double *weights, const double *x, double *y)
{
    int64_t n = voxels(counts);
    guarded w = {0}, in = upload(real, 2 * n, x), out = upload(real, 2 * n, y);
    double *same = room(3 * n, sizeof *same);
    if (weights)
        w = upload(real, 3 * n, weights);
    need(vf_first_differences_add(queue, vf_dtype_complex(real), counts, scale, weights ? w.data : NULL, in.data,
                                  out.data));
    download(&out, y);
    download(&in, same);
    if (memcmp(same, x, 2 * (size_t)n * sizeof *x) != 0)
        fail_msg("the input was written to");
    if (weights) {
        download(&w, same);
        assert_memory_equal(same, weights, 3 * (size_t)n * sizeof *same);
    }
    free(same);
}

/* The expected value of a voxel, and the sum of the magnitudes of its terms: y += scale sum over axes and both
 * neighbours of w (x - x'), where w belongs to the later of the two voxels. */
static double value(const int64_t counts[3], double scale, const double *weights, const double *x, const double *y,
                    int64_t n, int part, double *size)
{
    int64_t step = 1, all = voxels(counts);
    double sum = y[2 * n + part];
    *size = fabs(sum);
    for (int a = 0; a < 3; a++) {
        int64_t at = n / step % counts[a];
        for (int side = -1; side <= 1; side += 2) {
            if (at + side < 0 || at + side >= counts[a])
                continue;
            int64_t other = n + side * step;
            double w = weights ? weights[a * all + (side < 0 ? n : other)] : 1;
            double here = x[2 * n + part], there = x[2 * other + part];
            sum += scale * w * (here - there);
            *size += fabs(scale * w) * (fabs(here) + fabs(there));
        }
        step *= counts[a];
    }
    return sum;
}

static const int64_t sizes[][3] = {{1, 1, 1}, {2, 1, 1},  {1, 2, 1},  {1, 1, 2},   {5, 1, 1},   {1, 7, 1},
                                   {1, 1, 9}, {4, 3, 1},  {17, 1, 3}, {1, 8, 16},  {16, 16, 1}, {13, 11, 7},
                                   {8, 4, 2}, {33, 5, 3}, {2, 2, 2},  {64, 31, 9}, {129, 2, 3}, {3, 257, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_matrix(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 4; kind++) {
            const int64_t *counts = sizes[s], n = voxels(counts);
            vf_dtype real = kind & 1 ? VF_F64 : VF_F32;
            double u = kind & 1 ? 0x1p-53 : 0x1p-24, scale = kind & 2 ? 0.37 : -1.25;
            double *x = random_numbers(2 * n, -1), *y = random_numbers(2 * n, -1), *got = room(2 * n, sizeof *got);
            double *weights = kind & 2 ? random_numbers(3 * n, 0) : NULL; /* also on the faces, where they must not
                                                                           * be used */
            memcpy(got, y, 2 * (size_t)n * sizeof *y);
            add(real, counts, scale, weights, x, got);
            for (int64_t i = 0; i < 2 * n; i++) {
                double size, expected = value(counts, scale, weights, x, y, i / 2, i % 2, &size);
                double error = fabs(got[i] - expected), limit = 1.01 * 11 * u * size;
                if (!(error <= limit))
                    fail_msg("%s, %lld x %lld x %lld, voxel %lld: %.9g instead of %.9g, off by %.3g, allowed %.3g",
                             kind & 1 ? "double" : "single", (long long)counts[0], (long long)counts[1],
                             (long long)counts[2], (long long)i / 2, got[i], expected, error, limit);
            }
            FREE_ALL(x, y, got, weights);
        }
}

/* <x, D^H D y> = <D^H D x, y>. The energy <x, D^H D x> = sum of w |x - x'|^2 is not negative. A constant has no
 * energy, and adds exactly nothing. */
static void test_symmetry_and_energy(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 4; kind++) {
            const int64_t *counts = sizes[s], n = voxels(counts);
            vf_dtype real = kind & 1 ? VF_F64 : VF_F32;
            double u = kind & 1 ? 0x1p-53 : 0x1p-24;
            double *x = random_numbers(2 * n, -1), *y = random_numbers(2 * n, -1), *flat = room(2 * n, sizeof *flat);
            double *wx = room(2 * n, sizeof *wx), *wy = room(2 * n, sizeof *wy), *still = room(2 * n, sizeof *still);
            double *weights = kind & 2 ? random_numbers(3 * n, 0) : NULL;
            double first[2] = {0, 0}, second[2] = {0, 0}, energy = 0;
            add(real, counts, 1, weights, x, wx);
            add(real, counts, 1, weights, y, wy);
            for (int64_t i = 0; i < n; i++) {
                double a[2] = {x[2 * i], x[2 * i + 1]}, b[2] = {wy[2 * i], wy[2 * i + 1]};
                double c[2] = {wx[2 * i], wx[2 * i + 1]}, d[2] = {y[2 * i], y[2 * i + 1]};
                first[0] += a[0] * b[0] + a[1] * b[1];
                first[1] += a[0] * b[1] - a[1] * b[0];
                second[0] += c[0] * d[0] + c[1] * d[1];
                second[1] += c[0] * d[1] - c[1] * d[0];
                energy += a[0] * c[0] + a[1] * c[1];
                flat[2 * i] = x[0];
                flat[2 * i + 1] = x[1];
                still[2 * i] = y[0];
            }
            /* A value is at most 6 terms of size 2, with an error of 11 u of that; times |x| <= 1, for both parts. */
            double limit = 1.01 * 2 * 2 * 11 * u * 12 * (double)n;
            if (!(fabs(first[0] - second[0]) <= limit && fabs(first[1] - second[1]) <= limit && energy >= -limit))
                fail_msg("%lld voxels: %.9g%+.9gi and %.9g%+.9gi, energy %.3g, allowed %.3g", (long long)n, first[0],
                         first[1], second[0], second[1], energy, limit);
            double *kept = room(2 * n, sizeof *kept);
            memcpy(kept, still, 2 * (size_t)n * sizeof *kept);
            add(real, counts, 1e3, weights, flat, still);
            assert_memory_equal(still, kept, 2 * (size_t)n * sizeof *kept);
            FREE_ALL(kept, x, y, flat, wx, wy, still, weights);
        }
}

/* The bits do not depend on threads. NaN reaches a voxel and its neighbours, and no others. */
static void test_threads_and_nan(void **state)
{
    (void)state;
    const int64_t counts[3] = {40, 23, 18}, n = voxels(counts);
    int threads = vf_context_threads(ctx);
    for (int kind = 0; kind < 2; kind++) {
        double *x = random_numbers(2 * n, -1), *weights = random_numbers(3 * n, 0);
        double *first = room(2 * n, sizeof *first);
        int64_t at[3] = {7, 22, 9}, bad = (at[2] * counts[1] + at[1]) * counts[0] + at[0];
        x[2 * bad] = NAN;
        for (int t = 1; t <= 4; t++) {
            double *got = room(2 * n, sizeof *got);
            need(vf_context_set_threads(ctx, t));
            add(kind ? VF_F64 : VF_F32, counts, 0.7, weights, x, t == 1 ? first : got);
            if (t > 1)
                assert_memory_equal(got, first, 2 * (size_t)n * sizeof *got);
            free(got);
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t distance = llabs(i % counts[0] - at[0]) + llabs(i / counts[0] % counts[1] - at[1]) +
                               llabs(i / counts[0] / counts[1] - at[2]);
            if ((distance <= 1) != (isnan(first[2 * i]) != 0) || isnan(first[2 * i + 1]))
                fail_msg("voxel %lld: %g%+gi", (long long)i, first[2 * i], first[2 * i + 1]);
        }
        FREE_ALL(x, weights, first);
    }
    need(vf_context_set_threads(ctx, threads));
}

/* Weights computed by hand: 3 x 2 x 1 voxels, two images. */
static void test_weights_by_hand(void **state)
{
    (void)state;
    const int64_t counts[3] = {3, 2, 1};
    /* Image 0: along x 1, 2 and 0, -3; along y 1, 0, -5. Seven differences, with squares 1 + 4 + 0 + 9 + 1 + 0 + 25
     * = 40. Image 1 is constant and changes nothing. Image 2: one step of 7 along y in column 2, and along x in row
     * 1. */
    const float images[3][6] = {{0, 1, 3, 1, 1, -2}, {4, 4, 4, 4, 4, 4}, {0, 0, 0, 0, 0, 7}};
    const double h0 = 40.0 / 7, h2 = 98.0 / 7, s = 0.5;
    const double square[3][6] = {{0, 1, 4, 0, 0, 9}, {0, 0, 0, 1, 0, 25}, {0}};
    const double other[3][6] = {{0, 0, 0, 0, 0, 49}, {0, 0, 0, 0, 0, 49}, {0}};
    const int inside[3][6] = {{0, 1, 1, 0, 1, 1}, {0, 0, 0, 1, 1, 1}, {0}};
    float got[3][6];
    memset(got, 0xff, sizeof got);
    need(vf_first_differences_weights(ctx, counts, 3, images[0], NULL, s, got[0]));
    for (int a = 0; a < 3; a++)
        for (int n = 0; n < 6; n++) {
            double expected = inside[a][n] ? 1 / (1 + square[a][n] / (s * s * h0) + other[a][n] / (s * s * h2)) : 0;
            if (!(fabs((double)got[a][n] - expected) <= 8 * 0x1p-24 * expected))
                fail_msg("axis %d, voxel %d: %.9g instead of %.9g", a, n, (double)got[a][n], expected);
        }
    /* A constant image: all differences have equal weights. */
    need(vf_first_differences_weights(ctx, counts, 1, images[1], NULL, 1e-6, got[0]));
    for (int a = 0; a < 3; a++)
        for (int n = 0; n < 6; n++)
            assert_true(got[a][n] == (float)inside[a][n]);
    /* Images whose squares exceed the range of single precision. */
    const float wide[6] = {-3e38f, 3e38f, 0, 1e-45f, 0, 1};
    need(vf_first_differences_weights(ctx, counts, 1, wide, NULL, 1e-100, got[0]));
    for (int a = 0; a < 3; a++)
        for (int n = 0; n < 6; n++)
            if (!(got[a][n] >= 0 && got[a][n] <= 1))
                fail_msg("axis %d, voxel %d: %g", a, n, (double)got[a][n]);
}

/* Weights of random images by their formula, with any number of threads. A weight is 1 / (1 + sum) in single
 * precision, where the sum has two terms: about five roundings. */
static void test_random_weights(void **state)
{
    (void)state;
    enum { IMAGES = 2 };
    static const int64_t grids[][3] = {{9, 7, 5}, {1, 6, 11}, {13, 1, 1}, {4, 30, 1}};
    const int threads = vf_context_threads(ctx);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        const int64_t *counts = grids[g], n = voxels(counts), steps[3] = {1, counts[0], counts[0] * counts[1]};
        double *x = random_numbers(IMAGES * n, -1);
        float *images = room(IMAGES * n, sizeof *images), *got[3];
        for (int64_t i = 0; i < IMAGES * n; i++)
            images[i] = (float)x[i];
        for (int t = 0; t < 3; t++) {
            got[t] = room(3 * n, sizeof *got[t]);
            need(vf_context_set_threads(ctx, t + 1));
            need(vf_first_differences_weights(ctx, counts, IMAGES, images, NULL, 0.7, got[t]));
            assert_memory_equal(got[t], got[0], 3 * (size_t)n * sizeof *got[t]);
        }
        long double squares[IMAGES] = {0}, differences = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < 3 * n; i++) {
                const int64_t a = i / n, v = i % n;
                const bool inside = v / steps[a] % counts[a] > 0;
                long double sum = 0;
                differences += pass == 0 && inside;
                for (int r = 0; r < IMAGES && inside; r++) {
                    const long double d = (long double)images[r * n + v] - images[r * n + v - steps[a]];
                    squares[r] += pass == 0 ? d * d : 0;
                    sum += pass == 1 ? d * d / (0.49L * squares[r] / differences) : 0;
                }
                const double expected = inside ? (double)(1 / (1 + sum)) : 0;
                if (pass == 1 && !(fabs((double)got[0][i] - expected) <= 8 * 0x1p-24 * expected))
                    fail_msg("grid %zu, axis %d, voxel %d: %.9g instead of %.9g", g, (int)a, (int)v, (double)got[0][i],
                             expected);
            }
        for (int t = 0; t < 3; t++)
            free(got[t]);
        free(images);
        free(x);
    }
    need(vf_context_set_threads(ctx, threads));
}

/* Where images say nothing, weights are 1, and what they are there changes neither the other weights nor their scale. */
static void test_unknown_voxels(void **state)
{
    (void)state;
    static const int64_t counts[3] = {9, 7, 5}, steps[3] = {1, 9, 63};
    const int64_t n = voxels(counts);
    double *x = random_numbers(2 * n, -1), square = 0;
    float *image = room(n, sizeof *image), *got = room(3 * n, sizeof *got), *again = room(3 * n, sizeof *again);
    unsigned char *known = room(n, 1);
    int64_t differences = 0;
    for (int64_t v = 0; v < n; v++) {
        image[v] = (float)x[v];
        known[v] = x[n + v] > -0.5;
    }
    need(vf_first_differences_weights(ctx, counts, 1, image, known, 0.7, got));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < 3 * n; i++) {
            const int64_t a = i / n, v = i % n;
            const bool inside = v / steps[a] % counts[a] > 0, says = inside && known[v] && known[v - steps[a]];
            const double d = says ? (double)image[v] - (double)image[v - steps[a]] : 0;
            square += pass == 0 ? d * d : 0;
            differences += pass == 0 && says;
            const double expected = inside ? 1 / (1 + d * d / (0.49 * square / (double)differences)) : 0;
            if (pass == 1 &&
                !(fabs((double)got[i] - expected) <= 8 * 0x1p-24 * expected)) /* as in test_random_weights */
                fail_msg("axis %d, voxel %d: %.9g instead of %.9g", (int)a, (int)v, (double)got[i], expected);
        }
    assert_true(differences > 0 && differences < 3 * n - 143); /* some of each kind */
    for (int64_t v = 0; v < n; v++)
        image[v] = known[v] ? image[v] : 100;
    need(vf_first_differences_weights(ctx, counts, 1, image, known, 0.7, again));
    assert_memory_equal(again, got, 3 * (size_t)n * sizeof *got);
    memset(known, 0, (size_t)n);
    need(vf_first_differences_weights(ctx, counts, 1, image, known, 0.7, got));
    for (int64_t i = 0; i < 3 * n; i++)
        assert_true(got[i] == (float)(i % n / steps[i / n] % counts[i / n] > 0));
    FREE_ALL(x, image, got, again, known);
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t good[3] = {2, 1, 1}, zero[3] = {2, 0, 1}, huge[3] = {1 << 20, 1 << 20, 1 << 20};
    float x[4] = {0}, y[4] = {0}, w[6], bad[2] = {0, NAN};
    assert_int_equal(vf_first_differences_add(queue, VF_C64, zero, 1, NULL, x, y), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_add(queue, VF_C64, huge, 1, NULL, x, y), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_add(queue, VF_F32, good, 1, NULL, x, y), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_add(queue, VF_C64, good, NAN, NULL, x, y), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_add(queue, VF_C64, good, 1, NULL, x, x), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_add(queue, VF_C64, good, 1, NULL, NULL, y), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_weights(ctx, zero, 1, x, NULL, 1, w), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_weights(ctx, good, 0, x, NULL, 1, w), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_weights(ctx, good, 1, x, NULL, 0, w), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_weights(ctx, good, 1, x, NULL, NAN, w), VF_ERR_ARGUMENT);
    assert_int_equal(vf_first_differences_weights(ctx, good, 1, x, NULL, INFINITY, w), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
    assert_int_equal(vf_first_differences_weights(ctx, good, 1, bad, NULL, 1, w), VF_ERR_ARGUMENT);
    assert_non_null(strstr(vf_context_message(ctx), "voxel 1"));
    vf_context_clear_error(ctx);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_matrix), cmocka_unit_test(test_symmetry_and_energy),
            cmocka_unit_test(test_threads_and_nan), cmocka_unit_test(test_weights_by_hand),
            cmocka_unit_test(test_random_weights), cmocka_unit_test(test_unknown_voxels),
            cmocka_unit_test(test_refusals))
