/* Reads the headers of all acquisitions: which are image data, and to which frame each belongs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"
#include "voxfield/append.h"

/* ---- the purpose of an acquisition ---- */

/* The first match decides. */
static const struct {
    ismrmrd_flag flag;
    const char *name;
} not_image[] = {
    {ISMRMRD_NAVIGATION, "navigation"},
    {ISMRMRD_PHASE_CORRECTION, "phase correction"},
    {ISMRMRD_HP_FEEDBACK, "HP feedback"},
    {ISMRMRD_RT_FEEDBACK, "RT feedback"},
    {ISMRMRD_DUMMY_SCAN, "dummy"},
    {ISMRMRD_SURFACE_COIL_CORRECTION, "surface coil correction"},
    {ISMRMRD_PHASE_STABILIZATION_REFERENCE, "phase stabilization reference"},
    {ISMRMRD_PHASE_STABILIZATION, "phase stabilization"},
    {ISMRMRD_CALIBRATION, "parallel calibration"},
};
enum {
    MOST_EMPTY = 1 << 20
}; /* acquisitions without samples; far more than any scan has, and far fewer than a file can declare */
enum { REASONS = sizeof not_image / sizeof *not_image, CALIBRATION = REASONS - 1, OTHER_ENCODING, EMPTY, COUNTS };

/* After the keys of all volumes and slices. */
static const uint64_t CALIBRATION_KEY = UINT64_C(1) << 62;

typedef struct tally {
    int64_t left_out[COUNTS];
    int64_t noise, all, empty;
} tally;

static bool is_compressed(const ismrmrd_acquisition_header *head)
{
    return (head->flags & (UINT64_C(15) << (ISMRMRD_COMPRESSION1 - 1))) != 0;
}

/* Whether calibration lines were acquired interleaved with the image, with the same contrast. Then they are also image
 * data. */
static bool calibration_is_image(const ismrmrd_protocol *protocol)
{
    return strcmp(protocol->calibration_mode, "embedded") == 0 ||
           strcmp(protocol->calibration_mode, "interleaved") == 0;
}

/* The index of the reason why this is not image data, or -1. */
static int reason_to_leave_out(const ismrmrd_protocol *protocol, const ismrmrd_acquisition_header *head)
{
    for (int i = 0; i < REASONS; i++) {
        bool also_image = not_image[i].flag == ISMRMRD_CALIBRATION &&
                          ((head->flags & ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING)) != 0 ||
                           (calibration_is_image(protocol) && !is_compressed(head)));
        if ((head->flags & ISMRMRD_BIT(not_image[i].flag)) != 0 && !also_image)
            return i;
    }
    if (head->encoding_space_ref != 0)
        return OTHER_ENCODING;
    return head->number_of_samples <= (int)head->discard_pre + head->discard_post ? EMPTY : -1;
}

static void append(char *text, size_t size, const char *name, int64_t count)
{
    if (count > 0)
        vf_append(text, size, "%s%" PRId64 " %s", text[0] ? ", " : "", count, name);
}

static const char *describe(const tally *t, char *text, size_t size)
{
    text[0] = '\0';
    append(text, size, "noise", t->noise);
    for (int i = 0; i < REASONS; i++)
        append(text, size, not_image[i].name, t->left_out[i]);
    append(text, size, "of another encoding", t->left_out[OTHER_ENCODING]);
    append(text, size, "without samples", t->left_out[EMPTY]);
    if (text[0] == '\0')
        snprintf(text, size, "none");
    return text;
}

/* ---- one header after another ---- */

static void keep(scan_line *line, const ismrmrd_acquisition_header *head)
{
    *line = (scan_line){.samples = head->number_of_samples,
                        .channels = head->active_channels,
                        .pre = head->discard_pre,
                        .post = head->discard_post,
                        .center = head->center_sample,
                        .dims = head->trajectory_dimensions,
                        .step_1 = head->idx.kspace_encode_step_1,
                        .step_2 = head->idx.kspace_encode_step_2,
                        .slice = head->idx.slice,
                        .contrast = head->idx.contrast,
                        .phase = head->idx.phase,
                        .repetition = head->idx.repetition,
                        .set = head->idx.set,
                        .reversed = (head->flags & ISMRMRD_BIT(ISMRMRD_REVERSE)) != 0,
                        .sample_time_us = head->sample_time_us};
}

/* Whether an acquisition has these read, phase and slice directions. */
static bool has_directions(const ismrmrd_acquisition_header *head, const float direction[3][3])
{
    for (int i = 0; i < 3; i++)
        if (!(fabsf(head->read_dir[i] - direction[0][i]) <= 1e-3f &&
              fabsf(head->phase_dir[i] - direction[1][i]) <= 1e-3f &&
              fabsf(head->slice_dir[i] - direction[2][i]) <= 1e-3f))
            return false;
    return true;
}

/* Records the position of an image acquisition, and whether it differs from the first one and from the first of its
 * slice. */
static void take_place(ismrmrd_reader *r, const ismrmrd_acquisition_header *head)
{
    scan_slice *slice = &r->slice[head->idx.slice];
    if (!slice->seen) {
        slice->seen = true;
        memcpy(slice->position, head->position, sizeof slice->position);
        memcpy(slice->direction[0], head->read_dir, sizeof slice->direction[0]);
        memcpy(slice->direction[1], head->phase_dir, sizeof slice->direction[1]);
        memcpy(slice->direction[2], head->slice_dir, sizeof slice->direction[2]);
        r->slice_count++;
    }
    r->oblique = r->oblique || !has_directions(head, r->slice[r->first.idx.slice].direction);
    r->oblique_slice = r->oblique_slice || !has_directions(head, slice->direction);
}

/* Some writers leave center_sample at 0. In a readout as long as the matrix, the centre cannot be there. */
static void assume_center(ismrmrd_reader *r, scan_line *line)
{
    if (line->dims > 0 || line->center > 0 || line->samples < 2 || line->samples != r->out->matrix[0])
        return;
    line->center = line->samples / 2;
    r->centers_assumed++;
}

/* Records an image acquisition. All must have the same channels and components. */
static vf_status take_image(ismrmrd_reader *r, int64_t index, const ismrmrd_acquisition_header *head)
{
    const char *path = r->source->path;
    if (is_compressed(head))
        return vf_fail(r->ctx, VF_ERR_UNSUPPORTED,
                       "%s: acquisition %" PRId64 " is compressed (flags 53 to 56), which is not supported", path,
                       index);
    if (head->active_channels < 1)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: acquisition %" PRId64 " has no channels", path, index);
    if (r->image_lines++ == 0) {
        r->first = *head;
        r->out->coils = head->active_channels;
        r->dims = head->trajectory_dimensions;
    }
    if (head->active_channels != r->out->coils)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: acquisition %" PRId64 " has %d channel%s, but earlier ones have %d",
                       path, index, head->active_channels, vf_plural(head->active_channels), r->out->coils);
    if (head->trajectory_dimensions != r->dims)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: acquisition %" PRId64 " has a trajectory of %d component%s, but earlier ones have %d", path,
                       index, head->trajectory_dimensions, vf_plural(head->trajectory_dimensions), r->dims);
    take_place(r, head);
    return VF_OK;
}

static vf_status take(ismrmrd_reader *r, int64_t index, const ismrmrd_acquisition_header *head, tally *t)
{
    scan_line *line = &r->line[index];
    keep(line, head);
    line->frame = LINE_LEFT_OUT;
    t->all++;
    t->empty += head->number_of_samples == 0;
    if (t->empty > MOST_EMPTY)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: more than %d acquisitions have no samples; the file is damaged, or was not written to its "
                       "end",
                       r->source->path, MOST_EMPTY);
    if (head->flags & ISMRMRD_BIT(ISMRMRD_NOISE)) {
        t->noise++;
        line->frame = LINE_NOISE;
        r->noise_lines++;
        return VF_OK;
    }
    int reason = reason_to_leave_out(r->protocol, head);
    if (reason >= 0) {
        t->left_out[reason]++;
        line->calibration = reason == CALIBRATION && head->encoding_space_ref == 0 && !is_compressed(head);
        assume_center(r, line);
        return VF_OK;
    }
    line->frame = LINE_IMAGE;
    assume_center(r, line);
    return take_image(r, index, head);
}

static vf_status read_heads(ismrmrd_reader *r, tally *t)
{
    enum { BATCH = 1024 };
    ismrmrd_acquisition_header *heads;
    const char *path = r->source->path;
    vf_status status = scan_allocate(r->ctx, path, "headers", BATCH, sizeof *heads, &heads);
    for (int64_t first = 0; status == VF_OK && first < r->source->acquisitions; first += BATCH) {
        int64_t count = r->source->acquisitions - first < BATCH ? r->source->acquisitions - first : BATCH;
        memset(heads, 0, BATCH * sizeof *heads); /* members missing in the file are 0 */
        status = r->source->heads(r->ctx, r->source->user, first, count, heads);
        for (int64_t i = 0; status == VF_OK && i < count; i++)
            status = take(r, first + i, &heads[i], t);
        if (status == VF_OK && vf_cancelled(r->ctx))
            status = vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(heads);
    return status;
}

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

/* Calibration lines that are not image data can also give coil maps, if their readouts are like the image's. For each
 * slice, uses those of the first volume that has any. */
static void choose_calibrations(ismrmrd_reader *r)
{
    int axis;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < r->source->acquisitions; i++) {
            scan_line *line = &r->line[i];
            scan_slice *slice = &r->slice[line->slice];
            uint64_t volume = volume_key(line);
            line->calibration = line->calibration && r->dims == 0 && line->dims == 0 && !r->slabs && slice->seen &&
                                line->channels == r->out->coils && line_kept(line) > 0 &&
                                ismrmrd_line_fits(r, line, &axis);
            if (line->calibration && pass == 0 && (!slice->calibrated || volume < slice->calibration_volume)) {
                slice->calibrated = true;
                slice->calibration_volume = volume;
            }
            line->calibration = line->calibration && (pass == 0 || volume == slice->calibration_volume);
            r->calibration_lines += pass == 1 && line->calibration;
        }
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
    vf_status status =
        scan_allocate(r->ctx, path, "acquisitions", r->image_lines + r->calibration_lines, sizeof *r->order, &r->order);
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
    s->volumes = (int)(r->slabs ? volumes * r->slice_count : volumes);
    return VF_OK;
}

/* The frame of a line. */
static scan_frame frame_of(const ismrmrd_reader *r, const scan_order *o)
{
    const scan_line *line = &r->line[o->line];
    int volume = o->key & CALIBRATION_KEY ? 0 : (int)(o->key >> 16), slice = (int)(o->key & 0xffff);
    return (scan_frame){.volume = r->slabs ? volume * r->slice_count + slice : volume,
                        .slice = r->slabs ? 0 : slice,
                        .place = slice,
                        .contrast = line->contrast,
                        .phase = line->phase,
                        .repetition = line->repetition,
                        .set = line->set};
}

static vf_status allocate_frames(ismrmrd_reader *r, int64_t frames)
{
    const char *path = r->source->path;
    vf_status status = scan_allocate(r->ctx, path, "frames", frames, sizeof *r->out->frame, &r->out->frame);
    if (status == VF_OK)
        status = scan_allocate(r->ctx, path, "frames", frames + 1, sizeof *r->frame_first, &r->frame_first);
    if (status == VF_OK)
        status = scan_allocate(r->ctx, path, "frames", frames, sizeof *r->frame_samples, &r->frame_samples);
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

/* ---- the whole ---- */

static vf_status check_what_is_left(ismrmrd_reader *r, const tally *t)
{
    char text[400];
    describe(t, text, sizeof text);
    if (r->image_lines == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: no image data in its %" PRId64 " acquisition%s: %s", r->source->path,
                       t->all, vf_plural(t->all), text);
    if (r->image_lines < t->all)
        vf_note(r->ctx, "%s: %" PRId64 " of %" PRId64 " acquisitions %s image data; others: %s", r->source->path,
                r->image_lines, t->all, r->image_lines == 1 ? "is" : "are", text);
    if (r->centers_assumed > 0)
        vf_warn(r->ctx, "%s: center_sample is 0 in %" PRId64 " readout%s as long as the matrix; using the middle",
                r->source->path, r->centers_assumed, vf_plural(r->centers_assumed));
    r->slabs = r->out->matrix[2] > 1 && r->slice_count > 1;
    if (r->slabs)
        vf_warn(r->ctx, "%s: %d slabs of 3D data; each becomes a volume of its own", r->source->path, r->slice_count);
    r->out->slices = r->slabs ? 1 : r->slice_count;
    r->out->places = r->slice_count;
    return VF_OK;
}

vf_status ismrmrd_sort(ismrmrd_reader *r)
{
    tally t = {.all = 0};
    vf_status status =
        scan_allocate(r->ctx, r->source->path, "acquisitions", r->source->acquisitions, sizeof *r->line, &r->line);
    if (status == VF_OK)
        status = scan_allocate(r->ctx, r->source->path, "slices", UINT16_MAX + 1, sizeof *r->slice, &r->slice);
    if (status == VF_OK)
        status = read_heads(r, &t);
    if (status == VF_OK)
        status = check_what_is_left(r, &t);
    if (status == VF_OK)
        status = ismrmrd_order_slices(r);
    if (status == VF_OK) {
        choose_calibrations(r);
        status = sort_lines(r);
    }
    if (status == VF_OK)
        status = make_frames(r);
    return status;
}
