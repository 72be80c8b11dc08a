/* --reference: another scan's image as a reference, on the matrix of this scan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/image_files.h"
#include "images/resample.h"
#include "recon_state.h"

/* The least share of the image that a reference must cover. */
static const double LEAST_COVERED = 0.1;
/* A voxel is known if the reference covers this share of its volume. */
static const float COVERED = 0.5F;

/* What says where the reference lies. */
typedef enum placed_by { PLACED_BY_POSITION, PLACED_BY_CENTRES, PLACED_BY_FIELD_OF_VIEW } placed_by;

/* ---- voxels ---- */

/* Real values stay what they are; complex images give their magnitude. */
static vf_status real_values(vf_context *ctx, const char *path, const recon_image *image, float *out)
{
    const int64_t volume = image_volume(image), count = volume * image->frames;
    bool real = true, even = true;
    for (int64_t i = 0; i < count; i++) {
        const float complex v = image->data[i];
        if (!isfinite(crealf(v)) || !isfinite(cimagf(v)))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: voxel (%lld, %lld, %lld) of volume %lld of the reference is NaN or infinite", path,
                           (long long)(i % image->counts[0]), (long long)(i / image->counts[0] % image->counts[1]),
                           (long long)(i % volume / image->counts[0] / image->counts[1]), (long long)(i / volume));
        real = real && cimagf(v) == 0;
    }
    if (!real)
        image_magnitude(image->data, count, out);
    for (int64_t i = 0; i < count; i++) {
        out[i] = real ? crealf(image->data[i]) : out[i];
        even = even && out[i] == out[i / volume * volume];
    }
    return even ? vf_fail(ctx, VF_ERR_INPUT, "%s: all voxels of the reference are equal, so it has no edges", path)
                : VF_OK;
}

/* ---- position ---- */

/* A grid along the axes of the patient or of the image, with its centre voxel at 0. */
static image_grid grid_about_centre(const int64_t counts[3], const double voxel[3])
{
    image_grid grid = {.counts = {counts[0], counts[1], counts[2]}};
    for (int a = 0; a < 3; a++) {
        grid.affine[a][a] = voxel[a];
        grid.affine[a][3] = -voxel[a] * (double)(counts[a] / 2);
    }
    return grid;
}

static image_grid grid_of(const recon_image *image, int64_t frame)
{
    image_grid grid = {.counts = {image->counts[0], image->counts[1], image->counts[2]}};
    image_affine(image, frame, grid.affine);
    return grid;
}

/* The same for a reference without voxel sizes: its field of view is the image's. Errors: VF_ERR_INPUT (another shape). */
static vf_status take_field_of_view(vf_context *ctx, const char *path, const recon_image *image, recon_image *reference)
{
    const double finer = (double)reference->counts[0] / (double)image->counts[0];
    bool same = true;
    for (int a = 0; a < 3; a++) {
        const double here = (double)reference->counts[a] / (double)image->counts[a];
        same = same && (fabs(here / finer - 1) < 1e-6 || (a == 2 && here == 1));
        reference->voxel[a] = image->voxel[a] / here;
    }
    if (same)
        return VF_OK;
    return vf_fail(
        ctx, VF_ERR_INPUT,
        "%s: the file does not say where its %lld x %lld x %lld voxels lie, and they have another shape than the "
        "image's %lld x %lld x %lld, so the fields of view cannot be the same; use NIfTI or HDF5 with voxel sizes",
        path, (long long)reference->counts[0], (long long)reference->counts[1], (long long)reference->counts[2],
        (long long)image->counts[0], (long long)image->counts[1], (long long)image->counts[2]);
}

static vf_status place(recon_state *r, const recon_image *image, recon_image *reference, placed_by *how)
{
    const char *path = r->settings->solve.reference;
    *how = reference->geometry.known && image->geometry.known ? PLACED_BY_POSITION
           : reference->sized                                 ? PLACED_BY_CENTRES
                                                              : PLACED_BY_FIELD_OF_VIEW;
    if (reference->places > 1)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the volumes of the reference lie at different places; give a file with those of one place",
                       path);
    if (*how != PLACED_BY_POSITION && image->places > 1)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: the scan's slices lie at %d places, and the reference does not say where it lies; give a NIfTI or "
            "HDF5 file with its position",
            path, image->places);
    return *how == PLACED_BY_FIELD_OF_VIEW ? take_field_of_view(r->ctx, path, image, reference) : VF_OK;
}

/* The voxels of the scan's matrix at a place: those of the image, and around them what is cropped. */
static image_grid grid_of_place(const mri_scan *raw, const recon_image *image, placed_by how, int place)
{
    const int stack = place / raw->slices, slice = place % raw->slices;
    double voxel[3] = {image->voxel[0], image->voxel[1], image->voxel[2]};
    if (image->geometry.slice_step != 0)
        voxel[2] = fabs(image->geometry.slice_step);
    image_grid grid = how == PLACED_BY_POSITION ? grid_of(image, stack) : grid_about_centre(image->counts, voxel);
    for (int a = 0; a < 3; a++) {
        const double first = (double)(raw->crop[a] / 2 - raw->matrix[a] / 2 + (a == 2 ? slice * raw->crop[2] : 0));
        const double length = hypot(hypot(grid.affine[0][a], grid.affine[1][a]), grid.affine[2][a]);
        for (int row = 0; row < 3; row++)
            grid.affine[row][3] += grid.affine[row][a] * first;
        for (int row = 0; a == 2 && row < 3;
             row++) /* the mean is over the thickness of a slice, not the step to the next */
            grid.affine[row][2] *= image->voxel[2] / length;
        grid.counts[a] = raw->matrix[a];
    }
    return grid;
}

/* ---- all of it ---- */

/* Counts what of the image, without what is cropped, is covered. */
static int64_t count_covered(const mri_scan *raw, const unsigned char *known)
{
    int64_t covered = 0;
    for (int64_t z = 0; z < raw->crop[2]; z++)
        for (int64_t y = 0; y < raw->crop[1]; y++)
            for (int64_t x = 0; x < raw->crop[0]; x++) {
                const int64_t at[3] = {raw->matrix[0] / 2 - raw->crop[0] / 2 + x,
                                       raw->matrix[1] / 2 - raw->crop[1] / 2 + y,
                                       raw->matrix[2] / 2 - raw->crop[2] / 2 + z};
                covered += known[(at[2] * raw->matrix[1] + at[1]) * raw->matrix[0] + at[0]];
            }
    return covered;
}

static vf_status resample(recon_state *r, const recon_image *image, const recon_image *reference, const float *values,
                          placed_by how)
{
    mri_scan *raw = &r->scan;
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2], volume = image_volume(reference);
    const image_grid from =
        how == PLACED_BY_POSITION ? grid_of(reference, 0) : grid_about_centre(reference->counts, reference->voxel);
    const char *path = r->settings->solve.reference;
    int64_t covered = 0;
    float *inside = NULL;
    free(raw->reference);
    free(raw->reference_known);
    raw->reference = NULL;
    raw->reference_known = NULL;
    raw->references = reference->frames;
    raw->own_references = true;
    vf_status status =
        SCAN_NEW(r->ctx, path, "the reference", raw->places * reference->frames * voxels, raw->reference);
    VF_TRY(status, SCAN_NEW(r->ctx, path, "the reference", raw->places * voxels, raw->reference_known));
    VF_TRY(status, SCAN_NEW(r->ctx, path, "the reference", voxels, inside));
    for (int p = 0; p < raw->places && status == VF_OK; p++) {
        const image_grid to = grid_of_place(raw, image, how, p);
        unsigned char *known = raw->reference_known + p * voxels;
        for (int f = 0; f < reference->frames && status == VF_OK; f++)
            status = resample_mean(r->ctx, &from, values + f * volume, &to,
                                   raw->reference + (p * reference->frames + f) * voxels, inside);
        for (int64_t i = 0; i < voxels && status == VF_OK; i++)
            known[i] = inside[i] >= COVERED;
        covered += status == VF_OK ? count_covered(raw, known) : 0;
    }
    free(inside);
    r->reference.covered = (double)covered / (double)(raw->places * raw->crop[0] * raw->crop[1] * raw->crop[2]);
    if (status == VF_OK && !(r->reference.covered >= LEAST_COVERED))
        status =
            vf_fail(r->ctx, VF_ERR_INPUT,
                    "%s: the reference covers %.2g %% of the image, and at least %g %% are needed; check its position",
                    path, 100 * r->reference.covered, 100 * LEAST_COVERED);
    return status;
}

static void describe(recon_state *r, const recon_image *reference, placed_by how)
{
    static const char *const words[] = {
        "placed by the positions in both files", "taken to have the image's axes and centre: ",
        "taken to have the image's field of view: the file does not say how large it is"};
    const char *who = r->scan.geometry.known ? "the reference" : "the scan";
    r->reference.images = reference->frames;
    memcpy(r->reference.counts, reference->counts, sizeof r->reference.counts);
    memcpy(r->reference.voxel, reference->voxel, sizeof r->reference.voxel);
    vf_digest(reference->data, (size_t)(image_volume(reference) * reference->frames) * sizeof *reference->data,
              r->reference.digest);
    snprintf(r->reference.placed, sizeof r->reference.placed, "%s%s%s", words[how], how == PLACED_BY_CENTRES ? who : "",
             how == PLACED_BY_CENTRES ? " does not say how the patient lies" : "");
}

vf_status read_reference(recon_state *r)
{
    const char *path = r->settings->solve.reference;
    if (!path)
        return VF_OK;
    const recon_image image = image_of_scan(&r->scan);
    recon_image reference = {0};
    placed_by how = PLACED_BY_POSITION;
    vf_status status = read_image(r->ctx, path, &reference);
    const int64_t count = status == VF_OK ? image_volume(&reference) * reference.frames : 0;
    float *values = malloc((size_t)count * sizeof *values + 1);
    if (status == VF_OK && !values)
        status = vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %lld voxels", path, (long long)count);
    VF_TRY(status, real_values(r->ctx, path, &reference, values));
    VF_TRY(status, place(r, &image, &reference, &how));
    VF_TRY(status, resample(r, &image, &reference, values, how));
    if (status == VF_OK)
        describe(r, &reference, how);
    free(values);
    recon_image_free(&reference);
    return status;
}

/* ---- what is told ---- */

void reference_facts(facts *f, int line, const recon_state *r)
{
    const char *path = r->settings->solve.reference;
    if (!path)
        return;
    fact_begin(f, "reference");
    fact_text(f, "path", path);
    fact_say(f, line, "reference  %s: %d volume%s", path, r->reference.images, vf_plural(r->reference.images));
    fact_text(f, "voxels_sha256", r->reference.digest);
    fact_integers(f, "matrix", r->reference.counts, 3);
    fact_say(f, line, " of %lld x %lld x %lld", (long long)r->reference.counts[0], (long long)r->reference.counts[1],
             (long long)r->reference.counts[2]);
    fact_numbers(f, "voxel_mm", r->reference.voxel, 3);
    fact_say(f, line, ", voxels of %.3g x %.3g x %.3g mm", r->reference.voxel[0], r->reference.voxel[1],
             r->reference.voxel[2]);
    fact_number(f, "covered", r->reference.covered);
    fact_say(f, line, ", on %.3g %% of the image", 100 * r->reference.covered);
    fact_text(f, "placed", r->reference.placed);
    fact_say(f, line, "; %s", r->reference.placed);
    fact_end(f);
}

static void list_fit(facts *f, int line, const recon_state *r)
{
    const reference_strength *strength = &r->summary.strength;
    const reference_fit *fit = &r->summary.fit;
    fact_number(f, "agreement", fit->agreement);
    fact_say(f, line, "reference  agreement with the image %.2f (0: none, 1: all edges)", fit->agreement);
    fact_number(f, "agreement_mirrored", fit->mirrored);
    if (!finds_reference_strength(&r->settings->solve))
        return;
    fact_integer(f, "strengths_tried", fit->tried);
    if (fit->tried == 0)
        fact_say(f, line, "; not used, because there is no noise that SURE could measure");
    else if (!(strength->differences > 0))
        fact_say(f, line, "; not used, because by SURE it does not help");
    fact_number(f, "risk_gain", fit->gain);
    fact_number(f, "strength_of_spectrum", strength->spectrum);
    if (strength->differences > 0)
        fact_say(f, line, "; strength chosen among %d by SURE: %.3g of the spectrum", fit->tried, strength->spectrum);
    fact_number(f, "strength_of_differences", strength->differences);
    if (strength->differences > 0)
        fact_say(f, line, ", %.3g of differences", strength->differences);
    fact_number(f, "sharpness", strength->sharpness);
    if (strength->differences > 0)
        fact_say(f, line, ", sharpness %.2g", strength->sharpness);
}

void reference_fit_facts(facts *f, int line, const recon_state *r)
{
    if (!r->summary.fit.known)
        return;
    fact_begin(f, "reference");
    list_fit(f, line, r);
    fact_end(f);
}
