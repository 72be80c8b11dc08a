/* The noise of the samples (noise_level.c). */
#ifndef NOISE_LEVEL_H
#define NOISE_LEVEL_H

#include "frames/crew.h"

/* Finds the noise of the job's samples: known if a noise scan was used for whitening, else the smallest variance of the
 * outermost samples of a few frames. *frame gets the job's number of a frame for noise_from_residual, or -1. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_from_samples(recon_job *job, int *frame);

/* The number of a frame's samples with a weight above 0. */
int64_t used_samples(const recon_job *j, const scan_frame *frame);

/* The variance of the outermost samples of one frame; 0: it has none. *error: its relative standard error, if they are
 * noise. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status noise_of_outer(const recon_job *j, const scan_frame *frame, double *variance, double *error);

/* The mean of w |d|^2 over a frame's samples and coils. */
double mean_of_samples(const recon_job *j, const scan_frame *frame);

/* Lowers the estimate to the variance that a frame's image (as crew_make_group leaves it) leaves of the outermost
 * samples, which is smaller if signal reaches the edge of k-space, unless the noise is known. Sets the job's misfit.
 * *told: the image left enough of these samples for an estimate. Errors: as encoding_create. */
VF_MUST_CHECK vf_status noise_from_residual(crew *c, int frame, const char *image, bool *told);

/* The variance of a frame's noise over the job's. */
double frame_noise_ratio(const recon_job *j, const scan_frame *frame);
/* The weight of a frame's data beside those of others that the crew solves for together: the inverse of it; 1 if it is alone. */
double frame_weight(const crew *c, const scan_frame *frame);

#endif
