/* A team of devices that make one image together: each device's share of the work and its coil maps. */
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

/* Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. Call team_free on `out` even after an error. */
VF_MUST_CHECK vf_status team_create(vf_context *ctx, int first, int count, device_team *out);
void team_free(device_team *team); /* leaves it zero */

/* Calls `work` for devices [0, parts) of a team, each on its own thread; a single part runs on the caller's thread.
 * Returns when all have ended. Errors: the first error of `work`; VF_ERR_MEMORY; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status team_run(const device_team *team, int parts, vf_status (*work)(void *user, int part),
                                 void *user);

/* Splits [0, n) into `parts` parts whose lengths differ by at most `step`, and returns the start of part `part`; n for
 * part == parts. */
int64_t team_cut(int64_t n, int64_t step, int parts, int part);

/* One device's share of an image: a range of coils and a range of voxels. */
typedef struct team_share {
    int64_t first_coil, coils;
    int64_t first_voxel, voxels;
} team_share;

/* Coil maps of one place in device memory; each device of the team has its share. Zero-initialise it. */
typedef struct device_maps {
    int place, parts; /* parts 0: no maps yet */
    int sets;
    int filled;        /* how often they were copied or allocated: tells what was made of them before */
    team_share *share; /* [parts] */
    vf_array *array;   /* [parts]: [set][its coils][its voxels] complex */
} device_maps;

/* Coil maps of a place in host memory. */
typedef struct host_maps {
    int place, sets;
    int64_t coils, voxels;
    const float complex *data; /* [set][coil][voxel] */
} host_maps;

/* Copies the maps to the devices, unless `out` already has them; first frees the arrays of `out` that do not fit.
 * Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status device_maps_put(const device_team *team, int parts, const team_share *shares, vf_dtype type,
                                        const host_maps *maps, device_maps *out);
void device_maps_free(device_maps *maps); /* leaves it zero */

#endif
