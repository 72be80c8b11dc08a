/* Voxfield - gridding: the Fourier sum between scattered samples and a regular grid of voxels, by a non-uniform FFT.
 *
 *     adjoint   y_b(n) = sum_m c_b(m) exp(+i 2 pi (k_m . r_n + t_m f_n))
 *     forward   c_b(m) = sum_n x_b(n) exp(-i 2 pi (k_m . r_n + t_m f_n))
 *
 * k_m in cycles per field of view, r_n = (n - N/2)/N (integer division) in fractions of it, t_m in s, f_n in Hz. These
 * are the sums of fourier_sum.h, to a chosen tolerance. The adjoint sorts samples into bins, spreads them onto an
 * oversampled grid with the kernel exp(beta (sqrt(1 - x^2) - 1)), whose width follows from the tolerance, transforms,
 * crops, and divides by the kernel's transform. Barnett, Magland and af Klinteberg, SIAM J. Sci. Comput. 41 (2019)
 * C479. k outside [-N/2, N/2) is folded back, which is exact.
 *
 * Off-resonance: exp(i 2 pi t f) is interpolated in time between L segments, exp(i 2 pi t f) = sum_l b_l(t)
 * exp(i 2 pi t_l f) with the b_l from least squares over the values of f (Sutton, Noll and Fessler, IEEE Trans.
 * Med. Imaging 22 (2003) 178) and the smallest L that keeps the tolerance.
 *
 * The error against the direct sum, relative in the l2 norm, is at most `tolerance` plus rounding errors
 * (docs/image_accuracy.md).
 */
#ifndef VOXFIELD_GRIDDING_H
#define VOXFIELD_GRIDDING_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_nufft_samples {
    int64_t count;     /* >= 0 */
    const float *k;    /* [count][3] kx, ky, kz, host memory; finite; an axis of one voxel ignores its component */
    const float *time; /* [count] s, host memory, or NULL */
} vf_nufft_samples;

typedef struct vf_nufft_options {
    double tolerance;    /* [1e-7, 0.1] for VF_F32, [1e-12, 0.1] for VF_F64 */
    vf_dtype precision;  /* VF_F32, VF_F64 */
    double oversampling; /* 1.25 to 2; 0: chosen from the sizes, for speed and memory */
    const float *field;  /* [z][y][x] Hz, host memory, or NULL; needs samples' time */
} vf_nufft_options;

typedef struct vf_nufft vf_nufft;

/* Makes a plan for `matrix` voxels along x, y, z and batches of at most `most_batch` vectors: sorts the samples and
 * reserves the oversampled grid (for one vector at a time, or more if that is faster and memory allows). Copies samples
 * and field. Blocking. Errors: VF_ERR_ARGUMENT (out of range, NaN), VF_ERR_MEMORY, VF_ERR_DEVICE,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_UNSUPPORTED (no cuFFT). *out is NULL then. */
VF_MUST_CHECK vf_status vf_nufft_create(vf_device *device, const int64_t matrix[3], const vf_nufft_samples *samples,
                                        int most_batch, const vf_nufft_options *options, vf_nufft **out);

/* Gives a plan other samples, of any number. The grid and the kernel stay, and so does what was made for them: it takes
 * less time than a new plan, least on the CPU. Results are those, bit for bit, of a new plan with the same grid and
 * kernel, which a new plan has if the number of samples is the same or its options name an oversampling. `field` is the
 * map that the plan was made with, NULL if there was none. No queue may be at work on the plan. Blocking. Errors: as
 * vf_nufft_create; VF_ERR_ARGUMENT if a field map is missing or not wanted. The plan is unchanged if the arguments are
 * wrong; after any other error it may have no samples, and until some are set sums are refused with VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_nufft_set_samples(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);

/* Puts the sum into the queue: `c` [batch][samples] in the order of the samples, `x`, `y` [batch][z][y][x];
 * VF_SPACE_DEVICE memory of the plan's device, complex of the plan's precision; the output is overwritten, the input
 * kept; they must not overlap. Asynchronous on a GPU, blocking on the CPU with the context's threads. One queue at a
 * time may use a plan. The same input gives the same bits, for any number of threads. Errors: VF_ERR_ARGUMENT,
 * VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_nufft_adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y);
VF_MUST_CHECK vf_status vf_nufft_forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c);

void vf_nufft_destroy(vf_nufft *plan); /* NULL is allowed; work in the queue must be done */

/* The choices of a plan, for reports. */
typedef struct vf_nufft_info {
    int width;       /* the kernel's, in points of the oversampled grid */
    double beta;     /* its shape */
    int64_t grid[3]; /* the oversampled grid: x, y, z */
    int segments;    /* L; 1 without a field map */
    int64_t bytes;   /* memory held on the device */
} vf_nufft_info;
void vf_nufft_get_info(const vf_nufft *plan, vf_nufft_info *info);

/* ---- the plain bilinear gridding of the published study, for comparison; host memory, CPU only ---- */

/* Spreads each sample onto its neighbouring grid points with (bi-, tri-)linear weights, divides each point by the sum
 * of its weights, and transforms: y(n) = sum_k g(k) exp(+i 2 pi k.r_n) / N^d. `c` [samples], `y` [z][y][x], complex of
 * `type`. */
VF_MUST_CHECK vf_status vf_bilinear_gridding(vf_context *ctx, const int64_t matrix[3], const vf_nufft_samples *samples,
                                             vf_dtype type, const void *c, void *y);

/* ---- time segments: also used by toeplitz.h ---- */

/* exp(i 2 pi t f) ~ sum_l b_l(t) exp(i 2 pi t_l f) for the given f, to `tolerance` (root mean square over f, the worst
 * over t). `symmetric` false: f are the values of the field map. true: f are all differences of these values, with both
 * signs, and b_l are real. */
typedef struct vf_segments {
    int count;           /* L */
    double *time;        /* [L] s */
    double *coefficient; /* [L][samples] complex, interleaved */
} vf_segments;
VF_MUST_CHECK vf_status vf_segments_create(vf_context *ctx, int64_t samples, const float *time, int64_t voxels,
                                           const float *field, bool symmetric, double tolerance, vf_segments *out);
void vf_segments_free(vf_segments *segments); /* zeroes it */

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
