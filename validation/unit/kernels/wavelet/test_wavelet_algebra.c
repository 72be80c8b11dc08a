/* Wavelet transforms, by algebra that needs no reference: unitarity, vanishing moments, shifts, the soft threshold as
 * a proximal map, sums over bands. wavelet_fixture.h derives the bound.
 *
 * usage: test_wavelet_algebra DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 */
#include "free_all.h"
#include "wavelet_fixture.h"

/* ---- algebra ---- */

static void test_unitary(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        double complex *x = random_image(s.numbers), *y = random_image(s.numbers);
        double complex *cx = room(s.numbers, sizeof *cx), *back = room(s.numbers, sizeof *back);
        const double size_x = sqrt(creal(inner(s.numbers, x, x))), size_y = sqrt(creal(inner(s.numbers, y, y)));
        const double rounding = 1e-15 * sqrt((double)s.numbers); /* rounding of the sums here */
        carry_out(&s, FORWARD, 0, x, cx);
        close_to(&s, "the norm", fabs(sqrt(creal(inner(s.numbers, cx, cx))) - size_x), (s.error + rounding) * size_x);
        carry_out(&s, ADJOINT, 0, cx, back);
        close_to(&s, "the inverse", distance(s.numbers, back, x), 2 * s.error * size_x);
        carry_out(&s, ADJOINT, 0, y, back);
        close_to(&s, "<Psi x, y> - <x, Psi^H y>", cabs(inner(s.numbers, cx, y) - inner(s.numbers, x, back)),
                 2 * (s.error + rounding) * size_x * size_y);
        FREE_ALL(x, y, cx, back);
        vf_wavelet_destroy(s.plan);
    }
}

/* Polynomials of a degree below `moments` along one axis, constant along the others, have zero detail coefficients
 * along that axis, except where a filter crosses the end of the image. Coefficient i of level l depends on the
 * numbers 2^l i to 2^l i + (2^l - 1) (taps - 1). Its exact value is 0, so its size is its error. The tolerance is E
 * times the norm of all numbers, which is at most the root of their count for |p| <= 1. Polynomials are rounded by
 * u. */
static void test_vanishing_moments(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        const int axis = i % 3, moments = 1 + i / 3 % 4;
        vf_wavelet_options o = {.counts = {1 + integer_below(3), 1 + integer_below(3), 1 + integer_below(3)},
                                .precision = i % 2 ? VF_F32 : VF_F64,
                                .moments = moments};
        o.counts[axis] = 40 + integer_below(160);
        subject s = open_plan(&o);
        memset(s.shift, 0, sizeof s.shift);
        const int64_t n = o.counts[axis], taps = 2 * moments,
                      stride = axis == 0   ? 1
                               : axis == 1 ? s.padded[0]
                                           : s.padded[0] * s.padded[1];
        const double root[3] = {uniform(), uniform(), uniform()};
        double complex *x = room(s.numbers, sizeof *x), *c = room(s.numbers, sizeof *c);
        int64_t checked = 0;
        for (int64_t at = 0; at < s.numbers; at++) {
            const double t = (double)(at / stride % s.padded[axis]) / (double)n;
            double p = 1;
            for (int k = 0; k < moments - 1; k++)
                p *= t - root[k];
            x[at] = at / stride % s.padded[axis] < n ? rounded(o.precision, number(p, 1 - p)) : 0;
        }
        carry_out(&s, FORWARD, 0, x, c);
        for (int64_t at = 0; at < s.numbers; at++) {
            const int64_t place = at / stride % s.padded[axis];
            int level = s.levels[axis];
            if (place < s.coarse[axis])
                continue;
            while (place >= s.padded[axis] >> (level - 1))
                level--;
            const int64_t block = (int64_t)1 << level, first = block * (place - (s.padded[axis] >> level));
            if (first + (block - 1) * (taps - 1) >= n)
                continue;
            checked++;
            close_to(&s, "a vanishing moment", cabs(c[at]),
                     (s.error + 2 * roundoff(o.precision)) * sqrt(2 * (double)s.numbers));
        }
        assert_true(checked > n / 4);
        free(x);
        free(c);
        vf_wavelet_destroy(s.plan);
    }
}

/* Haar by hand: sums and differences of neighbours over sqrt(2). */
static void test_haar_by_hand(void **state)
{
    (void)state;
    const vf_wavelet_options o = {.counts = {4, 4, 1}, .precision = VF_F64, .moments = 1, .levels = 1};
    subject s = open_plan(&o);
    double complex x[16], c[16], right[16];
    memset(s.shift, 0, sizeof s.shift);
    for (int n = 0; n < 16; n++)
        x[n] = number(n * n, -3 * n);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            const double complex *q = x + 8 * j + 2 * i;
            right[4 * j + i] = (q[0] + q[1] + q[4] + q[5]) / 2;
            right[4 * j + i + 2] = (q[0] - q[1] + q[4] - q[5]) / 2;
            right[4 * (j + 2) + i] = (q[0] + q[1] - q[4] - q[5]) / 2;
            right[4 * (j + 2) + i + 2] = (q[0] - q[1] - q[4] + q[5]) / 2;
        }
    carry_out(&s, FORWARD, 0, x, c);
    close_to(&s, "Haar", distance(16, c, right), s.error * sqrt(creal(inner(16, x, x))));
    vf_wavelet_destroy(s.plan);
}

/* A transform with shift s equals the transform of shifted numbers. Shifts are periodic. Both hold bit for bit. */
static void test_shifts(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        double complex *x = random_image(s.numbers), *moved = room(s.numbers, sizeof *moved);
        double complex *by_shift = room(s.numbers, sizeof *by_shift), *c = room(s.numbers, sizeof *c);
        for (int64_t n = 0; n < s.numbers; n++) {
            int64_t to = 0, stride = 1, rest = n;
            for (int a = 0; a < 3; a++) {
                const int64_t at = (rest % s.padded[a] + s.shift[a]) % s.padded[a];
                to += (at < 0 ? at + s.padded[a] : at) * stride;
                stride *= s.padded[a];
                rest /= s.padded[a];
            }
            moved[to] = x[n];
        }
        carry_out(&s, FORWARD, 0, x, by_shift);
        subject still = s;
        memset(still.shift, 0, sizeof still.shift);
        carry_out(&still, FORWARD, 0, moved, c);
        if (memcmp(c, by_shift, (size_t)s.numbers * sizeof *c) != 0)
            fail_msg("a shift by %lld %lld %lld: %s", (long long)s.shift[0], (long long)s.shift[1],
                     (long long)s.shift[2], text_of(&s));
        for (int a = 0; a < 3; a++)
            s.shift[a] += s.padded[a];
        carry_out(&s, FORWARD, 0, x, c);
        assert_memory_equal(c, by_shift, (size_t)s.numbers * sizeof *c);
        FREE_ALL(x, moved, by_shift, c);
        vf_wavelet_destroy(s.plan);
    }
}

/* ---- thresholds and sums ---- */

/* By the definition, from the coefficients; in place; and the same bits if all is scaled by a power of two. */
static void test_threshold(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        const double threshold = i % 5 == 0 ? 1e6 : uniform(), power = ldexp(1, (int)integer_below(160) - 80);
        double complex *x = random_image(s.numbers), *c = room(s.numbers, sizeof *c);
        double complex *got = room(s.numbers, sizeof *got), *right = room(s.numbers, sizeof *right);
        const double size = sqrt(creal(inner(s.numbers, x, x)));
        carry_out(&s, FORWARD, 0, x, c);
        for (int64_t n = 0; n < s.numbers; n++)
            if (!is_coarse(&s, n))
                c[n] = rounded(o.precision, c[n] * (cabs(c[n]) > threshold ? 1 - threshold / cabs(c[n]) : 0));
        carry_out(&s, ADJOINT, 0, c, right);
        carry_out(&s, THRESHOLD, threshold, x, got);
        close_to(&s, "the threshold", distance(s.numbers, got, right),
                 (2 * s.error + 8 * roundoff(o.precision)) * size);
        carry_out(&s, THRESHOLD_IN_PLACE, threshold, x, right);
        assert_memory_equal(right, got, (size_t)s.numbers * sizeof *got);
        for (int64_t n = 0; n < s.numbers; n++) {
            x[n] *= power;
            got[n] *= power;
        }
        carry_out(&s, THRESHOLD, threshold * power, x, right);
        if (memcmp(right, got, (size_t)s.numbers * sizeof *got) != 0)
            fail_msg("a threshold of %g times %g: %s", threshold, power, text_of(&s));
        carry_out(&s, THRESHOLD, 0, x, right);
        assert_memory_equal(right, x, (size_t)s.numbers * sizeof *x);
        FREE_ALL(x, c, got, right);
        vf_wavelet_destroy(s.plan);
    }
}

/* z = threshold(v) minimises F(z) = |z - v|^2 / 2 + t sum |Psi z|, which is strongly convex: F(w) >= F(z) + |w - z|^2 /
 * 2 for all w. z is off by d <= (2 E + 8 u) |v|; then F(z) is off by at most (|z - v| + t sqrt(n)) d, which is the
 * error of the norm, too. */
static void test_proximal_map(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        vf_wavelet_options o = random_options(i);
        o.precision = VF_F64;
        subject s = open_plan(&o);
        const double t = 0.5 * uniform(), away = pow(10, -3 * uniform());
        double complex *v = random_image(s.numbers), *w = random_image(s.numbers);
        double complex *z = room(s.numbers, sizeof *z);
        const double size = sqrt(creal(inner(s.numbers, v, v)));
        carry_out(&s, THRESHOLD, t, v, z);
        for (int64_t n = 0; n < s.numbers; n++)
            w[n] = z[n] + away * w[n];
        const double least = 0.5 * pow(distance(s.numbers, z, v), 2) + t * sum_of(&s, z),
                     other = 0.5 * pow(distance(s.numbers, w, v), 2) + t * sum_of(&s, w),
                     far = 0.5 * pow(distance(s.numbers, w, z), 2);
        const double off = (2 * s.error + 8 * roundoff(VF_F64)) * size;
        close_to(&s, "the proximal map", least + far - other,
                 8 * (size + t * sqrt((double)s.numbers)) * (off + 1e-15 * sqrt((double)s.numbers) * size));
        FREE_ALL(v, w, z);
        vf_wavelet_destroy(s.plan);
    }
}

/* Whether coefficient n of the first level counts, by checking the voxels that it depends on one by one. */
static bool counts(const subject *s, const double complex *weights, int64_t n)
{
    const int64_t at[3] = {n % s->padded[0], n / s->padded[0] % s->padded[1], n / s->padded[0] / s->padded[1]};
    int64_t voxel[3][8], extent[3];
    for (int a = 0; a < 3; a++) {
        const int64_t half = s->padded[a] / 2;
        extent[a] = s->levels[a] ? 2 * s->options.moments : 1;
        if (s->levels[a] && at[a] < half)
            return false;
        for (int k = 0; k < extent[a]; k++) {
            const int64_t place = (s->levels[a] ? 2 * (at[a] - half) + k : at[a]) - s->shift[a];
            voxel[a][k] = (place % s->padded[a] + s->padded[a]) % s->padded[a];
            if (voxel[a][k] >= s->options.counts[a] || voxel[a][k] != voxel[a][0] + k)
                return false;
        }
    }
    for (int64_t k = 0; weights && k < extent[0] * extent[1] * extent[2]; k++) {
        const int64_t x = voxel[0][k % extent[0]], y = voxel[1][k / extent[0] % extent[1]],
                      z = voxel[2][k / extent[0] / extent[1]];
        if (!(creal(weights[(z * s->options.counts[1] + y) * s->options.counts[0] + x]) > 0))
            return false;
    }
    return true;
}

/* Sums of |c| and |c|^2 over n numbers, in double precision: a relative error of (n + 4) 2^-53, in addition to the
 * error of c. */
static void test_sums(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const vf_wavelet_options o = random_options(i);
        subject s = open_plan(&o);
        const double n_sums = ((double)s.numbers + 4) * 0x1p-53;
        double complex *x = random_image(s.numbers), *c = room(s.numbers, sizeof *c);
        double complex *weights = room(s.voxels, sizeof *weights);
        double right = 0, squares = 0, rms = NAN;
        const bool any_axis = s.levels[0] + s.levels[1] + s.levels[2] > 0, weighted = uniform() < 0.7;
        carry_out(&s, FORWARD, 0, x, c);
        for (int64_t n = 0; n < s.numbers; n++)
            right += is_coarse(&s, n) ? 0 : cabs(c[n]);
        /* Both have the same coefficients, bit for bit. */
        close_to(&s, "the norm", fabs(sum_of(&s, x) - right), n_sums * right);
        for (int64_t n = 0; n < s.voxels; n++)
            weights[n] = uniform() < 0.02 ? (n % 3 ? 0 : n % 2 ? NAN : -1) : 1e-30;
        int64_t number_of = 0, count = -1;
        guarded in = upload(queue, o.precision, s.numbers, x),
                w = upload_elements(queue, o.precision, s.voxels, weights);
        need(vf_wavelet_finest_rms(s.plan, queue, s.shift, in.data, weighted ? w.data : NULL, &rms, &count));
        download(queue, &in, NULL);
        download(queue, &w, NULL);
        for (int64_t n = 0; any_axis && n < s.numbers; n++)
            if (counts(&s, weighted ? weights : NULL, n)) {
                squares += creal(c[n] * conj(c[n]));
                number_of++;
            }
        if (count != number_of)
            fail_msg("%lld coefficients count instead of %lld: %s", (long long)count, (long long)number_of,
                     text_of(&s));
        close_to(&s, "the root mean square", fabs(rms - (number_of ? sqrt(squares / (double)number_of) : 0)),
                 n_sums * rms);
        if (any_axis && !weighted)
            assert_true(count > 0);
        FREE_ALL(x, c, weights);
        vf_wavelet_destroy(s.plan);
    }
}

/* In white noise the mean of |c|^2 is the variance, for any filter. Parts are uniform in [-1, 1]: the variance is
 * 2/3. |c|^2 has at most the relative deviation of a normal c, which is 1, so the root of a mean over n uncorrelated
 * ones has 1 / (2 sqrt(n)): six of these. */
static void test_noise(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const vf_wavelet_options o = {.counts = {i % 2 ? 150 : 40, i % 2 ? 130 : 36, i % 2 ? 1 : 25},
                                      .precision = i % 3 ? VF_F32 : VF_F64,
                                      .moments = 1 + i / 2};
        subject s = open_plan(&o);
        double complex *x = random_image(s.voxels);
        guarded image = upload(queue, o.precision, s.voxels, x), padded = upload(queue, o.precision, s.numbers, NULL);
        double rms = NAN;
        int64_t count = 0;
        need(vf_wavelet_pad(s.plan, queue, image.data, padded.data));
        need(vf_wavelet_finest_rms(s.plan, queue, s.shift, padded.data, NULL, &rms, &count));
        download(queue, &image, NULL);
        download(queue, &padded, NULL);
        const double sigma = sqrt(2.0 / 3);
        assert_true(count > 1000);
        close_to(&s, "the noise", fabs(rms - sigma), 6 * sigma / (2 * sqrt((double)count)));
        free(x);
        vf_wavelet_destroy(s.plan);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_unitary), cmocka_unit_test(test_vanishing_moments),
            cmocka_unit_test(test_haar_by_hand), cmocka_unit_test(test_shifts), cmocka_unit_test(test_threshold),
            cmocka_unit_test(test_proximal_map), cmocka_unit_test(test_sums), cmocka_unit_test(test_noise))
