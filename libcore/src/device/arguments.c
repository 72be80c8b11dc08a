#include "arguments.h"

#include "context_internal.h"

vf_status vf_check_type(vf_context *ctx, const char *what, vf_dtype type)
{
    return vf_dtype_bytes(type) > 0 ? VF_OK
                                    : vf_fail(ctx, VF_ERR_ARGUMENT, "%s: invalid element type %d", what, (int)type);
}

vf_status vf_check_complex(vf_context *ctx, const char *what, vf_dtype type)
{
    vf_status status = vf_check_type(ctx, what, type);
    if (status != VF_OK || type == VF_C64 || type == VF_C128)
        return status;
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the elements must be VF_C64 or VF_C128, not %s", what,
                   vf_dtype_name(type));
}

vf_status vf_check_floating(vf_context *ctx, const char *what, vf_dtype type)
{
    vf_status status = vf_check_type(ctx, what, type);
    if (status != VF_OK || type == vf_dtype_real(type) || type == vf_dtype_complex(vf_dtype_real(type)))
        return status;
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the elements must be floating-point numbers, real or complex, not %s",
                   what, vf_dtype_name(type));
}

vf_status vf_check_length(vf_context *ctx, const char *what, vf_dtype type, int64_t n)
{
    vf_status status = vf_check_type(ctx, what, type);
    if (status != VF_OK)
        return status;
    if (n < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld elements; a length must be at least 0", what, (long long)n);
    if (n > VF_MOST_BYTES / (int64_t)vf_dtype_bytes(type))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld elements of %zu bytes exceed any memory", what, (long long)n,
                       vf_dtype_bytes(type));
    return VF_OK;
}

vf_status vf_check_pointers(vf_context *ctx, const char *what, const vf_pointer *pointers)
{
    for (; pointers->name; pointers++)
        if (!pointers->data)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %s is NULL", what, pointers->name);
    return VF_OK;
}

vf_status vf_check_arrays(vf_context *ctx, const char *what, vf_dtype type, int64_t n, const vf_pointer *pointers)
{
    vf_status status = vf_check_length(ctx, what, type, n);
    return status != VF_OK || n == 0 ? status : vf_check_pointers(ctx, what, pointers);
}

bool vf_overlap_bytes(const vf_device *device, const void *a, int64_t a_bytes, const void *b, int64_t b_bytes)
{
    const uintptr_t p = (uintptr_t)a, q = (uintptr_t)b;
    return !device->offset && a_bytes > 0 && b_bytes > 0 &&
           (p < q ? q - p < (uintptr_t)a_bytes : p - q < (uintptr_t)b_bytes);
}

bool vf_overlap(const vf_device *device, vf_dtype type, int64_t n, const void *a, const void *b)
{
    const int64_t bytes = n * (int64_t)vf_dtype_bytes(type);
    return vf_overlap_bytes(device, a, bytes, b, bytes);
}
