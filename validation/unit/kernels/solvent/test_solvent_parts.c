/* Parts of the equation of a molecule in a solvent: the boundary against the direct sum, and the solution against a residual in double
 * precision that the solver did not compute.
 *
 * usage: test_solvent_parts cpu [TEST...] */
#include <math.h>
#include <sys/resource.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "queue_fixture.h"
#include "solvent_internal.h"

enum { ATOMS = 60 };

typedef struct molecule_in {
    double x[ATOMS], y[ATOMS], z[ATOMS], charge[ATOMS], radius[ATOMS];
} molecule_in;

/* Atoms in a ball; near, so that they overlap. */
static molecule_in make_molecule(double ball)
{
    molecule_in m;
    for (int i = 0; i < ATOMS;) {
        m.x[i] = uniform_between(-ball, ball);
        m.y[i] = uniform_between(-ball, ball);
        m.z[i] = uniform_between(-ball, ball);
        m.charge[i] = uniform_between(-1, 1.2);
        m.radius[i] = uniform_between(1.2, 2);
        i += m.x[i] * m.x[i] + m.y[i] * m.y[i] + m.z[i] * m.z[i] < ball * ball;
    }
    return m;
}

static vf_coulomb_atoms atoms_of(const molecule_in *m)
{
    return (vf_coulomb_atoms){ATOMS, m->x, m->y, m->z, m->charge};
}

/* The sum over atoms at a point, and that of what bounds its error: 1e-5 of an atom's at its distance from the side, unscreened, and
 * single precision's roundings. Those are 2^-24 of the coordinates, which are at most `size`, in distances d (so size / d of a term), some
 * 10 of a term, and 2^-24 of its exponent, x = kappa (d - a) / log(2). */
static double direct(const vf_solvent *plan, const molecule_in *m, const double r[3], int axis, double size,
                     double *bound)
{
    double sum = 0;
    *bound = 0;
    for (int i = 0; i < ATOMS; i++) {
        const double at[3] = {m->x[i], m->y[i], m->z[i]}, kappa = plan->options.kappa;
        const double x = r[0] - at[0], y = r[1] - at[1], z = r[2] - at[2], d = sqrt(x * x + y * y + z * z);
        const double contact = m->radius[i] + plan->options.stern;
        const double charge = m->charge[i] / ((1 + kappa * contact) * plan->options.solvent_dielectric);
        const double term = charge * exp(-kappa * (d - contact)) / d;
        sum += term;
        *bound += 1e-5 * fabs(charge) * exp(kappa * contact) / fabs(r[axis] - at[axis]) +
                  ldexp(fabs(term) * (10 + 4 * size / d + 2 * kappa * (d + contact + size)), -24);
    }
    return sum;
}

/* A grid whose sides are at different distances, with other spacings along each axis, so that levels 0 to 3 have atoms. */
static void test_boundary(void **state)
{
    (void)state;
    static const double kappas[] = {0, 0.13, 1.5};
    for (int k = 0; k < 3; k++) {
        const molecule_in m = make_molecule(7);
        const vf_coulomb_atoms atoms = atoms_of(&m);
        vf_solvent plan = {.device = device,
                           .ctx = ctx,
                           .grid = {.origin = {-12, -8.5, -40}, .spacing = {0.5, 0.4, 0.6}, .counts = {71, 64, 90}},
                           .options = vf_solvent_defaults()};
        plan.options.kappa = kappas[k];
        const int64_t *n = plan.grid.counts, points = n[0] * n[1] * n[2];
        double *b = calloc((size_t)points, sizeof *b), worst = 0;
        assert_non_null(b);
        need(solvent_boundary(&plan, &atoms, m.radius, b));
        for (int64_t p = 0; p < points; p++) {
            const int64_t index[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
            double sum = 0, allowed = 0;
            for (int side = 0; side < 6; side++) {
                const int a = side / 2;
                double r[3], bound;
                if (index[a] != (side % 2 ? n[a] - 1 : 0))
                    continue;
                for (int c = 0; c < 3; c++)
                    r[c] = plan.grid.origin[c] +
                           plan.grid.spacing[c] * (double)(index[c] + (c == a ? 2 * (side % 2) - 1 : 0));
                const double factor = plan.options.solvent_dielectric / pow(plan.grid.spacing[a], 2);
                sum += factor * direct(&plan, &m, r, a, 60, &bound);
                allowed += factor * bound;
            }
            if (!(fabs(b[p] - sum) <= allowed))
                fail_msg("kappa %g, point %lld: %.9g instead of %.9g; %.3g is allowed", kappas[k], (long long)p, b[p],
                         sum, allowed);
            worst = fmax(worst, allowed > 0 ? fabs(b[p] - sum) / allowed : 0);
        }
        print_message("kappa %g: errors up to %.2f of the bound\n", kappas[k], worst);
        free(b);
    }
}

static double peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return 1024 * (double)usage.ru_maxrss;
}

/* The memory that is planned, within a sixth of what is taken: of the linear equation, then in a sheared cell and of the other, which take more. Before other
 * tests, whose memory could be used again. */
static void test_bytes(void **state)
{
    (void)state;
    const bool measured = !SANITIZED; /* they take more */
#if defined(__GLIBC__)
    if (measured)
        assert_int_equal(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1); /* what is freed leaves the process */
#endif
    const molecule_in m = make_molecule(6);
    const vf_coulomb_atoms atoms = atoms_of(&m);
    vf_grid grid = {.origin = {-16, -16, -16}, .spacing = {0.25, 0.25, 0.25}, .counts = {129, 129, 129}};
    const double before = peak();
    for (int kind = 0; kind < 3; kind++) {
        static const char *const names[] = {"linear", "sheared", "non-linear"};
        const double edge = 129 * 0.25;
        vf_solvent_options o = vf_solvent_defaults();
        vf_solvent *plan;
        o.non_linear = kind == 2;
        grid.cell = (vf_cell){kind == 1 ? VF_CELL_TRICLINIC : VF_CELL_NONE,
                              {{edge, 0, 0}, {40 * 0.25, edge, 0}, {-0.75, 10, edge}}};
        need(vf_solvent_create(device, &grid, &atoms, m.radius, &o, &plan));
        const double taken = peak() - before, planned = (double)vf_solvent_bytes(&grid, ATOMS, &o);
        print_message("%s: %.0f bytes a point, %.0f planned\n", names[kind], taken / (double)plan->points,
                      planned / (double)plan->points);
        assert_true(!measured || (planned >= taken * 5 / 6 && planned <= taken * 7 / 6));
        vf_solvent_destroy(plan);
    }
}

/* |b - A u| / |b| in double precision, with a right side made anew: at most the tolerance, and 1e-13 for the roundings of either. */
static void test_residual(void **state)
{
    (void)state;
    static const double tolerances[] = {1e-3, 1e-6, 1e-10};
    for (int t = 0; t < 3; t++) {
        const molecule_in m = make_molecule(6);
        const vf_coulomb_atoms atoms = atoms_of(&m);
        const vf_grid grid = {.origin = {-16, -15, -17}, .spacing = {0.7, 0.6, 0.8}, .counts = {47, 50, 43}};
        vf_solvent_options o = vf_solvent_defaults();
        vf_solvent *plan;
        o.tolerance = tolerances[t];
        need(vf_solvent_create(device, &grid, &atoms, m.radius, &o, &plan));
        double *b = malloc((size_t)plan->points * sizeof *b), before = 0, after = 0;
        assert_non_null(b);
        free(plan->ends.point);
        free(plan->ends.value);
        plan->ends = (solvent_ends){0};
        need(solvent_right_side(plan, &atoms, m.radius, b));
        for (int64_t i = 0; i < plan->points; i++)
            before += b[i] * b[i];
        solvent_subtract_product(plan, NULL, vf_solvent_unknown(plan), b);
        for (int64_t i = 0; i < plan->points; i++)
            after += b[i] * b[i];
        const double residual = sqrt(after / before), told = vf_solvent_outcome(plan).residual;
        print_message("%d iterations to %g: a residual of %.4g\n", vf_solvent_outcome(plan).iterations, tolerances[t],
                      residual);
        assert_true(residual > 0 && residual <= tolerances[t] + 1e-13 && fabs(residual - told) <= 1e-13);
        free(b);
        vf_solvent_destroy(plan);
    }
}

/* A system that is solved on another device, here another CPU: copies there and back, and the same bits. */
static void test_other_device(void **state)
{
    (void)state;
    const molecule_in m = make_molecule(6);
    const vf_coulomb_atoms atoms = atoms_of(&m);
    const vf_grid grid = {.origin = {-16, -15, -17}, .spacing = {0.7, 0.6, 0.8}, .counts = {47, 50, 43}};
    const vf_solvent_options o = vf_solvent_defaults();
    const size_t bytes = 47 * 50 * 43 * sizeof(double);
    vf_context *other;
    vf_solvent *plan;
    vf_cg_result result[2];
    double *b[2], *x[2];
    assert_int_equal(vf_context_create(&other), VF_OK);
    assert_int_equal(vf_context_set_devices(other, "cpu"), VF_OK);
    need(vf_solvent_create(device, &grid, &atoms, m.radius, &o, &plan));
    for (int i = 0; i < 2; i++) {
        b[i] = malloc(bytes);
        x[i] = malloc(bytes);
        assert_true(b[i] && x[i]);
        memcpy(b[i], vf_solvent_unknown(plan), bytes);
        plan->solver = i ? vf_context_device(other, 0) : plan->device;
        need(solvent_solve_system(plan, NULL, 1e-9, 50, b[i], x[i], &result[i]));
    }
    assert_true(result[0].residual > 0 && result[0].residual == result[1].residual);
    assert_memory_equal(b[0], b[1], bytes);
    assert_memory_equal(x[0], x[1], bytes);
    for (int i = 0; i < 2; i++) {
        free(b[i]);
        free(x[i]);
    }
    plan->solver = plan->device;
    vf_solvent_destroy(plan);
    vf_context_destroy(other);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_bytes), cmocka_unit_test(test_other_device),
            cmocka_unit_test(test_boundary), cmocka_unit_test(test_residual))
