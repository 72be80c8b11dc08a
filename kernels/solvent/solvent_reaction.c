/* The reaction potential between the points of the grid. */
#include "solvent_internal.h"

vf_status vf_solvent_reaction(const vf_solvent *plan, int64_t count, const double *x, const double *y, const double *z,
                              double *values)
{
    const double *u = plan->unknown.data;
    const int64_t *n = plan->grid.counts;
    for (int64_t i = 0; i < count; i++) {
        const double at[3] = {x[i], y[i], z[i]};
        int64_t low[3];
        double part[3];
        for (int a = 0; a < 3; a++) {
            const double place = (at[a] - plan->grid.origin[a]) / plan->grid.spacing[a];
            if (!(place >= 0 && place <= (double)(n[a] - 1)))
                return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "atom %lld at (%g, %g, %g) is outside the grid",
                               (long long)i, x[i], y[i], z[i]);
            low[a] = (int64_t)place < n[a] - 1 ? (int64_t)place : n[a] - 2;
            part[a] = place - (double)low[a];
        }
        values[i] = 0;
        for (int corner = 0; corner < 8; corner++) {
            const int64_t c[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
            double weight = 1;
            for (int a = 0; a < 3; a++)
                weight *= c[a] ? part[a] : 1 - part[a];
            values[i] += weight * u[((low[2] + c[2]) * n[1] + low[1] + c[1]) * n[0] + low[0] + c[0]];
        }
    }
    return VF_OK;
}
