/* What a plan of a whole transform holds; not installed. */
#ifndef VOXFIELD_FFT_INTERNAL_H
#define VOXFIELD_FFT_INTERNAL_H

#include "voxfield/fft_axis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vf_fft {
    vf_device *device;
    const struct vf_fft_ops *ops;
    vf_dtype type;
    int64_t dims[3]; /* slowest first; leading ones where there are fewer */
    int64_t batch;
    vf_fft_axis *axis[3]; /* CPU: along each axis longer than 1 */
    int cufft;            /* GPU: the library's handle */
    bool has_cufft;
    vf_array work; /* GPU: the library's working memory */
};

/* What a kind of device fills in. `create` makes the plan's own from the rest; `destroy` also takes what it left
 * half made. */
typedef struct vf_fft_ops {
    vf_status (*create)(vf_fft *plan);
    void (*destroy)(vf_fft *plan);
    vf_status (*execute)(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data);
} vf_fft_ops;

/* fft_cuda.cu: make plan->cufft and plan->work; free plan->cufft if there is one; transform. */
vf_status vf_fft_cuda_create(vf_fft *plan);
void vf_fft_cuda_destroy(vf_fft *plan);
vf_status vf_fft_cuda_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data);

#ifdef __cplusplus
}
#endif
#endif
