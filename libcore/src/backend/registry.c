#include "registry.h"

#include <stdio.h>
#include <string.h>

vf_backend_lists vf_core_backends = {vf_core_backends_cpu, vf_core_backends_cuda, NULL};

const vf_variants vf_cpu_only = {VF_DEVICE_CPU, (const char *const[]){"cpu", NULL}};
const vf_variants vf_cuda_only = {VF_DEVICE_CUDA, (const char *const[]){"cuda", NULL}};

/* The index'th variant, and whose it is; NULL beyond the last. */
static const char *find(vf_backend_lists lists, const char *computation, vf_device_kind kind, int index,
                        const vf_backend **owner)
{
    for (int l = 0; lists[l]; l++)
        for (const vf_backend *backend = lists[l]; backend->computation; backend++) {
            if (backend->offers->kind != kind || strcmp(backend->computation, computation) != 0)
                continue;
            *owner = backend;
            for (int v = 0; backend->offers->names[v]; v++)
                if (index-- == 0)
                    return backend->offers->names[v];
        }
    return NULL;
}

const char *vf_backend_variant(vf_backend_lists lists, const char *computation, vf_device_kind kind, int index)
{
    const vf_backend *owner;
    return find(lists, computation, kind, index, &owner);
}

vf_status vf_backend_choose(vf_backend_lists lists, const char *computation, vf_device *device, const char *wish,
                            const void **table, const char **variant)
{
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_context *ctx = vf_device_context(device);
    const vf_backend *owner;
    const char *name;
    char known[256] = "";
    *table = NULL;
    for (int i = 0; (name = find(lists, computation, kind, i, &owner)); i++) {
        if (!wish || strcmp(wish, name) == 0) {
            *table = owner->table;
            if (variant)
                *variant = name;
            return VF_OK;
        }
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", name);
    }
    if (!known[0])
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s has no backend for %s", computation, vf_device_spec(device));
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s has no variant '%s' on %s; there are %s", computation, wish,
                   vf_device_spec(device), known);
}

const void *vf_backend_table(vf_backend_lists lists, const char *computation, const vf_device *device)
{
    const vf_backend *owner;
    return find(lists, computation, vf_device_get_kind(device), 0, &owner) ? owner->table : NULL;
}
