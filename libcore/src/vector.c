#include "voxfield/vector.h"

#include "vector_internal.h"

static const vf_vector_ops *ops_for(const vf_queue *queue)
{
#ifdef VF_HAVE_CUDA
    if (vf_device_get_kind(vf_queue_device(queue)) == VF_DEVICE_CUDA)
        return &vf_vector_cuda;
#endif
    (void)queue;
    return &vf_vector_cpu;
}

static vf_status check(const vf_queue *queue, vf_dtype type, int64_t n)
{
    if (n >= 0 && (type == VF_C64 || type == VF_C128))
        return VF_OK;
    return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                   "a vector of %lld elements that are not complex", (long long)n);
}

#define VECTOR_OPERATION(queue, type, n, call)                                                                         \
    do {                                                                                                               \
        vf_status status_ = check(queue, type, n);                                                                     \
        return status_ != VF_OK ? status_ : ops_for(queue)->call;                                                      \
    } while (0)

vf_status vf_vector_axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    VECTOR_OPERATION(queue, type, n, axpby(queue, type, n, a, x, b, y));
}

vf_status vf_vector_multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    VECTOR_OPERATION(queue, type, n, multiply_add(queue, type, n, x, y, z));
}

vf_status vf_vector_scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    VECTOR_OPERATION(queue, type, n, scale_by(queue, type, n, w, x, y));
}

vf_status vf_vector_dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    result[0] = result[1] = 0;
    VECTOR_OPERATION(queue, type, n, dot(queue, type, n, x, y, result));
}

vf_status vf_vector_cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                            void *r, double *squares)
{
    *squares = 0;
    VECTOR_OPERATION(queue, type, n, cg_step(queue, type, n, a, p, q, x, r, squares));
}
