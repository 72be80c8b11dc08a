/* What the samples of a channel alone say of it: signal or noise. */
#ifndef CHANNEL_NOISE_H
#define CHANNEL_NOISE_H

#include "coil_sums.h"
#include "scan/mri_scan.h"

/* The matrix and field of view of a scan. */
vf_wiener_space wiener_space_of(const mri_scan *raw);
/* The samples of a frame, of all coils. */
vf_wiener_samples wiener_samples_of(const mri_scan *raw, const scan_frame *frame);

typedef vf_coil_moments channel_statistics;

/* Statistics of all channels over all frames, or with `outer` over the outermost samples of at most 16 frames, of which
 * `half` [2][coils] gets the means of the inner and the outer half. `out` [coils]. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status channel_measure(vf_context *ctx, const mri_scan *raw, bool outer, channel_statistics *out,
                                        double *half);

/* Whether the samples look like white complex Gaussian noise of one variance, within `deviations` standard deviations of
 * each statistic: for such noise, x has an exponential distribution, so the mean of x^2 is twice the square of the mean,
 * and the largest of n is the mean times ln n, with a chance of exp(-10) to exceed ln n + 10; neighbours are not
 * correlated. False if there are fewer than 256 samples. */
bool channel_looks_like_noise(const channel_statistics *s, double deviations);

/* *variance = the sum over the channels of the mean square of their outermost samples, if these look like noise in at least half of
 * the channels, within 6 standard deviations; else 0. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status channel_outer_noise(vf_context *ctx, const mri_scan *raw, double *variance);

/* If the scan has no noise samples, and the noise of its channels clearly differs, raw->noise becomes a diagonal matrix
 * of the channels' variances relative to their median, from the outermost samples, and raw->noise_estimated is set.
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status estimate_channel_noise(vf_context *ctx, mri_scan *raw);

#endif
