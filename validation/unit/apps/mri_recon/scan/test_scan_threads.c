/* What threads share while a scan is read: copies and conversions of arrays, the extent of a trajectory, its units,
 * samples on the grid, cells that have samples. Every number must be that of a plain loop, at sizes around the threads' blocks. */
#include <math.h>

#include "scan/scan_memory.h"
#include "scan/scan_units.h"
#include "scan/share_trajectories.h"
#include "scan_fixture.h"
#include "voxfield/team_size.h"

static int set_up_team(void **state)
{
    const int failed = set_up(state);
    vf_context_set_team_work(ctx, 0); /* small arrays get several threads, too */
    return failed || vf_context_set_threads(ctx, 3) != VF_OK;
}

static float number(int64_t i)
{
    return (float)((i * 7919) % 10007) / 10007.0f - 0.5f;
}

/* The largest of an axis may be anywhere, and negative. */
static void test_extent(void **state)
{
    (void)state;
    enum { MOST = 40000 };
    static const int64_t sizes[] = {0, 1, 15, 16, 17, 16383, 16384, 16385, MOST};
    static float k[3 * MOST];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int place = 0; place < 3; place++) {
            const int64_t n = sizes[i], at = place == 0 ? 0 : place == 1 ? n / 2 : n - 1;
            double found[3], expected[3] = {0};
            for (int64_t m = 0; m < 3 * n; m++)
                k[m] = number(m);
            for (int a = 0; n > 0 && a < 3; a++)
                k[3 * at + a] = a == 1 ? 3.25f : -2.5f - (float)a;
            for (int64_t m = 0; m < 3 * n; m++)
                expected[m % 3] = fmax(expected[m % 3], (double)fabsf(k[m]));
            scan_extent(ctx, k, n, found);
            assert_memory_equal(found, expected, sizeof found);
        }
}

static void test_scale(void **state)
{
    (void)state;
    enum { SAMPLES = 5000 };
    scan_free(&s);
    s = (mri_scan){.matrix = {16, 24, 1}, .fov = {200, 300, 1}, .trajectories = 1};
    s.trajectory = calloc(1, sizeof *s.trajectory);
    s.trajectory->samples = SAMPLES;
    s.trajectory->k = calloc(3 * SAMPLES, sizeof *s.trajectory->k);
    for (int64_t m = 0; m < 3 * SAMPLES; m++)
        s.trajectory->k[m] = number(m);
    scan_scale_k(ctx, &s, K_NORMALIZED);
    for (int64_t m = 0; m < 3 * SAMPLES; m++)
        assert_true(s.trajectory->k[m] == number(m) * (float)s.matrix[m % 3]);
}

/* Arrays of a caller, in single and double precision. */
static void test_arrays(void **state)
{
    (void)state;
    enum { FRAMES = 2, COILS = 3, SAMPLES = 30011, VALUES = 2 * FRAMES * COILS * SAMPLES };
    double *wide = calloc(VALUES, sizeof *wide), *wide_k = calloc(3 * SAMPLES, sizeof *wide_k);
    float *narrow = calloc(VALUES, sizeof *narrow), *narrow_k = calloc(3 * SAMPLES, sizeof *narrow_k);
    for (int64_t i = 0; i < VALUES; i++) {
        wide[i] = 1 / (1.5 + (double)i); /* not exact in single precision */
        narrow[i] = (float)wide[i];
    }
    for (int64_t i = 0; i < 3 * SAMPLES; i++) {
        wide_k[i] = 14.0 * (double)number(i) + (i == 0 ? 1e-9 : 0);
        narrow_k[i] = (float)wide_k[i];
    }
    for (int twice = 0; twice < 2; twice++) {
        const vf_mri_scan given = {.data = {.data = twice ? (void *)wide : (void *)narrow,
                                            .type = twice ? VF_C128 : VF_C64,
                                            .rank = 3,
                                            .dims = {FRAMES, COILS, SAMPLES}},
                                   .trajectory = {.data = twice ? (void *)wide_k : (void *)narrow_k,
                                                  .type = twice ? VF_F64 : VF_F32,
                                                  .rank = 2,
                                                  .dims = {SAMPLES, 3}},
                                   .matrix = {16, 16, 16}};
        scan_free(&s);
        need(read_scan_memory(ctx, &given, &(scan_request){.group = NULL}, &s));
        assert_int_equal(s.frames, FRAMES);
        assert_memory_equal(s.trajectory->k, narrow_k, 3 * SAMPLES * sizeof *narrow_k);
        for (int f = 0; f < FRAMES; f++)
            assert_memory_equal(s.frame[f].data, narrow + VALUES / FRAMES * f, sizeof *narrow * VALUES / FRAMES);
    }
    free(wide);
    free(narrow);
    free(wide_k);
    free(narrow_k);
}

/* Samples on the grid: which positions have some, and their copies, by columns, by rows, and in place. */
static void test_grid(void **state)
{
    (void)state;
    enum { NX = 97, NY = 131, COILS = 5, POSITIONS = NX * NY }; /* several blocks of positions */
    static float complex data[COILS * POSITIONS], found[COILS * POSITIONS], expected[COILS * POSITIONS];
    static unsigned char acquired[POSITIONS];
    scan_free(&s);
    s = (mri_scan){.matrix = {NX, NY, 1}, .coils = COILS};
    for (int way = 0; way < 3; way++) {
        const bool columns = way == 0, in_place = way == 2;
        scan_pattern pattern = {.acquired = acquired, .columns = columns};
        int64_t kept = 0;
        for (int64_t i = 0; i < POSITIONS; i++)
            for (int64_t c = 0; c < COILS; c++) /* at every third position, only one coil has something */
                data[c * POSITIONS + i] = i % 3 == 0 && c == i % COILS ? number(i) + (number(c) + 1) * I : 0;
        memset(acquired, 1, sizeof acquired);
        scan_mark_acquired(ctx, COILS, POSITIONS, data, acquired);
        for (int64_t i = 0; i < POSITIONS; i++) {
            assert_int_equal(acquired[i], i % 3 == 0);
            pattern.samples += acquired[i];
        }
        for (int64_t c = 0; c < COILS; c++)
            for (int64_t i = 0; i < POSITIONS; i++) {
                const int64_t at = columns ? i % NY * NX + i / NY : i;
                if (acquired[at])
                    expected[kept++] = data[c * POSITIONS + at] * 3;
            }
        scan_keep_acquired(ctx, &pattern, &s, 3, data, in_place ? data : found);
        assert_memory_equal(in_place ? data : found, expected, sizeof *expected * (size_t)kept);
    }
}

/* Some cells of a box, among them its corners, in an order that jumps, and some of them twice: the undersampling is the
 * number of cells over that of different samples. There are more samples than are counted at a time. */
static void test_sampling(void **state)
{
    (void)state;
    enum { NX = 61, NY = 60, NZ = 95, CELLS = NX * NY * NZ };
    scan_free(&s);
    s = (mri_scan){.matrix = {NX, NY, NZ}, .crop = {NX, NY, NZ}, .trajectories = 1};
    s.trajectory = calloc(1, sizeof *s.trajectory);
    s.trajectory->k = calloc(2 * 3 * CELLS, sizeof *s.trajectory->k);
    int64_t samples = 0, different = 0;
    for (int64_t i = 0; i < 2 * CELLS; i++) { /* the second time after all others */
        const int64_t cell = i * 7919 % CELLS, at[3] = {cell % NX, cell / NX % NY, cell / NX / NY};
        const bool corner = (at[0] == 0 || at[0] == NX - 1) && (at[1] == 0 || at[1] == NY - 1);
        const int times = corner || cell % 5 == 2 ? 2 : cell % 3 > 0;
        if (i / CELLS >= times)
            continue;
        for (int a = 0; a < 3; a++)
            s.trajectory->k[3 * samples + a] = (float)(at[a] - s.matrix[a] / 2);
        samples++;
        different += i < CELLS;
    }
    s.trajectory->samples = samples;
    assert_true(samples > 1 << 18);
    scan_sampling alone = {0};
    for (int threads = 1; threads <= 5; threads++) {
        scan_sampling found;
        assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
        assert_int_equal(scan_measure_sampling(ctx, &s, &found), VF_OK);
        alone = threads == 1 ? found : alone;
        assert_true(found.mean == (double)CELLS / (double)different);
        assert_memory_equal(&found, &alone, sizeof found);
    }
    assert_int_equal(vf_context_set_threads(ctx, 3), VF_OK);
}

TEST_MAIN(set_up_team, tear_down, cmocka_unit_test(test_extent), cmocka_unit_test(test_scale),
          cmocka_unit_test(test_arrays), cmocka_unit_test(test_grid), cmocka_unit_test(test_sampling))
