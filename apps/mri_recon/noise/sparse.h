/* The weights of sparse priors from the noise, and the preconditioner (sparse.c). */
#ifndef SPARSE_H
#define SPARSE_H

#include "frames/crew.h"

/* Sets the weights of the sparse priors, and the preconditioner for them, in the crew's solvers for frames that are solved for
 * together. Call it after regularise_frames. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status sparse_frames(crew *c, const frame_group *g, double power);
/* Sets the weights again, for another factor of the job, and the summary's. */
void sparse_weigh(crew *c);
/* The tolerance of the solution; after sparse_frames. */
double sparse_tolerance(const crew *c);

#endif
