#include "variants.h"

#include <stdio.h>
#include <string.h>

const char *const vf_isa_variants[] = {"simd", "baseline", "avx2", "avx512", NULL};

/* The index'th name for a kind, and whose it is; NULL twice beyond the last. */
static const char *find(const vf_variants *const *backends, int count, vf_device_kind kind, int index,
                        const vf_variants **backend)
{
    for (int b = 0; b < count; b++)
        for (int v = 0; backends[b]->kind == kind && backends[b]->names[v]; v++)
            if (index-- == 0) {
                *backend = backends[b];
                return backends[b]->names[v];
            }
    *backend = NULL;
    return NULL;
}

const char *vf_variant_name(const vf_variants *const *backends, int count, vf_device_kind kind, int index)
{
    const vf_variants *backend;
    return find(backends, count, kind, index, &backend);
}

vf_status vf_variant_choose(vf_device *device, const char *what, const vf_variants *const *backends, int count,
                            const char *wish, const vf_variants **backend, const char **name)
{
    char known[256] = "";
    vf_device_kind kind = vf_device_get_kind(device);
    for (int i = 0; (*name = find(backends, count, kind, i, backend)); i++) {
        if (!wish || strcmp(wish, *name) == 0)
            return VF_OK;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", *name);
    }
    return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT, "%s has no variant '%s' on %s; there are %s", what,
                   wish ? wish : "", vf_device_spec(device), known);
}

vf_status vf_variant_isa(vf_device *device, const char *what, const char **variant, vf_isa *isa)
{
    vf_context *ctx = vf_device_context(device);
    vf_isa best = vf_cpu_isa();
    *isa = best;
    if (strcmp(*variant, vf_isa_variants[0]) != 0)
        for (*isa = VF_ISA_BASELINE; *isa < VF_ISA_COUNT && strcmp(*variant, vf_isa_name(*isa)) != 0;)
            *isa = (vf_isa)(*isa + 1);
    if (*isa == VF_ISA_COUNT)
        return vf_fail(ctx, VF_ERR_INTERNAL, "%s: variant '%s' is not implemented", what, *variant);
    if (*isa > best)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s: this CPU has no %s, only %s", what, *variant, vf_isa_name(best));
    *variant = vf_isa_name(*isa);
    return VF_OK;
}
