/* Voxfield - orthonormal wavelet transforms of complex images, for sparse priors.
 *
 *     c = Psi S P x
 *
 * P pads an image with zeros at the end of each axis, S shifts the padded image circularly, (S v)(n) = v(n - shift),
 * and Psi is the periodic, separable transform with Daubechies' filters of `moments` vanishing moments and taps = 2
 * moments coefficients h: I. Daubechies, Comm. Pure Appl. Math. 41 (1988) 909; S. Mallat, IEEE Trans. Pattern Anal.
 * Mach. Intell. 11 (1989) 674. One level turns an axis of n numbers into n/2 of the coarse part and n/2 of the detail:
 *
 *     s(i) = sum_k h(k) v(2i + k)      d(i) = sum_k (-1)^k h(taps - 1 - k) v(2i + k)      indices modulo n
 *
 * It transforms all axes that take part, and the next level transforms what is coarse along all of them. Psi is
 * unitary: its adjoint is its inverse.
 *
 * An axis takes part in as many levels as possible, at most `levels`, such that it has at least 2 taps numbers before
 * each. So the coarsest part has at least `taps` numbers, and short axes have fewer levels. An axis of n voxels with L
 * levels is padded to the next multiple of 2^L.
 *
 * Coefficients have the layout [z][y][x] of the padded image. Along each axis, the coarse part comes first. A level's
 * bands are those parts of its box that are not coarse along all of its axes. The coarsest band is what remains after
 * the last level.
 *
 * Averaging over shifts makes a prior invariant to translation: R. Coifman and D. Donoho, in: Wavelets and Statistics
 * (1995) 125.
 */
#ifndef VOXFIELD_WAVELET_H
#define VOXFIELD_WAVELET_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_wavelet_options {
    int64_t counts[3];   /* voxels along x, y, z; any number >= 1 */
    vf_dtype precision;  /* VF_F32, VF_F64: vectors are VF_C64, VF_C128 */
    int moments;         /* 1 (Haar) to 4 */
    int levels;          /* most levels of an axis; 0: 4 */
    const char *variant; /* NULL: the fastest. CPU: "simd", "avx512", "avx2", "baseline", "ref" (for tests) */
} vf_wavelet_options;

typedef struct vf_wavelet vf_wavelet;

/* Makes a plan. It owns device memory for one padded image, and less than another one (two on a GPU) for its work.
 * Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_UNSUPPORTED (the CPU lacks the variant's
 * instructions); *out is NULL then. */
VF_MUST_CHECK vf_status vf_wavelet_create(vf_device *device, const vf_wavelet_options *options, vf_wavelet **out);
void vf_wavelet_destroy(vf_wavelet *plan); /* NULL is allowed; work in the queue must be done */

/* The variants for a kind of device; NULL beyond the last. */
const char *vf_wavelet_variant(vf_device_kind kind, int index);

void vf_wavelet_padded(const vf_wavelet *plan, int64_t counts[3]); /* of the padded image, x, y, z */
void vf_wavelet_coarse(const vf_wavelet *plan, int64_t counts[3]); /* of the coarsest band */
void vf_wavelet_levels(const vf_wavelet *plan, int levels[3]);     /* of each axis; 0: it is not transformed */

/* Below, all vectors are VF_SPACE_DEVICE memory of the plan's device. x: [z][y][x] voxels; v, c, z: padded. They must
 * not overlap, unless stated otherwise. `shift`: along x, y, z, any numbers; NULL: 0. Functions are asynchronous on a
 * GPU and blocking on the CPU, with the context's threads. One queue at a time may use a plan. The same input gives the
 * same bits, for any number of threads. NaN and infinite values make every coefficient that depends on them NaN or
 * infinite. Errors: VF_ERR_ARGUMENT (a missing vector, input equal to output), VF_ERR_DEVICE. */

VF_MUST_CHECK vf_status vf_wavelet_pad(const vf_wavelet *plan, vf_queue *queue, const void *x, void *v);  /* v = P x */
VF_MUST_CHECK vf_status vf_wavelet_crop(const vf_wavelet *plan, vf_queue *queue, const void *v, void *x); /* P^H v */

/* c = Psi S v; v = S^H Psi^H c, which is also the inverse. */
VF_MUST_CHECK vf_status vf_wavelet_forward(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v,
                                           void *c);
VF_MUST_CHECK vf_status vf_wavelet_adjoint(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c,
                                           void *v);

/* z = S^H Psi^H T(Psi S v). T is the soft threshold c max(0, 1 - threshold / |c|) of each complex coefficient; it keeps
 * the coarsest band. This is the proximal map of threshold * vf_wavelet_norm. z may be v. With a threshold of 0, or
 * without levels, z is a copy. Errors also: VF_ERR_ARGUMENT (a threshold that is negative or not finite). */
VF_MUST_CHECK vf_status vf_wavelet_threshold(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3],
                                             double threshold, const void *v, void *z);

/* *sum = sum |c| over all bands of c = Psi S v, except the coarsest. Waits for the queue. Squares are computed in
 * double precision, so magnitudes of double precision must lie within 1e-150 and 1e150. */
VF_MUST_CHECK vf_status vf_wavelet_norm(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v,
                                        double *sum);

/* The root mean square of coefficients of the finest band: those of the first level that are detail along every axis
 * with levels. In white noise of standard deviation sigma (E|n|^2 = sigma^2), it is sigma on average; in smooth images,
 * it is small.
 *
 * A coefficient counts if all voxels that it depends on lie in the image, not in the padding, and nothing wraps around.
 * With `weights` ([z][y][x] of the image without padding, real, of the plan's precision, device memory), all of these
 * voxels must also have a weight > 0. `count` (may be NULL) gets the number of these coefficients; if it is 0, or no
 * axis has levels, *rms is 0. Waits for the queue. */
VF_MUST_CHECK vf_status vf_wavelet_finest_rms(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *v,
                                              const void *weights, double *rms, int64_t *count);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
