/* The table of vector operations that each kind of device fills in; not installed. */
#ifndef VOXFIELD_VECTOR_INTERNAL_H
#define VOXFIELD_VECTOR_INTERNAL_H

#include "voxfield/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As in vector.h; the arguments are already checked. */
typedef struct vf_vector_ops {
    vf_status (*axpby)(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y);
    vf_status (*multiply_add)(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z);
    vf_status (*scale_by)(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y);
    vf_status (*dot)(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2]);
    vf_status (*cg_step)(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                         void *r, double *squares);
} vf_vector_ops;

extern const vf_vector_ops vf_vector_cpu, vf_vector_cuda, vf_vector_opencl;

#ifdef __cplusplus
}
#endif
#endif
