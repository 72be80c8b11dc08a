/* Voxfield - multiplication by a Toeplitz matrix in one to three dimensions, with coil maps, by FFT.
 *
 *     y(n) = sum_c sum_l conj(s_c(n) e_l(n)) sum_m Q_l(n - m) s_c(m) e_l(m) x(m),     e_l(n) = exp(-i 2 pi t_l f(n))
 *
 * This is F^H F of a scan with coils s_c and time segments l, where Q_l(r) = sum_m w_m b_l(t_m) exp(i 2 pi k_m.r). The
 * matrix is embedded in a circulant one on the doubled grid: Fessler et al., IEEE Trans. Signal Process. 53 (2005)
 * 3393; Wajer and Pruessmann, Proc. ISMRM (2001) 767. Q_l must be Hermitian, Q(-r) = conj(Q(r)), as it is for real w b.
 * So its transform is real. A plan holds this transform: 8 N^3 real numbers per segment.
 *
 * The matrix may also be circulant, with period N: Q(n - m) depends on n - m modulo N, and nothing is doubled. Then y =
 * sum_c conj(s_c) F^H P F s_c x, with unscaled transforms F and F^H of length N. The plan gets the real P(k), k modulo
 * N, instead of Q. If P does not depend on an axis, F^H F is N along it and is not computed.
 *
 * An axis of one voxel is not doubled. Vectors are complex, interleaved, of the plan's precision, [z][y][x].
 */
#ifndef VOXFIELD_TOEPLITZ_H
#define VOXFIELD_TOEPLITZ_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_toeplitz vf_toeplitz;

typedef struct vf_toeplitz_options {
    vf_dtype precision; /* VF_F32, VF_F64 */
    int segments;       /* >= 1; more than one needs time and field */
    bool circulant;     /* one segment without a field; not with "ref" */
    bool cosine; /* also: P is diagonal in cosine transforms (cosine.h) instead, k = 0 ... N - 1; CPU, not "ref" */
    const double *time;  /* [segments] t_l in s, host memory; NULL: e_l = 1 */
    const float *field;  /* [z][y][x] f in Hz, host memory; NULL: e_l = 1 */
    const char *variant; /* NULL: by FFT. CPU: "ref", the sum over all pairs as above, in double precision */
} vf_toeplitz_options;

/* Makes a plan for `matrix` voxels along x, y, z. Copies its input. Blocking. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_UNSUPPORTED (no cuFFT, which a GPU needs for very long axes and for some prime
 * factors above 7); *out is NULL then. */
VF_MUST_CHECK vf_status vf_toeplitz_create(vf_device *device, const int64_t matrix[3],
                                           const vf_toeplitz_options *options, vf_toeplitz **out);
void vf_toeplitz_destroy(vf_toeplitz *plan); /* NULL is allowed; work in the queue must be done */

/* The doubled grid: x, y, z; for a circulant plan, the matrix itself. */
void vf_toeplitz_doubled(const vf_toeplitz *plan, int64_t doubled[3]);
int64_t vf_toeplitz_bytes(const vf_toeplitz *plan); /* device memory held, including the kernels */

/* Sets Q_l. `q`: VF_SPACE_DEVICE memory, [2z][2y][2x] complex of the plan's precision, overwritten. Index n holds Q(r)
 * at r = (n - N)/N; an axis of one voxel has only r = 0. The points n = 0 (r = -1) are not used. For a circulant plan,
 * q is P: [z][y][x] real of the plan's precision, not overwritten. Goes into the queue: asynchronous on a GPU, but
 * blocking for P. */
VF_MUST_CHECK vf_status vf_toeplitz_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q);

/* y = the sum above for `coils` maps. `maps`: [coils][z][y][x] complex of the plan's precision, or NULL for one coil
 * with s = 1. `x`, `y`: [z][y][x], distinct, but for a cosine matrix. All are VF_SPACE_DEVICE memory. Asynchronous on a GPU, blocking on the CPU
 * with the context's threads. One queue at a time may use a plan. The same input gives the same bits, for any number of
 * threads. Errors: VF_ERR_ARGUMENT, VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_toeplitz_apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps,
                                          const void *x, void *y);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
