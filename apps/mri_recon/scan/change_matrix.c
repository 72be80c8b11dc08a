/* --matrix: the same field of view in other voxels. */
#include <math.h>

#include "scan_finish.h"

/* Gives samples beyond the k-space of a smaller matrix the weight 0. */
static vf_status drop_samples(vf_context *ctx, const mri_scan *raw, scan_trajectory *at)
{
    vf_status status = scan_need_weights(ctx, "--matrix", at);
    if (status != VF_OK)
        return status;
    const int64_t dropped = scan_drop_beyond(raw->matrix, 0, at);
    if (dropped == at->samples)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--matrix: no sample is within the k-space of this matrix; use more voxels");
    if (dropped > 0)
        vf_note(ctx, "note: %lld of %lld samples %s beyond the k-space of --matrix and %s ignored", (long long)dropped,
                (long long)at->samples, dropped == 1 ? "lies" : "lie", dropped == 1 ? "is" : "are");
    return VF_OK;
}

/* --matrix: other voxels over the same field of view. */
vf_status change_matrix(vf_context *ctx, const int64_t wanted[3], mri_scan *raw)
{
    vf_status status = VF_OK;
    if (raw->sensitivity || raw->field_map || raw->reference)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--matrix: the scan has coil maps, a field map or references on its own matrix, %lld x %lld x "
                       "%lld; leave out --matrix",
                       (long long)raw->matrix[0], (long long)raw->matrix[1], (long long)raw->matrix[2]);
    for (int a = 0; a < 3; a++) {
        int64_t wish = wanted[a];
        if (raw->matrix[2] == 1 && a == 2 && wish == wanted[0] && wish == wanted[1])
            wish = 1; /* one number for all axes of a plane */
        if (wish > SCAN_MOST_MATRIX || (wish == 1) != (raw->matrix[a] == 1))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--matrix: %lld along %c is invalid for a scan of %lld x %lld x %lld (an axis of 1 stays 1; "
                           "at most %d)",
                           (long long)wish, "xyz"[a], (long long)raw -> matrix[0], (long long)raw -> matrix[1],
                           (long long)raw -> matrix[2], SCAN_MOST_MATRIX);
        /* Keeps the same part of the field of view. */
        double share = (double)raw->crop[a] / (double)raw->matrix[a];
        raw->crop[a] = (int64_t)fmax(1, round(share * (double)wish));
        raw->matrix[a] = wish;
    }
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++)
        status = drop_samples(ctx, raw, &raw->trajectory[t]);
    scan_drop_truth(raw);
    return status;
}
