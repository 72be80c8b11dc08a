#include <stdlib.h>

#include "backend/opencl_sums.h"
#include "device/context_internal.h"
#include "vector_internal.h"

extern const char vf_text_vectors[];

/* Threads of a sum: each has a partial sum of two parts, which the host adds up. Their number depends on n alone. */
enum { GROUP = 64, MOST_THREADS = 4096, PARTIAL_SUMS = 2 * MOST_THREADS };

static int parts_of(vf_dtype type)
{
    return type == vf_dtype_real(type) ? 1 : 2;
}

static vf_opencl_kernel kernel_of(const char *name, vf_dtype type, int64_t threads)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_opencl_sums, vf_text_vectors, NULL};
    return (vf_opencl_kernel){texts, name, vf_dtype_real(type), parts_of(type) == 2 ? "-DPARTS=2" : "-DPARTS=1",
                              .threads = {threads}};
}

static vf_status axpby(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *x, double b, void *y)
{
    const int64_t numbers = parts_of(type) * n;
    const vf_opencl_kernel kernel = kernel_of("axpby", type, numbers);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(numbers), VF_CL_REAL(a), VF_CL_ARRAY(x), VF_CL_REAL(b),
                            VF_CL_ARRAY(y));
}

static vf_status multiply_add(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, void *z)
{
    const vf_opencl_kernel kernel = kernel_of("multiply_add", type, n);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_ARRAY(x), VF_CL_ARRAY(y), VF_CL_ARRAY(z));
}

static vf_status scale_by(vf_queue *queue, vf_dtype type, int64_t n, const void *w, const void *x, void *y)
{
    const int64_t numbers = parts_of(type) * n;
    const vf_opencl_kernel kernel = kernel_of("scale_by", type, numbers);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(numbers), VF_CL_ARRAY(w), VF_CL_ARRAY(x), VF_CL_ARRAY(y));
}

/* ---- sums ---- */

typedef struct queue_sums {
    vf_array there;
    unsigned char here[VF_OPENCL_SUM_BYTES * PARTIAL_SUMS];
} queue_sums;

static void release(void *data)
{
    queue_sums *sums = data;
    vf_array_free(&sums->there);
    free(sums);
}

/* The queue's memory for sums; the lock is held. */
static vf_status sums_of(vf_queue *queue, queue_sums **out)
{
    *out = queue->sums.data;
    if (*out)
        return VF_OK;
    queue_sums *made = calloc(1, sizeof *made);
    if (!made)
        return vf_fail(vf_device_context(queue->device), VF_ERR_MEMORY, "not enough memory for sums");
    vf_status status = vf_array_create(queue->device, VF_SPACE_DEVICE, VF_U8, sizeof made->here, &made->there);
    if (status != VF_OK) {
        free(made);
        return status;
    }
    queue->sums.data = *out = made;
    queue->sums.release = release;
    return VF_OK;
}

static int64_t threads_for(int64_t n)
{
    return n < MOST_THREADS ? (n + GROUP - 1) / GROUP * GROUP : MOST_THREADS;
}

/* Waits for the kernel before, and adds up its sums. */
static vf_status total(vf_queue *queue, vf_dtype type, int64_t threads, queue_sums *sums, double *result, int count)
{
    vf_status status = vf_queue_copy(queue, sums->here, sums->there.data, (size_t)threads * 2 * VF_OPENCL_SUM_BYTES);
    VF_TRY(status, vf_queue_sync(queue));
    for (int part = 0; part < count && status == VF_OK; part++)
        result[part] =
            vf_opencl_total(vf_dtype_real(type), sums->here + part * VF_OPENCL_SUM_BYTES, 2 * threads - part, 2);
    return status;
}

static vf_status dot(vf_queue *queue, vf_dtype type, int64_t n, const void *x, const void *y, double result[2])
{
    const int64_t threads = threads_for(n);
    const vf_opencl_kernel kernel = kernel_of("dot_product", type, threads);
    queue_sums *sums;
    if (n == 0)
        return VF_OK;
    pthread_mutex_lock(&queue->sums.lock);
    vf_status status = sums_of(queue, &sums);
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_ARRAY(x), VF_CL_ARRAY(y),
                                    VF_CL_ARRAY(sums->there.data)));
    VF_TRY(status, total(queue, type, threads, sums, result, parts_of(type)));
    pthread_mutex_unlock(&queue->sums.lock);
    return status;
}

static vf_status cg_step(vf_queue *queue, vf_dtype type, int64_t n, double a, const void *p, const void *q, void *x,
                         void *r, double *squares)
{
    const int64_t numbers = parts_of(type) * n, threads = threads_for(numbers);
    const vf_opencl_kernel kernel = kernel_of("cg_step", type, threads);
    queue_sums *sums;
    if (n == 0)
        return VF_OK;
    pthread_mutex_lock(&queue->sums.lock);
    vf_status status = sums_of(queue, &sums);
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(numbers), VF_CL_REAL(a), VF_CL_ARRAY(p), VF_CL_ARRAY(q),
                                    VF_CL_ARRAY(x), VF_CL_ARRAY(r), VF_CL_ARRAY(sums->there.data)));
    VF_TRY(status, total(queue, type, threads, sums, squares, 1));
    pthread_mutex_unlock(&queue->sums.lock);
    return status;
}

const vf_vector_ops vf_vector_opencl = {axpby, multiply_add, scale_by, dot, cg_step};
