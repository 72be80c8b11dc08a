/* Screened charges in cells against the plain sum over images.
 *
 * usage: test_screened_images [TEST...] */
#include <math.h>

#include "context_fixture.h"
#include "random_fixture.h"
#include "screened_images.h"

/* exp(-kappa r) is below 1e-13 beyond. */
static double plain(const vf_cell *cell, double kappa, double r_min, const double d[3])
{
    const double far = 30 / kappa;
    double least = INFINITY, sum = 0;
    int64_t n[3];
    for (int a = 0; a < 3; a++)
        least = fmin(least, cell->vectors[a][a]);
    for (int a = 0; a < 3; a++)
        n[a] = (int64_t)ceil(2 * far / least) + 2; /* oblique vectors turn back by less than an edge each */
    for (int64_t i = -n[0]; i <= n[0]; i++)
        for (int64_t j = -n[1]; j <= n[1]; j++)
            for (int64_t k = -n[2]; k <= n[2]; k++) {
                double square = 0;
                for (int a = 0; a < 3; a++)
                    square += pow(d[a] + (double)i * cell->vectors[0][a] + (double)j * cell->vectors[1][a] +
                                      (double)k * cell->vectors[2][a],
                                  2);
                const double r = fmax(sqrt(square), r_min);
                sum += r < far ? exp(-kappa * r) / r : 0;
            }
    return sum;
}

/* Cells of right angles and others, of edges of 6 to 20, and salt from weak to strong: what is left out is 1e-11 over the edge, and rounding
 * some 1e-15 of the sum, which is 4 pi / (V kappa^2) or less than 1000 over the edge. Images of a place have one value, and those opposite. */
static void test_plain(void **state)
{
    (void)state;
    for (int n = 0; n < 12; n++) {
        vf_cell cell = {.kind = n % 3 ? VF_CELL_TRICLINIC : VF_CELL_ORTHORHOMBIC};
        vf_screened_images *plan;
        for (int v = 0; v < 3; v++) {
            cell.vectors[v][v] = uniform_between(6, 20);
            for (int a = 0; n % 3 && a < v; a++)
                cell.vectors[v][a] = uniform_between(-0.5, 0.5) * cell.vectors[a][a];
        }
        const double kappa = n == 0  ? 400
                             : n < 4 ? uniform_between(1, 8)
                                     : uniform_between(0.5, 1),
                     edge = cbrt(vf_cell_volume(&cell));
        need(vf_screened_images_create(ctx, &cell, kappa, 0.1, &plan));
        for (int p = 0; p < 3; p++) {
            double d[3], image[3], other[3];
            for (int a = 0; a < 3; a++) {
                d[a] = p == 0 ? 0 : uniform_between(-1, 1) * edge;
                image[a] = d[a] + cell.vectors[0][a] - 2 * cell.vectors[1][a] + 3 * cell.vectors[2][a];
                other[a] = -d[a];
            }
            const double value = vf_screened_images_value(plan, d), truth = plain(&cell, kappa, 0.1, d);
            assert_true(fabs(value - truth) <= 1e-10 / edge + 1e-12 * truth);
            assert_true(fabs(vf_screened_images_value(plan, image) - value) <= 1e-11 * (1 / edge + value));
            assert_true(fabs(vf_screened_images_value(plan, other) - value) <= 1e-11 * (1 / edge + value));
        }
        vf_screened_images_destroy(plan);
    }
}

/* With weak salt, a charge's mean potential over the cell, 4 pi / (V kappa^2), is by far the largest part; next come images and a background,
 * which kappa^2 changes. Wigner's -2.837297 / L, and 1 / r of the charge itself at r_min. */
static void test_weak(void **state)
{
    (void)state;
    const double L = 10, kappa = 1e-4, r_min = 1e-3, zero[3] = {0}, pi = 3.14159265358979323846;
    const vf_cell cell = {VF_CELL_ORTHORHOMBIC, {{L, 0, 0}, {0, L, 0}, {0, 0, L}}};
    vf_screened_images *plan;
    need(vf_screened_images_create(ctx, &cell, kappa, r_min, &plan));
    const double mean = 4 * pi / (L * L * L * kappa * kappa), rest = vf_screened_images_value(plan, zero) - mean;
    /* The mean of 1e6 is rounded, and the background's potential at r_min is less by r_min^2. */
    assert_true(fabs(rest - (1 / r_min - 2.837297479480620 / L)) <= 1e-6);
    vf_screened_images_destroy(plan);
}

static void test_refusals(void **state)
{
    (void)state;
    const vf_cell none = {0}, flat = {VF_CELL_ORTHORHOMBIC, {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}},
                  cube = {VF_CELL_ORTHORHOMBIC, {{9, 0, 0}, {0, 9, 0}, {0, 0, 9}}};
    vf_screened_images *plan;
    refused(vf_screened_images_create(ctx, &none, 1, 0.1, &plan), "no valid cell");
    refused(vf_screened_images_create(ctx, &flat, 1, 0.1, &plan), "no valid cell");
    refused(vf_screened_images_create(ctx, &cube, 0, 0.1, &plan), "kappa 0");
    refused(vf_screened_images_create(ctx, &cube, NAN, 0.1, &plan), "kappa");
    refused(vf_screened_images_create(ctx, &cube, 1, 0, &plan), "r_min");
    assert_null(plan);
    vf_screened_images_destroy(NULL);
}

TEST_MAIN(open_context, close_context, cmocka_unit_test(test_plain), cmocka_unit_test(test_weak),
          cmocka_unit_test(test_refusals))
