/* A factor on lambda by predicted risk (choose_lambda.c). */
#ifndef CHOOSE_LAMBDA_H
#define CHOOSE_LAMBDA_H

#include "frames/crew.h"

/* The frames that lambda is chosen for: one, or a group of those that are solved together. */
frame_group sure_group(const recon_job *job, const frame_group *group, int groups);
/* A group_request's: makes the probe of a group of frames, whose maps must have been made. */
VF_MUST_CHECK vf_status sure_probe(crew *c, const frame_group *g);
/* Sets the job's factor from the images of such a group, which `images` has room for. The seed of the settings determines the
 * noise that it tries. Errors: as crew_make_group and vf_sure_search. */
VF_MUST_CHECK vf_status crew_choose_lambda(crew *c, const frame_group *g, char *images);

/* ---- choose_reference.c ---- */

/* How strongly references act, and whether they fit: sets the job's fit, and with --lambda auto its strength, from the images of a
 * group as sure_group has, which `images` has room for. Errors: as crew_make_group, vf_sure_risk and reference_fit_measure. */
VF_MUST_CHECK vf_status crew_choose_reference(crew *c, const frame_group *g, char *images);

#endif
