/* What solvers need from penalties: weights and sums of the terms, transforms and adjoints, the largest eigenvalue,
 * the spectrum. On fresh random numbers.
 *
 * usage: test_penalty_transforms DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 * penalties_fixture.h derives the bounds. */
#include "free_all.h"
#include "penalties_fixture.h"

/* Values belong to the right prior. The weights of a prior add up to its rho; those of tgv to 11 times that (1 +
 * 10). */
static void test_sums(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        vf_penalties_options o = random_options(i);
        o.priors = 2;
        subject s = make(&o);
        double values[VF_MOST_PENALTIES] = {0}, weights[2] = {0}, right[2] = {0};
        for (int t = 0; t < s.terms; t++) {
            values[t] = (double)(1 << t);
            weights[s.prior[t]] += s.list[t].weight;
            right[s.prior[t]] += values[t];
            assert_string_equal(s.list[t].function->name, vf_penalty_name(o.kind[s.prior[t]]));
        }
        for (int k = 0; k < 2; k++) {
            assert_true(vf_penalties_value(s.p, k, values) == right[k]);
            const double ties = o.kind[k] == VF_PENALTY_TGV ? 11 : 1;
            assert_true(fabs(weights[k] - ties * s.rho[k]) <= 16 * 0x1p-53 * ties * s.rho[k]);
        }
        vf_penalties_free(s.p);
    }
}

/* The average over voxels of |T x|^2 for signs x that alternate from voxel to voxel and from frame to frame. For tgv,
 * with the field w_k = c x: D_k x = -2 x and B_l w_k = 2 c x wherever there is a neighbour. */
static double power_of_signs(const subject *s, int t, double c)
{
    const vf_penalty_kind kind = s->o.kind[s->prior[t]];
    const bool first = t == 0 || s->prior[t - 1] != s->prior[t];
    double has[4], sum = 0; /* the share of voxels that have a neighbour along an axis */
    for (int a = 0; a < 4; a++)
        has[a] = 1 - 1 / (double)s->o.counts[a];
    if (kind == VF_PENALTY_TEMPORAL)
        return 4 * has[3];
    if (kind != VF_PENALTY_TV && kind != VF_PENALTY_TGV)
        return 1;
    for (int a = 0; a < 3; a++) {
        if (s->o.counts[a] == 1)
            continue;
        const double own = kind == VF_PENALTY_TGV ? c : 0;
        sum += first ? has[a] * pow(2 + own, 2) + (1 - has[a]) * own * own : 4 * c * c * has[a];
        for (int b = 0; b < a && !first; b++) /* twice (B_b w_a + B_a w_b) / 2 */
            if (s->o.counts[b] > 1)
                sum += 2 * c * c * (4 * has[a] * has[b] + has[a] * (1 - has[b]) + has[b] * (1 - has[a]));
    }
    return sum;
}

/* |T x|^2 is at most `largest` |x|^2 for any x. Alternating signs reach (n - 1) / n of the 4 of each axis, at least
 * half. With tgv they reach about a third, with the field that is optimal for infinite images. 1300 u: the error of
 * |T x| is 620 u. */
static void test_largest(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const vf_penalties_options o = random_options(i);
        subject s = make(&o);
        const int64_t *n = o.counts;
        const double largest = vf_penalties_largest(s.p), slack = 1 + 1300 * unit_of(&s);
        const double sums = 16 * (double)s.whole * 0x1p-53; /* of dot: |T x|^2 has up to 4 times as many numbers */
        const double l =
            4 * s.dimensions; /* the matrix (l, -sqrt l; -sqrt l, 1 + l) has the eigenvector (1, -sqrt d c) */
        const double c = o.priors > 1 ? 0 : (1 + sqrt(1 + 4 * l)) / 2 / sqrt(l) / sqrt(s.dimensions);
        double complex *x = random_numbers(s.whole);
        for (int k = 0; k < 2; k++) {
            double sum = 0, right = 0;
            for (int64_t j = 0; j < s.whole && k == 1; j++) {
                const int64_t at = j % s.numbers;
                x[j] = (at % n[0] + at / n[0] % n[1] + at / n[0] / n[1] % n[2] + at / n[0] / n[1] / n[2]) % 2 ? -1 : 1;
                x[j] = rounded(o.precision, j < s.numbers ? x[j] : c * x[j]);
            }
            for (int t = 0; t < s.terms; t++) {
                sum += transformed_power(&s, t, x) / creal(inner(s.whole, x, x));
                right += power_of_signs(&s, t, c) * (double)s.numbers / creal(inner(s.whole, x, x));
            }
            at_most(&s, 0, "|T x|^2 / |x|^2", sum, largest * slack);
            if (k == 1)
                at_most(&s, 0, "distance from the largest", fabs(sum - right), (slack - 1 + sums) * right);
            if (k == 1)
                at_most(&s, 0, "the bound", largest, (vf_penalties_extra(s.p) ? 3 : 2) * slack * sum);
        }
        free(x);
        vf_penalties_free(s.p);
    }
}

/* e^(2 pi i m / n), within 4 u: whole quarters of a turn are exact, and at most pi/4 is left, rounded three times. */
static double complex root_of_unity(int64_t m, int64_t n)
{
    const int64_t quarters = (4 * (m % n) + n / 2) / n;
    const double angle = M_PI / 2 * ((double)(4 * (m % n) - quarters * n) / (double)n);
    const double c = cos(angle), d = sin(angle);
    const double complex turned[4] = {number(c, d), number(-d, c), number(-c, -d), number(d, -c)};
    return turned[quarters % 4];
}

/* sum rho T^H T is applied to a plane wave in one part of the unknowns. In that part, the result is the spectrum
 * times the wave. For wavelets and low-rank penalties that holds everywhere, because padding preserves norms; for
 * differences, wherever all neighbours exist. Differences between frames give 2 times the coupling, the mean over all
 * waves. The error is at most 12 u per difference and 8 u for the wave, times eigenvalues of at most 4 per axis: 400
 * u rho. For tgv's field, whose weight is 10, it is at most ten times that. */
static void check_spectrum(const subject *s, int part)
{
    const int64_t *n = s->o.counts, voxels = s->numbers / n[3], which = integer_below(voxels);
    const double allowed = 400 * unit_of(s) * (s->rho[0] + s->rho[1]) * (part > 0 ? 10 : 1);
    double *spectrum = room(voxels, sizeof *spectrum);
    double complex *x = room(s->whole, sizeof *x), *y = room(s->whole, sizeof *y);
    const double complex *of_part = x + part * s->numbers, *made = y + part * s->numbers;
    int64_t turns[4]; /* of the wave from one unknown to the next along an axis, in units of 1 / numbers */
    double total = 0, between = part > 0 ? 0 : 2 * vf_penalties_coupling(s->p);
    for (int64_t j = 0; j < voxels; j++)
        spectrum[j] = 1;
    vf_penalties_add_spectrum(s->p, part, spectrum);
    for (int64_t j = 0, rest = which; j < 3; rest /= n[j++])
        turns[j] = (rest % n[j] - n[j] / 2 + n[j]) % n[j] * (s->numbers / n[j]);
    for (int64_t k = 0; k < n[3]; k++) {
        turns[3] = k * (s->numbers / n[3]);
        for (int64_t j = 0; j < s->whole; j++)
            x[j] = y[j] = 0;
        for (int64_t j = 0; j < s->numbers; j++) {
            const int64_t turned = turns[0] * (j % n[0]) + turns[1] * (j / n[0] % n[1]) +
                                   turns[2] * (j / n[0] / n[1] % n[2]) + turns[3] * (j / voxels);
            x[part * s->numbers + j] = rounded(s->o.precision, root_of_unity(turned, s->numbers));
        }
        for (int t = 0; t < s->terms; t++)
            add_normal(s, t, x, y);
        double complex first = 0;
        for (int64_t j = 0; j < s->numbers; j++) {
            const int64_t at[4] = {j % n[0], j / n[0] % n[1], j / n[0] / n[1] % n[2], j / voxels};
            bool inside = true;
            for (int a = 0; a < 4; a++)
                inside &= n[a] == 1 || (at[a] > 0 && at[a] < n[a] - 1);
            if (!inside)
                continue;
            first = first != 0 ? first : made[j] / of_part[j];
            at_most(s, 0, "distance from a multiple of the wave", cabs(made[j] - first * of_part[j]), 2 * allowed);
        }
        total += creal(first);
    }
    at_most(s, 0, "distance from the spectrum", fabs(total / (double)n[3] - between - (spectrum[which] - 1)), allowed);
    FREE_ALL(spectrum, x, y);
}

static void test_spectrum(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        vf_penalties_options o = random_options(i);
        for (int a = 0; a < 3; a++) /* with an interior */
            o.counts[a] += o.counts[a] == 2;
        o.counts[3] += 1;
        subject s = make(&o);
        for (int part = 0; part <= vf_penalties_extra(s.p); part++)
            check_spectrum(&s, part);
        vf_penalties_free(s.p);
    }
}

/* <T x, y> = <x, T^H y>, and T^H T x is the adjoint of the forward. The products have the errors of the transforms,
 * 620 u |T| |x| |y| each, and |T| is at most 4. T^H T has 620 u twice, times |T|^2. */
static void test_transforms(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const vf_penalties_options o = random_options(i);
        subject s = make(&o);
        for (int t = 0; t < s.terms; t++) {
            vf_operator *of = s.list[t].transform;
            if (!of)
                continue;
            const int64_t count = codomain(&s, t);
            assert_int_equal(vf_operator_domain(of).count, s.whole);
            double complex *x = random_numbers(s.whole), *y = random_numbers(count);
            double complex *tx = room(count, sizeof *tx), *ty = room(s.whole, sizeof *ty);
            double complex *twice = room(s.whole, sizeof *twice), *normal = room(s.whole, sizeof *normal);
            transform(&s, t, x, tx);
            adjoint(&s, t, y, ty);
            const double size = norm(s.whole, x), u = unit_of(&s);
            at_most(&s, t, "<T x, y> - <x, T^H y>", cabs(inner(count, tx, y) - inner(s.whole, x, ty)),
                    2 * 4 * 620 * u * size * norm(count, y));
            adjoint(&s, t, tx, twice);
            for (int64_t j = 0; j < s.whole; j++)
                normal[j] = 0;
            add_normal(&s, t, x, normal);
            for (int64_t j = 0; j < s.whole; j++)
                twice[j] *= s.list[t].weight;
            at_most(&s, t, "T^H T x less T^H (T x)", distance(s.whole, twice, normal),
                    s.list[t].weight * 16 * 4 * 620 * u * size);
            FREE_ALL(x, y, tx, ty, twice, normal);
        }
        vf_penalties_free(s.p);
    }
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sums), cmocka_unit_test(test_largest),
            cmocka_unit_test(test_spectrum), cmocka_unit_test(test_transforms))
