/* Voxfield - image and coil sensitivity maps together, where no calibration data are: NLINV.
 *
 * Data of several coils, d_c = F(s_c rho) + noise, are solved for the image rho and the maps s_c at the same time, at
 * low resolution, by the iteratively regularised Gauss-Newton method (Uecker, Hohage, Block and Frahm, Magn. Reson.
 * Med. 60 (2008) 674). With x = (u, a), rho = m u, s_c = S a_c and G_c(x) = rho s_c, step n solves
 *
 *     (DG^H T DG + alpha_n) dx = DG^H (b - T G(x)) - alpha_n x,     alpha_n = 0.25 0.7^n,
 *
 * by conjugate gradients, where b_c = F^H W d_c and T = F^H W F is a convolution with the point spread function Q: so
 * all trajectories are alike. S sums Fourier series over 1.5 fields of view, whose terms of frequency k are weighted by
 * (1 + 220 |k|^2 / 100^2)^-16, k in cycles over the widest field of view: a Sobolev norm of the maps, which need not be
 * periodic over the field of view.
 *
 * Samples that lie regularly (every second line, and no others) do not tell a map s(r) and an image rho(r) from
 * mixtures of them with copies that are shifted by half the field of view. Three things decide: maps are smooth across
 * the edge of the field of view, and not across its middle; the least norm is taken (x is drawn to 0, not to rho = 1 as
 * in the paper, which draws the image to its folded copy); and the object is expected in the middle,
 * m(r) = (1 + (2 |r|)^8)^-1/2, r in fractions of the field of view that is kept: 0.7 at the ends of the axes. rho
 * begins as a bell. That leaves ghosts of some per cent; a few lines in between remove them. vf_nlinv_quality says
 * which it is.
 */
#ifndef VOXFIELD_NLINV_H
#define VOXFIELD_NLINV_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What maps are made from. All in host memory. Axes are in the order x, y, z; 1 voxel along an axis leaves it out. */
typedef struct vf_nlinv_task {
    int64_t matrix[3]; /* of the maps; r(n) = (n - N/2) / N of the field of view (integer division) */
    int64_t small[3];  /* of the joint estimation; room for the samples and for 6 cycles more on either side */
    double fov[3];     /* lengths of the field of view, in any unit; > 0 */
    double kept[3];    /* the share of it that the object is expected in; (0, 1] */
    int coils;         /* 2 to 1024 */
    int periods;       /* of Q: 1 where all samples are whole cycles per field of view, so that Q is periodic; else 2 */
    /* b: complex of floats, [coil][z][y][x] of `small`. Weights W are best such that F^H W F is near 1 where k-space is
     * sampled densely: 1 / voxels on a Cartesian grid. */
    const void *adjoint;
    /* Q(r) = sum_m w_m exp(2 pi i k_m.r): complex of floats, [z][y][x] of P = periods x small (1 where small is 1),
     * r(n) = (n - P/2) / small. With 2 periods the points n = 0 are not used. */
    const void *psf;
    double energy; /* sum of w |d|^2 over samples and coils */
    double noise;  /* what of it is noise; 0: not known */
    /* May be NULL. From one thread at a time: so much of the work, of 1 in all, is done. */
    void (*tell)(void *user, double more);
    void *user;
} vf_nlinv_task;

typedef struct vf_nlinv_quality {
    int virtual_coils; /* that were worked with: principal components of b, 16 at most (12 in 3D) */
    int iterations;    /* of conjugate gradients, in all */
    double explained;  /* of the energy less that of noise, the share that image and maps explain */
    /* The largest |Q| over Q(0) at distances j/R of the field of view, R = 2 to 6. Near 1: the samples lie regularly,
     * and do not tell the image from its folded copies. With 4 lines more in the middle it is 0.85 at R = 2. */
    double folding;
} vf_nlinv_quality;

/* `maps` [coil][z][y][x], complex of floats: sum over coils |s|^2 = 1, fading where it was less than a thousandth of
 * the largest |s|. Their phase is the smoothest: the image has the rest. Scaling data and energy changes no more than
 * rounding. The same bits whatever the number of the context's threads. Holds about 16 v (3 + periods^d) bytes a voxel
 * of `small` for v virtual coils and d axes. Errors: VF_ERR_ARGUMENT (shapes), VF_ERR_INPUT (numbers that are not
 * finite, or data that are all zero), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_nlinv(vf_context *ctx, const vf_nlinv_task *task, void *maps, vf_nlinv_quality *quality);

#ifdef __cplusplus
}
#endif
#endif
