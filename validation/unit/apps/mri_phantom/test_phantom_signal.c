/* mri_phantom's signal against numerical integrals and images, and the laws of the Fourier transform. */

#include <math.h>

#include "context_fixture.h"
#include "free_all.h"
#include "mri_phantom.h"

enum { SAMPLES = 60 };
static const int64_t cube[3] = {16, 16, 16}, square[3] = {16, 16, 1};

/* Random k with |k_a| < reach and times, as a trajectory. */
typedef struct samples {
    float k[SAMPLES][3], time[SAMPLES];
    phantom_trajectory trajectory;
} samples;

static void make_samples(samples *s, double reach, int dimensions)
{
    phantom_random random = random_start(7, 7);
    memset(s, 0, sizeof *s);
    for (int m = 0; m < SAMPLES; m++) {
        for (int a = 0; a < dimensions; a++)
            s->k[m][a] = m == 0 ? 0 : (float)(reach * (2 * random_uniform(&random) - 1));
        s->time[m] = (float)(0.01 * random_uniform(&random));
    }
    s->trajectory = (phantom_trajectory){.sets = 1, .readouts = 1, .length = SAMPLES, .samples = SAMPLES};
    s->trajectory.k = s->k[0];
    s->trajectory.time = s->time;
}

static void signal(const phantom *object, const phantom_coils *coils, const phantom_field *field, const samples *s,
                   float complex *data)
{
    const int64_t *matrix = object->dimensions == 3 ? cube : square;
    assert_int_equal(phantom_signal(ctx, object, coils, field, &s->trajectory, 0, matrix, data), VF_OK);
}

static void plain_signal(const phantom *object, const samples *s, float complex *data)
{
    static const phantom_field none = {{0, 0, 0}};
    phantom_coils one;
    assert_int_equal(coils_make(ctx, 1, object->dimensions, 1, &one), VF_OK);
    signal(object, &one, &none, s, data);
    coils_free(&one);
}

/* ||a - b|| / ||b||; NaN stays NaN. */
static double distance(const float complex *a, const double complex *b, int64_t n)
{
    double off = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        double complex d = (double complex)a[i] - b[i];
        off += creal(d) * creal(d) + cimag(d) * cimag(d);
        size += creal(b[i]) * creal(b[i]) + cimag(b[i]) * cimag(b[i]);
    }
    return sqrt(off / size);
}

#define assert_below(value, most)                                                                                      \
    do {                                                                                                               \
        double value_ = (value), most_ = (most);                                                                       \
        if (!(value_ <= most_))                                                                                        \
            fail_msg("%s is %g, more than %g", #value, value_, most_);                                                 \
    } while (0)

/* ---- the transforms of ball and disk ---- */

/* Integral over the ball of exp(-i x s_z) = 2 pi int_0^1 (1 - u^2) cos(x u) du, over the disk 4 int_0^1 sqrt(1 -
 * u^2) cos(x u) du. With u = sin p both are smooth and periodic, so the midpoint rule converges faster than any
 * power.
 */
static double by_quadrature(double x, bool ball)
{
    enum { POINTS = 4000 };
    double sum = 0;
    for (int n = 0; n < POINTS; n++) {
        double p = M_PI / 2 * (n + 0.5) / POINTS, c = cos(p);
        sum += (ball ? 2 * M_PI * c * c * c : 4 * c * c) * cos(x * sin(p));
    }
    return sum * M_PI / 2 / POINTS;
}

static void test_ball_and_disk(void **state)
{
    (void)state;
    /* Both sides of each position where the formula changes, and far out. */
    static const double at[] = {0, 1e-9,     9e-5, 1.1e-4, 1e-3, 0.1,  0.5, 0.999999,
                                1, 1.000001, 2,    4.493,  10,   77.7, 300, 1000};
    for (size_t n = 0; n < sizeof at / sizeof *at; n++) {
        /* 4000 terms of size up to 2 pi: rounding about 1e-14 after the mean. */
        assert_below(fabs(phantom_ball_transform(at[n]) - by_quadrature(at[n], true)), 3e-14);
        assert_below(fabs(phantom_disk_transform(at[n]) - by_quadrature(at[n], false)), 3e-14);
    }
    assert_below(fabs(phantom_ball_transform(0) - 4 * M_PI / 3), 1e-15);
    assert_below(fabs(phantom_disk_transform(0) - M_PI), 1e-15);
}

/* ---- laws ---- */

static void test_middle_is_the_volume(void **state)
{
    (void)state;
    samples s;
    float complex data[SAMPLES];
    for (int kind = PHANTOM_SHEPP_LOGAN; kind <= PHANTOM_POINT; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++) {
            phantom object;
            double expected = 0, voxels = dimensions == 3 ? 4096 : 256;
            phantom_make((phantom_kind)kind, dimensions, 3, &object);
            make_samples(&s, 8, dimensions);
            plain_signal(&object, &s, data);
            for (int n = 0; n < object.shapes; n++) {
                const phantom_shape *e = &object.shape[n];
                double volume = dimensions == 3 ? 4 * M_PI / 3 * e->semi[0] * e->semi[1] * e->semi[2]
                                                : M_PI * e->semi[0] * e->semi[1];
                expected += e->value * (e->point ? 1 : voxels * volume);
            }
            assert_true(object.shapes > 0);
            assert_below(fabs(creal((double complex)data[0]) / expected - 1), 2e-7); /* rounded to float */
            assert_below(fabs(cimag((double complex)data[0]) / expected), 1e-15);
        }
}

static void test_a_real_object_has_hermitian_symmetry(void **state)
{
    (void)state;
    samples s;
    float complex data[SAMPLES], mirrored[SAMPLES];
    double complex expected[SAMPLES];
    phantom object;
    phantom_make(PHANTOM_ELLIPSOIDS, 3, 11, &object);
    make_samples(&s, 8, 3);
    plain_signal(&object, &s, data);
    for (int m = 0; m < SAMPLES; m++)
        for (int a = 0; a < 3; a++)
            s.k[m][a] = -s.k[m][a];
    plain_signal(&object, &s, mirrored);
    for (int m = 0; m < SAMPLES; m++)
        expected[m] = conj((double complex)data[m]);
    assert_below(distance(mirrored, expected, SAMPLES), 1e-7);
}

static void test_shift_and_linearity(void **state)
{
    (void)state;
    static const double by[3] = {0.07, -0.11, 0.05};
    samples s;
    float complex data[SAMPLES], shifted[SAMPLES];
    double complex expected[SAMPLES];
    phantom object, moved;
    phantom_make(PHANTOM_ELLIPSOIDS, 3, 12, &object);
    moved = object;
    for (int n = 0; n < moved.shapes; n++) {
        moved.shape[n].value *= -2.5;
        for (int a = 0; a < 3; a++)
            moved.shape[n].centre[a] += by[a];
    }
    make_samples(&s, 8, 3);
    plain_signal(&object, &s, data);
    plain_signal(&moved, &s, shifted);
    for (int m = 0; m < SAMPLES; m++) {
        double turns = by[0] * s.k[m][0] + by[1] * s.k[m][1] + by[2] * s.k[m][2];
        expected[m] = -2.5 * (double complex)data[m] * cexp(complex_of(0, -2 * M_PI * turns));
    }
    assert_below(distance(shifted, expected, SAMPLES), 2e-7);
}

/* ---- against an image: geometry, coils and field, computed by other code ---- */

/* The sum over fine voxels of image * map * exp(-i 2 pi (k.r + f t)). The image is the object convolved with a
 * voxel's box, so the sum is divided by the box's transform. */
static double complex sum_over_voxels(const int64_t fine[3], const float *image, const float complex *map,
                                      const float *field, const float k[3], double t)
{
    double complex sum = 0;
    double box = 1, coarse = fine[2] == 1 ? 256 : 4096;
    int64_t n = 0;
    for (int64_t z = 0; z < fine[2]; z++)
        for (int64_t y = 0; y < fine[1]; y++)
            for (int64_t x = 0; x < fine[0]; x++, n++) {
                double turns = k[0] * ((double)x / (double)fine[0] - 0.5) + k[1] * ((double)y / (double)fine[1] - 0.5) +
                               (fine[2] == 1 ? 0 : k[2] * ((double)z / (double)fine[2] - 0.5)) + field[n] * t;
                if (image[n] != 0)
                    sum += (double)image[n] * (double complex)map[n] * cexp(complex_of(0, -2 * M_PI * turns));
            }
    for (int a = 0; a < 3; a++) {
        double x = M_PI * k[a] / (double)fine[a];
        box *= fabs(x) > 1e-9 ? sin(x) / x : 1;
    }
    return sum / box * coarse / (double)(fine[0] * fine[1] * fine[2]);
}

static void compare_with_image(phantom_kind kind, int dimensions, int64_t coils, double hertz, double tolerance)
{
    int64_t edge = dimensions == 3 ? 64 : 256;
    int64_t fine[3] = {edge, edge, dimensions == 3 ? edge : 1}, voxels = fine[0] * fine[1] * fine[2];
    float *image = malloc((size_t)voxels * sizeof *image), *map = malloc((size_t)voxels * sizeof *map);
    float complex *sensitivity = malloc((size_t)(voxels * coils) * sizeof *sensitivity);
    float complex *data = malloc((size_t)(SAMPLES * coils) * sizeof *data);
    double complex *expected = malloc((size_t)(SAMPLES * coils) * sizeof *expected);
    assert_true(image && map && sensitivity && data && expected);
    phantom object;
    phantom_coils receivers;
    phantom_field field;
    samples s;
    phantom_make(kind, dimensions, 21, &object);
    field_make(hertz, dimensions, &field);
    assert_int_equal(coils_make(ctx, coils, dimensions, 1, &receivers), VF_OK);
    make_samples(&s, 2, dimensions);
    signal(&object, &receivers, &field, &s, data);
    assert_int_equal(phantom_voxels(ctx, &object, fine, image), VF_OK);
    coils_voxels(ctx, &receivers, fine, sensitivity);
    field_voxels(&field, fine, map);
    for (int64_t c = 0; c < coils; c++)
        for (int m = 0; m < SAMPLES; m++)
            expected[c * SAMPLES + m] = sum_over_voxels(fine, image, sensitivity + c * voxels, map, s.k[m], s.time[m]);
    for (int64_t c = 0; c < coils; c++)
        assert_below(distance(data + c * SAMPLES, expected + c * SAMPLES, SAMPLES), tolerance);
    coils_free(&receivers);
    FREE_ALL(image, map, sensitivity, data, expected);
}

/* Tolerances: an edge voxel is known to about half of the 8 points of an axis that the edge runs along, at random;
 * the sum over edge voxels leaves about 1e-5 of the whole. Coil and field are taken at a voxel's centre, so sinc(k /
 * N) replaces sinc((k - u) / N). The error is (pi / N)^2 (2 k u - u^2) / 6, where |k| is up to 2 and |u| (half a
 * cycle of the coil, and of the field 0.6) about 1 along an axis: up to 2e-3 for N = 64, 1e-4 for 256. A wrong sign,
 * angle, order of axes or shift gives 0.1 or more. */
static void test_against_image(void **state)
{
    (void)state;
    compare_with_image(PHANTOM_SHEPP_LOGAN, 2, 1, 0, 1e-4);
    compare_with_image(PHANTOM_ELLIPSOIDS, 2, 3, 60, 2e-4);
    compare_with_image(PHANTOM_SHEPP_LOGAN, 3, 1, 0, 1e-4);
    compare_with_image(PHANTOM_ELLIPSOIDS, 3, 1, 0, 1e-4);
    compare_with_image(PHANTOM_ELLIPSOIDS, 3, 3, 60, 2e-3);
}

/* The 2D phantom is a slice of the 3D one. */
static double value_in(const phantom *object, const double r[3])
{
    double sum = 0;
    for (int n = 0; n < object->shapes; n++) {
        const phantom_shape *e = &object->shape[n];
        double reach = 0;
        for (int axis = 0; axis < object->dimensions; axis++) {
            double along = 0;
            for (int a = 0; a < 3; a++)
                along += e->direction[axis][a] * (r[a] - e->centre[a]);
            reach += along * along / (e->semi[axis] * e->semi[axis]);
        }
        sum += reach < 1 ? e->value : 0;
    }
    return sum;
}

static void compare_slice(phantom_kind kind, double height, int shapes)
{
    phantom solid, slice;
    phantom_random random = random_start(5, 5);
    int different = 0, nonzero = 0;
    phantom_make(kind, 3, 1, &solid);
    slice = solid;
    phantom_cut(&slice, height);
    assert_int_equal(slice.dimensions, 2);
    if (shapes)
        assert_int_equal(slice.shapes, shapes);
    for (int n = 0; n < 100000; n++) {
        double x = random_uniform(&random) - 0.5, y = random_uniform(&random) - 0.5;
        double high = value_in(&solid, (double[]){x, y, height}), flat = value_in(&slice, (double[]){x, y, 0});
        different += !(fabs(high - flat) < 1e-12);
        nonzero += flat > 0;
    }
    assert_int_equal(different, 0);
    assert_in_range(nonzero, 20000, 80000);
}

static void test_slice_of_the_solid(void **state)
{
    (void)state;
    phantom flat, solid;
    compare_slice(PHANTOM_SHEPP_LOGAN, -0.125, 8); /* two lie high above it */
    compare_slice(PHANTOM_ELLIPSOIDS, 0, 0);
    compare_slice(PHANTOM_ELLIPSOIDS, 0.13, 0);
    phantom_make(PHANTOM_SHEPP_LOGAN, 3, 1, &solid);
    phantom_make(PHANTOM_SHEPP_LOGAN, 2, 1, &flat);
    phantom_cut(&solid, -0.125);
    assert_memory_equal(&flat, &solid, sizeof flat);
}

/* The layout of the picture: y down, the ventricles leaning outwards at the top. */
static void test_shepp_logan(void **state)
{
    (void)state;
    static const struct {
        double r[3], value;
    } known[] = {
        {{0, 0.455, 0}, 2},              /* skull */
        {{0.4, 0.4, 0}, 0},              /* air */
        {{0, 0.1, 0.1}, 1.2},            /* brain */
        {{0, -0.25, -0.125}, 1.4},       /* the large structure at the top */
        {{0, 0.25, -0.125}, 1.2},        /* not at the bottom */
        {{-0.11, 0, -0.125}, 1.0},       /* ventricles */
        {{-0.169, -0.181, -0.125}, 1.0}, /* their ends, 72 degrees from the x axis */
        {{-0.051, 0.181, -0.125}, 1.0},
        {{-0.169, 0.181, -0.125}, 1.2},
        {{0.154, -0.135, -0.125}, 1.0},
        {{0.066, 0.135, -0.125}, 1.0},
        {{0.154, 0.135, -0.125}, 1.2},
        {{-0.04, 0.325, -0.125}, 1.3}, /* the small ones at the bottom */
        {{0.03, 0.325, -0.125}, 1.3},
        {{0.03, 0.0525, 0.3125}, 1.4}, /* and high up */
        {{0, -0.05, 0.3125}, 1.0},
    };
    phantom object;
    phantom_make(PHANTOM_SHEPP_LOGAN, 3, 1, &object);
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (!(fabs(value_in(&object, known[n].r) - known[n].value) < 1e-9))
            fail_msg("point %zu: %g, expected %g", n, value_in(&object, known[n].r), known[n].value);
}

/* ---- coils ---- */

/* Each coil is most sensitive near the edge, at its own position, all alike; and its phase varies. */
static void check_peaks(const phantom_coils *receivers, const float complex *maps, int64_t voxels)
{
    int64_t peak[32];
    for (int64_t c = 0; c < receivers->coils; c++) {
        const float complex *map = maps + c * voxels;
        double lowest = M_PI, highest = -M_PI;
        peak[c] = 0;
        for (int64_t n = 0; n < voxels; n++)
            peak[c] = cabsf(map[n]) > cabsf(map[peak[c]]) ? n : peak[c];
        double x = (double)(peak[c] % 32) / 32 - 0.5, y = (double)(peak[c] / 32 % 32) / 32 - 0.5;
        assert_below(fabs(hypot(x, y) - 0.45), 0.05);
        assert_below(fabs((double)cabsf(map[peak[c]]) / cabsf(maps[peak[0]]) - 1), 0.01);
        for (int64_t n = 0; n < voxels; n++) {
            double phase = cargf(map[n] * conjf(map[peak[c]]));
            lowest = cabsf(map[n]) > 0.2 * cabsf(map[peak[c]]) ? fmin(lowest, phase) : lowest;
            highest = cabsf(map[n]) > 0.2 * cabsf(map[peak[c]]) ? fmax(highest, phase) : highest;
        }
        assert_below(0.5, highest - lowest);
        for (int64_t other = 0; other < c; other++)
            assert_int_not_equal(peak[c], peak[other]);
    }
}

static void test_coils(void **state)
{
    (void)state;
    for (int64_t coils = 2; coils <= 32; coils *= 2) {
        int64_t matrix[3] = {32, 32, 32}, voxels = 32768;
        phantom_coils receivers;
        float complex *maps = malloc((size_t)(voxels * coils) * sizeof *maps);
        assert_non_null(maps);
        assert_int_equal(coils_make(ctx, coils, 3, 1, &receivers), VF_OK);
        coils_voxels(ctx, &receivers, matrix, maps);
        double middle = 0, least = 1e9, most = 0;
        check_peaks(&receivers, maps, voxels);
        for (int64_t n = 0; n < voxels; n++) {
            double squares = 0, r2 = 0;
            int64_t index[3] = {n % 32, n / 32 % 32, n / 1024};
            for (int a = 0; a < 3; a++)
                r2 += pow((double)index[a] / 32 - 0.5, 2);
            for (int64_t c = 0; c < coils; c++)
                squares += pow(cabsf(maps[c * voxels + n]), 2);
            if (r2 == 0)
                middle = squares;
            if (r2 < 0.16) {
                least = fmin(least, squares);
                most = fmax(most, squares);
            }
        }
        assert_below(fabs(middle - 1), 1e-6);
        if (coils >= 4) { /* coils all around: signal everywhere inside, and nowhere far more */
            assert_below(0.1, least);
            assert_below(most, 3);
        }
        coils_free(&receivers);
        free(maps);
    }
}

/* ---- noise ---- */

static void test_noise(void **state)
{
    (void)state;
    enum { N = 200000, C = 3 };
    float complex *noise = calloc((size_t)C * N, sizeof *noise), *again = calloc((size_t)C * N, sizeof *again);
    assert_true(noise && again);
    assert_int_equal(phantom_noise(ctx, 2, 0.25, 9, 1, C, N, noise), VF_OK);
    assert_int_equal(phantom_noise(ctx, 2, 0.25, 9, 1, C, N, again), VF_OK);
    assert_memory_equal(noise, again, (size_t)C * N * sizeof *noise);
    assert_int_equal(phantom_noise(ctx, 2, 0.25, 10, 1, C, N, again), VF_OK);
    assert_memory_not_equal(noise, again, (size_t)C * N * sizeof *noise);
    /* Standard error of a mean of N: 1 / sqrt(N) = 2.2e-3 of the variance; five times that. */
    double error = 5 * 4 / sqrt(N);
    for (int a = 0; a < C; a++)
        for (int b = 0; b < C; b++) {
            double complex product = 0, twofold = 0, mean = 0;
            for (int64_t n = 0; n < N; n++) {
                double complex x = noise[a * N + n], y = noise[b * N + n];
                product += x * conj(y);
                twofold += x * y;
                mean += x;
            }
            double expected = a == b ? 4 : 4 * 0.25;
            assert_below(cabs(product / N - expected), error);
            assert_below(cabs(twofold / N), error); /* real and imaginary parts are alike and independent */
            assert_below(cabs(mean / N), 5 * 2 / sqrt(N));
        }
    double beyond = 0, next = 0;
    for (int64_t n = 0; n < N; n++) {
        beyond += cabsf(noise[n]) > 2 * 1.5;
        next += n ? crealf(noise[n]) * crealf(noise[n - 1]) : 0;
    }
    assert_below(fabs(beyond / N - exp(-2.25)), 5 * sqrt(0.1054 / N)); /* |z|^2 is exponential */
    assert_below(fabs(next / N), error / 2);
    assert_below(fabs(complex_rms(noise, C * N) - 2), 5 / sqrt(C * N));
    free(noise);
    free(again);
}

/* The reference values of xoshiro256++ for the state 1, 2, 3, 4 (its authors' code). */
static void test_generator(void **state)
{
    (void)state;
    static const uint64_t first[] = {UINT64_C(41943041), UINT64_C(58720359), UINT64_C(3588806011781223),
                                     UINT64_C(3591011842654386)};
    phantom_random random = {{1, 2, 3, 4}};
    for (size_t n = 0; n < sizeof first / sizeof *first; n++)
        assert_true(random_uniform(&random) == (double)(first[n] >> 11) * 0x1p-53);
}

/* ---- frames and reference ---- */

static void test_frames_differ(void **state)
{
    (void)state;
    phantom object, first, second, other;
    phantom_make(PHANTOM_SHEPP_LOGAN, 3, 1, &object);
    phantom_at_frame(&object, 0, 2, &first);
    phantom_at_frame(&object, 1, 2, &second);
    phantom_reference(&object, &other);
    assert_memory_equal(&first, &object, sizeof object);
    assert_true(second.shape[1].value == object.shape[1].value);
    assert_true(second.shape[2].value == 1.5 * object.shape[2].value);
    for (int n = 0; n < object.shapes; n++) {
        assert_memory_equal(other.shape[n].semi, object.shape[n].semi, sizeof object.shape[n].semi);
        assert_true(other.shape[n].value != object.shape[n].value);
    }
}

TEST_MAIN(open_context, close_context, cmocka_unit_test(test_ball_and_disk),
          cmocka_unit_test(test_middle_is_the_volume), cmocka_unit_test(test_a_real_object_has_hermitian_symmetry),
          cmocka_unit_test(test_shift_and_linearity), cmocka_unit_test(test_against_image),
          cmocka_unit_test(test_slice_of_the_solid), cmocka_unit_test(test_shepp_logan), cmocka_unit_test(test_coils),
          cmocka_unit_test(test_noise), cmocka_unit_test(test_generator), cmocka_unit_test(test_frames_differ))
