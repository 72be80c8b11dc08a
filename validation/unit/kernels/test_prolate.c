/* The prolate function: it is an eigenfunction of its integral equation and has no zeros, so it is the zeroth one;
 * its integral, transform and variance, by quadrature; its polynomials.
 *
 * Quadrature: 220 Gauss-Legendre nodes, exact for polynomials up to degree 439. psi(x) cos(k x), c <= 60 and k <= 200,
 * is a polynomial of that degree to far below 1e-16. Bounds: values of at most 1 with errors of 1e-14 (prolate.h),
 * summed over weights of sum 2; with rounding errors of the sum itself, 1e-13. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "prolate.h"
#include "random_fixture.h"

enum { NODES = 220, TRIALS = 12 };

static double node[NODES], weight[NODES];

static void make_quadrature(void)
{
    for (int i = 0; i < NODES; i++) {
        long double z = cosl(3.14159265358979323846L * (i + 0.75L) / (NODES + 0.5L)), slope = 1;
        for (int step = 0; step < 6; step++) {
            long double before = 1, here = z;
            for (int k = 2; k <= NODES; k++) {
                const long double next = ((2 * k - 1) * z * here - (k - 1) * before) / k;
                before = here;
                here = next;
            }
            slope = NODES * (z * here - before) / (z * z - 1);
            z -= here / slope;
        }
        node[i] = (double)z;
        weight[i] = (double)(2 / ((1 - z * z) * slope * slope));
    }
}

/* integral_-1^1 psi(x) cos(k x) x^power dx. */
static double integral(const vf_prolate *p, double k, int power)
{
    double sum = 0;
    for (int i = 0; i < NODES; i++)
        sum += weight[i] * vf_prolate_value(p, node[i]) * cos(k * node[i]) * pow(node[i], power);
    return sum;
}

static void assert_near(const char *what, double c, double got, double expected, double most)
{
    if (!(fabs(got - expected) <= most)) /* NaN, too */
        fail_msg("%s, c = %.17g: %.17g instead of %.17g, off by %.3g", what, c, got, expected, got - expected);
}

/* Some bandwidths, including both limits. */
static double bandwidth(int trial)
{
    return trial == 0 ? VF_PROLATE_LEAST : trial == 1 ? VF_PROLATE_MOST : 0.5 + 59.5 * uniform();
}

/* The equation has one solution for each eigenvalue; the nth has n zeros in (-1, 1) (Slepian and Pollak 1961). */
static void test_eigenfunction(void **state)
{
    (void)state;
    for (int n = 0; n < TRIALS; n++) {
        vf_prolate p;
        vf_prolate_make(bandwidth(n), &p);
        const double lambda = integral(&p, 0, 0);
        assert_near("psi(0)", p.c, vf_prolate_value(&p, 0), 1, 1e-14);
        double before = 1 + 1e-14;
        for (int i = 0; i <= 200; i++) {
            const double x = i / 200.0, value = vf_prolate_value(&p, x);
            assert_near("the equation", p.c, integral(&p, p.c * x, 0), lambda * value, 1e-13);
            if (!(value > -1e-14) || !(value <= before + 1e-14))
                fail_msg("psi(%g) = %g after %g, c = %g: it must fall to 0", x, value, before, p.c);
            before = value;
        }
        assert_true(vf_prolate_value(&p, 1.0000001) == 0 && vf_prolate_value(&p, -2) == 0);
        assert_near("evenness", p.c, vf_prolate_value(&p, -0.37), vf_prolate_value(&p, 0.37), 1e-14);
    }
}

static void test_integrals(void **state)
{
    (void)state;
    for (int n = 0; n < TRIALS; n++) {
        vf_prolate p;
        vf_prolate_make(bandwidth(n), &p);
        const double all = integral(&p, 0, 0), x = uniform();
        double part = 0;
        for (int i = 0; i < NODES; i++)
            part += 0.5 * x * weight[i] * vf_prolate_value(&p, 0.5 * x * (node[i] + 1));
        assert_near("area", p.c, p.area, all / 2, 1e-13);
        assert_near("integral", p.c, vf_prolate_integral(&p, x), 2 * part / all, 2e-13 / all);
        assert_near("odd integral", p.c, vf_prolate_integral(&p, -x), -vf_prolate_integral(&p, x), 1e-15);
        assert_near("slope", p.c, vf_prolate_slope(&p, x) * x, vf_prolate_integral(&p, x), 1e-15);
        assert_near("slope at 0", p.c, vf_prolate_slope(&p, 1e-9), vf_prolate_slope(&p, 0), 1e-13 / all);
        assert_near("variance", p.c, p.variance, integral(&p, 0, 2) / all, 2e-13 / all);
        assert_true(vf_prolate_integral(&p, 1) == 1 && vf_prolate_integral(&p, -3) == -1);
        for (int i = 0; i < 40; i++) {
            const double k = i < 20 ? 1.5 * p.c * uniform() : 200 * uniform();
            assert_near("transform", p.c, vf_prolate_transform(&p, k), integral(&p, k, 0) / all, 3e-13 / all);
        }
    }
}

/* The error of the fit is at most the sum of the omitted terms. Each is below the accuracy, and they fall
 * geometrically, so 4 times the accuracy is enough. Horner's rule adds its roundings. */
static void test_polynomials(void **state)
{
    (void)state;
    double (*const functions[])(const vf_prolate *, double) = {vf_prolate_value, vf_prolate_slope};
    vf_even_function *const many[] = {vf_prolate_values, vf_prolate_slopes};
    for (int n = 0; n < TRIALS; n++)
        for (int f = 0; f < 2; f++) {
            const double accuracy = n % 2 ? 0 : pow(10, -12 * uniform());
            vf_prolate p;
            vf_prolate_powers powers;
            vf_prolate_make(bandwidth(n), &p);
            vf_prolate_fit(&p, many[f], accuracy, &powers);
            assert_true(powers.degree < VF_PROLATE_POWERS - 20);
            for (int i = 0; i <= 500; i++) {
                const double x = i / 500.0, t = 2 * x * x - 1, top = functions[f](&p, 0);
                double sum = 0;
                for (int k = powers.degree; k >= 0; k--)
                    sum = sum * t + powers.coefficient[k];
                assert_near("polynomial", p.c, sum, functions[f](&p, x), (4 * accuracy + 1e-14) * top);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eigenfunction), cmocka_unit_test(test_integrals),
                                       cmocka_unit_test(test_polynomials)};
    make_quadrature();
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
