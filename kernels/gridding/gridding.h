/* Voxfield - gridding: the Fourier sum between scattered samples and a regular grid of voxels, by a non-uniform FFT.
 *
 *     adjoint   y_b(n) = sum_m c_b(m) exp(+i 2 pi (k_m . r_n + t_m f_n))
 *     forward   c_b(m) = sum_n x_b(n) exp(-i 2 pi (k_m . r_n + t_m f_n))
 *
 * k_m is in cycles per field of view, r_n = (n - N/2)/N (integer division) in fractions of the field of view, t_m in s
 * and f_n in Hz. These are the sums of fourier_sum.h, to a chosen tolerance. The adjoint sorts samples into bins,
 * spreads them onto an oversampled grid, transforms, crops, and divides by the kernel's transform. The spreading kernel
 * is exp(beta (sqrt(1 - x^2) - 1)); its width follows from the tolerance. Method: Barnett, Magland and af Klinteberg,
 * SIAM J. Sci. Comput. 41 (2019) C479. k outside [-N/2, N/2) is folded back, which is exact.
 *
 * Off-resonance: exp(i 2 pi t f) is interpolated in time between L segments, exp(i 2 pi t f) = sum_l b_l(t)
 * exp(i 2 pi t_l f) with the b_l from least squares over the values of f (Sutton, Noll and Fessler, IEEE Trans.
 * Med. Imaging 22 (2003) 178) and the smallest L that keeps the tolerance.
 *
 * The error against the direct sum, relative in the l2 norm over some tens of sums or more, is at most `tolerance` down
 * to 1e-5 in single and 1e-12 in double precision. A single sum may be wrong by up to three times as much. At finer
 * tolerances in single precision, rounding adds up to 1e-6 where thousands of equal values meet, as at the centre of
 * spokes (docs/image_accuracy.md).
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
    /* [count][3] in place of k, host memory, or NULL. Rounding k to single precision changes sums by about 2e-8 N. Double
     * precision takes 24 bytes more a sample, and on the CPU more time to sort. */
    const double *exact;
} vf_nufft_samples;

typedef struct vf_nufft_options {
    double tolerance;    /* [1e-7, 0.1] for VF_F32, [1e-12, 0.1] for VF_F64 */
    vf_dtype precision;  /* VF_F32, VF_F64 */
    double oversampling; /* 1.25 to 2; 0: chosen for tolerance, speed and memory */
    const float *field;  /* [z][y][x] Hz, host memory, or NULL; needs samples' time */
} vf_nufft_options;

typedef struct vf_nufft vf_nufft;

/* Makes a plan for `matrix` voxels along x, y, z and batches of at most `most_batch` vectors: sorts the samples and
 * reserves the oversampled grid (for one vector at a time, or more if that is faster and memory allows). Copies samples
 * and field. Blocking. Errors: VF_ERR_ARGUMENT (out of range, NaN), VF_ERR_MEMORY, VF_ERR_DEVICE,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_UNSUPPORTED (no cuFFT). *out is NULL then. */
VF_MUST_CHECK vf_status vf_nufft_create(vf_device *device, const int64_t matrix[3], const vf_nufft_samples *samples,
                                        int most_batch, const vf_nufft_options *options, vf_nufft **out);

/* Replaces a plan's samples by others, of any number. The grid and the kernel stay, with their tables, so this is
 * faster than making a plan, above all on the CPU. The results have the same bits as those of a new plan with the same
 * grid and kernel. A new plan has the same ones if the number of samples is the same, or if its options set the
 * oversampling. `field` is the map that the plan was made with, or NULL if there was none. No queue may be using the
 * plan. Blocking. Errors: as vf_nufft_create; VF_ERR_ARGUMENT if a field map is missing or was not expected. After
 * VF_ERR_ARGUMENT the plan is unchanged. After any other error it may have no samples; sums then fail with
 * VF_ERR_ARGUMENT until samples are set. */
VF_MUST_CHECK vf_status vf_nufft_set_samples(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);

/* Puts the sum into the queue: `c` [batch][samples] in the order of the samples, `x`, `y` [batch][z][y][x]; both in
 * VF_SPACE_DEVICE memory of the plan's device, complex of the plan's precision. The output is overwritten, the input
 * kept. They must not overlap. Asynchronous on a GPU, blocking on the CPU with the context's threads. One queue at a
 * time may use a plan. The same input gives the same bits, for any number of threads. Errors: VF_ERR_ARGUMENT,
 * VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_nufft_adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y);
VF_MUST_CHECK vf_status vf_nufft_forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c);

void vf_nufft_destroy(vf_nufft *plan); /* NULL is allowed; work in the queue must be done */

/* The choices of a plan, for reports. */
typedef struct vf_nufft_info {
    int width;       /* of the kernel, in points of the oversampled grid */
    double beta;     /* shape of the kernel */
    int64_t grid[3]; /* the oversampled grid: x, y, z */
    int segments;    /* L; 1 without a field map */
    int64_t bytes;   /* memory held on the device */
} vf_nufft_info;
void vf_nufft_get_info(const vf_nufft *plan, vf_nufft_info *info);

/* ---- the simple bilinear gridding of the published study, for comparison; host memory, CPU only ---- */

/* Spreads each sample onto its neighbouring grid points with (bi-, tri-)linear weights, divides each point by the sum
 * of its weights, and transforms: y(n) = sum_k g(k) exp(+i 2 pi k.r_n) / N^d. `c` [samples], `y` [z][y][x], complex of
 * `type`. */
VF_MUST_CHECK vf_status vf_bilinear_gridding(vf_context *ctx, const int64_t matrix[3], const vf_nufft_samples *samples,
                                             vf_dtype type, const void *c, void *y);

/* ---- time segments; toeplitz.h uses them, too ---- */

/* exp(i 2 pi t f) ~ sum_l b_l(t) exp(i 2 pi t_l f), to `tolerance` (root mean square over f, maximum over t). If
 * `symmetric` is false, f are the values of the field map. If true, f are all differences of these values, with both
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
