/* Reads coil maps from the array `csm` in the group of an ISMRMRD scan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan_ismrmrd.h"
#include "voxfield/foreign.h"

/* Whether the last axes are [coil][z][y][x], or [coil][y][x] for one slice, with these counts along x, y, z, and the
 * axes before them have one element, which the library that writes such arrays adds. */
static bool has_shape(int rank, const hsize_t *dims, int coils, const int64_t counts[3])
{
    const int64_t shape[4] = {coils, counts[2], counts[1], counts[0]};
    for (int axes = 4; axes >= (counts[2] == 1 ? 3 : 4); axes--) {
        bool same = rank >= axes;
        for (int d = 0; same && d < rank - axes; d++)
            same = dims[d] == 1;
        for (int d = 0; same && d < axes; d++) {
            int from_last = axes - 1 - d;
            same = dims[rank - 1 - from_last] == (hsize_t)(d == 0 ? shape[0] : shape[3 - from_last]);
        }
        if (same)
            return true;
    }
    return false;
}

/* The number of axes; 0 if the dataset is not an array. */
static int get_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK])
{
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 ? 0 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (space >= 0)
        H5Sclose(space);
    return rank < 0 ? 0 : rank;
}

/* Extends the maps of the image's voxels to all encoded voxels, by the nearest value. */
static void spread_maps(const mri_scan *s, const float complex *from, float complex *to)
{
    const int64_t *n = s->matrix, *m = s->crop;
    int64_t at[3];
    for (int64_t c = 0; c < s->coils; c++)
        for (int64_t z = 0; z < n[2]; z++)
            for (int64_t y = 0; y < n[1]; y++)
                for (int64_t x = 0; x < n[0]; x++, to++) {
                    const int64_t voxel[3] = {x, y, z};
                    for (int a = 0; a < 3; a++) {
                        int64_t inner = voxel[a] - n[a] / 2 + m[a] / 2;
                        at[a] = inner < 0 ? 0 : inner >= m[a] ? m[a] - 1 : inner;
                    }
                    *to = from[((c * m[2] + at[2]) * m[1] + at[1]) * m[0] + at[0]];
                }
}

static vf_status read_array(vf_context *ctx, const char *path, hid_t dataset, int64_t count, float complex **out)
{
    vf_status status = scan_allocate(ctx, path, "coil maps", count, sizeof **out, out);
    hid_t type = ismrmrd_complex_float_type();
    const char *before = vf_foreign_enter("HDF5");
    const bool read = status == VF_OK && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) >= 0;
    vf_foreign_leave(before);
    if (status == VF_OK && !read)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read the coil maps in 'csm'", path);
    H5Tclose(type);
    if (status == VF_OK && scan_first_not_finite((const float *)*out, 2 * count) >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the coil maps in 'csm' have NaN or infinite values", path);
    return status;
}

vf_status ismrmrd_read_maps(vf_context *ctx, const char *path, hid_t group, mri_scan *s)
{
    hsize_t dims[H5S_MAX_RANK];
    float complex *inner = NULL;
    const htri_t exists = H5Lexists(group, "csm", H5P_DEFAULT);
    if (exists == 0)
        return VF_OK;
    hid_t dataset = exists > 0 ? H5Dopen2(group, "csm", H5P_DEFAULT) : H5I_INVALID_HID;
    if (dataset < 0) /* not the same as none: the image would be another one */
        return ismrmrd_failure(ctx, path, "cannot open the coil maps 'csm'");
    hid_t type = H5Dget_type(dataset);
    bool complex_numbers = type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, "real") >= 0 &&
                           H5Tget_member_index(type, "imag") >= 0;
    int rank = complex_numbers && s->places == 1 ? get_shape(dataset, dims) : 0;
    vf_status status = VF_OK;
    int64_t cropped = s->crop[0] * s->crop[1] * s->crop[2], voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    if (has_shape(rank, dims, s->coils, s->matrix)) {
        status = read_array(ctx, path, dataset, s->coils * voxels, &s->sensitivity);
    } else if (has_shape(rank, dims, s->coils, s->crop)) {
        status = read_array(ctx, path, dataset, s->coils * cropped, &inner);
        if (status == VF_OK)
            status = scan_allocate(ctx, path, "coil maps", s->coils * voxels, sizeof *inner, &s->sensitivity);
        if (status == VF_OK)
            spread_maps(s, inner, s->sensitivity);
        free(inner);
    } else {
        vf_warn(ctx,
                "%s: ignoring 'csm': it is not an array of complex maps of %d coil%s for one slice or volume of "
                "the image",
                path, s->coils, vf_plural(s->coils));
    }
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(dataset);
    return status;
}
