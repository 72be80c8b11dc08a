/* Equations that are known without the definition of a stencil: solutions of -div(c grad u) + r u = f, eigenvectors,
 * and how fast Jacobi's sweeps must converge. */
#include "stencil_fixture.h"
#include "voxfield/solver.h"

/* ---- a boundary value problem ----
 *
 * On the unit cube, u = sin(pi x) sin(2 pi y) sin(pi z), which is 0 on its faces and has period 1 along y;
 * c = exp(x + z / 3) (2 + cos(2 pi y)), r = 3 + x. */

static const double pi = 3.14159265358979323846;

typedef struct place {
    double x, y, z;
} place;

static double solution(place p)
{
    return sin(pi * p.x) * sin(2 * pi * p.y) * sin(pi * p.z);
}

static double conductivity(place p)
{
    return exp(p.x + p.z / 3) * (2 + cos(2 * pi * p.y));
}

static double reaction_at(place p)
{
    return 3 + p.x;
}

/* f = -(grad c . grad u + c laplace u) + r u */
static double source(place p)
{
    const double sx = sin(pi * p.x), sy = sin(2 * pi * p.y), sz = sin(pi * p.z), c = conductivity(p);
    const double along_x = c * pi * cos(pi * p.x) * sy * sz, along_z = c / 3 * sx * sy * pi * cos(pi * p.z);
    const double along_y = exp(p.x + p.z / 3) * -2 * pi * sin(2 * pi * p.y) * sx * 2 * pi * cos(2 * pi * p.y) * sz;
    return -(along_x + along_y + along_z) + (6 * pi * pi * c + reaction_at(p)) * solution(p);
}

/* Point (i, j, k) of a grid of n cells along each axis. Points on the boundary are not in the grid, unless periodic. */
static place place_of(int n, bool periodic, double i, double j, double k)
{
    return (place){(i + 1) / n, (periodic ? j : j + 1) / n, (k + 1) / n};
}

/* The coefficients and b = f. */
static problem make_cube(int n, bool periodic)
{
    const int64_t counts[3] = {n - 1, periodic ? n : n - 1, n - 1};
    problem p = make_problem(queue, VF_F64, REACTION, counts, (const bool[]){false, periodic, false});
    for (int a = 0; a < 3; a++)
        p.options.spacing[a] = 1.0 / n;
    for (int a = 0; a < 3; a++) {
        const int64_t nx = faces_along(&p.options, 0, a), ny = faces_along(&p.options, 1, a);
        for (int64_t f = 0; f < p.faces[a].count; f++) {
            const double at[3] = {(double)(f % nx) - (a == 0 ? 0.5 : 0), (double)(f / nx % ny) - (a == 1 ? 0.5 : 0),
                                  (double)(f / nx / ny) - (a == 2 ? 0.5 : 0)};
            put(&p.faces[a], f, conductivity(place_of(n, periodic, at[0], at[1], at[2])));
        }
        upload(queue, &p.faces[a]);
    }
    for (int64_t i = 0; i < p.points; i++) {
        const place here = place_of(n, periodic, (double)(i % counts[0]), (double)(i / counts[0] % counts[1]),
                                    (double)(i / counts[0] / counts[1]));
        put(&p.reaction, i, reaction_at(here));
        put(&p.b, i, source(here));
        put(&p.x, i, solution(here));
    }
    upload(queue, &p.reaction);
    upload(queue, &p.b);
    return p;
}

/* The largest error of the solution with n cells, by conjugate gradients. */
static double error_with(int n, bool periodic)
{
    problem p = make_cube(n, periodic);
    vf_stencil *plan = make_plan(&p, NULL);
    vf_operator *a;
    vf_cg_result result;
    numbers x = make_numbers(queue, VF_F64, p.points, 0, 0);
    double worst = 0;
    assert_int_equal(vf_stencil_operator_create(plan, &a), VF_OK);
    assert_true(vf_operator_properties(a) & VF_OPERATOR_SELF_ADJOINT);
    assert_int_equal(
        vf_cg(a, queue, &(vf_cg_options){.iterations = 1000, .tolerance = 1e-9}, p.b.array.data, x.array.data, &result),
        VF_OK);
    assert_int_equal(result.end, VF_SOLVER_CONVERGED);
    download(queue, &x);
    for (int64_t i = 0; i < p.points; i++)
        worst = fmax(worst, fabs(get(&x, i) - get(&p.x, i)));
    vf_operator_free(a);
    vf_stencil_destroy(plan);
    free_numbers(&x);
    free_problem(&p);
    return worst;
}

/* The error is C h^2 (1 + a h^2 + ...), a about k^2 / 12 for the largest wave number 2 pi, so at h = 1/16 the second
 * term is some 1.3 % of the first, and halving h divides the error by 4 to about 1 %. Points are not the same in both
 * grids, and the largest error is not at one of them: by up to (k h)^2 / 8, 2 %, at h = 1/16. Together within 5 %. */
static void test_second_order(void **state)
{
    (void)state;
    for (int periodic = 0; periodic < 2; periodic++) {
        const double coarse = error_with(16, periodic), fine = error_with(32, periodic), ratio = coarse / fine;
        if (!(fine < 0.01 && ratio > 3.8 && ratio < 4.2))
            fail_msg("errors %g and %g: the ratio is %g, not 4", coarse, fine, ratio);
    }
}

/* ---- eigenvectors ---- */

/* Products of sines are eigenvectors of the stencil with constant coefficients, with eigenvalue
 * centre + sum_a 2 axis_a cos(t_a): so s sweeps for b = 0 multiply them by (1 - omega lambda / centre)^s. Here
 * sum_a 2 |axis_a| = centre and omega = 1/2, so no sweep enlarges earlier errors. A sweep adds 20 u (|x| + omega M / d)
 * (test_stencil.c), with M <= 2 d: 40 u. The sines have errors of some u. */
static void test_eigenvectors(void **state)
{
    (void)state;
    enum { SWEEPS = 9 };
    const char *variant;
    const int64_t counts[3] = {37, 20, 11};
    const int waves[3] = {3, 7, 1};
    for (int v = 0; (variant = vf_stencil_variant_name(vf_device_get_kind(device), v)); v++)
        for (int sweeps = 0; sweeps <= SWEEPS && can_run(variant); sweeps++) {
            problem p = make_problem(queue, VF_F64, CONSTANT, counts, (const bool[]){false, true, false});
            numbers other = make_numbers(queue, VF_F64, p.points, 3, 4);
            const double t[3] = {waves[0] * pi / 38, waves[1] * 2 * pi / 20, waves[2] * pi / 12}, omega = 0.5;
            double lambda = p.options.centre = 9;
            for (int a = 0; a < 3; a++) {
                p.options.axis[a] = a - 2.5;
                lambda += 2 * p.options.axis[a] * cos(t[a]);
            }
            for (int64_t i = 0; i < p.points; i++) {
                const double at[3] = {(double)(i % 37) + 1, (double)(i / 37 % 20), (double)(i / 37 / 20) + 1};
                put(&p.x, i, sin(t[0] * at[0]) * sin(t[1] * at[1]) * sin(t[2] * at[2]));
                put(&p.b, i, 0);
            }
            upload(queue, &p.x);
            upload(queue, &p.b);
            vf_stencil *plan = make_plan(&p, variant);
            numbers *const result = sweeps % 2 ? &other : &p.x;
            numbers first = make_numbers(queue, VF_F64, p.points, 0, 0);
            memcpy(first.host, p.x.host, (size_t)p.points * sizeof(double));
            assert_int_equal(
                vf_stencil_jacobi(plan, queue, sweeps, omega, p.b.array.data, p.x.array.data, other.array.data), VF_OK);
            download(queue, result);
            for (int64_t i = 0; i < p.points; i++)
                assert_true(fabs(get(result, i) - pow(1 - omega * lambda / 9, sweeps) * get(&first, i)) <=
                            (40 * sweeps + 60) * 0x1p-53);
            vf_stencil_destroy(plan);
            free_numbers(&other);
            free_numbers(&first);
            free_problem(&p);
        }
}

/* ---- convergence ---- */

/* A sweep is x' - x* = (1 - omega D^-1 A) (x - x*). The rows of that matrix have magnitudes of at most
 * 1 - omega r / d, as the sum of a row's other elements is at most d - r. A sweep adds rounding errors of
 * 20 u (|x| + omega (|b| + M) / d), with |b| and M of at most 2 d |x|; those of b = A x* are 9 u M omega / d. */
static void test_convergence(void **state)
{
    (void)state;
    enum { SWEEPS = 40 };
    const double u = 0x1p-53, omega = 0.9;
    problem p =
        make_problem(queue, VF_F64, REACTION, (const int64_t[]){33, 10, 17}, (const bool[]){false, false, true});
    numbers other = make_numbers(queue, VF_F64, p.points, 0, 0), x = make_numbers(queue, VF_F64, p.points, -1, 1);
    vf_stencil *plan = make_plan(&p, NULL);
    double rate = 0, start = 0;
    int64_t at[3] = {0};
    for (int64_t i = 0; i < p.reaction.count; i++)
        put(&p.reaction, i, get(&p.reaction, i) + 30);
    upload(queue, &p.reaction);
    for (int64_t i = 0; i < p.points; i++) {
        at[0] = i % 33;
        at[1] = i / 33 % 10;
        at[2] = i / 330;
        const defined d = define(&p, &p.x, at, i);
        rate = fmax(rate, 1 - omega * get(&p.reaction, i) / (double)d.diagonal);
        start = fmax(start, fabs(get(&x, i) - get(&p.x, i)));
    }
    assert_int_equal(vf_stencil_apply(plan, queue, p.x.array.data, p.b.array.data), VF_OK);
    assert_int_equal(vf_stencil_jacobi(plan, queue, SWEEPS, omega, p.b.array.data, x.array.data, other.array.data),
                     VF_OK);
    download(queue, &x);
    const double most = pow(rate, SWEEPS) * start + SWEEPS * (20 * (1 + 4 * omega) + 18 * omega) * u * 2;
    for (int64_t i = 0; i < p.points; i++)
        assert_true(fabs(get(&x, i) - get(&p.x, i)) <= most);
    assert_true(pow(rate, SWEEPS) < 0.5); /* else the bound says nothing */
    vf_stencil_destroy(plan);
    free_numbers(&x);
    free_numbers(&other);
    free_problem(&p);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_second_order), cmocka_unit_test(test_eigenvectors),
            cmocka_unit_test(test_convergence))
