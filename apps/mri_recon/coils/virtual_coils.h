/* How many virtual coils --compress auto keeps (virtual_coils.c). */
#ifndef VIRTUAL_COILS_H
#define VIRTUAL_COILS_H

#include "coil_covariance.h"

/* The noise of the coils, which should be white. */
typedef struct coil_noise {
    double variance;  /* of a sample of weight 1; 0: unknown */
    const char *from; /* where it is from, or why it is unknown; a constant */
} coil_noise;

/* `values`: the eigenvalues of covariance->sum, largest first. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status find_coil_noise(vf_context *ctx, const mri_scan *raw, const coil_covariance *covariance,
                                        const double *values, coil_noise *out);

/* The root mean square of the signal that goes with all components but the first `keep`, over cells and coils, relative
 * to that of the noise; 0 if they have less energy than noise. */
double loss_of_coils(const coil_covariance *covariance, const double *values, double variance, int keep);

/* The fewest components, at least 1, whose loss is at most a tenth, and without which no single component is. All if
 * `variance` is not positive. */
int choose_virtual_coils(const coil_covariance *covariance, const double *values, double variance);

#endif
