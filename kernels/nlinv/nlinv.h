/* Voxfield - joint estimation of an image and coil sensitivity maps, without calibration data: NLINV.
 *
 * From the data of several coils, d_c = F(s_c rho) + noise, this estimates the image rho and the maps s_c at the same
 * time, at low resolution, by the iteratively regularised Gauss-Newton method (Uecker, Hohage, Block and Frahm, Magn.
 * Reson. Med. 60 (2008) 674). With x = (u, a), rho = m u, s_c = S a_c and G_c(x) = rho s_c, step n solves
 *
 *     (DG^H T DG + alpha_n) dx = DG^H (b - T G(x)) - alpha_n x,     alpha_n = 0.25 0.7^n,
 *
 * by conjugate gradients, where b_c = F^H W d_c and T = F^H W F is a convolution with the point spread function Q. So
 * the method is the same for all trajectories. There are 16 steps; in 2D up to 28, as long as they explain clearly
 * more of the data. S sums Fourier series over 1.5 fields of view, with terms of frequency k
 * weighted by (1 + 220 |k|^2 / 100^2)^-16, k in cycles over the widest field of view. This is a Sobolev norm of the
 * maps, which need not be periodic over the field of view.
 *
 * Regular samples (every second line, and no others) do not distinguish a map s(r) and an image rho(r) from mixtures
 * with copies shifted by half the field of view. Three choices resolve this:
 *   - maps must be smooth across the edge of the field of view, but not across its middle;
 *   - the solution has the smallest norm: x is drawn to 0, not to rho = 1 as in the paper, which would draw the
 *     image to its folded copy;
 *   - the object is expected in the middle, m(r) = (1 + (2 |r|)^8)^-1/2, r in fractions of the field of view that is
 *     kept: 0.7 at the ends of the axes. rho begins as a bell.
 * This leaves ghosts of some per cent. A few additional lines in between remove them. vf_nlinv_quality tells which case
 * applies.
 */
#ifndef VOXFIELD_NLINV_H
#define VOXFIELD_NLINV_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The input. All in host memory. Axes are in the order x, y, z; an axis of 1 voxel is ignored. */
typedef struct vf_nlinv_task {
    int64_t matrix[3]; /* of the maps; r(n) = (n - N/2) / N of the field of view (integer division) */
    int64_t small[3];  /* of the joint estimation: large enough for the samples and 6 more cycles on either side */
    double fov[3];     /* lengths of the field of view, in any unit; > 0 */
    double kept[3];    /* the share of the field of view where the object is expected; (0, 1] */
    int coils;         /* 2 to 1024 */
    int periods;       /* of Q: 1 if all samples are integer cycles per field of view, so Q is periodic; else 2 */
    /* b: complex of floats, [coil][z][y][x] of `small`. Choose the weights W so that F^H W F is near 1 where k-space is
     * sampled densely: 1 / voxels on a Cartesian grid. */
    const void *adjoint;
    /* Q(r) = sum_m w_m exp(2 pi i k_m.r): complex of floats, [z][y][x] of P = periods x small (1 where small is 1),
     * r(n) = (n - P/2) / small. With 2 periods the points n = 0 are not used. */
    const void *psf;
    double energy; /* sum of w |d|^2 over samples and coils */
    double noise;  /* the part of it from noise; 0: unknown */
    /* Progress: the share of the whole work that was just done; shares sum to 1. Called by one thread at a time. May be
     * NULL. */
    void (*tell)(void *user, double more);
    void *user;
} vf_nlinv_task;

typedef struct vf_nlinv_quality {
    int virtual_coils; /* number used: principal components of b, at most 16 (12 in 3D) */
    int iterations;    /* of conjugate gradients, in total */
    double explained;  /* share of the energy, without noise, that image and maps explain */
    /* The largest |Q| / Q(0) at distances j/R of the field of view, R = 2 to 6. Near 1, the samples are regular and do
     * not distinguish the image from its folded copies. With 4 additional lines in the middle it is 0.85 at R = 2. */
    double folding;
} vf_nlinv_quality;

/* `maps`: [coil][z][y][x], complex of floats. The sum over coils of |s|^2 is 1, except that it falls to 0 where it was
 * below about a thousandth of its maximum (in |s|) before normalisation. The maps have the smoothest phase; the image
 * has the rest. Scaling data and energy changes only rounding. The result has the same bits for any number of threads.
 * Working memory is about 16 v (3 + periods^d) bytes per voxel of `small`, for v virtual coils and d axes. Errors:
 * VF_ERR_ARGUMENT (shapes), VF_ERR_INPUT (NaN, infinite or all-zero data), VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_nlinv(vf_context *ctx, const vf_nlinv_task *task, void *maps, vf_nlinv_quality *quality);

#ifdef __cplusplus
}
#endif
#endif
