/* Choosing among the variants of a computation by name, for the front ends of plans; not installed. */
#ifndef VOXFIELD_VARIANTS_H
#define VOXFIELD_VARIANTS_H

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a backend offers: the first member of its table. */
typedef struct vf_variants {
    vf_device_kind kind;
    const char *const *names; /* NULL-terminated, the default first */
} vf_variants;

/* The index'th name that `count` backends together know for a kind of device; NULL beyond the last. */
const char *vf_variant_name(const vf_variants *const *backends, int count, vf_device_kind kind, int index);

/* The backend that has the variant `wish` for the device (NULL: the first there is), and the name in its list; NULL if
 * none. `what` is for the message: "the direct sum". Errors: VF_ERR_ARGUMENT (none; the message lists what there is).
 */
VF_MUST_CHECK vf_status vf_variant_choose(vf_device *device, const char *what, const vf_variants *const *backends,
                                          int count, const char *wish, const vf_variants **backend, const char **name);

/* The variants of a CPU backend that has one source for all instruction sets: "simd", the widest that the CPU has,
 * and each set by name. */
extern const char *const vf_isa_variants[];

/* The instruction set of one of vf_isa_variants; *variant becomes the set's name. `what` begins messages. Errors:
 * VF_ERR_UNSUPPORTED (the CPU lacks it), VF_ERR_INTERNAL (another name). */
VF_MUST_CHECK vf_status vf_variant_isa(vf_device *device, const char *what, const char **variant, vf_isa *isa);

#ifdef __cplusplus
}
#endif
#endif
