/* Voxfield - the Coulomb sum on a regular grid to a tolerance, in free space and in periodic cells, by splitting it
 * into a sum over near pairs and a convolution on a mesh (particle mesh Ewald with prolate functions).
 *
 *     V_j = C sum_i q_i / max(|r_j - r_i|, r_min)     over charges and, in a cell, all their images
 *         = C sum_i q_i S(|r_j - r_i|)                (cutoff_sum.h: 0 from rc on)
 *         + C sum_i q_i Phi(|r_j - r_i| / rc) / |r_j - r_i|     (smooth: nothing beyond the wave number c / rc)
 *
 * The second sum is a convolution with the Fourier transform 4 pi / k^2 psi(k rc / c) / psi(0). Charges are spread onto
 * a mesh of spacing H = pi rc / c with a prolate window of P points, transformed, multiplied, divided by the window's
 * transform, and transformed back. The mesh has the map's points, or is coarser, and the same window interpolates from
 * it. Split and window: Liang, Lu, Barnett, Greengard and Jiang, arXiv 2505.09727 (2025). In free space, the kernel is
 * truncated beyond the largest distance (Vico, Greengard and Ferrando, J. Comput. Phys. 323 (2016) 191).
 *
 * Periodic cells: the term k = 0 is left out, which means a conductor around the crystal ("tinfoil"). A net charge is
 * neutralised by a uniform background. With `vacuum`, the crystal is a sphere in vacuum: 4 pi D . r / (3 V) is added, D
 * the dipole moment of the charges as they are given. A triclinic cell has its first vector along x and its second in
 * the plane of x and y, as molecular simulations have it.
 *
 * With `sigma`, charges are Gaussians of that standard deviation: 1 / r becomes erf(r / (sqrt(2) sigma)) / r, whose
 * transform is 4 pi / k^2 exp(-sigma^2 k^2 / 2). If a mesh resolves them, all of it is computed there, without near
 * pairs. Otherwise, erfc(r / (sqrt(2) sigma)) / r is subtracted from the potential of points, at near pairs. In a cell,
 * the mean is 0 then.
 *
 * Error: the root mean square over the grid is at most `tolerance` times the rms potential, and the largest at most 10
 * times that; or 4 sqrt(n) times that, if n > 6 charges as large as the largest crowd within one spacing of the mesh
 * (ewald_parameters.c). Rounding errors are added: in single precision about 1e-7 of the root of
 * sum (q_i / r_i (1 + h / r_i))^2 at a point, h the largest spacing; 2e-8 sqrt(n) of it if that is more, with n charges
 * within rc, for each addition to a sum rounds it. Where charges cancel so far that this would be too much, a plan
 * computes in double precision and rounds the result. The smallest error in double precision is about 2e-11 of
 * sqrt(h sum q_i^2 / V), h the spacing, V the grid's volume: a potential smaller than a fifth of that,
 * such as that of neutral molecules far away, is not known to 1e-10 of itself.
 *
 * A plan does the work on the mesh. Executing it for a box interpolates and sums near pairs, so that maps of any size
 * can be made slab by slab. A point's value does not depend on its box, on the number of threads or on queues. Lengths
 * are in the grid's unit. */
#ifndef VOXFIELD_EWALD_SUM_H
#define VOXFIELD_EWALD_SUM_H

#include "cutoff_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VF_EWALD_FINEST_F32 1e-6 /* the smallest tolerances */
#define VF_EWALD_FINEST_F64 1e-10
#define VF_EWALD_LEAST_SIGMA 1e-3

typedef struct vf_ewald_options {
    double scale;        /* C: finite */
    double r_min;        /* >= VF_COULOMB_MIN_R_MIN; Gaussian charges have no use for it */
    double tolerance;    /* VF_EWALD_FINEST_F32 or _F64 to 0.1 */
    vf_dtype precision;  /* VF_F32, VF_F64: of results; F64 throughout, and F32 where that is accurate enough */
    double sigma;        /* of Gaussian charges, >= VF_EWALD_LEAST_SIGMA, 0: points */
    bool vacuum;         /* periodic cells only: a sphere in vacuum; the charges must be neutral to 1e-6 of sum |q| */
    double coarseness;   /* H / the map's smallest spacing: 1 to 16, or 0: chosen by cost */
    const char *variant; /* of the near sum; NULL: the device's default */
} vf_ewald_options;

typedef struct vf_ewald vf_ewald;

/* Makes a plan. The charges may be freed afterwards. Blocking; uses the context's threads. Errors: VF_ERR_ARGUMENT
 * (NaN, out of range, unknown variant), VF_ERR_UNSUPPORTED (no backend for the device; a triclinic cell turned
 * otherwise), VF_ERR_MEMORY, VF_ERR_CANCELLED (CPU only), VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_ewald_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                        const vf_ewald_options *options, vf_ewald **out);

/* Puts the potential over a box into the queue. `out`: memory of the queue's device (VF_SPACE_DEVICE),
 * vf_box_points(box) elements of the plan's precision, [z][y][x] of the box without padding, overwritten. Several
 * queues of the plan's device may execute one plan at the same time. Blocking on the CPU. Errors: VF_ERR_ARGUMENT (the
 * box is not inside the grid), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_ewald_execute(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out);

/* NULL is allowed. Work in the queues must be done. */
void vf_ewald_destroy(vf_ewald *plan);

/* The variants on a kind of device, the default first, NULL beyond the last. */
const char *vf_ewald_variant_name(vf_device_kind kind, int index);

/* The choices of a plan, for reports. */
typedef struct vf_ewald_info {
    double bandwidth, cutoff; /* c, rc */
    int width;                /* P */
    int64_t mesh[3];          /* points along x, y, z, or along the cell's vectors */
    double spacing[3];        /* H along them */
    bool interpolates;        /* false: the mesh has the map's points */
    double pairs;             /* near pairs of a charge and a point of the grid, about */
    uint64_t bytes;           /* memory held, of the device */
    uint64_t most_bytes;      /* the most that is held while the plan is made */
} vf_ewald_info;
void vf_ewald_get_info(const vf_ewald *plan, vf_ewald_info *info);

/* The choices that a plan would make, without making it: .bytes and .most_bytes are estimates; *seconds (one thread of
 * a typical CPU, or an H200) for making it, and for executing it over the whole grid. Errors: as vf_ewald_create. */
VF_MUST_CHECK vf_status vf_ewald_plan_costs(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                            const vf_ewald_options *options, vf_ewald_info *info,
                                            double *create_seconds, double *execute_seconds);

/* Whether cells and charges suit these sums: VF_ERR_UNSUPPORTED for a triclinic cell turned otherwise; VF_ERR_ARGUMENT
 * for charges in a vacuum boundary that are not neutral (NULL: no such boundary). */
VF_MUST_CHECK vf_status vf_ewald_check_cell(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *in_vacuum);

/* ---- the reference for periodic cells: Ewald's own sum with Gaussians, in double precision ---- */

/* The potential of the charges and all their images at `count` points, points [count][3], to about 1e-14 of
 * sum |q| / |cell|. `vacuum` as above. One thread; the work grows with charges times points. Never tuned. */
void vf_ewald_reference(const vf_cell *cell, const vf_coulomb_atoms *charges, double scale, double r_min, bool vacuum,
                        int64_t count, const double *points, double *values);

/* The same to a hundredth of options->tolerance of the rms potential or better, in double precision, by the context's
 * threads: one sum over waves of all charges when they are given, then for each point one over waves and one over near
 * images. Points need not be known at once, and charges may be added. `options`: scale, r_min, tolerance (> 0), sigma,
 * vacuum. `expected`: about how many points there will be, which decides how the work is divided. The charges are
 * copied. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
typedef struct vf_ewald_field vf_ewald_field;
VF_MUST_CHECK vf_status vf_ewald_field_create(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges,
                                              const vf_ewald_options *options, int64_t expected, vf_ewald_field **out);
VF_MUST_CHECK vf_status vf_ewald_field_add(vf_ewald_field *field, const double place[3], double charge);
VF_MUST_CHECK vf_status vf_ewald_field_values(const vf_ewald_field *field, int64_t count, const double *points,
                                              double *values);
/* And the electric field E = -grad V, electric [count][3]; NULL: not wanted. It is 0 within r_min of a single charge. */
VF_MUST_CHECK vf_status vf_ewald_field_electric(const vf_ewald_field *field, int64_t count, const double *points,
                                                double *values, double *electric);
void vf_ewald_field_destroy(vf_ewald_field *field); /* NULL is allowed */

/* One charge with its images and a uniform background, mean 0, at many points: about a microsecond a point, where a field's
 * points take longer the more waves it has. Errors up to `tolerance` / edge, the edge that of a cube of the cell's volume. Errors:
 * VF_ERR_MEMORY. */
typedef struct vf_ewald_pair vf_ewald_pair;
VF_MUST_CHECK vf_status vf_ewald_pair_create(vf_context *ctx, const vf_cell *cell, double r_min, double tolerance,
                                             vf_ewald_pair **out);
/* values[n] += factor times the potential of a unit charge at `place`, at points[n], [count][3], by the context's threads. A value
 * does not depend on the other points. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_ewald_pair_add(vf_context *ctx, const vf_ewald_pair *pair, const double place[3],
                                          double factor, int64_t count, const double *points, double *values);
void vf_ewald_pair_destroy(vf_ewald_pair *pair); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
