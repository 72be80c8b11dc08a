/* The interface of copies on a kind of device; not installed. */
#ifndef VOXFIELD_COPY_INTERNAL_H
#define VOXFIELD_COPY_INTERNAL_H

#include "voxfield/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of copy.h after the checks; nothing is empty. `size`: bytes of an element, 1, 4, 8 or 16. */
typedef struct vf_copy_ops {
    vf_status (*copy)(vf_queue *queue, size_t bytes, const void *x, void *y);
    vf_status (*fill)(vf_queue *queue, size_t size, int64_t n, const void *value, void *y);
    vf_status (*gather)(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y);
    vf_status (*scatter)(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y);
    /* counts[0] and the pitches are in bytes, too. The box is not one contiguous piece. */
    vf_status (*box)(vf_queue *queue, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                     vf_pitch y_pitch);
    vf_status (*transpose)(vf_queue *queue, size_t size, int64_t batch, int64_t rows, int64_t columns, const void *x,
                           vf_pitch x_pitch, void *y, vf_pitch y_pitch);
} vf_copy_ops;

extern const vf_copy_ops vf_copy_cpu, vf_copy_cuda, vf_copy_opencl;

#ifdef __cplusplus
}
#endif
#endif
