/* The inside of matrix products: the plan, and the interface of backends; not installed. */
#ifndef VOXFIELD_MATRIX_PRODUCT_PLAN_H
#define VOXFIELD_MATRIX_PRODUCT_PLAN_H

#include "backend/variants.h"
#include "voxfield/matrix_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B after the checks: C is not empty, `inner` may be 0. */
typedef struct vf_matrices {
    int64_t rows, columns, inner;
    const void *a, *b;
    void *c;
} vf_matrices;

typedef struct vf_matrix_product_ops {
    vf_variants variants;
    vf_status (*create)(vf_matrix_product *plan, const char *variant); /* sets plan->state */
    void (*destroy)(vf_matrix_product *plan);                          /* also after a create that failed */
    vf_status (*execute)(const vf_matrix_product *plan, vf_queue *queue, const vf_matrices *m);
} vf_matrix_product_ops;

struct vf_matrix_product {
    vf_device *device;
    const vf_matrix_product_ops *ops;
    vf_dtype type;
    void *state; /* the backend's own */
};

extern const vf_matrix_product_ops vf_matrix_product_ops_cpu, vf_matrix_product_ops_ref, vf_matrix_product_ops_cuda;

#ifdef __cplusplus
}
#endif
#endif
