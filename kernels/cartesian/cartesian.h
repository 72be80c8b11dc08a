/* Voxfield - the Fourier sum between samples on a Cartesian grid and voxels, by FFT.
 *
 *     adjoint   y_b(n) = sum_m c_b(m) exp(+i 2 pi k_m . r_n)
 *     forward   c_b(m) = sum_n x_b(n) exp(-i 2 pi k_m . r_n)
 *     normal    y(n)   = sum_c conj(s_c(n)) sum_m w_m exp(+i 2 pi k_m . r_n)
 *                        sum_n' exp(-i 2 pi k_m . r_n') s_c(n') x(n')
 *
 * k_m is in cycles per field of view, an integer along each axis. r_n = (n - N/2)/N (integer division) is in fractions
 * of the field of view, also for odd N. These are the sums of gridding.h and fourier_sum.h, to rounding. k is folded
 * modulo N, which is exact. Several samples may share a grid point. An axis of one voxel ignores its component of k.
 *
 * The sums are FFTs of length N. The shift by N/2 is a rotation of the voxels, without rounding. It cancels in F^H W F,
 * which is circulant: a transform, multiplication by W(k), the sum of the weights at a grid point, and the inverse
 * transform. No grid is doubled. If W does not depend on an axis (a fully sampled readout), the two transforms along
 * that axis cancel and are skipped.
 */
#ifndef VOXFIELD_CARTESIAN_H
#define VOXFIELD_CARTESIAN_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_cartesian_samples {
    int64_t count;         /* >= 0 */
    const float *k;        /* [count][3] kx, ky, kz, host memory; finite */
    const double *weights; /* [count], host memory, for the normal operator; finite; NULL: 1 */
} vf_cartesian_samples;

/* Whether all samples lie on the grid: |k - round(k)| is at most N 2^-22 along each axis of N > 1 voxels. In single
 * precision, numbers up to N/2 are accurate to N 2^-26. The rest of the tolerance allows for conversions before k
 * reached the file, such as k / N or 2 pi k / N in single precision and back (three such errors), and for a sum of
 * steps. A shift of N 2^-22 turns no voxel by more than pi N 2^-22. *first: the first sample off the grid, or -1.
 * *distance: its largest |k - round(k)|. Either may be NULL. NaN and infinite k are off the grid. */
bool vf_cartesian_fits(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance);

typedef struct vf_cartesian vf_cartesian;

/* Makes a plan on `matrix` voxels along x, y, z: vf_cartesian_create for the sums (adjoint, forward),
 * vf_cartesian_normal_create for the normal operator. Copies its input. Blocking. Errors: VF_ERR_ARGUMENT (samples off
 * the grid, a precision other than VF_F32 and VF_F64, 2^32 - 1 or more samples, 2^32 or more voxels), VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_UNSUPPORTED (no cuFFT). *out is NULL then. */
VF_MUST_CHECK vf_status vf_cartesian_create(vf_device *device, const int64_t matrix[3],
                                            const vf_cartesian_samples *samples, vf_dtype precision,
                                            vf_cartesian **out);
VF_MUST_CHECK vf_status vf_cartesian_normal_create(vf_device *device, const int64_t matrix[3],
                                                   const vf_cartesian_samples *samples, vf_dtype precision,
                                                   vf_cartesian **out);
void vf_cartesian_destroy(vf_cartesian *plan); /* NULL is allowed; work in the queue must be done */

int64_t vf_cartesian_bytes(const vf_cartesian *plan); /* memory held on the device */

/* Puts the sum into the queue: `c` [batch][samples] in the order of the samples, `x`, `y` [batch][z][y][x]; both in
 * VF_SPACE_DEVICE memory of the plan's device, complex of the plan's precision. The output is overwritten, the input
 * kept. They must not overlap. Asynchronous on a GPU, blocking on the CPU with the context's threads. One queue at a
 * time may use a plan. The same input gives the same bits, for any number of threads. Errors: VF_ERR_ARGUMENT (among
 * others, a plan for the normal operator), VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_cartesian_adjoint(vf_cartesian *plan, vf_queue *queue, int batch, const void *c, void *y);
VF_MUST_CHECK vf_status vf_cartesian_forward(vf_cartesian *plan, vf_queue *queue, int batch, const void *x, void *c);

/* y = F^H W F x with `coils` maps, like vf_toeplitz_apply. `maps`: [coils][z][y][x], or NULL for one coil with s = 1.
 * `x`, `y`: [z][y][x], distinct. Errors: as above; VF_ERR_ARGUMENT for a plan for the sums. */
VF_MUST_CHECK vf_status vf_cartesian_normal_apply(vf_cartesian *plan, vf_queue *queue, int coils, const void *maps,
                                                  const void *x, void *y);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
