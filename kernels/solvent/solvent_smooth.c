/* The smoothed surface: the harmonic mean of nine faces (Bruccoleri, Novotny, Davis and Sharp, J. Comput. Chem. 18 (1997) 268).
 *
 * A face is in the molecule if its centre is; then its coefficient is the harmonic mean of its own and those of the eight faces of other
 * axes whose centres are 1 / sqrt(2) spacings away. Beyond the grid there is solvent. */
#include <math.h>
#include <stdlib.h>

#include "solvent_internal.h"
#include "voxfield/team_size.h"

static int64_t face_of(const int64_t n[3], int axis, const int64_t at[3])
{
    return (at[2] * (n[1] + (axis == 1)) + at[1]) * (n[0] + (axis == 0)) + at[0];
}

/* Bit a: whether the face from the point upwards along axis a has its centre in the molecule. The faces hold the cuts. */
static uint8_t solid_faces(const vf_solvent *plan, const int64_t at[3])
{
    const int64_t *n = plan->grid.counts, stride[3] = {1, n[0], n[0] * n[1]},
                  here = at[0] + at[1] * stride[1] + at[2] * stride[2];
    uint8_t bits = 0;
    for (int a = 0; a < 3; a++) {
        if (at[a] == n[a] - 1)
            continue;
        const int64_t next[3] = {at[0] + (a == 0), at[1] + (a == 1), at[2] + (a == 2)};
        const bool low = plan->inside[here], high = plan->inside[here + stride[a]];
        const float part = low == high ? 0 : ((const float *)plan->faces[a].data)[face_of(n, a, next)];
        bits |= (uint8_t)((low == high ? low : low ? part > 0.5F : part < 0.5F) << a);
    }
    return bits;
}

static int is_solid(const vf_solvent *plan, const uint8_t *solid, int axis, int64_t x, int64_t y, int64_t z)
{
    const int64_t *n = plan->grid.counts;
    return x >= 0 && y >= 0 && z >= 0 && x < n[0] && y < n[1] && z < n[2] &&
           (solid[(z * n[1] + y) * n[0] + x] >> axis & 1);
}

/* The face from a point upwards along an axis. */
static float smoothed(const vf_solvent *plan, const uint8_t *solid, int axis, const int64_t at[3])
{
    const double eps_m = plan->options.molecule_dielectric, eps_s = plan->options.solvent_dielectric;
    int count = is_solid(plan, solid, axis, at[0], at[1], at[2]);
    for (int other = 0; other < 3; other++)
        for (int n = 0; other != axis && n < 4; n++) {
            int64_t from[3] = {at[0], at[1], at[2]};
            from[axis] += n & 1;
            from[other] -= n >> 1;
            count += is_solid(plan, solid, other, from[0], from[1], from[2]);
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
    for (int64_t row = 0; row < n[1] * n[2]; row++)
        for (int64_t i = 0; i < n[0]; i++)
            solid[row * n[0] + i] = solid_faces(plan, (const int64_t[3]){i, row % n[1], row / n[1]});
    for (int a = 0; a < 3; a++) {
        const int64_t m[3] = {n[0] + (a == 0), n[1] + (a == 1), n[2] + (a == 2)};
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
    const int64_t *n = plan->grid.counts, stride[3] = {1, n[0], n[0] * n[1]};
    for (int64_t i = 0; i < charges->count; i++) {
        const double at[3] = {charges->x[i], charges->y[i], charges->z[i]};
        for (int c = 0; charges->charge[i] != 0 && c < 8; c++) {
            int64_t corner[3];
            for (int a = 0; a < 3; a++)
                corner[a] = (int64_t)floor((at[a] - plan->grid.origin[a]) / plan->grid.spacing[a]) + (c >> a & 1);
            const int64_t here = corner[0] + corner[1] * stride[1] + corner[2] * stride[2];
            for (int side = 0; plan->inside[here] && side < 6; side++) { /* so it is not on the rim */
                const int a = side >> 1, up = side & 1;
                const int64_t face[3] = {corner[0] + (a == 0 && up), corner[1] + (a == 1 && up),
                                         corner[2] + (a == 2 && up)};
                if (plan->inside[here + (up ? stride[a] : -stride[a])])
                    ((float *)plan->faces[a].data)[face_of(n, a, face)] = (float)plan->options.molecule_dielectric;
            }
        }
    }
}
