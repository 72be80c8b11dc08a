/* Voxfield - the electrostatic potential and field of charges at scattered points, on the CPU.
 *
 *     V(r) = C sum_i q_i g(|r - r_i|),     E(r) = -grad V(r)     over charges and, in a cell, all their images
 *
 *     g(d) = 1 / max(d, r_min)                 points; with `distance_dielectric`, 1 / max(d, r_min)^2
 *     g(d) = erf(d / (sqrt(2) sigma)) / d      Gaussians, with `sigma`
 *
 * Within r_min of a point charge, g is constant, and so its field is 0. Gaussians are finite everywhere: r_min does not
 * matter to them. In cells, the potential is that of ewald_sum.h: tinfoil or vacuum boundary, a uniform background for a
 * net charge, mean 0.
 *
 * Exact (tolerance 0): in free space the direct sum (coulomb_points.h), with rounding errors alone. In a cell Ewald's
 * own sum (vf_ewald_field): its rms error is at most a hundredth of `exactness` times the rms potential, that of the
 * field a hundredth of it times the rms field, and rounding adds about 1e-12. The work grows with charges times points.
 *
 * Fast (tolerance > 0): the split of ewald_sum.h. The smooth part is computed on one mesh in double precision, in free
 * space with the truncated kernel, and interpolated at the points by the mesh's window. Its field comes from the
 * window's derivative. The near part sums the charges within rc, found by bins. The spacing of the mesh is chosen by
 * cost. Where the direct sum in free space is cheaper, it is taken.
 *
 * Error of the fast sum: the rms error over the points is at most `tolerance` times their rms potential; of the field,
 * at most `tolerance` times the rms field. At a single point it is at most 10 times that. The model behind this is that
 * of ewald_parameters.c; it takes the points to be where the charges are, or around them. The window's derivative
 * multiplies the errors of wave numbers by at most pi / H, H the mesh's spacing, so plans with fields use a finer
 * split. The rms values are those at up to POINT_SAMPLES of the points (in cells: of independent charges). Rounding
 * adds about 1e-15 of sum |q| / max(d, r_min) over the charges within rc; for Gaussians, the lesser of sigma and rc takes
 * the place of r_min.
 *
 * Excluded charges do not count at a point: their terms C q g(d) at the point are subtracted, in a cell those of the
 * nearest image alone. So at an atom that excludes itself, its own other images still count.
 *
 * Lengths are in any unit, potentials in that of C times charge over length, fields in that per length. */
#ifndef VOXFIELD_POINT_SUM_H
#define VOXFIELD_POINT_SUM_H

#include "coulomb_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { POINT_SAMPLES = 216 };

typedef struct vf_point_options {
    vf_cell cell;             /* VF_CELL_NONE: free space; a triclinic one as ewald_sum.h says */
    double scale;             /* C: finite */
    double r_min;             /* >= VF_COULOMB_MIN_R_MIN, even for Gaussians */
    double sigma;             /* of Gaussian charges, >= VF_EWALD_LEAST_SIGMA; 0: points */
    double tolerance;         /* 0: exact; else VF_EWALD_FINEST_F64 to 0.1 */
    double exactness;         /* of exact sums in a cell: up to 0.1; 0: as exact as rounding allows */
    bool distance_dielectric; /* exact, in free space */
    bool vacuum;              /* as in vf_ewald_options */
    bool fields;              /* execute will be asked for fields */
} vf_point_options;

typedef struct vf_point_list {
    int64_t count;
    const double *points; /* [count][3] */
    const int64_t *first; /* [count + 1]: point n excludes charges excluded[first[n]] to excluded[first[n + 1] - 1] */
    const int64_t *excluded; /* NULL with `first`: nothing is excluded */
} vf_point_list;

typedef struct vf_point_sum vf_point_sum;

/* Makes a plan. The charges must outlive it. `typical`: points whose bounds hold all that will follow, and whose
 * potentials are like theirs; usually the points themselves. `expected`: how many will follow. Blocking; uses the
 * context's threads. Errors: VF_ERR_ARGUMENT (NaN, out of range), VF_ERR_UNSUPPORTED (a combination of options; a
 * triclinic cell turned otherwise; no mesh suits), VF_ERR_MEMORY, VF_ERR_CANCELLED. *out is NULL then. */
VF_MUST_CHECK vf_status vf_point_sum_create(vf_context *ctx, const vf_coulomb_atoms *charges,
                                            const vf_point_options *options, const vf_point_list *typical,
                                            double expected, vf_point_sum **out);

/* values [count]; fields [count][3], NULL unless wanted. A point outside the bounds of the plan's points is summed
 * exactly. A point's value does not depend on the other points of the list, nor on the number of threads. Blocking.
 * Errors: VF_ERR_ARGUMENT (a point that is NaN or out of range; an excluded charge that does not exist; fields of a plan
 * without), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_point_sum_execute(const vf_point_sum *plan, const vf_point_list *list, double *values,
                                             double *fields);

void vf_point_sum_destroy(vf_point_sum *plan); /* NULL is allowed */

/* The choices of a plan, for reports. */
typedef struct vf_point_info {
    bool fast;
    int width;                         /* P */
    double bandwidth, cutoff, spacing; /* c, rc, the largest H */
    int64_t mesh[3];
    uint64_t bytes; /* memory held, about */
} vf_point_info;
void vf_point_sum_get_info(const vf_point_sum *plan, vf_point_info *info);

/* The reference: plain C, one thread, never tuned. In a cell: points only, by vf_ewald_reference, and the field by
 * differences of it, to about 1e-8. */
void vf_point_sum_reference(const vf_coulomb_atoms *charges, const vf_point_options *options, const vf_point_list *list,
                            double *values, double *fields);

#ifdef __cplusplus
}
#endif
#endif
