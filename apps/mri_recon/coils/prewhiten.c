#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "channel_noise.h"
#include "coil_stages.h"
#include "voxfield/dense.h"

/* least_own: the share of a coil's noise variance that the coils before it must leave unexplained. Real coils share at
 * most some 90 % of their noise; a copy of another channel, or fewer noise samples than coils, leaves about 1e-16.
 * least_variance: the smallest variance relative to the largest. The gain of a connected channel is within 1e-6 of the
 * others. */
static const double least_own = 1e-10, least_variance = 1e-12;

/* The samples of an image have at least their own noise. Where the outermost ones have less than this share of the power
 * that the noise scan says, it is of another gain. Half as much deviation again is no reason: the outermost samples tell it
 * to a tenth, and dwell times are rounded. */
static const double LEAST_POWER = 1 / 2.25, OUTER_SHARE = 0.15;
enum { MOST_FRAMES = 16, LEAST_SAMPLES = 256 };

static vf_status whitening_matrix(vf_context *ctx, int coils, double complex *covariance)
{
    double largest = 0;
    for (int c = 0; c < coils; c++)
        largest = fmax(largest, creal(covariance[c * coils + c]));
    for (int c = 0; c < coils; c++)
        if (!(creal(covariance[c * coils + c]) > least_variance * largest))
            return vf_fail(
                ctx, VF_ERR_INPUT,
                "noise scan: coil %d of %d (counted from 0) has no noise (variance %g, the largest is %g) and may be "
                "unplugged; remove the coil from the file, or remove the noise acquisitions",
                c, coils, creal(covariance[c * coils + c]), largest);
    int row = vf_cholesky(coils, covariance, least_own);
    if (row >= 0)
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "noise scan: the noise of coil %d of %d (counted from 0) is NaN or a combination of other coils' noise, so "
            "the coils cannot be decorrelated; remove the coil, or remove the noise acquisitions if they have fewer "
            "samples than there are coils",
            row, coils);
    vf_invert_lower(coils, covariance);
    return VF_OK;
}

/* The least power of the outermost samples of a frame, after whitening; infinite if there are too few samples to tell. */
static vf_status least_power(vf_context *ctx, const mri_scan *raw, double *least)
{
    const vf_wiener_space space = wiener_space_of(raw);
    const int step = raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    vf_status status = VF_OK;
    *least = INFINITY;
    for (int f = 0; f < raw->frames && status == VF_OK; f += step) {
        const vf_wiener_samples samples = wiener_samples_of(raw, &raw->frame[f]);
        const double radius = vf_outer_radius(ctx, &space, &samples, OUTER_SHARE);
        double power = 0;
        if (OUTER_SHARE * (double)samples.count * samples.coils < LEAST_SAMPLES)
            continue;
        status = vf_outer_variance(ctx, &space, &samples, radius, &power);
        *least = power > 0 ? fmin(*least, power) : *least;
    }
    return status;
}

/* Takes only what the channels have of the noise from a noise scan that says more noise than the samples can have. Otherwise
 * the priors would take the signal for noise. */
static vf_status check_level(vf_context *ctx, mri_scan *raw)
{
    double least = INFINITY;
    vf_status status = least_power(ctx, raw, &least);
    if (status != VF_OK || !(least < LEAST_POWER))
        return status;
    raw->noise_estimated = true;
    vf_warn(
        ctx,
        "noise scan: its noise is %.3g times what the outermost samples of the image have, so it is of another gain "
        "or dwell time, or the image was averaged; the channels' ratios are taken from it, and the level from the "
        "samples",
        1 / sqrt(least));
    return VF_OK;
}

/* With the covariance E[n_i conj(n_j)] = L L^H, the noise of L^-1 n has the covariance L^-1 L L^H L^-H = 1. */
vf_status prewhiten(vf_context *ctx, mri_scan *raw)
{
    if (!raw->noise)
        return VF_OK;
    vf_status status = whitening_matrix(ctx, raw->coils, raw->noise);
    for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++)
        if (raw->frame[f].data) /* parts share those of another frame */
            status = vf_mix_rows(ctx, raw->coils, raw->coils, raw->noise, scan_stride(raw, &raw->frame[f]),
                                 raw->frame[f].data);
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    const int sets = raw->maps_whitened ? 0 : scan_all_map_sets(raw);
    for (int p = 0; p < sets && status == VF_OK; p++)
        status =
            vf_mix_rows(ctx, raw->coils, raw->coils, raw->noise, voxels, raw->sensitivity + p * raw->coils * voxels);
    if (status == VF_OK && !raw->noise_estimated)
        status = check_level(ctx, raw);
    raw->whitened = true;
    free(raw->noise);
    raw->noise = NULL;
    return status;
}
