/* What planning a map's computation (plan_potential.c) and doing it (potential.c, average.c) share. */
#ifndef CIONIZE_POTENTIAL_COMMON_H
#define CIONIZE_POTENTIAL_COMMON_H

#include "cionize.h"
#include "coulomb_sum.h"

enum { POTENTIAL_QUEUES_PER_GPU = 2 }; /* one computes while the other copies */

/* How the kernel is asked for the map, and its atoms, the first `most` of them. */
vf_coulomb_options potential_kernel_options(const cionize_settings *s, double scale);
vf_coulomb_atoms potential_kernel_atoms(const molecule *m, int64_t most);

/* The context's first device that has not been given up. */
vf_device *potential_first_device(const vf_context *ctx);

/* The axis along which slabs are cut: the file's slowest. */
int potential_slab_axis(map_order order);

/* Layers [first, behind) along that axis. */
vf_box potential_slab_box(const potential_plan *plan, const vf_grid *grid, int64_t first, int64_t behind);

/* Puts the sum over a box into the queue, in the file's order, by a plan of its device for this grid and type.
 * `scratch` and `out`: VF_SPACE_DEVICE memory for the box; scratch is used only for MAP_Z_FASTEST, and may be NULL
 * else. Errors: those of vf_coulomb_execute and vf_queue_sync. */
VF_MUST_CHECK vf_status potential_execute(const potential_plan *plan, const vf_grid *grid, vf_dtype type,
                                          const vf_coulomb *kernel, vf_queue *queue, const vf_box *box, void *scratch,
                                          void *out);

/* What becomes of a device, by its index, that cannot be prepared, after which the context has an error of this status:
 * it stays an error, or, if the user has named no devices and another is left, the device is given up (VF_OK). */
VF_MUST_CHECK vf_status potential_leave_out(vf_context *ctx, const potential_plan *plan, int device, vf_status status);

#endif
