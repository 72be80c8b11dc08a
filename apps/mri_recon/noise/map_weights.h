/* What coil maps say of each voxel, and other values of voxels, on the device (map_weights.c). */
#ifndef MAP_WEIGHTS_H
#define MAP_WEIGHTS_H

#include "frames/crew.h"

/* Makes values [first, first + count). Several threads call it at once. */
typedef void value_maker(const void *user, int64_t first, int64_t count, double *out);

/* Copies `count` real numbers to the device in the solver's precision; the array grows as needed. The whole array is never in host
 * memory in double precision. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status put_made(const recon_job *job, int64_t count, value_maker *make, const void *user,
                                 vf_queue *queue, vf_array *to);

/* Sets, for each set of the place's maps, the support (where the coils see anything), the balance, and, if the prior is of the
 * spectrum, the envelope of `known`. Support and balance stay if the solver has those of these maps and this power. Errors: as put_made. */
VF_MUST_CHECK vf_status put_support(crew *c, const frame_envelope *envelope, const frame_place *place, double power,
                                    device_solver *s);

/* Copies the balance of the frames' maps, 1 / sqrt(sum |s|^2) relative to its mean, to the device: [image][voxels], 0 where no coil
 * sees. Errors: as put_made. */
VF_MUST_CHECK vf_status regularise_balance(crew *c, const frame_group *g, double power, vf_queue *queue, vf_array *to);

#endif
