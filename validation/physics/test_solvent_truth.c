/* Energies in a solvent that are known: charges off the centre of a sphere, with and without salt and a layer without ions; two spheres;
 * a molecule under turns and shifts of the grid; the smooth surface.
 *
 * usage: test_solvent_truth cpu [TEST...]
 *
 * Bounds. Energies are second order in the spacing h, and the bars are 0.1 % of the sphere's at 0.31 A, so 1 % at 1 A, and an
 * order of 1.8. Here 0.3 % at 1 A: at a face, phi is taken as straight along an edge, which is off by its curvature, (h / R)^2 / 8 of
 * it with R = 10 A, and by (h / depth)^2 / 12 of the part of u that varies with the charges' depth of 3.8 A, a third of it. The two
 * spheres, of 3 and 2 A, 0.5 A apart, with charges 2 and 1.5 A deep: 0.3 % at 0.3 A, as (h / R)^2 / 8 is. The sums of screened
 * charges at the boundary leave 7e-5 of the sphere's energy here, the solver 1e-6.
 */
#include <math.h>

#include "queue_fixture.h"
#include "solvent.h"
#include "solvent_truth.h"

enum { MOST = 64 };

typedef struct molecule_in {
    int64_t count;
    double x[MOST], y[MOST], z[MOST], charge[MOST], radius[MOST];
} molecule_in;

static void add(molecule_in *m, double x, double y, double z, double charge, double radius)
{
    m->x[m->count] = x;
    m->y[m->count] = y;
    m->z[m->count] = z;
    m->charge[m->count] = charge;
    m->radius[m->count++] = radius;
}

/* Sum q u / 2 on a grid of spacing h around the origin, `shift` spacings off. */
static double energy(const molecule_in *m, double half, double h, double shift, const vf_solvent_options *o)
{
    const vf_coulomb_atoms charges = {m->count, m->x, m->y, m->z, m->charge};
    const int64_t n = (int64_t)ceil(2 * half / h) + 1;
    const vf_grid grid = {.origin = {-half + shift * h, -half + 0.37 * shift * h, -half - 0.61 * shift * h},
                          .spacing = {h, h, h},
                          .counts = {n, n, n}};
    double u[MOST], sum = 0;
    vf_solvent *plan;
    need(vf_solvent_create(device, &grid, &charges, m->radius, o, &plan));
    need(vf_solvent_reaction(plan, m->count, m->x, m->y, m->z, u));
    vf_solvent_destroy(plan);
    for (int64_t i = 0; i < m->count; i++)
        sum += m->charge[i] * u[i] / 2;
    assert_true(isfinite(sum));
    return sum;
}

static vf_solvent_options options(double kappa, double stern)
{
    vf_solvent_options o = vf_solvent_defaults();
    o.kappa = kappa;
    o.stern = stern;
    return o;
}

/* ---- spheres ---- */

static truth_sphere kirkwood(double kappa, double stern)
{
    return (truth_sphere){
        10,
        2,
        78.54,
        kappa,
        stern,
        6,
        {{6.2, 0.2, -0.3}, {-6.2, 0.1, 0.2}, {0.3, 6.1, 0.2}, {0.2, -6.2, 0.4}, {-0.1, 0.3, 6.2}, {0.4, 0.2, -6.1}},
        {1, 1, -1, 1, -1, 1}};
}

static molecule_in of_sphere(const truth_sphere *s)
{
    molecule_in m = {0};
    add(&m, 0, 0, 0, 0, s->radius);
    for (int i = 0; i < s->charges; i++)
        add(&m, s->at[i][0], s->at[i][1], s->at[i][2], s->charge[i], 1);
    return m;
}

/* The order from errors at 2 h and h, as rms over shifts of the grid. */
static double order_of(const double coarse[2], const double fine[2])
{
    return log2(hypot(coarse[0], coarse[1]) / hypot(fine[0], fine[1]));
}

static void test_sphere(void **state)
{
    (void)state;
    static const double salts[][2] = {{0, 2}, {0.127, 2}, {0.3, 0}}, shifts[] = {0.1, 0.7};
    for (int k = 0; k < 3; k++) {
        const truth_sphere s = kirkwood(salts[k][0], salts[k][1]);
        const molecule_in m = of_sphere(&s);
        const vf_solvent_options o = options(salts[k][0], salts[k][1]);
        const double truth = truth_sphere_energy(&s);
        double error[2][2];
        for (int i = 0; i < 4; i++)
            error[i / 2][i % 2] = energy(&m, 40, i / 2 ? 1 : 2, shifts[i % 2], &o) / truth - 1;
        print_message("Kirkwood, kappa %g, ions of %g: %+.3f and %+.3f %% at 1 A, order %.2f\n", salts[k][0],
                      salts[k][1], 100 * error[1][0], 100 * error[1][1], order_of(error[0], error[1]));
        assert_true(fabs(error[1][0]) <= 0.003 && fabs(error[1][1]) <= 0.003);
        assert_true(order_of(error[0], error[1]) >= 1.8);
    }
}

/* Charges' places between points of the grid: u varies with their depth of 3.8 A. Cubic interpolation leaves 3 / 128 (h / depth)^4 of it,
 * 2e-5, and the surface's places as much; linear would leave (h / depth)^2 / 8, 3e-3, with both signs: 3e-4 of six charges' sum. */
static void test_places(void **state)
{
    (void)state;
    const truth_sphere s = kirkwood(0, 0);
    const molecule_in m = of_sphere(&s);
    const vf_solvent_options o = options(0, 0);
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < 4; i++) {
        const double here = energy(&m, 20, 0.625, 0.27 * i, &o) / truth_sphere_energy(&s);
        least = fmin(least, here);
        most = fmax(most, here);
    }
    print_message("Kirkwood at 0.625 A, four places: %.4f %% apart\n", 100 * (most - least));
    assert_true(most - least <= 1e-4);
}

/* A charge as deep as a spacing and more, where some of the points around it are outside. To the terms that scale with (h / depth)^2,
 * a tenth of it; values of phi for u at those points would change the energy by its size. */
static void test_depths(void **state)
{
    (void)state;
    static const double depths[] = {0.7, 1.2, 2};
    const double h = 0.7;
    for (int d = 0; d < 3; d++) {
        const double far = 5 - depths[d];
        const truth_sphere s = {5, 2, 78.54, 0, 0, 1, {{0.96 * far, 0.28 * far, 0}}, {1}};
        molecule_in m = of_sphere(&s);
        const vf_solvent_options o = options(0, 0);
        const double truth = truth_sphere_energy(&s);
        m.radius[1] = 0.1;
        for (int i = 0; i < 5; i++) {
            const double error = energy(&m, 14, h, 0.19 * i, &o) / truth - 1;
            print_message("a charge %g A deep at %g A: %+.2f %%\n", depths[d], h, 100 * error);
            assert_true(fabs(error) <= 0.1 * pow(h / depths[d], 2));
        }
    }
}

/* Salt's part of the energy alone: the difference with and without, which a layer without ions in the wrong place would change. */
static void test_salt(void **state)
{
    (void)state;
    for (int layer = 0; layer < 2; layer++) {
        const truth_sphere with = kirkwood(0.2, 2.0 * layer), without = kirkwood(0, 0);
        const molecule_in m = of_sphere(&with);
        const vf_solvent_options salted = options(0.2, 2.0 * layer), plain = options(0, 0);
        const double truth = truth_sphere_energy(&with) - truth_sphere_energy(&without);
        const double error = (energy(&m, 40, 1, 0.3, &salted) - energy(&m, 40, 1, 0.3, &plain)) / truth - 1;
        print_message("salt's part, ions of %g: %+.2f %%\n", 2.0 * layer, 100 * error);
        assert_true(fabs(error) <= 0.02); /* (h / 2 R)^2, and the boundary's part */
    }
}

static void test_pair(void **state)
{
    (void)state;
    static const double kappas[] = {0, 0.5}, shifts[] = {0.1, 0.7};
    for (int k = 0; k < 2; k++) {
        const truth_pair p = {{3, 2}, {1, -1}, {1, 0.5}, 5.5, 2, 78.54, kappas[k]};
        molecule_in m = {0};
        vf_solvent_options o = options(kappas[k], 0);
        o.surface = VF_SURFACE_VAN_DER_WAALS;
        add(&m, 0, 0, -2.25, 0, 3);
        add(&m, 0, 0, -1.25, 1, 1);
        add(&m, 0, 0, 3.25, 0, 2);
        add(&m, 0, 0, 2.75, -1, 1);
        const double truth = truth_pair_energy(&p);
        double error[2][2];
        for (int i = 0; i < 4; i++)
            error[i / 2][i % 2] = energy(&m, 12, i / 2 ? 0.3 : 0.6, shifts[i % 2], &o) / truth - 1;
        print_message("two spheres, kappa %g: %+.3f and %+.3f %% at 0.3 A, order %.2f\n", kappas[k], 100 * error[1][0],
                      100 * error[1][1], order_of(error[0], error[1]));
        assert_true(fabs(error[1][0]) <= 0.003 && fabs(error[1][1]) <= 0.003);
        assert_true(order_of(error[0], error[1]) >= 1.8);
    }
}

/* The series themselves: Born's formula, spheres far apart, one medium. Their terms and quadratures leave 1e-10. */
static void test_series(void **state)
{
    (void)state;
    const truth_sphere ion = {3, 1, 78.54, 0.13, 2, 1, {{0}}, {1}};
    const double born = ((1 / 78.54 - 1) / 3 - 0.13 / (78.54 * (1 + 0.13 * 5))) / 2;
    assert_true(fabs(truth_sphere_energy(&ion) / born - 1) <= 1e-10);
    const truth_pair same = {{3, 2}, {1, -1}, {1, 0.5}, 5.5, 4, 4, 0};
    assert_true(fabs(truth_pair_energy(&same)) <= 1e-10);
    /* one sphere of the pair without a charge, and as far as the other's field is 1e-4 of its own */
    const truth_pair alone = {{3, 0.01}, {1, 0}, {1, 0}, 30, 2, 78.54, 0.3};
    const truth_sphere single = {3, 2, 78.54, 0.3, 0, 1, {{1, 0, 0}}, {1}};
    assert_true(fabs(truth_pair_energy(&alone) / truth_sphere_energy(&single) - 1) <= 1e-8);
}

/* ---- turns and shifts ---- */

/* A turn about a random axis, and a place between the points of the grid. */
static molecule_in moved(const molecule_in *m)
{
    double q[4], length = 0, shift[3];
    for (int i = 0; i < 4; i++) {
        do
            q[i] = 2 * uniform() - 1;
        while (fabs(q[i]) > 1);
        length += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(length);
    for (int a = 0; a < 3; a++)
        shift[a] = uniform() - 0.5;
    const double turn[3][3] = {
        {1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] - q[3] * q[0]), 2 * (q[1] * q[3] + q[2] * q[0])},
        {2 * (q[1] * q[2] + q[3] * q[0]), 1 - 2 * (q[1] * q[1] + q[3] * q[3]), 2 * (q[2] * q[3] - q[1] * q[0])},
        {2 * (q[1] * q[3] - q[2] * q[0]), 2 * (q[2] * q[3] + q[1] * q[0]), 1 - 2 * (q[1] * q[1] + q[2] * q[2])}};
    molecule_in to = {0};
    for (int64_t i = 0; i < m->count; i++) {
        double r[3];
        for (int a = 0; a < 3; a++)
            r[a] = shift[a] + turn[a][0] * m->x[i] + turn[a][1] * m->y[i] + turn[a][2] * m->z[i];
        add(&to, r[0], r[1], r[2], m->charge[i], m->radius[i]);
    }
    return to;
}

/* Atoms like a peptide's: a walk of 1.5 A that keeps to a ball, with charges of +-0.5 and radii of 1.2 to 1.9 A. The scatter of a protein
 * is at most 0.3 % at 0.5 A, the bar; a molecule this small is all surface, and has as much. */
static void test_moved(void **state)
{
    (void)state;
    molecule_in m = {0};
    double at[3] = {0};
    const vf_solvent_options o = options(0.127, 2);
    while (m.count < 48) {
        double step[3], length = 0, far = 0, next[3];
        for (int a = 0; a < 3; a++) {
            step[a] = uniform() - 0.5;
            length += step[a] * step[a];
        }
        for (int a = 0; a < 3; a++) {
            next[a] = at[a] + 1.5 * step[a] / sqrt(length);
            far += next[a] * next[a];
        }
        if (!(far < 25))
            continue;
        memcpy(at, next, sizeof at);
        add(&m, at[0], at[1], at[2], uniform() - 0.5, 1.2 + 0.7 * uniform());
    }
    double sum = 0, squares = 0;
    enum { RUNS = 8 };
    for (int i = 0; i < RUNS; i++) {
        const molecule_in now = moved(&m);
        const double here = energy(&now, 16, 0.5, 0, &o);
        sum += here / RUNS;
        squares += here * here / RUNS;
    }
    const double scatter = sqrt(fmax(squares - sum * sum, 0)) / fabs(sum);
    print_message("%d turns and shifts at 0.5 A: %.4g e^2/A, scatter %.3f %%\n", RUNS, sum, 100 * scatter);
    assert_true(sum < 0 && scatter <= 0.003);
}

/* ---- the smooth surface ---- */

/* Its layer is as thick as a spacing, so energies tend to those of the sharp surface, from a distance of the order of h: with 8 of 9 faces
 * in the solvent, the harmonic mean is still 7.8 eps_m, so solvent comes nearer by less than half a spacing: 0.5 h / R. */
static void test_smooth(void **state)
{
    (void)state;
    const truth_sphere s = kirkwood(0.127, 2);
    const molecule_in m = of_sphere(&s);
    vf_solvent_options o = options(0.127, 2);
    o.surface = VF_SURFACE_SMOOTH;
    const double truth = truth_sphere_energy(&s), depth = 3.8;
    for (int fine = 0; fine < 2; fine++) {
        const double h = fine ? 0.8 : 1.6, error = energy(&m, 24, h, 0.3, &o) / truth - 1;
        print_message("smooth, %g A: %+.2f %%\n", h, 100 * error);
        assert_true(fabs(error) <= 0.5 * h / depth && error != 0);
    }
}

/* A charge a spacing below the surface, where faces in the molecule would be smoothed. With its own faces kept, the energy is that of
 * the sharp surface to the layer's thickness and 10 % of it: without that, the grid's place changes it by 12 %. */
static void test_smooth_charge(void **state)
{
    (void)state;
    const truth_sphere s = {5, 2, 78.54, 0, 0, 1, {{2.5981, 2.6240, 2.5721}}, {1}};
    molecule_in m = of_sphere(&s);
    vf_solvent_options o = options(0, 0);
    o.surface = VF_SURFACE_SMOOTH;
    m.radius[1] = 0.1;
    const double truth = truth_sphere_energy(&s);
    for (int i = 0; i < 5; i++) {
        const double error = energy(&m, 13, 0.5, 0.2 * i, &o) / truth - 1;
        print_message("smooth, a charge 0.5 A deep at 0.5 A: %+.1f %%\n", 100 * error);
        assert_true(fabs(error) <= 0.1);
    }
}

/* Without a probe it is the atoms' spheres that are smoothed; of one sphere, both surfaces are the same. */
static void test_smooth_spheres(void **state)
{
    (void)state;
    molecule_in m = {0};
    vf_solvent_options o = options(0, 0);
    o.surface = VF_SURFACE_SMOOTH;
    add(&m, 0.1, 0.2, -0.1, 1, 3);
    const double excluded = energy(&m, 8, 0.5, 0, &o);
    o.probe = 0;
    const double bare = energy(&m, 8, 0.5, 0, &o);
    assert_true(fabs(excluded / bare - 1) <= 1e-3); /* roundings may put a face's centre on the other side */
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_sphere), cmocka_unit_test(test_places), cmocka_unit_test(test_depths),
            cmocka_unit_test(test_salt), cmocka_unit_test(test_pair), cmocka_unit_test(test_series),
            cmocka_unit_test(test_moved), cmocka_unit_test(test_smooth), cmocka_unit_test(test_smooth_charge),
            cmocka_unit_test(test_smooth_spheres))
