/* The solvers that take operators: conjugate gradients and power iteration, on operators with known inverse and
 * eigenvalues.
 *
 * usage: test_solvers DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device) */
#include "free_all.h"
#include "operator_fixture.h"

/* A subject whose vectors are used; its operator, the identity, is not. One for each element type in turn. */
enum { UNUSED_MAKER = 12, ELEMENT_TYPES = 4 };

static subject *open_vectors(int i)
{
    subject *s = open_subject(UNUSED_MAKER, i % 2 ? VF_F64 : VF_F32);
    s->real = i / 2 % 2;
    return s;
}

static bool stop_at_three(void *user, int iteration, double residual)
{
    assert_true(isfinite(residual));
    *(int *)user = iteration;
    return iteration == 3;
}

static void put_vector(const subject *s, const vf_array *to, const double complex *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, to->type, to->count, &host));
    for (int64_t n = 0; n < to->count; n++)
        put(&host, n, values[n]);
    vf_array target = *to;
    need(vf_array_copy(s->queue, &target, &host, to->count));
    need(vf_queue_sync(s->queue));
    vf_array_free(&host);
}

static void get_vector(const subject *s, const vf_array *from, double complex *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, from->type, from->count, &host));
    need(vf_array_copy(s->queue, &host, from, from->count));
    need(vf_queue_sync(s->queue));
    for (int64_t n = 0; n < from->count; n++)
        values[n] = get(&host, n);
    vf_array_free(&host);
}

/* (D + 1) x = b, D random between 0 and 1: at most as many iterations as D has values; the condition is 2. */
static void test_cg(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ELEMENT_TYPES; i++) {
        subject *s = open_vectors(i);
        const int64_t n = s->voxels;
        const vf_dtype type = image_space(s).type;
        vf_operator *parts[2], *a, *m, *minus;
        double *d = room(2 * n, sizeof *d), *inverse = room(2 * n, sizeof *d);
        double complex *right = random_numbers(image_space(s)), *x = room(n, sizeof *x), *expected = room(n, sizeof *x);
        for (int64_t j = 0; j < n; j++) {
            d[j] = creal(rounded(s->precision, uniform()));
            inverse[j] = 1 / (d[j] + 1);
            expected[j] = right[j] / (d[j] + 1);
        }
        need(vf_operator_identity(device, image_space(s), &parts[0]));
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &parts[1]));
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, inverse)->data, &m));
        need(vf_operator_sum(2, parts, &a));
        need(vf_operator_scale(-1, a, &minus));
        vf_array b = {0}, u = {0};
        need(vf_array_create(device, VF_SPACE_DEVICE, type, n, &b));
        need(vf_array_create(device, VF_SPACE_DEVICE, type, n, &u));
        /* A residual of t leaves an error of at most t |b|, because all eigenvalues are 1 and more; and the same
         * again for the drift of the recurrence's residual from the true one, some roundoffs. */
        const double tolerance = s->precision == VF_F64 ? 1e-12 : 1e-5;
        vf_cg_options options = {.iterations = 100, .tolerance = tolerance};
        vf_cg_result result;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_int_equal(result.end, VF_SOLVER_CONVERGED);
        assert_true(result.residual <= tolerance && (n < 3 || result.iterations > 1));
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        const int cold = result.iterations;
        /* From the solution there is nothing left to do; from near it, less. */
        options.warm = true;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations <= 1 && result.residual <= tolerance);
        get_vector(s, &u, x);
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        options.warm = false;
        /* The exact inverse as preconditioner: one iteration, or two if it is rounded. */
        options.preconditioner = m;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations <= 2 && result.iterations <= cold);
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        options.preconditioner = NULL;
        /* How a solver ends: stopped by the caller, out of iterations, not positive, not finite, nothing to do. */
        int last = 0;
        vf_cg_options few = {.iterations = 100, .tell = stop_at_three, .user = &last};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &few, b.data, u.data, &result));
        assert_true(n < 8 || (result.end == VF_SOLVER_STOPPED && result.iterations == 3 && last == 3));
        few = (vf_cg_options){.iterations = 2};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &few, b.data, u.data, &result));
        assert_true(n < 8 || (result.end == VF_SOLVER_ITERATIONS && result.iterations == 2));
        put_vector(s, &b, right);
        need(vf_cg(minus, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_NOT_POSITIVE && result.iterations == 0);
        right[0] = number(NAN, 0);
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_OVERFLOW && !(result.residual <= tolerance && result.iterations));
        memset(right, 0, (size_t)n * sizeof *right);
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations == 0 && size_of(n, x) == 0);
        options.tolerance = NAN;
        refused(vf_cg(a, s->queue, &options, b.data, u.data, &result), "tolerance");
        vf_array_free(&b);
        vf_array_free(&u);
        vf_operator_free(parts[0]);
        vf_operator_free(parts[1]);
        vf_operator_free(a);
        vf_operator_free(m);
        vf_operator_free(minus);
        FREE_ALL(d, inverse, right, x, expected);
        close_subject(s);
    }
}

/* The energy <e, A e> of the error e of x, for A = D + 1 of which `d` are the elements. */
static double energy_of(int64_t n, const double *d, const double complex *x, const double complex *solution)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += (d[j] + 1) * pow(cabs(x[j] - solution[j]), 2);
    return sum;
}

/* (D + 1) x = b with M = 2/3: the eigenvalues of M A are from 2/3 to 4/3, so <r, M r> is within these times <e, A e>. So where the
 * solver stops at <r, M r> <= E, <e, A e> is at most 3/2 E, and an iteration before it was at least 3/4 E; 1e-3 for rounding. */
static void test_cg_energy(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        subject *s = open_vectors(i);
        const int64_t n = s->voxels;
        vf_operator *parts[2], *a, *m;
        double *d = room(n, sizeof *d);
        double complex *right = random_numbers(image_space(s)), *x = room(n, sizeof *x), *solution = room(n, sizeof *x);
        for (int64_t j = 0; j < n; j++) {
            d[j] = creal(rounded(s->precision, uniform()));
            solution[j] = right[j] / (d[j] + 1);
        }
        memset(x, 0, (size_t)n * sizeof *x);
        need(vf_operator_identity(device, image_space(s), &parts[0]));
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &parts[1]));
        need(vf_operator_sum(2, parts, &a));
        need(vf_operator_scale(2.0 / 3, parts[0], &m));
        vf_array b = {0}, u = {0};
        need(vf_array_create(device, VF_SPACE_DEVICE, image_space(s).type, n, &b));
        need(vf_array_create(device, VF_SPACE_DEVICE, image_space(s).type, n, &u));
        vf_cg_options options = {.iterations = 100, .tolerance = 1e-6, .preconditioner = m};
        options.energy = 1e-3 * energy_of(n, d, x, solution);
        vf_cg_result result;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        const int used = result.iterations;
        assert_true(result.end == VF_SOLVER_CONVERGED && used > 0);
        assert_true(energy_of(n, d, x, solution) <= 1.501 * options.energy);
        vf_cg_options less = {.iterations = used - 1, .preconditioner = m};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &less, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_true(energy_of(n, d, x, solution) >= 0.749 * options.energy);
        /* From the solution there is no step. */
        options.warm = true;
        put_vector(s, &u, solution);
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations == 0);
        /* An energy of 0 is unused: a preconditioner that is not positive, <r, M r> < 0, ends nothing. */
        vf_operator *minus;
        need(vf_operator_scale(-2.0 / 3, parts[0], &minus));
        const vf_cg_options wrong = {.iterations = 1, .preconditioner = minus};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &wrong, b.data, u.data, &result));
        assert_int_equal(result.end, VF_SOLVER_ITERATIONS);
        vf_operator_free(minus);
        /* Without a preconditioner <r, r> is no energy. */
        options.preconditioner = NULL;
        options.warm = false;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.residual <= 1e-6 && (n < 8 || result.iterations > used));
        options.energy = NAN;
        refused(vf_cg(a, s->queue, &options, b.data, u.data, &result), "energy");
        vf_array_free(&b);
        vf_array_free(&u);
        vf_operator_free(parts[0]);
        vf_operator_free(parts[1]);
        vf_operator_free(a);
        vf_operator_free(m);
        FREE_ALL(d, right, x, solution);
        close_subject(s);
    }
}

/* A dense real matrix, applied on the host: the products of a row in long double, rounded once. */
enum { ROWS = 48 };
typedef struct dense_matrix {
    vf_dtype type;
    double a[ROWS][ROWS];
} dense_matrix;

static vf_status dense_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const dense_matrix *m = state;
    const size_t bytes = ROWS * vf_dtype_bytes(m->type);
    double in64[ROWS], out64[ROWS];
    float in32[ROWS], out32[ROWS];
    const bool wide = m->type == VF_F64;
    need(vf_queue_copy(queue, wide ? (void *)in64 : in32, x, bytes));
    need(vf_queue_sync(queue));
    for (int i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (int j = 0; j < ROWS; j++)
            sum += (long double)m->a[i][j] * (wide ? in64[j] : (double)in32[j]);
        out64[i] = (double)sum;
        out32[i] = (float)sum;
    }
    need(vf_queue_copy(queue, y, wide ? (const void *)out64 : out32, bytes));
    return vf_queue_sync(queue);
}

/* A = 1 + 10 G G^T / ROWS, with G random: symmetric, all eigenvalues 1 or more. b = A x for a random x. Returns the
 * Frobenius norm, which is at least |A|. */
static double random_system(dense_matrix *m, double complex *x, double complex *b)
{
    static double g[ROWS][ROWS];
    const vf_dtype precision = m->type;
    double squares = 0;
    for (int i = 0; i < ROWS * ROWS; i++)
        g[i / ROWS][i % ROWS] = 2 * uniform() - 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j <= i; j++) {
            double sum = i == j;
            for (int k = 0; k < ROWS; k++)
                sum += 10 * g[i][k] * g[j][k] / ROWS;
            m->a[i][j] = m->a[j][i] = sum;
            squares += (i == j ? 1 : 2) * sum * sum;
        }
    for (int i = 0; i < ROWS; i++)
        x[i] = rounded(precision, number(2 * uniform() - 1, 0));
    for (int i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (int j = 0; j < ROWS; j++)
            sum += (long double)m->a[i][j] * creal(x[j]);
        b[i] = rounded(precision, number((double)sum, 0));
    }
    return sqrt(squares);
}

/* Real systems with a known solution x. |x_k| grows from 0 to |x| (Steihaug, SIAM J. Numer. Anal. 20 (1983) 626), and
 * |x - x_k| decreases from |x| (Hestenes and Stiefel), up to 1 % for rounding. So |a p| <= 2 |x| and |r| <= |A| |x|.
 * A step rounds q = A p to u |A| |p|; x += a p twice, to u (|a p| + |x_k|); and r -= a q to u (|A| |a p| + |r|). It
 * moves b - A x_k away from the r of the recurrence by at most
 *     |A| u 2 |x| + |A| u (2 |x| + |x|) + u (2 |A| |x| + |A| |x|) = 8 u |A| |x|
 * The recurrence ends at t |b| or below, b itself is rounded to u |b|, |b| <= |A| |x|, and |A^-1| <= 1. Together
 *     |x_k - x| <= (8 k u + t + u) |A| |x| */
static void test_cg_of_a_matrix(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        static const vf_operator_methods methods = {.name = "dense matrix", .forward = dense_forward};
        const vf_dtype type = i % 2 ? VF_F64 : VF_F32;
        const double u = roundoff(type);
        const vf_cg_options options = {.iterations = 4 * ROWS, .tolerance = 1024 * u};
        subject *s = open_vectors(2 + i % 2);
        dense_matrix m = {.type = type};
        double complex x[ROWS], b[ROWS], found[ROWS];
        double zeros[ROWS] = {0};
        const double norm = random_system(&m, x, b);
        vf_operator *a;
        vf_cg_result result;
        vf_array *right = put_numbers(s, type, ROWS, zeros), *solution = put_numbers(s, type, ROWS, zeros);
        const vf_vector_space space = {type, ROWS};
        need(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, &m, &a));
        put_vector(s, right, b);
        need(vf_cg(a, s->queue, &options, right->data, solution->data, &result));
        get_vector(s, solution, found);
        assert_int_equal(result.end, VF_SOLVER_CONVERGED);
        assert_true(result.residual <= options.tolerance && result.iterations > 1);
        const double off = distance(ROWS, found, x),
                     allowed = 1.01 * (8 * result.iterations * u + options.tolerance + u) * norm * size_of(ROWS, x);
        if (!(off <= allowed))
            fail_msg("off by %g, allowed %g, after %d iterations (%s)", off, allowed, result.iterations,
                     vf_dtype_name(type));
        vf_operator_free(a);
        close_subject(s);
    }
}

/* A is 1 for all elements but one, where it is -1, and b = (p, e) is small there: P = |p|^2 > E = e^2. The curvature
 * along b is P - E > 0, so there is one step, to b (P + E) / (P - E). By algebra the next direction is (E p, P e) times
 * 2 (P + E) / (P - E)^2, with the curvature E^2 P - P^2 E < 0 but for a square. A further step would reach a residual
 * of 0, at a saddle point. */
static void test_cg_stops_at_negative_curvature(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        subject *s = open_vectors(i);
        const int64_t n = s->voxels;
        if (n < 2) {
            close_subject(s);
            continue;
        }
        double *d = room(2 * n, sizeof *d), squares = 0, product = 0;
        double complex *right = room(n, sizeof *right), *x = room(n, sizeof *x), *expected = room(n, sizeof *x);
        for (int64_t j = 0; j < n; j++) {
            d[j] = j == n / 2 ? -1 : 1;
            right[j] = j == n / 2 ? 0.25 : 1; /* exact in both precisions */
            squares += creal(right[j]) * creal(right[j]);
            product += d[j] * creal(right[j]) * creal(right[j]);
        }
        for (int64_t j = 0; j < n; j++)
            expected[j] = right[j] * squares / product;
        vf_operator *a;
        vf_array b = {0}, u = {0};
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &a));
        need(vf_array_create(device, VF_SPACE_DEVICE, image_space(s).type, n, &b));
        need(vf_array_create(device, VF_SPACE_DEVICE, image_space(s).type, n, &u));
        put_vector(s, &b, right);
        vf_cg_result result;
        const vf_cg_options options = {.iterations = 20};
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_int_equal(result.end, VF_SOLVER_NOT_POSITIVE);
        assert_int_equal(result.iterations, 1);
        get_vector(s, &u, x);
        /* The quotient of two sums and a product: at most n + 4 roundings each. */
        assert_true(distance(n, x, expected) <= 2 * (double)(n + 4) * roundoff(s->precision) * size_of(n, expected));
        vf_array_free(&b);
        vf_array_free(&u);
        vf_operator_free(a);
        FREE_ALL(d, right, x, expected);
        close_subject(s);
    }
}

/* For weights: the largest, which a power iteration approaches from below. One that exceeds the others by half is
 * found to (2/3)^(2 iterations) of the difference, times the number of elements. */
static void test_largest_eigenvalue(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ELEMENT_TYPES; i++) {
        subject *s = open_vectors(i);
        const int64_t n = s->voxels;
        double *d = room(2 * n, sizeof *d), found;
        vf_operator *a;
        int used;
        for (int64_t j = 0; j < n; j++)
            d[j] = uniform();
        d[n / 2] = 1.5;
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &a));
        need(vf_largest_eigenvalue(a, s->queue, 60, 0, (uint64_t)i, &found, &used));
        assert_true(used <= 60 && found <= 1.5 * (1 + (double)(n + 8) * roundoff(s->precision)));
        /* An initial share below 1e-6 of |v|^2 in one of at most 343 elements has a probability of 1 / 3000; 60
         * iterations amplify it by 21 decades. */
        assert_true(fabs(found - 1.5) <= 1e-4);
        vf_operator_free(a);
        free(d);
        close_subject(s);
    }
}

static void test_unused(void **state)
{
    (void)state;
    assert_ptr_equal(makers[UNUSED_MAKER], make_identity);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_unused), cmocka_unit_test(test_cg), cmocka_unit_test(test_cg_energy),
            cmocka_unit_test(test_cg_of_a_matrix), cmocka_unit_test(test_cg_stops_at_negative_curvature),
            cmocka_unit_test(test_largest_eigenvalue))
