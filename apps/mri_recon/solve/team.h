/* Devices that make one image together: what each of them does, and the coil maps that each has. */
#ifndef TEAM_H
#define TEAM_H

#include <complex.h>

#include "voxfield/device.h"

/* The context's devices [first, first + count), and a queue on each. Zero-initialise it. */
typedef struct device_team {
    vf_context *ctx;
    int first, count;
    vf_queue **queue; /* [count] */
} device_team;

/* Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. `out` is freed with team_free either way. */
VF_MUST_CHECK vf_status team_create(vf_context *ctx, int first, int count, device_team *out);
void team_free(device_team *team); /* leaves it zero */

/* Calls `work` for the devices [0, parts) of a team, each on a thread of its own, one alone on the caller's; returns
 * when all have ended. Errors: the first of theirs; VF_ERR_MEMORY; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status team_run(const device_team *team, int parts, vf_status (*work)(void *user, int part),
                                 void *user);

/* Where part number `part` of [0, n) begins, of `parts` that differ by `step` at most; n for the part behind the last.
 */
int64_t team_cut(int64_t n, int64_t step, int parts, int part);

/* What one device does of an image: some coils, seen at some voxels. */
typedef struct team_share {
    int64_t first_coil, coils;
    int64_t first_voxel, voxels;
} team_share;

/* Coil maps of one place in the memory of a team's devices, each with its share. Zero-initialise it. */
typedef struct device_maps {
    int place, parts; /* parts 0: none are there */
    int sets;
    team_share *share; /* [parts] */
    vf_array *array;   /* [parts]: [set][its coils][its voxels] complex */
} device_maps;

/* Coil maps of a place in host memory. */
typedef struct host_maps {
    int place, sets;
    int64_t coils, voxels;
    const float complex *data; /* [set][coil][voxel] */
} host_maps;

/* Copies what is not there yet; gives back other memory of `out` before. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY,
 * VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status device_maps_put(const device_team *team, int parts, const team_share *shares, vf_dtype type,
                                        const host_maps *maps, device_maps *out);
void device_maps_free(device_maps *maps); /* leaves it zero */

#endif
