/* Reads arrays in the group of an ISMRMRD scan, if the program that made the scan wrote them: coil maps and the true
 * image. Their names are those of ismrmrd_generate_cartesian_shepp_logan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan_ismrmrd_groups.h"
#include "scan_values.h"
#include "voxfield/timer.h"

typedef struct array {
    char name[ISMRMRD_NAME + 12];
    int rank; /* 0: the numbers are not complex */
    int64_t dims[VF_H5_MAX_RANK];
} array;

/* Looks up an array of the group. *exists: whether there is one. */
static vf_status look_up(const ismrmrd_group *group, const char *name, array *a, bool *exists)
{
    vf_dtype type;
    snprintf(a->name, sizeof a->name, "%s/%s", group->name, name);
    *exists = vf_h5_exists(group->file, a->name);
    vf_status status = *exists ? vf_h5_dataset_shape(group->file, a->name, &type, &a->rank, a->dims) : VF_OK;
    if (*exists && status == VF_OK && vf_dtype_real(type) == type)
        a->rank = 0;
    return status;
}

/* Reads all `count` numbers. `what` and `called` are for messages: "coil maps", "the coil maps in 'csm'". */
static vf_status read_numbers(const ismrmrd_group *group, const array *a, const char *what, const char *called,
                              int64_t count, float complex **out)
{
    const int64_t start[VF_H5_MAX_RANK] = {0};
    vf_status status = scan_allocate(group->ctx, group->place, what, count, sizeof **out, out);
    VF_TRY(status, vf_h5_read(group->file, a->name, VF_C64, start, a->dims, *out));
    if (status == VF_OK && scan_first_not_finite(group->ctx, (const float *)*out, 2 * count) >= 0)
        status = vf_fail(group->ctx, VF_ERR_INPUT, "%s: %s NaN or infinite values", group->place, called);
    return status;
}

/* The number of arrays of shape [coil][z][y][x], or [z][y][x] without coils (0): the product of the axes before, which
 * the library that writes such arrays adds. The axis z may be missing if it is 1. 0: another shape. */
static int64_t count_arrays(const array *a, int64_t coils, const int64_t n[3])
{
    const int64_t whole[4] = {n[0], n[1], n[2], coils}, plane[3] = {n[0], n[1], coils};
    for (int without = 0; without <= (n[2] == 1); without++) {
        const int axes = 3 + (coils > 0) - without;
        int64_t arrays = 1;
        bool same = a->rank >= axes;
        for (int d = 0; same && d < axes; d++)
            same = a->dims[a->rank - 1 - d] == (without ? plane : whole)[d];
        for (int d = 0; same && d < a->rank - axes; d++) {
            same = a->dims[d] >= 1 && a->dims[d] <= UINT16_MAX && arrays * a->dims[d] <= INT32_MAX;
            arrays *= same ? a->dims[d] : 1;
        }
        if (same)
            return arrays;
    }
    return 0;
}

/* ---- coil maps ---- */

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

static vf_status read_maps(const ismrmrd_group *group, mri_scan *s)
{
    static const char what[] = "coil maps", called[] = "the coil maps in 'csm' have";
    const int64_t cropped = s->crop[0] * s->crop[1] * s->crop[2], voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    float complex *inner = NULL;
    array a;
    bool exists;
    vf_status status = look_up(group, "csm", &a, &exists);
    if (status != VF_OK || !exists)
        return status;
    if (s->places == 1 && count_arrays(&a, s->coils, s->matrix) == 1)
        return read_numbers(group, &a, what, called, s->coils * voxels, &s->sensitivity);
    if (s->places != 1 || count_arrays(&a, s->coils, s->crop) != 1) {
        vf_warn(group->ctx,
                "%s: ignoring 'csm': it is not an array of complex maps of %d coil%s for one slice or volume of "
                "the image",
                group->place, s->coils, vf_plural(s->coils));
        return VF_OK;
    }
    status = read_numbers(group, &a, what, called, s->coils * cropped, &inner);
    VF_TRY(status, scan_allocate(group->ctx, group->place, what, s->coils * voxels, sizeof *inner, &s->sensitivity));
    if (status == VF_OK)
        spread_maps(s, inner, s->sensitivity);
    free(inner);
    return status;
}

/* ---- the truth ---- */

static vf_status read_truth(const ismrmrd_group *group, mri_scan *s)
{
    static const char what[] = "the truth", called[] = "the truth in 'phantom' has";
    float complex *values = NULL;
    array a;
    bool exists;
    vf_status status = look_up(group, "phantom", &a, &exists);
    if (status != VF_OK || !exists)
        return status;
    const int64_t images = s->slices == 1 && s->places == 1 ? count_arrays(&a, 0, s->crop) : 0;
    if (images != 1 && (images < 1 || images != s->volumes)) {
        vf_note(group->ctx,
                "note: %s: ignoring 'phantom': it is not an array of complex numbers for the image, %" PRId64
                " x %" PRId64 " x %" PRId64 ", or for each of its %d volume%s",
                group->place, s->crop[0], s->crop[1], s->crop[2], s->volumes, vf_plural(s->volumes));
        return VF_OK;
    }
    const int64_t voxels = images * s->crop[0] * s->crop[1] * s->crop[2];
    status = read_numbers(group, &a, what, called, voxels, &values);
    VF_TRY(status, SCAN_NEW(group->ctx, group->place, what, voxels, s->truth));
    for (int64_t n = 0; status == VF_OK && n < voxels; n++)
        s->truth[n] = cabsf(values[n]);
    if (status == VF_OK)
        s->truths = (int)images;
    free(values);
    return status;
}

vf_status ismrmrd_read_arrays(const ismrmrd_group *group, mri_scan *s)
{
    vf_status status = read_maps(group, s);
    VF_TRY(status, read_truth(group, s));
    return status;
}
