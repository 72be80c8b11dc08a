/* The phase of an image, where one side of k-space is missing (partial_fourier.c). */
#ifndef PARTIAL_FOURIER_H
#define PARTIAL_FOURIER_H

#include "frames/crew.h"
#include "noise_settings.h"

/* Whether frames of the trajectory lack one side of k-space and the settings allow the phase to make up for it.
 * reach[axis] gets the distance in cycles per field of view within which both sides are sampled. */
bool partial_fourier(const vf_context *ctx, const noise_settings *noise, const solve_settings *solve,
                     const coil_settings *coils, const mri_scan *raw, int trajectory, double reach[3]);

/* Gives the phase of a frame's image to the first device's solver. `image` is a solution without it (as crew_make_group
 * leaves it). A replica gets the phase of the frame it was made from. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status constrain_phase(crew *c, const scan_frame *frame, double power, const double reach[3],
                                        const char *image);

/* Whether any frame lacks one side of k-space and the settings allow the phase to make up for it. */
bool partial_fourier_any(const vf_context *ctx, const noise_settings *noise, const solve_settings *solve,
                         const coil_settings *coils, const mri_scan *raw);

#endif
