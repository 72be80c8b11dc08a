/* mri_phantom's head: texture, phase, chemical shift and narrow coils against sums over fine voxels, and its
 * tissues.
 */

#include <math.h>

#include "context_fixture.h"
#include "free_all.h"
#include "mri_phantom.h"

enum { SAMPLES = 40 };

static double complex turn(double turns)
{
    return complex_of(cos(2 * M_PI * turns), sin(2 * M_PI * turns));
}

#define assert_below(value, most)                                                                                      \
    do {                                                                                                               \
        double value_ = (value), most_ = (most);                                                                       \
        if (!(value_ <= most_))                                                                                        \
            fail_msg("%s is %g, more than %g", #value, value_, most_);                                                 \
    } while (0)

static void make_samples(double reach, int dimensions, float k[SAMPLES][3], float time[SAMPLES])
{
    phantom_random random = random_start(7, 7);
    memset(k, 0, SAMPLES * sizeof *k);
    for (int m = 0; m < SAMPLES; m++) {
        for (int a = 0; a < dimensions; a++)
            k[m][a] = m == 0 ? 0 : (float)(reach * (2 * random_uniform(&random) - 1));
        time[m] = (float)(0.01 * random_uniform(&random));
    }
}

static void signal(const phantom *object, const phantom_coils *coils, const phantom_field *field,
                   const int64_t matrix[3], float k[SAMPLES][3], float *time, float complex *data)
{
    phantom_trajectory t = {.sets = 1, .readouts = 1, .length = SAMPLES, .samples = SAMPLES, .k = k[0], .time = time};
    assert_int_equal(phantom_signal(ctx, object, coils, field, &t, 0, matrix, data), VF_OK);
}

/* The head without phase, in two parts with nonnegative images: fat, and the rest. */
static void part_of(const phantom *head, bool fat, phantom *out)
{
    *out = *head;
    out->shapes = 0;
    out->phase = (phantom_phase){0};
    if (fat)
        out->atoms = 0;
    for (int n = 0; n < head->shapes; n++)
        if (head->shape[n].fat == fat)
            out->shape[out->shapes++] = head->shape[n];
}

typedef struct images {
    int64_t fine[3], voxels;
    float *water, *fat, *field;
    float complex *maps;
} images;

/* The formula of mri_phantom.h, summed over fine voxels, divided by the transform of a voxel's box. */
static double complex sum_over_voxels(const images *i, const float complex *map, const phantom_phase *phase,
                                      double hertz, const float k[3], double t)
{
    double complex sum = 0, shifted = turn(-hertz * t);
    double box = 1;
    for (int64_t n = 0; n < i->voxels; n++) {
        int64_t at[3] = {n % i->fine[0], n / i->fine[0] % i->fine[1], n / i->fine[0] / i->fine[1]};
        double r[3], turns = (double)i->field[n] * t;
        if (i->water[n] == 0 && i->fat[n] == 0)
            continue;
        for (int a = 0; a < 3; a++) {
            r[a] = (double)(at[a] - i->fine[a] / 2) / (double)i->fine[a];
            turns += (double)k[a] * r[a];
        }
        sum += ((double)i->water[n] + (double)i->fat[n] * shifted) * phantom_phase_at(phase, r) *
               (double complex)map[n] * turn(-turns);
    }
    for (int a = 0; a < 3; a++) {
        double x = M_PI * (double)k[a] / (double)i->fine[a];
        box *= fabs(x) > 1e-9 ? sin(x) / x : 1;
    }
    return sum / box;
}

static void compare_with_image(int dimensions, int power, double bend, double hertz, double fat_hertz, double tolerance)
{
    int64_t edge = dimensions == 3 ? 64 : 256, coils = 2;
    images i = {.fine = {edge, edge, dimensions == 3 ? edge : 1}};
    static phantom head, part;
    static float k[SAMPLES][3], time[SAMPLES];
    static float complex data[2 * SAMPLES];
    phantom_coils receivers;
    phantom_field field;
    i.voxels = i.fine[0] * i.fine[1] * i.fine[2];
    i.water = malloc((size_t)i.voxels * sizeof *i.water);
    i.fat = malloc((size_t)i.voxels * sizeof *i.fat);
    i.field = malloc((size_t)i.voxels * sizeof *i.field);
    i.maps = malloc((size_t)(coils * i.voxels) * sizeof *i.maps);
    assert_true(i.water && i.fat && i.field && i.maps);
    phantom_make(PHANTOM_HEAD, dimensions, 3, &head);
    phantom_set_fat(fat_hertz, &head);
    head.phase.bend = bend;
    part_of(&head, false, &part);
    assert_int_equal(phantom_voxels(ctx, &part, i.fine, i.water), VF_OK);
    part_of(&head, true, &part);
    assert_int_equal(phantom_voxels(ctx, &part, i.fine, i.fat), VF_OK);
    field_make(hertz, dimensions, &field);
    field_voxels(&field, i.fine, i.field);
    assert_int_equal(coils_make(ctx, coils, dimensions, power, &receivers), VF_OK);
    coils_voxels(ctx, &receivers, i.fine, i.maps);
    make_samples(2, dimensions, k, time);
    signal(&head, &receivers, &field, i.fine, k, time, data);
    for (int64_t c = 0; c < coils; c++) {
        double off = 0, size = 0;
        for (int m = 0; m < SAMPLES; m++) {
            double complex sum = sum_over_voxels(&i, i.maps + c * i.voxels, &head.phase, fat_hertz, k[m], time[m]);
            double complex wrong = (double complex)data[c * SAMPLES + m] - sum;
            off += creal(wrong * conj(wrong));
            size += creal(sum * conj(sum));
        }
        assert_below(sqrt(off / size), tolerance);
    }
    coils_free(&receivers);
    FREE_ALL(i.water, i.fat, i.field, i.maps);
}

/* Tolerances: coil, phase and field are taken at a voxel's centre, so sinc(k / N) replaces sinc((k - u) / N). The
 * error is (pi / N)^2 (2 k u - u^2) / 6 along each axis, with |k| up to 2 and |u| up to 1.7: at most 4e-4 for N =
 * 256 in 2D, 1e-2 for 64 in 3D if all add up, and a fifth of that if they do not. Edges leave about 1e-5
 * (test_phantom_signal.c). A wrong sign of a phase, a shift or the fat's frequency gives 0.05 or more. */
static void test_against_image(void **state)
{
    (void)state;
    compare_with_image(2, 1, 0, 0, 0, 8e-4);
    compare_with_image(2, 2, 0.6, 0, 0, 8e-4);
    compare_with_image(2, 2, 0.6, 40, -440, 8e-4);
    compare_with_image(3, 1, 0.6, 0, -440, 6e-3);
}

/* ---- texture ---- */

/* One wave in its window, in the plane, against the trapezoidal rule, which converges faster than any power. */
static void test_a_wave(void **state)
{
    (void)state;
    enum { GRID = 512 };
    static phantom object;
    static float k[SAMPLES][3], time[SAMPLES];
    static float complex data[SAMPLES];
    static const int64_t matrix[3] = {64, 64, 1};
    static const phantom_field none;
    const phantom_atom wave = {
        .value = 0.7, .width = 0.03, .phase = 0.8, .centre = {0.11, -0.07, 0}, .frequency = {17, -9, 0}};
    phantom_coils one;
    double off = 0, size = 0;
    memset(&object, 0, sizeof object);
    object.dimensions = 2;
    object.atoms = 1;
    object.atom[0] = wave;
    assert_int_equal(coils_make(ctx, 1, 2, 1, &one), VF_OK);
    make_samples(30, 2, k, time);
    signal(&object, &one, &none, matrix, k, time, data);
    for (int m = 0; m < SAMPLES; m++) {
        double complex sum = 0;
        for (int n = 0; n < GRID * GRID; n++) {
            double x = (n % GRID) / (double)GRID - 0.5, y = (n / GRID) / (double)GRID - 0.5;
            double dx = x - wave.centre[0], dy = y - wave.centre[1];
            double value = wave.value * exp(-(dx * dx + dy * dy) / (2 * wave.width * wave.width)) *
                           cos(2 * M_PI * (wave.frequency[0] * dx + wave.frequency[1] * dy) + wave.phase);
            sum += value * turn(-(double)k[m][0] * x - (double)k[m][1] * y);
        }
        sum *= 64.0 * 64 / (GRID * GRID);
        off += pow(cabs((double complex)data[m] - sum), 2);
        size += pow(cabs(sum), 2);
    }
    assert_below(sqrt(off / size), 1e-6); /* the data are floats */
    coils_free(&one);
}

/* Means over voxels. The midpoint rule in 16^3 points is off by (2 pi |f| h / 16)^2 / 24 of the value: 1.3e-3 for
 * |f|^2 = 50 and h = 1/16. A wrong sign, axis or offset of half a point gives 0.01 or more. */
static void test_means_of_a_wave(void **state)
{
    (void)state;
    enum { N = 16, FINE = 16 };
    static phantom object;
    static const int64_t matrix[3] = {N, N, N};
    static float image[N * N * N];
    const phantom_atom wave = {
        .value = 0.7, .width = 0.1, .phase = 0.8, .centre = {0.11, -0.07, 0.2}, .frequency = {5, -3, 4}};
    memset(&object, 0, sizeof object);
    object.dimensions = 3;
    object.atoms = 1;
    object.atom[0] = wave;
    assert_int_equal(texture_voxels(ctx, &object, matrix, image), VF_OK);
    double largest = 0;
    for (int n = 0; n < N * N * N; n += 7) {
        double mean = 0;
        for (int p = 0; p < FINE * FINE * FINE; p++) {
            int part[3] = {p % FINE, p / FINE % FINE, p / FINE / FINE}, at[3] = {n % N, n / N % N, n / N / N};
            double squares = 0, turns = 0;
            for (int a = 0; a < 3; a++) {
                double d = (at[a] - N / 2 + (part[a] + 0.5) / FINE - 0.5) / N - wave.centre[a];
                squares += d * d;
                turns += wave.frequency[a] * d;
            }
            mean += wave.value * exp(-squares / (2 * wave.width * wave.width)) * cos(2 * M_PI * turns + wave.phase);
        }
        mean /= FINE * FINE * FINE;
        largest = fmax(largest, fabs(mean));
        assert_below(fabs((double)image[n] - mean), 1.3e-3 * 0.7);
    }
    assert_below(0.3, largest);
}

/* ---- the head ---- */

static void test_tissues(void **state)
{
    (void)state;
    enum { N = 96 };
    static phantom head, other, later;
    static const int64_t matrix[3] = {N, N, 1};
    static float image[N * N], reference[N * N];
    phantom_make(PHANTOM_HEAD, 2, 1, &head);
    assert_in_range(head.shapes, 60, PHANTOM_SHAPES);
    assert_in_range(head.atoms, 200, PHANTOM_ATOMS);
    phantom_make(PHANTOM_HEAD, 2, 2, &other);
    assert_true(memcmp(&head, &other, sizeof head) != 0); /* the seed */
    double lowest = 0, highest = 0;
    for (int n = 0; n < N * N; n++) { /* several tens of degrees over the head */
        double r[3] = {(n % N) / (double)N - 0.5, (n / N) / (double)N - 0.5, 0};
        double complex factor = phantom_phase_at(&head.phase, r);
        if (pow(r[0] / 0.36, 2) + pow(r[1] / 0.44, 2) > 1)
            continue;
        lowest = fmin(lowest, carg(factor));
        highest = fmax(highest, carg(factor));
        assert_below(fabs(cabs(factor) - 1.1), 0.1001);
    }
    assert_below(40 * M_PI / 180, highest - lowest);
    assert_below(highest - lowest, 150 * M_PI / 180);
    head.phase = (phantom_phase){0};
    assert_int_equal(phantom_voxels(ctx, &head, matrix, image), VF_OK);
    phantom_reference(&head, &other);
    assert_int_equal(phantom_voxels(ctx, &other, matrix, reference), VF_OK);
    /* Positions are those of phantom_head.c, turned by 0.05 and moved; the texture adds up to about 0.1. */
    static const struct {
        double x, y, least, most;
    } known[] = {{0.006, 0.003 - 0.435, 0.9, 1.15}, /* scalp */
                 {0.006, 0.003 - 0.42, 0, 0.3},     /* skull */
                 {0.17, 0.07, 0.75, 1.15},          /* white matter */
                 {0.06, -0.076, 0, 0.35},           /* ventricle */
                 {-0.45, -0.45, 0, 1e-5},           /* air */
                 {0.4, 0.4, 0, 1e-5}};
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        int64_t at = llround(known[n].y * N + N / 2) * N + llround(known[n].x * N + N / 2);
        if (!((double)image[at] >= known[n].least && (double)image[at] <= known[n].most))
            fail_msg("place %zu: %g", n, (double)image[at]);
    }
    int64_t ventricle = llround(-0.076 * N + N / 2) * N + llround(0.06 * N + N / 2);
    assert_true(reference[ventricle] > 2 * image[ventricle]); /* fluid is bright in the other contrast */
    phantom_at_frame(&head, 1, 2, &later);
    for (int n = 0; n < head.shapes; n++)
        assert_true((later.shape[n].value == head.shape[n].value) == (n < head.steady));
    assert_in_range(head.shapes - head.steady, 2, 6);
}

TEST_MAIN(open_context, close_context, cmocka_unit_test(test_against_image), cmocka_unit_test(test_a_wave),
          cmocka_unit_test(test_means_of_a_wave), cmocka_unit_test(test_tissues))
