/* Reads fastMRI's files: k-space of slices as [slice][coil][height][width], a header of ISMRMRD, and the image as
 * truth. M4Raw has the same layout.
 *
 * Width is x of the image and height is y, so that images have the order of `reconstruction_rss`. In the scanner's
 * terms, and in the header's, height is x, the readout with its oversampling, and width is y, the phase encoding. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_formats.h"
#include "scan_grid.h"
#include "scan_ismrmrd_text.h"
#include "scan_values.h"
#include "voxfield/append.h"

static const char EXPECTED[] = "[slice][coil][height][width], or [slice][height][width] for one coil";

bool scan_is_fastmri(const scan_file *file)
{
    const listed_set *k = listing_find(&file->list, "kspace");
    return listing_find(&file->list, "ismrmrd_header") && listed_complex(k) && (k->rank == 3 || k->rank == 4);
}

/* ---- the space ---- */

/* Which of the header's axes is an axis of the image. Files whose header says so have the readout along the width. */
static int header_axis(const ismrmrd_protocol *p, const mri_scan *s, int axis)
{
    const int64_t *n = p->encoding[0].encoded.matrix;
    const bool along_width = n[0] == s->matrix[0] && n[1] == s->matrix[1] && n[0] != n[1];
    return along_width ? axis : 1 - axis;
}

/* The field of view of the encoded space, and the voxels of the image that is kept. */
static void set_axis(vf_context *ctx, const char *path, const ismrmrd_protocol *p, int axis, mri_scan *s)
{
    static const char *const names[] = {"width", "height"};
    const int h = header_axis(p, s, axis);
    const int64_t n = s->matrix[axis], declared = p->encoding[0].encoded.matrix[h],
                  image = p->encoding[0].recon.matrix[h];
    const double fov = p->encoding[0].encoded.fov[h], kept = p->encoding[0].recon.fov[h];
    const bool same = declared == n || declared < 1;
    s->fov[axis] = fov > 0 && fov <= 1e6 ? fov : (double)n;
    if (!(fov > 0 && fov <= 1e6))
        vf_warn(ctx, "%s: ismrmrd_header: no field of view along %c; voxels of 1 mm assumed", path, "xyz"[h]);
    int64_t crop = image >= 1 ? image : n;
    if (!same) {
        crop = fov > 0 && kept > 0 && kept < fov ? (int64_t)round((double)n * kept / fov) : n;
        vf_warn(ctx,
                "%s: 'kspace' has a %s of %" PRId64 ", but the header's encoded matrix has %" PRId64
                "; the header's field of view is used for all of it",
                path, names[axis], n, declared);
    } else if (image > n) {
        vf_warn(ctx,
                "%s: the header's image has a %s of %" PRId64 ", but 'kspace' has %" PRId64
                "; nothing is interpolated, so the image has that size",
                path, names[axis], image, n);
    }
    s->crop[axis] = crop < 1 ? 1 : crop > n ? n : crop;
    const double voxel = s->fov[axis] / (double)n;
    if (same && image >= 1 && image <= n && kept > 0 && fabs(kept / (double)image - voxel) > 0.01 * voxel)
        vf_warn(ctx,
                "%s: the voxels of the header's image (%g mm along the %s) are not those of its encoded space "
                "(%g mm), which the image has",
                path, kept / (double)image, names[axis], voxel);
}

/* Slices are 2D, whatever the header says about z. Their distance is not in the file. */
static void set_slices(vf_context *ctx, const char *path, const ismrmrd_protocol *p, mri_scan *s)
{
    const int64_t nz = p->encoding[0].encoded.matrix[2];
    const double fov = p->encoding[0].encoded.fov[2];
    const double thickness = fov > 0 && fov <= 1e6 ? fov / (double)(nz > 1 ? nz : 1) : 1;
    s->fov[2] = thickness;
    s->geometry.slice_step = s->slices > 1 ? thickness : 0;
    if (nz > 1)
        vf_warn(ctx,
                "%s: the header has %" PRId64
                " voxels along z; in this layout the first axis of 'kspace' counts slices, "
                "and each is reconstructed for itself",
                path, nz);
}

/* ---- the truth ---- */

static vf_status read_truth(vf_context *ctx, const plain_source *source, const char *name, mri_scan *s)
{
    const int64_t start[VF_H5_MAX_RANK] = {0}, voxels = s->slices * s->crop[0] * s->crop[1];
    int64_t dims[VF_H5_MAX_RANK];
    int rank;
    vf_dtype type;
    if (!source->exists(source->user, name))
        return VF_OK;
    vf_status status = source->shape(source->user, name, &type, &rank, dims);
    if (status != VF_OK)
        return status;
    bool fits = rank == 3 && vf_dtype_real(type) == type && dims[0] == s->slices && dims[1] == s->crop[1] &&
                dims[2] == s->crop[0];
    for (int a = 0; a < 2; a++) /* fastMRI's middle of an odd part of an even matrix is another one */
        fits = fits && (s->matrix[a] % 2 != 0 || s->crop[a] % 2 == 0);
    if (!fits) {
        vf_note(ctx,
                "note: %s: ignoring '%s': it is not the image that is kept, %d x %" PRId64 " x %" PRId64
                ", or its middle is another voxel",
                source->path, name, s->slices, s->crop[1], s->crop[0]);
        return VF_OK;
    }
    status = SCAN_NEW(ctx, source->path, "the truth", voxels, s->truth);
    VF_TRY(status, source->read(source->user, name, VF_F32, start, dims, s->truth));
    if (status == VF_OK && scan_first_not_finite(ctx, s->truth, voxels) >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: '%s' has NaN or infinite values", source->path, name);
    if (status == VF_OK)
        s->truths = 1;
    return status;
}

/* ---- the whole ---- */

static vf_status read_lines(scan_grid *grid, const ismrmrd_protocol *protocol, mri_scan *out)
{
    const plain_source *source = grid->source;
    vf_status status = scan_grid_plan(grid, out);
    if (status != VF_OK)
        return status;
    for (int a = 0; a < 2; a++)
        set_axis(grid->ctx, source->path, protocol, a, out);
    set_slices(grid->ctx, source->path, protocol, out);
    grid->columns = header_axis(protocol, out, 0) == 1;
    if (source->exists(source->user, "mask"))
        status = scan_grid_mask(grid, "mask");
    return status == VF_OK ? scan_grid_read(grid, out) : status;
}

vf_status scan_read_fastmri(vf_context *ctx, const plain_source *source, const ismrmrd_protocol *protocol,
                            mri_scan *out)
{
    scan_grid grid = {.ctx = ctx, .source = source, .name = "kspace", .frame = -1, .slice = 0, .coil = -1};
    snprintf(out->layout, sizeof out->layout, "fastMRI");
    vf_status status = scan_grid_open(&grid, 3, 4, EXPECTED);
    const bool emulated = grid.rank == 3;
    if (status == VF_OK && !emulated)
        grid.coil = 1;
    VF_TRY(status, read_lines(&grid, protocol, out));
    VF_TRY(status, read_truth(ctx, source, emulated ? "reconstruction_esc" : "reconstruction_rss", out));
    if (status == VF_OK) {
        scan_grid_describe(&grid, out->description, sizeof out->description);
        if (out->slices > 1)
            vf_append(out->description, sizeof out->description, "; slices assumed to touch");
    }
    scan_grid_free(&grid);
    return status;
}

vf_status scan_read_fastmri_file(const scan_file *file, mri_scan *out)
{
    const plain_source source = scan_h5_source(file->path, file->file);
    ismrmrd_protocol protocol;
    char *text = NULL;
    vf_status status = ismrmrd_read_text(file->ctx, file->path, file->file, "ismrmrd_header", &text);
    VF_TRY(status, ismrmrd_parse_xml(file->ctx, file->path, text, strlen(text), &protocol));
    free(text);
    return status == VF_OK ? scan_read_fastmri(file->ctx, &source, &protocol, out) : status;
}
