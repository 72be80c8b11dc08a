/* Voxfield - the direct Coulomb sum on a regular grid.
 *
 *     V_j = C sum_i q_i / max(|r_j - r_i|, r_min)            (Coulomb's law, r_min bounds the poles)
 *     V_j = C sum_i q_i / max(|r_j - r_i|, r_min)^2          (distance-dependent dielectric eps(r) = c r, 1/c inside C)
 *
 * Every pair of an atom and a grid point is summed: no cutoff. Formula and the GPU kernels "dcs1", "dcs2" and
 * "dcs3": Stone et al., J. Comput. Chem. 28 (2007) 2618; Kirk and Hwu, Programming Massively Parallel Processors
 * (2010), chapter 9.
 *
 * Make a plan for a device, a grid and a set of atoms, then execute it for boxes of the grid in any order. A point's
 * value does not depend on its box, so a map made in slabs has the same bits as one made at once (docs/accuracy.md
 * states for which variants). It does not depend on the number of threads or queues, either.
 *
 * Variants, by device (the first is the default):
 *   cpu   "simd"   the widest of avx512, avx2, baseline that the machine has; each is also a variant by name
 *         "ref"    plain C in double precision, one thread: the reference
 *   cuda  "tuned"  atoms staged in shared memory relative to each thread block's own origin, double-precision sums of
 *                  chunks; in single precision some reciprocal roots are computed from neighbours'
 *         "roots"  the same with every root by the special function units
 *         "const1", "const4", "const8"   after the published kernels: constant memory, 1, 4 and 8 points per thread
 *         "dcs1", "dcs2", "dcs3"   the published kernels, versions 1 to 3, as described (coulomb_sum_dcs.cu): positions are
 *                  counted from the grid's origin, so errors grow with the map
 *   opencl "tuned" the same accuracy without double precision: positions in two parts, sums of chunks with their errors
 *         "dcs3"   the published kernel in OpenCL (coulomb_sum_published.cl), otherwise as on cuda
 */
#ifndef VOXFIELD_COULOMB_SUM_H
#define VOXFIELD_COULOMB_SUM_H

#include "voxfield/device.h"
#include "voxfield/grid.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* Point charges: [count] each, host memory. Positions in the grid's length unit, at most VF_COULOMB_MAX_COORDINATE in
 * magnitude. */
typedef struct vf_coulomb_atoms {
    int64_t count; /* >= 0 */
    const double *x, *y, *z, *charge;
} vf_coulomb_atoms;

#define VF_COULOMB_MAX_COORDINATE 1e6
#define VF_COULOMB_MIN_R_MIN 1e-6

typedef struct vf_coulomb_options {
    double scale;             /* C: finite */
    double r_min;             /* >= VF_COULOMB_MIN_R_MIN, in the grid's length unit */
    bool distance_dielectric; /* the second formula */
    vf_dtype precision;  /* VF_F32, VF_F64: of positions, terms, results; "ref" computes in double, rounds the result */
    const char *variant; /* NULL: the device's default */
} vf_coulomb_options;

typedef struct vf_coulomb vf_coulomb;

/* Makes a plan: copies the atoms to the device (the arrays may be freed afterwards) and reserves what execution needs.
 * Blocking. Errors: VF_ERR_ARGUMENT (NaN, out of range, unknown variant: the message lists the known ones),
 * VF_ERR_UNSUPPORTED (an instruction set this CPU lacks, a grid with a periodic cell), VF_ERR_MEMORY, VF_ERR_DEVICE,
 * VF_ERR_DEVICE_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_coulomb_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *atoms,
                                          const vf_coulomb_options *options, vf_coulomb **out);

/* Puts the sum over a box into the queue. `out`: memory of the queue's device (VF_SPACE_DEVICE), vf_box_points(box)
 * elements of the plan's precision, [z][y][x] of the box without padding, overwritten; do not read it until the queue
 * is synchronised. Asynchronous on a GPU, blocking on the CPU. Several queues of the plan's device may execute one plan
 * at the same time. Errors: VF_ERR_ARGUMENT (the box is not inside the grid), VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU
 * only). */
VF_MUST_CHECK vf_status vf_coulomb_execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out);

/* NULL is allowed. Work in the queues must be done. */
void vf_coulomb_destroy(vf_coulomb *plan);

/* The actual variant: "avx512" for "simd". */
const char *vf_coulomb_variant(const vf_coulomb *plan);

/* The variants of a kind of device, the default first; NULL beyond the last. */
const char *vf_coulomb_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
