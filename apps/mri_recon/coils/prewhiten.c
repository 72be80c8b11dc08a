#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "coil_stages.h"
#include "voxfield/dense.h"

/* least_own: the share of a coil's noise variance that the coils before it must leave unexplained. Real coils share at
 * most some 90 % of their noise; a copy of another channel, or fewer noise samples than coils, leaves about 1e-16.
 * least_variance: the smallest variance relative to the largest. The gain of a connected channel is within 1e-6 of the
 * others. */
static const double least_own = 1e-10, least_variance = 1e-12;

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
    raw->whitened = true;
    free(raw->noise);
    raw->noise = NULL;
    return status;
}
