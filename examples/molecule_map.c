/* A small molecule in memory: its potential on a grid and at points, and ions. usage: molecule_map */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <voxfield/cionize.h>
#include <voxfield/voxfield.h>

enum { ATOMS = 4, POINTS = 2 };
static const double positions[ATOMS][3] = {{0, 0, 0}, {1.2, 0, 0}, {-0.6, 1.1, 0}, {-0.6, -1.1, 0}};
static const double charges[ATOMS] = {-1.2, 0.1, 0.05, 0.05}, radii[ATOMS] = {1.7, 1.2, 1.2, 1.2};
static const double points[POINTS][3] = {{8, 0, 0}, {0, 8, 2}};

/* The sum over the atoms, in kT/e at 298.15 K: Coulomb's constant is 560.7 kT angstrom / e^2. */
static double potential_at(const double r[3])
{
    double sum = 0;
    for (int i = 0; i < ATOMS; i++)
        sum += charges[i] /
               sqrt(pow(r[0] - positions[i][0], 2) + pow(r[1] - positions[i][1], 2) + pow(r[2] - positions[i][2], 2));
    return 14.3996454785 / (8.617333262e-5 * 298.15) * sum;
}

static vf_status run(vf_context *ctx, const vf_molecule *molecule)
{
    const vf_view at = {points, VF_F64, 2, {POINTS, 3}};
    const vf_option map_options[] = {
        {"spacing", "1"}, {"border", "12"}, {"place", "SOD:1"}, {"map", "memory"}, {NULL, NULL}};
    const vf_option point_options[] = {{"field", NULL}, {NULL, NULL}};
    vf_result *all = NULL, *some = NULL;
    vf_status status = vf_cionize(ctx, molecule, NULL, map_options, &all);
    VF_TRY(status, vf_cionize(ctx, molecule, &at, point_options, &some));
    if (status == VF_OK) {
        const vf_view map = vf_result_view(all, "map"), ions = vf_result_view(all, "ions");
        const double *origin = vf_result_view(all, "origin").data, *ion = ions.data;
        const double *values = vf_result_view(some, "potential").data;
        const double corner = ((const float *)map.data)[0], exact = potential_at(origin);
        printf("map [%d][%d][%d], %.6g kT/e at its corner, exactly %.6g\n", (int)map.dims[0], (int)map.dims[1],
               (int)map.dims[2], corner, exact);
        printf("an ion at (%g, %g, %g); %.6g kT/e at the first point\n", ion[0], ion[1], ion[2], values[0]);
        /* The map is in single precision, or to 1e-6 of the rms; the sum at points is exact. */
        if (!(fabs(corner - exact) <= 1e-4 * fabs(exact)) ||
            !(fabs(values[1] - potential_at(points[1])) <= 1e-6 * fabs(values[1])))
            status = VF_ERR_INTERNAL;
    }
    vf_result_free(some);
    vf_result_free(all);
    return status;
}

int main(void)
{
    const vf_molecule molecule = {.positions = {positions, VF_F64, 2, {ATOMS, 3}},
                                  .charges = {charges, VF_F64, 1, {ATOMS}},
                                  .radii = {radii, VF_F64, 1, {ATOMS}}};
    vf_context *ctx;
    if (vf_context_create(&ctx) != VF_OK)
        return EXIT_FAILURE;
    const vf_status status = run(ctx, &molecule);
    if (status != VF_OK)
        fprintf(stderr, "error: %s\n", vf_context_message(ctx)[0] ? vf_context_message(ctx) : "the values are wrong");
    vf_context_destroy(ctx);
    return status == VF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
