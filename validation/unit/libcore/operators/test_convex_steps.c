/* The iterations of the solvers of convex problems, against the same iterations on the host; what they start from.
 *
 * usage: test_convex_steps DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "convex_fixture.h"

/* A diagonal from 1 to 100, so that 60 iterations are far from the solution, and lambda |x|_1. */
static trial *spread_trial(vf_dtype type)
{
    matrix a = zero_matrix(type, BIG, BIG);
    for (int j = 0; j < BIG; j++)
        a.a[j * BIG + j] = pow(100, j / (BIG - 1.0));
    trial *s = open_trial(type, BIG, a);
    add_term(s, 0.05 + 0.1 * uniform(), (matrix){0}, 1);
    return s;
}

static double complex soft(double complex v, double threshold)
{
    return cabs(v) <= threshold ? 0 : v * (1 - threshold / cabs(v));
}

/* The primal-dual method with T = 1, tau = 1 / L and sigma = L / 2, on the host. Rounding: less than 64 u for each of
 * 60 steps, relative to vectors at most as large as b, since all eigenvalues of A are at least 1. */
static void test_primal_dual_steps(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = spread_trial(element_types[i]);
        const double sigma = s->largest / 2, lambda = s->term[0].lambda;
        double complex x[BIG] = {0}, y[BIG] = {0};
        for (int k = 0; k < 60; k++)
            for (int j = 0; j < BIG; j++) {
                const double complex step = (s->b[j] - s->a.a[j * BIG + j] * x[j] - y[j]) / s->largest,
                                     v = y[j] / sigma + x[j] + 2 * step;
                x[j] += step;
                y[j] = sigma * (v - soft(v, lambda / sigma));
            }
        solve(s, vf_primal_dual, (vf_convex_options){.iterations = 60});
        assert_true(distance(BIG, s->x, x) <= 60 * 64 * s->u * size_of(BIG, s->b));
        close_trial(s);
    }
}

/* FISTA with restarts on the host, and the bound of its residual. If the product that decides on a restart is 0 up to
 * rounding, it may have either sign, so the comparison ends there. Rounding: as above, times up to 3 for the
 * momentum. */
static void test_fista_steps(void **state)
{
    (void)state;
    int restarts = 0;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = spread_trial(element_types[i]);
        const double largest = s->largest, right = size_of(BIG, s->b);
        double complex x[BIG] = {0}, ahead[BIG] = {0};
        double t = 1, dual = 0;
        int k = 0;
        for (bool sure = true; sure && k < 60; k++) {
            double complex move[BIG], off[BIG];
            for (int j = 0; j < BIG; j++) {
                const double complex to = ahead[j] + (s->b[j] - s->a.a[j * BIG + j] * ahead[j]) / largest,
                                     next = soft(to, s->term[0].lambda / largest);
                move[j] = next - x[j];
                off[j] = ahead[j] - next;
                x[j] = next;
            }
            const double product = creal(inner(BIG, off, move)), next = product > 0 ? 1 : (1 + sqrt(1 + 4 * t * t)) / 2;
            sure = fabs(product) > 1e-3 * size_of(BIG, off) * size_of(BIG, move);
            for (int j = 0; j < BIG; j++)
                ahead[j] = x[j] + (product > 0 ? 0 : (t - 1) / next) * move[j];
            restarts += product > 0;
            t = next;
            dual = largest * size_of(BIG, off) / right;
        }
        solve(s, vf_fista, (vf_convex_options){.iterations = k});
        const double allowed = 60 * 3 * 64 * s->u;
        assert_true(distance(BIG, s->x, x) <= allowed * right);
        near("dual residual", s->result.dual, dual, allowed * largest);
        close_trial(s);
    }
    assert_true(restarts > 0);
}

/* With a condition number of 100, 400 steps of conjugate gradients reduce the error of x to 2 (9 / 11)^400,
 * practically 0. So one step with the exact inverse must give the same. Three iterations. Rounding limits conjugate
 * gradients to a few times 100 u. */
static void test_inner_steps(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = spread_trial(element_types[i]);
        matrix inverse = zero_matrix(s->type, BIG, BIG);
        double complex x[BIG];
        for (int j = 0; j < BIG; j++)
            inverse.a[j * BIG + j] = 1 / (s->a.a[j * BIG + j] + 1);
        vf_operator *m = make_operator(&inverse);
        solve(s, vf_admm, (vf_convex_options){.iterations = 3, .inner = 1, .preconditioner = m});
        memcpy(x, s->x, sizeof x);
        solve(s, vf_admm, (vf_convex_options){.iterations = 3, .inner = 400});
        assert_true(distance(BIG, s->x, x) <= 4096 * s->u * size_of(BIG, s->b));
        vf_operator_free(m);
        free(inverse.a);
        close_trial(s);
    }
}

/* With the identity, the multipliers that vf_admm starts from are b - A x, as far as they are subgradients: at the solution, those
 * of the solution. Let the first run end with the residuals p and r of its two conditions. The start's multiplier is then within |r| of
 * its own, since the projection does not expand; so z is within |p| + |r| / weight of its z, and both residuals are a few times p and
 * r: a hundred times the tolerance leaves room. With multipliers of 0 the first residuals are near those of x = 0. */
static void test_warm_multipliers(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = diagonal_trial(element_types[i], BIG, 0, 0.5);
        vf_convex_options options = {.iterations = MOST_ITERATIONS, .tolerance = s->u < 1e-10 ? 1e-9 : 3e-5};
        solve(s, vf_admm, options);
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        options.tolerance *= 100;
        solve(s, vf_admm, options);
        const int cold = s->result.iterations;
        options.tolerance /= 100;
        solve(s, vf_admm, options);
        options.warm = true;
        options.tolerance *= 100;
        solve(s, vf_admm, options);
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        assert_true(s->result.iterations == 1 && cold > 1);
        close_trial(s);
    }
}

/* Fewer steps the less their residual has to fall: none of them in vain, and at least one an iteration. */
static void test_reduction(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = diagonal_trial(element_types[i], BIG, 0, 0.5);
        int applications[3];
        for (int k = 0; k < 3; k++) {
            solve(s, vf_admm, (vf_convex_options){.iterations = 5, .reduction = (double[]){0, 0.6, 1e-3}[k]});
            applications[k] = s->result.applications;
        }
        assert_int_equal(applications[0], applications[1]);
        assert_true(applications[2] > applications[1] && applications[1] >= 5);
        close_trial(s);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_primal_dual_steps), cmocka_unit_test(test_fista_steps),
            cmocka_unit_test(test_inner_steps), cmocka_unit_test(test_warm_multipliers),
            cmocka_unit_test(test_reduction))
