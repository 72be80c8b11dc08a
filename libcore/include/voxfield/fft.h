/* Voxfield - discrete Fourier transforms of complex arrays, by FFTW on the CPU.
 *
 *     X_k = sum_n x_n exp(-+ 2 pi i k.n / N)      (- forward, + backward; neither is scaled)
 *
 * In place, 1 to 3 dimensions, C order with the last dimension fastest; complex numbers interleaved {re, im}.
 */
#ifndef VOXFIELD_FFT_H
#define VOXFIELD_FFT_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vf_fft_direction { VF_FFT_FORWARD = -1, VF_FFT_BACKWARD = 1 } vf_fft_direction;
typedef struct vf_fft vf_fft;

/* Makes a plan for arrays of `type` (the real type of re and im), dims[rank] each in [1, 2^31), with the context's
 * threads. May be called from several threads. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_fft_create(vf_context *ctx, vf_dtype type, int rank, const int64_t *dims, vf_fft **out);
void vf_fft_destroy(vf_fft *plan); /* NULL is allowed */

/* Transforms host memory in place; 16-byte aligned at least (malloc, vf_array). Blocking. One plan may serve several
 * threads. */
void vf_fft_execute(const vf_fft *plan, vf_fft_direction direction, void *data);

#ifdef __cplusplus
}
#endif
#endif
