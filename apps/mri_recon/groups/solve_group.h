/* Makes the images of a group of frames on a crew's devices (frame_group.c). */
#ifndef SOLVE_GROUP_H
#define SOLVE_GROUP_H

#include "frames/crew.h"

/* Makes the images of a group in host memory: each frame's [channel][voxel] or [set][voxel], frame_bytes apart. `request`
 * NULL: the frames' own images, by the settings. After an error the crew can be freed, and another crew can make the same
 * group. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_make_group(crew *c, const frame_group *g, const group_request *request, char *images);
void crew_free(crew *c); /* does not free its watch */

/* The power of a frame's place; finds it if need be. */
VF_MUST_CHECK vf_status crew_power(crew *c, const scan_frame *frame, double *power);

/* ---- group_normals.c ---- */

/* The number of devices of a team that need F^H W F of a frame. */
int crew_normals(const recon_job *job, int devices);
/* Makes the solvers for frames of a trajectory, one by one, or for a series. Errors: as normal_matrix_create and
 * vf_prior_create; there are no solvers then. */
VF_MUST_CHECK vf_status crew_prepare(crew *c, const frame_group *g);
/* Gives the solvers the maps of frames that are solved for together, and vectors for them; what is large enough stays.
 * Errors: as device_maps_put, normal_operator_create. */
VF_MUST_CHECK vf_status crew_give_frames(crew *c, const frame_group *g);
void crew_free_solvers(crew *c);

/* ---- solve_group.c ---- */

/* Replaces the images F^H d of frames that are solved for together by the solution. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_solve(crew *c, const frame_group *g, const frame_envelope *envelope, char *images);

#endif
