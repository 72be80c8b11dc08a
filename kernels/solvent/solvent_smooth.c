/* The smoothed surface: the harmonic mean of nine faces (Bruccoleri, Novotny, Davis and Sharp, J. Comput. Chem. 18 (1997) 268).
 *
 * A face is in the molecule if its centre is; then its coefficient is the harmonic mean of its own and those of the eight faces of other
 * axes whose centres are 1 / sqrt(2) spacings away. Beyond a grid without a cell there is solvent. */
#include <math.h>
#include <stdlib.h>

#include "solvent_places.h"
#include "voxfield/team_size.h"

/* Bit a: whether the face from the point upwards along axis a has its centre in the molecule. The faces hold the cuts. */
static uint8_t solid_faces(const vf_solvent *plan, const int64_t at[3])
{
    uint8_t bits = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t next = solvent_beside(plan, at, a, true);
        if (next < 0)
            continue;
        const bool low = plan->inside[solvent_number(plan, at)], high = plan->inside[next];
        const float part = low == high ? 0 : ((const float *)plan->faces[a].data)[solvent_face(plan, at, a, true)];
        bits |= (uint8_t)((low == high ? low : low ? part > 0.5F : part < 0.5F) << a);
    }
    return bits;
}

static int is_solid(const vf_solvent *plan, const uint8_t *solid, int axis, const int64_t at[3])
{
    int64_t index[3] = {at[0], at[1], at[2]};
    return solvent_wrap(plan, index) && (solid[solvent_number(plan, index)] >> axis & 1);
}

/* The face from a point upwards along an axis. */
static float smoothed(const vf_solvent *plan, const uint8_t *solid, int axis, const int64_t at[3])
{
    const double eps_m = plan->options.molecule_dielectric, eps_s = plan->options.solvent_dielectric;
    int count = is_solid(plan, solid, axis, at);
    for (int other = 0; other < 3; other++)
        for (int n = 0; other != axis && n < 4; n++) {
            int64_t from[3] = {at[0], at[1], at[2]};
            from[axis] += n & 1;
            from[other] -= n >> 1;
            count += is_solid(plan, solid, other, from);
        }
    return (float)(count == 9 ? eps_m : 9 / (count / eps_m + (9 - count) / eps_s));
}

vf_status solvent_smooth(vf_solvent *plan)
{
    const int64_t *n = plan->grid.counts;
    uint8_t *solid = malloc((size_t)plan->points);
    if (!solid)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "not enough memory for a smooth surface at %lld points",
                       (long long)plan->points);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 10 * plan->points))
    for (int64_t k = 0; k < n[2]; k++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[0]; i++)
                solid[(k * n[1] + j) * n[0] + i] = solid_faces(plan, (const int64_t[3]){i, j, k});
    for (int a = 0; a < 3; a++) {
        int64_t m[3] = {n[0], n[1], n[2]};
        m[a] = solvent_faces(plan, a);
        float *face = plan->faces[a].data;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, 30 * plan->points))
        for (int64_t row = 0; row < m[1] * m[2]; row++)
            for (int64_t i = 0; i < m[0]; i++) {
                int64_t at[3] = {i, row % m[1], row / m[1]};
                at[a]--;
                face[row * m[0] + i] = smoothed(plan, solid, a, at);
            }
    }
    free(solid);
    return VF_OK;
}

void solvent_keep_charges(vf_solvent *plan, const vf_coulomb_atoms *charges)
{
    for (int64_t i = 0; i < charges->count; i++) {
        const double at[3] = {charges->x[i], charges->y[i], charges->z[i]};
        int64_t low[3], corner[3];
        double part[3];
        const bool acts = charges->charge[i] != 0 && solvent_find(plan, at, low, part);
        for (int c = 0; acts && c < 8; c++) {
            solvent_corner(plan, low, c, corner);
            const bool inside = plan->inside[solvent_number(plan, corner)];
            for (int side = 0; inside && side < 6; side++) { /* so it is not on the rim */
                const int a = side >> 1, up = side & 1;
                if (plan->inside[solvent_beside(plan, corner, a, up)])
                    ((float *)plan->faces[a].data)[solvent_face(plan, corner, a, up)] =
                        (float)plan->options.molecule_dielectric;
            }
        }
    }
}
