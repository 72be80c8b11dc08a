/* --compare: the image against the truth in the scan, or against an image file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon_state.h"

bool compares_with_file(const recon_state *r)
{
    const char *other = r->settings->compare;
    return other && strcmp(other, "truth") != 0;
}

vf_status read_other(recon_state *r)
{
    const char *other = r->settings->compare;
    const int64_t counts[3] = {r->scan.crop[0], r->scan.crop[1], r->scan.crop[2] * r->scan.slices};
    if (!compares_with_file(r))
        return VF_OK;
    vf_status status = read_image(r->ctx, other, &r->other);
    if (status == VF_OK && memcmp(r->other.counts, counts, sizeof counts) != 0)
        status = vf_fail(r->ctx, VF_ERR_INPUT,
                         "%s: the image has %lld x %lld x %lld voxels; --compare needs %lld x %lld x %lld", other,
                         (long long)r->other.counts[0], (long long)r->other.counts[1], (long long)r->other.counts[2],
                         (long long)counts[0], (long long)counts[1], (long long)counts[2]);
    return status;
}

vf_status compare_stage(recon_state *r)
{
    const int64_t voxels = r->image.counts[0] * r->image.counts[1] * r->image.counts[2];
    if (!r->settings->compare)
        return VF_OK;
    const int count = (r->other.data ? r->other.frames : r->scan.truths) == r->image.frames ? r->image.frames : 1;
    vf_status status = VF_OK;
    float *magnitude = r->other.data ? malloc((size_t)voxels * sizeof *magnitude) : NULL;
    r->comparison = calloc((size_t)count, sizeof *r->comparison);
    if (!r->comparison || (r->other.data && !magnitude))
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "no memory to compare images");
    for (int v = 0; status == VF_OK && v < count; v++) {
        char name[64] = "the comparison with the truth";
        const float *truth = magnitude;
        if (count > 1)
            (void)snprintf(name, sizeof name, "the comparison of volume %d with its truth", v);
        if (magnitude)
            for (int64_t i = 0; i < voxels; i++)
                magnitude[i] = cabsf(r->other.data[v * voxels + i]);
        else
            truth = r->scan.truth + v * voxels;
        status = compare_images(r->ctx, name, voxels, r->image.data + v * voxels, truth, &r->comparison[v]);
    }
    free(magnitude);
    r->compared = status == VF_OK ? count : 0;
    return status;
}
