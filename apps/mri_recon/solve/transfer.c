/* Copies complex numbers between host memory, in single precision, and device memory of either precision. */
#include <stdlib.h>

#include "transfer.h"

vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    if (at < 0 || n > to->count - at)
        return vf_fail(ctx, VF_ERR_INTERNAL, "upload: %lld elements to %lld of %lld", (long long)n, (long long)at,
                       (long long)to->count);
    const void *host = from;
    double complex *wide = NULL;
    if (to->type == VF_C128) {
        host = wide = malloc(((size_t)n + 1) * sizeof *wide);
        if (!wide)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers", (long long)n);
        for (int64_t i = 0; i < n; i++)
            wide[i] = from[i];
    }
    vf_status status = vf_queue_copy(queue, vf_array_at(to, at), host, (size_t)n * vf_dtype_bytes(to->type));
    VF_TRY(status, vf_queue_sync(queue));
    free(wide);
    return status;
}

vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to)
{
    return upload_at(queue, from, n, to, 0);
}

vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    if (n > from->count)
        return vf_fail(ctx, VF_ERR_INTERNAL, "download: %lld elements of %lld", (long long)n, (long long)from->count);
    void *host = to;
    double complex *wide = NULL;
    if (from->type == VF_C128) {
        host = wide = malloc(((size_t)n + 1) * sizeof *wide);
        if (!wide)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld numbers", (long long)n);
    }
    vf_status status = vf_queue_copy(queue, host, from->data, (size_t)n * vf_dtype_bytes(from->type));
    VF_TRY(status, vf_queue_sync(queue));
    for (int64_t i = 0; wide && status == VF_OK && i < n; i++)
        to[i] = (float complex)wide[i];
    free(wide);
    return status;
}

vf_status grow_array(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *array)
{
    if (array->data && array->count >= count)
        return VF_OK;
    vf_array_free(array);
    return vf_array_create(device, space, type, count, array);
}
