/* Which backends there are, and how a front end finds its own; not installed. Each kind of device has one file that
 * lists all backends for it: core_backends_KIND.c of libcore's computations, kernel_backends_KIND.c of the kernels'.
 * A front end names its computation and gets the table of functions; no front end knows which kinds were built. */
#ifndef VOXFIELD_REGISTRY_H
#define VOXFIELD_REGISTRY_H

#include "backend/variants.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_backend {
    const char *computation;   /* as messages name it: "the direct sum"; NULL ends a list */
    const vf_variants *offers; /* the kind of device, and the names of variants */
    const void *table;         /* the functions; its type is known to the front end of the computation */
} vf_backend;

/* The lists of one part of the suite, one for each kind of device; NULL ends them. A list is empty if the library was
 * built without its kind. */
typedef const vf_backend *const vf_backend_lists[];

extern vf_backend_lists vf_core_backends; /* libcore's own */
extern const vf_backend vf_core_backends_cpu[], vf_core_backends_cuda[];

/* What a list says of backends that come in one variant. */
extern const vf_variants vf_cpu_only, vf_cuda_only;

/* The index'th name of a variant of a computation on a kind of device; NULL beyond the last. */
const char *vf_backend_variant(vf_backend_lists lists, const char *computation, vf_device_kind kind, int index);

/* The table of the backend that has the variant `wish` of a computation for the device (NULL: the first one there is);
 * *variant (may be NULL) gets the name in the list, which lives on. Errors: VF_ERR_ARGUMENT (no such variant; the
 * message lists what there is), VF_ERR_UNSUPPORTED (no backend for the device). *table is NULL then. */
VF_MUST_CHECK vf_status vf_backend_choose(vf_backend_lists lists, const char *computation, vf_device *device,
                                          const char *wish, const void **table, const char **variant);

/* The table of the first variant; NULL if there is none. For libcore's computations, all of which every kind of device
 * must have. */
const void *vf_backend_table(vf_backend_lists lists, const char *computation, const vf_device *device);

#ifdef __cplusplus
}
#endif
#endif
