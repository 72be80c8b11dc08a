/* Samples that no object can have (apps/mri_recon/scan/find_spikes.c). */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "coil_fixture.h"
#include "free_all.h"
#include "scan/find_spikes.h"
#include "test_main.h"
#include "voxfield/team_size.h"

enum { N = 32 };

/* A plane of lines along x, every `step`-th, and a coil's samples of a smooth object with its middle at k = (x, y), of
 * 1000 times the noise. */
typedef struct plane {
    mri_scan scan;
    scan_trajectory at;
    float complex *data;
    bool *bad;
} plane;

static plane make(int step, double x, double y)
{
    plane p = {.scan = {.matrix = {N, N, 1}}, .at = {.samples = N * (N / step)}};
    p.at.k = allocate(3 * (size_t)p.at.samples * sizeof *p.at.k);
    p.data = allocate((size_t)p.at.samples * sizeof *p.data);
    p.bad = calloc((size_t)p.at.samples, sizeof *p.bad);
    for (int64_t m = 0; m < p.at.samples; m++) {
        const double kx = (double)(m % N - N / 2), ky = (double)(m / N * step - N / 2);
        p.at.k[3 * m] = (float)kx;
        p.at.k[3 * m + 1] = (float)ky;
        p.at.k[3 * m + 2] = 0;
        p.data[m] = (float complex)(1000 * exp(-(pow(kx - x, 2) + pow(ky - y, 2)) / 8) + random_complex());
    }
    return p;
}

static void drop(plane *p)
{
    FREE_ALL(p->at.k, p->at.weights, p->data, p->bad);
}

static int64_t found(vf_context *ctx, plane *p, double *ratio)
{
    spike_cells c;
    *ratio = 0;
    assert_int_equal(spike_cells_make(ctx, &p->scan, &p->at, &c), VF_OK);
    assert_int_equal(c.readouts, p->at.samples / N);
    const int64_t count = find_spikes(&p->at, &c, p->data, p->bad, ratio);
    spike_cells_free(&c);
    return count;
}

/* A sample, several, and a line of 100 times the object's strongest sample. The object's support is that of neighbours a
 * line apart, exp(-step^2 / 8) of it. */
static void test_spikes(void **state)
{
    for (int step = 1; step <= 2; step++) {
        double ratio;
        plane p = make(step, 0, 0);
        assert_int_equal(found(*state, &p, &ratio), 0);
        p.data[5 * N + 7] = 1e5F;
        assert_int_equal(found(*state, &p, &ratio), 1);
        assert_true(p.bad[5 * N + 7]);
        assert_near(ratio, 100 / exp(-step * step / 8.0), 2);
        p.data[2 * N + 25] = 3e5F * I;
        p.data[12 * N + 20] = 2e5F;
        assert_int_equal(found(*state, &p, &ratio), 2); /* new ones */
        for (int x = 0; x < N; x++)
            p.data[14 * N + x] = 1e5F * (float complex)cexp(I * x);
        assert_int_equal(found(*state, &p, &ratio), N);
        drop(&p);
    }
}

/* What stays: an object whose middle is far from that of k-space, or at a single sample; waves alone in noise; samples
 * less than ALONE times above the object; samples of weight 0, which count for nothing. */
static void test_objects(void **state)
{
    double ratio;
    plane p = make(1, 10, -9);
    assert_int_equal(found(*state, &p, &ratio), 0);
    p.data[5 * N + 7] = 15e3F;
    assert_int_equal(found(*state, &p, &ratio), 0);
    drop(&p);

    p = make(1, 0, 0);
    for (int64_t m = 0; m < p.at.samples; m++)
        p.data[m] = (float complex)random_complex();
    p.data[5 * N + 7] = 1e5F;
    assert_int_equal(found(*state, &p, &ratio), 0);
    p.data[27 * N + 25] = 1e5F;
    assert_int_equal(found(*state, &p, &ratio), 0);
    drop(&p);

    p = make(1, 0, 0); /* nearly the whole signal is in one sample, and its neighbours are the object's, too */
    for (int64_t m = 0; m < p.at.samples; m++)
        p.data[m] = (float complex)(1e5 / (1 + 100 * hypot(m % N - 20, m / N - 9)) + 0.1 * random_complex());
    assert_int_equal(found(*state, &p, &ratio), 0);
    drop(&p);

    p = make(1, 0, 0);
    p.data[5 * N + 7] = 1e5F;
    p.at.weights = allocate((size_t)p.at.samples * sizeof *p.at.weights);
    for (int64_t m = 0; m < p.at.samples; m++)
        p.at.weights[m] = m == 5 * N + 7 ? 0 : 1;
    assert_int_equal(found(*state, &p, &ratio), 0);
    drop(&p);
}

/* Runs of even steps as one pass finds them, in place of the threads' pieces: a step of a run is that between its first two
 * samples to 2 %. */
static void one_pass(const scan_trajectory *at, int32_t *number)
{
    int64_t first = 0;
    int32_t runs = 0;
    for (int64_t m = 0; m < at->samples; m++) {
        double apart = 0, step = 0;
        for (int a = 0; a < 3 && m > first + 1; a++) {
            const float *k = at->k + a;
            const double own = (double)k[3 * m] - (double)k[3 * m - 3],
                         of_run = (double)k[3 * first + 3] - (double)k[3 * first];
            apart += fabs(own - of_run);
            step += fabs(of_run);
        }
        if (!(apart <= 0.02 * step)) {
            first = m;
            runs++;
        }
        number[m] = runs;
    }
}

/* Straight runs of most lengths, some longer than several pieces; then a curve whose steps grow slowly, so that where runs
 * begin depends on where those before did. */
static void fill_runs(float *k, int64_t count, int64_t longest, double growth)
{
    double at[3] = {0}, step[3] = {1, 0, 0};
    int64_t left = 0;
    for (int64_t m = 0; m < count; m++, left--) {
        for (int a = 0; a < 3; a++) {
            if (left == 0) {
                at[a] = uniform() - 0.5;
                step[a] = (uniform() - 0.5) * 1e-3;
            }
            k[3 * m + a] = (float)at[a];
            at[a] += step[a];
            step[a] *= growth;
        }
        if (left == 0)
            left = 1 + (int64_t)(uniform() * (double)longest);
    }
}

static void test_runs(void **state)
{
    enum { MOST = 5 * SPIKE_PIECE };
    static const int64_t sizes[] = {1, 2, SPIKE_PIECE - 1, SPIKE_PIECE, SPIKE_PIECE + 1, SPIKE_PIECE + 2, MOST - 7};
    static const int64_t longest[] = {1, 3, 200, 3 * SPIKE_PIECE, 10 * SPIKE_PIECE};
    mri_scan scan = {.matrix = {N, N, N}};
    scan_trajectory at = {.k = allocate(3 * MOST * sizeof *at.k)};
    int32_t *expected = allocate(MOST * sizeof *expected);
    vf_context_set_team_work(*state, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof longest / sizeof *longest; j++)
            for (int threads = 1; threads <= 3; threads += 2) {
                spike_cells c;
                at.samples = sizes[i];
                fill_runs(at.k, at.samples, longest[j], threads == 1 ? 1 : 1.0007);
                one_pass(&at, expected);
                assert_int_equal(vf_context_set_threads(*state, threads), VF_OK);
                assert_int_equal(spike_cells_make(*state, &scan, &at, &c), VF_OK);
                assert_memory_equal(c.readout, expected, (size_t)at.samples * sizeof *expected);
                assert_int_equal(c.readouts, expected[at.samples - 1] + 1);
                spike_cells_free(&c);
            }
    FREE_ALL(at.k, expected);
}

static int set_up(void **state)
{
    return vf_context_create((vf_context **)state) == VF_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    vf_context_destroy(*state);
    return 0;
}

TEST_MAIN(set_up, tear_down, cmocka_unit_test(test_spikes), cmocka_unit_test(test_objects), cmocka_unit_test(test_runs))
