/* Voxfield - the Fourier sum between samples on a Cartesian grid and voxels, by FFT.
 *
 *     adjoint   y_b(n) = sum_m c_b(m) exp(+i 2 pi k_m . r_n)
 *     forward   c_b(m) = sum_n x_b(n) exp(-i 2 pi k_m . r_n)
 *     normal    y(n)   = sum_c conj(s_c(n)) sum_m w_m exp(+i 2 pi k_m . r_n)
 *                        sum_n' exp(-i 2 pi k_m . r_n') s_c(n') x(n')
 *
 * k_m in cycles per field of view, an integer along each axis; r_n = (n - N/2)/N (integer division) in fractions of it,
 * also for odd N. These are the sums of gridding.h and fourier_sum.h, to rounding. k is folded modulo N, which is
 * exact. Several samples may share a grid point. An axis of one voxel ignores its component of k.
 *
 * The sums are FFTs of length N. The shift by N/2 is a rotation of the voxels, without rounding. In F^H W F it cancels.
 * The rest is a circulant matrix: W(k), the sum of the weights at a grid point, between a transform and its inverse. No
 * grid is doubled. Along an axis on which W does not depend (a fully sampled readout) the two transforms cancel, and
 * are skipped.
 */
#ifndef VOXFIELD_CARTESIAN_H
#define VOXFIELD_CARTESIAN_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_cartesian_samples {
    int64_t count;         /* >= 0 */
    const float *k;        /* [count][3] kx, ky, kz, host memory; finite */
    const double *weights; /* [count], host memory, for the normal operator; finite; NULL: 1 */
} vf_cartesian_samples;

/* Whether samples lie on the grid: each |k - round(k)| along an axis of N > 1 voxels is at most N 2^-22. Numbers up to
 * N/2 in single precision are good to N 2^-26. The rest is room for conversions of k before it reached the file, such
 * as k / N or 2 pi k / N in single precision and back (three such errors), and a sum of steps. Such a shift turns no
 * voxel by more than pi N 2^-22. *first: the first sample off the grid, or -1; *distance: its largest |k - round(k)|.
 * Either may be NULL. NaN and infinite k are off the grid. */
bool vf_cartesian_fits(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance);

typedef struct vf_cartesian vf_cartesian;

/* Makes a plan for the sums (adjoint, forward), or for the normal operator, on `matrix` voxels along x, y, z. Copies
 * its input. Blocking. Errors: VF_ERR_ARGUMENT (samples off the grid, a precision other than VF_F32 and VF_F64, 2^32
 * voxels or samples or more), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_UNSUPPORTED (no
 * cuFFT). *out is NULL then. */
VF_MUST_CHECK vf_status vf_cartesian_create(vf_device *device, const int64_t matrix[3],
                                            const vf_cartesian_samples *samples, vf_dtype precision,
                                            vf_cartesian **out);
VF_MUST_CHECK vf_status vf_cartesian_normal_create(vf_device *device, const int64_t matrix[3],
                                                   const vf_cartesian_samples *samples, vf_dtype precision,
                                                   vf_cartesian **out);
void vf_cartesian_destroy(vf_cartesian *plan); /* NULL is allowed; work in the queue must be done */

int64_t vf_cartesian_bytes(const vf_cartesian *plan); /* memory held on the device */

/* Puts the sum into the queue: `c` [batch][samples] in the order of the samples, `x`, `y` [batch][z][y][x];
 * VF_SPACE_DEVICE memory of the plan's device, complex of the plan's precision; the output is overwritten, the input
 * kept; they must not overlap. Asynchronous on a GPU, blocking on the CPU with the context's threads. One queue at a
 * time may use a plan. The same input gives the same bits, for any number of threads. Errors: VF_ERR_ARGUMENT (a
 * plan for the normal operator), VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_cartesian_adjoint(vf_cartesian *plan, vf_queue *queue, int batch, const void *c, void *y);
VF_MUST_CHECK vf_status vf_cartesian_forward(vf_cartesian *plan, vf_queue *queue, int batch, const void *x, void *c);

/* y = F^H W F x with `coils` maps, as vf_toeplitz_apply: `maps` [coils][z][y][x], or NULL for one coil of s =
 * 1; `x`, `y` [z][y][x], distinct. Errors: as above (a plan for the sums). */
VF_MUST_CHECK vf_status vf_cartesian_normal_apply(vf_cartesian *plan, vf_queue *queue, int coils, const void *maps,
                                                  const void *x, void *y);

#ifdef __cplusplus
}
#endif
#endif
