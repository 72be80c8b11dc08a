/* The mean of an image over the voxels of another grid (apps/mri_recon/images/resample.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "free_all.h"
#include "image_test.h"
#include "images/resample.h"
#include "random_fixture.h"

static int64_t voxels_of(const image_grid *g)
{
    return g->counts[0] * g->counts[1] * g->counts[2];
}

static image_grid grid_along_axes(const int64_t counts[3], const double step[3], const double first[3])
{
    image_grid g = {.counts = {counts[0], counts[1], counts[2]}};
    for (int a = 0; a < 3; a++) {
        g.affine[a][a] = step[a];
        g.affine[a][3] = first[a];
    }
    return g;
}

/* The grid whose axis a is axis order[a] of another one, backwards for the bits of `back`; and its voxels. */
static image_grid reordered(const image_grid *g, const float *values, const int order[3], unsigned back, float *out)
{
    image_grid to = {0};
    const int64_t steps[3] = {1, g->counts[0], g->counts[0] * g->counts[1]};
    for (int row = 0; row < 3; row++)
        to.affine[row][3] = g->affine[row][3];
    for (int a = 0; a < 3; a++) {
        to.counts[a] = g->counts[order[a]];
        for (int row = 0; row < 3; row++) {
            to.affine[row][a] = g->affine[row][order[a]] * (back >> a & 1 ? -1 : 1);
            to.affine[row][3] += back >> a & 1 ? g->affine[row][order[a]] * (double)(to.counts[a] - 1) : 0;
        }
    }
    for (int64_t i = 0; i < voxels_of(&to); i++) {
        const int64_t at[3] = {i % to.counts[0], i / to.counts[0] % to.counts[1], i / to.counts[0] / to.counts[1]};
        int64_t from = 0;
        for (int a = 0; a < 3; a++)
            from += (back >> a & 1 ? to.counts[a] - 1 - at[a] : at[a]) * steps[order[a]];
        out[i] = values[from];
    }
    return to;
}

static float *random_values(int64_t count)
{
    float *out = malloc((size_t)count * sizeof *out);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)uniform();
    return out;
}

/* On its own grid an image stays as it is, bit by bit, in whatever order and direction its axes are stored. */
static void test_same_grid(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 0, 2}};
    image_grid grid = {.counts = {7, 5, 6}};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            grid.affine[row][column] = 3 * uniform() + (row == column ? 5 : 0);
    const int64_t n = voxels_of(&grid);
    float *values = random_values(n), *stored = random_values(n), *out = random_values(n), *inside = random_values(n);
    for (unsigned back = 0; back < 8; back++)
        for (size_t o = 0; o < 3; o++) {
            const image_grid from = reordered(&grid, values, orders[o], back, stored);
            need(resample_mean(ctx, &from, stored, &grid, out, inside));
            assert_memory_equal(out, values, (size_t)n * sizeof *out);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabsf(inside[i] - 1) < 1e-6F);
        }
    FREE_ALL(values, stored, out, inside);
}

/* Over voxels that tile the image, sums are kept: each value counts as much as its volume. Steps are no whole numbers. Rounding:
 * each of 120 means to single precision. */
static void test_sums_are_kept(void **state)
{
    (void)state;
    const image_grid from = grid_along_axes((int64_t[]){12, 13, 9}, (double[]){1, 2, 0.5}, (double[]){0.5, 1, 0.25});
    /* 12 x 26 x 4.5 mm in 5 x 6 x 4 voxels */
    const double step[3] = {12.0 / 5, 26.0 / 6, 4.5 / 4};
    const image_grid to =
        grid_along_axes((int64_t[]){5, 6, 4}, step, (double[]){step[0] / 2, step[1] / 2, step[2] / 2});
    const int64_t n = voxels_of(&from), m = voxels_of(&to);
    float *values = random_values(n), *out = random_values(m), *inside = random_values(m);
    double before = 0, after = 0;
    need(resample_mean(ctx, &from, values, &to, out, inside));
    for (int64_t i = 0; i < n; i++)
        before += (double)values[i] * 12 * 26 * 4.5 / (double)n;
    for (int64_t i = 0; i < m; i++)
        after += (double)out[i] * 12 * 26 * 4.5 / (double)m;
    assert_true(fabs(after - before) <= 1e-6 * before);
    FREE_ALL(values, out, inside);
}

/* A linear function stays linear, on any grid inside; its mean over a voxel is its value at the centre. The interpolation is exact;
 * rounding to single precision is that of values up to 100. */
static void test_linear_functions(void **state)
{
    (void)state;
    image_grid from = {.counts = {20, 21, 22}}, to = {.counts = {4, 3, 5}};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            from.affine[row][column] = 0.3 * (uniform() - 0.5) + (row == column ? 1 : 0);
            to.affine[row][column] = 0.8 * (uniform() - 0.5) + (row == column ? 1.7 : 0);
        }
    for (int row = 0; row < 3; row++) { /* the middles of both are at the same place */
        from.affine[row][3] = 2;
        to.affine[row][3] = 2;
        for (int column = 0; column < 3; column++) {
            from.affine[row][3] -= from.affine[row][column] * (double)(from.counts[column] - 1) / 2;
            to.affine[row][3] -= to.affine[row][column] * (double)(to.counts[column] - 1) / 2;
        }
    }
    const int64_t n = voxels_of(&from), m = voxels_of(&to);
    float *values = random_values(n), *out = random_values(m), *inside = random_values(m);
    for (int pass = 0; pass < 2; pass++) {
        const image_grid *g = pass ? &to : &from;
        need(pass ? resample_mean(ctx, &from, values, &to, out, inside) : VF_OK);
        for (int64_t i = 0; i < voxels_of(g); i++) {
            const double at[3] = {(double)(i % g->counts[0]), (double)(i / g->counts[0] % g->counts[1]),
                                  (double)(i / g->counts[0] / g->counts[1])};
            double value = 5;
            for (int row = 0; row < 3; row++)
                value += (row + 1) * (g->affine[row][0] * at[0] + g->affine[row][1] * at[1] +
                                      g->affine[row][2] * at[2] + g->affine[row][3]);
            if (!pass)
                values[i] = (float)value;
            else if (!(fabs((double)out[i] - value) <= 1e-4 && inside[i] == 1))
                fail_msg("voxel %d: %g instead of %g, %g inside", (int)i, (double)out[i], value, (double)inside[i]);
        }
    }
    FREE_ALL(values, out, inside);
}

/* What lies outside counts neither in the mean nor as inside. */
static void test_outside(void **state)
{
    (void)state;
    const image_grid from = grid_along_axes((int64_t[]){4, 1, 1}, (double[]){1, 1, 1}, (double[]){0, 0, 0});
    const image_grid to = grid_along_axes((int64_t[]){4, 1, 1}, (double[]){2, 1, 1}, (double[]){-0.5, 0, 0});
    const float values[4] = {1, 2, 4, 8};
    float out[4], inside[4];
    need(resample_mean(ctx, &from, values, &to, out, inside));
    /* [-1.5, 0.5], [0.5, 2.5], [2.5, 4.5], [4.5, 6.5] of [-0.5, 3.5] */
    const float expected[4] = {1, 3, 8, 0}, share[4] = {0.5F, 1, 0.5F, 0};
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(out[i] - expected[i]) < 1e-6F && fabsf(inside[i] - share[i]) < 1e-6F);
    const image_grid flat = {.counts = {4, 1, 1}, .affine = {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}}};
    assert_int_equal(resample_mean(ctx, &flat, values, &to, out, inside), VF_ERR_ARGUMENT);
    vf_context_clear_error(ctx);
}

TEST_MAIN(set_up, close_folder, cmocka_unit_test(test_same_grid), cmocka_unit_test(test_sums_are_kept),
          cmocka_unit_test(test_linear_functions), cmocka_unit_test(test_outside))
