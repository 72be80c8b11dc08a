/* Writes the plain layout: group /scan (docs/scans.md). */
#include <string.h>

#include "mri_phantom.h"
#include "voxfield/hdf5_io.h"

enum { CHUNK_ELEMENTS = 1 << 20 };

/* Writes a whole dataset: in one piece, or compressed in chunks of whole innermost rows, with about a million elements. */
static vf_status write_array(vf_h5 *file, const phantom_scan *scan, const char *name, vf_dtype type, int rank,
                             const int64_t *dims, const void *data)
{
    if (!data)
        return VF_OK;
    int64_t chunk[VF_H5_MAX_RANK], start[VF_H5_MAX_RANK] = {0}, elements = 1;
    for (int d = rank - 1; d >= 0; d--) {
        int64_t room = CHUNK_ELEMENTS / elements;
        chunk[d] = room < 1 ? 1 : room < dims[d] ? room : dims[d];
        elements *= chunk[d];
    }
    const int level = (int)scan->settings->compress;
    vf_status status = vf_h5_dataset_create(file, name, type, rank, dims, level ? chunk : NULL, level);
    return status == VF_OK ? vf_h5_write(file, name, type, start, dims, data) : status;
}

static vf_status write_attributes(vf_h5 *file, const phantom_scan *scan)
{
    const phantom_settings *s = scan->settings;
    vf_status status = vf_h5_attribute_integers(file, "/scan", "matrix", s->matrix, 3);
    VF_TRY(status, vf_h5_attribute_doubles(file, "/scan", "fov_mm", s->fov, 3));
    VF_TRY(status, vf_h5_attribute_text(file, "/scan", "description", scan->description));
    VF_TRY(status, vf_h5_attribute_text(file, "/scan", "program", "mri_phantom (Voxfield)"));
    if (status == VF_OK && scan->sigma > 0)
        status = vf_h5_attribute_doubles(file, "/scan", "noise_sigma", &scan->sigma, 1);
    return status;
}

vf_status phantom_write_plain(vf_context *ctx, const phantom_scan *scan)
{
    const phantom_settings *s = scan->settings;
    int64_t samples = scan->trajectory->samples, frames = s->frames, coils = s->coils;
    int64_t z = s->matrix[2], y = s->matrix[1], x = s->matrix[0];
    int many = frames > 1, own = scan->trajectory->sets > 1; /* whether there is an axis of frames in front */
    const struct {
        const char *name;
        vf_dtype type;
        int front; /* number of leading dimensions to drop: 1 for a single frame */
        int rank;  /* including them */
        int64_t dims[4];
        const void *data;
    } arrays[] = {
        {"/scan/trajectory", VF_F32, !own, 3, {scan->trajectory->sets, samples, 3}, scan->trajectory->k},
        {"/scan/data", VF_C64, !many, 3, {frames, coils, samples}, scan->data},
        {"/scan/time", VF_F32, 0, 1, {samples}, s->arrays & ARRAY_TIME ? scan->trajectory->time : NULL},
        {"/scan/phi", VF_C64, !own, 2, {scan->trajectory->sets, samples}, scan->phi},
        {"/scan/sensitivity", VF_C64, 0, 4, {coils, z, y, x}, scan->sensitivity},
        {"/scan/field_map", VF_F32, 0, 3, {z, y, x}, scan->field_map},
        {"/scan/reference", VF_F32, 0, 4, {1, z, y, x}, scan->reference},
        {"/scan/noise", VF_C64, 0, 2, {coils, NOISE_SAMPLES}, scan->noise},
        {"/scan/truth", VF_F32, !many, 4, {frames, z, y, x}, scan->truth},
    };
    vf_h5 *file = NULL;
    vf_status status = vf_h5_create(ctx, s->output, &file);
    for (size_t n = 0; status == VF_OK && n < sizeof arrays / sizeof *arrays; n++) {
        int front = arrays[n].front;
        status = write_array(file, scan, arrays[n].name, arrays[n].type, arrays[n].rank - front, arrays[n].dims + front,
                             arrays[n].data);
    }
    VF_TRY(status, write_attributes(file, scan));
    VF_TRY(status, vf_h5_commit(&file));
    vf_h5_close(&file);
    return status;
}
