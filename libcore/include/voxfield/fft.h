/* Voxfield - discrete Fourier transforms of complex arrays: our own and FFTW on the CPU (fft_axis.h), cuFFT on a GPU
 * by CUDA, and our own on OpenCL devices.
 *
 *     X_k = sum_n x_n exp(-+ 2 pi i k.n / N)      (- forward, + backward; neither is scaled)
 *
 * In place, 1 to 3 dimensions, C order with the last dimension fastest; complex numbers interleaved {re, im}. The same
 * plan, input and machine give the same bits: plans depend only on sizes, not on measurements.
 */
#ifndef VOXFIELD_FFT_H
#define VOXFIELD_FFT_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_fft_direction { VF_FFT_FORWARD = -1, VF_FFT_BACKWARD = 1 } vf_fft_direction;

/* ---- whole transforms, in the memory of a device ---- */
typedef struct vf_fft vf_fft;

/* Makes a plan for `batch` >= 1 arrays one after another, of `type` VF_C64 or VF_C128, dims[rank] each in [1, 2^31).
 * On a GPU it reserves the transform's working memory (vf_fft_bytes); the first plan loads cuFFT. May be called from
 * several threads. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE,
 * VF_ERR_UNSUPPORTED (the cuFFT library is not on this machine). */
VF_MUST_CHECK vf_status vf_fft_create(vf_device *device, vf_dtype type, int rank, const int64_t *dims, int64_t batch,
                                      vf_fft **out);
void vf_fft_destroy(vf_fft *plan); /* NULL is allowed */

/* Working memory of the plan on a GPU, in bytes. */
int64_t vf_fft_bytes(const vf_fft *plan);

/* The same without working memory: before it is executed, the caller lends it vf_fft_bytes bytes of the device, 256-byte
 * aligned, for as long as the plan's work lasts. */
VF_MUST_CHECK vf_status vf_fft_create_bare(vf_device *device, vf_dtype type, int rank, const int64_t *dims,
                                           int64_t batch, vf_fft **out);
VF_MUST_CHECK vf_status vf_fft_lend(vf_fft *plan, void *memory);

/* Puts the transform of `data` (VF_SPACE_DEVICE memory of the plan's device, 64-byte aligned) into the queue:
 * asynchronous on a GPU, blocking on the CPU with the context's threads. One queue at a time may use a plan. */
VF_MUST_CHECK vf_status vf_fft_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data);

/* ---- rows in host memory: for transforms with zero padding ---- */
typedef struct vf_fft_rows vf_fft_rows;

/* Makes a plan for `rows` contiguous rows of length n, [row][n], of `type` VF_C64 or VF_C128, with one thread. */
VF_MUST_CHECK vf_status vf_fft_rows_create(vf_context *ctx, vf_dtype type, int64_t n, int64_t rows, vf_fft_rows **out);
void vf_fft_rows_destroy(vf_fft_rows *plan); /* NULL is allowed */

/* Transforms in place on the calling thread; `data` is host memory, 64-byte aligned. Several threads may use one plan
 * at the same time. */
void vf_fft_rows_execute(const vf_fft_rows *plan, vf_fft_direction direction, void *data);

/* The smallest length >= n whose only prime factors are 2, 3 and 5, even if n > 1: fast to transform. */
int64_t vf_fft_good_length(int64_t n);

#ifdef __cplusplus
}
#endif
#endif
