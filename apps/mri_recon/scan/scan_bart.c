/* Reads k-space of BART (docs/scans.md): Cartesian, or with a trajectory file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bart/cfl.h"
#include "bart/cfl_names.h"
#include "bart_trajectory.h"
#include "find_readouts.h"
#include "scan_formats.h"
#include "scan_units.h"
#include "scan_values.h"
#include "share_trajectories.h"

enum { MOST_FRAMES = 1 << 20 };
static const int64_t MOST_SAMPLES = (int64_t)1 << 40;

typedef struct reader {
    vf_context *ctx;
    const scan_companions *with;
    k_units units;
    mri_scan *out;
    cfl_file *data, *trajectory;  /* NULL: Cartesian */
    const int64_t *dims, *k_dims; /* of both files; k_dims is NULL for Cartesian scans */
    int64_t samples;              /* of a coil in a frame, in the file; for Cartesian scans, all positions */
    int64_t wanted[3];            /* the final matrix: from --matrix, or the scan's */
    double scale;                 /* sqrt(voxels), because BART's transforms are unitary */
    double extent[3];             /* of all trajectories, in units of the file */
    unsigned char *acquired;      /* [samples] of a Cartesian frame */
} reader;

/* ---- shapes ---- */

/* Frames are counted along TE, TIME, TIME2 and BATCH, the first fastest. SLICE counts places. */
static bool counts_frames(int dim)
{
    return dim == CFL_TE || dim == CFL_TIME || dim == CFL_TIME2 || dim == CFL_BATCH;
}

static vf_status check_dims(const reader *r)
{
    char shape[CFL_SHAPE_TEXT];
    const char *path = cfl_path(r->data);
    for (int d = CFL_MAPS; d < CFL_DIMS; d++)
        if (r->dims[d] > 1 && !counts_frames(d) && d != CFL_SLICE)
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: %" PRId64 " elements along dimension %d (%s), which is not supported; select "
                           "one with `bart slice %d 0`%s",
                           path, r->dims[d], d, cfl_dim_name(d), d,
                           d == CFL_AVG ? ", or their mean with `bart avg -w 16384`" : "");
    if (r->k_dims && r->dims[CFL_READ] != 1)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the shape is %s; with --trajectory, expected [1][samples][spokes][coils]", path,
                       cfl_shape(r->dims, shape));
    int64_t frames = r->dims[CFL_SLICE];
    for (int d = 0; d < CFL_DIMS; d++) /* no overflow: the product of all dimensions is a number of elements */
        frames *= counts_frames(d) ? r->dims[d] : 1;
    if (r->dims[CFL_COIL] > SCAN_MOST_COILS || frames > MOST_FRAMES || r->samples > MOST_SAMPLES)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the shape is %s; at most %d coils, 2^20 frames and 2^40 samples",
                       path, cfl_shape(r->dims, shape), SCAN_MOST_COILS);
    return VF_OK;
}

vf_status bart_check_trajectory(vf_context *ctx, const cfl_file *file)
{
    char shape[CFL_SHAPE_TEXT];
    const int64_t *dims = cfl_dims(file);
    if (dims[0] == 3 && dims[CFL_COIL] == 1 && dims[CFL_MAPS] == 1)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: the shape is %s; expected [3][samples][spokes] without coils for a trajectory", cfl_path(file),
                   cfl_shape(dims, shape));
}

static vf_status check_trajectory(const reader *r)
{
    char a[CFL_SHAPE_TEXT], b[CFL_SHAPE_TEXT];
    const int64_t *t = r->k_dims, *d = r->dims;
    bool fits = t[CFL_PHS1] == d[CFL_PHS1] && t[CFL_PHS2] == d[CFL_PHS2];
    vf_status status = bart_check_trajectory(r->ctx, r->trajectory);
    if (status != VF_OK)
        return status;
    for (int i = CFL_TE; i < CFL_DIMS; i++)
        fits = fits && (t[i] == 1 || t[i] == d[i]);
    if (!fits)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the shape is %s, but that of %s is %s; samples and spokes (dimensions 1 and 2) must match, "
                       "and frames must match or be 1",
                       cfl_path(r->trajectory), cfl_shape(t, a), cfl_path(r->data), cfl_shape(d, b));
    return VF_OK;
}

static vf_status open_files(reader *r, const char *path)
{
    vf_status status = cfl_open(r->ctx, path, &r->data);
    if (status == VF_OK && r->with->trajectory)
        status = cfl_open(r->ctx, r->with->trajectory, &r->trajectory);
    if (status != VF_OK)
        return status;
    r->dims = cfl_dims(r->data);
    r->k_dims = r->trajectory ? cfl_dims(r->trajectory) : NULL;
    r->samples = r->dims[0] * r->dims[1] * r->dims[2];
    status = check_dims(r);
    return status == VF_OK && r->k_dims ? check_trajectory(r) : status;
}

/* ---- the matrix ---- */

/* "--matrix": a single number applies to all axes of a plane. */
static void choose_wanted(reader *r)
{
    const int64_t *given = r->with->matrix;
    const bool plane = given && r->out->matrix[2] == 1 && given[0] == given[1] && given[1] == given[2];
    memcpy(r->wanted, given ? given : r->out->matrix, sizeof r->wanted);
    if (plane)
        r->wanted[2] = 1;
}

static vf_status set_space(reader *r)
{
    mri_scan *s = r->out;
    double voxels = 1;
    choose_wanted(r);
    for (int a = 0; a < 3; a++) {
        if (s->matrix[a] > SCAN_MOST_MATRIX)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the matrix is %" PRId64 " along %c; expected 1 to %d",
                           cfl_path(r->data), s->matrix[a], "xyz"[a], SCAN_MOST_MATRIX);
        s->crop[a] = s->matrix[a];
        s->fov[a] = (double)r->wanted[a]; /* BART's files have no field of view; assume voxels of 1 mm */
        voxels *= (double)r->wanted[a];
        s->geometry.direction[a][a] = 1;
    }
    r->scale = sqrt(voxels);
    return VF_OK;
}

/* BART's rule if the matrix is unknown: the smallest even one that holds the trajectory. */
static vf_status guess_matrix(reader *r)
{
    const double *most = r->extent;
    static const int64_t many[3] = {SCAN_MOST_MATRIX, SCAN_MOST_MATRIX, SCAN_MOST_MATRIX};
    if (r->units == K_AUTO && scan_looks_normalized(many, most))
        return scan_refuse_normalized(r->ctx, cfl_path(r->trajectory), r->with->matrix, most);
    for (int a = 0; a < 3; a++) {
        if (2 * ceil(most[a]) > SCAN_MOST_MATRIX)
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: |k%c| = %.6g cycles per field of view needs a matrix above %d; check the units",
                           cfl_path(r->trajectory), "xyz"[a], most[a], SCAN_MOST_MATRIX);
        r->out->matrix[a] = most[a] > 0 ? 2 * (int64_t)ceil(most[a]) : 1;
    }
    const double largest = fmax(most[0], fmax(most[1], most[2]));
    if (r->units == K_AUTO && fabs(largest - M_PI) <= 0.05 * M_PI)
        vf_warn(r->ctx,
                "%s: the trajectory reaches %.4g; if it is in radians per voxel, give --trajectory-units radians and "
                "--matrix. "
                "In cycles per field of view, it determines only %" PRId64 " x %" PRId64 " x %" PRId64 " voxels",
                cfl_path(r->trajectory), largest, r->out->matrix[0], r->out->matrix[1], r->out->matrix[2]);
    return VF_OK;
}

/* In other units, the extent does not determine the matrix. */
static vf_status take_matrix(reader *r)
{
    const int64_t *given = r->with->matrix;
    if (!given)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: with --trajectory-units %s the trajectory does not determine the matrix; add --matrix, or "
                       "--coils with a file of maps",
                       cfl_path(r->trajectory), scan_unit_word(r->units));
    memcpy(r->out->matrix, given, sizeof r->out->matrix);
    if (given[0] == given[1] && given[1] == given[2] && r->extent[2] == 0)
        r->out->matrix[2] = 1;
    return VF_OK;
}

static vf_status choose_matrix(reader *r, const char **why)
{
    vf_status status = VF_OK;
    if (r->with->map_matrix) {
        *why = "from the coil maps";
        memcpy(r->out->matrix, r->with->map_matrix, sizeof r->out->matrix);
        if (r->units == K_AUTO && scan_looks_normalized(r->out->matrix, r->extent))
            status = scan_refuse_normalized(r->ctx, cfl_path(r->trajectory), r->out->matrix, r->extent);
    } else if (r->units != K_AUTO && r->units != K_FOV) {
        *why = "from --matrix";
        status = take_matrix(r);
    } else {
        *why = "the smallest even one that covers the trajectory";
        status = guess_matrix(r);
    }
    return status == VF_OK ? set_space(r) : status;
}

/* ---- the trajectory ---- */

vf_status bart_read_k(vf_context *ctx, cfl_file *file, int64_t first, int64_t samples, float *k)
{
    float complex *pairs = NULL;
    vf_status status = SCAN_NEW(ctx, cfl_path(file), "the trajectory", 3 * samples, pairs);
    VF_TRY(status, cfl_read(file, 3 * first, 3 * samples, pairs));
    for (int64_t i = 0; status == VF_OK && i < 3 * samples; i++) {
        k[i] = crealf(pairs[i]);
        if (cimagf(pairs[i]) != 0)
            status =
                vf_fail(ctx, VF_ERR_INPUT, "%s: sample %" PRId64 " has an imaginary part; this is not a trajectory",
                        cfl_path(file), i / 3);
    }
    free(pairs);
    return status;
}

static vf_status read_trajectories(reader *r)
{
    mri_scan *s = r->out;
    const char *why = "";
    int64_t count = 1;
    for (int d = CFL_TE; d < CFL_DIMS; d++)
        count *= r->k_dims[d];
    s->trajectories = (int)count; /* at most as many as frames */
    vf_status status = SCAN_NEW(r->ctx, cfl_path(r->trajectory), "trajectories", count, s->trajectory);
    for (int i = 0; status == VF_OK && i < s->trajectories; i++) {
        scan_trajectory *t = &s->trajectory[i];
        t->samples = r->samples;
        status = SCAN_NEW(r->ctx, cfl_path(r->trajectory), "the trajectory", 3 * t->samples, t->k);
        VF_TRY(status, bart_read_k(r->ctx, r->trajectory, i * t->samples, t->samples, t->k));
        VF_TRY(status, scan_even_readouts(r->ctx, cfl_path(r->trajectory), r->dims[CFL_PHS1], t));
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    if (status == VF_OK)
        scan_extent_of_all(r->ctx, s, r->extent);
    VF_TRY(status, choose_matrix(r, &why));
    if (status == VF_OK)
        scan_scale_k(r->ctx, s, r->units);
    snprintf(s->description, sizeof s->description,
             "%" PRId64 " samples%s, extent %.4g, %.4g, %.4g along x, y, z; the matrix is %s; voxels of 1 mm assumed",
             r->samples, s->trajectories > 1 ? " a frame" : "", r->extent[0], r->extent[1], r->extent[2], why);
    return status;
}

/* ---- frames ---- */

/* Where frame number `block` of the file goes, from its index along each dimension after the coils. */
static scan_frame frame_of(const reader *r, int64_t block)
{
    int64_t index[CFL_DIMS] = {0}, volume = 0, stride = 1, trajectory = 0, k_stride = 1;
    for (int d = CFL_MAPS; d < CFL_DIMS; d++) {
        index[d] = block % r->dims[d];
        block /= r->dims[d];
        volume += counts_frames(d) ? index[d] * stride : 0;
        stride *= counts_frames(d) ? r->dims[d] : 1;
        if (r->k_dims) {
            trajectory += r->k_dims[d] > 1 ? index[d] * k_stride : 0;
            k_stride *= r->k_dims[d];
        }
    }
    const bool slabs = r->out->slices < r->out->places;
    return (scan_frame){.trajectory = (int)trajectory,
                        .volume = (int)(slabs ? volume * r->out->places + index[CFL_SLICE] : volume),
                        .slice = slabs ? 0 : (int)index[CFL_SLICE],
                        .place = (int)index[CFL_SLICE],
                        .contrast = (int)index[CFL_TE],
                        .phase = (int)index[CFL_TIME2],
                        .repetition = (int)index[CFL_TIME],
                        .set = (int)index[CFL_BATCH]};
}

/* Slices of planes are stacked, assuming 1 mm between them. Slices of volumes each become a volume. */
static int64_t count_frames(reader *r)
{
    mri_scan *s = r->out;
    const int64_t places = r->dims[CFL_SLICE], blocks = cfl_count(r->data) / (r->samples * r->dims[CFL_COIL]);
    const bool slabs = places > 1 && s->matrix[2] > 1;
    s->coils = (int)r->dims[CFL_COIL];
    s->places = (int)places;
    s->slices = slabs ? 1 : s->places;
    s->volumes = (int)(blocks / s->slices);
    s->geometry.slice_step = s->slices > 1 ? 1 : 0;
    return blocks;
}

/* Keeps the positions of a Cartesian frame where some coil is not 0. *empty: there are none. */
static vf_status keep_acquired(const reader *r, scan_frame *frame, bool *empty)
{
    mri_scan *s = r->out;
    scan_pattern pattern = {.acquired = r->acquired};
    scan_mark_acquired(r->ctx, s->coils, r->samples, frame->data, r->acquired);
    for (int64_t i = 0; i < r->samples; i++)
        pattern.samples += r->acquired[i];
    *empty = pattern.samples == 0;
    if (*empty)
        return VF_OK;
    vf_status status = scan_share_pattern(r->ctx, cfl_path(r->data), &pattern, s, frame);
    if (status != VF_OK)
        return status;
    scan_keep_acquired(r->ctx, &pattern, s, 1, frame->data, frame->data);
    float complex *less = realloc(frame->data, (size_t)(pattern.samples * s->coils) * sizeof *less);
    frame->data = less ? less : frame->data;
    return VF_OK;
}

static void scale_data(const reader *r, float complex *data, int64_t count)
{
    float *values = (float *)data;
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = (float)((double)values[i] * r->scale);
}

static vf_status check_scaled(const reader *r, const scan_frame *frame, int64_t count)
{
    if (scan_first_not_finite(r->ctx, (const float *)frame->data, 2 * count) < 0)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s: values of frame %d are too large: times sqrt(voxels), they exceed single precision",
                   cfl_path(r->data), frame->volume);
}

/* Reads frame `block`; for a Cartesian scan, only the acquired samples. */
static vf_status read_frame(reader *r, int64_t block, bool *empty)
{
    mri_scan *s = r->out;
    const int64_t count = r->samples * s->coils;
    scan_frame *frame = &s->frame[s->frames];
    *frame = frame_of(r, block);
    vf_status status = SCAN_NEW(r->ctx, cfl_path(r->data), "samples", count, frame->data);
    s->frames++; /* the scan frees the frame's data from here on */
    VF_TRY(status, cfl_read(r->data, block * count, count, frame->data));
    if (status == VF_OK && !r->k_dims)
        status = keep_acquired(r, frame, empty);
    if (status != VF_OK)
        return status;
    if (*empty) {
        s->frames--;
        free(frame->data);
        frame->data = NULL;
        return VF_OK;
    }
    const int64_t kept = s->trajectory[frame->trajectory].samples * s->coils;
    scale_data(r, frame->data, kept);
    return check_scaled(r, frame, kept);
}

static vf_status read_frames(reader *r)
{
    mri_scan *s = r->out;
    const char *path = cfl_path(r->data);
    const int64_t blocks = count_frames(r);
    int64_t left_out = 0;
    vf_status status = scan_require_memory(r->ctx, path, "all samples", cfl_count(r->data), sizeof(float complex));
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", blocks, s->frame));
    if (!r->k_dims) {
        VF_TRY(status, SCAN_NEW(r->ctx, path, "trajectories", blocks + 1, s->trajectory));
        VF_TRY(status, scan_allocate(r->ctx, path, "positions", r->samples, 1, &r->acquired));
    }
    for (int64_t b = 0; status == VF_OK && b < blocks; b++) {
        bool empty = false;
        status = read_frame(r, b, &empty);
        left_out += empty;
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    if (status == VF_OK && s->frames == 0)
        status = vf_fail(r->ctx, VF_ERR_INPUT, "%s: all samples are 0, which means that none was acquired", path);
    if (status == VF_OK && left_out > 0)
        vf_warn(r->ctx, "%s: %" PRId64 " of %" PRId64 " frames are all 0 and are ignored", path, left_out, blocks);
    return status;
}

/* ---- the whole ---- */

static vf_status read_cartesian(reader *r)
{
    mri_scan *s = r->out;
    if (r->units != K_AUTO)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: --trajectory-units needs --trajectory; without it, the scan is Cartesian",
                       cfl_path(r->data));
    memcpy(s->matrix, r->dims, sizeof s->matrix);
    if (r->dims[CFL_READ] == 1 && r->dims[CFL_PHS1] > 1 && r->dims[CFL_PHS2] > 1)
        vf_warn(r->ctx,
                "%s: the first dimension is 1, as in non-Cartesian scans; without --trajectory, the scan is read as "
                "a Cartesian plane",
                cfl_path(r->data));
    vf_status status = set_space(r);
    VF_TRY(status, read_frames(r));
    if (status == VF_OK)
        snprintf(s->description, sizeof s->description,
                 "Cartesian: %" PRId64 " of %" PRId64 " positions are not 0 and count as acquired%s; voxels of 1 mm "
                 "assumed",
                 s->trajectory[0].samples, r->samples, s->trajectories > 1 ? " in the first frame" : "");
    return status;
}

bool scan_is_bart(const scan_file *f)
{
    return cfl_is_name(f->path);
}

vf_status scan_read_bart(const scan_file *f, mri_scan *out)
{
    reader r = {.ctx = f->ctx, .with = &f->with, .units = f->request->units, .out = out};
    snprintf(out->layout, sizeof out->layout, "BART");
    vf_status status = open_files(&r, f->path);
    if (status == VF_OK && r.k_dims) {
        status = read_trajectories(&r);
        VF_TRY(status, read_frames(&r));
    } else if (status == VF_OK) {
        status = read_cartesian(&r);
    }
    free(r.acquired);
    cfl_close(&r.data);
    cfl_close(&r.trajectory);
    return status;
}
