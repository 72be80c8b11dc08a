/* Voxfield - gradient delays of radial scans, estimated from their own samples.
 *
 * Gradients that begin late move a spoke: sample j, nominally at k = start + j step, was taken at k - S step. S is
 * symmetric, in samples. Its eigenvalues are the delays of the gradients, its eigenvectors their axes (Moussavi,
 * Untenberger, Uecker and Frahm, Magn. Reson. Med. 71 (2014) 308; Rosenzweig, Holme and Uecker, Magn. Reson. Med. 81
 * (2019) 1898).
 *
 * Spokes cross near the centre of k-space, where they must agree. RING searches the crossings of pairs. Here all
 * samples near the centre are compared at once: S minimises
 *
 *     sum over coils c of  min over x_c of  |d_c - A(S) x_c|^2 + lambda |x_c|^2,    A_mn = exp(-i 2 pi k_m(S).r_n),
 *
 * where the x_c are coarse images over a disk or ball of 1.2 fields of view. Every sample counts, whatever the angles
 * between spokes, and noise is averaged. The search is a Gauss-Newton method with variable projection (Golub and
 * Pereyra, SIAM J. Numer. Anal. 10 (1973) 413). It starts from the most likely delays of a grid, with few samples.
 */
#ifndef VOXFIELD_DELAYS_H
#define VOXFIELD_DELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The spokes of one image, in host memory. k in cycles per field of view; if this differs between axes, per the widest,
 * so that k has the same scale along all axes. */
typedef struct vf_spokes {
    int64_t spokes, length; /* length: samples of a spoke */
    const double *start;    /* [spoke][3] k of the first sample */
    const double *step;     /* [spoke][3] from one sample to the next; not 0 */
    int coils;              /* the same for all images */
    const float *data;      /* [coil][spoke][length] complex, interleaved */
} vf_spokes;

typedef struct vf_delays {
    bool found;           /* false: the samples show no delays beyond their noise, or do not determine them; S is 0 */
    double s[3][3];       /* S in samples; positive: the gradient is late */
    double error[3][3];   /* standard errors of S, by the misfit */
    double misfit_before; /* what A(0) x leaves of the samples: root mean square, relative to them */
    double misfit;        /* what A(S) x leaves */
    double radius;        /* of k-space that was used, in cycles per field of view */
    int64_t samples;      /* used, of a coil, in all images */
} vf_delays;

/* Estimates one S for all images: of the x and y components if `dimensions` is 2 (z components are ignored), else of
 * all. `images` >= 1. Finds delays that move samples by up to 1 cycle per field of view: two samples, if the readout is
 * oversampled twice. Uses at most 8 images, evenly spaced, of each at most 256 spokes (3D: 600), and the 16 strongest
 * coils. With fewer than 9 spokes (3D: 20), or if half of the samples' amplitude near the centre is noise, found is
 * false; also, without a search, if misfit_before is less than `least` (0: search always). The bits do not depend on
 * the number of threads. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_delays_estimate(vf_context *ctx, int dimensions, int images, const vf_spokes *image,
                                           double least, vf_delays *out);

#ifdef __cplusplus
}
#endif
#endif
