/* Reads the plain layout: group /scan with one dataset per quantity (docs/scans.md). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_noise.h"
#include "scan_plain.h"
#include "scan_units.h"
#include "scan_values.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

enum { RANK_MOST = VF_H5_MAX_RANK, SHAPE_TEXT = SCAN_SHAPE_TEXT, MOST_VOLUMES = 65536, MOST_FRAMES = 1 << 20 };
static const int64_t MOST_SAMPLES = (int64_t)1 << 40;

/* A dataset. Its shape excludes the axis of two of a complex number. */
typedef struct array {
    char name[32]; /* "/scan/data" */
    bool exists;
    bool pair;      /* complex numbers stored as real ones with a last axis of 2 */
    bool two_parts; /* complex numbers {r, i} */
    int rank;
    int64_t dims[RANK_MOST];
} array;

typedef struct reader {
    vf_context *ctx;
    const plain_source *source;
    mri_scan *out;
    array trajectory, data;
    int components;        /* of the trajectory: 2 or 3 */
    bool own_trajectories; /* one per frame */
    int64_t samples;
} reader;

const char *scan_shape_text(int rank, const int64_t *dims, char text[SHAPE_TEXT])
{
    snprintf(text, SHAPE_TEXT, "[");
    for (int d = 0; d < rank; d++)
        vf_append(text, SHAPE_TEXT, "%s%" PRId64, d ? ", " : "", dims[d]);
    vf_append(text, SHAPE_TEXT, "]");
    return text;
}

static const char *shape_text(const array *a, char text[SHAPE_TEXT])
{
    return scan_shape_text(a->rank, a->dims, text);
}

static vf_status wrong_shape(const reader *r, const array *a, const char *expected)
{
    char shape[SHAPE_TEXT];
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %s has the shape %s; expected %s", r->source->path, a->name,
                   shape_text(a, shape), expected);
}

/* Looks up a dataset. A missing one is not an error; empty axes are. */
static vf_status look_up(const reader *r, const char *name, bool complex_numbers, array *a)
{
    vf_dtype type;
    memset(a, 0, sizeof *a);
    snprintf(a->name, sizeof a->name, "/scan/%s", name);
    a->exists = r->source->exists(r->source->user, a->name);
    if (!a->exists)
        return VF_OK;
    vf_status status = r->source->shape(r->source->user, a->name, &type, &a->rank, a->dims);
    if (status != VF_OK)
        return status;
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] < 1)
            return wrong_shape(r, a, "at least one element along each axis");
    a->two_parts = vf_dtype_real(type) != type;
    if (complex_numbers && !a->two_parts) {
        a->pair = a->rank >= 1 && a->dims[a->rank - 1] == 2;
        if (!a->pair)
            return wrong_shape(r, a, "complex numbers {r, i}, or a last axis of 2 for real and imaginary part");
        a->rank--;
    } else if (!complex_numbers && a->two_parts) {
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %s has complex numbers; expected real ones", r->source->path,
                       a->name);
    }
    return VF_OK;
}

/* Reads element `index` of the first axis (-1: everything) as floats or complex floats and checks that they are finite.
 * `values`: the number of floats. */
static vf_status read_part(const reader *r, const array *a, int64_t index, float *out)
{
    int64_t start[RANK_MOST] = {0}, count[RANK_MOST], values = a->two_parts || a->pair ? 2 : 1;
    for (int d = 0; d < a->rank; d++) {
        start[d] = d == 0 && index >= 0 ? index : 0;
        count[d] = d == 0 && index >= 0 ? 1 : a->dims[d];
        values *= count[d];
    }
    if (a->pair)
        count[a->rank] = 2;
    vf_status status = r->source->read(r->source->user, a->name, a->two_parts ? VF_C64 : VF_F32, start, count, out);
    if (status != VF_OK)
        return status;
    int64_t bad = scan_first_not_finite(r->ctx, out, values);
    if (bad < 0)
        return VF_OK;
    char at[SHAPE_TEXT] = "";
    const char *name = scan_not_finite_name(out[bad]);
    int64_t rest = a->two_parts || a->pair ? bad / 2 : bad;
    for (int d = a->rank - 1; d >= 0; d--) {
        start[d] += rest % count[d];
        rest /= count[d];
    }
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %s%s is %s; all values must be finite in single precision",
                   r->source->path, a->name, scan_shape_text(a->rank, start, at), name);
}

/* ---- attributes ---- */

static vf_status read_attributes(reader *r)
{
    mri_scan *s = r->out;
    const plain_source *source = r->source;
    vf_status status = source->integers(source->user, "/scan", "matrix", s->matrix, 3);
    VF_TRY(status, source->doubles(source->user, "/scan", "fov_mm", s->fov, 3));
    if (status != VF_OK)
        return status;
    for (int a = 0; a < 3; a++) {
        if (s->matrix[a] < 1 || s->matrix[a] > SCAN_MOST_MATRIX)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: /scan: matrix is %" PRId64 " along %c; expected 1 to %d",
                           source->path, s->matrix[a], "xyz"[a], SCAN_MOST_MATRIX);
        if (!(s->fov[a] > 0 && s->fov[a] <= 1e6))
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: /scan: fov_mm is %g along %c; expected a positive number of millimetres", source->path,
                           s->fov[a], "xyz"[a]);
        s->crop[a] = s->matrix[a];
    }
    return VF_OK;
}

/* ---- data and trajectory ---- */

/* Determines the numbers of frames, coils and samples from the two shapes. */
static vf_status plan(reader *r)
{
    const array *t = &r->trajectory, *d = &r->data;
    mri_scan *s = r->out;
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (d->rank < 1 || d->rank > 3)
        return wrong_shape(r, d, "[coil][sample] or [frame][coil][sample]");
    int64_t frames = d->rank == 3 ? d->dims[0] : 1, coils = d->rank >= 2 ? d->dims[d->rank - 2] : 1;
    r->samples = d->dims[d->rank - 1];
    if (t->rank != 2 && t->rank != 3)
        return wrong_shape(r, t, "[sample][3] or [frame][sample][3]");
    r->own_trajectories = t->rank == 3;
    r->components = (int)t->dims[t->rank - 1];
    if (t->dims[t->rank - 1] != 3 && !(t->dims[t->rank - 1] == 2 && s->matrix[2] == 1))
        return wrong_shape(r, t, "a last axis of 3 (kx, ky, kz), or of 2 if the matrix is 1 along z");
    if (t->dims[t->rank - 2] != r->samples)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: %s has the shape %s, but %s has %s: %" PRId64 " sample%s against %" PRId64
                       "; data is [coil][sample], trajectory [sample][3]",
                       r->source->path, d->name, shape_text(d, a), t->name, shape_text(t, b), r->samples,
                       vf_plural(r->samples), t->dims[t->rank - 2]);
    if (r->own_trajectories && t->dims[0] != frames)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: %s has the shape %s, but %s has %s: %" PRId64 " frame%s against %" PRId64, r->source->path,
                       d->name, shape_text(d, a), t->name, shape_text(t, b), frames, vf_plural(frames), t->dims[0]);
    if (coils > SCAN_MOST_COILS || frames > MOST_FRAMES || r->samples > MOST_SAMPLES)
        return wrong_shape(r, d, "no more than 4096 coils, 2^20 frames and 2^40 samples");
    s->coils = (int)coils;
    s->frames = s->volumes = (int)frames;
    s->slices = 1;
    s->places = 1;
    s->trajectories = r->own_trajectories ? s->frames : 1;
    return VF_OK;
}

static vf_status read_data(reader *r)
{
    mri_scan *s = r->out;
    const char *path = r->source->path;
    vf_status status = scan_require_memory(r->ctx, path, r->data.name, s->frames * r->samples,
                                           (size_t)s->coils * sizeof(float complex));
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", s->frames, s->frame));
    for (int f = 0; status == VF_OK && f < s->frames; f++) {
        scan_frame *frame = &s->frame[f];
        frame->volume = frame->repetition = f;
        frame->trajectory = r->own_trajectories ? f : 0;
        status =
            scan_allocate_to_read(r->ctx, path, r->data.name, s->coils * r->samples, sizeof *frame->data, &frame->data);
        VF_TRY(status, read_part(r, &r->data, r->data.rank == 3 ? f : -1, (float *)frame->data));
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    return status;
}

/* Expands two components per sample to three, in place. */
static void spread_components(float *k, int64_t samples)
{
    for (int64_t m = samples - 1; m >= 0; m--) {
        float x = k[2 * m], y = k[2 * m + 1];
        k[3 * m] = x;
        k[3 * m + 1] = y;
        k[3 * m + 2] = 0;
    }
}

static vf_status read_k(reader *r)
{
    mri_scan *s = r->out;
    const char *path = r->source->path;
    vf_status status = SCAN_NEW(r->ctx, path, "trajectories", s->trajectories, s->trajectory);
    for (int i = 0; status == VF_OK && i < s->trajectories; i++) {
        scan_trajectory *t = &s->trajectory[i];
        t->samples = r->samples;
        status = scan_allocate_to_read(r->ctx, path, r->trajectory.name, 3 * r->samples, sizeof *t->k, &t->k);
        VF_TRY(status, read_part(r, &r->trajectory, r->own_trajectories ? i : -1, t->k));
        if (status == VF_OK && r->components == 2)
            spread_components(t->k, t->samples);
    }
    return status;
}

/* In the plain layout, k is in cycles per field of view, unless the user chooses other units. */
static vf_status convert_units(reader *r, k_units units)
{
    mri_scan *s = r->out;
    double most[3];
    vf_status status = scan_take_units(r->ctx, r->source->path, units, s, most);
    snprintf(s->description, sizeof s->description,
             "%" PRId64 " sample%s%s, k in %s%s (extent %.4g, %.4g, %.4g along x, y, z)", r->samples,
             vf_plural(r->samples), r->own_trajectories ? " a frame" : "",
             scan_unit_text(units == K_AUTO ? K_FOV : units),
             units == K_NORMALIZED || units == K_RADIANS ? ", as requested" : "", most[0], most[1], most[2]);
    return status;
}

/* Reads one value per sample: [sample], or [frame][sample] if each frame has its own trajectory. `floats`: 2 for
 * complex values. */
static vf_status read_per_sample(reader *r, const char *name, bool complex_numbers, size_t offset)
{
    mri_scan *s = r->out;
    array a;
    vf_status status = look_up(r, name, complex_numbers, &a);
    if (status != VF_OK || !a.exists)
        return status;
    bool each = a.rank == 2 && r->own_trajectories && a.dims[0] == s->trajectories;
    if (!(a.rank == 1 || each) || a.dims[a.rank - 1] != r->samples)
        return wrong_shape(r, &a,
                           r->own_trajectories ? "[frame][sample] or [sample], as in the trajectory"
                                               : "[sample], with as many samples as the trajectory");
    for (int i = 0; status == VF_OK && i < s->trajectories; i++) {
        float *values = NULL;
        status = scan_allocate_to_read(r->ctx, r->source->path, a.name, r->samples,
                                       (complex_numbers ? 2 : 1) * sizeof(float), &values);
        memcpy((char *)&s->trajectory[i] + offset, &values, sizeof values);
        VF_TRY(status, read_part(r, &a, each ? i : -1, values));
    }
    return status;
}

static vf_status check_weights(const reader *r)
{
    for (int i = 0; i < r->out->trajectories; i++) {
        const float *w = r->out->trajectory[i].weights;
        for (int64_t m = 0; w && m < r->samples; m++)
            if (!(w[m] >= 0))
                return vf_fail(r->ctx, VF_ERR_INPUT,
                               "%s: /scan/weights: the weight of sample %" PRId64 " is %g; "
                               "expected 0 or more",
                               r->source->path, m, (double)w[m]);
    }
    return VF_OK;
}

/* ---- volumes ---- */

/* Whether the last axes are those of a volume: [z][y][x], or [y][x] for one slice. `front` gets the number of axes
 * before them. */
static bool is_volume(const array *a, const int64_t matrix[3], int *front)
{
    for (int axes = 3; axes >= (matrix[2] == 1 ? 2 : 3); axes--) {
        bool same = a->rank >= axes;
        for (int d = 0; same && d < axes; d++)
            same = a->dims[a->rank - 1 - d] == matrix[d];
        *front = a->rank - axes;
        if (same && *front <= 1)
            return true;
    }
    return false;
}

/* Reads `name` into *out. *count: the length of the axis before the volume, 1 without that axis, 0 if the dataset is
 * missing. */
static vf_status read_volumes(reader *r, const char *name, const char *what, bool complex_numbers, int64_t *count,
                              void *out)
{
    array a;
    int front = 0;
    float *values = NULL;
    const int64_t *n = r->out->matrix;
    *count = 0;
    vf_status status = look_up(r, name, complex_numbers, &a);
    if (status != VF_OK || !a.exists)
        return status;
    if (!is_volume(&a, n, &front)) {
        char expected[SHAPE_TEXT];
        snprintf(expected, sizeof expected, "%s[%" PRId64 "][%" PRId64 "][%" PRId64 "], the matrix of the scan", what,
                 n[2], n[1], n[0]);
        return wrong_shape(r, &a, expected);
    }
    *count = front ? a.dims[0] : 1;
    if (*count > MOST_VOLUMES)
        return wrong_shape(r, &a, "fewer volumes");
    status = scan_allocate_to_read(r->ctx, r->source->path, a.name, *count * n[0] * n[1] * n[2],
                                   (complex_numbers ? 2 : 1) * sizeof(float), &values);
    memcpy(out, &values, sizeof values);
    return status == VF_OK ? read_part(r, &a, -1, values) : status;
}

static vf_status read_all_volumes(reader *r)
{
    mri_scan *s = r->out;
    int64_t maps, fields, references, truths;
    vf_status status = read_volumes(r, "sensitivity", "[coil]", true, &maps, &s->sensitivity);
    if (status == VF_OK && maps > 0 && maps != s->coils)
        status =
            vf_fail(r->ctx, VF_ERR_INPUT, "%s: %d coil%s in /scan/data, but %" PRId64 " map%s in /scan/sensitivity",
                    r->source->path, s->coils, vf_plural(s->coils), maps, vf_plural(maps));
    VF_TRY(status, read_volumes(r, "field_map", "", false, &fields, &s->field_map));
    if (status == VF_OK && fields > 1)
        status = vf_fail(r->ctx, VF_ERR_INPUT, "%s: %" PRId64 " volumes in /scan/field_map; expected one",
                         r->source->path, fields);
    if (status == VF_OK && fields > 0 && !s->trajectory[0].time)
        status =
            vf_fail(r->ctx, VF_ERR_INPUT,
                    "%s: /scan/time is missing; /scan/field_map needs it: the time of each sample in seconds, [sample]",
                    r->source->path);
    VF_TRY(status, read_volumes(r, "reference", "[image]", false, &references, &s->reference));
    VF_TRY(status, read_volumes(r, "truth", "[frame]", false, &truths, &s->truth));
    if (status == VF_OK && truths > 1 && truths != s->volumes)
        status = vf_fail(r->ctx, VF_ERR_INPUT, "%s: %" PRId64 " volumes in /scan/truth, but %d frame%s in /scan/data",
                         r->source->path, truths, s->volumes, vf_plural(s->volumes));
    if (status == VF_OK) {
        s->references = (int)references;
        s->truths = (int)truths;
    }
    return status;
}

/* ---- noise ---- */

/* Reads noise samples, [coil][sample], and computes their covariance. */
static vf_status read_noise(reader *r)
{
    mri_scan *s = r->out;
    const char *path = r->source->path;
    array a;
    float complex *values = NULL;
    double complex *samples = NULL;
    vf_status status = look_up(r, "noise", true, &a);
    if (status != VF_OK || !a.exists)
        return status;
    if (a.rank != 2 || a.dims[0] != s->coils)
        return wrong_shape(r, &a, "[coil][sample], with as many coils as data");
    int64_t count = a.dims[1];
    if (count < 2 * (int64_t)s->coils)
        return wrong_shape(r, &a, "at least two noise samples per coil (or leave out the dataset)");
    if (count > MOST_SAMPLES)
        return wrong_shape(r, &a, "no more than 2^40 samples");
    status = SCAN_NEW(r->ctx, path, a.name, s->coils * count, values);
    VF_TRY(status, SCAN_NEW(r->ctx, path, a.name, s->coils * count, samples));
    VF_TRY(status, SCAN_NEW(r->ctx, path, a.name, (int64_t)s->coils * s->coils, s->noise));
    VF_TRY(status, read_part(r, &a, -1, (float *)values));
    for (int64_t n = 0; status == VF_OK && n < s->coils * count; n++)
        samples[n] = (double complex)values[n];
    if (status == VF_OK) {
        scan_noise_add(s->coils, count, samples, s->noise);
        scan_noise_finish(s->coils, 1 / (double)count, (double)count, s->noise);
    }
    free(values);
    free(samples);
    return status;
}

/* ---- the whole ---- */

static vf_status required(const reader *r, const array *a)
{
    return a->exists ? VF_OK : vf_fail(r->ctx, VF_ERR_INPUT, "%s: dataset %s is missing", r->source->path, a->name);
}

vf_status scan_plain_space(vf_context *ctx, const plain_source *source, mri_scan *out)
{
    reader r = {.ctx = ctx, .source = source, .out = out};
    snprintf(out->layout, sizeof out->layout, "plain");
    for (int a = 0; a < 3; a++)
        out->geometry.direction[a][a] = 1;
    return read_attributes(&r);
}

vf_status scan_plain_rest(vf_context *ctx, const plain_source *source, mri_scan *out)
{
    reader r = {.ctx = ctx, .source = source, .out = out};
    const vf_status status = read_all_volumes(&r);
    return status == VF_OK ? read_noise(&r) : status;
}

vf_status scan_read_plain(vf_context *ctx, const plain_source *source, k_units units, mri_scan *out)
{
    reader r = {.ctx = ctx, .source = source, .out = out};
    vf_status status = scan_plain_space(ctx, source, out);
    VF_TRY(status, look_up(&r, "data", true, &r.data));
    VF_TRY(status, required(&r, &r.data));
    VF_TRY(status, look_up(&r, "trajectory", false, &r.trajectory));
    VF_TRY(status, required(&r, &r.trajectory));
    VF_TRY(status, plan(&r));
    VF_TRY(status, read_data(&r));
    VF_TRY(status, read_k(&r));
    VF_TRY(status, convert_units(&r, units));
    VF_TRY(status, read_per_sample(&r, "weights", false, offsetof(scan_trajectory, weights)));
    VF_TRY(status, check_weights(&r));
    VF_TRY(status, read_per_sample(&r, "time", false, offsetof(scan_trajectory, time)));
    VF_TRY(status, read_per_sample(&r, "phi", true, offsetof(scan_trajectory, phi)));
    VF_TRY(status, scan_plain_rest(ctx, source, out));
    return status;
}
