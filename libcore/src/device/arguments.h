/* Checks of arguments shared by libcore's public functions; not installed. All errors are VF_ERR_ARGUMENT; `what`
 * begins the message: "a copy". */
#ifndef VOXFIELD_ARGUMENTS_H
#define VOXFIELD_ARGUMENTS_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* More than any memory, but small enough to add a few such lengths in 64 bits. */
#define VF_MOST_BYTES (INT64_C(1) << 62)

/* Check that the type exists; that it is complex; that it is real or complex floating point; that an array of n
 * elements is possible. */
VF_MUST_CHECK vf_status vf_check_type(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_complex(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_floating(vf_context *ctx, const char *what, vf_dtype type);
VF_MUST_CHECK vf_status vf_check_length(vf_context *ctx, const char *what, vf_dtype type, int64_t n);

/* A pointer argument, and its name in the header. */
typedef struct vf_pointer {
    const char *name;
    const void *data;
} vf_pointer;

/* Checks that no pointer is NULL; a NULL name ends the list. */
VF_MUST_CHECK vf_status vf_check_pointers(vf_context *ctx, const char *what, const vf_pointer *pointers);
#define VF_CHECK_POINTERS(ctx, what, ...) vf_check_pointers(ctx, what, (const vf_pointer[]){__VA_ARGS__, {NULL, NULL}})

/* Checks that an array of n elements is possible, and that no pointer is NULL unless n = 0. */
VF_MUST_CHECK vf_status vf_check_arrays(vf_context *ctx, const char *what, vf_dtype type, int64_t n,
                                        const vf_pointer *pointers);
#define VF_CHECK_ARRAYS(ctx, what, type, n, ...)                                                                       \
    vf_check_arrays(ctx, what, type, n, (const vf_pointer[]){__VA_ARGS__, {NULL, NULL}})

/* Whether two arrays of n elements in the device's memory overlap; false if the device's pointers are not addresses. */
bool vf_overlap(const vf_device *device, vf_dtype type, int64_t n, const void *a, const void *b);
bool vf_overlap_bytes(const vf_device *device, const void *a, int64_t a_bytes, const void *b, int64_t b_bytes);

#ifdef __cplusplus
}
#endif
#endif
