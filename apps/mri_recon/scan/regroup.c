/* Cuts the readouts of a scan into other frames, and selects frames: for continuous acquisitions. */
#include "regroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find_readouts.h"
#include "join_frames.h"
#include "scan_finish.h"
#include "select_frames.h"
#include "share_trajectories.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

enum { MOST_PARTS = 1 << 20 };

/* A frame of the result. */
typedef struct part {
    scan_frame frame;
    int whole;             /* the frame that it is cut out of, */
    int64_t first_readout; /* from this readout on */
    int64_t volume;        /* slabs of one number count as one */
    int source;            /* the volume whose truth it shows */
} part;

typedef struct regrouping {
    vf_context *ctx;
    const scan_settings *settings;
    mri_scan *raw;
    bool truth;      /* it is needed */
    int slabs;       /* volumes that count as one */
    int old_volumes; /* of the scan */
    joined_pieces pieces;
    part *part; /* [parts] by volume, then place */
    int64_t parts, volumes;
    int64_t readouts, used; /* in all places; those in frames */
} regrouping;

/* ---- cutting ---- */

static int64_t step_of(const scan_settings *s)
{
    return s->frame_step > 0 ? s->frame_step : s->spokes_per_frame;
}

/* The number of frames that a whole is cut into. */
static int64_t frames_in(const regrouping *r, int whole)
{
    const scan_settings *s = r->settings;
    const int64_t readouts = r->raw->trajectory[r->raw->frame[whole].trajectory].readouts;
    return readouts < s->spokes_per_frame ? 0 : (readouts - s->spokes_per_frame) / step_of(s) + 1;
}

static vf_status count_parts(regrouping *r)
{
    const mri_scan *raw = r->raw;
    const int64_t length = r->settings->spokes_per_frame, step = step_of(r->settings);
    for (int w = 0; w < raw->frames; w++) {
        const int64_t readouts = raw->trajectory[raw->frame[w].trajectory].readouts, frames = frames_in(r, w);
        char where[32] = "";
        if (raw->places > 1)
            (void)snprintf(where, sizeof where, " in %s %d", raw->slices == 1 && r->slabs > 1 ? "slab" : "slice",
                           raw->frame[w].place + 1);
        if (frames == 0)
            return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                           "--spokes-per-frame %" PRId64 ": %s has only %" PRId64 " readout%s%s", length,
                           r->settings->input, readouts, vf_plural(readouts), where);
        r->parts += frames;
        r->readouts += readouts;
        r->used += step < length ? (frames - 1) * step + length : frames * length;
    }
    if (r->parts > MOST_PARTS)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--spokes-per-frame %" PRId64 " makes %" PRId64 " frames of %s; at most %d are supported",
                       length, r->parts, r->settings->input, MOST_PARTS);
    return VF_OK;
}

/* The former volume of a readout of a whole. */
static int volume_of(const regrouping *r, int whole, int64_t readout)
{
    int piece = r->pieces.begin[whole + 1] - 1;
    while (r->pieces.first_readout[piece] > readout)
        piece--;
    return r->pieces.volume[piece];
}

static bool same_volume(const scan_frame *a, const scan_frame *b)
{
    return a->repetition == b->repetition && a->phase == b->phase && a->set == b->set && a->contrast == b->contrast;
}

static int by_volume(const void *a, const void *b)
{
    const part *p = a, *q = b;
    if (p->frame.repetition != q->frame.repetition)
        return p->frame.repetition < q->frame.repetition ? -1 : 1;
    return p->whole < q->whole ? -1 : p->whole > q->whole; /* they are by phase, set, contrast and place */
}

static vf_status cut_parts(regrouping *r)
{
    const mri_scan *raw = r->raw;
    vf_status status = count_parts(r);
    VF_TRY(status, SCAN_NEW(r->ctx, r->settings->input, "frames", r->parts, r->part));
    int64_t parts = 0;
    for (int w = 0; status == VF_OK && w < raw->frames; w++)
        for (int64_t i = 0; i < frames_in(r, w); i++) {
            part *to = &r->part[parts++];
            *to = (part){.frame = raw->frame[w], .whole = w, .first_readout = i * step_of(r->settings)};
            to->frame.data = NULL;
            to->frame.repetition = (int)i;
            to->source = volume_of(r, w, to->first_readout + r->settings->spokes_per_frame / 2);
        }
    if (status != VF_OK)
        return status;
    qsort(r->part, (size_t)parts, sizeof *r->part, by_volume);
    for (int64_t i = 0; i < parts; i++) {
        r->volumes += i == 0 || !same_volume(&r->part[i].frame, &r->part[i - 1].frame);
        r->part[i].volume = r->volumes - 1;
    }
    return VF_OK;
}

/* The scan's own frames as parts. */
static vf_status take_frames(regrouping *r)
{
    const mri_scan *raw = r->raw;
    r->parts = raw->frames;
    r->volumes = raw->volumes / r->slabs;
    vf_status status = SCAN_NEW(r->ctx, r->settings->input, "frames", r->parts, r->part);
    for (int f = 0; status == VF_OK && f < raw->frames; f++)
        r->part[f] = (part){.frame = raw->frame[f],
                            .whole = f,
                            .volume = raw->frame[f].volume / r->slabs,
                            .source = raw->frame[f].volume};
    return status;
}

/* ---- selecting ---- */

/* Adds the regrouping to the line that describes the scan. */
static void describe(const regrouping *r)
{
    const scan_settings *s = r->settings;
    char *text = r->raw->description;
    const size_t size = sizeof r->raw->description;
    if (s->spokes_per_frame > 0)
        vf_append(text, size, "; regrouped: %" PRId64 " frame%s of %d readout%s", r->volumes, vf_plural(r->volumes),
                  s->spokes_per_frame, vf_plural(s->spokes_per_frame));
    if (step_of(s) != s->spokes_per_frame)
        vf_append(text, size, ", one every %" PRId64, step_of(s));
    if (r->used < r->readouts)
        vf_append(text, size, ", %" PRId64 " of %" PRId64 " readouts in no frame", r->readouts - r->used, r->readouts);
    if (s->frames)
        vf_append(text, size, "; frames %.40s of %" PRId64, s->frames, r->volumes);
}

/* Keeps the parts of selected volumes, and numbers those. */
static vf_status select_parts(regrouping *r)
{
    frame_selection chosen = {.step = 1, .count = r->volumes};
    vf_status status = VF_OK;
    if (r->settings->frames)
        status = parse_frames(r->ctx, r->settings->frames, "the scan", r->volumes, &chosen);
    int64_t kept = 0;
    for (int64_t i = 0; status == VF_OK && i < r->parts; i++) {
        const int64_t from_first = r->part[i].volume - chosen.first;
        if (from_first < 0 || from_first % chosen.step != 0 || from_first / chosen.step >= chosen.count)
            continue;
        part *to = &r->part[kept++];
        *to = r->part[i];
        to->volume = from_first / chosen.step;
        to->frame.volume = (int)(to->volume * r->slabs + to->frame.place / r->raw->slices);
    }
    if (status == VF_OK && kept == 0)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT, "--frames '%s': %s has no samples of these frames",
                         r->settings->frames, r->settings->input);
    if (status != VF_OK)
        return status;
    r->parts = kept;
    r->raw->volumes = (int)(chosen.count * r->slabs);
    return VF_OK;
}

/* ---- the truth ---- */

static vf_status choose_truths(const regrouping *r)
{
    mri_scan *raw = r->raw;
    const int64_t voxels = raw->crop[0] * raw->crop[1] * raw->crop[2];
    float *truth = NULL;
    vf_status status = VF_OK;
    if (!raw->truth)
        return VF_OK;
    if (r->truth && raw->places == 1 && raw->truths == r->old_volumes) {
        status = SCAN_NEW(r->ctx, r->settings->input, "the truth", raw->volumes * voxels, truth);
        raw->truths = raw->volumes;
        for (int64_t i = 0; status == VF_OK && i < r->parts; i++)
            memcpy(truth + r->part[i].frame.volume * voxels, raw->truth + r->part[i].source * voxels,
                   (size_t)voxels * sizeof *truth);
    } else if (r->truth && raw->truths == 1 && r->part[0].frame.volume == 0 && r->part[0].source == 0) {
        return VF_OK; /* that of the first volume */
    }
    free(raw->truth);
    raw->truth = truth;
    raw->truths = truth ? raw->truths : 0;
    return status;
}

/* ---- the result ---- */

/* The trajectory of a part, as a piece of its whole's. */
static scan_trajectory window_of(const regrouping *r, const part *p, int64_t *first_sample)
{
    const scan_trajectory *of = &r->raw->trajectory[r->raw->frame[p->whole].trajectory];
    const int64_t first = of->readout[p->first_readout];
    *first_sample = first;
    return (scan_trajectory){.samples = of->readout[p->first_readout + r->settings->spokes_per_frame] - first,
                             .k = of->k + 3 * first,
                             .weights = of->weights ? of->weights + first : NULL,
                             .time = of->time ? of->time + first : NULL,
                             .phi = of->phi ? of->phi + first : NULL,
                             .borrowed = true};
}

/* Makes the frames of the parts, with a trajectory each, then shares equal trajectories. The wholes are frames from
 * `wholes_from` on. */
static vf_status make_windows(const regrouping *r, int wholes_from, mri_scan *cut)
{
    cut->frames = cut->trajectories = (int)r->parts;
    for (int i = 0; i < cut->frames; i++) {
        const part *p = &r->part[i];
        scan_trajectory *t = &cut->trajectory[i];
        cut->frame[i] = p->frame;
        *t = window_of(r, p, &cut->frame[i].first_sample);
        cut->frame[i].part_of = wholes_from + p->whole;
        if (t->weights && scan_all_zero(t->weights, t->samples))
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: all samples of frame %d have weight 0", r->settings->input,
                           p->frame.repetition + 1);
    }
    return scan_share_trajectories(r->ctx, r->settings->input, cut);
}

/* Replaces the scan's frames by windows of them. Calibration lines and the wholes become calibration frames. */
static vf_status install_windows(const regrouping *r)
{
    mri_scan *raw = r->raw, cut = {0};
    const int wholes = raw->frames, lines = raw->calibrations, after = (int)r->parts + lines;
    const char *path = r->settings->input;
    vf_status status = SCAN_NEW(r->ctx, path, "frames", after + wholes, cut.frame);
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", after + wholes, cut.trajectory));
    VF_TRY(status, make_windows(r, after, &cut));
    if (status != VF_OK) {
        free(cut.frame);
        free(cut.trajectory);
        return status;
    }
    for (int i = 0; i < lines + wholes; i++) {
        scan_frame *frame = &cut.frame[r->parts + i];
        *frame = raw->frame[i < lines ? wholes + i : i - lines];
        frame->trajectory += cut.trajectories;
        frame->spare = i >= lines;
    }
    memcpy(cut.trajectory + cut.trajectories, raw->trajectory,
           (size_t)(raw->trajectories + lines) * sizeof *cut.trajectory);
    free(raw->frame);
    free(raw->trajectory);
    raw->frame = cut.frame;
    raw->frames = cut.frames;
    raw->trajectory = cut.trajectory;
    raw->trajectories = cut.trajectories;
    raw->calibrations = lines + wholes;
    return VF_OK;
}

/* Puts selected frames and their trajectories first. Frames that are not selected become calibration frames. */
static vf_status install_selection(const regrouping *r)
{
    mri_scan *raw = r->raw;
    const int all = raw->frames + raw->calibrations, selected = (int)r->parts;
    const char *path = r->settings->input;
    scan_frame *frame = NULL;
    scan_trajectory *trajectory = NULL;
    int *number = NULL, frames = 0, trajectories = 0;
    vf_status status = SCAN_NEW(r->ctx, path, "frames", all, frame);
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", all, trajectory));
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", raw->trajectories + raw->calibrations, number));
    if (status != VF_OK) {
        free(frame);
        free(trajectory);
        free(number);
        return status;
    }
    for (int i = 0; i < selected; i++)
        frame[frames++] = r->part[i].frame;
    for (int f = raw->frames; f < all; f++)
        frame[frames++] = raw->frame[f];
    for (int f = 0, i = 0; f < raw->frames; f++) {
        if (i < selected && r->part[i].whole == f) {
            i++;
            continue;
        }
        frame[frames] = raw->frame[f];
        frame[frames++].spare = true;
    }
    for (int f = 0; f < all; f++) {
        int *to = &number[frame[f].trajectory];
        if (*to == 0) {
            trajectory[trajectories] = raw->trajectory[frame[f].trajectory];
            *to = ++trajectories;
        }
        frame[f].trajectory = *to - 1;
        if (f < selected)
            raw->trajectories = trajectories;
    }
    free(number);
    free(raw->frame);
    free(raw->trajectory);
    raw->frame = frame;
    raw->frames = selected;
    raw->calibrations = all - selected;
    raw->trajectory = trajectory;
    return VF_OK;
}

vf_status regroup_frames(vf_context *ctx, const scan_settings *settings, bool truth, mri_scan *raw)
{
    const bool cuts = settings->spokes_per_frame > 0;
    regrouping r = {.ctx = ctx,
                    .settings = settings,
                    .raw = raw,
                    .truth = truth,
                    .slabs = scan_stacks(raw),
                    .old_volumes = raw->volumes};
    vf_status status = VF_OK;
    if (!cuts && !settings->frames)
        return VF_OK;
    if (cuts)
        status = find_readouts(ctx, settings, "--spokes-per-frame", raw);
    if (status == VF_OK && cuts)
        status = join_frames(ctx, settings->input, raw, &r.pieces);
    VF_TRY(status, cuts ? cut_parts(&r) : take_frames(&r));
    VF_TRY(status, select_parts(&r));
    if (status == VF_OK) {
        describe(&r);
        status = choose_truths(&r);
    }
    VF_TRY(status, cuts ? install_windows(&r) : install_selection(&r));
    VF_TRY(status, scan_digest(ctx, settings->input, raw));
    joined_pieces_free(&r.pieces);
    free(r.part);
    return status;
}
