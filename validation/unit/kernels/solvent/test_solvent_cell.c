/* Potentials in solvent in periodic cells, against closed forms: a lattice of ions, whose sphere sees the cubic lattice around it as a
 * constant field and parts of order l >= 4, which are (R / L)^9 of the ion's own, 5e-7 here.
 *
 * usage: test_solvent_cell cpu [TEST...] */
#include "cell_fixture.h"

static const double wigner =
    -2.837297479480620; /* the potential of a unit cube's other images and background at a charge */

static vf_grid grid_of(const double edge[3], const int64_t counts[3])
{
    vf_grid g = {.cell = {.kind = VF_CELL_ORTHORHOMBIC}};
    for (int a = 0; a < 3; a++) {
        g.cell.vectors[a][a] = edge[a];
        g.counts[a] = counts[a];
        g.spacing[a] = edge[a] / (double)counts[a];
    }
    return g;
}

static vf_grid cube_of(double edge, int64_t n)
{
    const double edges[3] = {edge, edge, edge};
    const int64_t counts[3] = {n, n, n};
    return grid_of(edges, counts);
}

/* u at the atoms. */
static void reactions(const molecule_in *m, const vf_grid *grid, const vf_solvent_options *o, double u[8])
{
    vf_solvent *plan = solved(m, grid, o);
    need(vf_solvent_reaction(plan, m->count, m->x, m->y, m->z, u));
    assert_true(vf_solvent_outcome(plan).iterations <= 20 && vf_solvent_outcome(plan).residual <= o->tolerance);
    vf_solvent_destroy(plan);
}

/* ---- a lattice of ions ---- */

/* Without salt, with a background everywhere and a mean of 0: outside q E(r) / eps_s + B, inside q E(r) / eps_m + C, with E = 1 / r +
 * wigner / L + 2 pi r^2 / (3 V). That is the energy of Hummer, Pratt and Garcia, J. Chem. Phys. 107 (1997) 9275, in a cell. Per charge. */
static double lattice_without_salt(double R, double L, double eps_m, double eps_s)
{
    const double V = L * L * L;
    return (1 / eps_s - 1 / eps_m) *
           (1 / R + wigner / L + 4 * PI * R * R / (3 * V) - 16 * PI * PI * pow(R, 5) / (45 * V * V));
}

/* The potential of the other images of a screened unit charge, exp(-kappa d) / d. */
static double screened_images(double kappa, double L)
{
    const int reach = (int)ceil(40 / (kappa * L));
    double sum = 0;
    for (int i = -reach; i <= reach; i++)
        for (int j = -reach; j <= reach; j++)
            for (int k = -reach; k <= reach; k++) {
                const double d = L * sqrt(i * i + j * j + k * k);
                sum += d > 0 ? exp(-kappa * d) / d : 0;
            }
    return sum;
}

/* With salt beyond a = R + stern: A (exp(-kappa r) / r + c sinh(kappa r) / (kappa r)), whose flow at a is that of q, down to a; from there
 * to R q / (eps_s r) and a constant; inside q / (eps_m r) and a constant. G there: q (1 / r + wigner / L) / eps_m at the centre. */
static double lattice_with_salt(double R, double stern, double L, double eps_m, double eps_s, double kappa)
{
    const double a = R + stern, x = kappa * a, c = screened_images(kappa, L);
    const double value = exp(-x) / a + c * sinh(x) / x;
    const double slope = -exp(-x) * (1 + x) / (a * a) + c * (cosh(x) / a - sinh(x) / (x * a));
    const double factor = -1 / (eps_s * a * a * slope);
    return factor * value + (1 / R - 1 / a) / eps_s - 1 / (eps_m * R) - wigner / (eps_m * L);
}

/* Bounds: as in free space (test_solvent.c), 0.6 % at R / 4 and 0.15 % at R / 8 of the ion's own term; order 1.8. Places: in the middle,
 * and at a corner and a face of the cell, where the ion's images make it whole. */
static void test_lattice(void **state)
{
    (void)state;
    static const double places[][3] = {{9.1, 8.8, 9.3}, {0.2, -0.1, 17.9}, {18.4, 9, -40.2}};
    for (int salt = 0; salt < 2; salt++) {
        const double R = 3, L = 18, kappa = salt ? 0.13 : 0;
        const vf_solvent_options o = options(2, 78.54, kappa);
        const double truth =
            salt ? lattice_with_salt(R, o.stern, L, 2, 78.54, kappa) : lattice_without_salt(R, L, 2, 78.54);
        double rms[2] = {0};
        for (int place = 0; place < 3; place++)
            for (int fine = 0; fine < 2; fine++) {
                const double *at = places[place];
                const molecule_in ion = {1, {at[0]}, {at[1]}, {at[2]}, {1}, {R}};
                const vf_grid grid = cube_of(L, fine ? 48 : 24);
                double u[8];
                reactions(&ion, &grid, &o, u);
                const double error = (u[0] - truth) / ((1 / 78.54 - 1 / 2.0) / R);
                print_message("lattice, kappa %g, spacing %g: %+.3f %%\n", kappa, grid.spacing[0], 100 * error);
                assert_true(fabs(error) <= (fine ? 0.0015 : 0.006));
                rms[fine] += error * error;
            }
        assert_true(log2(sqrt(rms[0] / rms[1])) >= 1.8);
    }
}

/* ---- a molecule ---- */

static const double edges[3] = {16, 14, 18};
static const int64_t few[3] = {32, 28, 36};

/* The largest difference of u of two grids, of which point p of the second is p + shift of the first, around it; of the root mean
 * square of u. */
static double difference(const vf_solvent *a, const vf_solvent *b, const int64_t n[3], const int64_t shift[3],
                         const int64_t m[3])
{
    const double *u = vf_solvent_unknown(a), *v = vf_solvent_unknown(b);
    double most = 0, square = 0;
    for (int64_t p = 0; p < m[0] * m[1] * m[2]; p++) {
        const int64_t i = (p % m[0] + shift[0]) % n[0], j = (p / m[0] % m[1] + shift[1]) % n[1],
                      k = (p / m[0] / m[1] + shift[2]) % n[2], at = (k * n[1] + j) * n[0] + i;
        assert_int_equal(vf_solvent_inside(a)[at], vf_solvent_inside(b)[p]);
        most = fmax(most, fabs(u[at] - v[p]));
        square += u[at] * u[at];
    }
    assert_true(isfinite(most) && square > 0);
    return most / sqrt(square / (double)(m[0] * m[1] * m[2]));
}

/* Atoms that move by whole spacings move the potential, around the ends of the cell, and so do atoms of which some are replaced by
 * images. The solver leaves 1e-8 of the right side; of the solution a hundred times as much. Levels are rounded in other places. */
static void test_shift(void **state)
{
    (void)state;
    const vf_grid grid = grid_of(edges, few);
    const int64_t shift[3] = {13, 27, 5};
    for (int kind = 0; kind < 4; kind++) {
        vf_solvent_options o = options(2, 78.54, kind % 2 ? 0.13 : 0);
        o.tolerance = 1e-8;
        o.surface = kind < 2 ? VF_SURFACE_EXCLUDED : VF_SURFACE_SMOOTH;
        const molecule_in m = molecule_at(0.02, 0.03, 0.01);
        molecule_in moved = molecule_at(0.02 - 13 * 0.5, 0.03 - 27 * 0.5, 0.01 - 5 * 0.5);
        for (int i = 0; i < moved.count; i++)
            moved.z[i] += edges[2] * (i - 1);
        vf_solvent *a = solved(&m, &grid, &o), *b = solved(&moved, &grid, &o);
        const double most = difference(a, b, few, shift, few);
        print_message("shift, surface %s, kappa %g: %.1e\n", kind < 2 ? "ses" : "smooth", o.kappa, most);
        assert_true(most <= 1e-5);
        vf_solvent_destroy(a);
        vf_solvent_destroy(b);
    }
}

/* Two molecules in a cell of twice the length are one in a cell. */
static void test_twice(void **state)
{
    (void)state;
    const vf_grid grid = grid_of(edges, few);
    const int64_t none[3] = {0};
    for (int axis = 0; axis < 3; axis++)
        for (int salt = 0; salt < 2; salt++) {
            vf_solvent_options o = options(2, 78.54, salt ? 0.13 : 0);
            double longer[3] = {edges[0], edges[1], edges[2]};
            int64_t more[3] = {few[0], few[1], few[2]};
            molecule_in m = molecule_at(0.02, 0.03, 0.01), two = m;
            o.tolerance = 1e-8;
            m.count = two.count = 4; /* without the last, of 4 atoms each */
            longer[axis] *= 2;
            more[axis] *= 2;
            two.count = 8;
            for (int i = 0; i < 4; i++) {
                two.x[i + 4] = m.x[i] + (axis == 0 ? edges[0] : 0);
                two.y[i + 4] = m.y[i] + (axis == 1 ? edges[1] : 0);
                two.z[i + 4] = m.z[i] + (axis == 2 ? edges[2] : 0);
                two.charge[i + 4] = m.charge[i];
                two.radius[i + 4] = m.radius[i];
            }
            const vf_grid doubled = grid_of(longer, more);
            vf_solvent *a = solved(&m, &grid, &o), *b = solved(&two, &doubled, &o);
            const double most = difference(a, b, few, none, more);
            print_message("twice along %c, kappa %g: %.1e\n", "xyz"[axis], o.kappa, most);
            assert_true(most <= 1e-5);
            vf_solvent_destroy(a);
            vf_solvent_destroy(b);
        }
}

/* eps_m = eps_s without salt: the potential is Ewald's over eps, with its background and its mean of 0. Second differences of 1 / r are off
 * by (h / r)^2 / 6 of its own: at 1.2 A, where the molecule ends, some 0.03 q / (eps r) or 0.006 for h = 0.5 A, and they fall with h^2. */
static void test_uniform(void **state)
{
    (void)state;
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_coulomb_atoms charges = charges_of(&m);
    const vf_solvent_options o = options(4, 4, 0);
    double rms[2] = {0};
    for (int fine = 0; fine < 2; fine++) {
        const int64_t counts[3] = {few[0] << fine, few[1] << fine, few[2] << fine};
        const vf_grid grid = grid_of(edges, counts);
        vf_solvent *plan = solved(&m, &grid, &o);
        double u[8], places[256][3], truth[256];
        need(vf_solvent_reaction(plan, m.count, m.x, m.y, m.z, u));
        for (int i = 0; i < m.count; i++) {
            assert_true(fabs(u[i]) <= 0.006 / (fine ? 4 : 1));
            rms[fine] += u[i] * u[i];
        }
        double most = 0, square = 0;
        int count = 0;
        int64_t at[256];
        for (int64_t p = 0; p < grid.counts[0] * grid.counts[1] * grid.counts[2]; p += fine ? 1601 : 201) {
            if (vf_solvent_inside(plan)[p] || count == 256)
                continue;
            at[count] = p;
            places[count][0] = grid.spacing[0] * (double)(p % counts[0]);
            places[count][1] = grid.spacing[1] * (double)(p / counts[0] % counts[1]);
            places[count++][2] = grid.spacing[2] * (double)(p / counts[0] / counts[1]);
        }
        vf_ewald_reference(&grid.cell, &charges, 0.25, 1e-3, false, count, places[0], truth);
        for (int n = 0; n < count; n++) {
            most = fmax(most, fabs(vf_solvent_unknown(plan)[at[n]] - truth[n]));
            square += truth[n] * truth[n] / count;
        }
        print_message("uniform, spacing %g: u %.1e, %.1e of %d points' %.1e\n", grid.spacing[0], sqrt(rms[fine] / 5),
                      most, count, sqrt(square));
        assert_true(count > 100 && most <= 0.006 / (fine ? 4 : 1));
        vf_solvent_destroy(plan);
    }
    assert_true(log2(sqrt(rms[0] / rms[1])) >= 1.5);
}

/* ---- cells of several sizes ---- */

static double half_sum(const molecule_in *m, const double u[8])
{
    double sum = 0;
    for (int i = 0; i < m->count; i++)
        sum += m->charge[i] * u[i] / 2;
    return sum;
}

/* The energy of G without the charges' own and the pair's 1 / d. */
static double of_images(const molecule_in *m, const vf_cell *cell, double eps)
{
    const vf_coulomb_atoms charges = charges_of(m);
    double places[8][3], values[8];
    const double apart = m->x[1] - m->x[2], least = 1e-3;
    for (int i = 0; i < m->count; i++) {
        places[i][0] = m->x[i];
        places[i][1] = m->y[i];
        places[i][2] = m->z[i];
    }
    vf_ewald_reference(cell, &charges, 1 / eps, least, false, m->count, places[0], values);
    return half_sum(m, values) - (1 / least - 1 / apart) / eps;
}

/* A dipole p in a sphere: outside the solvent sees p' = 3 eps_s / (2 eps_s + eps_m) p + eps_s b R^3 F, b = (eps_m - eps_s) /
 * (eps_m + 2 eps_s), in the field F = 4 pi p' / (3 eps_s V) of a cubic lattice of such; inside there is 3 eps_s / (2 eps_s + eps_m) F. What
 * this adds to the energy of the dipole in free space, less what its images add in a medium of eps_m. Parts of order 3: (d / L)^2. */
static double dipole_in_lattice(double p, double R, double L, double eps_m, double eps_s)
{
    const double V = L * L * L, into = 3 * eps_s / (2 * eps_s + eps_m), b = (eps_m - eps_s) / (eps_m + 2 * eps_s);
    const double outer = into * p / (1 - 4 * PI / (3 * V) * b * R * R * R);
    return -p * into * 4 * PI * outer / (3 * eps_s * V) / 2;
}

static void test_dipole(void **state)
{
    (void)state;
    const double R = 3, d = 0.6;
    const molecule_in m = {3, {0.1, 0.1 + d, 0.1 - d}, {-0.05, -0.05, -0.05}, {0.2, 0.2, 0.2}, {0, 1, -1}, {R, 1, 1}};
    vf_solvent_options o = options(2, 78.54, 0);
    double energy[2], expected[2];
    o.tolerance = 1e-9;
    for (int large = 0; large < 2; large++) {
        const vf_grid grid = cube_of(large ? 24 : 12, large ? 64 : 32);
        double u[8];
        reactions(&m, &grid, &o, u);
        energy[large] = half_sum(&m, u);
        expected[large] = dipole_in_lattice(2 * d, R, large ? 24 : 12, 2, 78.54) - of_images(&m, &grid.cell, 2);
    }
    const double change = energy[0] - energy[1], truth = expected[0] - expected[1];
    print_message("a dipole: %g at 12 A, %g at 24 A; change %g, expected %g\n", energy[0], energy[1], change, truth);
    assert_true(energy[0] < 0 && fabs(change / truth - 1) <= 0.03);
}

/* ---- salt ---- */

/* The ions of a cell neutralise the molecule, to second order. The full equation with a hundredth of the charge is the linear one, and with
 * all of it the ions keep its balance, too. */
static void test_ions(void **state)
{
    (void)state;
    molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const double net = 1;
    double ions[2], totals[2];
    for (int fine = 0; fine < 2; fine++) {
        const int64_t counts[3] = {few[0] << fine, few[1] << fine, few[2] << fine};
        const vf_grid grid = grid_of(edges, counts);
        vf_solvent_options o = options(2, 78.54, 0);
        const vf_solvent_ion salt[] = {{1, 0.15}, {-1, 0.15}};
        need(vf_solvent_set_salt(ctx, 2, salt, 298.15, &o));
        for (int full = 0; full < 2; full++) {
            vf_solvent_energy e;
            o.non_linear = full;
            vf_solvent *plan = solved(&m, &grid, &o);
            const vf_coulomb_atoms charges = charges_of(&m);
            need(vf_solvent_energies(plan, &charges, &e, NULL));
            print_message("spacing %g, %s: ions %g, total %g\n", grid.spacing[0], full ? "full" : "linear", e.ions,
                          e.total);
            assert_true(fabs(e.ions + net) <= (fine ? 0.005 : 0.02));
            assert_true(full || fabs(e.total - e.fixed / 2) <= 1e-9 * fabs(e.total));
            ions[full] = e.ions;
            totals[full] = e.total;
            vf_solvent_destroy(plan);
        }
        assert_true(fabs(ions[1] - ions[0]) <= 1e-3 && totals[1] < totals[0]);
    }
    for (int i = 0; i < m.count; i++)
        m.charge[i] /= 100;
    for (int full = 0; full < 2; full++) {
        const vf_grid grid = grid_of(edges, few);
        vf_solvent_options o = options(2, 78.54, 0.13);
        double u[8];
        o.non_linear = full;
        o.tolerance = 1e-8;
        reactions(&m, &grid, &o, u);
        totals[full] = half_sum(&m, u);
    }
    assert_true(fabs(totals[1] / totals[0] - 1) <= 1e-4); /* (z l u)^2 / 6 of what salt adds, z l u = 0.02 */
}

/* ---- between the points ---- */

/* At points of the grid, in the cell or beside it, the potential is the map's, and at images of a place it is the same. */
static void test_points(void **state)
{
    (void)state;
    const vf_grid grid = grid_of(edges, few);
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_solvent_options o = options(2, 78.54, 0.13);
    vf_solvent *plan = solved(&m, &grid, &o);
    for (int n = 0; n < 300; n++) {
        double places[3][3], potential[3] = {0}, field[3][3] = {{0}};
        int64_t p = 0;
        for (int a = 2; a >= 0; a--) {
            const int64_t index = (int64_t)(uniform() * (double)few[a]);
            p = p * few[a] + index;
            places[0][a] = grid.spacing[a] * (double)index + (n % 3 - 1) * edges[a];
            places[1][a] = uniform_between(-1, 1) * (n % 2 ? 1 : edges[a]);
            places[2][a] = places[1][a] + edges[a] * (double)((n / 2 + a) % 5 - 2);
        }
        need(vf_solvent_add_at(plan, 3, places[0], false, 1, potential, field[0]));
        const double scale = 1e-9;
        assert_true(fabs(potential[0] - vf_solvent_unknown(plan)[p]) <= scale);
        assert_true(fabs(potential[1] - potential[2]) <= scale);
        for (int a = 0; a < 3; a++)
            assert_true(fabs(field[1][a] - field[2][a]) <= 1e-6);
    }
    vf_solvent_destroy(plan);
}

/* The field's differences go on across the faces of the cell: within the molecule or the solvent, they are the slopes of the cubic there. */
static void test_field(void **state)
{
    (void)state;
    const vf_grid grid = grid_of(edges, few);
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_solvent_options o = options(2, 78.54, 0.13);
    vf_solvent *plan = solved(&m, &grid, &o);
    const uint8_t *inside = vf_solvent_inside(plan);
    int64_t compared = 0, at_faces = 0;
    for (int64_t n = 0; n < vf_grid_points(&grid); n++) {
        const int64_t at[3] = {n % few[0], n / few[0] % few[1], n / few[0] / few[1]};
        int same = 0;
        for (int c = 0; c < 125; c++) {
            const int64_t near[3] = {at[0] + c % 5 - 2 + few[0], at[1] + c / 5 % 5 - 2 + few[1],
                                     at[2] + c / 25 - 2 + few[2]};
            same += inside[((near[2] % few[2]) * few[1] + near[1] % few[1]) * few[0] + near[0] % few[0]] == inside[n];
        }
        if (same < 125)
            continue;
        const vf_box box = {{at[0], at[1], at[2]}, {at[0] + 1, at[1] + 1, at[2] + 1}};
        double place[3], potential = 0, field[2][3] = {{0}};
        for (int a = 0; a < 3; a++)
            place[a] = grid.spacing[a] * (double)at[a];
        need(vf_solvent_add_field(plan, &box, 3, field[0]));
        need(vf_solvent_add_at(plan, 1, place, false, 3, &potential, field[1]));
        for (int a = 0; a < 3; a++)
            assert_true(fabs(field[0][a] - field[1][a]) <= 1e-9); /* the place is rounded, 1e-13 of a spacing */
        compared++;
        at_faces += at[0] == 0 || at[1] == few[1] - 1;
    }
    assert_true(compared > 500 && at_faces > 50);
    vf_solvent_destroy(plan);
}

/* ---- what stays the same, and what is refused ---- */

static void test_threads(void **state)
{
    (void)state;
    const vf_grid grid = grid_of(edges, few);
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    double first[8], u[8];
    for (int salt = 0; salt < 2; salt++)
        for (int threads = 1; threads <= 3; threads++) {
            const vf_solvent_options o = options(2, 78.54, salt ? 0.13 : 0);
            need(vf_context_set_threads(ctx, threads));
            reactions(&m, &grid, &o, threads == 1 ? first : u);
            assert_true(threads == 1 || memcmp(first, u, (size_t)m.count * sizeof *u) == 0);
        }
    need(vf_context_set_threads(ctx, 0));
}

static void test_refusals(void **state)
{
    (void)state;
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_coulomb_atoms charges = charges_of(&m);
    const vf_solvent_options o = options(2, 78.54, 0);
    vf_grid grid = grid_of(edges, few);
    vf_solvent *plan;
    grid.spacing[1] *= 1.001;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "does not cover");
    assert_null(plan);
}

/* A molecule that fills the cell: there is no solvent, and its response is 0, with salt or without. */
static void test_full(void **state)
{
    (void)state;
    const vf_grid grid = cube_of(6, 16);
    const molecule_in m = {2, {1, 3}, {1, 3}, {1, 3}, {1, -0.4}, {6, 6}};
    for (int salt = 0; salt < 2; salt++) {
        vf_solvent_options o = options(2, 78.54, salt ? 0.13 : 0);
        double u[8];
        o.non_linear = salt;
        vf_solvent *plan = solved(&m, &grid, &o);
        need(vf_solvent_reaction(plan, 2, m.x, m.y, m.z, u));
        assert_true(fabs(u[0]) <= 1e-12 && fabs(u[1]) <= 1e-12);
        vf_solvent_destroy(plan);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_lattice), cmocka_unit_test(test_shift), cmocka_unit_test(test_twice),
            cmocka_unit_test(test_uniform), cmocka_unit_test(test_dipole), cmocka_unit_test(test_ions),
            cmocka_unit_test(test_points), cmocka_unit_test(test_field), cmocka_unit_test(test_threads),
            cmocka_unit_test(test_refusals), cmocka_unit_test(test_full))
