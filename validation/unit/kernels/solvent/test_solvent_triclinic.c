/* Potentials in solvent in triclinic cells: against the same crystals in cells with right angles, closed forms for ions on lattices of cubic
 * symmetry, and Ewald's sum.
 *
 * usage: test_solvent_triclinic cpu [TEST...] */
#include "cell_fixture.h"
#include "voxfield/grid.h"

/* A grid of a cell whose vectors are (nx, 0, 0), (s0, ny, 0) and (s1, s2, nz) steps. */
static vf_grid sheared(const double spacing[3], const int64_t counts[3], const int64_t shear[3])
{
    vf_grid g = {.cell = {.kind = VF_CELL_TRICLINIC}};
    for (int a = 0; a < 3; a++) {
        g.spacing[a] = spacing[a];
        g.counts[a] = counts[a];
        g.cell.vectors[a][a] = spacing[a] * (double)counts[a];
    }
    g.cell.vectors[1][0] = spacing[0] * (double)shear[0];
    g.cell.vectors[2][0] = spacing[0] * (double)shear[1];
    g.cell.vectors[2][1] = spacing[1] * (double)shear[2];
    if (shear[0] == 0 && shear[1] == 0 && shear[2] == 0)
        g.cell.kind = VF_CELL_ORTHORHOMBIC;
    return g;
}

static const double steps[3] = {0.5, 0.5, 0.5};
static const int64_t few[3] = {32, 28, 36}, none[3] = {0}, odd[3] = {5, -9, 11};

/* ---- the same crystal ---- */

/* The largest difference of u of two grids at points at the same places, of the root mean square. The second grid is no smaller. */
static double difference(const vf_solvent *a, const vf_grid *of_a, const vf_solvent *b, const vf_grid *of_b,
                         const int64_t shift[3])
{
    const double *u = vf_solvent_unknown(a), *v = vf_solvent_unknown(b);
    const int64_t *n = of_a->counts, *m = of_b->counts, points = vf_grid_points(of_b);
    int64_t shear[3];
    double most = 0, square = 0;
    assert_true(vf_grid_shear(of_a, shear));
    for (int64_t p = 0; p < points; p++) {
        int64_t at[3] = {p % m[0] + shift[0], p / m[0] % m[1] + shift[1], p / m[0] / m[1] + shift[2]};
        vf_grid_wrap(n, shear, at);
        const int64_t here = (at[2] * n[1] + at[1]) * n[0] + at[0];
        assert_int_equal(vf_solvent_inside(a)[here], vf_solvent_inside(b)[p]);
        most = fmax(most, fabs(u[here] - v[p]));
        square += u[here] * u[here];
    }
    assert_true(isfinite(most) && square > 0);
    return most / sqrt(square / (double)points);
}

/* A cell and a cell of right angles that holds two of it: with vectors half an edge along x, or y, or both, twice the last one is a vector of
 * right angles. And a cell whose shear is whole edges, which is that without. The solver leaves 1e-8 of the right side; of the
 * solution a hundred times as much. */
static void test_same_crystal(void **state)
{
    (void)state;
    static const struct {
        int64_t shear[3];
        int doubled; /* axis; -1: none */
    } cases[] = {{{16, 0, 0}, 1}, {{0, 16, 0}, 2}, {{0, 0, 14}, 2}, {{0, 16, 14}, 2}, {{32, -64, 28}, -1}};
    for (size_t n = 0; n < 2 * (sizeof cases / sizeof *cases); n++) {
        const int64_t *shear = cases[n / 2].shear;
        const int axis = cases[n / 2].doubled;
        vf_solvent_options o = options(2, 78.54, n % 2 ? 0.13 : 0);
        molecule_in m = molecule_at(0.02, 0.03, 0.01);
        m.count = 4; /* a copy of the last is there twice */
        molecule_in two = m;
        int64_t more[3] = {few[0], few[1], few[2]};
        o.tolerance = 1e-8;
        if (axis >= 0) {
            more[axis] *= 2;
            two.count = 8;
        }
        for (int i = 0; axis >= 0 && i < 4; i++) {
            two.x[i + 4] = m.x[i] + 0.5 * (double)(axis == 1 ? shear[0] : shear[1]);
            two.y[i + 4] = m.y[i] + (axis == 1 ? 14 : 0.5 * (double)shear[2]);
            two.z[i + 4] = m.z[i] + (axis == 2 ? 18 : 0);
            two.charge[i + 4] = m.charge[i];
            two.radius[i + 4] = m.radius[i];
        }
        const vf_grid skew = sheared(steps, few, shear), right = sheared(steps, more, none);
        vf_solvent *a = solved(&m, &skew, &o), *b = solved(&two, &right, &o);
        const double most = difference(a, &skew, b, &right, none);
        print_message("shear %d %d %d, kappa %g: %.1e, %d iterations and %d\n", (int)shear[0], (int)shear[1],
                      (int)shear[2], o.kappa, most, vf_solvent_outcome(a).iterations, vf_solvent_outcome(b).iterations);
        assert_true(most <= 1e-5 && vf_solvent_outcome(a).iterations <= 60);
        double u[8], v[8]; /* and the energies of atoms */
        need(vf_solvent_reaction(a, m.count, m.x, m.y, m.z, u));
        need(vf_solvent_reaction(b, two.count, two.x, two.y, two.z, v));
        for (int i = 0; i < two.count; i++)
            assert_true(fabs(u[i % 4] - v[i]) <= 1e-5 * fabs(u[i % 4]) + 1e-7);
        vf_solvent_destroy(a);
        vf_solvent_destroy(b);
    }
}

/* Atoms that move by whole spacings move the potential, across the ends of the cell, and so do atoms that are replaced by images along
 * its vectors. As above. */
static void test_shift(void **state)
{
    (void)state;
    const vf_grid grid = sheared(steps, few, odd);
    const int64_t shift[3] = {13, 27, 5};
    for (int kind = 0; kind < 4; kind++) {
        vf_solvent_options o = options(2, 78.54, kind % 2 ? 0.13 : 0);
        o.tolerance = 1e-8;
        o.surface = kind < 2 ? VF_SURFACE_EXCLUDED : VF_SURFACE_SMOOTH;
        const molecule_in m = molecule_at(0.02, 0.03, 0.01);
        molecule_in moved = molecule_at(0.02 - 13 * 0.5, 0.03 - 27 * 0.5, 0.01 - 5 * 0.5);
        for (int i = 0; i < moved.count; i++)
            for (int v = 0; v < 3; v++) {
                const double by = (double)((i + v) % 3 - 1);
                moved.x[i] += by * grid.cell.vectors[v][0];
                moved.y[i] += by * grid.cell.vectors[v][1];
                moved.z[i] += by * grid.cell.vectors[v][2];
            }
        vf_solvent *a = solved(&m, &grid, &o), *b = solved(&moved, &grid, &o);
        const double most = difference(a, &grid, b, &grid, shift);
        print_message("shift, surface %s, kappa %g: %.1e\n", kind < 2 ? "ses" : "smooth", o.kappa, most);
        assert_true(most <= 1e-5);
        vf_solvent_destroy(a);
        vf_solvent_destroy(b);
    }
}

/* ---- lattices of ions ---- */

/* The potential of the other images of a unit charge at itself: with a background, or screened, exp(-kappa d) / d. */
static double of_background(const vf_cell *cell)
{
    const double zero[3] = {0}, least = 1e-3;
    const double one = 1;
    const vf_coulomb_atoms charge = {1, zero, zero, zero, &one};
    double value;
    vf_ewald_reference(cell, &charge, 1, least, false, 1, zero, &value);
    return value - 1 / least;
}

static double screened_images(double kappa, const vf_cell *cell)
{
    const int reach = (int)ceil(40 / (kappa * cell->vectors[2][2])) + 1;
    double sum = 0;
    for (int i = -2 * reach; i <= 2 * reach; i++)
        for (int j = -2 * reach; j <= 2 * reach; j++)
            for (int k = -reach; k <= reach; k++) {
                double square = 0;
                for (int a = 0; a < 3; a++)
                    square += pow(i * cell->vectors[0][a] + j * cell->vectors[1][a] + k * cell->vectors[2][a], 2);
                sum += square > 0 ? exp(-kappa * sqrt(square)) / sqrt(square) : 0;
            }
    return sum;
}

/* As in test_solvent_cell.c: the potential of a lattice of cubic symmetry around one of its ions is 1 / r + w + 2 pi r^2 / (3 V) and parts
 * of order 4. u at the centre, per charge. */
static double without_salt(double R, const vf_cell *cell, double eps_m, double eps_s)
{
    const double V = vf_cell_volume(cell);
    return (1 / eps_s - 1 / eps_m) *
           (1 / R + of_background(cell) + 4 * PI * R * R / (3 * V) - 16 * PI * PI * pow(R, 5) / (45 * V * V));
}

static double with_salt(double R, double stern, const vf_cell *cell, double eps_m, double eps_s, double kappa)
{
    const double a = R + stern, x = kappa * a, c = screened_images(kappa, cell);
    const double value = exp(-x) / a + c * sinh(x) / x;
    const double slope = -exp(-x) * (1 + x) / (a * a) + c * (cosh(x) / a - sinh(x) / (x * a));
    const double factor = -1 / (eps_s * a * a * slope);
    return factor * value + (1 / R - 1 / a) / eps_s - 1 / (eps_m * R) - of_background(cell) / eps_m;
}

/* The cells of molecular dynamics: a truncated octahedron's lattice is body-centred, a rhombic dodecahedron's face-centred. Both with ions 20 A
 * apart; parts of order 4 are (R / d)^9. Bounds as in cells with right angles: 0.6 % of the ion's own term at R / 4, 0.15 % at R / 8,
 * order 1.8. */
static void test_lattice(void **state)
{
    (void)state;
    static const double places[][3] = {{9.1, 8.8, 7.3}, {0.2, -0.1, 0.3}};
    const double R = 3, edge = 20;
    for (int kind = 0; kind < 4; kind++) {
        const bool octahedron = kind / 2 == 0;
        const double kappa = kind % 2 ? 0.13 : 0, b = octahedron ? sqrt(8.) / 3 : 1,
                     c = octahedron ? sqrt(6.) / 3 : sqrt(0.5);
        const vf_solvent_options o = options(2, 78.54, kappa);
        double rms[2] = {0};
        for (int fine = 0; fine < 2; fine++)
            for (int place = 0; place < 2; place++) {
                const int64_t half = fine ? 27 : 14,
                              counts[3] = {octahedron ? 2 * half - half % 3 * 2 + (fine ? 0 : 6) : 2 * half, 2 * half,
                                           fine ? 50 : 24};
                const double h[3] = {edge / (double)counts[0], edge * b / (double)counts[1],
                                     edge * c / (double)counts[2]};
                const int64_t shear[3] = {octahedron ? counts[0] / 3 : 0, octahedron ? -counts[0] / 3 : counts[0] / 2,
                                          counts[1] / 2};
                const vf_grid grid = sheared(h, counts, shear);
                const molecule_in ion = {1, {places[place][0]}, {places[place][1]}, {places[place][2]}, {1}, {R}};
                vf_solvent *plan = solved(&ion, &grid, &o);
                double u;
                need(vf_solvent_reaction(plan, 1, ion.x, ion.y, ion.z, &u));
                const double truth = kappa > 0 ? with_salt(R, o.stern, &grid.cell, 2, 78.54, kappa)
                                               : without_salt(R, &grid.cell, 2, 78.54);
                const double error = (u - truth) / ((1 / 78.54 - 1 / 2.0) / R);
                print_message("%s, kappa %g, spacing %g %g %g: %+.3f %%, %d iterations\n",
                              octahedron ? "octahedron" : "dodecahedron", kappa, h[0], h[1], h[2], 100 * error,
                              vf_solvent_outcome(plan).iterations);
                assert_true(counts[0] % (octahedron ? 3 : 2) == 0 && counts[1] % 2 == 0);
                assert_true(fabs(error) <= (fine ? 0.0015 : 0.006));
                rms[fine] += error * error;
                vf_solvent_destroy(plan);
            }
        assert_true(log2(sqrt(rms[0] / rms[1])) >= 1.8);
    }
}

/* ---- Ewald's sum ---- */

/* As in test_solvent_cell.c: eps_m = eps_s without salt, and the potential is Ewald's over eps; and then the preconditioner is the inverse but
 * for single precision, so three steps leave 1e-6. */
static void test_uniform(void **state)
{
    (void)state;
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_coulomb_atoms charges = charges_of(&m);
    const vf_solvent_options o = options(4, 4, 0);
    for (int fine = 0; fine < 2; fine++) {
        const double h[3] = {0.5 / (1 + fine), 0.5 / (1 + fine), 0.5 / (1 + fine)};
        const int64_t counts[3] = {few[0] << fine, few[1] << fine, few[2] << fine},
                      shear[3] = {odd[0] * (1 + fine), odd[1] * (1 + fine), odd[2] * (1 + fine)};
        const vf_grid grid = sheared(h, counts, shear);
        vf_solvent *plan = solved(&m, &grid, &o);
        double u[8], places[256][3], truth[256], most = 0;
        int64_t at[256];
        int count = 0;
        need(vf_solvent_reaction(plan, m.count, m.x, m.y, m.z, u));
        for (int i = 0; i < m.count; i++)
            assert_true(fabs(u[i]) <= 0.006 / (fine ? 4 : 1));
        for (int64_t p = 0; p < vf_grid_points(&grid) && count < 256; p += fine ? 1601 : 201) {
            if (vf_solvent_inside(plan)[p])
                continue;
            at[count] = p;
            places[count][0] = h[0] * (double)(p % counts[0]);
            places[count][1] = h[1] * (double)(p / counts[0] % counts[1]);
            places[count++][2] = h[2] * (double)(p / counts[0] / counts[1]);
        }
        vf_ewald_reference(&grid.cell, &charges, 0.25, 1e-3, false, count, places[0], truth);
        for (int n = 0; n < count; n++)
            most = fmax(most, fabs(vf_solvent_unknown(plan)[at[n]] - truth[n]));
        print_message("uniform, spacing %g: %.1e at %d points, %d iterations\n", h[0], most, count,
                      vf_solvent_outcome(plan).iterations);
        assert_true(count > 100 && most <= 0.006 / (fine ? 4 : 1));
        assert_true(vf_solvent_outcome(plan).iterations <= 3);
        vf_solvent_destroy(plan);
    }
}

/* ---- points, salt, threads ---- */

/* At points of the grid and their images the potential is the map's; at images of any place potential and field are the same. */
static void test_points(void **state)
{
    (void)state;
    const vf_grid grid = sheared(steps, few, odd);
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_solvent_options o = options(2, 78.54, 0.13);
    vf_solvent *plan = solved(&m, &grid, &o);
    for (int n = 0; n < 300; n++) {
        double places[3][3], potential[3] = {0}, field[3][3] = {{0}};
        int64_t p = 0;
        for (int a = 2; a >= 0; a--) {
            const int64_t index = (int64_t)(uniform() * (double)few[a]);
            p = p * few[a] + index;
            places[0][a] = steps[a] * (double)index;
            places[1][a] = places[2][a] = uniform_between(-1, 1) * (n % 2 ? 1 : 16);
        }
        for (int v = 0; v < 3; v++)
            for (int a = 0; a < 3; a++) {
                places[0][a] += (double)(n / (1 + v) % 3 - 1) * grid.cell.vectors[v][a];
                places[2][a] += (double)((n / 2 + v) % 5 - 2) * grid.cell.vectors[v][a];
            }
        need(vf_solvent_add_at(plan, 3, places[0], false, 1, potential, field[0]));
        assert_true(fabs(potential[0] - vf_solvent_unknown(plan)[p]) <= 1e-9);
        assert_true(fabs(potential[1] - potential[2]) <= 1e-9);
        for (int a = 0; a < 3; a++)
            assert_true(fabs(field[1][a] - field[2][a]) <= 1e-6);
    }
    vf_solvent_destroy(plan);
}

/* The ions of a cell neutralise the molecule, to second order, in the full equation, too; sums do not depend on threads. */
static void test_ions(void **state)
{
    (void)state;
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_coulomb_atoms charges = charges_of(&m);
    const vf_grid grid = sheared(steps, few, odd);
    const vf_solvent_ion salt[] = {{1, 0.15}, {-1, 0.15}};
    vf_solvent_options o = options(2, 78.54, 0);
    need(vf_solvent_set_salt(ctx, 2, salt, 298.15, &o));
    for (int full = 0; full < 2; full++)
        for (int threads = 1; threads <= 3; threads++) {
            static double first, total;
            vf_solvent_energy e;
            o.non_linear = full;
            need(vf_context_set_threads(ctx, threads));
            vf_solvent *plan = solved(&m, &grid, &o);
            need(vf_solvent_energies(plan, &charges, &e, NULL));
            assert_true(fabs(e.ions + 1) <= 0.02); /* as with right angles */
            assert_true(full || fabs(e.total - e.fixed / 2) <= 1e-9 * fabs(e.total));
            assert_true(threads == 1 || e.total == first);
            assert_true(!full || (e.total < total && e.total > total * 1.01)); /* both are negative */
            first = e.total;
            total = full ? total : e.total;
            vf_solvent_destroy(plan);
        }
    need(vf_context_set_threads(ctx, 0));
}

static void test_refusals(void **state)
{
    (void)state;
    const molecule_in m = molecule_at(0.02, 0.03, 0.01);
    const vf_coulomb_atoms charges = charges_of(&m);
    const vf_solvent_options o = options(2, 78.54, 0);
    vf_grid grid = sheared(steps, few, odd);
    int64_t shear[3];
    vf_solvent *plan;
    assert_true(vf_grid_shear(&grid, shear) && memcmp(shear, odd, sizeof odd) == 0);
    grid.cell.vectors[2][0] += 1e-4;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "end at its points");
    assert_false(vf_grid_shear(&grid, shear));
    grid = sheared(steps, few, odd);
    grid.spacing[2] *= 1.001;
    refused(vf_solvent_create(device, &grid, &charges, m.radius, &o, &plan), "does not cover");
    assert_null(plan);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_same_crystal), cmocka_unit_test(test_shift),
            cmocka_unit_test(test_lattice), cmocka_unit_test(test_uniform), cmocka_unit_test(test_points),
            cmocka_unit_test(test_ions), cmocka_unit_test(test_refusals))
