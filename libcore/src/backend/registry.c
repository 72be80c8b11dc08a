#include "registry.h"
#include "voxfield/append.h"

#include <stdio.h>
#include <string.h>

const vf_variants vf_cpu_only = {VF_DEVICE_CPU, (const char *const[]){"cpu", NULL}};
const vf_variants vf_cuda_only = {VF_DEVICE_CUDA, (const char *const[]){"cuda", NULL}};
const vf_variants vf_opencl_only = {VF_DEVICE_OPENCL, (const char *const[]){"opencl", NULL}};

/* The variant with this index, and its backend; NULL beyond the last. */
static const char *find(const vf_backend *list, vf_device_kind kind, int index, const vf_backend **owner)
{
    for (*owner = list; (*owner)->offers; ++*owner) {
        const vf_variants *offers = (*owner)->offers;
        for (int v = 0; offers->kind == kind && offers->names && offers->names[v]; v++)
            if (index-- == 0)
                return offers->names[v];
    }
    return NULL;
}

const char *vf_backend_variant(const vf_backend *list, vf_device_kind kind, int index)
{
    const vf_backend *owner;
    return find(list, kind, index, &owner);
}

vf_status vf_backend_choose(const vf_backend *list, const char *what, vf_device *device, const char *wish,
                            const void **table, const char **variant)
{
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_context *ctx = vf_device_context(device);
    const vf_backend *owner;
    const char *name;
    char known[256] = "";
    *table = NULL;
    for (int i = 0; (name = find(list, kind, i, &owner)); i++) {
        if (!wish || strcmp(wish, name) == 0) {
            *table = owner->table;
            if (variant)
                *variant = name;
            return VF_OK;
        }
        vf_append(known, sizeof known, "%s%s", i ? ", " : "", name);
    }
    if (!known[0])
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s has no backend for %s", what, vf_device_spec(device));
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s has no variant '%s' on %s; the variants are %s", what, wish,
                   vf_device_spec(device), known);
}

const void *vf_backend_table(const vf_backend *list, const vf_device *device)
{
    const vf_backend *owner;
    return find(list, vf_device_get_kind(device), 0, &owner) ? owner->table : NULL;
}
