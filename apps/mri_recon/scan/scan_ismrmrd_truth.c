/* Reads the true image from the array `phantom` in the group of an ISMRMRD scan, if the program that made the scan
 * wrote one. The name is that of ismrmrd_generate_cartesian_shepp_logan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan_ismrmrd.h"
#include "voxfield/foreign.h"

/* The number of images in an array whose last axes are [z][y][x], or [y][x] for one slice: the product of the axes
 * before. 0: another shape. */
static int64_t count_images(int rank, const int64_t *dims, const int64_t counts[3])
{
    for (int axes = 3; axes >= (counts[2] == 1 ? 2 : 3); axes--) {
        bool same = rank >= axes;
        int64_t images = 1;
        for (int d = 0; same && d < axes; d++)
            same = dims[rank - 1 - d] == counts[d];
        for (int d = 0; same && d < rank - axes; d++) {
            same = dims[d] >= 1 && dims[d] <= UINT16_MAX && images * dims[d] <= INT32_MAX;
            images *= same ? dims[d] : 1;
        }
        if (same)
            return images;
    }
    return 0;
}

/* Reads the magnitude of the dataset. */
static vf_status read_truth(vf_context *ctx, const char *path, vf_h5 *file, const char *name, const int64_t *dims,
                            int64_t images, mri_scan *s)
{
    int64_t voxels = images * s->crop[0] * s->crop[1] * s->crop[2];
    const int64_t start[VF_H5_MAX_RANK] = {0};
    float complex *values = NULL;
    vf_status status = scan_allocate(ctx, path, "the truth", voxels, sizeof *values, &values);
    VF_TRY(status, vf_h5_read(file, name, VF_C64, start, dims, values));
    if (status == VF_OK && scan_first_not_finite((const float *)values, 2 * voxels) >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the truth in 'phantom' has NaN or infinite values", path);
    VF_TRY(status, scan_allocate(ctx, path, "the truth", voxels, sizeof *s->truth, &s->truth));
    for (int64_t n = 0; status == VF_OK && n < voxels; n++)
        s->truth[n] = cabsf(values[n]);
    if (status == VF_OK)
        s->truths = (int)images;
    free(values);
    return status;
}

vf_status ismrmrd_read_truth(vf_context *ctx, const char *path, vf_h5 *file, const char *group, mri_scan *s)
{
    char name[sizeof s->group + 12];
    int64_t dims[VF_H5_MAX_RANK];
    int rank;
    vf_dtype type;
    snprintf(name, sizeof name, "%s/phantom", group);
    if (!vf_h5_exists(file, name))
        return VF_OK;
    vf_status status = vf_h5_dataset_shape(file, name, &type, &rank, dims);
    if (status != VF_OK)
        return status;
    const bool fits = vf_dtype_real(type) != type && s->slices == 1 && s->places == 1;
    int64_t images = fits ? count_images(rank, dims, s->crop) : 0;
    if (images == 1 || (images > 1 && images == s->volumes))
        status = read_truth(ctx, path, file, name, dims, images, s);
    else
        vf_note(ctx,
                "note: %s: ignoring 'phantom': it is not an array of complex numbers for the image, %" PRId64
                " x %" PRId64 " x %" PRId64 ", or for each of its %d volume%s",
                path, s->crop[0], s->crop[1], s->crop[2], s->volumes, vf_plural(s->volumes));
    return status;
}
