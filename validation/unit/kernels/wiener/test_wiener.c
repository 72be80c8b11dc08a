/* Noise, spectrum, density and forecast of wiener.h, against the parameters of random data and against dense
 * matrices.
 *
 * Bounds of estimates are SIGMAS standard deviations, derived where they are used. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "free_all.h"
#include "wiener_fixture.h"

static const double SIGMAS = 6;

/* A complex normal number with E|z|^2 = variance. */
static double complex normal(double variance)
{
    return sqrt(-variance * log(1 - uniform())) * cexp(2 * M_PI * I * uniform());
}

static const vf_wiener_space flat = {{128, 128, 1}, {256, 256, 5}};

/* Samples of flat, in the disc inside its square. */
typedef struct random_samples {
    vf_wiener_samples s;
    float *k, *weights;
    float complex *data;
} random_samples;

static random_samples make_samples(int64_t count, int coils, bool weighted)
{
    random_samples r = {.k = room(3 * count, sizeof *r.k),
                        .weights = weighted ? room(count, sizeof *r.weights) : NULL,
                        .data = room(coils * count, sizeof *r.data)};
    for (int64_t m = 0; m < count; m++) {
        const double radius = 64 * sqrt(uniform()), angle = 2 * M_PI * uniform();
        r.k[3 * m] = (float)(radius * cos(angle));
        r.k[3 * m + 1] = (float)(radius * sin(angle));
        r.k[3 * m + 2] = 1000; /* along an axis of one voxel: ignored */
        if (weighted)
            r.weights[m] = (float)(0.25 + 4 * uniform());
    }
    r.s = (vf_wiener_samples){
        .count = count, .k = r.k, .weights = r.weights, .coils = coils, .data = (const float *)(const void *)r.data};
    return r;
}

static void free_samples(random_samples *r)
{
    FREE_ALL(r->k, r->weights, r->data);
}

static double radius_of(const random_samples *r, int64_t m)
{
    return vf_wiener_radius(&flat, (const double[3]){r->k[3 * m], r->k[3 * m + 1], r->k[3 * m + 2]});
}

static double weight_of(const random_samples *r, int64_t m)
{
    return r->weights ? (double)r->weights[m] : 1;
}

/* ---- noise ---- */

static void test_outer_radius(void **state)
{
    (void)state;
    const double k[3] = {3, 4, 12};
    near("radius", vf_wiener_radius(&flat, k), 5.0 / 256, 1e-15);
    near("radius", vf_wiener_radius(&(vf_wiener_space){{8, 1, 8}, {2, 1, 4}}, k), hypot(1.5, 3), 1e-15);
    for (int kind = 0; kind < 2; kind++) {
        random_samples r = make_samples(20000, 1, kind);
        double radius = NAN, all = 0, beyond = 0, farther = 0;
        for (int64_t m = 0; kind && m < r.s.count; m += 3)
            r.weights[m] = 0;
        for (int64_t m = 0; kind && m < r.s.count; m += 3)
            r.k[3 * m] *= 10; /* far out, and not used */
        radius = vf_outer_radius(ctx, &flat, &r.s, 0.15);
        for (int64_t m = 0; m < r.s.count; m++) {
            if (!(weight_of(&r, m) > 0))
                continue;
            all++;
            beyond += radius_of(&r, m) >= radius;
            farther += radius_of(&r, m) >= radius + 0.25 / 1024; /* wider by one of 4096 bins: no longer the
                                                                  * requested share */
        }
        if (!(beyond >= 0.15 * all && farther < 0.15 * all))
            fail_msg("%g and %g of %g samples beyond %g", beyond, farther, all, radius);
        free_samples(&r);
    }
}

/* Against plain loops: radii of several shares are those of each; a sample at a radius is not within it. */
static void test_rings(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    random_samples r = make_samples(7001, 1, true);
    unsigned char *of = room(r.s.count, 1);
    const double shares[3] = {0.15, 0.075, 0};
    double radii[3];
    for (int64_t m = 0; m < r.s.count; m += 3)
        r.weights[m] = 0;
    for (int t = 1; t <= 3; t += 2) {
        need(vf_context_set_threads(ctx, t));
        vf_outer_radii(ctx, &flat, &r.s, 3, shares, radii);
        for (int i = 0; i < 3; i++)
            assert_true(radii[i] == vf_outer_radius(ctx, &flat, &r.s, shares[i]));
        assert_true(radii[0] < radii[1] && radii[1] < radii[2]);
        for (int pair = 0; pair < 40; pair++) { /* exactly the radii of samples, of which some are not used */
            for (int i = 0; i < 2; i++)
                radii[i] = radius_of(&r, 2 * pair + i);
            vf_rings_of(ctx, &flat, &r.s, 2, radii, of);
            for (int64_t m = 0; m < r.s.count; m++)
                if (of[m] != (radius_of(&r, m) >= radii[0]) + (radius_of(&r, m) >= radii[1]))
                    fail_msg("sample %d: %d of the radii %.17g and %.17g", (int)m, of[m], radii[0], radii[1]);
        }
    }
    need(vf_context_set_threads(ctx, threads));
    free(of);
    free_samples(&r);
}

/* The places in order, all or each third or so, against a plain loop; with 1 and 3 threads, whose pieces end within the samples. */
static void test_outer_samples(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    random_samples r = make_samples(70000, 1, true);
    for (int64_t m = 0; m < r.s.count; m += 5)
        r.weights[m] = 0;
    const double radius = radius_of(&r, 1); /* a sample at the radius belongs to them */
    int64_t *expected = room(r.s.count, sizeof *expected), known = 0;
    for (int64_t m = 0; m < r.s.count; m++)
        if (weight_of(&r, m) > 0 && radius_of(&r, m) >= radius)
            expected[known++] = m;
    assert_true(known > 1000);
    for (int t = 1; t <= 3; t += 2)
        for (int step = 1; step <= 7; step += 3) { /* known / (known / step + 1) + 1 is step, since `known` is large */
            int64_t *found = NULL, count = -1, taken = -1, wrong = 0;
            need(vf_context_set_threads(ctx, t));
            need(vf_outer_samples(ctx, &flat, &r.s, radius, step > 1 ? known / step + 1 : known + 1, &found, &taken,
                                  &count));
            for (int64_t i = 0; i < taken && i * step < known; i++)
                wrong += found[i] != expected[i * step];
            if (count != known || taken != (known + step - 1) / step || wrong > 0)
                fail_msg("%d threads, each %d: %lld of %lld samples, not of the %lld there are; %lld wrong", t, step,
                         (long long)taken, (long long)count, (long long)known, (long long)wrong);
            free(found);
        }
    int64_t *all = NULL, count = 0, taken = 0, used = 0;
    need(vf_outer_samples(ctx, &flat, &r.s, 0, INT64_MAX, &all, &taken, &count));
    assert_int_equal(count, taken);
    for (int64_t m = 0; m < r.s.count; m++)
        if (weight_of(&r, m) > 0)
            assert_true(used < count && all[used++] == m);
    assert_int_equal(used, count);
    free(all);
    need(vf_context_set_threads(ctx, threads));
    free(expected);
    free_samples(&r);
}

/* White noise beyond a radius, a strong signal within it; several coils. The median of n numbers |n|^2 of mean s^2,
 * divided by ln 2, has a standard deviation of s^2 / (ln 2 sqrt(n)); the mean of C coils, s^2 / (ln 2 sqrt(n C)). */
static void test_outer_variance(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        int coils, silent; /* of the coils, the last ones are 0 */
        bool weighted, zeros;
        double sigma2; /* for data in any unit: squares exceed the range of single precision */
    } cases[] = {{20000, 1, 0, false, false, 3e-7},
                 {20000, 4, 0, false, true, 3e-60},
                 {20000, 3, 1, true, true, 3e50},
                 {200000, 2, 0, true, false, 3e-7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        random_samples r = make_samples(cases[i].count, cases[i].coils, cases[i].weighted);
        const double sigma2 = cases[i].sigma2, edge = 50.0 / 256;
        const int active = cases[i].coils - cases[i].silent;
        double found = NAN, taken = 0;
        for (int64_t m = 0; m < r.s.count; m++) {
            const bool outer = radius_of(&r, m) >= edge;
            if (cases[i].weighted && m % 7 == 0)
                r.weights[m] = 0; /* not used, whatever its value */
            const double w = weight_of(&r, m);
            for (int c = 0; c < active; c++) {
                const bool missing = cases[i].zeros && (m + c) % 3 > 0;
                r.data[c * r.s.count + m] =
                    (float complex)(w > 0 ? normal(sigma2 / w) + (outer ? 0 : 100 * sqrt(sigma2)) : 1e6);
                if (missing)
                    r.data[c * r.s.count + m] = 0;
                taken += outer && !missing && w > 0;
            }
        }
        if (r.s.count > 1 << 16) /* then not from all samples, but from every n-th, at least 2^15 */
            taken = fmin(taken, active * 32768.0);
        need(vf_outer_variance(ctx, &flat, &r.s, edge, &found));
        near("variance", found, sigma2, SIGMAS * sigma2 / (log(2) * sqrt(taken)));
        need(vf_outer_variance(ctx, &flat, &r.s, 1, &found)); /* no samples so far out */
        near("variance of nothing", found, 0, 0);
        free_samples(&r);
    }
}

/* ---- spectrum ---- */

enum { COILS = 4 };
static const double WIDTH = 2.0 / 256; /* of a bin, about */

/* Coil signals whose powers add up to S = level (r / r0)^exponent, and noise of sigma2 / w. */
static random_samples power_law(int64_t count, bool weighted, double power, double level, double exponent,
                                double sigma2)
{
    random_samples r = make_samples(count, COILS, weighted);
    for (int64_t m = 0; m < count; m++) {
        const double s = power * level * pow(radius_of(&r, m) / WIDTH, exponent) / COILS;
        if (weighted && m % 7 == 0)
            r.weights[m] = 0;
        for (int c = 0; c < COILS; c++)
            r.data[c * count + m] =
                (float complex)(weight_of(&r, m) > 0 ? normal(s) + normal(sigma2 / weight_of(&r, m)) : 1e6);
    }
    return r;
}

/* A bin of n samples of C coils has the mean power (S + noise) (1 +- 1 / sqrt(n C)); S is known to (1 + noise / S)
 * times that. S at the mean radius is less than its mean, by e (e - 1) / 24 (width / r)^2 with the exponent e. */
static void test_power_law(void **state)
{
    (void)state;
    static const double exponents[] = {-2, -3}, strengths[] = {0, 0.1, 1}; /* of noise, at the edge */
    const int64_t count = 100000;
    for (int i = 0; i < 12; i++) {
        const double exponent = exponents[i % 2], power = 2.5, level = 7e4, strength = strengths[i / 2 % 3];
        const double edge = level * pow(64 / 256.0 / WIDTH, exponent);
        const double sigma2 = strength * power * edge / COILS;
        random_samples r = power_law(count, i >= 6, power, level, exponent, sigma2);
        vf_spectrum spectrum;
        double inverse = 0, used = 0;
        for (int64_t m = 0; m < count; m++)
            if (weight_of(&r, m) > 0) {
                inverse += 1 / weight_of(&r, m);
                used++;
            }
        need(vf_spectrum_estimate(ctx, &flat, &r.s, sigma2, power, &spectrum));
        for (double cycles = 16; cycles < 62; cycles += 1.7) {
            const double radius = cycles / 256, expected = level * pow(radius / WIDTH, exponent);
            const double in_bin = used * 2 * (cycles - 2) * 1.9 / (64 * 64); /* of the smaller of two bins */
            const double noise = COILS * sigma2 * inverse / used / (power * expected);
            const double curved = exponent * (exponent - 1) / 24 * pow(2 / (cycles - 2), 2);
            near("S", vf_spectrum_at(&spectrum, radius) / expected, 1,
                 SIGMAS * (1 + noise * pow(1 + 2 / cycles, -exponent)) / sqrt(in_bin * COILS) + curved);
        }
        /* The power law continues beyond the samples. Its slope comes from about 16 bins over log 2, known to far
         * better than 0.5 where the noise is weak. */
        if (strength <= 0.1)
            near("slope", spectrum.slope, exponent, 0.5);
        const double far = vf_spectrum_at(&spectrum, 1), farther = vf_spectrum_at(&spectrum, 2);
        near("S beyond", farther / far, pow(2, spectrum.slope), 1e-9);
        assert_true(spectrum.slope <= -1);
        assert_true(vf_spectrum_at(&spectrum, 0) == vf_spectrum_at(&spectrum, 1e-9));
        free_samples(&r);
    }
}

/* For noise alone S is only the random deviation of a bin, at most SIGMAS times its standard deviation: the smallest
 * bins have the 4 pi / (64^2 pi) of samples in the centre. For zeros S is 1. */
static void test_noise_and_zeros(void **state)
{
    (void)state;
    const int64_t count = 50000;
    const double sigma2 = 0.3, power = 2;
    random_samples r = power_law(count, false, power, 0, 0, sigma2);
    vf_spectrum spectrum;
    need(vf_spectrum_estimate(ctx, &flat, &r.s, sigma2, power, &spectrum));
    const double most = COILS * sigma2 / power * SIGMAS / sqrt(count * 4.0 / 4096 * 0.9 * COILS);
    for (double radius = 0; radius < 1; radius += 0.01) {
        const double s = vf_spectrum_at(&spectrum, radius);
        if (!(s > 0 && s <= most))
            fail_msg("noise: S(%g) = %g, allowed %g", radius, s, most);
    }
    memset(r.data, 0, (size_t)(COILS * count) * sizeof *r.data);
    need(vf_spectrum_estimate(ctx, &flat, &r.s, 0, power, &spectrum));
    near("S of zeros", vf_spectrum_at(&spectrum, WIDTH / 4), 1, 1e-12);
    need(vf_spectrum_estimate(ctx, &flat, &r.s, sigma2, power, &spectrum)); /* known noise, nothing acquired */
    assert_true(vf_spectrum_at(&spectrum, 0.1) > 0 && vf_spectrum_at(&spectrum, 0.1) < sigma2);
    free_samples(&r);
}

/* No threshold: as the assumed noise grows, S falls without a jump. A bin's noise is known to 5 % at best. For the
 * part above 0 of a normal distribution the mean's derivative is at most half of the mean over the deviation (at a
 * measured value of 1.2 deviations). So a thousandth more noise reduces S by at most 0.5 * 0.001 / 0.05 of it. */
static void test_no_threshold(void **state)
{
    (void)state;
    const double power = 2, level = 7e4, sigma2 = 20 * power * level * pow(64 / 256.0 / WIDTH, -2) / COILS;
    random_samples r = power_law(50000, false, power, level, -2, sigma2);
    vf_spectrum spectrum;
    double before[50];
    for (int step = 0; step < 300; step++) {
        need(vf_spectrum_estimate(ctx, &flat, &r.s, (1 + 1e-3 * step) * sigma2, power, &spectrum));
        for (int i = 0; i < 50; i++) {
            const double s = vf_spectrum_at(&spectrum, i * 0.24 / 50);
            if (!(s > 0) || (step > 0 && !(s < before[i] && s > (1 - 0.011) * before[i])))
                fail_msg("noise by %g: S(%d) from %g to %g", 1 + 1e-3 * step, i, before[i], s);
            before[i] = s;
        }
    }
    free_samples(&r);
}

/* All samples at one radius: S there, the same within, a falling power law beyond. A space of one voxel. */
static void test_one_bin(void **state)
{
    (void)state;
    float k[3 * 8], data[2 * 8];
    for (int m = 0; m < 8; m++) {
        k[3 * m] = (float)(20 * cos(m * M_PI / 4));
        k[3 * m + 1] = (float)(20 * sin(m * M_PI / 4));
        k[3 * m + 2] = 0;
        data[2 * m] = 3;
        data[2 * m + 1] = -4;
    }
    const vf_wiener_samples s = {.count = 8, .k = k, .coils = 1, .data = data};
    vf_spectrum spectrum;
    need(vf_spectrum_estimate(ctx, &flat, &s, 0, 5, &spectrum));
    assert_int_equal(spectrum.bins, 1);
    near("S", vf_spectrum_at(&spectrum, 20.0 / 256), 5, 1e-4); /* radii are of single precision */
    near("S within", vf_spectrum_at(&spectrum, 1.0 / 256), 5, 1e-12);
    near("S beyond", vf_spectrum_at(&spectrum, 40.0 / 256), 5.0 / 8, 1e-4);
    const vf_wiener_space one = {{1, 1, 1}, {10, 10, 10}};
    double filled = NAN;
    need(vf_spectrum_estimate(ctx, &one, &s, 0, 5, &spectrum));
    vf_spectrum_fill(ctx, &one, &spectrum, &filled);
    near("S of one voxel", filled, 5, 1e-12);
}

/* A frequency's position; the same bits with any number of threads, also for the estimate. */
static void test_fill(void **state)
{
    (void)state;
    const vf_wiener_space space = {{6, 5, 4}, {30, 20, 50}};
    random_samples r = power_law(30000, true, 1, 5, -2, 1e-6);
    double first[120], values[120];
    vf_spectrum once, again;
    const int threads = vf_context_threads(ctx);
    for (int t = 1; t <= 3; t++) {
        memset(t == 1 ? &once : &again, 0, sizeof once);
        need(vf_context_set_threads(ctx, t));
        need(vf_spectrum_estimate(ctx, &flat, &r.s, 1e-6, 1, t == 1 ? &once : &again));
        vf_spectrum_fill(ctx, &space, &once, t == 1 ? first : values);
        if (t > 1) {
            assert_memory_equal(values, first, sizeof first);
            assert_memory_equal(&again, &once, sizeof once);
        }
    }
    need(vf_context_set_threads(ctx, threads));
    for (int n = 0; n < 120; n++) {
        const double x = (n % 6 - 3) / 30.0, y = (n / 6 % 5 - 2) / 20.0, z = (n / 30 - 2) / 50.0;
        near("S", first[n] / vf_spectrum_at(&once, sqrt(x * x + y * y + z * z)), 1, 1e-9);
    }
    free_samples(&r);
}

/* Sums serve any number of variances, with the bits of estimates from the samples. */
static void test_sums(void **state)
{
    (void)state;
    vf_spectrum_sums sums;
    random_samples r = power_law(20000, true, 2.5, 7e4, -2, 1e5);
    need(vf_spectrum_add_up(ctx, &flat, &r.s, &sums));
    for (double variance = 1e3; variance < 1e8; variance *= 10) {
        vf_spectrum of_sums, direct;
        vf_spectrum_of_sums(&flat, &sums, variance, 2.5, &of_sums);
        need(vf_spectrum_estimate(ctx, &flat, &r.s, variance, 2.5, &direct));
        assert_memory_equal(&of_sums, &direct, sizeof direct);
    }
    free_samples(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_outer_radius), cmocka_unit_test(test_outer_samples),
                                       cmocka_unit_test(test_rings),        cmocka_unit_test(test_outer_variance),
                                       cmocka_unit_test(test_power_law),    cmocka_unit_test(test_noise_and_zeros),
                                       cmocka_unit_test(test_no_threshold), cmocka_unit_test(test_one_bin),
                                       cmocka_unit_test(test_fill),         cmocka_unit_test(test_sums)};
    return run_group(tests, sizeof tests / sizeof *tests);
}
