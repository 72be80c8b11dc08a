/* The weight of quadratic priors from the noise, and the preconditioner (regularise.c). */
#ifndef REGULARISE_H
#define REGULARISE_H

#include "frames/crew.h"
#include "wiener.h"

/* Sets the prior's weight in the crew's solvers, and the preconditioner if regularise_by_noise. `power` is from
 * place_power; `envelope` is used only if regularise_by_noise. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status regularise_frame(crew *c, const scan_frame *frame, double power,
                                         const frame_envelope *envelope);
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

/* What a set of maps says of each voxel. */
typedef void regularise_of_maps(const recon_job *j, const frame_place *place, int set, double power, double *out);
/* 1 / sqrt(sum |s|^2) of a set of maps relative to its mean, [voxels]; 0 where no coil sees. */
regularise_of_maps regularise_balance;
/* The share of a voxel's F^H W F that is missing after the balance, [voxels]: 0 where the coils see it, 1 where they do
 * not. */
regularise_of_maps regularise_unseen;
/* Copies real numbers to the device in the solver's precision; the array grows as needed. Errors: VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status regularise_put(const recon_job *j, const double *values, int64_t count, vf_queue *queue,
                                       vf_array *to);
/* Copies `what` of each set of a place's maps to the device, times factor[f] for each of `frames` frames: [frame][set]
 * [voxels]. Errors: VF_ERR_MEMORY, as regularise_put. */
VF_MUST_CHECK vf_status regularise_put_of_maps(const recon_job *j, const frame_place *place, regularise_of_maps *what,
                                               double power, int frames, const double *factor, vf_queue *queue,
                                               vf_array *to);
/* The variance of a sample's noise that the priors assume. */
double regularise_variance(const recon_job *j);

#endif
