#include "variants.h"

#include <string.h>

const char *const vf_isa_variants[] = {"simd", "baseline", "avx2", "avx512", NULL};

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
