/* The weight of quadratic priors from the noise, and the preconditioner (regularise.c). */
#ifndef REGULARISE_H
#define REGULARISE_H

#include "frames/crew.h"
#include "wiener.h"

/* Sets the quadratic prior's weight in the crew's solvers for a frame, and the preconditioner if regularise_by_noise. `power` is
 * from place_power; `envelope` is used only if regularise_by_noise. Of a series, which has no quadratic prior, the balance of
 * its coils alone. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_frames(crew *c, const frame_group *g, double power, const frame_envelope *envelope);
/* Gives the solvers the weights of the references of the frame's place, unless they have them. Does nothing without the prior of
 * references (reference_weights.c). Errors: as vf_prior_set_reference. */
VF_MUST_CHECK vf_status give_reference(crew *c, const scan_frame *frame);
/* Makes c->density, the density of samples over frequency. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_density(crew *c, int trajectory);

/* The forecast for the last solved frame; forecast->outer counts frequencies beyond `radius`. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_forecast(crew *c, const scan_frame *frame, double power, double radius,
                                            vf_forecast *forecast);
/* E|n|^2 of a voxel's noise in the last solved frame, after a filter over frequency, [voxels]. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regularise_filtered_noise(crew *c, const scan_frame *frame, double power, const double *filter,
                                                  double *noise);
/* Sets the first device's preconditioners for the real and the imaginary part; the imaginary part has the share
 * `imaginary` of the power. 0: the phase is unknown. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_parts(crew *c, const scan_frame *frame, double power, double imaginary);

/* Copies to the device, for voxels that no coil sees well, the share of F^H W F that is missing after the balance, times `mean`
 * and the frame's weight: [image][voxels], 0 where the coils see the voxel. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status regularise_unseen(crew *c, const frame_group *g, double power, double mean, vf_queue *queue,
                                          vf_array *to);
/* Copies D and G of sparse_problem (solve/equations.h) to the device; `mean` [frame]: mean eigenvalues. Errors: as above. */
VF_MUST_CHECK vf_status regularise_dark(crew *c, const frame_group *g, double power, const double *mean,
                                        vf_queue *queue, vf_array *seen, vf_array *dark);
/* Copies 1 / the balance of the frames' maps to the device, [image][voxels], 0 where no coil sees. Errors: as above. */
VF_MUST_CHECK vf_status regularise_uneven(crew *c, const frame_group *g, double power, vf_queue *queue, vf_array *to);
/* The variance of a sample's noise that the priors assume. */
double regularise_variance(const recon_job *j);

#endif
