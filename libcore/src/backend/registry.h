/* The one way in which computations register their backends and front ends find them; not installed.
 *
 * A front end lists the backends of its computation, those of all kinds of device, whether they are built or not. Where
 * a kind is not built, one file defines its tables as empty: no_cuda.c, kernel_no_cuda.c. So a program that is linked
 * to the static library holds the backends of what it uses, and of nothing else. */
#ifndef VOXFIELD_REGISTRY_H
#define VOXFIELD_REGISTRY_H

#include "backend/variants.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_backend {
    const vf_variants *offers; /* the kind of device, and the names of variants: none if it is not built; NULL ends a
                                  list */
    const void *table;         /* the functions; its type is known to the front end */
} vf_backend;

/* The offers of a backend that comes in one variant. */
extern const vf_variants vf_cpu_only, vf_cuda_only;

/* The index'th name of a variant for a kind of device; NULL beyond the last. */
const char *vf_backend_variant(const vf_backend *list, vf_device_kind kind, int index);

/* The table of the backend that has the variant `wish` for the device (NULL: the first one there is); *variant (may be
 * NULL) gets the name in the list, which lives on. `what` is for the message: "the direct sum". Errors: VF_ERR_ARGUMENT
 * (no such variant; the message lists what there is), VF_ERR_UNSUPPORTED (no backend for the device). *table is NULL
 * then. */
VF_MUST_CHECK vf_status vf_backend_choose(const vf_backend *list, const char *what, vf_device *device, const char *wish,
                                          const void **table, const char **variant);

/* The table of the first variant; NULL if there is none. For libcore's computations, which every kind of device has. */
const void *vf_backend_table(const vf_backend *list, const vf_device *device);

#ifdef __cplusplus
}
#endif
#endif
