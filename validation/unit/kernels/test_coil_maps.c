/* Coil maps of mri_recon: Walsh's against an independently computed eigenvector of each voxel, and against known
 * maps; the selection of the centre of k-space; the root of the sum of squares. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "coil_maps.h"
#include "free_all.h"
#include "test_main.h"
#include "voxfield/dense.h"

enum { REACH = 2 };               /* as documented: boxes of 5 voxels along each axis */
static const double faint = 1e-3; /* as documented: below this share of the largest signal, maps are 0 */

typedef struct box {
    int64_t n[3];
    int coils;
} box;

static int64_t voxels_of(const box *b)
{
    return b->n[0] * b->n[1] * b->n[2];
}

/* ---- every voxel by definition ---- */

/* The eigenvalues and the first eigenvector of the local covariance at voxel (x, y, z), in double precision. */
static void local_eigen(const box *b, const float complex *images, const int64_t at[3], double *values,
                        double complex *vectors)
{
    int coils = b->coils;
    double complex *r = allocate((size_t)(coils * coils) * sizeof *r);
    memset(r, 0, (size_t)(coils * coils) * sizeof *r);
    for (int64_t z = at[2] - REACH; z <= at[2] + REACH; z++)
        for (int64_t y = at[1] - REACH; y <= at[1] + REACH; y++)
            for (int64_t x = at[0] - REACH; x <= at[0] + REACH; x++) {
                if (x < 0 || y < 0 || z < 0 || x >= b->n[0] || y >= b->n[1] || z >= b->n[2])
                    continue;
                int64_t n = (z * b->n[1] + y) * b->n[0] + x;
                for (int i = 0; i < coils; i++)
                    for (int j = 0; j < coils; j++)
                        r[i * coils + j] += (double complex)images[i * voxels_of(b) + n] *
                                            conj((double complex)images[j * voxels_of(b) + n]);
            }
    vf_hermitian_eigen(coils, r, values, vectors);
    free(r);
}

static int strongest_coil(const box *b, const float complex *images)
{
    int best = 0;
    double most = -1;
    for (int c = 0; c < b->coils; c++) {
        double sum = 0;
        for (int64_t n = 0; n < voxels_of(b); n++)
            sum += square(images[c * voxels_of(b) + n]);
        best = sum > most ? c : best;
        most = sum > most ? sum : most;
    }
    return best;
}

/* Length, direction and phase of every map. The iteration starts with one step from the strongest coil's unit
 * vector, whose component along the eigenvector is at least 1 / sqrt(coils). Five steps of the power method then
 * leave (l2 / l1)^6 sqrt(coils) of the others. So voxels where l2 / l1 is at most 0.1 must agree to 3e-6 and single
 * precision (1e-5 together). */
static void check_by_definition(const box *b, const float complex *images, const float complex *maps)
{
    int64_t total = voxels_of(b), checked = 0;
    int phase_coil = strongest_coil(b, images);
    double values[16], largest = 0;
    double complex vectors[16 * 16];
    for (int pass = 0; pass < 2; pass++)
        for (int64_t n = 0; n < total; n++) {
            int64_t at[3] = {n % b->n[0], n / b->n[0] % b->n[1], n / (b->n[0] * b->n[1])};
            local_eigen(b, images, at, values, vectors);
            if (pass == 0) {
                largest = fmax(largest, values[0]);
                continue;
            }
            double length = 0, signal = sqrt(values[0] / largest), expected = signal > faint ? 1 : 0;
            double complex dot = 0;
            for (int c = 0; c < b->coils; c++) {
                length += square(maps[c * total + n]);
                dot += conj(vectors[c]) * maps[c * total + n];
            }
            float complex reference = maps[phase_coil * total + n];
            assert_true(cimagf(reference) == 0 && crealf(reference) >= 0);
            if ((b->coils > 1 && !(values[1] <= 0.1 * values[0])) || fabs(signal / faint - 1) < 1e-4)
                continue; /* or in between, because of rounding */
            assert_near(sqrt(length), expected, 1e-5);
            assert_near(cabs(dot), expected, 1e-5);
            checked++;
        }
    assert_true(checked > total / 4); /* otherwise the test is meaningless */
}

/* Smooth maps over a random object with a hole and noise: rank one within a box, up to some per cent. */
static float complex *lively_images(const box *b, double noise)
{
    int64_t total = voxels_of(b);
    float complex *images = allocate((size_t)(b->coils * total) * sizeof *images);
    for (int64_t n = 0; n < total; n++) {
        double x = (double)(n % b->n[0]), y = (double)(n / b->n[0] % b->n[1]), z = (double)(n / (b->n[0] * b->n[1]));
        double complex object = n % 7 == 0 ? 0 : 2 + random_complex();
        if (x > 8 && x < 16)
            object *= 1e-3; /* faint, so that voxels lie on both sides of the threshold */
        for (int c = 0; c < b->coils; c++) {
            double complex map =
                cexp(I * (c + 0.03 * (c - 1) * x + 0.02 * y)) * (1.5 + sin(c + 0.05 * (x + c * y - z)));
            images[c * total + n] = (float complex)(1e4 * (object * map + noise * random_complex()));
        }
    }
    return images;
}

static void test_against_the_definition(void **state)
{
    static const box boxes[] = {{{1, 1, 1}, 3},  {{19, 1, 1}, 2},  {{33, 14, 1}, 5}, {{1, 5, 9}, 4},
                                {{16, 9, 6}, 8}, {{17, 10, 3}, 1}, {{4, 3, 2}, 16},  {{21, 17, 11}, 4}};
    for (size_t k = 0; k < sizeof boxes / sizeof *boxes; k++) {
        const box *b = &boxes[k];
        float complex *images = lively_images(b, k % 2 ? 2 : 1e-4), *maps = random_images(b->coils, voxels_of(b));
        assert_int_equal(vf_coil_maps_walsh(*state, b->n, b->coils, images, maps), VF_OK);
        check_by_definition(b, images, maps);
        free(maps);
        free(images);
    }
}

/* In place, with any number of threads, and from data of any scale. Squares of 1e-25 and 1e25 exceed a float's
 * range. */
static void test_same_bits(void **state)
{
    vf_context *ctx = *state;
    const box b = {{37, 29, 8}, 3};
    int64_t count = b.coils * voxels_of(&b);
    float complex *images = lively_images(&b, 0.1), *maps = copy_of(images, count), *other = copy_of(images, count);
    set_threads(ctx, 1);
    assert_int_equal(vf_coil_maps_walsh(ctx, b.n, b.coils, images, maps), VF_OK);
    for (int threads = 2; threads <= 7; threads += 5) {
        memcpy(other, images, (size_t)count * sizeof *other);
        set_threads(ctx, threads);
        assert_int_equal(vf_coil_maps_walsh(ctx, b.n, b.coils, other, other), VF_OK);
        assert_memory_equal(other, maps, (size_t)count * sizeof *maps);
    }
    for (int exponent = -100; exponent <= 100; exponent += 200) { /* powers of 2: no rounding */
        for (int64_t n = 0; n < count; n++)
            other[n] = ldexpf(crealf(images[n]), exponent) + ldexpf(cimagf(images[n]), exponent) * I;
        assert_int_equal(vf_coil_maps_walsh(ctx, b.n, b.coils, other, other), VF_OK);
        for (int64_t n = 0; n < count; n++)
            assert_near(cabsf(other[n] - maps[n]), 0, 1e-6);
    }
    FREE_ALL(other, maps, images);
}

/* The scale is that of the largest part of either sign: maps of -x are those of x. Here all of x is negative. */
static void test_sign(void **state)
{
    const box b = {{19, 14, 6}, 3};
    const int64_t count = b.coils * voxels_of(&b);
    float complex *images = lively_images(&b, 0.1), *maps = copy_of(images, count), *other = copy_of(images, count);
    for (int64_t n = 0; n < count; n++)
        images[n] = -fabsf(crealf(images[n])) - fabsf(cimagf(images[n])) * I;
    assert_int_equal(vf_coil_maps_walsh(*state, b.n, b.coils, images, maps), VF_OK);
    check_by_definition(&b, images, maps);
    for (int64_t n = 0; n < count; n++)
        images[n] = -images[n];
    assert_int_equal(vf_coil_maps_walsh(*state, b.n, b.coils, images, other), VF_OK);
    for (int64_t n = 0; n < count; n++)
        assert_true(maps[n] == other[n]);
    FREE_ALL(other, maps, images);
}

static void test_nothing_to_see(void **state)
{
    vf_context *ctx = *state;
    const box b = {{9, 8, 7}, 3};
    int64_t count = b.coils * voxels_of(&b);
    float complex *images = random_images(b.coils, voxels_of(&b));
    memset(images, 0, (size_t)count * sizeof *images);
    assert_int_equal(vf_coil_maps_walsh(ctx, b.n, b.coils, images, images), VF_OK);
    for (int64_t n = 0; n < count; n++)
        assert_true(images[n] == 0);
    images[voxels_of(&b) + 5] = NAN;
    assert_int_equal(vf_coil_maps_walsh(ctx, b.n, b.coils, images, images), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "coil 1"));
    vf_context_clear_error(ctx);
    free(images);
}

/* ---- against known maps ---- */

enum { SIDE = 48, RING = 8 };

static double complex true_map(int c, double x, double y, double z)
{
    double angle = 2 * M_PI * c / RING, dx = x - 0.8 * cos(angle), dy = y - 0.8 * sin(angle), dz = z - 0.2 * (c % 2);
    return cexp(I * (angle + 0.7 * (x - y) * (c % 3))) * exp(-(dx * dx + dy * dy + dz * dz));
}

static double object_at(double x, double y, double z)
{
    double r = sqrt(x * x + y * y / 0.64 + z * z);
    return r > 0.4 ? 0 : 1 + 0.5 * sin(20 * x) * cos(17 * y + z);
}

/* The largest angle between the directions of the maps at two voxels at distance REACH along every axis. */
static double spread(const double complex *map, const double complex *there)
{
    double complex dot = 0;
    double a = 0, b = 0;
    for (int c = 0; c < RING; c++) {
        dot += conj(map[c]) * there[c];
        a += square(map[c]);
        b += square(there[c]);
    }
    return acos(fmin(1, cabs(dot) / sqrt(a * b)));
}

static double largest_spread(const double at[3])
{
    double complex here[RING], there[RING];
    double most = 0, d = REACH / (double)SIDE;
    for (int corner = -1; corner < 8; corner++) {
        for (int c = 0; c < RING; c++) {
            double complex map = true_map(c,
                                          at[0] + (corner < 0   ? 0
                                                   : corner & 1 ? d
                                                                : -d),
                                          at[1] + (corner < 0   ? 0
                                                   : corner & 2 ? d
                                                                : -d),
                                          at[2] + (corner < 0   ? 0
                                                   : corner & 4 ? d
                                                                : -d));
            *(corner < 0 ? &here[c] : &there[c]) = map;
        }
        most = corner < 0 ? most : fmax(most, spread(here, there));
    }
    return most;
}

/* Eight coils around an object, with noise of 3 % of a voxel's signal. The angle between the estimated map and the
 * true one has two parts. (1) Without noise: if the true maps in the box lie within an angle d of that at its
 * centre, the dominant eigenvector lies within 2 d of it. (A vector further away would have an angle of more than d
 * to all of them, and a smaller sum of squares than the centre's.) d is measured over the corners of the box. (2)
 * Noise of standard deviation s in each coil and K voxels of signal a: the first-order perturbation has components of
 * standard deviation s / (a sqrt K) in each of the coils - 1 other directions. Four times the root of their sum
 * exceeds the worst of 40,000 voxels. At the object's rim, half of a box is signal. */
static void test_known_maps(void **state)
{
    const box b = {{SIDE, SIDE, SIDE}, RING};
    const double noise = 0.03;
    int64_t total = voxels_of(&b), inside = 0, outside = 0;
    float complex *images = allocate((size_t)(RING * total) * sizeof *images);
    for (int64_t n = 0; n < total; n++) {
        double at[3] = {(double)(n % SIDE) / SIDE - 0.5, (double)(n / SIDE % SIDE) / SIDE - 0.5,
                        (double)(n / (SIDE * SIDE)) / SIDE - 0.5};
        for (int c = 0; c < RING; c++) /* uniform in a square: standard deviation noise / sqrt 1.5 */
            images[c * total + n] = (float complex)(object_at(at[0], at[1], at[2]) * true_map(c, at[0], at[1], at[2]) +
                                                    noise * sqrt(1.5) * random_complex());
    }
    assert_int_equal(vf_coil_maps_walsh(*state, b.n, b.coils, images, images), VF_OK);
    double sum_angle = 0;
    for (int64_t n = 0; n < total; n++) {
        double at[3] = {(double)(n % SIDE) / SIDE - 0.5, (double)(n / SIDE % SIDE) / SIDE - 0.5,
                        (double)(n / (SIDE * SIDE)) / SIDE - 0.5};
        double complex map[RING], found[RING];
        double length = 0, truth = 0;
        for (int c = 0; c < RING; c++) {
            map[c] = true_map(c, at[0], at[1], at[2]);
            found[c] = images[c * total + n];
            length += square(found[c]);
            truth += square(map[c]);
        }
        if (object_at(at[0], at[1], at[2]) == 0) {
            outside++;
            continue;
        }
        /* Signal of at least 0.5 in half of the box. */
        double perturbed = noise / (0.5 * sqrt(truth) * sqrt(62.0)) * sqrt(RING - 1);
        double angle = spread(map, found);
        assert_near(length, 1, 1e-5);
        if (!(angle <= 2 * largest_spread(at) + 4 * perturbed))
            fail_msg("voxel %lld: %.4f, allowed 2 * %.4f + 4 * %.4f", (long long)n, angle, largest_spread(at),
                     perturbed);
        sum_angle += angle;
        inside++;
    }
    assert_true(inside > 20000 && outside > 20000);
    assert_true(sum_angle / (double)inside < 0.03); /* on average: measured 0.013 */
    free(images);
}

/* Outside the boxes that reach the object, with almost no noise, maps are zero. */
static void test_outside_the_object(void **state)
{
    const box b = {{30, 30, 30}, 4};
    int64_t total = voxels_of(&b);
    float complex *images = allocate((size_t)(4 * total) * sizeof *images);
    for (int64_t n = 0; n < total; n++) {
        int64_t x = n % 30, y = n / 30 % 30, z = n / 900;
        bool inside = x >= 10 && x < 20 && y >= 10 && y < 20 && z >= 10 && z < 20;
        for (int c = 0; c < 4; c++)
            images[c * total + n] = (float complex)((inside ? 1 + c : 1e-5) * cexp(I * c));
    }
    assert_int_equal(vf_coil_maps_walsh(*state, b.n, b.coils, images, images), VF_OK);
    for (int64_t n = 0; n < total; n++) {
        int64_t x = n % 30, y = n / 30 % 30, z = n / 900;
        double length = 0;
        for (int c = 0; c < 4; c++)
            length += square(images[c * total + n]);
        if (x >= 8 && x < 22 && y >= 8 && y < 22 && z >= 8 && z < 22)
            assert_near(length, 1, 1e-5); /* a box reaches the object */
        else                              /* signal 2e-5; the largest is sqrt 30 */
            assert_true(length == 0);
    }
    free(images);
}

/* ---- calibration, root of the sum of squares ---- */

static void test_calibration(void **state)
{
    (void)state;
    enum { M = 7 };
    float k[M][3] = {{0, 0, 0}, {8, 0, 0}, {0, 0, -4}, {12, 0, 3}, {16, 0, 0}, {0, -17, 0}, {4, 4, 2}};
    const double k_cut[3] = {16, 16, 8}, flat[3] = {16, 16, 0};
    /* |k| / k_cut: 0, 1/2, 1/2, sqrt(9/16 + 9/64), 1, > 1, sqrt(3)/4 */
    const double share[M] = {0, 0.5, 0.5, sqrt(45) / 8, 1, 1, sqrt(3) / 4};
    float complex *data = random_images(2, M), out[2 * M];
    vf_taper_centre(M, &k[0][0], k_cut, 2, data, out);
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < M; m++) {
            double taper = share[m] < 1 ? 0.5 * (1 + cos(M_PI * share[m])) : 0;
            assert_near(cabsf(out[c * M + m] - (float)taper * data[c * M + m]), 0, 1e-5);
            assert_true(share[m] < 1 || out[c * M + m] == 0);
        }
    vf_taper_centre(M, &k[0][0], flat, 2, data, data); /* kz is ignored; in place */
    assert_near(cabsf(data[2] - 2 * out[2]), 0, 1e-5);
    free(data);
}

static void test_root_of_squares(void **state)
{
    (void)state;
    float complex images[3 * 2] = {3, 0, 4 * I, 0, 12, 0}, tall[2 * 1] = {3e30f, 4e30f * I}, out[2];
    vf_root_sum_of_squares(3, 2, images, out);
    assert_true(out[0] == 13 && out[1] == 0);
    vf_root_sum_of_squares(2, 1, tall, tall); /* squares beyond a float's range; in place */
    assert_near(cabsf(tall[0]) / 5e30, 1, 1e-6);
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_against_the_definition), cmocka_unit_test(test_same_bits),
          cmocka_unit_test(test_sign), cmocka_unit_test(test_nothing_to_see), cmocka_unit_test(test_known_maps),
          cmocka_unit_test(test_outside_the_object), cmocka_unit_test(test_calibration),
          cmocka_unit_test(test_root_of_squares))
