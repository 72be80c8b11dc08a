/* Makes the images of a group of frames on a crew's devices (frame_group.c). */
#ifndef SOLVE_GROUP_H
#define SOLVE_GROUP_H

#include "frames/crew.h"

/* The number of devices of a team that need Q. */
int crew_normals(const recon_job *job, int devices);

/* Makes Q of a trajectory and the solvers. Errors: as normal_matrix_create and vf_prior_create. */
VF_MUST_CHECK vf_status crew_prepare(crew *c, int trajectory);

/* ---- crew_coils.c ---- */

/* Allocates the vectors b and x on the devices that solve a system, for `sets` images. Arrays that are large enough
 * stay. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status crew_make_vectors(crew *c, int d, int sets);
/* Copies the frame's maps to the devices; each device gets its share of the coils. Errors: as device_maps_put. */
VF_MUST_CHECK vf_status crew_give_coils(crew *c, const scan_frame *frame);

/* Makes the images of a group in host memory: each frame's [channel][voxel] or [set][voxel], frame_bytes apart. `request`
 * NULL: the frames' own images, by the settings. After an error the crew can be freed, and another crew can make the same
 * group. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_make_group(crew *c, const frame_group *g, const group_request *request, char *images);
void crew_free(crew *c); /* does not free its watch */

/* F^H d of a group of frames of one trajectory, and their places' maps; `envelopes`: their envelopes, too. */
VF_MUST_CHECK vf_status crew_adjoints(crew *c, const frame_group *g, bool envelopes, char *images);
/* The power of a frame's place; finds it if need be. */
VF_MUST_CHECK vf_status crew_power(crew *c, const scan_frame *frame, double *power);
/* Starts the stage "solve" of `work` units for some of a group's frames. */
void crew_stage_solve(crew *c, int frames, double work);

#endif
