/* Reads k-space in one array on the Cartesian grid. A frame (a slice at one time) is read at once, for all coils; then
 * only its samples are kept. */
#include "scan_grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan_values.h"
#include "share_trajectories.h"
#include "voxfield/append.h"

enum { MOST_FRAMES = 1 << 20 };

static vf_status wrong_shape(const scan_grid *g, const char *name, int rank, const int64_t *dims, const char *expected)
{
    char text[SCAN_SHAPE_TEXT];
    return vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s' has the shape %s; expected %s", g->source->path, name,
                   scan_shape_text(rank, dims, text), expected);
}

vf_status scan_grid_open(scan_grid *g, int least, int most, const char *expected)
{
    vf_dtype type;
    vf_status status = g->source->shape(g->source->user, g->name, &type, &g->rank, g->dims);
    if (status != VF_OK)
        return status;
    if (vf_dtype_real(type) == type)
        return vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s' has real numbers; expected complex ones: %s", g->source->path,
                       g->name, expected);
    bool fits = g->rank >= least && g->rank <= most;
    for (int d = 0; d < g->rank; d++)
        fits = fits && g->dims[d] >= 1;
    return fits ? VF_OK : wrong_shape(g, g->name, g->rank, g->dims, expected);
}

static int64_t count_along(const scan_grid *g, int axis)
{
    return axis < 0 ? 1 : g->dims[axis];
}

/* ---- the mask ---- */

static vf_status look_up_mask(const scan_grid *g, const char *name, int *rank, int64_t dims[3])
{
    const int64_t whole[3] = {count_along(g, g->frame), g->dims[g->rank - 2], g->dims[g->rank - 1]};
    int64_t stored[VF_H5_MAX_RANK];
    vf_dtype type;
    vf_status status = g->source->shape(g->source->user, name, &type, rank, stored);
    if (status != VF_OK)
        return status;
    bool fits = vf_dtype_real(type) == type && *rank >= 1 && *rank <= 3;
    for (int d = 0; d < 3; d++)
        dims[d] = fits && d >= 3 - *rank ? stored[d - (3 - *rank)] : 1;
    for (int d = 0; d < 3; d++)
        fits = fits && (dims[d] == whole[d] || (dims[d] == 1 && d < 2));
    if (fits)
        return VF_OK;
    char expected[160];
    snprintf(expected, sizeof expected,
             "real numbers as %s has them: [%" PRId64 "], [%" PRId64 "][%" PRId64 "] or [%" PRId64 "][%" PRId64
             "][%" PRId64 "]",
             g->name, whole[2], whole[1], whole[2], whole[0], whole[1], whole[2]);
    return wrong_shape(g, name, *rank, stored, expected);
}

vf_status scan_grid_mask(scan_grid *g, const char *name)
{
    const int64_t start[3] = {0, 0, 0};
    int rank;
    vf_status status = look_up_mask(g, name, &rank, g->mask_dims);
    if (status != VF_OK)
        return status;
    const int64_t count = g->mask_dims[0] * g->mask_dims[1] * g->mask_dims[2];
    snprintf(g->mask_name, sizeof g->mask_name, "%s", name);
    status = SCAN_NEW(g->ctx, g->source->path, name, count, g->mask);
    VF_TRY(status, g->source->read(g->source->user, name, VF_F32, start, g->mask_dims + 3 - rank, g->mask));
    if (status == VF_OK && scan_first_not_finite(g->ctx, g->mask, count) >= 0)
        status = vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s' has NaN or infinite values; expected 0 and 1", g->source->path,
                         name);
    if (status == VF_OK && scan_all_zero(g->mask, count))
        status = vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s' is 0 everywhere, which means that nothing was acquired",
                         g->source->path, name);
    return status;
}

static bool mask_has(const scan_grid *g, int64_t frame, int64_t y, int64_t x)
{
    const int64_t *n = g->mask_dims;
    if (!g->mask)
        return true;
    return g->mask[((n[0] > 1 ? frame : 0) * n[1] + (n[1] > 1 ? y : 0)) * n[2] + x] != 0;
}

/* ---- the plan ---- */

vf_status scan_grid_plan(const scan_grid *g, mri_scan *s)
{
    const int64_t frames = count_along(g, g->frame), slices = count_along(g, g->slice), coils = count_along(g, g->coil);
    const int64_t matrix[3] = {g->dims[g->rank - 1], g->dims[g->rank - 2], 1};
    for (int a = 0; a < 3; a++) {
        if (matrix[a] > SCAN_MOST_MATRIX)
            return vf_fail(g->ctx, VF_ERR_INPUT,
                           "%s: '%s' has %" PRId64 " positions along %c; at most %d are supported", g->source->path,
                           g->name, matrix[a], "xyz"[a], SCAN_MOST_MATRIX);
        s->matrix[a] = s->crop[a] = matrix[a];
        s->geometry.direction[a][a] = 1;
    }
    if (coils > SCAN_MOST_COILS || frames > MOST_FRAMES || slices > MOST_FRAMES || frames * slices > MOST_FRAMES)
        return wrong_shape(g, g->name, g->rank, g->dims, "no more than 4096 coils and 2^20 frames and slices");
    s->coils = (int)coils;
    s->volumes = (int)frames;
    s->slices = s->places = (int)slices;
    return VF_OK;
}

/* ---- frames ---- */

/* What is needed for a frame. */
typedef struct grid_frame {
    int64_t volume, slice;
    float complex *data;  /* [coil][y][x] */
    scan_pattern pattern; /* [y][x] */
} grid_frame;

/* The position of the first value that is NaN or infinite, in the file's order. */
static vf_status not_finite(const scan_grid *g, const grid_frame *f, int64_t index)
{
    int64_t at[VF_H5_MAX_RANK] = {0};
    char text[SCAN_SHAPE_TEXT];
    const float value = ((const float *)f->data)[index];
    index /= 2;
    for (int d = g->rank - 1; d >= 0; d--) {
        at[d] = d == g->frame ? f->volume : d == g->slice ? f->slice : index % g->dims[d];
        index /= d == g->frame || d == g->slice ? 1 : g->dims[d];
    }
    return vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s': the value at %s is %s; it must be finite", g->source->path, g->name,
                   scan_shape_text(g->rank, at, text), scan_not_finite_name(value));
}

static vf_status read_values(const scan_grid *g, const mri_scan *s, grid_frame *f)
{
    int64_t start[VF_H5_MAX_RANK] = {0}, count[VF_H5_MAX_RANK];
    const int64_t values = s->coils * s->matrix[0] * s->matrix[1];
    for (int d = 0; d < g->rank; d++) {
        start[d] = d == g->frame ? f->volume : d == g->slice ? f->slice : 0;
        count[d] = d == g->frame || d == g->slice ? 1 : g->dims[d];
    }
    vf_status status = g->source->read(g->source->user, g->name, VF_C64, start, count, f->data);
    const int64_t wrong = status == VF_OK ? scan_first_not_finite(g->ctx, (const float *)f->data, 2 * values) : -1;
    return wrong >= 0 ? not_finite(g, f, wrong) : status;
}

/* Marks where some coil is not 0, takes away what the mask leaves out, and counts lines. */
static void find_samples(scan_grid *g, const mri_scan *s, grid_frame *f)
{
    const int64_t nx = s->matrix[0], n = nx * s->matrix[1];
    const int64_t lines = g->columns ? nx : s->matrix[1], length = n / lines;
    unsigned char *acquired = f->pattern.acquired;
    scan_mark_acquired(g->ctx, s->coils, n, f->data, acquired);
    f->pattern.samples = 0;
    for (int64_t line = 0; line < lines; line++) {
        int64_t held = 0, allowed = 0, kept = 0;
        for (int64_t m = 0; m < length; m++) {
            const int64_t x = g->columns ? line : m, y = g->columns ? m : line;
            const bool open = mask_has(g, f->volume, y, x), some = acquired[y * nx + x];
            held += some;
            allowed += open;
            kept += open && some;
            acquired[y * nx + x] = open && some;
        }
        g->lines++;
        g->masked += allowed == 0;
        g->hidden += held > kept;
        g->empty += allowed > 0 && kept == 0;
        g->gaps += kept > 0 ? allowed - kept : 0;
        f->pattern.samples += kept;
    }
}

/* Copies the samples of all coils, in the order of the trajectory. */
static vf_status keep_samples(const scan_grid *g, const mri_scan *s, const grid_frame *f, scan_frame *frame)
{
    const float scale = (float)sqrt((double)(s->matrix[0] * s->matrix[1]));
    const int64_t count = s->coils * f->pattern.samples;
    vf_status status = SCAN_NEW(g->ctx, g->source->path, "samples", count, frame->data);
    if (status != VF_OK)
        return status;
    scan_keep_acquired(g->ctx, &f->pattern, s, scale, f->data, frame->data);
    if (scan_first_not_finite(g->ctx, (const float *)frame->data, 2 * count) >= 0)
        return vf_fail(g->ctx, VF_ERR_INPUT,
                       "%s: '%s': values are too large: times sqrt(voxels), they exceed single precision",
                       g->source->path, g->name);
    return VF_OK;
}

/* Reads a frame; one without samples is left out. */
static vf_status read_frame(scan_grid *g, mri_scan *s, grid_frame *f)
{
    vf_status status = read_values(g, s, f);
    if (status != VF_OK)
        return status;
    find_samples(g, s, f);
    if (f->pattern.samples == 0)
        return VF_OK;
    scan_frame *frame = &s->frame[s->frames++]; /* the scan frees its data from here on */
    *frame = (scan_frame){
        .volume = (int)f->volume, .repetition = (int)f->volume, .slice = (int)f->slice, .place = (int)f->slice};
    status = scan_share_pattern(g->ctx, g->source->path, &f->pattern, s, frame);
    return status == VF_OK ? keep_samples(g, s, f, frame) : status;
}

static vf_status check_frames(const scan_grid *g, const mri_scan *s)
{
    const int64_t all = (int64_t)s->volumes * s->slices;
    if (s->frames == 0)
        return vf_fail(g->ctx, VF_ERR_INPUT, "%s: '%s' has no samples: %s", g->source->path, g->name,
                       g->mask ? "it is 0 wherever the mask is not" : "all values are 0");
    if (s->frames < all)
        vf_warn(g->ctx, "%s: %" PRId64 " of %" PRId64 " slices and frames of '%s' are all 0 and are ignored",
                g->source->path, all - s->frames, all, g->name);
    if (g->hidden > 0)
        vf_warn(g->ctx,
                "%s: '%s' leaves out samples of %" PRId64 " lines that have data; without it, all would be used",
                g->source->path, g->mask_name, g->hidden);
    return VF_OK;
}

vf_status scan_grid_read(scan_grid *g, mri_scan *s)
{
    const char *path = g->source->path;
    const int64_t n = s->matrix[0] * s->matrix[1], all = (int64_t)s->volumes * s->slices;
    grid_frame f = {.pattern = {.columns = g->columns}};
    vf_status status =
        scan_require_memory(g->ctx, path, "all samples", (all + 1) * s->coils, (size_t)n * sizeof *f.data);
    VF_TRY(status, SCAN_NEW(g->ctx, path, "frames", all, s->frame));
    VF_TRY(status, SCAN_NEW(g->ctx, path, "trajectories", all + 1, s->trajectory));
    VF_TRY(status, SCAN_NEW(g->ctx, path, "a slice", s->coils * n, f.data));
    VF_TRY(status, scan_allocate(g->ctx, path, "positions", n, 1, &f.pattern.acquired));
    for (int64_t i = 0; status == VF_OK && i < all; i++) {
        f.volume = i / s->slices;
        f.slice = i % s->slices;
        status = read_frame(g, s, &f);
        VF_TRY(status, scan_check_cancelled(g->ctx));
    }
    free(f.data);
    free(f.pattern.acquired);
    return status == VF_OK ? check_frames(g, s) : status;
}

void scan_grid_describe(const scan_grid *g, char *text, size_t size)
{
    snprintf(text, size, "Cartesian: %" PRId64 " of %" PRId64 " lines have samples", g->lines - g->masked - g->empty,
             g->lines);
    if (g->masked > 0)
        vf_append(text, size, "; '%s' leaves out %" PRId64, g->mask_name, g->masked);
    if (g->empty > 0)
        vf_append(text, size, "; %" PRId64 " left out because they are 0 in all coils", g->empty);
    if (g->gaps > 0)
        vf_append(text, size, "; %" PRId64 " positions of other lines left out because they are 0", g->gaps);
}

void scan_grid_free(scan_grid *g)
{
    free(g->mask);
    g->mask = NULL;
}
