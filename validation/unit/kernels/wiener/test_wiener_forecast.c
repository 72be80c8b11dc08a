/* Density and forecast of wiener.h, against results computed by hand and against dense matrices. */
#include <complex.h>
#include <math.h>

#include "free_all.h"
#include "wiener_fixture.h"

/* ---- density ---- */

/* Additions of positive numbers in double precision: 1e-12 is far above their rounding. */
static const double ROUNDED = 1e-12;

static void test_density_mean(void **state)
{
    (void)state;
    static const int64_t grids[][3] = {{8, 7, 1}, {16, 1, 1}, {6, 5, 4}, {1, 2, 3}, {1, 1, 1}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int kind = 0; kind < 2; kind++) {
            const vf_wiener_space space = {{grids[g][0], grids[g][1], grids[g][2]}, {10, 20, 30}};
            const int64_t n = grids[g][0] * grids[g][1] * grids[g][2], count = 500;
            float *k = room(3 * count, sizeof *k);
            double *w = room(count, sizeof *w), *out = room(n, sizeof *out), sum = 0, all = 0;
            for (int64_t m = 0; m < count; m++) {
                w[m] = uniform();
                all += kind ? w[m] : 1;
                for (int a = 0; a < 3; a++) /* beyond the matrix, too */
                    k[3 * m + a] = (float)(3 * (double)grids[g][a] * (uniform() - 0.5));
            }
            need(vf_sampling_density(ctx, &space, count, k, kind ? w : NULL, out));
            for (int64_t i = 0; i < n; i++) {
                assert_true(out[i] >= 0);
                sum += out[i];
            }
            near("mean", sum / (double)n, all, ROUNDED * all);
            FREE_ALL(k, w, out);
        }
}

static void test_density_of_a_grid(void **state)
{
    (void)state;
    const vf_wiener_space space = {{8, 7, 4}, {10, 20, 30}};
    float k[3 * 224];
    double w[224], out[224];
    for (int n = 0; n < 224; n++) {
        k[3 * n] = (float)(n % 8 - 4);
        k[3 * n + 1] = (float)(n / 8 % 7 - 3);
        k[3 * n + 2] = (float)(n / 56 - 2);
        w[n] = 0.3;
    }
    for (int shift = 0; shift < 2; shift++) { /* half a step off the grid, around the end, changes nothing */
        need(vf_sampling_density(ctx, &space, 224, k, w, out));
        for (int n = 0; n < 224; n++)
            near("density", out[n], 224 * 0.3, ROUNDED * 224);
        for (int n = 0; n < 3 * 224; n++)
            k[n] += 0.5f;
    }
}

/* One sample: 1, 4, 6, 4, 1 sixteenths around it, around the end of the axis, with k shifted by any whole matrix. */
static void test_density_wraps(void **state)
{
    (void)state;
    static const double kernel[5] = {1, 4, 6, 4, 1};
    for (int odd = 0; odd < 2; odd++)
        for (int64_t at = 0; at < 8 + odd; at++)
            for (int turn = -2; turn <= 2; turn++)
                for (int half = 0; half < 2; half++) {
                    const int64_t n = 8 + odd;
                    const vf_wiener_space space = {{1, n, 1}, {10, 20, 30}};
                    const float k[3] = {0.3f, (float)(at - n / 2 + turn * n) + 0.5f * (float)half, -7};
                    double out[9], expected[9] = {0};
                    for (int i = 0; i < 5; i++) {
                        expected[(at + i - 2 + n) % n] += kernel[i] / 16 * (double)n * (half ? 0.5 : 1);
                        expected[(at + i - 1 + n) % n] += kernel[i] / 16 * (double)n * (half ? 0.5 : 0);
                    }
                    need(vf_sampling_density(ctx, &space, 1, k, NULL, out));
                    for (int64_t i = 0; i < n; i++)
                        near("density", out[i], expected[i], ROUNDED * (double)n);
                }
}

/* ---- forecast ---- */

enum { NX = 4, NY = 5, N = NX * NY };
static const vf_wiener_space small = {{NX, NY, 1}, {40, 60, 10}};

typedef double complex matrix[N][N];

static void multiply(const matrix a, const matrix b, matrix out)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int l = 0; l < N; l++)
                out[i][j] += a[i][l] * b[l][j];
        }
}

/* F^H diag(d) F / N: circulant, eigenvalues d. `wave` is F: frequency by voxel. */
static void circulant(const matrix wave, const double *d, matrix out)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int k = 0; k < N; k++)
                out[i][j] += conj(wave[k][i]) * d[k] * wave[k][j] / N;
        }
}

/* By Gauss and Jordan without pivoting, for a positive definite matrix. */
static void invert(const matrix from, matrix out)
{
    matrix a;
    memcpy(a, from, sizeof a);
    memset(out, 0, sizeof a);
    for (int i = 0; i < N; i++)
        out[i][i] = 1;
    for (int i = 0; i < N; i++) {
        const double complex pivot = a[i][i];
        for (int j = 0; j < N; j++) {
            a[i][j] /= pivot;
            out[i][j] /= pivot;
        }
        for (int l = 0; l < N; l++) {
            const double complex f = a[l][i];
            for (int j = 0; l != i && j < N; j++) {
                a[l][j] -= f * a[i][j];
                out[l][j] -= f * out[i][j];
            }
        }
    }
}

static double trace(const matrix a)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += creal(a[i][i]);
    return sum;
}

/* Samples of weight v(k) at every frequency: C = F^H V F. The solution of (C + w P) x = F^H V d, with d = F x0 +
 * noise of variance s^2 / v, has noise with the covariance s^2 A C A, where A is the inverse, and the bias (A C - 1)
 * x0. */
static void test_forecast(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        matrix wave, c, prior, cov, a, ac, other, product;
        double eigen[N], p[N], s[N], outer = 0;
        const double variance = 0.37, w = 0.8, edge = 0.05;
        vf_forecast f;
        for (int k = 0; k < N; k++) {
            for (int n = 0; n < N; n++)
                wave[k][n] =
                    cexp(-2 * M_PI * I *
                         ((double)((k % NX - NX / 2) * (n % NX)) / NX + (double)((k / NX - NY / 2) * (n / NX)) / NY));
            const bool acquired = kind < 2 || k % 3 > 0;
            eigen[k] = acquired ? N * (0.5 + uniform()) : 0;
            p[k] = kind % 2 ? 0.1 + 10 * uniform() : 1;
            s[k] = 0.01 + 5 * uniform();
        }
        circulant(wave, eigen, c);
        circulant(wave, p, prior);
        for (int k = 0; k < N; k++)
            p[k] *= kind % 2;
        double scaled[N];
        for (int k = 0; k < N; k++)
            scaled[k] = s[k] / N;
        circulant(wave, scaled, cov); /* E x0 x0^H: for unnormalised transforms, S */
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                other[i][j] = c[i][j] + w * prior[i][j];
        invert(other, a);
        multiply(a, c, ac);
        vf_wiener_forecast(ctx, &small, variance, eigen, s, kind % 2 ? p : NULL, w, edge, &f);
        near("signal", f.signal, sqrt(trace(cov) / N), 1e-10);
        near("freedom", f.freedom, trace(ac), 1e-10);
        multiply(ac, a, product);
        near("noise", f.noise, sqrt(variance * trace(product) / N), 1e-10);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                other[i][j] = conj(ac[j][i]) - (i == j);
        for (int i = 0; i < N; i++)
            ac[i][i] -= 1;
        multiply(ac, cov, product);
        multiply(product, other, cov);
        near("bias", f.bias, sqrt(trace(cov) / N), 1e-10);
        for (int k = 0; k < N; k++)
            if (hypot((k % NX - NX / 2) / 40.0, (k / NX - NY / 2) / 60.0) >= edge)
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < N; j++)
                        outer += creal(wave[k][i] * (ac[i][j] + (i == j)) * conj(wave[k][j])) / N;
        near("outer freedom", f.outer, outer, 1e-9);
        assert_true(f.outer > 0 && f.outer < f.freedom);
    }
}

/* Without a prior each frequency is determined, so `outer` counts those whose vf_wiener_radius is not below the radius, also
 * where it is exactly that of a frequency. An axis of one voxel does not count. */
static void test_outer_edge(void **state)
{
    (void)state;
    static const int64_t grids[][3] = {{9, 8, 7}, {12, 11, 1}, {1, 6, 5}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        const int64_t *n = grids[g], voxels = n[0] * n[1] * n[2];
        const vf_wiener_space space = {{n[0], n[1], n[2]}, {210, 190, 170}};
        double *ones = room(voxels, sizeof *ones), *radius = room(voxels, sizeof *radius);
        for (int64_t i = 0; i < voxels; i++) {
            const double k[3] = {(double)(i % n[0] - n[0] / 2), (double)(i / n[0] % n[1] - n[1] / 2),
                                 (double)(i / n[0] / n[1] - n[2] / 2)};
            radius[i] = vf_wiener_radius(&space, k);
            ones[i] = 1;
        }
        for (int64_t edge = 0; edge < voxels; edge++) {
            vf_forecast f;
            double expected = 0;
            for (int64_t i = 0; i < voxels; i++)
                expected += radius[i] >= radius[edge];
            vf_wiener_forecast(ctx, &space, 1, ones, ones, NULL, 0, radius[edge], &f);
            near("outer", f.outer, expected, 0);
        }
        FREE_ALL(ones, radius);
    }
}

/* Against a scan of weights 0.5 % apart: from any start, at most 2 %, the width of its steps, worse than the best. */
static void test_best_weight(void **state)
{
    (void)state;
    const vf_wiener_space space = {{32, 32, 1}, {200, 200, 5}};
    double s[1024], c[1024], p[1024];
    for (int i = 0; i < 8; i++) {
        const double variance = pow(10, -2 + i % 4);
        double best = NAN, least = INFINITY;
        for (int k = 0; k < 1024; k++) {
            const double radius = hypot(k % 32 - 16, k / 32 - 16);
            s[k] = 1e6 * pow(1 + radius, -3);
            c[k] = 1024 / (1 + radius / 8);
            p[k] = radius * radius;
        }
        for (double w = 1e-9; w < 1e9; w *= 1.005) {
            vf_forecast f;
            vf_wiener_forecast(ctx, &space, variance, c, s, i < 4 ? NULL : p, w, INFINITY, &f);
            const double error = f.noise * f.noise + f.bias * f.bias;
            best = error < least ? w : best;
            least = fmin(error, least);
        }
        for (double from = 1e-6; from < 1e7; from *= 1e3) {
            const double w = vf_wiener_best_weight(ctx, &space, variance, c, s, i < 4 ? NULL : p, from);
            if (!(fabs(log(w / best)) <= log(1.0222) + log(1.005)))
                fail_msg("case %d, from %g: weight %.6g, by a scan %.6g", i, from, w, best);
        }
    }
}

/* Large enough for threads to take part. */
static void test_threads(void **state)
{
    (void)state;
    static const int64_t grids[][3] = {{41, 37, 29}, {211, 199, 1}, {70001, 1, 1}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        const vf_wiener_space space = {{grids[g][0], grids[g][1], grids[g][2]}, {200, 210, 220}};
        const int64_t n = grids[g][0] * grids[g][1] * grids[g][2], count = 20000;
        float *k = room(3 * count, sizeof *k);
        double *c = room(n, sizeof *c), *again = room(n, sizeof *again), *s = room(n, sizeof *s);
        vf_forecast one = {0}, more;
        for (int64_t m = 0; m < 3 * count; m++)
            k[m] = (float)(1.2 * (double)grids[g][m % 3] * (uniform() - 0.5));
        for (int64_t i = 0; i < n; i++)
            s[i] = uniform();
        for (int threads = 1; threads <= 7; threads += 2) {
            need(vf_context_set_threads(ctx, threads));
            need(vf_sampling_density(ctx, &space, count, k, NULL, threads == 1 ? c : again));
            vf_wiener_forecast(ctx, &space, 0.5, c, s, NULL, 0.3 * (double)n, 0.01, threads == 1 ? &one : &more);
            if (threads > 1) {
                assert_memory_equal(c, again, (size_t)n * sizeof *c);
                assert_memory_equal(&one, &more, sizeof one);
            }
        }
        need(vf_context_set_threads(ctx, 2));
        assert_true(one.outer > 0 && one.outer <= one.freedom && one.noise > 0 && one.bias > 0);
        FREE_ALL(k, c, again, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_density_mean),  cmocka_unit_test(test_density_of_a_grid),
                                       cmocka_unit_test(test_density_wraps), cmocka_unit_test(test_forecast),
                                       cmocka_unit_test(test_outer_edge),    cmocka_unit_test(test_best_weight),
                                       cmocka_unit_test(test_threads)};
    return run_group(tests, sizeof tests / sizeof *tests);
}
