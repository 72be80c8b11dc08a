/* Voxfield - Coulomb sums with a cutoff on a regular grid: the short-range part of a split, or a law that ends there.
 *
 *     V_j = C sum_i q_i S(|r_j - r_i|)     over charges (and, in a cell, all their images) with |r_j - r_i| < rc
 *
 * The law of a split (VF_CUTOFF_SPLIT):
 *
 *     S(r) = 1 / max(r, r_min) - Phi(r / rc) / r,     Phi(x) = integral_0^x psi / integral_0^1 psi
 *
 * psi is the zeroth prolate spheroidal wave function of bandwidth c (prolate.h). S is 0 from rc on. The rest of
 * Coulomb's law, Phi(r / rc) / r, is smooth: its Fourier transform is negligible beyond the wave number c / rc, and
 * ewald_sum.h computes it on a mesh. Split: Liang, Lu, Barnett, Greengard and Jiang, arXiv 2505.09727 (2025).
 *
 * With `sigma`, erf(r / (sqrt(2) sigma)) / r takes the place of Phi(r / rc) / r: the potential of a Gaussian charge.
 * Its difference from Coulomb's law is cut off at rc, where it should be negligible.
 *
 * The smooth part is a polynomial in r^2, to the precision of the arithmetic.
 *
 * The other laws stand for all of Coulomb's law, whose rest they leave out. With s = max(r, r_min) and w = (s / rc)^2,
 *
 *     plain      S = 1 / s                        (Kirk and Hwu, Programming Massively Parallel Processors, 2010, 10.3)
 *     shifted    S = 1 / s - 1 / rc               (GROMACS: potential-shift)
 *     smoothed   S = (1 - w)^2 / s                (Rodrigues et al., CF '08; CHARMM's shift, NAMD's electrostatics without
 *                                                 PME)
 *     switched   S = 1 / s up to r_on, and from there on (1 - w)^2 (1 + 2 w - 3 o) / ((1 - o)^3 s), o = (r_on / rc)^2
 *                                                 (the switching function of CHARMM: Brooks et al., J. Comput. Chem. 4 (1983)
 *                                                 187; of NAMD for van der Waals forces)
 *
 * Make a plan for a device, a grid and a
 * set of charges, then execute it for boxes of the grid in any order. A point's value does not depend on its box, on
 * the number of threads or on queues. Charges are sorted into bins.
 *
 * Variants, by device (the first is the default):
 *   cpu   "simd"        the widest of avx512, avx2, baseline that the machine has; each is also a variant by name
 *         "ref"         plain C in double precision, one thread: the reference
 *         "scatter"     charge by charge, each added to the points within reach; one thread: the published CPU code
 *   cuda  "bins"        a warp gathers the bins within reach of its tile of points; a bin has any number of charges
 *         "large-bin", "small-bin", "small-bin-overlap"
 *                       the published kernels (Rodrigues, Hardy, Stone, Schulten and Hwu, "GPU acceleration of cutoff pair
 *                       potentials for molecular modeling applications", CF '08; Kirk and Hwu, 10.3), as they are described:
 *                       cutoff_sum_published.cu. Positions are counted from the grid's origin, so a map's errors grow with it.
 *                       The host sorts charges; with small bins it also sums the ones beyond a bin's capacity, and an execution
 *                       waits for that
 *   opencl "bins"       the same; the host sorts charges
 */
#ifndef VOXFIELD_CUTOFF_SUM_H
#define VOXFIELD_CUTOFF_SUM_H

#include "coulomb_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_cutoff_law {
    VF_CUTOFF_SPLIT,
    VF_CUTOFF_PLAIN,
    VF_CUTOFF_SHIFTED,
    VF_CUTOFF_SMOOTHED,
    VF_CUTOFF_SWITCHED,
    VF_CUTOFF_LAWS
} vf_cutoff_law;

/* "split", "plain", "shifted", "smoothed", "switched"; NULL for another number. */
const char *vf_cutoff_law_name(vf_cutoff_law law);

/* S(r) of a law other than a split, in double precision: 0 from the cutoff on. `switch_from` is r_on. */
double vf_cutoff_value(vf_cutoff_law law, double cutoff, double switch_from, double r_min, double r);

typedef struct vf_cutoff_options {
    double scale;  /* C: finite */
    double r_min;  /* >= VF_COULOMB_MIN_R_MIN, in the grid's length unit */
    double cutoff; /* rc >= r_min; at most VF_COULOMB_MAX_COORDINATE, and 2^20 spacings */
    vf_cutoff_law law;
    double switch_from;  /* r_on of VF_CUTOFF_SWITCHED: 0 to below rc (1 - 1e-6) */
    double bandwidth;    /* c of a split: VF_PROLATE_LEAST to VF_PROLATE_MOST; not used with sigma */
    double sigma;        /* of a split: 0, or of Gaussian charges: rc / 10 to rc */
    vf_dtype precision;  /* VF_F32, VF_F64: of distances, terms, results; "ref" computes in double, rounds the result */
    const char *variant; /* NULL: the device's default */
} vf_cutoff_options;

typedef struct vf_cutoff vf_cutoff;

/* Makes a plan: sorts the charges, and their images near the grid, which may be freed afterwards. A grid with a cell
 * means charges and all their periodic images. Blocking. Errors: VF_ERR_ARGUMENT (NaN, out of range, unknown variant:
 * the message lists the known ones), VF_ERR_UNSUPPORTED (an instruction set this CPU lacks; no backend for the device;
 * more than 2^31 - 1 charges on a GPU; about as many images in a cell), VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_cutoff_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                         const vf_cutoff_options *options, vf_cutoff **out);

/* Puts the sum over a box into the queue. `out`: memory of the queue's device (VF_SPACE_DEVICE), vf_box_points(box)
 * elements of the plan's precision, [z][y][x] of the box without padding; overwritten, or increased if `add`. Several
 * queues of the plan's device may execute one plan at the same time. Blocking on the CPU. Errors: VF_ERR_ARGUMENT (the
 * box is not inside the grid), VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_cutoff_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add,
                                          void *out);

/* NULL is allowed. Work in the queues must be done. */
void vf_cutoff_destroy(vf_cutoff *plan);

/* The actual variant: "avx512" for "simd". */
const char *vf_cutoff_variant(const vf_cutoff *plan);

/* The variants of a kind of device, the default first; NULL beyond the last. */
const char *vf_cutoff_variant_name(vf_device_kind kind, int index);

/* The charges and images beyond the capacity of their bins, which the CPU sums; 0 for variants whose bins have none. */
int64_t vf_cutoff_overflow(const vf_cutoff *plan);

/* Memory held, in bytes, of the device. */
uint64_t vf_cutoff_bytes(const vf_cutoff *plan);

#ifdef __cplusplus
}
#endif
#endif
