/* Reads the headers of all acquisitions: which encoding is reconstructed, and which acquisitions are its image data. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

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

typedef struct tally {
    ismrmrd_reader *r;
    int64_t left_out[COUNTS];
    int64_t noise, all, empty;
    int64_t image[ISMRMRD_MOST_ENCODINGS]; /* by encoding */
    scan_slice *step;                      /* [65536] by kspace_encode_step_2, as if it counted slices */
    int steps;                             /* seen */
    float step_moved;                      /* mm: the farthest that an acquisition lies from the first of its step */
    bool step_turned;                      /* acquisitions of one step have different orientations */
} tally;

static bool is_compressed(const ismrmrd_acquisition_header *head)
{
    return (head->flags & (UINT64_C(15) << (ISMRMRD_COMPRESSION1 - 1))) != 0;
}

/* Whether calibration lines were acquired interleaved with the image, with the same contrast. Then they are also image
 * data. */
static bool calibration_is_image(const ismrmrd_encoding *e)
{
    return strcmp(e->calibration_mode, "embedded") == 0 || strcmp(e->calibration_mode, "interleaved") == 0;
}

static const ismrmrd_encoding *encoding_of(const ismrmrd_protocol *protocol, int number)
{
    return &protocol->encoding[number < ISMRMRD_MOST_ENCODINGS ? number : 0];
}

/* The index of the reason why this is not image data of any encoding, or -1. */
static int purpose(const ismrmrd_protocol *protocol, const ismrmrd_acquisition_header *head)
{
    for (int i = 0; i < REASONS; i++) {
        bool also_image =
            not_image[i].flag == ISMRMRD_CALIBRATION &&
            ((head->flags & ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING)) != 0 ||
             (calibration_is_image(encoding_of(protocol, head->encoding_space_ref)) && !is_compressed(head)));
        if ((head->flags & ISMRMRD_BIT(not_image[i].flag)) != 0 && !also_image)
            return i;
    }
    return head->number_of_samples <= (int)head->discard_pre + head->discard_post ? EMPTY : -1;
}

static int reason_to_leave_out(const ismrmrd_reader *r, const ismrmrd_acquisition_header *head)
{
    const int reason = purpose(r->protocol, head);
    return reason < 0 && head->encoding_space_ref != r->encoding ? OTHER_ENCODING : reason;
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

/* An encoding step of a Cartesian line. The counter has no sign, but a step beyond any matrix is a negative one, which some
 * writers count from the centre of k-space. */
static int32_t step_of(const ismrmrd_acquisition_header *head, uint16_t step)
{
    return head->trajectory_dimensions == 0 && step > INT16_MAX ? (int32_t)step - (UINT16_MAX + 1) : step;
}

scan_line ismrmrd_line_of(const ismrmrd_acquisition_header *head)
{
    return (scan_line){.samples = head->number_of_samples,
                       .channels = head->active_channels,
                       .pre = head->discard_pre,
                       .post = head->discard_post,
                       .center = head->center_sample,
                       .dims = head->trajectory_dimensions,
                       .step_1 = step_of(head, head->idx.kspace_encode_step_1),
                       .step_2 = step_of(head, head->idx.kspace_encode_step_2),
                       .slice = head->idx.slice,
                       .contrast = head->idx.contrast,
                       .phase = head->idx.phase,
                       .repetition = head->idx.repetition,
                       .set = head->idx.set,
                       .average = head->idx.average,
                       .segment = head->idx.segment,
                       .encoding = head->encoding_space_ref,
                       .user = {head->idx.user[5], head->idx.user[6]},
                       .reversed = (head->flags & ISMRMRD_BIT(ISMRMRD_REVERSE)) != 0,
                       .sample_time_us = head->sample_time_us,
                       .frame = LINE_LEFT_OUT};
}

/* Whether an acquisition does not say where it lies, beside others that do. */
static bool is_nowhere(const float position[3], const float read[3], const float phase[3], const float slice[3])
{
    for (int i = 0; i < 3; i++)
        if (position[i] != 0 || read[i] != 0 || phase[i] != 0 || slice[i] != 0)
            return false;
    return true;
}

/* Whether an acquisition has these read, phase and slice directions, or none. */
static bool has_directions(const ismrmrd_acquisition_header *head, const scan_slice *slice)
{
    const float(*const direction)[3] = slice->direction;
    if (slice->nowhere || is_nowhere(head->position, head->read_dir, head->phase_dir, head->slice_dir))
        return true;
    for (int i = 0; i < 3; i++)
        if (!(fabsf(head->read_dir[i] - direction[0][i]) <= 1e-3f &&
              fabsf(head->phase_dir[i] - direction[1][i]) <= 1e-3f &&
              fabsf(head->slice_dir[i] - direction[2][i]) <= 1e-3f))
            return false;
    return true;
}

/* Records the position and directions of the first acquisition of a slice that states them. Returns how far this one lies from
 * it. */
static float take_first(scan_slice *slice, int *count, const ismrmrd_acquisition_header *head)
{
    const bool nowhere = is_nowhere(head->position, head->read_dir, head->phase_dir, head->slice_dir);
    float moved = 0;
    *count += !slice->seen;
    if (!slice->seen || (slice->nowhere && !nowhere)) {
        slice->step_2 = slice->seen ? slice->step_2 : head->idx.kspace_encode_step_2;
        slice->seen = true;
        slice->nowhere = nowhere;
        memcpy(slice->position, head->position, sizeof slice->position);
        memcpy(slice->direction[0], head->read_dir, sizeof slice->direction[0]);
        memcpy(slice->direction[1], head->phase_dir, sizeof slice->direction[1]);
        memcpy(slice->direction[2], head->slice_dir, sizeof slice->direction[2]);
    }
    for (int a = 0; a < 3 && !nowhere; a++)
        moved = hypotf(moved, head->position[a] - slice->position[a]);
    return moved;
}

/* Records the position of an image acquisition, and how it differs from the first one and from the first of its slice. */
static void take_place(ismrmrd_reader *r, const ismrmrd_acquisition_header *head)
{
    scan_slice *slice = &r->slice[head->idx.slice];
    const float moved = take_first(slice, &r->slice_count, head);
    slice->partitions = slice->partitions || head->idx.kspace_encode_step_2 != slice->step_2;
    if (moved > r->moved) { /* false for NaN */
        r->moved = moved;
        r->moved_slice = head->idx.slice;
    }
    r->oblique = r->oblique || !has_directions(head, &r->slice[r->first.idx.slice]);
    r->oblique_slice = r->oblique_slice || !has_directions(head, slice);
}

/* The same, as if step 2 counted slices. */
static void take_step(tally *t, const ismrmrd_acquisition_header *head)
{
    scan_slice *slice = &t->step[head->idx.kspace_encode_step_2];
    const float moved = take_first(slice, &t->steps, head);
    t->step_moved = moved > t->step_moved ? moved : t->step_moved;
    t->step_turned = t->step_turned || !has_directions(head, slice);
}

/* Whether step 2 counts slices: acquisitions of one step share a position and directions, and steps lie at even distances
 * along the normal. Partitions of a volume share one position. */
static bool steps_are_slices(const tally *t)
{
    const float least = 0.1F; /* mm between slices */
    const scan_slice *first = NULL;
    float gap[3] = {0}, size = 0, along = 0;
    int from = 0;
    if (t->r->slice_count != 1 || t->steps < 2 || !(t->step_moved <= 1e-3F) || t->step_turned || t->r->oblique)
        return false;
    for (int i = 0; i <= UINT16_MAX; i++) {
        const scan_slice *own = &t->step[i];
        float off = 0;
        if (!own->seen)
            continue;
        for (int a = 0; first && size == 0 && a < 3; a++)
            gap[a] = (own->position[a] - first->position[a]) / (float)(i - from);
        if (first && size == 0) {
            size = hypotf(hypotf(gap[0], gap[1]), gap[2]);
            along = gap[0] * own->direction[2][0] + gap[1] * own->direction[2][1] + gap[2] * own->direction[2][2];
            if (!(size >= least) || !(fabsf(along) >= 0.99F * size))
                return false;
        }
        first = first ? first : own;
        from = first == own ? i : from;
        for (int a = 0; a < 3; a++)
            off = hypotf(off, own->position[a] - first->position[a] - (float)(i - from) * gap[a]);
        if (!(off <= 0.01F * size + 1e-3F))
            return false;
    }
    return true;
}

/* Moves the counter of slices from step 2, where some writers put it, to its place. */
static void count_slices_by_step(tally *t)
{
    ismrmrd_reader *r = t->r;
    scan_slice *const own = r->slice;
    if (!steps_are_slices(t))
        return;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        r->line[i].slice = (uint16_t)r->line[i].step_2;
        r->line[i].step_2 = 0;
    }
    for (int i = 0; i <= UINT16_MAX; i++)
        t->step[i].step_2 = 0;
    r->slice = t->step;
    t->step = own;
    r->slice_count = t->steps;
    r->first.idx.slice = r->first.idx.kspace_encode_step_2;
    r->first.idx.kspace_encode_step_2 = 0;
    r->facts.least[1] = r->facts.most[1] = 0;
    r->moved = t->step_moved;
    vf_note(r->ctx, "%s: kspace_encode_step_2 counts slices, which lie side by side: %d slices", r->source->path,
            r->slice_count);
}

static void take_facts(ismrmrd_facts *f, const scan_line *line, bool first)
{
    const int samples = line->samples - line->pre - line->post;
    const int32_t step[2] = {line->step_1, line->step_2};
    if (first)
        *f = (ismrmrd_facts){samples,   samples,   line->center,       line->center,
                             line->pre, line->pre, {step[0], step[1]}, {step[0], step[1]}};
    f->samples_least = samples < f->samples_least ? samples : f->samples_least;
    f->samples_most = samples > f->samples_most ? samples : f->samples_most;
    f->pre_least = line->pre < f->pre_least ? line->pre : f->pre_least;
    f->pre_most = line->pre > f->pre_most ? line->pre : f->pre_most;
    f->center_least = line->center < f->center_least ? line->center : f->center_least;
    f->center_most = line->center > f->center_most ? line->center : f->center_most;
    for (int a = 0; a < 2; a++) {
        f->least[a] = step[a] < f->least[a] ? step[a] : f->least[a];
        f->most[a] = step[a] > f->most[a] ? step[a] : f->most[a];
    }
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
    take_facts(&r->facts, &r->line[index], r->image_lines == 1);
    take_place(r, head);
    return VF_OK;
}

static vf_status take(void *user, int64_t index, const ismrmrd_acquisition_header *head)
{
    tally *t = user;
    ismrmrd_reader *r = t->r;
    scan_line *line = &r->line[index];
    *line = ismrmrd_line_of(head);
    line->direction = ismrmrd_direction_of(r->protocol, head);
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
    int reason = reason_to_leave_out(r, head);
    if (reason >= 0) {
        t->left_out[reason]++;
        line->calibration = reason == CALIBRATION && !is_compressed(head);
        if (reason < REASONS && not_image[reason].flag == ISMRMRD_PHASE_CORRECTION && !is_compressed(head) &&
            head->encoding_space_ref == r->encoding)
            line->frame = LINE_NAVIGATOR;
        return VF_OK;
    }
    line->frame = LINE_IMAGE;
    ismrmrd_acquisition_header own = *head;
    ismrmrd_mend_directions(&r->directions, &own);
    take_step(t, &own);
    return take_image(r, index, &own);
}

/* ---- the encoding ---- */

/* Image lines by encoding. */
static vf_status count_encodings(void *user, int64_t index, const ismrmrd_acquisition_header *head)
{
    tally *t = user;
    (void)index;
    if (!(head->flags & ISMRMRD_BIT(ISMRMRD_NOISE)) && purpose(t->r->protocol, head) < 0 &&
        head->encoding_space_ref < ISMRMRD_MOST_ENCODINGS)
        t->image[head->encoding_space_ref]++;
    return VF_OK;
}

/* The encoding that --encoding names, or the one with most image lines: the others are navigators and references. */
static vf_status choose_encoding(ismrmrd_reader *r)
{
    const int all = r->protocol->encodings, wanted = r->request->encoding;
    tally t = {.r = r};
    int most = 0;
    if (wanted > all)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s: --encoding %d: the header has %d encoding%s", r->source->path,
                       wanted, all, vf_plural(all));
    if (all > 1) {
        vf_status status = ismrmrd_each_head(r->ctx, r->source, count_encodings, &t);
        if (status != VF_OK)
            return status;
        for (int e = 1; e < all && e < ISMRMRD_MOST_ENCODINGS; e++)
            most = t.image[e] > t.image[most] ? e : most;
    }
    r->encoding = wanted > 0 ? wanted - 1 : most;
    r->e = &r->protocol->encoding[r->encoding];
    int others = 0;
    for (int e = 0; e < ISMRMRD_MOST_ENCODINGS; e++)
        others += e != r->encoding && t.image[e] > 0;
    if (others > 0 && wanted == 0)
        vf_warn(r->ctx,
                "%s: %d encodings have image data; number %d is reconstructed, which has most of them; --encoding N "
                "chooses",
                r->source->path, others + 1, r->encoding + 1);
    return VF_OK;
}

/* A header of several slices excited together is not that of one plane. */
static vf_status refuse_multiband(const ismrmrd_reader *r)
{
    if (r->e->multiband <= 1)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_UNSUPPORTED,
                   "%s: xml: multiband_factor is %" PRId64
                   ": slices that were excited together must be separated first, which mri_recon does not do",
                   r->source->path, r->e->multiband);
}

/* ---- the whole ---- */

/* Says what the acquisitions are. */
static vf_status check_what_is_left(ismrmrd_reader *r, const tally *t)
{
    char text[400];
    describe(t, text, sizeof text);
    ismrmrd_tell_header(r, text);
    if (r->image_lines == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: no image data in its %" PRId64 " acquisition%s: %s", r->source->path,
                       t->all, vf_plural(t->all), text);
    if (r->facts.least[0] < 0 || r->facts.least[1] < 0)
        vf_note(r->ctx, "%s: encoding steps above %d are taken for negative ones, down to %d", r->source->path,
                INT16_MAX, r->facts.least[0] < r->facts.least[1] ? r->facts.least[0] : r->facts.least[1]);
    if (r->image_lines < t->all)
        vf_note(r->ctx, "%s: %" PRId64 " of %" PRId64 " acquisitions %s image data; others: %s", r->source->path,
                r->image_lines, t->all, r->image_lines == 1 ? "is" : "are", text);
    return VF_OK;
}

vf_status ismrmrd_read_heads(ismrmrd_reader *r)
{
    tally t = {.r = r};
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "acquisitions", r->source->acquisitions, r->line);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "slices", UINT16_MAX + 1, r->slice));
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "slices", UINT16_MAX + 1, t.step));
    VF_TRY(status, choose_encoding(r));
    VF_TRY(status, ismrmrd_each_head(r->ctx, r->source, take, &t));
    VF_TRY(status, check_what_is_left(r, &t));
    if (status == VF_OK) {
        count_slices_by_step(&t);
        ismrmrd_count_partitions(r);
    }
    free(t.step);
    if (status == VF_OK)
        status = refuse_multiband(r); /* after --info knows what there is */
    VF_TRY(status, ismrmrd_separate_places(r));
    VF_TRY(status, ismrmrd_number_directions(r));
    return status;
}
