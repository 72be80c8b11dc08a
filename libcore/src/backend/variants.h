/* The named variants of a computation, and those of the CPU that are instruction sets; not installed. */
#ifndef VOXFIELD_VARIANTS_H
#define VOXFIELD_VARIANTS_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The variants of a backend. */
typedef struct vf_variants {
    vf_device_kind kind;
    const char *const *names; /* NULL-terminated, the default first */
} vf_variants;

/* The variants of a CPU backend that compiles one source for all instruction sets: "simd", the widest that the CPU has,
 * and each set by name. */
extern const char *const vf_isa_variants[];

/* The instruction set of one of vf_isa_variants; *variant is set to the name of the set. `what` begins messages.
 * Errors: VF_ERR_UNSUPPORTED (the CPU lacks it), VF_ERR_INTERNAL (another name). */
VF_MUST_CHECK vf_status vf_variant_isa(vf_device *device, const char *what, const char **variant, vf_isa *isa);

#ifdef __cplusplus
}
#endif
#endif
