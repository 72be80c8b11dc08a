/* The frame of each acquisition: volumes and slices of the image, and calibration lines. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/timer.h"

/* After the keys of all volumes and slices. */
static const uint64_t CALIBRATION_KEY = UINT64_C(1) << 62;

/* ---- frames ---- */

static int by_key(const void *a, const void *b)
{
    const scan_order *p = a, *q = b;
    return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->line > q->line) - (p->line < q->line);
}

/* The volume of a line: repetition, phase, set, contrast, the last fastest. */
static uint64_t volume_key(const scan_line *line)
{
    return (uint64_t)line->repetition << 48 | (uint64_t)line->phase << 32 | (uint64_t)line->set << 16 | line->contrast;
}

/* Some writers leave center_sample at 0. In a readout as long as the matrix, the centre cannot be there. */
static void assume_centers(ismrmrd_reader *r)
{
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        if (line->dims > 0 || line->center > 0 || line->samples < 2 || line->samples != r->out->matrix[0] ||
            (line->frame != LINE_IMAGE && line->frame != LINE_NAVIGATOR && !line->calibration))
            continue;
        line->center = line->samples / 2;
        r->centers_assumed += line->frame == LINE_IMAGE;
    }
    if (r->centers_assumed > 0)
        vf_warn(r->ctx, "%s: center_sample is 0 in %" PRId64 " readout%s as long as the matrix; using the middle",
                r->source->path, r->centers_assumed, vf_plural(r->centers_assumed));
}

/* Counts the steps of a calibration line of another encoding from the image's centre. A step in k may be another there. */
static bool count_from_centre(ismrmrd_reader *r, scan_line *line)
{
    if (line->encoding == r->encoding)
        return true;
    if (line->encoding >= r->protocol->encodings || line->encoding >= ISMRMRD_MOST_ENCODINGS)
        return false;
    const ismrmrd_encoding *e = &r->protocol->encoding[line->encoding];
    const ismrmrd_limit *const limit[2] = {&e->step_1, &e->step_2};
    int32_t *const step[2] = {&line->step_1, &line->step_2};
    for (int a = 0; a < 3; a++) {
        const bool same = fabs(e->encoded.fov[a] - r->out->fov[a]) <= 0.01 * r->out->fov[a];
        const bool known = e->encoded.fov[a] >= 1e-3 * r->out->fov[a] && e->encoded.fov[a] <= 1e3 * r->out->fov[a];
        if (r->out->matrix[a] > 1 && (!known || (a == 0 && !same && line->stored == 0)))
            return false;
        if (a > 0)
            r->step_scale[line->encoding][a - 1] = same || !known ? 0 : r->out->fov[a] / e->encoded.fov[a] - 1;
    }
    for (int a = 0; a < 2; a++) {
        const int64_t own = limit[a]->center >= 0 ? limit[a]->center : e->encoded.matrix[a + 1] / 2;
        *step[a] += (int32_t)(r->center[a] - own);
    }
    return true;
}

/* Calibration lines that are not image data can also give coil maps, if their readouts are like the image's. For each
 * slice, uses those of the first volume that has any. */
static void choose_calibrations(ismrmrd_reader *r)
{
    int axis;
    int64_t elsewhere = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < r->source->acquisitions; i++) {
            scan_line *line = &r->line[i];
            scan_slice *slice = &r->slice[line->slice];
            uint64_t volume = volume_key(line);
            line->calibration = line->calibration && r->dims == 0 && line->dims == 0 && slice->seen &&
                                line->channels == r->out->coils && line_kept(line) > 0;
            if (line->calibration && pass == 0) {
                const bool same = count_from_centre(r, line);
                elsewhere += !same;
                line->calibration = same && ismrmrd_line_fits(r, line, &axis);
            }
            if (line->calibration && pass == 0 && (!slice->calibrated || volume < slice->calibration_volume)) {
                slice->calibrated = true;
                slice->calibration_volume = volume;
            }
            line->calibration = line->calibration && (pass == 0 || volume == slice->calibration_volume);
            r->calibration_lines += pass == 1 && line->calibration;
        }
    if (elsewhere > 0)
        vf_warn(
            r->ctx,
            "%s: %" PRId64
            " calibration lines of another encoding are not used, because its field of view is not known, or another",
            r->source->path, elsewhere);
}

/* ---- a scan that was aborted ---- */

/* Image lines by repetition, and by slice: of the last repetition, and of all before it. */
typedef struct repetition_lines {
    int64_t of[UINT16_MAX + 1], last[UINT16_MAX + 1], before[UINT16_MAX + 1];
} repetition_lines;

/* Counts. Returns how many repetitions there are before the last, if they have equally many lines; else 0. */
static int64_t count_repetitions(const ismrmrd_reader *r, repetition_lines *lines, int *last)
{
    int64_t before = 0, least = INT64_MAX, most = 0;
    *last = 0;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].frame == LINE_IMAGE) {
            lines->of[r->line[i].repetition]++;
            *last = r->line[i].repetition > *last ? r->line[i].repetition : *last;
        }
    for (int n = 0; n < *last; n++)
        if (lines->of[n] > 0) {
            before++;
            least = lines->of[n] < least ? lines->of[n] : least;
            most = lines->of[n] > most ? lines->of[n] : most;
        }
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].frame == LINE_IMAGE)
            (r->line[i].repetition == *last ? lines->last : lines->before)[r->line[i].slice]++;
    return least == most ? before : 0;
}

/* Leaves out slices of the last repetition that have clearly fewer lines than in all other ones, which have equally
 * many. */
static vf_status leave_out_aborted(ismrmrd_reader *r)
{
    repetition_lines *lines;
    int64_t left_out = 0;
    int last;
    if (r->request->incomplete)
        return VF_OK;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "repetitions", 1, lines);
    if (status != VF_OK)
        return status;
    const int64_t before = count_repetitions(r, lines, &last);
    for (int64_t i = 0; before > 0 && i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        if (line->frame != LINE_IMAGE || line->repetition != last ||
            (double)(lines->last[line->slice] * before) >= 0.9 * (double)lines->before[line->slice])
            continue;
        line->frame = LINE_LEFT_OUT;
        left_out++;
    }
    r->image_lines -= left_out;
    if (left_out > 0)
        vf_warn(r->ctx,
                "%s: the last repetition was aborted: %" PRId64 " of its %" PRId64
                " lines belong to images that the other repetitions have more lines of; they are left out. --frames : "
                "keeps them",
                r->source->path, left_out, lines->of[last]);
    free(lines);
    return VF_OK;
}

/* Sorts lines by volume and numbers the volumes: keys become 0, 1, ... */
static int64_t number_keys(scan_order *order, int64_t count)
{
    uint64_t before = 0;
    int64_t number = -1;
    qsort(order, (size_t)count, sizeof *order, by_key);
    for (int64_t i = 0; i < count; i++) {
        number += i == 0 || order[i].key != before;
        before = order[i].key;
        order[i].key = (uint64_t)number;
    }
    return number + 1;
}

static vf_status sort_lines(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    const char *path = r->source->path;
    vf_status status = SCAN_NEW(r->ctx, path, "acquisitions", r->image_lines + r->calibration_lines, r->order);
    if (status != VF_OK)
        return status;
    int64_t n = 0;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].frame == LINE_IMAGE)
            r->order[n++] = (scan_order){volume_key(&r->line[i]), i};
    int64_t volumes = number_keys(r->order, n);
    for (int64_t i = 0; i < n; i++)
        r->order[i].key = r->order[i].key << 16 | (uint64_t)r->slice[r->line[r->order[i].line].slice].rank;
    for (int64_t i = 0; i < r->source->acquisitions; i++)
        if (r->line[i].calibration)
            r->order[n++] = (scan_order){CALIBRATION_KEY | (uint64_t)r->slice[r->line[i].slice].rank, i};
    qsort(r->order, (size_t)n, sizeof *r->order, by_key);
    if (volumes > INT32_MAX / r->slice_count)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: %" PRId64 " volumes of %d slices are more than the program supports",
                       path, volumes, r->slice_count);
    s->volumes = (int)(volumes * scan_stacks(s));
    return VF_OK;
}

/* The frame of a line. */
static scan_frame frame_of(const ismrmrd_reader *r, const scan_order *o)
{
    const scan_line *line = &r->line[o->line];
    int volume = o->key & CALIBRATION_KEY ? 0 : (int)(o->key >> 16), slice = (int)(o->key & 0xffff);
    return (scan_frame){.volume = volume * scan_stacks(r->out) + slice / r->out->slices,
                        .slice = slice % r->out->slices,
                        .place = slice,
                        .contrast = line->contrast,
                        .phase = line->phase,
                        .repetition = line->repetition,
                        .set = line->set};
}

static vf_status allocate_frames(ismrmrd_reader *r, int64_t frames)
{
    const char *path = r->source->path;
    vf_status status = SCAN_NEW(r->ctx, path, "frames", frames, r->out->frame);
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", frames + 1, r->frame_first));
    VF_TRY(status, SCAN_NEW(r->ctx, path, "frames", frames, r->frame_samples));
    return status;
}

/* Makes frames from lines sorted by volume and slice. */
static vf_status make_frames(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    int64_t lines = r->image_lines + r->calibration_lines, all = 0, slices = (int64_t)s->volumes * s->slices;
    for (int64_t i = 0; i < lines; i++)
        all += i == 0 || r->order[i].key != r->order[i - 1].key;
    vf_status status = allocate_frames(r, all);
    if (status != VF_OK)
        return status;
    int frame = -1;
    for (int64_t i = 0; i < lines; i++) {
        const scan_order *o = &r->order[i];
        scan_line *line = &r->line[o->line];
        if (i == 0 || o->key != r->order[i - 1].key) {
            r->frame_first[++frame] = i;
            s->frame[frame] = frame_of(r, o);
            s->frames += o->key < CALIBRATION_KEY;
            s->calibrations += o->key >= CALIBRATION_KEY;
        }
        line->frame = frame;
        line->at = r->frame_samples[frame];
        r->frame_samples[frame] += line_kept(line);
    }
    r->frame_first[all] = lines;
    if (s->frames != slices)
        vf_warn(r->ctx, "%s: %" PRId64 " of %" PRId64 " slices %s no samples", r->source->path, slices - s->frames,
                slices, slices - s->frames == 1 ? "has" : "have");
    return VF_OK;
}

/* ---- lines that were not measured ---- */

/* Moves the kept samples of a frame's lines, [coil][sample], to where they are without the others. */
static void move_samples(const ismrmrd_reader *r, const scan_order *order, int64_t lines, int64_t before, int64_t after,
                         int frame, const int64_t *from)
{
    float complex *data = r->out->frame[frame].data;
    for (int64_t c = 0; c < r->out->coils; c++)
        for (int64_t i = 0; i < lines; i++) {
            const scan_line *line = &r->line[order[i].line];
            memmove(data + c * after + line->at, data + c * before + from[i], (size_t)line_kept(line) * sizeof *data);
        }
    scan_trajectory *t = r->dims > 0 && frame < r->out->frames ? &r->out->trajectory[frame] : NULL;
    for (int64_t i = 0; t && i < lines; i++) {
        const scan_line *line = &r->line[order[i].line];
        memmove(t->k + 3 * line->at, t->k + 3 * from[i], 3 * (size_t)line_kept(line) * sizeof *t->k);
        if (t->time)
            memmove(t->time + line->at, t->time + from[i], (size_t)line_kept(line) * sizeof *t->time);
    }
}

/* Of a frame: how many lines are not empty; all, if none. */
static int64_t lines_to_keep(const ismrmrd_reader *r, const scan_order *order, int64_t lines)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < lines; i++)
        kept += !r->line[order[i].line].empty;
    return kept > 0 ? kept : lines;
}

/* Drops samples that are exactly 0 at an end of all readouts. Returns those at the beginning. */
static int64_t cut_zeros(const ismrmrd_reader *r, scan_line *line, int frame)
{
    const readout_energy *e = &r->readout[line->reversed];
    if (frame >= r->out->frames || !e->sum || !ismrmrd_is_alike(e, line))
        return 0;
    line->pre = (uint16_t)(line->pre + e->lead);
    line->post = (uint16_t)(line->post + e->trail);
    return e->lead;
}

vf_status ismrmrd_leave_out_empty(ismrmrd_reader *r)
{
    enum { FEW = 4 }; /* zeros at the ends: that many are not chance */
    bool zeros = false;
    for (int i = 0; i < 2; i++) {
        readout_energy *e = &r->readout[i];
        e->lead = e->lead < FEW ? 0 : e->lead;
        e->trail = e->trail < FEW ? 0 : e->trail;
        zeros = zeros || e->lead > 0 || e->trail > 0;
        if (e->lead > 0 || e->trail > 0)
            vf_note(r->ctx, "%s: the first %d and last %d samples of readouts are 0: filled in, not measured; left out",
                    r->source->path, e->lead, e->trail);
    }
    const int frames = r->out->frames + r->out->calibrations;
    int64_t *from, to = 0, dropped = 0;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "acquisitions", r->image_lines + r->calibration_lines, from);
    for (int f = 0; status == VF_OK && f < frames; f++) {
        const int64_t first = r->frame_first[f], lines = r->frame_first[f + 1] - first;
        const int64_t kept = lines_to_keep(r, r->order + first, lines), before = r->frame_samples[f];
        r->frame_first[f] = to;
        if (kept == lines && to == first && !zeros) { /* nothing moves */
            to += lines;
            continue;
        }
        r->frame_samples[f] = 0;
        for (int64_t i = 0; i < lines; i++) {
            scan_line *line = &r->line[r->order[first + i].line];
            if (line->empty && kept < lines) {
                line->frame = LINE_LEFT_OUT;
                continue;
            }
            from[to] = line->at + cut_zeros(r, line, f);
            line->at = r->frame_samples[f];
            r->frame_samples[f] += line_kept(line);
            r->order[to++] = r->order[first + i];
        }
        if (kept == lines && !zeros)
            continue; /* only the numbers of its lines changed */
        dropped += lines - kept;
        r->image_lines -= f < r->out->frames ? lines - kept : 0;
        r->calibration_lines -= f < r->out->frames ? 0 : lines - kept;
        move_samples(r, r->order + to - kept, kept, before, r->frame_samples[f], f, from + to - kept);
        if (r->dims > 0 && f < r->out->frames) {
            free(r->out->trajectory[f].readout);
            r->out->trajectory[f].readout = NULL;
        }
    }
    if (status == VF_OK)
        r->frame_first[frames] = to;
    for (int f = 0; status == VF_OK && r->dims > 0 && f < r->out->frames; f++)
        if (!r->out->trajectory[f].readout)
            status = ismrmrd_mark_readouts(r, f, &r->out->trajectory[f]);
    if (status == VF_OK && dropped > 0)
        vf_note(r->ctx, "%s: %" PRId64 " line%s hold%s only zeros: filled in, not measured; left out", r->source->path,
                dropped, vf_plural(dropped), dropped == 1 ? "s" : "");
    free(from);
    return status;
}

/* ---- the whole ---- */

vf_status ismrmrd_sort(ismrmrd_reader *r)
{
    r->slabs = r->out->matrix[2] > 1 && r->slice_count > 1;
    if (r->slabs)
        vf_warn(r->ctx, "%s: %d slabs of 3D data; each becomes a volume of its own", r->source->path, r->slice_count);
    r->out->slices = r->slabs ? 1 : r->slice_count;
    r->out->places = r->slice_count;
    vf_status status = leave_out_aborted(r);
    VF_TRY(status, ismrmrd_order_slices(r));
    if (status == VF_OK) {
        ismrmrd_tell_geometry(r);
        assume_centers(r);
        choose_calibrations(r);
        status = sort_lines(r);
    }
    VF_TRY(status, make_frames(r));
    return status;
}
