/* Functions that planning (plan_potential.c), computing (compute_potential.c) and averaging (average.c) share. */
#ifndef CIONIZE_POTENTIAL_COMMON_H
#define CIONIZE_POTENTIAL_COMMON_H

#include "potential_plan.h"

enum { POTENTIAL_QUEUES_PER_GPU = 2 }; /* one computes while the other copies */

/* A molecule's charges in the form that methods take. */
vf_coulomb_atoms potential_charges(const molecule *m);

/* The context's first working device. */
vf_device *potential_first_device(const vf_context *ctx);

/* Whether all devices are the CPU's. */
bool potential_on_host(const vf_context *ctx);

/* The axis along which slabs are cut: the slowest of the file. */
int potential_slab_axis(map_order order);

/* Layers [first, behind) along that axis. */
vf_box potential_slab_box(const potential_plan *plan, int64_t first, int64_t behind);

/* Queues the potential over a box, in file order, with a `sum` of the queue's device for plan->problem. `scratch` and
 * `out`: VF_SPACE_DEVICE memory for the box; scratch is only used for MAP_Z_FASTEST, otherwise it may be NULL. Errors:
 * those of vf_potential_compute and vf_queue_sync. */
VF_MUST_CHECK vf_status potential_execute(const potential_plan *plan, const vf_potential *sum, vf_queue *queue,
                                          const vf_box *box, void *scratch, void *out);

/* Handles a device that could not be prepared, when the context has an error of this status. If the user named no
 * devices and another is left, the device is given up (VF_OK). Otherwise the error remains. */
VF_MUST_CHECK vf_status potential_leave_out(vf_context *ctx, const potential_plan *plan, int device, vf_status status);

#endif
