/* The weights of sparse priors from the noise, and the preconditioner (sparse.c). */
#ifndef SPARSE_H
#define SPARSE_H

#include "frames/crew.h"

/* Makes the penalties of the settings for `images` images, without weights. Errors: as vf_penalties_create. */
VF_MUST_CHECK vf_status sparse_create(const recon_job *j, vf_device *device, int images, vf_penalties **out);
/* The unit of lambda; *mean gets the mean eigenvalue of F^H W F. Both for c->density. */
double sparse_unit(const crew *c, double power, double *mean);
/* The expected error of a frame's image with the spectrum prior, relative to the signal; without a forecast a usual
 * value. */
double sparse_error(const recon_summary *summary);
/* The tolerance of a frame's solution. */
double sparse_tolerance(const recon_job *j, const recon_summary *summary);
/* Sets the weights of penalties, and the summary's; `error` is of sparse_error. */
void sparse_weigh(crew *c, vf_penalties *penalties, double mean, double unit, double error);
/* Makes K of solve_sparse, with the eigenvalues kappa [voxels]: `mean` at frequencies that are not `reached`
 * (scan_mark_reached), else 0. *held is replaced, by NULL if all are reached. Errors: as vf_circulant_create. */
VF_MUST_CHECK vf_status sparse_hold(const recon_job *j, vf_queue *queue, const bool *reached, double mean,
                                    double *kappa, vf_circulant **held);
/* The eigenvalues [voxels] of what the preconditioner inverts, for c->density, without the differences between frames. */
void sparse_spectrum(const crew *c, const vf_penalties *penalties, double power, double mean, const double *kappa,
                     double *out);
/* Sets the preconditioner's matrices of the penalties' extra components, from number `first` on. `room`: [voxels].
 * Errors: as vf_circulant_set. */
VF_MUST_CHECK vf_status sparse_set_fields(const recon_job *j, const vf_penalties *penalties, vf_queue *queue, int first,
                                          double *room, vf_circulant *inverse);
/* Sets the weights of the sparse priors, and the preconditioner for them, in the crew's solvers. Call it after
 * regularise_frame. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE. */
VF_MUST_CHECK vf_status sparse_frame(crew *c, const scan_frame *frame, double power);
/* The problem of a frame on a device, after sparse_frame. */
sparse_problem sparse_problem_of(const crew *c, const device_solver *s);

#endif
