/* Coil compression with a mixture of its own at each position along complete readouts, by its algebra. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "coils/coil_stages.h"
#include "free_all.h"
#include "test_main.h"

enum { COILS = 16, RANK = 3, ALONG = 32, ACROSS = 112, VOXELS = ALONG * ACROSS, FRAMES = 3 };

/* A scan whose readouts are along `axis`, and its images. Coil c sees sum_j a_cj(n) b_j(l) at voxel n of a readout and l
 * across: RANK coils at each n, and three times as many in all, because a has three frequencies. */
typedef struct made_scan {
    mri_scan scan;
    int axis;
    double complex image[FRAMES][VOXELS]; /* [across][along] */
} made_scan;

/* exp(-2 pi i k n / length), for a length of ALONG or ACROSS */
static double complex turn(int64_t k, int64_t n, int64_t length)
{
    static double complex table[2][ACROSS];
    double complex *of = table[length == ACROSS];
    if (of[0] == 0)
        for (int64_t i = 0; i < length; i++)
            of[i] = cexp(-2 * M_PI * I * (double)i / (double)length);
    return of[(k * n % length + length) % length];
}

static int64_t voxel_of(const made_scan *m, int64_t along, int64_t across)
{
    return m->axis == 0 ? across * ALONG + along : along * ACROSS + across;
}

static void set_maps(made_scan *m)
{
    double complex *u = random_unitary(COILS); /* a: three orthonormal rows for each j, of equal strength */
    for (int64_t i = 0; i < (int64_t)COILS * VOXELS; i++)
        m->scan.sensitivity[i] = 0;
    for (int j = 0; j < RANK; j++)
        for (int l = 0; l < ACROSS; l++) {
            const double complex across = turn(j * l, 1, ACROSS); /* b: orthogonal, too */
            for (int c = 0; c < COILS; c++)
                for (int f = -1; f <= 1; f++)
                    for (int n = 0; n < ALONG; n++)
                        m->scan.sensitivity[c * VOXELS + voxel_of(m, n, l)] +=
                            (float complex)(u[(3 * j + f + 1) * COILS + c] * turn(f, n + ALONG, ALONG) * across);
        }
    free(u);
}

/* The data of one coil by its map: d(k) = sum s rho exp(-2 pi i k n / N), n from the middle. Lines and samples in the order
 * of the scan: k falls along every second readout. */
static void encode(const made_scan *m, int frame, const float complex *map, double complex *data)
{
    static double complex half[VOXELS];
    for (int l = 0; l < ACROSS; l++)
        for (int k = 0; k < ALONG; k++) {
            half[l * ALONG + k] = 0;
            for (int n = 0; n < ALONG; n++)
                half[l * ALONG + k] += (double complex)map[voxel_of(m, n, l)] * m->image[frame][l * ALONG + n] *
                                       turn((k - ALONG / 2 + ALONG) * (n - ALONG / 2 + ALONG), 1, ALONG);
        }
    for (int line = 0; line < ACROSS; line++)
        for (int i = 0; i < ALONG; i++) {
            const int k = line % 2 ? ALONG - 1 - i : i;
            data[line * ALONG + i] = 0;
            for (int l = 0; l < ACROSS; l++)
                data[line * ALONG + i] +=
                    half[l * ALONG + k] * turn((line - ACROSS / 2 + ACROSS) * (l - ACROSS / 2 + ACROSS), 1, ACROSS);
        }
}

static made_scan *make_scan(int axis)
{
    made_scan *m = allocate(sizeof *m);
    double complex *data = allocate(VOXELS * sizeof *data);
    *m = (made_scan){.axis = axis};
    m->scan = (mri_scan){.path = "made", .fov = {1, 1, 1}, .coils = COILS, .trajectories = 1, .frames = FRAMES};
    m->scan.matrix[axis] = ALONG;
    m->scan.matrix[1 - axis] = ACROSS;
    m->scan.matrix[2] = m->scan.places = m->scan.map_sets = 1;
    memcpy(m->scan.crop, m->scan.matrix, sizeof m->scan.crop);
    m->scan.whitened = true;
    m->scan.trajectory = allocate(sizeof *m->scan.trajectory);
    m->scan.trajectory[0] = (scan_trajectory){.samples = VOXELS, .k = allocate(3 * VOXELS * sizeof(float))};
    for (int i = 0; i < VOXELS; i++) {
        float *k = m->scan.trajectory[0].k + (ptrdiff_t)3 * i;
        const int line = i / ALONG, at = i % ALONG;
        k[axis] = (float)((line % 2 ? ALONG - 1 - at : at) - ALONG / 2);
        k[1 - axis] = (float)(line - ACROSS / 2);
        k[2] = 0;
    }
    m->scan.trajectory[0].weights = allocate(VOXELS * sizeof(float));
    for (int i = 0; i < VOXELS; i++)
        m->scan.trajectory[0].weights[i] = 1;
    m->scan.sensitivity = allocate((size_t)COILS * VOXELS * sizeof *m->scan.sensitivity);
    set_maps(m);
    m->scan.frame = allocate(FRAMES * sizeof *m->scan.frame);
    for (int f = 0; f < FRAMES; f++) {
        m->scan.frame[f] = (scan_frame){.data = allocate((size_t)COILS * VOXELS * sizeof(float complex))};
        for (int i = 0; i < VOXELS; i++)
            m->image[f][i] = random_complex();
        for (int c = 0; c < COILS; c++) {
            encode(m, f, m->scan.sensitivity + (ptrdiff_t)c * VOXELS, data);
            for (int i = 0; i < VOXELS; i++)
                m->scan.frame[f].data[c * VOXELS + i] = (float complex)data[i];
        }
    }
    free(data);
    return m;
}

static void free_made(made_scan *m)
{
    for (int f = 0; f < FRAMES; f++)
        free(m->scan.frame[f].data);
    FREE_ALL(m->scan.trajectory[0].k, m->scan.trajectory[0].weights, m->scan.trajectory[0].time, m->scan.field_map);
    FREE_ALL(m->scan.trajectory, m->scan.frame, m->scan.sensitivity, m->scan.density, m);
}

static double energy_of(const mri_scan *s)
{
    double sum = 0;
    for (int f = 0; f < s->frames; f++)
        for (int64_t i = 0; i < (int64_t)s->coils * VOXELS; i++)
            sum += square(s->frame[f].data[i]);
    return sum;
}

/* Whatever the components are, the compressed data are the images through the compressed maps, and the energy that is said
 * to be kept is that of the data. Single precision: sums of 16 coils, and two transforms of 32, whose errors are some 1e-7
 * of the root mean square; 1e-5 of it is allowed. */
static void test_maps_and_data_stay_together(void **state)
{
    double complex *expected = allocate(VOXELS * sizeof *expected);
    for (int axis = 0; axis < 2; axis++)
        for (int keep = 1; keep < COILS; keep += 4) {
            made_scan *m = make_scan(axis);
            coil_choice made;
            const double before = energy_of(&m->scan), scale = sqrt(before / (FRAMES * VOXELS));
            assert_int_equal(compress_coils(*state, &m->scan, keep, COMPRESS_GEOMETRIC, &made), VF_OK);
            assert_int_equal(m->scan.coils, keep);
            assert_int_equal(m->scan.compressed_along, axis + 1);
            assert_string_equal(made.along, axis ? "y" : "x");
            for (int f = 0; f < FRAMES; f++)
                for (int c = 0; c < keep; c++) {
                    encode(m, f, m->scan.sensitivity + (ptrdiff_t)c * VOXELS, expected);
                    for (int i = 0; i < VOXELS; i++)
                        assert_near(cabs((double complex)m->scan.frame[f].data[c * VOXELS + i] - expected[i]), 0,
                                    1e-5 * scale);
                }
            assert_near(energy_of(&m->scan) / before, made.kept, 1e-5);
            free_made(m);
        }
    free(expected);
}

/* Three components at each position have all but what the coils change between neighbours. The components are those of the
 * voxels around, whose squared distances have the mean 2.9, so a turns by delta with <delta^2> = 2.9 (2 pi / 32)^2 = 0.11, and
 * the mean of a(n + delta) is a + <delta^2> / 2 a''. Of |a|^2 = 3, |a''|^2 = 2, and 2/3 of it are across a, so that is 0.055^2
 * x 2 / 9 = 0.07 %; 1 % is allowed. One mixture for all has nine even ones to choose from, of which three are a third; the
 * images are random, which changes a few per cent of it. */
static void test_fewer_coils_keep_more(void **state)
{
    made_scan *m = make_scan(0), *one = make_scan(0);
    coil_choice made;
    assert_int_equal(compress_coils(*state, &m->scan, RANK, COMPRESS_GEOMETRIC, &made), VF_OK);
    assert_true(made.kept > 0.99 && made.kept <= 1);
    assert_int_equal(compress_coils(*state, &one->scan, RANK, COMPRESS_BEST, &made), VF_OK); /* a number: principal */
    assert_near(made.kept, 1.0 / 3, 0.05);
    assert_true(made.along == NULL);
    free_made(m);
    free_made(one);
}

/* The rows of the mixture at each position are orthonormal, so white noise stays white. Here it is applied to unit vectors,
 * as maps: that of coil c at voxel c across. Neighbouring mixtures are alike, because they are aligned: with a turned by 0.2
 * they differ by that at most, times the root of 2, from the changes of 3 components; unaligned rows differ by 2. */
static void test_mixtures_are_orthonormal_and_aligned(void **state)
{
    made_scan *m = make_scan(0);
    coil_choice made;
    memset(m->scan.sensitivity, 0, (size_t)COILS * VOXELS * sizeof *m->scan.sensitivity);
    for (int c = 0; c < COILS; c++)
        for (int n = 0; n < ALONG; n++)
            m->scan.sensitivity[c * VOXELS + voxel_of(m, n, c)] = 1;
    assert_int_equal(compress_coils(*state, &m->scan, RANK, COMPRESS_GEOMETRIC, &made), VF_OK);
    for (int n = 0; n < ALONG; n++)
        for (int i = 0; i < RANK; i++) {
            const float complex *row = m->scan.sensitivity + (ptrdiff_t)i * VOXELS;
            double change = 0;
            for (int j = 0; j < RANK; j++) {
                double complex sum = 0;
                for (int c = 0; c < COILS; c++)
                    sum += (double complex)row[voxel_of(m, n, c)] *
                           conj((double complex)m->scan.sensitivity[j * VOXELS + voxel_of(m, n, c)]);
                assert_near(cabs(sum - (i == j)), 0, 2e-6);
            }
            for (int c = 0; c < COILS && n > 0; c++)
                change += square(row[voxel_of(m, n, c)] - row[voxel_of(m, n - 1, c)]);
            assert_near(sqrt(change), 0, 0.5);
        }
    free_made(m);
}

/* Noise of variance 1, and signal of the variance 1 in the mean over coils. */
static void add_noise(made_scan *m)
{
    const double rms = sqrt(energy_of(&m->scan) / (FRAMES * COILS * VOXELS));
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < COILS * VOXELS; i++) {
            double complex sum = 0; /* the random numbers have the variance 2/3 */
            for (int j = 0; j < 4; j++)
                sum += sqrt(1.5 / 4) * random_complex();
            m->scan.frame[f].data[i] = (float complex)((double complex)m->scan.frame[f].data[i] / rms + sum);
        }
}

/* The components of a position do not know its own samples, so they have no more of its noise than any others: 8 of 16 have
 * half, within 5 deviations of a sum of FRAMES x VOXELS x 16 powers, 0.01. */
static void test_noise_is_not_fitted(void **state)
{
    made_scan *m = make_scan(0);
    coil_choice made;
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < COILS * VOXELS; i++)
            m->scan.frame[f].data[i] = (float complex)random_complex();
    assert_int_equal(compress_coils(*state, &m->scan, COILS / 2, COMPRESS_GEOMETRIC, &made), VF_OK);
    assert_near(made.kept, 0.5, 0.01);
    free_made(m);
}

/* --compress auto takes the components of the positions if they are a quarter fewer. It does not with fewer lines than 8 for
 * each coil, with readouts that are not complete or have two weights, or with a field map; the method geometric is then
 * refused, but for few lines. The signal's energy is 16 times the noise's of a coil: 1.8 for each of nine components, where 0.16 may be left out
 * (virtual_coils.c). Three components of each position leave a thousandth (above) and, because noise turns them, 13 coils'
 * noise over some 1400 samples nearby, 0.03: together a quarter of what may be left. The noise of what is left scatters by a
 * fifth of it, so there may be a few more. */
static void test_when_it_is_chosen(void **state)
{
    for (int what = 0; what < 5; what++) {
        made_scan *m = make_scan(0), *other = make_scan(0);
        coil_choice made;
        for (int i = 0; i < 2; i++) {
            mri_scan *s = i ? &other->scan : &m->scan;
            add_noise(i ? other : m);
            s->frames = what == 1 ? 1 : FRAMES;
            if (what == 2)
                s->trajectory[0].k[0] += 1;
            if (what == 4)
                s->trajectory[0].weights[5] *= 2;
            if (what == 3) {
                s->field_map = allocate(VOXELS * sizeof *s->field_map);
                s->trajectory[0].time = allocate(VOXELS * sizeof(float));
            }
        }
        assert_int_equal(compress_coils(*state, &m->scan, COMPRESS_AUTO, COMPRESS_BEST, &made), VF_OK);
        assert_true((made.along != NULL) == (what == 0));
        assert_true(what == 0 ? made.to >= 3 && made.to <= 6 : made.to == 9);
        assert_true((strstr(made.text, "each position along x") != NULL) == (what == 0));
        assert_true(made.loss >= 0 && made.loss <= 0.1);
        assert_int_equal(compress_coils(*state, &other->scan, 4, COMPRESS_GEOMETRIC, &made),
                         what < 2 ? VF_OK : VF_ERR_ARGUMENT);
        vf_context_clear_error(*state);
        m->scan.frames = other->scan.frames = FRAMES;
        free_made(m);
        free_made(other);
    }
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    vf_context *ctx = *state;
    made_scan *m = make_scan(1), *same = make_scan(1);
    coil_choice made, again;
    for (int f = 0; f < FRAMES; f++)
        memcpy(same->scan.frame[f].data, m->scan.frame[f].data, (size_t)COILS * VOXELS * sizeof(float complex));
    memcpy(same->scan.sensitivity, m->scan.sensitivity, (size_t)COILS * VOXELS * sizeof(float complex));
    set_threads(ctx, 1);
    assert_int_equal(compress_coils(ctx, &m->scan, 5, COMPRESS_GEOMETRIC, &made), VF_OK);
    set_threads(ctx, 5);
    assert_int_equal(compress_coils(ctx, &same->scan, 5, COMPRESS_GEOMETRIC, &again), VF_OK);
    assert_true(made.kept == again.kept);
    for (int f = 0; f < FRAMES; f++)
        assert_memory_equal(m->scan.frame[f].data, same->scan.frame[f].data, 5 * VOXELS * sizeof(float complex));
    assert_memory_equal(m->scan.sensitivity, same->scan.sensitivity, 5 * VOXELS * sizeof(float complex));
    free_made(m);
    free_made(same);
}

/* Data of rank 1 leave the other components of a position to rounding, and a dead scan leaves all: mixtures are orthonormal
 * all the same, and nothing is NaN. */
static void test_of_nearly_nothing(void **state)
{
    for (int dead = 0; dead < 2; dead++) {
        made_scan *m = make_scan(0);
        coil_choice made;
        for (int f = 0; f < FRAMES; f++)
            for (int i = 0; i < COILS * VOXELS; i++)
                m->scan.frame[f].data[i] = dead ? 0 : m->scan.frame[f].data[i % VOXELS];
        const double before = energy_of(&m->scan);
        assert_int_equal(compress_coils(*state, &m->scan, RANK, COMPRESS_GEOMETRIC, &made), VF_OK);
        assert_near(energy_of(&m->scan), before, 1e-5 * before);
        assert_near(made.kept, 1, 1e-6);
        free_made(m);
    }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_maps_and_data_stay_together),
          cmocka_unit_test(test_fewer_coils_keep_more), cmocka_unit_test(test_mixtures_are_orthonormal_and_aligned),
          cmocka_unit_test(test_noise_is_not_fitted), cmocka_unit_test(test_when_it_is_chosen),
          cmocka_unit_test(test_bits_do_not_depend_on_threads), cmocka_unit_test(test_of_nearly_nothing))
