/* The penalties of sparse and low-rank priors: values against their definitions, the properties of a proximal map,
 * invalid arguments. On fresh random numbers.
 *
 * usage: test_penalties DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 * penalties_fixture.h derives the bounds. */
#include "free_all.h"
#include "penalties_fixture.h"

enum { SIDE = 8 /* of a block */ };

/* ---- values ---- */

/* Every g is a norm of linear functions: >= 0, 0 at 0, proportional to lambda and to |v|, and convex. */
static void test_values(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const vf_penalties_options o = random_options(i);
        subject s = make(&o);
        for (int t = 0; t < s.terms; t++) {
            const int64_t count = codomain(&s, t);
            double complex *a = random_numbers(count), *b = random_numbers(count), *sum = room(count, sizeof *sum);
            assert_true(value(&s, t, sum) == 0);
            const double of_a = value(&s, t, a), of_b = value(&s, t, b);
            const double error = value_error(&s, t, norm(count, a)) + value_error(&s, t, norm(count, b));
            if (!(of_a >= 0) || !isfinite(of_a))
                fail_msg("value %g: term %d of %s", of_a, t, text_of(&s));
            for (int64_t n = 0; n < count; n++)
                sum[n] = rounded(s.o.precision, a[n] + b[n]); /* rounding is less than the bound */
            at_most(&s, t, "the value of a sum less those of its parts", value(&s, t, sum) - of_a - of_b, 2 * error);
            for (int64_t n = 0; n < count; n++)
                sum[n] = number(0, 2) * a[n];
            at_most(&s, t, "g(2i a) - 2 g(a)", fabs(value(&s, t, sum) - 2 * of_a), 4 * error);
            vf_penalties_set(s.p, s.prior[t], 2 * s.lambda[s.prior[t]], 1);
            assert_true(value(&s, t, a) == 2 * of_a); /* a power of two */
            vf_penalties_set(s.p, s.prior[t], 0, 1);
            assert_true(value(&s, t, a) == 0);
            vf_penalties_set(s.p, s.prior[t], s.lambda[s.prior[t]], s.rho[s.prior[t]]);
            a[integer_below(count)] = number(NAN, 0); /* on a grid that no wavelet divides, the value is 0 */
            const double with_nan = value(&s, t, a);
            assert_true(isnan(with_nan) || (of_b == 0 && with_nan == 0));
            FREE_ALL(a, b, sum);
        }
        vf_penalties_free(s.p);
    }
}

/* tv, tgv and temporal match their definitions. Blocks that cover the grid give the nuclear norm. A series of rank 1
 * has the nuclear norm |a| |b|. A constant has no wavelet coefficients without padding. */
static void test_definitions(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        vf_penalties_options o = random_options(i);
        const vf_penalty_kind kind = o.kind[0];
        o.priors = 1;
        if (kind == VF_PENALTY_LLR)
            for (int a = 0; a < 3; a++)
                o.counts[a] = 1 + integer_below(SIDE);
        if (kind == VF_PENALTY_WAVELET)
            for (int a = 0; a < 3; a++)
                o.counts[a] = a == i % 3 || uniform() < 0.5 ? 16 << integer_below(2) : 1;
        subject s = make(&o);
        const int64_t voxels = s.numbers / o.counts[3];
        double complex *x = random_numbers(s.whole), *a = random_numbers(voxels), *b = random_numbers(o.counts[3]);
        double right = NAN, size = norm(s.whole, x);
        if (kind == VF_PENALTY_WAVELET)
            for (int64_t n = 0; n < s.numbers; n++)
                x[n] = b[n / voxels];
        if (kind == VF_PENALTY_LLR || kind == VF_PENALTY_NUCLEAR)
            for (int64_t n = 0; n < s.numbers; n++)
                x[n] = rounded(o.precision, a[n % voxels] * b[n / voxels]);
        if (kind == VF_PENALTY_WAVELET)
            right = 0;
        else if (kind == VF_PENALTY_TV || kind == VF_PENALTY_TEMPORAL)
            right = variation(&s, x, kind == VF_PENALTY_TEMPORAL);
        else if (kind == VF_PENALTY_TGV)
            right = generalised_variation(&s, x);
        else
            right = norm(voxels, a) * norm(o.counts[3], b);
        size = fmax(size, norm(s.whole, x));
        double allowed = 0; /* |T x| is at most 4 |x|: |T|^2 is at most 16 (vf_penalties_largest) */
        for (int t = 0; t < s.terms; t++)
            allowed += value_error(&s, t, 4 * size);
        at_most(&s, 0, "distance from the definition", fabs(value_of_image(&s, 0, x) - s.lambda[0] * right), allowed);
        FREE_ALL(x, a, b);
        vf_penalties_free(s.p);
    }
}

/* ---- proximal maps ---- */

/* z = map(v) exactly if v - z is a subgradient of step g at z. For a norm g that means step g(z) = Re <v - z, z>, and
 * Re <v - z, w> <= step g(w) for all w. An error e of z changes the first by at most (2 step L + |z|) |e|, because |v
 * - z| <= step L; and the second by |e| |w|. */
static void check_subgradient(const subject *s, int t, double step, const double complex *v, const double complex *z)
{
    const int64_t count = codomain(s, t);
    const double of_v = norm(count, v), e = map_error(s, t, step, of_v), slope = step * lipschitz(s, t);
    double complex *rest = room(count, sizeof *rest);
    for (int64_t n = 0; n < count; n++)
        rest[n] = v[n] - z[n];
    at_most(s, t, "step g(z) - Re <v - z, z>", fabs(step * value(s, t, z) - creal(inner(count, rest, z))),
            (2 * slope + of_v) * e + e * e + step * value_error(s, t, of_v));
    for (int k = 0; k < 4; k++) {
        double complex *w = random_numbers(count);
        for (int64_t n = 0; n < count && k > 0; n++) /* towards v - z, where the inequality is tight */
            w[n] = rounded(s->o.precision, rest[n] + (k - 1) * 0.1 * w[n]);
        const double size = norm(count, w);
        at_most(s, t, "Re <v - z, w> - step g(w)", creal(inner(count, rest, w)) - step * value(s, t, w),
                e * size + step * value_error(s, t, size));
        free(w);
    }
    free(rest);
}

/* f(w) = step g(w) + |w - v|^2 / 2 is least at z, and strongly convex: f(z + d) - f(z) >= |d|^2 / 2. With an error e
 * of z, f(z) is too large by at most 2 step L |e| + |e|^2, and d has an error of |e|. The two values have errors,
 * too. */
static void check_least(const subject *s, int t, double step, const double complex *v, const double complex *z)
{
    const int64_t count = codomain(s, t);
    const double of_v = norm(count, v), e = map_error(s, t, step, of_v), slope = step * lipschitz(s, t);
    const double least = step * value(s, t, z) + pow(distance(count, z, v), 2) / 2;
    for (int k = 0; k < 6; k++) {
        double complex *w = random_numbers(count);
        const double size = pow(10, -k / 2); /* 1, 1, 0.1, 0.1, 0.01, 0.01 */
        for (int64_t n = 0; n < count; n++)
            w[n] = rounded(s->o.precision, k % 2 ? (1 + size) * z[n] - size * v[n] * 0.5 : z[n] + size * w[n]);
        const double d = distance(count, w, z), of_w = norm(count, w);
        const double there = step * value(s, t, w) + pow(distance(count, w, v), 2) / 2;
        at_most(s, t, "f(z) + |d|^2 / 2 - f(z + d)", least + d * d / 2 - there,
                d * e + 2 * slope * e + e * e + step * (value_error(s, t, of_v) + value_error(s, t, of_w)));
        free(w);
    }
}

static void test_maps(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const vf_penalties_options o = random_options(i);
        subject s = make(&o);
        const int t = (int)integer_below(s.terms);
        const int64_t count = codomain(&s, t);
        const double step = (0.05 + uniform()) / s.share[t];
        double complex *a = random_numbers(count), *b = random_numbers(count);
        double complex *of_a = room(count, sizeof *of_a), *of_b = room(count, sizeof *of_b);
        if (uniform() < 0.5) /* neighbours */
            for (int64_t n = 0; n < count; n++)
                b[n] = rounded(s.o.precision, a[n] + 1e-2 * b[n]);
        map(&s, t, step, a, of_a);
        map(&s, t, step, b, of_b);
        at_most(&s, t, "|map(a) - map(b)| - |a - b|", distance(count, of_a, of_b) - distance(count, a, b),
                map_error(&s, t, step, norm(count, a)) + map_error(&s, t, step, norm(count, b)));
        check_subgradient(&s, t, step, a, of_a);
        check_least(&s, t, step, a, of_a);
        vf_penalties_set(s.p, s.prior[t], 0, 1); /* the identity, up to rounding */
        map(&s, t, step, a, of_b);
        at_most(&s, t, "|map(a) - a| for lambda = 0", distance(count, of_b, a), 620 * unit_of(&s) * norm(count, a));
        vf_penalties_set(s.p, s.prior[t], s.lambda[s.prior[t]], 1);
        const int64_t bad = integer_below(count);
        a[bad] = number(NAN, 1);
        map(&s, t, step, a, of_a);
        assert_true(isnan(creal(of_a[bad])));
        FREE_ALL(a, b, of_a, of_b);
        vf_penalties_free(s.p);
    }
}

/* ---- invalid arguments ---- */

static void refused_options(const vf_penalties_options *o, const char *word)
{
    vf_penalties *p = (vf_penalties *)&p;
    refused(vf_penalties_create(device, o, &p), word);
    assert_null(p);
}

static void test_refusals(void **state)
{
    (void)state;
    const vf_penalties_options good = {
        .priors = 1, .kind = {VF_PENALTY_WAVELET, VF_PENALTY_TV}, .counts = {16, 16, 1, 1}, .precision = VF_F32};
    static const vf_penalty_kind of_frames[] = {VF_PENALTY_TEMPORAL, VF_PENALTY_LLR, VF_PENALTY_NUCLEAR};
    vf_penalties_options o[10];
    static const char *const words[10] = {"0 priors",  "3 priors", "-1 shifts",   "9 shifts", "16 x 0 x 1, 1 frames",
                                          "-1 frames", "priors",   "5 vanishing", "VF_C64",   "priors"};
    for (int i = 0; i < 10; i++)
        o[i] = good;
    o[0].priors = 0;
    o[1].priors = 3;
    o[2].shifts = -1;
    o[3].shifts = 9;
    o[4].counts[1] = 0;
    o[5].counts[3] = -1;
    o[6].priors = 2;
    o[6].kind[1] = VF_PENALTY_WAVELET;
    o[7].moments = 5;
    o[8].precision = VF_C64;
    o[9].kind[0] = VF_PENALTY_KINDS;
    for (int i = 0; i < 10; i++)
        refused_options(&o[i], words[i]);
    for (int i = 0; i < 3; i++) {
        vf_penalties_options single = good;
        single.kind[0] = of_frames[i];
        refused_options(&single, "needs more than one frame");
    }
    for (int i = 0; i < 3; i++) {
        static const vf_penalty_kind of_space[] = {VF_PENALTY_WAVELET, VF_PENALTY_TV, VF_PENALTY_TGV};
        const vf_penalties_options point = {
            .priors = 1, .kind = {of_space[i]}, .counts = {1, 1, 1, 3}, .precision = VF_F64};
        refused_options(&point, "needs more than one voxel");
    }
    vf_penalties_options huge = good;
    for (int kind = 0; kind < VF_PENALTY_KINDS; kind++) {
        huge.kind[0] = (vf_penalty_kind)kind;
        huge.counts[0] = huge.counts[1] = huge.counts[2] = (int64_t)1 << 40;
        huge.counts[3] = 2;
        refused_options(&huge, "not supported");
    }
    vf_penalties_free(NULL);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_values), cmocka_unit_test(test_definitions),
            cmocka_unit_test(test_maps), cmocka_unit_test(test_refusals))
