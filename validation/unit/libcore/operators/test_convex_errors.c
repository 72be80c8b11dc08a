/* How the solvers of convex problems end, and what they reject: no iterations, stops, NaN, b = 0, cancellation,
 * invalid options, and spaces that do not match.
 *
 * usage: test_convex_errors DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "convex_fixture.h"
#include "free_all.h"

/* ---- ends ---- */

static void test_ends(void **state)
{
    (void)state;
    for (int i = 0; i < SOLVERS * ELEMENT_TYPES; i++) {
        const int solver = i / ELEMENT_TYPES;
        trial *s = diagonal_trial(element_types[i % ELEMENT_TYPES], BIG, 0, 0.5);
        double complex *kept = room(BIG, sizeof *kept);
        convex_solver *method = solvers[solver].solve;
        /* No iterations: x becomes 0, or stays the same. */
        for (int warm = 0; warm < 2; warm++) {
            memcpy(s->x, s->b, BIG * sizeof *kept);
            memcpy(kept, s->x, BIG * sizeof *kept);
            solve(s, method, (vf_convex_options){.warm = warm});
            assert_true(s->result.end == VF_SOLVER_ITERATIONS && s->result.iterations == 0);
            assert_true(distance(BIG, s->x, kept) == 0 || (!warm && size_of(BIG, s->x) == 0));
            double part[1 + MOST_TERMS];
            objective(s, s->x, part);
            const double size = size_of(BIG, s->x);
            near("data", s->result.data, part[0], 8 * s->u * (s->largest * size * size + size * size_of(BIG, s->b)));
            near("penalty", s->result.penalty[0], part[1], 4 * s->u * part[1]);
            assert_int_equal(s->result.applications, applications(solver, warm, 0));
        }
        history h = {.stop = 3};
        solve(s, method, (vf_convex_options){.iterations = 20, .tell = note, .user = &h});
        assert_true(s->result.end == VF_SOLVER_STOPPED && s->result.iterations == 3 && h.count == 3);
        /* If a map fails, the solver returns its error. */
        s->term[0].fails = s->term[0].maps + 2;
        assert_int_equal(try_to_solve(s, method, (vf_convex_options){.iterations = 20}), VF_ERR_UNSUPPORTED);
        assert_non_null(strstr(vf_context_message(ctx), "this map fails"));
        vf_context_clear_error(ctx);
        /* b with a NaN; b = 0, also with a different initial x. */
        s->b[BIG / 3] = NAN;
        const vf_convex_options long_run = {.iterations = 20, .warm = true};
        guarded b = upload_elements(s->queue, s->type, BIG, s->b), x = upload_elements(s->queue, s->type, BIG, kept);
        vf_convex_options options = long_run;
        options.largest = options.largest_transform = 2;
        const vf_convex_problem task = {s->normal, b.data, 1, s->penalty};
        need(method(&task, s->queue, &options, x.data, &s->result));
        assert_true(s->result.end == VF_SOLVER_OVERFLOW && s->result.iterations == 0);
        download(s->queue, &b, NULL);
        download(s->queue, &x, NULL);
        memset(s->b, 0, BIG * sizeof *s->b);
        memcpy(s->x, kept, BIG * sizeof *kept);
        solve(s, method, long_run);
        assert_true(s->result.end == VF_SOLVER_CONVERGED && s->result.iterations == 0 && size_of(BIG, s->x) == 0);
        free(kept);
        close_trial(s);
    }
}

/* A NaN from any call of an operator ends the solver at once. 8 calls are at most 4 iterations. */
static void test_nan(void **state)
{
    (void)state;
    for (int i = 0; i < SOLVERS * ELEMENT_TYPES * 5; i++) {
        const int solver = i % SOLVERS, which = i / SOLVERS % 5;
        const vf_dtype type = element_types[i / SOLVERS / 5];
        trial *s = solvers[solver].any ? dense_trial(type, 0.3) : diagonal_trial(type, BIG, 0, 0.5);
        matrix unit = random_diagonals(type, 1, s->n, 1, true);
        vf_operator *m = make_operator(&unit);
        vf_convex_options options = {.iterations = 50, .preconditioner = which == 4 ? m : NULL};
        matrix *const of[] = {&s->a, &s->term[0].t, &s->term[1].t, &s->term[1].t, &unit};
        const int method = which < 2 || which == 4 ? FORWARD : which == 2 ? ADJOINT : NORMAL;
        of[which]->broken[method] = 2 + (int)(uniform() * 6);
        solve(s, solvers[solver].solve, options);
        if (of[which]->calls[method] < of[which]->broken[method])
            assert_true(solver != ADMM && s->result.end != VF_SOLVER_OVERFLOW); /* does not use it */
        else if (s->result.end != VF_SOLVER_OVERFLOW || s->result.iterations > 8)
            fail_msg("%s, NaN %d: end %d after %d iterations", solvers[solver].name, which, (int)s->result.end,
                     s->result.iterations);
        vf_operator_free(m);
        free(unit.a);
        close_trial(s);
    }
    /* The same for the product that FISTA needs only for the objective. */
    trial *s = diagonal_trial(VF_F32, BIG, 0, 0.5);
    s->a.broken[FORWARD] = 3;
    solve(s, vf_fista, (vf_convex_options){.iterations = 2});
    assert_true(s->result.end == VF_SOLVER_OVERFLOW && s->result.iterations == 2);
    close_trial(s);
}

static void test_not_positive(void **state)
{
    (void)state;
    trial *s = diagonal_trial(VF_F64, BIG, 0, 0.5);
    matrix minus = zero_matrix(VF_F64, BIG, BIG);
    for (int j = 0; j < BIG; j++)
        minus.a[j * BIG + j] = -1;
    vf_operator *m = make_operator(&minus);
    solve(s, vf_admm, (vf_convex_options){.iterations = 50, .preconditioner = m});
    assert_true(s->result.end == VF_SOLVER_NOT_POSITIVE && s->result.iterations == 0);
    for (int j = 0; j < BIG; j++)
        s->a.a[j * BIG + j] = -2; /* weights are less than 1.3 */
    solve(s, vf_admm, (vf_convex_options){.iterations = 50});
    assert_true(s->result.end == VF_SOLVER_NOT_POSITIVE && s->result.iterations == 0);
    vf_operator_free(m);
    free(minus.a);
    close_trial(s);
}

/* ---- errors ---- */

static void test_options_out_of_range(void **state)
{
    (void)state;
    trial *s = diagonal_trial(VF_C64, BIG, 0, 0.5);
    static const vf_convex_options wrong[] = {
        {.iterations = -1},   {.tolerance = -1},   {.tolerance = NAN}, {.inner = -1},      {.relaxation = 2},
        {.relaxation = -0.1}, {.relaxation = NAN}, {.reduction = -1},  {.reduction = 1.1}, {.reduction = NAN}};
    for (int i = 0; i < SOLVERS; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            refused(try_to_solve(s, solvers[i].solve, wrong[k]), "inner steps");
        refused(try_to_solve(s, solvers[i].solve, (vf_convex_options){.iterations = -1}), solvers[i].name);
        if (i != ADMM)
            refused(try_to_solve(s, solvers[i].solve, (vf_convex_options){.largest = INFINITY}), "largest eigenvalue");
        s->terms = 0;
        refused(try_to_solve(s, solvers[i].solve, (vf_convex_options){0}), "0 penalties");
        s->terms = VF_MOST_PENALTIES + 1;
        refused(try_to_solve(s, solvers[i].solve, (vf_convex_options){0}), "65 penalties");
        s->terms = 1;
        const vf_proximal *function = s->penalty[0].function;
        s->penalty[0].function = NULL;
        refused(try_to_solve(s, solvers[i].solve, (vf_convex_options){0}), "penalty 0 has no function");
        s->penalty[0].function = function;
        for (int k = 0; k < 4; k++) { /* only vf_admm uses it */
            s->penalty[0].weight = (double[]){0, -1, NAN, INFINITY}[k];
            if (i == ADMM)
                refused(try_to_solve(s, vf_admm, (vf_convex_options){0}), "penalty 0 has the weight");
            else
                solve(s, solvers[i].solve, (vf_convex_options){0});
        }
        s->penalty[0].weight = 1;
    }
    refused(try_to_solve(s, vf_primal_dual, (vf_convex_options){.largest_transform = INFINITY}), "largest eigenvalue");
    s->largest = 0;
    refused(try_to_solve(s, vf_primal_dual, (vf_convex_options){0}), "largest eigenvalue");
    refused(try_to_solve(s, vf_fista, (vf_convex_options){0}), "largest eigenvalue");
    close_trial(s);
    s = diagonal_trial(VF_C64, BIG, 1, 0.5);
    refused(try_to_solve(s, vf_fista, (vf_convex_options){0}), "without a transform");
    close_trial(s);
    s = diagonal_trial(VF_C64, BIG, 3, 0.5);
    refused(try_to_solve(s, vf_fista, (vf_convex_options){0}), "3 penalties");
    close_trial(s);
}

static vf_status real_part(void *state, vf_queue *queue, const void *x, void *y)
{
    (void)state;
    (void)queue;
    (void)x;
    (void)y;
    return VF_ERR_ARGUMENT; /* never called */
}

static void test_spaces(void **state)
{
    (void)state;
    static const vf_operator_methods methods = {.name = "real part", .forward = real_part, .adjoint = real_part};
    trial *s = diagonal_trial(VF_C128, BIG, 0, 0.5);
    matrix small = random_matrix(VF_C128, 3, BIG), other = random_matrix(VF_C128, 3, 3),
           single = random_matrix(VF_C64, BIG, BIG);
    vf_operator *to_small = make_operator(&small), *of_small = make_operator(&other), *normal = s->normal, *real,
                *of_single = make_operator(&single);
    need(vf_operator_create(device, &methods, VF_OPERATOR_REAL_LINEAR, (vf_vector_space){VF_C128, BIG},
                            (vf_vector_space){VF_F64, BIG}, s, &real));
    for (int i = 0; i < SOLVERS; i++) {
        convex_solver *method = solvers[i].solve;
        s->normal = to_small;
        refused(try_to_solve(s, method, (vf_convex_options){0}), "is between two spaces");
        s->normal = normal;
        vf_operator *const misfits[] = {to_small, of_small, of_single, real};
        for (int k = 0; k < 4; k++) {
            refused(try_to_solve(s, method, (vf_convex_options){.preconditioner = misfits[k]}), "preconditioner");
            s->penalty[0].transform = misfits[k];
            if (k > 0 && i != FISTA)
                refused(try_to_solve(s, method, (vf_convex_options){0}), "is of another space");
            s->penalty[0].transform = NULL;
        }
        guarded b = upload_elements(s->queue, s->type, BIG, s->b), x = upload_elements(s->queue, s->type, BIG, NULL);
        vf_convex_problem task = {normal, b.data, 1, s->penalty};
        const vf_convex_options options = {.largest = 2, .largest_transform = 1};
        refused(method(&task, s->queue, &options, NULL, &s->result), "a vector is missing");
        refused(method(&task, s->queue, &options, b.data, &s->result), "b is x");
        task.b = NULL;
        refused(method(&task, s->queue, &options, x.data, &s->result), "a vector is missing");
        download(s->queue, &b, NULL);
        download(s->queue, &x, NULL);
    }
    vf_operator_free(real);
    vf_operator_free(to_small);
    vf_operator_free(of_small);
    vf_operator_free(of_single);
    FREE_ALL(small.a, other.a, single.a);
    close_trial(s);
}

static bool cancel(void *user, int iteration, double residual)
{
    (void)residual;
    *(int *)user = iteration;
    if (iteration == 2)
        vf_context_cancel(ctx);
    return false;
}

/* Must be the last test: the context stays cancelled. */
static void test_cancel(void **state)
{
    (void)state;
    for (int i = 0; i < SOLVERS; i++) {
        trial *s = diagonal_trial(VF_F32, BIG, 0, 0.5);
        int last = 0;
        const vf_convex_options options = {.iterations = 20, .tell = cancel, .user = &last};
        assert_int_equal(try_to_solve(s, solvers[i].solve, options), VF_ERR_CANCELLED);
        assert_int_equal(last, i ? 0 : 2);
        vf_context_clear_error(ctx);
        close_trial(s);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_ends), cmocka_unit_test(test_nan), cmocka_unit_test(test_not_positive),
            cmocka_unit_test(test_options_out_of_range), cmocka_unit_test(test_spaces), cmocka_unit_test(test_cancel))
