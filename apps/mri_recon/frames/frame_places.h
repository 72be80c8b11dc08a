/* What frames of a place share: coil maps, and the power of their images (frame_places.c). */
#ifndef FRAME_PLACES_H
#define FRAME_PLACES_H

#include "crew.h"

VF_MUST_CHECK vf_status places_create(recon_job *job);
void places_free(recon_job *job);

/* Makes the coil maps of the frame's place in host memory, once. */
VF_MUST_CHECK vf_status place_maps(crew *c, const scan_frame *frame);

/* Writes the maps of all places to the file of the settings, if given. Call it after all frames are made. */
VF_MUST_CHECK vf_status places_save_maps(const recon_job *job);
/* With coil_settings.keep, makes summary->maps: the first set of each place's maps, 0 where there are none. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status places_keep_maps(const recon_job *job, recon_summary *summary);

/* Claims the powers of places whose first frame is in the group and that no crew has claimed yet. */
VF_MUST_CHECK vf_status claim_powers(crew *c, const frame_group *g);
/* Computes the place's power from the image F^H d of a claimed frame; does nothing for other frames. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status found_image(crew *c, const scan_frame *frame, const char *image);
/* Releases the claims that are left, so that other crews can take them. */
void leave_powers(crew *c);
/* The power of a frame's place; waits if another crew is finding it. False: the caller now has the claim, and must make
 * F^H d of the place's first frame and call found_image or leave_powers. */
bool place_power(crew *c, const scan_frame *frame, double *power);

/* sum over coils of |s|^2 of one set of maps, [voxels] */
void map_powers(const recon_job *job, const float complex *maps, double *out);
/* The same of all sets of a place's maps, [set][voxels], until the crew is asked for those of another place. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status crew_map_powers(crew *c, const frame_place *place, const double **out);

#endif
