/* The contents of a plan for whole transforms; not installed. */
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
    int64_t dims[3]; /* slowest first; leading ones if there are fewer than 3 */
    int64_t batch;
    vf_fft_axis *axis[3]; /* CPU: along each axis longer than 1 */
    int cufft;            /* GPU: the library's handle */
    bool has_cufft;
    bool bare;          /* GPU: working memory is lent */
    int64_t work_bytes; /* GPU: needed by the library */
    vf_array work;      /* GPU: of the plan's own */
    void *memory;       /* OpenCL: the working memory in use */
    vf_array tables[3]; /* OpenCL: of exponentials, along each axis longer than 1 */
};

/* The interface of transforms on a kind of device. `create` makes the device's part of the plan from the rest;
 * `destroy` also frees a part that `create` left incomplete. */
typedef struct vf_fft_ops {
    vf_status (*create)(vf_fft *plan);
    void (*destroy)(vf_fft *plan);
    vf_status (*execute)(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data);
    vf_status (*lend)(vf_fft *plan, void *memory); /* NULL: needs none */
} vf_fft_ops;

extern const vf_fft_ops vf_fft_opencl;

/* Plans for rows that are transformed from one place to another: faster than in place, and `from` stays as it is. Both are
 * [row][n], 64-byte aligned. NULL without memory. */
vf_fft_rows *vf_fft_rows_make_apart(vf_dtype type, int n, int rows);
void vf_fft_rows_execute_apart(const vf_fft_rows *plan, vf_fft_direction direction, const void *from, void *to);

/* In fft_cuda.cu: makes plan->cufft, plan->work_bytes and, unless bare, plan->work; frees plan->cufft, if any;
 * transforms; sets working memory. */
vf_status vf_fft_cuda_create(vf_fft *plan);
void vf_fft_cuda_destroy(vf_fft *plan);
vf_status vf_fft_cuda_lend(vf_fft *plan, void *memory);
vf_status vf_fft_cuda_execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data);

#ifdef __cplusplus
}
#endif
#endif
