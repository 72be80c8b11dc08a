/* Noise from first images (frame_noise.c). */
#ifndef FRAME_NOISE_H
#define FRAME_NOISE_H

#include "frames/crew.h"

/* Sets the job's noise from first images of a group's first frame, after noise_from_samples. With sparse priors, sets
 * noise_ratio if frames of a place differ in noise. `image` has room for a frame's images. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_find_noise(crew *c, const frame_group *one, char *image);

#endif
