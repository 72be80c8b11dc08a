/* The interface of the backends of gradients and thresholds; not installed. */
#ifndef VOXFIELD_DIFFERENCES_BACKEND_H
#define VOXFIELD_DIFFERENCES_BACKEND_H

#include "differences.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gradients and their adjoints are sums of shifted images: each output gets, in order, the terms
 *     scale in(n + shift e) wherever n + inside e is in the image, e being one step along `axis`. */
typedef struct stencil_term {
    signed char input, axis, shift, inside; /* shift: -1, 0, 1; inside: -1, 1 */
    float scale;                            /* 1, -1, 1/2 or -1/2 */
} stencil_term;

enum { STENCIL_OUTPUTS = 10, STENCIL_TERMS = 8 };

typedef struct stencil {
    int outputs, terms[STENCIL_OUTPUTS];
    stencil_term term[STENCIL_OUTPUTS][STENCIL_TERMS];
    int64_t counts[4], voxels;
} stencil;

/* Arrays [group][n] and the weights of the groups. */
typedef struct group_field {
    int groups;
    int64_t n;
    double weights[VF_MOST_GROUPS];
} group_field;

/* The arguments are checked; n >= 1. */
typedef struct vf_gradient_backend {
    vf_device_kind kind;
    vf_status (*apply)(vf_queue *queue, vf_dtype type, const stencil *s, const void *in, void *out);
    vf_status (*soft)(vf_queue *queue, vf_dtype type, const group_field *f, double threshold, const void *v, void *z);
    vf_status (*norm)(vf_queue *queue, vf_dtype type, const group_field *f, const void *v, double *sum);
} vf_gradient_backend;

extern const vf_gradient_backend vf_gradient_cpu, vf_gradient_cuda, vf_gradient_opencl;

/* ---- the definitions: plain loops in double precision over host memory, for tests ---- */

void vf_differences_ref(const int64_t counts[4], unsigned axes, const double *x, double *y);
void vf_differences_adjoint_ref(const int64_t counts[4], unsigned axes, const double *y, double *x);
void vf_symmetric_gradient_ref(const int64_t counts[4], unsigned axes, const double *v, double *w);
void vf_symmetric_gradient_adjoint_ref(const int64_t counts[4], unsigned axes, const double *w, double *v);
void vf_group_soft_ref(int groups, int64_t n, const double *weights, double threshold, const double *v, double *z);
double vf_group_norm_ref(int groups, int64_t n, const double *weights, const double *v);

#ifdef __cplusplus
}
#endif
#endif
