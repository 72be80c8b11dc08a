/* Reads the true image from the array `phantom` in the group of an ISMRMRD scan, if the program that made the scan
 * wrote one. The name is that of ismrmrd_generate_cartesian_shepp_logan. */
#include <inttypes.h>
#include <stdlib.h>

#include "scan_ismrmrd.h"
#include "voxfield/foreign.h"

/* The number of images in an array whose last axes are [z][y][x], or [y][x] for one slice: the product of the axes
 * before. 0: another shape. */
static int64_t count_images(hid_t dataset, const int64_t counts[3])
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 ? 0 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (space >= 0)
        H5Sclose(space);
    for (int axes = 3; axes >= (counts[2] == 1 ? 2 : 3); axes--) {
        bool same = rank >= axes;
        int64_t images = 1;
        for (int d = 0; same && d < axes; d++)
            same = dims[rank - 1 - d] == (hsize_t)counts[d];
        for (int d = 0; same && d < rank - axes; d++) {
            same = dims[d] >= 1 && dims[d] <= UINT16_MAX && images * (int64_t)dims[d] <= INT32_MAX;
            images *= same ? (int64_t)dims[d] : 1;
        }
        if (same)
            return images;
    }
    return 0;
}

/* Reads the magnitude of the dataset. */
static vf_status read_truth(vf_context *ctx, const char *path, hid_t dataset, int64_t images, mri_scan *s)
{
    int64_t voxels = images * s->crop[0] * s->crop[1] * s->crop[2];
    float complex *values = NULL;
    hid_t type = ismrmrd_complex_float_type();
    vf_status status = scan_allocate(ctx, path, "the truth", voxels, sizeof *values, &values);
    const char *before = vf_foreign_enter("HDF5");
    const bool read = status == VF_OK && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    vf_foreign_leave(before);
    if (status == VF_OK && !read)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read the truth in 'phantom'", path);
    if (status == VF_OK && scan_first_not_finite((const float *)values, 2 * voxels) >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the truth in 'phantom' has NaN or infinite values", path);
    if (status == VF_OK)
        status = scan_allocate(ctx, path, "the truth", voxels, sizeof *s->truth, &s->truth);
    for (int64_t n = 0; status == VF_OK && n < voxels; n++)
        s->truth[n] = cabsf(values[n]);
    if (status == VF_OK)
        s->truths = (int)images;
    H5Tclose(type);
    free(values);
    return status;
}

vf_status ismrmrd_read_truth(vf_context *ctx, const char *path, hid_t group, mri_scan *s)
{
    vf_status status = VF_OK;
    const htri_t exists = H5Lexists(group, "phantom", H5P_DEFAULT);
    if (exists == 0)
        return VF_OK;
    hid_t dataset = exists > 0 ? H5Dopen2(group, "phantom", H5P_DEFAULT) : H5I_INVALID_HID;
    if (dataset < 0)
        return ismrmrd_failure(ctx, path, "cannot open the truth 'phantom'");
    hid_t type = H5Dget_type(dataset);
    bool complex_numbers = type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, "real") >= 0 &&
                           H5Tget_member_index(type, "imag") >= 0;
    int64_t images = complex_numbers && s->slices == 1 && s->places == 1 ? count_images(dataset, s->crop) : 0;
    if (images == 1 || (images > 1 && images == s->volumes))
        status = read_truth(ctx, path, dataset, images, s);
    else
        vf_note(ctx,
                "note: %s: ignoring 'phantom': it is not an array of complex numbers for the image, %" PRId64
                " x %" PRId64 " x %" PRId64 ", or for each of its %d volume%s",
                path, s->crop[0], s->crop[1], s->crop[2], s->volumes, vf_plural(s->volumes));
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(dataset);
    return status;
}
