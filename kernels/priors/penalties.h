/* Voxfield - priors that are not quadratic: sparse and low-rank images, as penalties for the solvers of convex problems
 * (voxfield/solver.h).
 *
 * Vectors are images or series [frame][z][y][x], complex. A penalty is lambda times
 *
 *     wavelet    the mean over shifts and wavelets of sum |c|, c the wavelet coefficients of each frame except the
 *                coarsest band (wavelet.h). The wavelets are Haar's and Daubechies' with two moments: the first suits
 *                flat regions with sharp borders, the second smooth ones, and their mean does better than either on
 *                images that have both (docs/image_accuracy.md). The shifts are fixed (below): all parities along the
 *                axes (in 3D by default half of them for each wavelet), on top of random even shifts. So the problem is
 *                convex and has one solution, nearly that of the mean over all shifts (Coifman and Donoho, 1995)
 *     tv         isotropic total variation of each frame, sum sqrt(sum_a |D_a x|^2) (Rudin, Osher and Fatemi, Physica D
 *                60 (1992) 259)
 *     tgv        second-order total generalised variation of each frame, min over w of sum |D x - w| + 2 sum |E w|, with
 *                a vector field w and its symmetrised gradient E (differences.h; Bredies, Kunisch and Pock, SIAM J.
 *                Imaging Sci. 3 (2010) 492; Knoll et al., Magn. Reson. Med. 65 (2011) 480). Where tv expects flat regions,
 *                it expects regions of constant slope, as shading by coils leaves them. w is unknown, too (below)
 *     temporal   sum |D_t x|, differences between frames
 *     llr        the mean over shifts of the sum of singular values of blocks of 8^d voxels and all frames (Trzasko and
 *                Manduca, 2011; Zhang, Pauly and Levesque, Magn. Reson. Med. 73 (2015) 655)
 *     nuclear    the sum of singular values of the matrix [voxels][frames] (Lingala et al., IEEE Trans. Med. Imaging 30
 *                (2011) 1042)
 *
 * Shifts. Random numbers n are those of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) from the seed on: for each prior
 * in the order given, each wavelet, each shift, one for each axis x, y, z with more than one voxel. Shift i = 0, 1, ...
 * of a wavelet is 2 (n mod 8) + p. p is bit 0 of i along the first of these axes, bit 1 along the second. Along the third
 * it is bit 2 with more than 4 shifts, else bit 0 + bit 1 modulo 2, and the opposite for the second of two wavelets. The
 * shift of blocks is n mod B, B voxels in a block along the axis.
 */
#ifndef VOXFIELD_PENALTIES_H
#define VOXFIELD_PENALTIES_H

#include "voxfield/solver.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef enum vf_penalty_kind {
    VF_PENALTY_WAVELET,
    VF_PENALTY_TV,
    VF_PENALTY_TGV,
    VF_PENALTY_TEMPORAL,
    VF_PENALTY_LLR,
    VF_PENALTY_NUCLEAR,
    VF_PENALTY_KINDS
} vf_penalty_kind;

enum { VF_MOST_PRIORS = 2 }; /* at once */

typedef struct vf_penalties_options {
    int priors; /* 1 to VF_MOST_PRIORS, of different kinds */
    vf_penalty_kind kind[VF_MOST_PRIORS];
    int64_t counts[4]; /* voxels along x, y, z, and frames, each >= 1 */
    vf_dtype precision;
    uint64_t seed; /* of the shifts */
    int moments;   /* 1 to 4: only this wavelet; 0: 1 and 2 */
    int shifts;    /* of each wavelet, and of the blocks, 1 to 8; 0: 2^d, at most 4, in d dimensions */
} vf_penalties_options;

typedef struct vf_penalties vf_penalties;

const char *vf_penalty_name(vf_penalty_kind kind);

/* Makes the penalties, with lambda = 0 and rho = 1. Errors: VF_ERR_ARGUMENT (numbers out of range; a kind that needs
 * frames, and one frame; one that needs space, and one voxel), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY; *out is NULL
 * then. */
VF_MUST_CHECK vf_status vf_penalties_create(vf_device *device, const vf_penalties_options *options, vf_penalties **out);
void vf_penalties_free(vf_penalties *p); /* NULL is allowed; work in the queue must be done */

/* Sets lambda >= 0 of prior number `which`, and its share rho > 0 of ADMM's augmented Lagrangian. */
void vf_penalties_set(vf_penalties *p, int which, double lambda, double rho);

/* Multiplies the wavelet prior's lambda by factor[frame] >= 0, for frames that differ in noise. Other priors keep one
 * lambda. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_penalties_set_frames(vf_penalties *p, vf_context *ctx, const double *factor);
/* The number of vector components that the solver has to find beside each image: of tgv's field w, one for each axis with
 * several voxels; 0 without tgv. The penalties then are of vectors [1 + extra][frame][z][y][x], the images first. The data
 * depend on the images alone, and a penalty's value is least with the right field: the minimum over all unknowns is that
 * of tgv. */
int vf_penalties_extra(const vf_penalties *p);

/* The penalties for vf_convex_problem; valid until vf_penalties_free. *count: their number. A prior may have several.
 * */
const vf_penalty *vf_penalties_list(const vf_penalties *p, int *count);
/* The value of prior number `which` from those of its penalties, in the order of the list. */
double vf_penalties_value(const vf_penalties *p, int which, const double *values);

/* What lambda is in proportion to, for noise of variance 1: of low-rank priors the largest singular value that is to be
 * expected of a block of noise, sqrt(voxels) + sqrt(frames); else 1. */
double vf_penalties_noise(const vf_penalties *p, int which);

/* Upper bound of the largest eigenvalue of sum T^H T over the list. */
double vf_penalties_largest(const vf_penalties *p);
/* For preconditioners: adds to out[z][y][x] the eigenvalues of sum rho T^H T for frequency n - N/2 along each axis, as if
 * the image were periodic, without the differences between frames. `part` is 0 for images, 1 ... extra for a component of
 * the field; what couples the parts is left out. */
void vf_penalties_add_spectrum(const vf_penalties *p, int part, double *out);
/* rho of the differences between frames; 0 without them. */
double vf_penalties_coupling(const vf_penalties *p);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
