/* A factor on lambda by predicted risk (choose_lambda.c). */
#ifndef CHOOSE_LAMBDA_H
#define CHOOSE_LAMBDA_H

#include "frames/crew.h"

/* The frames that lambda is chosen for: one, or a group of those that are solved together. */
frame_group sure_group(const recon_job *job, const frame_group *group, int groups);
/* Makes the probe of a group of frames, whose maps must have been made. The seed of the settings determines it. Errors:
 * as crew_adjoints. */
VF_MUST_CHECK vf_status sure_probe(crew *c, const frame_group *g);
/* vf_sure_problem's; all vectors are in host memory. */
typedef vf_status (*sure_estimate)(void *user, double factor, bool again, const void *b, void *x, double *data);
/* Sets the job's factor from the images F^H d of the probe's group, `count` numbers in host memory. Errors: as
 * vf_sure_search. */
VF_MUST_CHECK vf_status sure_choose(crew *c, const char *b, int64_t count, sure_estimate estimate, void *user);

#endif
