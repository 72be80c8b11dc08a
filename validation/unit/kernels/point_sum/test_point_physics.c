/* Fields and potentials at points by physics, without a reference.
 *
 * usage: test_point_physics cpu [TEST...] */
#include "free_all.h"
#include "point_fixture.h"

/* The field by differences: point charges, away from them. A fourth-order difference over h is off by h^4 / 30 of the
 * fifth derivative, at most 120 sum |q| / d^6 with d the distance of the farthest place it takes, and by 1.5 / h of the
 * values' own error, u (n + 8) sum |q| / d. */
static void test_gradient(void **state)
{
    (void)state;
    enum { CHARGES = 40, COUNT = 12 };
    static const double weight[4] = {1, -8, 8, -1}, step[4] = {-2, -1, 1, 2};
    const double edge[3] = {8, 8, 8}, lo[3] = {12, 0, 0}, hi[3] = {20, 8, 8}, h = 0.02; /* d >= 4 - 2 h */
    cloud c = box_of(CHARGES, edge);
    double *points = points_in(COUNT, lo, hi), *moved = malloc(12 * COUNT * 3 * sizeof *moved);
    assert_non_null(moved);
    for (int64_t m = 0; m < 12 * COUNT; m++)
        for (int a = 0; a < 3; a++)
            moved[3 * m + a] = points[3 * (m / 12) + a] + (a == m / 4 % 3 ? h * step[m % 4] : 0);
    const vf_point_options o = {.scale = 1, .r_min = 0.1, .fields = true};
    result at = sum_at(&c, &o, &(vf_point_list){.count = COUNT, .points = points}, NULL);
    result near = sum_at(&c, &o, &(vf_point_list){.count = 12 * COUNT, .points = moved}, NULL);
    const double d = 4 - 2 * h, bound = CHARGES * (pow(h, 4) / 30 * 120 / pow(d, 6) + 1.5 / h * u * (CHARGES + 8) / d);
    for (int64_t n = 0; n < COUNT; n++)
        for (int a = 0; a < 3; a++) {
            double slope = 0;
            for (int k = 0; k < 4; k++)
                slope += weight[k] * near.values[12 * n + 4 * a + k] / (12 * h);
            assert_true(fabs(at.fields[3 * n + a] + slope) <= bound);
        }
    free_result(&at);
    free_result(&near);
    FREE_ALL(points, moved, c.data);
}

/* Newton's third law: the forces of charges on each other add up to 0, whatever the boundary; of a fast sum, to its
 * error: n forces, each off by at most the tolerance times the rms field in the mean, times |q| <= 1, independently. In a
 * cell, the images of a charge do not pull it, by symmetry. The fast sum must be the mesh's: a direct sum would obey the law
 * whatever the mesh does. */
static void test_third_law(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    for (int kind = VF_CELL_NONE; kind <= VF_CELL_TRICLINIC; kind++)
        for (int fast = 0; fast <= 1; fast++) {
            const vf_grid g = cell_grid(kind ? (vf_cell_kind)kind : VF_CELL_ORTHORHOMBIC, 60, 0.3);
            const int64_t count = fast ? COUNT : 50;
            cloud c = charges_in(&g, count, 0, 1);
            double *points = places(&c), force[3] = {0}, size = 0;
            int64_t *first, *excluded;
            exclude_selves(count, &first, &excluded);
            const vf_point_options o = {.cell = kind ? g.cell : (vf_cell){0},
                                        .scale = 1,
                                        .r_min = 0.1,
                                        .fields = true,
                                        .tolerance = fast ? 1e-6 : 0};
            bool used;
            result r = sum_at(&c, &o, &(vf_point_list){count, points, first, excluded}, &used);
            assert_int_equal(used, fast);
            for (int64_t n = 0; n < 3 * count; n++) {
                force[n % 3] += c.data[3 * count + n / 3] * r.fields[n];
                size += r.fields[n] * r.fields[n];
            }
            const double bound = fast ? 4 * o.tolerance * sqrt(size) : 1e-11 * sqrt(size) * sqrt((double)count);
            for (int a = 0; a < 3; a++)
                if (!(fabs(force[a]) <= bound))
                    fail_msg("cell kind %d, tolerance %g: the forces add up to %g, more than %g", kind, o.tolerance,
                             force[a], bound);
            free_result(&r);
            FREE_ALL(points, first, excluded, c.data);
        }
}

/* The flux through a sphere is 4 pi times the charge inside. By Gauss-Legendre nodes along z and equal angles around
 * it, exact for spherical harmonics up to 2 n - 1; those of charges at 1/3 of the radius inside, or 3 times it outside,
 * fall as 3^-l: 3^-40. */
static void test_gauss_law(void **state)
{
    (void)state;
    enum { N = 20, COUNT = N * 2 * N };
    cloud c = make_cloud(4);
    double inside = 0, flux = 0, *points = malloc(COUNT * 3 * sizeof *points), weight[N], z[N];
    assert_non_null(points);
    for (int i = 0; i < 4; i++) {
        double d[3], length = 0;
        for (int a = 0; a < 3; a++) {
            d[a] = uniform() - 0.5;
            length += d[a] * d[a];
        }
        for (int a = 0; a < 3; a++)
            c.data[a * 4 + i] = d[a] / sqrt(length) * (i < 3 ? 1.0 / 3 : 3);
        c.data[12 + i] = 1 + uniform();
        inside += i < 3 ? c.data[12 + i] : 0;
    }
    for (int i = 0; i < N; i++) { /* Newton's iteration on the Legendre polynomial */
        double x = cos(pi * (i + 0.75) / (N + 0.5)), slope = 1;
        for (int k = 0; k < 20; k++) {
            double p0 = 1, p1 = x;
            for (int n = 2; n <= N; n++) {
                const double p2 = ((2 * n - 1) * x * p1 - (n - 1) * p0) / n;
                p0 = p1;
                p1 = p2;
            }
            slope = N * (x * p1 - p0) / (x * x - 1);
            x -= p1 / slope;
        }
        z[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope) * 2 * pi / (2 * N);
        for (int j = 0; j < 2 * N; j++) {
            double *p = points + 3 * (i * 2 * N + j);
            p[0] = sqrt(1 - x * x) * cos(pi * j / N);
            p[1] = sqrt(1 - x * x) * sin(pi * j / N);
            p[2] = z[i];
        }
    }
    const vf_point_options o = {.scale = 1, .r_min = 0.1, .fields = true};
    result r = sum_at(&c, &o, &(vf_point_list){.count = COUNT, .points = points}, NULL);
    for (int n = 0; n < COUNT; n++)
        for (int a = 0; a < 3; a++)
            flux += weight[n / (2 * N)] * r.fields[3 * n + a] * points[3 * n + a];
    assert_true(fabs(flux - 4 * pi * inside) <= 1e-12 * 4 * pi * 8);
    free_result(&r);
    free(points);
    free(c.data);
}

/* Rock salt of edge 2: the ions' potential is -M q, M = 1.7475645946331822 (Madelung), their field 0 by symmetry. In a
 * supercell that is triclinic, too. With a tolerance, a sum in a cell is always the mesh's: there is no direct one. */
static void test_madelung(void **state)
{
    (void)state;
    const double madelung = 1.7475645946331822;
    for (int kind = VF_CELL_ORTHORHOMBIC; kind <= VF_CELL_TRICLINIC; kind++)
        for (int fast = 0; fast <= 1; fast++) {
            cloud c = make_cloud(64);
            int64_t *first, *excluded;
            for (int i = 0; i < 64; i++) {
                const int at[3] = {i % 4, i / 4 % 4, i / 16};
                for (int a = 0; a < 3; a++)
                    c.data[a * 64 + i] = at[a] + 0.3;
                c.data[192 + i] = (at[0] + at[1] + at[2]) % 2 ? -1 : 1;
            }
            double *points = places(&c);
            exclude_selves(64, &first, &excluded);
            vf_point_options o = {.cell = {.kind = (vf_cell_kind)kind, .vectors = {{4}, {0, 4}, {0, 0, 4}}},
                                  .scale = 1,
                                  .r_min = 0.1,
                                  .tolerance = fast ? 1e-8 : 0,
                                  .fields = true};
            if (kind == VF_CELL_TRICLINIC) {
                o.cell.vectors[1][0] = 2;
                o.cell.vectors[2][1] = -2;
            }
            bool used;
            result r = sum_at(&c, &o, &(vf_point_list){64, points, first, excluded}, &used);
            assert_int_equal(used, fast);
            for (int i = 0; i < 64; i++) {
                assert_true(fabs(r.values[i] + madelung * c.data[192 + i]) <= (fast ? 10e-8 : 1e-11));
                for (int a = 0; a < 3; a++)
                    assert_true(fabs(r.fields[3 * i + a]) <= (fast ? 10e-8 * 2 * pi : 1e-10));
            }
            free_result(&r);
            FREE_ALL(points, first, excluded, c.data);
        }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_gradient), cmocka_unit_test(test_third_law),
            cmocka_unit_test(test_gauss_law), cmocka_unit_test(test_madelung))
