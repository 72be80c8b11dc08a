/* What planning a map's computation (plan_potential.c) and doing it (potential.c, average.c) share. */
#ifndef CIONIZE_POTENTIAL_COMMON_H
#define CIONIZE_POTENTIAL_COMMON_H

#include "potential_plan.h"

enum { POTENTIAL_QUEUES_PER_GPU = 2 }; /* one computes while the other copies */

/* A molecule's charges as methods take them. */
vf_coulomb_atoms potential_charges(const molecule *m);

/* The context's first device that has not been given up. */
vf_device *potential_first_device(const vf_context *ctx);

/* The axis along which slabs are cut: the file's slowest. */
int potential_slab_axis(map_order order);

/* Layers [first, behind) along that axis. */
vf_box potential_slab_box(const potential_plan *plan, int64_t first, int64_t behind);

/* Puts the potential over a box into the queue, in the file's order, by a `sum` of its device for plan->problem.
 * `scratch` and `out`: VF_SPACE_DEVICE memory for the box; scratch is used only for MAP_Z_FASTEST, and may be NULL
 * else. Errors: those of vf_potential_compute and vf_queue_sync. */
VF_MUST_CHECK vf_status potential_execute(const potential_plan *plan, const vf_potential *sum, vf_queue *queue,
                                          const vf_box *box, void *scratch, void *out);

/* What becomes of a device, by its index, that cannot be prepared, after which the context has an error of this status:
 * it stays an error, or, if the user has named no devices and another is left, the device is given up (VF_OK). */
VF_MUST_CHECK vf_status potential_leave_out(vf_context *ctx, const potential_plan *plan, int device, vf_status status);

#endif
