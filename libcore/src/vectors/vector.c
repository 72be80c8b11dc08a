#include "voxfield/vector.h"

#include "backend/registry.h"
#include "device/arguments.h"
#include "vector_internal.h"
#include "voxfield/copy.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_vector_cpu},
    {&vf_cuda_only, &vf_vector_cuda},
    {&vf_opencl_only, &vf_vector_opencl},
    {0},
};

static const vf_vector_ops *ops_for(const vf_queue *queue)
{
    return vf_backend_table(backends, vf_queue_device(queue));
}

static vf_context *context_of(const vf_queue *queue)
{
    return vf_device_context(vf_queue_device(queue));
}

static vf_status check(const vf_queue *queue, vf_dtype type, int64_t n, const vf_pointer *pointers)
{
    vf_status status = vf_check_floating(context_of(queue), "a vector", type);
    return status == VF_OK ? vf_check_arrays(context_of(queue), "a vector", type, n, pointers) : status;
}
#define CHECK(queue, type, n, ...) check(queue, type, n, (const vf_pointer[]){__VA_ARGS__, {NULL, NULL}})

/* Sets the results to 0, their value for empty vectors and after errors. */
static vf_status clear(const vf_queue *queue, const char *name, double *sum, int count)
{
    vf_status status = VF_CHECK_POINTERS(context_of(queue), "a vector", {name, sum});
    for (int i = 0; status == VF_OK && i < count; i++)
        sum[i] = 0;
    return status;
}

vf_status vf_vector_axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    vf_status status = CHECK(queue, type, n, {"x", x}, {"y", y});
    return status == VF_OK ? ops_for(queue)->axpby(queue, type, n, a, x, b, y) : status;
}

vf_status vf_vector_multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    vf_status status = CHECK(queue, type, n, {"x", x}, {"y", y}, {"z", z});
    return status == VF_OK ? ops_for(queue)->multiply_add(queue, type, n, x, y, z) : status;
}

/* For complex vectors: 2 Re x - x, by primitives that every device has. */
vf_status vf_vector_conjugate(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y)
{
    const vf_pitch pitch = {2, 2 * n};
    vf_status status = CHECK(queue, type, n, {"x", x}, {"y", y});
    if (status == VF_OK && type == vf_dtype_real(type))
        return vf_copy(queue, type, n, x, y);
    if (status == VF_OK)
        status = vf_fill(queue, type, n, (const double[2]){0}, y);
    if (status == VF_OK && n > 0)
        status = vf_copy_box(queue, vf_dtype_real(type), (const int64_t[3]){1, n, 1}, x, pitch, y, pitch);
    return status == VF_OK ? vf_vector_axpby(queue, type, n, -1, x, 2, y) : status;
}

vf_status vf_vector_scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    vf_status status = CHECK(queue, type, n, {"w", w}, {"x", x}, {"y", y});
    return status == VF_OK ? ops_for(queue)->scale_by(queue, type, n, w, x, y) : status;
}

vf_status vf_vector_dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    vf_status status = clear(queue, "result", result, 2);
    if (status == VF_OK)
        status = CHECK(queue, type, n, {"x", x}, {"y", y});
    return status == VF_OK ? ops_for(queue)->dot(queue, type, n, x, y, result) : status;
}

vf_status vf_vector_cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                            void *r, double *squares)
{
    vf_status status = clear(queue, "squares", squares, 1);
    if (status == VF_OK)
        status = CHECK(queue, type, n, {"p", p}, {"q", q}, {"x", x}, {"r", r});
    return status == VF_OK ? ops_for(queue)->cg_step(queue, type, n, a, p, q, x, r, squares) : status;
}
