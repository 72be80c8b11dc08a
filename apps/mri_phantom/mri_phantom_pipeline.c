/* The stages of mri_phantom, in order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mri_phantom.h"
#include "program.h"
#include "voxfield/append.h"
#include "voxfield/device.h"
#include "voxfield/timer.h"

typedef struct work {
    phantom object;
    phantom_coils coils;
    phantom_field field;
    phantom_trajectory trajectory;
    float complex *data, *phi, *sensitivity, *noise;
    float *field_map, *reference, *truth;
    double rms, sigma;
} work;

/* ---- before any work ---- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcasecmp(text + length - tail, ending) == 0;
}

/* Completes the settings and rejects contradictory options. */
static vf_status settle(vf_context *ctx, phantom_settings *s)
{
    if (s->layout == LAYOUT_BY_NAME && ends_with(s->output, ".mrd"))
        s->layout = LAYOUT_ISMRMRD;
    else if (s->layout == LAYOUT_BY_NAME && (ends_with(s->output, ".h5") || ends_with(s->output, ".hdf5")))
        s->layout = LAYOUT_PLAIN;
    if (s->layout == LAYOUT_BY_NAME)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--output %s: unknown file extension; use .h5 (plain layout) or .mrd (ISMRMRD), or add --layout",
                       s->output);
    if (!s->has_trajectory)
        s->trajectory = s->matrix[2] == 1 ? TRAJECTORY_GOLDEN_ANGLE : TRAJECTORY_KOOSH_BALL;
    if (s->fov[2] == 0)
        s->fov[2] = s->matrix[2] == 1 ? PHANTOM_SLICE : s->fov[0];
    if (s->correlation > 0 && s->coils == 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--noise-correlation needs --coils 2 or more");
    if (s->noise_scan && !(s->noise > 0 || s->image_snr > 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--noise-scan needs noise: --noise, --snr or --image-snr");
    if (s->field > 0 && s->arrays & ARRAY_FIELD_MAP && !(s->arrays & ARRAY_TIME))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--without time: the field map needs the times; use --without time,field-map");
    return VF_OK;
}

/* Checks, before the work, that the scan fits in memory and on disk. */
static vf_status check_room(vf_context *ctx, const phantom_settings *s, const phantom_trajectory *t)
{
    double voxels = (double)s->matrix[0] * (double)s->matrix[1] * (double)s->matrix[2];
    double bytes = (double)t->samples * ((double)(s->coils * s->frames) * 8 + (double)t->sets * 12);
    bytes += (s->arrays & ARRAY_SENSITIVITY && s->coils > 1) || s->image_snr > 0 ? voxels * (double)s->coils * 8 : 0;
    bytes += s->arrays & ARRAY_TRUTH ? voxels * (double)s->frames * 4 : 0;
    bytes += s->arrays & ARRAY_FIELD_MAP && s->field > 0 ? voxels * 4 : 0;
    bytes += s->arrays & ARRAY_REFERENCE ? voxels * 4 : 0;
    uint64_t available, total;
    char need[32], have[32];
    vf_host_memory(&available, &total);
    if (bytes > (double)available)
        return vf_fail(
            ctx, VF_ERR_MEMORY, "not enough memory: this scan needs about %s, and %s are free; make a smaller scan",
            vf_format_bytes(bytes, need, sizeof need), vf_format_bytes((double)available, have, sizeof have));
    return program_check_place(ctx, s->output, bytes, "make a smaller scan");
}

/* ---- stages ---- */

static void *room(vf_context *ctx, vf_status *status, int64_t count, size_t bytes, const char *what)
{
    char size[32];
    double total = (double)count * (double)bytes;
    if (*status != VF_OK)
        return NULL;
    void *memory = total < 9e18 ? malloc((size_t)count * bytes) : NULL;
    if (!memory)
        *status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the %s (%s)", what,
                          vf_format_bytes(total, size, sizeof size));
    return memory;
}

static bool is_delayed(const phantom_settings *s)
{
    return s->delay[0] != 0 || s->delay[1] != 0 || s->delay[2] != 0;
}

static vf_status make_data(vf_context *ctx, const phantom_settings *s, work *w)
{
    vf_status status = VF_OK;
    int64_t each = s->coils * w->trajectory.samples;
    phantom_trajectory actual = w->trajectory;
    w->data = room(ctx, &status, each * s->frames, sizeof *w->data, "data");
    if (status == VF_OK && is_delayed(s))
        status = trajectory_delayed(ctx, &w->trajectory, s->delay, &actual.k);
    for (int64_t f = 0; status == VF_OK && f < s->frames; f++) {
        phantom now;
        phantom_at_frame(&w->object, f, s->frames, &now);
        status = phantom_signal(ctx, &now, &w->coils, &w->field, &actual, f % w->trajectory.sets, s->matrix,
                                w->data + f * each);
    }
    if (actual.k != w->trajectory.k)
        free(actual.k);
    if (status != VF_OK)
        return status;
    w->rms = complex_rms(w->data, each * s->frames);
    w->sigma = s->noise * w->rms;
    if (s->image_snr > 0)
        status = phantom_image_sigma(ctx, &w->object, &w->coils, s->correlation, s->matrix, s->image_snr, &w->sigma);
    for (int64_t f = 0; w->sigma > 0 && status == VF_OK && f < s->frames; f++)
        status = phantom_noise(ctx, w->sigma, s->correlation, (uint64_t)s->seed, 1 + (uint64_t)f, s->coils,
                               w->trajectory.samples, w->data + f * each);
    return status;
}

/* Noise samples with the properties of the noise in the data, for prewhitening. */
static vf_status make_noise(vf_context *ctx, const phantom_settings *s, work *w)
{
    vf_status status = VF_OK;
    if (!s->noise_scan)
        return VF_OK;
    w->noise = room(ctx, &status, s->coils * NOISE_SAMPLES, sizeof *w->noise, "noise acquisition");
    if (status != VF_OK)
        return status;
    memset(w->noise, 0, (size_t)(s->coils * NOISE_SAMPLES) * sizeof *w->noise);
    return phantom_noise(ctx, w->sigma, s->correlation, (uint64_t)s->seed, UINT64_MAX, s->coils, NOISE_SAMPLES,
                         w->noise);
}

static vf_status make_images(vf_context *ctx, const phantom_settings *s, work *w)
{
    vf_status status = VF_OK;
    int64_t voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    if (s->arrays & ARRAY_TRUTH)
        w->truth = room(ctx, &status, voxels * s->frames, sizeof *w->truth, "truth");
    for (int64_t f = 0; status == VF_OK && w->truth && f < s->frames; f++) {
        phantom now;
        phantom_at_frame(&w->object, f, s->frames, &now);
        status = phantom_voxels(ctx, &now, s->matrix, w->truth + f * voxels);
    }
    if (status == VF_OK && s->arrays & ARRAY_REFERENCE &&
        (w->reference = room(ctx, &status, voxels, sizeof *w->reference, "reference"))) {
        phantom other;
        phantom_reference(&w->object, &other);
        status = phantom_voxels(ctx, &other, s->matrix, w->reference);
    }
    if (s->arrays & ARRAY_SENSITIVITY && s->coils > 1 &&
        (w->sensitivity = room(ctx, &status, voxels * s->coils, sizeof *w->sensitivity, "coils' sensitivities")))
        coils_voxels(ctx, &w->coils, s->matrix, w->sensitivity);
    if (s->arrays & ARRAY_FIELD_MAP && s->field > 0 &&
        (w->field_map = room(ctx, &status, voxels, sizeof *w->field_map, "field map")))
        field_voxels(&w->field, s->matrix, w->field_map);
    if (s->arrays & ARRAY_PHI &&
        (w->phi = room(ctx, &status, w->trajectory.sets * w->trajectory.samples, sizeof *w->phi, "phi")))
        trajectory_phi(&w->trajectory, s->matrix, w->phi);
    return status;
}

/* Describes the scan for readers of the file. No path, time or version: the same options give the same bytes. */
static void describe(const phantom_settings *s, const work *w, char *text, size_t size)
{
    static const char *const objects[] = {"Shepp-Logan phantom", "random ellipsoids", "ball", "point", "head"};
    snprintf(text, size, "%s, analytic; %s, %lld readouts of %lld samples", objects[s->phantom],
             trajectory_names[s->trajectory], (long long)w->trajectory.readouts, (long long)w->trajectory.length);
    if (s->field > 0)
        vf_append(text, size, "; field ramp from %g to %g Hz", -s->field, s->field);
    if (is_delayed(s))
        vf_append(text, size, "; gradient delays %g, %g, %g samples", s->delay[0], s->delay[1], s->delay[2]);
    if (s->fat != 0)
        vf_append(text, size, "; fat at %g Hz", s->fat);
    if (s->image_snr > 0)
        vf_append(text, size, "; noise for an image SNR of %g, seed %lld", s->image_snr, (long long)s->seed);
    else if (s->noise > 0)
        vf_append(text, size, "; noise %.4g of the data's rms (%.1f dB), seed %lld", s->noise, -20 * log10(s->noise),
                  (long long)s->seed);
}

static vf_status stages(vf_context *ctx, phantom_settings *s, work *w)
{
    int dimensions = s->matrix[2] == 1 ? 2 : 3;
    double began = vf_now();
    vf_status status = settle(ctx, s);
    VF_TRY(status, trajectory_make(ctx, s, &w->trajectory));
    if (status == VF_OK && s->layout == LAYOUT_ISMRMRD)
        status = phantom_check_ismrmrd(ctx, s, &w->trajectory);
    VF_TRY(status, check_room(ctx, s, &w->trajectory));
    if (status == VF_OK)
        status =
            coils_make(ctx, s->coils, dimensions, s->phantom == PHANTOM_HEAD && dimensions == 2 ? 2 : 1, &w->coils);
    if (status != VF_OK)
        return status;
    phantom_make(s->phantom, dimensions, (uint64_t)s->seed, &w->object);
    phantom_set_fat(s->fat, &w->object);
    field_make(s->field, dimensions, &w->field);
    vf_note(ctx, "%lld x %lld x %lld voxels, %s: %lld readouts of %lld samples, %lld in all; coils: %lld; frames: %lld",
            (long long)s->matrix[0], (long long)s->matrix[1], (long long)s->matrix[2], trajectory_names[s->trajectory],
            (long long)w->trajectory.readouts, (long long)w->trajectory.length, (long long)w->trajectory.samples,
            (long long)s->coils, (long long)s->frames);
    if ((status = make_data(ctx, s, w)) != VF_OK || (status = make_noise(ctx, s, w)) != VF_OK ||
        (status = make_images(ctx, s, w)) != VF_OK)
        return status;
    phantom_scan scan = {.settings = s,
                         .trajectory = &w->trajectory,
                         .data = w->data,
                         .phi = w->phi,
                         .sensitivity = w->sensitivity,
                         .field_map = w->field_map,
                         .reference = w->reference,
                         .truth = w->truth,
                         .noise = w->noise,
                         .sigma = w->sigma};
    describe(s, w, scan.description, sizeof scan.description);
    double computed = vf_now();
    status = s->layout == LAYOUT_PLAIN ? phantom_write_plain(ctx, &scan) : phantom_write_ismrmrd(ctx, &scan);
    if (status == VF_OK)
        vf_note(ctx, "%s: %s (%.2f s computing, %.2f s writing)", s->output, scan.description, computed - began,
                vf_now() - computed);
    return status;
}

vf_status mri_phantom_run(vf_context *ctx, phantom_settings *settings)
{
    work w = {0};
    vf_status status = stages(ctx, settings, &w);
    trajectory_free(&w.trajectory);
    coils_free(&w.coils);
    free(w.data);
    free(w.phi);
    free(w.sensitivity);
    free(w.noise);
    free(w.field_map);
    free(w.reference);
    free(w.truth);
    return status;
}
