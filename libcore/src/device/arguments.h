/* What the public calls of libcore check of their arguments, in one place; not installed. All errors are
 * VF_ERR_ARGUMENT; `what` begins the message: "a copy". */
#ifndef VOXFIELD_ARGUMENTS_H
#define VOXFIELD_ARGUMENTS_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* More than any memory holds, and little enough that a few such lengths add up in 64 bits. */
#define VF_MOST_BYTES (INT64_C(1) << 62)

/* There is such a type; it is complex; it is of floating-point numbers, real or complex; n elements of it can be. */
VF_MUST_CHECK vf_status vf_check_type(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_complex(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_floating(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_length(vf_context *ctx, const char *what, vf_dtype type, int64_t n);

/* A pointer that a caller gave, and what the header calls it. */
typedef struct vf_pointer {
    const char *name;
    const void *data;
} vf_pointer;

/* None of them is NULL; the one without a name ends them. */
VF_MUST_CHECK vf_status vf_check_pointers(vf_context *ctx, const char *what, const vf_pointer *pointers);
#define VF_CHECK_POINTERS(ctx, what, ...) vf_check_pointers(ctx, what, (const vf_pointer[]){__VA_ARGS__, {NULL, NULL}})

/* n elements of the type can be, and none of the pointers is NULL unless n = 0. */
VF_MUST_CHECK vf_status vf_check_arrays(vf_context *ctx, const char *what, vf_dtype type, int64_t n,
                                        const vf_pointer *pointers);
#define VF_CHECK_ARRAYS(ctx, what, type, n, ...)                                                                       \
    vf_check_arrays(ctx, what, type, n, (const vf_pointer[]){__VA_ARGS__, {NULL, NULL}})

/* Whether arrays of n elements in the device's memory have some in common; false where memory has no addresses by which
 * that could be seen. */
bool vf_overlap(const vf_device *device, vf_dtype type, int64_t n, const void *a, const void *b);

#ifdef __cplusplus
}
#endif
#endif
