/* Reads coil maps from the array `csm` in the group of an ISMRMRD scan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan_ismrmrd.h"
#include "voxfield/foreign.h"

/* Whether the last axes are [coil][z][y][x], or [coil][y][x] for one slice, with these counts along x, y, z, and the
 * axes before them have one element, which the library that writes such arrays adds. */
static bool has_shape(int rank, const int64_t *dims, int coils, const int64_t counts[3])
{
    const int64_t shape[4] = {coils, counts[2], counts[1], counts[0]};
    for (int axes = 4; axes >= (counts[2] == 1 ? 3 : 4); axes--) {
        bool same = rank >= axes;
        for (int d = 0; same && d < rank - axes; d++)
            same = dims[d] == 1;
        for (int d = 0; same && d < axes; d++) {
            int from_last = axes - 1 - d;
            same = dims[rank - 1 - from_last] == (d == 0 ? shape[0] : shape[3 - from_last]);
        }
        if (same)
            return true;
    }
    return false;
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

static vf_status read_array(vf_context *ctx, const char *path, vf_h5 *file, const char *name, const int64_t *dims,
                            int64_t count, float complex **out)
{
    const int64_t start[VF_H5_MAX_RANK] = {0};
    vf_status status = scan_allocate(ctx, path, "coil maps", count, sizeof **out, out);
    VF_TRY(status, vf_h5_read(file, name, VF_C64, start, dims, *out));
    if (status == VF_OK && scan_first_not_finite((const float *)*out, 2 * count) >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the coil maps in 'csm' have NaN or infinite values", path);
    return status;
}

vf_status ismrmrd_read_maps(vf_context *ctx, const char *path, vf_h5 *file, const char *group, mri_scan *s)
{
    char name[sizeof s->group + 8];
    int64_t dims[VF_H5_MAX_RANK];
    int rank = 0;
    vf_dtype type;
    float complex *inner = NULL;
    snprintf(name, sizeof name, "%s/csm", group);
    if (!vf_h5_exists(file, name))
        return VF_OK;
    vf_status status = vf_h5_dataset_shape(file, name, &type, &rank, dims);
    if (status != VF_OK)
        return status;
    if (vf_dtype_real(type) == type || s->places != 1)
        rank = 0;
    int64_t cropped = s->crop[0] * s->crop[1] * s->crop[2], voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    if (has_shape(rank, dims, s->coils, s->matrix)) {
        status = read_array(ctx, path, file, name, dims, s->coils * voxels, &s->sensitivity);
    } else if (has_shape(rank, dims, s->coils, s->crop)) {
        status = read_array(ctx, path, file, name, dims, s->coils * cropped, &inner);
        VF_TRY(status, scan_allocate(ctx, path, "coil maps", s->coils * voxels, sizeof *inner, &s->sensitivity));
        if (status == VF_OK)
            spread_maps(s, inner, s->sensitivity);
        free(inner);
    } else {
        vf_warn(ctx,
                "%s: ignoring 'csm': it is not an array of complex maps of %d coil%s for one slice or volume of "
                "the image",
                path, s->coils, vf_plural(s->coils));
    }
    return status;
}
