/* How computations register their backends, and front ends find them; not installed.
 *
 * A front end lists the backends of its computation for all kinds of device, built or not. For a kind that is not
 * built, one file defines empty tables: no_cuda.c, kernel_no_cuda.c. So a program linked to the static library contains
 * only the backends of the computations that it uses. */
#ifndef VOXFIELD_REGISTRY_H
#define VOXFIELD_REGISTRY_H

#include "backend/variants.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_backend {
    /* The kind of device, and the names of variants (none if it is not built); NULL ends a list. */
    const vf_variants *offers;
    const void *table; /* the functions; the front end knows the type */
} vf_backend;

/* For backends with a single variant. */
extern const vf_variants vf_cpu_only, vf_cuda_only, vf_opencl_only;

/* The variant name with this index for a kind of device; NULL beyond the last. */
const char *vf_backend_variant(const vf_backend *list, vf_device_kind kind, int index);

/* Finds the table of the backend with the variant `wish` for the device (NULL: the first variant). *variant (may be
 * NULL) is set to the name in the list, which is static. `what` is for the message: "the direct sum". Errors:
 * VF_ERR_ARGUMENT (unknown variant; the message lists the known ones), VF_ERR_UNSUPPORTED (no backend for the device).
 * *table is NULL then. */
VF_MUST_CHECK vf_status vf_backend_choose(const vf_backend *list, const char *what, vf_device *device, const char *wish,
                                          const void **table, const char **variant);

/* The table of the first variant; NULL if there is none. For libcore's computations, which support every kind of
 * device. */
const void *vf_backend_table(const vf_backend *list, const vf_device *device);

#ifdef __cplusplus
}
#endif
#endif
