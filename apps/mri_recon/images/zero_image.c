/* An image of zeros is only written if the data are zeros. */
#include <stdlib.h>

#include "recon_image.h"

static bool all_zero(const float complex *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

static bool has_data(const mri_scan *raw, const scan_frame *frame)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    for (int coil = 0; coil < raw->coils; coil++)
        for (int64_t m = 0; m < at->samples; m++)
            if (scan_coil(raw, frame, coil)[m] != 0 && (!at->weights || at->weights[m] > 0))
                return true;
    return false;
}

vf_status image_refuse_zeros(vf_context *ctx, const recon_image *image, const mri_scan *raw)
{
    const int64_t *n = image->counts, depth = n[2] / raw->slices, size = n[0] * n[1] * depth;
    int empty = 0, first = -1;
    for (int f = 0; f < raw->frames; f++) {
        const scan_frame *frame = &raw->frame[f];
        const float complex *own = image->data + (frame->volume * n[2] + frame->slice * depth) * n[0] * n[1];
        if (!all_zero(own, size) || !has_data(raw, frame))
            continue;
        first = empty++ == 0 ? f : first;
    }
    if (empty == 0)
        return VF_OK;
    if (all_zero(image->data, image->frames * n[0] * n[1] * n[2]))
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "%s: the image would be 0 everywhere although the samples are not, because the coil maps are 0 where "
            "there is signal; use other maps (--coils walsh, nlinv or rss)",
            image->input);
    vf_warn(
        ctx,
        "%s: %d of %d frames of the image are 0 although their samples are not, the first in volume %d, slice %d: the "
        "coil maps are 0 there; use other maps (--coils walsh, nlinv or rss)",
        image->input, empty, raw->frames, raw->frame[first].volume + 1, raw->frame[first].slice + 1);
    return VF_OK;
}
