/* The solvers of convex problems with penalties: closed forms, proofs that a point is a minimum, the reported
 * numbers, options that must not change the solution, warm starts, and identical bits.
 *
 * usage: test_convex DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * How far from the solution x* may x be? The last calls of the maps give z and a subgradient y at z (`prove`). Let R
 * = |A x - b + T^H y| and G = |T x - z|, and let y* be the subgradient of the solution. Then A (x - x*) + T^H (y -
 * y*) = r, with |r| = R. Its product with x - x* is
 *     <x - x*, A (x - x*)> + Re <y - y*, z - z*> = Re <r, x - x*> + Re <y - y*, z - T x>,
 * and <y - y*, z - z*> >= 0 for convex functions. |y| <= s = sqrt(sum_i lambda_i^2 count_i) for penalties lambda_i |.|_1,
 * so if all eigenvalues of A are m > 0 or more, m |x - x*|^2 <= R |x - x*| + 2 s G:
 *     |x - x*| <= R / m + sqrt(2 s G / m)                                                                        (1)
 * Without m: for any w, convexity gives f(x) - f(w) <= Re <A x - b, x - w> + g(T x) - g(T w), and g(T x) - g(T w) <= s G
 * + g(z) - g(T w) <= s G + Re <y, z - T w> <= 2 s G + Re <T^H y, x - w>:
 *     f(x) - f(w) <= R |x - w| + 2 s G                                                                           (2)
 * The test recomputes R and G from x and the last calls of the maps, so neither bound depends on what the solver
 * reports.
 *
 * Rounding of the reported residuals: vf_admm updates A x in at most 32 iterations of 3 steps. Each step rounds p, q,
 * x and A x: 4 u, relative to vectors of at most 2 (|A| |x| + |b|), as measured. Forces are a sum of up to 4 terms,
 * each rounded a few times: less than 64 u. Together `slack`: 768 u (|A| |x| + |b| + forces), for the dual residual.
 * The residual T x - z has one rounding in each of T x, z and the difference, a few u. */
#include "convex_fixture.h"

static bool is_fine(vf_dtype type)
{
    return vf_dtype_real(type) == VF_F64;
}

/* Both solvers are slow where an element's subgradient is nearly as large as lambda at the solution: they need many
 * iterations to find out whether the element is 0. One problem in about 100 takes ADMM 100,000 iterations, one in 30 more
 * than 2,000, and ten times as many with a weight that is off by 10; one in 50 takes the primal-dual method more than
 * 20,000. This draws problems until one takes the solver at most so many; five slow ones in a row are a failure. */
static trial *quick_trial(int solver, vf_dtype type, double least, double tolerance)
{
    vf_convex_options options = {.iterations = MOST_ITERATIONS / (solver == ADMM ? 100 : 10), .tolerance = tolerance};
    if (solver == ADMM) {
        options.inner = 1;
        options.relaxation = 1;
    }
    for (int tries = 0; tries < 5; tries++) {
        trial *s = dense_trial(type, least);
        solve(s, solvers[solver].solve, options);
        if (s->result.end == VF_SOLVER_CONVERGED)
            return s;
        printf("a slow problem: residuals %g and %g\n", s->result.primal, s->result.dual);
        close_trial(s);
    }
    fail_msg("%s did not converge for any of five problems", solvers[solver].name);
    return NULL;
}

static double slack(const trial *s, const proof *p)
{
    return 768 * s->u * (s->largest * size_of(s->n, s->x) + size_of(s->n, s->b) + p->forces);
}

/* Bound (1), with m = least. */
static double distance_allowed(const trial *s, double least)
{
    const proof p = prove(s);
    return (p.gradient + slack(s, &p)) / least + sqrt(2 * p.slopes * (p.gap + 4 * s->u * p.size) / least);
}

static void check_converged(const trial *s, int solver)
{
    const vf_convex_result *r = &s->result;
    if (r->end != VF_SOLVER_CONVERGED)
        fail_msg("%s: end %d after %d iterations, residuals %g and %g", solvers[solver].name, (int)r->end,
                 r->iterations, r->primal, r->dual);
}

/* Checks the reported terms of the objective, and that the residuals are below the tolerance if the solver reports
 * convergence. Errors are relative to |A x| |x| for the first term, and to lambda |T x|_1 for the others, where T x
 * is rounded to u |T x| and |.|_1 <= sqrt(count) |.|. */
static void check_report(const trial *s, int solver, double tolerance)
{
    const vf_convex_result *r = &s->result;
    const proof p = prove(s);
    const double size = size_of(s->n, s->x), right = size_of(s->n, s->b);
    double part[1 + MOST_TERMS];
    objective(s, s->x, part);
    near("data", r->data, part[0], slack(s, &p) * size);
    for (int i = 0; i < s->terms; i++)
        near("penalty", r->penalty[i], part[1 + i],
             4 * s->u * s->term[i].lambda * sqrt((double)s->term[i].count) * p.size);
    if (solver != FISTA)
        near("dual residual", r->dual, p.gradient / right, slack(s, &p) / right);
    assert_true(p.gradient <= r->dual * right + slack(s, &p));
    assert_true(p.size == 0 || r->primal <= (p.gap + 8 * s->u * p.size) / p.size);
    assert_true((r->end == VF_SOLVER_CONVERGED) == (r->primal <= tolerance && r->dual <= tolerance));
    assert_true(solver != FISTA || r->primal == 0);
}

/* ---- closed forms ---- */

/* A = diag(d), and T is a stack of diagonals t: x = soft(b, sum lambda |t|) / d. */
static void closed_form(const trial *s, double complex *x)
{
    for (int64_t j = 0; j < s->n; j++) {
        double threshold = 0;
        for (int i = 0; i < s->terms; i++) {
            const term *g = &s->term[i];
            double sum = g->t.a ? 0 : 1;
            for (int64_t k = j; g->t.a && k < g->count; k += s->n)
                sum += cabs(g->t.a[k * s->n + j]);
            threshold += g->lambda * sum;
        }
        const double size = cabs(s->b[j]);
        x[j] = size <= threshold ? 0 : s->b[j] * (1 - threshold / size) / creal(s->a.a[j * s->n + j]);
    }
}

static void test_closed_forms(void **state)
{
    (void)state;
    for (int trials = 0; trials < 16 * 2; trials++) {
        /* In every other round the penalties are so strong that x = 0. */
        const int kind = trials / 4 % 4;
        const vf_dtype type = element_types[trials % 4];
        const int64_t n = trials % 5 == 0 ? 1 : 1 + (int64_t)(uniform() * 30);
        trial *s = diagonal_trial(type, n, kind, trials < 16 ? 0.6 : 30);
        const double tolerance = is_fine(type) ? 1e-11 : 2e-5;
        double complex *expected = room(n, sizeof *expected);
        closed_form(s, expected);
        for (int i = 0; i < (kind == 0 ? SOLVERS : FISTA); i++) {
            solve(s, solvers[i].solve, (vf_convex_options){.iterations = MOST_ITERATIONS, .tolerance = tolerance});
            check_converged(s, i);
            check_report(s, i, tolerance);
            const double off = distance(n, s->x, expected), allowed = distance_allowed(s, 1);
            if (!(off <= allowed) || !(allowed <= (is_fine(type) ? 1e-4 : 0.1) * (1 + size_of(n, s->b))))
                fail_msg("%s: off by %g, allowed %g (kind %d, %s)", solvers[i].name, off, allowed, kind,
                         vf_dtype_name(type));
        }
        free(expected);
        close_trial(s);
    }
}

/* ---- dense problems ---- */

/* Bound (2), plus the rounding of f on the host. */
static void not_lower(const trial *s, const double complex *w, const char *what)
{
    double part[1 + MOST_TERMS];
    const proof p = prove(s);
    const double here = objective(s, s->x, part), there = objective(s, w, part),
                 allowed = p.gradient * distance(s->n, s->x, w) + 2 * p.slopes * p.gap +
                           1e-14 * (double)s->n * (fabs(here) + fabs(there) + 1);
    if (!(here - there <= allowed))
        fail_msg("%s: lower by %g, allowed %g", what, here - there, allowed);
}

static void test_minimum(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ELEMENT_TYPES; i++) {
        const vf_dtype type = element_types[i % ELEMENT_TYPES];
        trial *s = quick_trial(ADMM, type, i < ELEMENT_TYPES ? 0 : 0.3, is_fine(type) ? 1e-8 : 3e-5);
        double complex *w = room(s->n, sizeof *w), *before = room(s->n, sizeof *w);
        for (int solver = ADMM; solver <= PRIMAL_DUAL; solver++) {
            const double tolerance = solver == PRIMAL_DUAL ? 1e-4 : is_fine(type) ? 1e-8 : 3e-5;
            memcpy(before, s->x, (size_t)s->n * sizeof *w);
            solve(s, solvers[solver].solve, (vf_convex_options){.iterations = MOST_ITERATIONS, .tolerance = tolerance});
            check_converged(s, solver);
            check_report(s, solver, tolerance);
            for (int k = 0; k < 60; k++) {
                const double length = pow(10, -k % 10);
                for (int64_t j = 0; j < s->n; j++)
                    w[j] = s->x[j] + length * (k < 30 ? random_element(type) : uniform() * s->x[j]);
                not_lower(s, w, solvers[solver].name);
            }
            if (solver == PRIMAL_DUAL)
                not_lower(s, before, "ADMM after the primal-dual method");
        }
        free(w);
        free(before);
        close_trial(s);
    }
}

/* ---- the report ---- */

/* Runs of 1, 2, 3, ... iterations. Recomputes each residual. A tolerance must end the solver exactly at the first
 * iteration whose residuals are not larger. */
static void test_residuals(void **state)
{
    (void)state;
    for (int i = 0; i < SOLVERS * ELEMENT_TYPES; i++) {
        const vf_dtype type = element_types[i % ELEMENT_TYPES];
        const int solver = i / ELEMENT_TYPES;
        trial *s = solvers[solver].any ? dense_trial(type, 0.1) : diagonal_trial(type, BIG, 0, 0.5);
        history all = {0};
        double largest = 0;
        int best = 1;
        solve(s, solvers[solver].solve,
              (vf_convex_options){.iterations = LAST, .inner = 2, .tell = note, .user = &all});
        const int last = all.count; /* FISTA may reach a fixed point */
        assert_true(last == LAST || solver == FISTA);
        for (int k = 1; k <= last; k++) {
            solve(s, solvers[solver].solve, (vf_convex_options){.iterations = k, .inner = 2});
            const proof p = prove(s);
            const vf_convex_result *r = &s->result;
            largest = fmax(largest, p.size);
            check_report(s, solver, 0);
            if (solver != FISTA)
                near("primal residual", r->primal, p.gap / largest, 8 * s->u * (1 + p.gap / largest));
            assert_true(fmax(r->primal, r->dual) == all.residual[k]);
            assert_int_equal(r->iterations, k);
            assert_int_equal(r->applications, applications(solver, false, k));
            best = all.residual[k] < all.residual[best] ? k : best;
        }
        solve(s, solvers[solver].solve,
              (vf_convex_options){.iterations = LAST, .inner = 2, .tolerance = all.residual[best]});
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        assert_int_equal(s->result.iterations, best);
        /* The next smaller tolerance is not reached. */
        solve(s, solvers[solver].solve,
              (vf_convex_options){.iterations = last, .inner = 2, .tolerance = nextafter(all.residual[best], 0)});
        assert_true(s->result.end == VF_SOLVER_ITERATIONS || all.residual[best] == 0);
        close_trial(s);
    }
}

/* ---- options that change the iterations, not the solution ---- */

static void test_settings(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const vf_dtype type = element_types[i];
        const double tolerance = is_fine(type) ? 1e-9 : 1e-4, least = 0.3;
        trial *s = quick_trial(ADMM, type, least, tolerance);
        double complex *first = room(s->n, sizeof *first);
        double allowed = 0;
        int iterations[3] = {0};
        for (int k = 0; k < 3 * 3 * 3; k++) {
            const int inner = 1 + k % 3, which = k / 9;
            for (int t = 0; t < s->terms; t++)
                s->penalty[t].weight = (t == 2 ? 0.3 : 0.1) * (double[]){1, 0.1, 10}[which];
            solve(s, vf_admm,
                  (vf_convex_options){.iterations = MOST_ITERATIONS,
                                      .tolerance = tolerance,
                                      .inner = inner,
                                      .relaxation = (double[]){1, 1.6, 1.8}[k / 3 % 3]});
            check_converged(s, ADMM);
            assert_int_equal(s->result.applications, inner * s->result.iterations + s->result.iterations / 32);
            check_report(s, ADMM, tolerance);
            iterations[which] = s->result.iterations;
            if (k == 0) {
                allowed = distance_allowed(s, least);
                memcpy(first, s->x, (size_t)s->n * sizeof *first);
            }
            const double off = distance(s->n, s->x, first), here = distance_allowed(s, least);
            if (!(off <= allowed + here))
                fail_msg("setting %d: off by %g, allowed %g", k, off, allowed + here);
        }
        assert_true(iterations[0] != iterations[1] || iterations[0] != iterations[2]);
        free(first);
        close_trial(s);
    }
}

/* A has the condition number 1000, and the preconditioner is the exact inverse of A + weight. So every x of vf_admm
 * is exact after one step, and vf_admm takes one step if it may choose the number. Without the inverse the first iteration
 * takes more, at most ten, and later ones, which begin with the directions that are kept, one to ten: five take 2 + 4 at least. */
static void test_preconditioner(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const vf_dtype type = element_types[i];
        matrix a = zero_matrix(type, BIG, BIG), inverse = zero_matrix(type, BIG, BIG);
        const double weight = 20 * (1 + uniform()); /* near the root of 1000: few iterations if x is exact */
        for (int j = 0; j < BIG; j++) {
            a.a[j * BIG + j] = pow(1000, j / (BIG - 1.0));
            inverse.a[j * BIG + j] = 1 / (creal(a.a[j * BIG + j]) + weight);
        }
        trial *s = open_trial(type, BIG, a);
        vf_operator *m = make_operator(&inverse);
        add_term(s, 0.5 * uniform(), (matrix){0}, weight);
        double complex expected[BIG];
        closed_form(s, expected);
        vf_convex_options options = {
            .iterations = MOST_ITERATIONS, .tolerance = is_fine(type) ? 1e-8 : 1e-4, .inner = 1};
        solve(s, vf_admm, options);
        const int plain = s->result.iterations;
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        solve(s, vf_admm, (vf_convex_options){.iterations = 5});
        assert_in_range(s->result.applications, 6, 50);
        solve(s, vf_admm, (vf_convex_options){.iterations = 5, .preconditioner = m});
        assert_int_equal(s->result.applications, 5);
        options.preconditioner = m;
        for (options.inner = 1; options.inner <= 2; options.inner++) {
            solve(s, vf_admm, options);
            assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
            check_report(s, ADMM, options.tolerance);
            assert_true(distance(BIG, s->x, expected) <= distance_allowed(s, 1));
            if (!(s->result.iterations < plain))
                fail_msg("%d iterations, %d without preconditioner", s->result.iterations, plain);
        }
        vf_operator_free(m);
        free(inverse.a);
        close_trial(s);
    }
}

/* ---- warm starts ---- */

/* FISTA has no state except x. Let P be a step, and let the first run have gone from a to x = P a. Then the residual
 * L |x - P x| = L |P a - P x| is at most L |a - x|, the previous residual, because P is not expansive. So FISTA ends
 * after one iteration. The tolerance is doubled for rounding. */
static void test_warm_fista(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        trial *s = diagonal_trial(element_types[i], BIG, 0, 0.5);
        vf_convex_options options = {.iterations = 10000, .tolerance = is_fine(s->type) ? 1e-10 : 1e-5};
        solve(s, vf_fista, options);
        const int cold = s->result.iterations;
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        options.warm = true;
        options.tolerance *= 2;
        solve(s, vf_fista, options);
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        assert_true(s->result.iterations == 1 && cold > 1);
        check_report(s, FISTA, options.tolerance);
        close_trial(s);
    }
}

/* The other solvers start with multipliers of 0. Without penalties (lambda = 0), those of the solution are 0, too, so
 * the solvers end after one iteration. vf_admm has r = b - A x, |r| <= t |b|. Its steps move x by at most d = |r| / m
 * with m = 0.3, the least eigenvalue of A. So A x moves by at most |A| d, and T x - z is at most 0.6 |T| d. With |A|
 * <= 10 |T|^2 <= 1e4 here, that is less than 1e4 t of either side. With penalties they move away from x and return to
 * it. */
static void test_warm(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ELEMENT_TYPES; i++) {
        const int solver = i / ELEMENT_TYPES;
        const double least = 0.3;
        const vf_dtype type = element_types[i % ELEMENT_TYPES];
        const double tolerance = is_fine(type) ? 1e-9 : 3e-5;
        trial *s = quick_trial(solver, type, least, tolerance);
        double complex *first = room(s->n, sizeof *first);
        double lambda[MOST_TERMS];
        for (int k = 0; k < s->terms; k++) {
            lambda[k] = s->term[k].lambda;
            s->term[k].lambda = 0;
        }
        for (int penalties = 0; penalties < 2; penalties++) {
            vf_convex_options options = {.iterations = MOST_ITERATIONS, .inner = 2, .tolerance = tolerance};
            for (int k = 0; penalties && k < s->terms; k++)
                s->term[k].lambda = lambda[k];
            solve(s, solvers[solver].solve, options);
            check_converged(s, solver);
            assert_int_equal(s->result.applications, applications(solver, false, s->result.iterations));
            double allowed = distance_allowed(s, least);
            memcpy(first, s->x, (size_t)s->n * sizeof *first);
            options.warm = true;
            options.tolerance = penalties ? tolerance : fmin(1e4 * tolerance, 0.1);
            solve(s, solvers[solver].solve, options);
            assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
            assert_int_equal(s->result.applications, applications(solver, true, s->result.iterations));
            assert_true(penalties || s->result.iterations == 1);
            check_report(s, solver, options.tolerance);
            allowed += distance_allowed(s, least);
            assert_true(distance(s->n, s->x, first) <= allowed);
        }
        free(first);
        close_trial(s);
    }
}

/* Differences, with a strong penalty: T x = 0 at the solution, which is the constant c with c <1, A 1> = <1, b>. */
static void test_flat_solution(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ELEMENT_TYPES; i++) {
        const vf_dtype type = element_types[i % ELEMENT_TYPES];
        const int solver = i / ELEMENT_TYPES;
        const int64_t n = 12;
        matrix differences = zero_matrix(type, n - 1, n);
        for (int64_t j = 0; j < n - 1; j++) {
            differences.a[j * n + j] = -1;
            differences.a[j * n + j + 1] = 1;
        }
        trial *s = open_trial(type, n, random_diagonals(type, 1, n, 1, true));
        add_term(s, 20, differences, 1); /* |T^H y| = |b - A x|: |y| < 20 */
        const double tolerance = is_fine(type) ? 1e-10 : 3e-5;
        double complex expected[12], sum = 0;
        double weights = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += s->b[j];
            weights += creal(s->a.a[j * n + j]);
        }
        for (int64_t j = 0; j < n; j++)
            expected[j] = sum / weights;
        solve(s, solvers[solver].solve, (vf_convex_options){.iterations = MOST_ITERATIONS, .tolerance = tolerance});
        assert_int_equal(s->result.end, VF_SOLVER_CONVERGED);
        assert_true(distance(n, s->x, expected) <= distance_allowed(s, 1));
        close_trial(s);
    }
}

/* ---- bits ---- */

/* Vectors of several blocks; T is a stack of weights. */
static void test_bits(void **state)
{
    (void)state;
    const int threads = vf_context_threads(ctx);
    enum { LONG = 70001 };
    for (int i = 0; i < SOLVERS * ELEMENT_TYPES; i++) {
        const int solver = i / ELEMENT_TYPES;
        const vf_dtype type = element_types[i % ELEMENT_TYPES];
        const vf_vector_space space = {type, LONG};
        const bool any = solvers[solver].any;
        subject *vectors = room(1, sizeof *vectors);
        need(vf_queue_create(device, &vectors->queue));
        vf_queue *queue = vectors->queue;
        vf_operator *part[2], *normal, *t;
        for (int k = 0; k < 2; k++)
            need(vf_operator_weights(device, space, put_random(vectors, vf_dtype_real(type), LONG, 0.5)->data,
                                     &part[k]));
        need(vf_operator_stack(2, part, &t));
        need(vf_operator_normal_of(part[0], &normal));
        const int64_t count = any ? 2 * LONG : LONG;
        term g = {.type = type, .count = count, .lambda = 0.2};
        g.v = room(count, sizeof *g.v);
        g.z = room(count, sizeof *g.z);
        const vf_proximal map = {.name = "soft threshold", .map = soft_map, .value = soft_value, .state = &g};
        const vf_penalty penalty = {.transform = any ? t : NULL, .function = &map, .weight = 0.5};
        const vf_convex_problem task = {normal, put_random(vectors, type, LONG, -1)->data, 1, &penalty};
        const vf_convex_options options = {.iterations = 4, .largest = 1, .largest_transform = 2};
        vf_array *x = put_random(vectors, type, LONG, -1);
        double complex *found[3];
        vf_convex_result result[3];
        for (int k = 0; k < 3; k++) {
            need(vf_context_set_threads(ctx, k ? 4 : 1));
            need(solvers[solver].solve(&task, queue, &options, x->data, &result[k]));
            found[k] = room(LONG, sizeof *found[k]);
            fetch(queue, type, LONG, x->data, found[k]);
            assert_memory_equal(found[k], found[0], LONG * sizeof *found[k]);
            assert_true(result[k].primal == result[0].primal && result[k].dual == result[0].dual);
            assert_true(result[k].data == result[0].data && result[k].penalty[0] == result[0].penalty[0]);
            assert_true(size_of(LONG, found[k]) > 0);
        }
        for (int k = 0; k < 3; k++)
            free(found[k]);
        vf_operator_free(part[0]);
        vf_operator_free(part[1]);
        vf_operator_free(t);
        vf_operator_free(normal);
        free(g.v);
        free(g.z);
        close_subject(vectors);
    }
    need(vf_context_set_threads(ctx, threads));
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_minimum),
            cmocka_unit_test(test_residuals), cmocka_unit_test(test_settings), cmocka_unit_test(test_preconditioner),
            cmocka_unit_test(test_warm_fista), cmocka_unit_test(test_warm), cmocka_unit_test(test_flat_solution),
            cmocka_unit_test(test_bits))
