/* Energies by the functional of solvent.h. */
#include <stdlib.h>

#include "solvent_internal.h"
#include "voxfield/team_size.h"

/* Integrals over the grid: of rho_ions, rho_ions phi and pi_o, but for the factor of a voxel over 4 pi. */
typedef struct integrals {
    double ions, work, osmotic;
} integrals;

static integrals over_layer(const vf_solvent *plan, const solvent_response *r, int64_t layer)
{
    const double *u = plan->unknown.data;
    const float *reaction = plan->reaction.data;
    const int64_t all = plan->grid.counts[0] * plan->grid.counts[1];
    integrals sum = {0};
    for (int64_t n = layer * all; n < (layer + 1) * all; n++)
        if (reaction[n] > 0) {
            double slope;
            const double density = -reaction[n] * solvent_respond(r, u[n], &slope);
            sum.ions += density;
            sum.work += density * u[n];
            sum.osmotic += reaction[n] * solvent_osmotic(r, u[n]);
        }
    return sum;
}

/* By layers, whose sums are added in order: the same bits for any number of threads. */
static vf_status integrate(const vf_solvent *plan, integrals *sum)
{
    const solvent_response r = solvent_response_of(&plan->options);
    const int64_t layers = plan->grid.counts[2];
    integrals *of = malloc((size_t)layers * sizeof *of);
    if (!of)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for the sums of %lld layers", (long long)layers);
#pragma omp parallel for schedule(dynamic) num_threads(vf_threads_for(plan->ctx, 20 * plan->points))
    for (int64_t k = 0; k < layers; k++)
        of[k] = over_layer(plan, &r, k);
    *sum = (integrals){0};
    for (int64_t k = 0; k < layers; k++) {
        sum->ions += of[k].ions;
        sum->work += of[k].work;
        sum->osmotic += of[k].osmotic;
    }
    free(of);
    return VF_OK;
}

vf_status vf_solvent_energies(const vf_solvent *plan, const vf_coulomb_atoms *charges, vf_solvent_energy *energy,
                              double *atoms)
{
    const double *h = plan->grid.spacing, voxel = h[0] * h[1] * h[2] / (4 * 3.14159265358979323846);
    integrals sum = {0};
    double fixed = 0;
    *energy = (vf_solvent_energy){0};
    vf_status status = integrate(plan, &sum);
    for (int64_t i = 0; status == VF_OK && i < charges->count; i++) {
        double u = 0;
        status = vf_solvent_reaction(plan, 1, charges->x + i, charges->y + i, charges->z + i, &u);
        fixed += charges->charge[i] * u;
        if (atoms)
            atoms[i] = charges->charge[i] * u / 2;
    }
    if (status != VF_OK)
        return status;
    energy->ions = voxel * sum.ions;
    energy->fixed = fixed;
    energy->stress = -(fixed + voxel * sum.work) / 2;
    energy->osmotic = -voxel * sum.osmotic;
    energy->total = energy->fixed + energy->stress + energy->osmotic;
    return VF_OK;
}
