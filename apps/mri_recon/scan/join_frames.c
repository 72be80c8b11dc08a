/* Joins frames that differ only in time, so that their readouts can be cut into other frames. */
#include "join_frames.h"

#include <stdlib.h>
#include <string.h>

/* The frames of a scan in the order of joining, and the trajectories of what they make. */
typedef struct joiner {
    vf_context *ctx;
    const char *path;
    mri_scan *raw;
    joined_pieces *pieces;
    scan_frame **order;      /* [raw->frames] */
    scan_frame *frame;       /* [wholes + raw->calibrations] */
    scan_trajectory *joined; /* [wholes + raw->calibrations] */
    int wholes, joined_count;
    int begun;  /* wholes whose trajectory was begun */
    bool *kept; /* [raw->trajectories] the trajectory is one of `joined`, unchanged */
} joiner;

void joined_pieces_free(joined_pieces *pieces)
{
    free(pieces->begin);
    free(pieces->volume);
    free(pieces->first_readout);
    *pieces = (joined_pieces){0};
}

static int compare_integers(const int *a, const int *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Frames of one kind and place follow each other in the order of time. */
static int by_kind(const void *a, const void *b)
{
    const scan_frame *p = *(scan_frame *const *)a, *q = *(scan_frame *const *)b;
    const int x[6] = {p->phase, p->set, p->contrast, p->place, p->repetition, p->volume};
    const int y[6] = {q->phase, q->set, q->contrast, q->place, q->repetition, q->volume};
    return compare_integers(x, y, 6);
}

static vf_status sort_frames(joiner *j)
{
    const int frames = j->raw->frames;
    vf_status status = scan_allocate(j->ctx, j->path, "frames", frames, sizeof(scan_frame *), &j->order);
    VF_TRY(status, scan_allocate(j->ctx, j->path, "frames", frames + 1, sizeof(int), &j->pieces->begin));
    VF_TRY(status, scan_allocate(j->ctx, j->path, "frames", frames, sizeof(int), &j->pieces->volume));
    VF_TRY(status, scan_allocate(j->ctx, j->path, "frames", frames, sizeof(int64_t), &j->pieces->first_readout));
    if (status != VF_OK)
        return status;
    for (int f = 0; f < frames; f++)
        j->order[f] = &j->raw->frame[f];
    qsort(j->order, (size_t)frames, sizeof(scan_frame *), by_kind);
    int64_t readouts = 0;
    for (int f = 0; f < frames; f++) {
        if (f == 0 || !scan_same_kind(j->order[f], j->order[f - 1])) {
            j->pieces->begin[j->wholes++] = f;
            readouts = 0;
        }
        j->pieces->volume[f] = j->order[f]->volume;
        j->pieces->first_readout[f] = readouts;
        readouts += j->raw->trajectory[j->order[f]->trajectory].readouts;
    }
    j->pieces->begin[j->wholes] = frames;
    return VF_OK;
}

/* ---- trajectories ---- */

static int piece_count(const joiner *j, int whole)
{
    return j->pieces->begin[whole + 1] - j->pieces->begin[whole];
}

static scan_trajectory *piece_trajectory(const joiner *j, int whole, int piece)
{
    return &j->raw->trajectory[j->order[j->pieces->begin[whole] + piece]->trajectory];
}

/* The trajectory of an earlier whole with the same pieces, or -1. */
static int find_same(const joiner *j, int whole)
{
    for (int other = 0; other < whole; other++) {
        bool same = piece_count(j, other) == piece_count(j, whole);
        for (int i = 0; same && i < piece_count(j, whole); i++)
            same = piece_trajectory(j, other, i) == piece_trajectory(j, whole, i);
        if (same)
            return j->frame[other].trajectory;
    }
    return -1;
}

static vf_status allocate_joined(const joiner *j, int whole, scan_trajectory *to)
{
    bool weights = false, time = true, phi = true;
    for (int i = 0; i < piece_count(j, whole); i++) {
        const scan_trajectory *from = piece_trajectory(j, whole, i);
        to->samples += from->samples;
        to->readouts += from->readouts;
        weights = weights || from->weights;
        time = time && from->time;
        phi = phi && from->phi;
    }
    const char *what = "a joined trajectory";
    vf_status status = SCAN_NEW(j->ctx, j->path, what, 3 * to->samples, to->k);
    VF_TRY(status, SCAN_NEW(j->ctx, j->path, what, to->readouts + 1, to->readout));
    if (status == VF_OK && weights)
        status = SCAN_NEW(j->ctx, j->path, what, to->samples, to->weights);
    if (status == VF_OK && time)
        status = SCAN_NEW(j->ctx, j->path, what, to->samples, to->time);
    if (status == VF_OK && phi)
        status = SCAN_NEW(j->ctx, j->path, what, to->samples, to->phi);
    return status;
}

static vf_status join_trajectories(const joiner *j, int whole, scan_trajectory *to)
{
    vf_status status = allocate_joined(j, whole, to);
    int64_t at = 0, readout = 0;
    for (int i = 0; status == VF_OK && i < piece_count(j, whole); i++) {
        const scan_trajectory *from = piece_trajectory(j, whole, i);
        memcpy(to->k + 3 * at, from->k, 3 * (size_t)from->samples * sizeof *to->k);
        for (int64_t m = 0; to->weights && m < from->samples; m++)
            to->weights[at + m] = from->weights ? from->weights[m] : 1;
        if (to->time)
            memcpy(to->time + at, from->time, (size_t)from->samples * sizeof *to->time);
        if (to->phi)
            memcpy(to->phi + at, from->phi, (size_t)from->samples * sizeof *to->phi);
        for (int64_t n = 0; n < from->readouts; n++)
            to->readout[readout++] = at + from->readout[n];
        at += from->samples;
    }
    if (status == VF_OK)
        to->readout[readout] = at;
    return status;
}

static vf_status add_trajectory(joiner *j, int whole)
{
    scan_trajectory *to = &j->joined[j->joined_count];
    const int same = find_same(j, whole);
    j->begun = whole + 1;
    j->frame[whole].trajectory = same >= 0 ? same : j->joined_count++;
    if (same >= 0)
        return VF_OK;
    if (piece_count(j, whole) > 1)
        return join_trajectories(j, whole, to);
    *to = *piece_trajectory(j, whole, 0);
    j->kept[j->order[j->pieces->begin[whole]]->trajectory] = true;
    return VF_OK;
}

/* ---- data ---- */

/* Copies the data of a whole's pieces and frees them. A single piece keeps its data for now. */
static vf_status join_data(const joiner *j, int whole)
{
    scan_frame *to = &j->frame[whole];
    const int64_t samples = j->joined[to->trajectory].samples, coils = j->raw->coils;
    if (piece_count(j, whole) == 1)
        return VF_OK;
    vf_status status = SCAN_NEW(j->ctx, j->path, "joined frames", samples * coils, to->data);
    int64_t at = 0;
    for (int i = 0; status == VF_OK && i < piece_count(j, whole); i++) {
        scan_frame *from = j->order[j->pieces->begin[whole] + i];
        const int64_t count = piece_trajectory(j, whole, i)->samples;
        for (int64_t c = 0; c < coils; c++)
            memcpy(to->data + c * samples + at, from->data + c * count, (size_t)count * sizeof *to->data);
        at += count;
        free(from->data);
        from->data = NULL;
    }
    return status;
}

static void release(joiner *j, bool failed)
{
    for (int w = 0; failed && j->frame && w < j->wholes; w++) {
        free(j->frame[w].data);
        if (j->joined && w < j->begun && piece_count(j, w) > 1)
            scan_free_trajectory(&j->joined[j->frame[w].trajectory]);
    }
    if (failed) {
        free(j->frame);
        free(j->joined);
    }
    free(j->order);
    free(j->kept);
}

/* Puts the result in the place of the scan's frames and trajectories. */
static void commit(joiner *j)
{
    mri_scan *raw = j->raw;
    for (int w = 0; w < j->wholes; w++)
        if (piece_count(j, w) == 1)
            j->frame[w].data = j->order[j->pieces->begin[w]]->data;
    for (int c = 0; c < raw->calibrations; c++) {
        scan_frame *frame = &j->frame[j->wholes + c];
        *frame = raw->frame[raw->frames + c];
        j->joined[j->joined_count + c] = raw->trajectory[frame->trajectory];
        frame->trajectory = j->joined_count + c;
    }
    for (int t = 0; t < raw->trajectories; t++)
        if (!j->kept[t])
            scan_free_trajectory(&raw->trajectory[t]);
    free(raw->frame);
    free(raw->trajectory);
    raw->frame = j->frame;
    raw->frames = j->wholes;
    raw->trajectory = j->joined;
    raw->trajectories = j->joined_count;
}

vf_status join_frames(vf_context *ctx, const char *path, mri_scan *raw, joined_pieces *pieces)
{
    joiner j = {.ctx = ctx, .path = path, .raw = raw, .pieces = pieces};
    *pieces = (joined_pieces){0};
    vf_status status = sort_frames(&j);
    const int all = j.wholes + raw->calibrations;
    VF_TRY(status, SCAN_NEW(ctx, path, "frames", all, j.frame));
    VF_TRY(status, SCAN_NEW(ctx, path, "frames", all, j.joined));
    VF_TRY(status, SCAN_NEW(ctx, path, "frames", raw->trajectories, j.kept));
    for (int w = 0; status == VF_OK && w < j.wholes; w++) {
        j.frame[w] = *j.order[pieces->begin[w]];
        j.frame[w].data = NULL;
        status = add_trajectory(&j, w);
    }
    for (int w = 0; status == VF_OK && w < j.wholes; w++)
        status = join_data(&j, w);
    if (status == VF_OK)
        commit(&j);
    release(&j, status != VF_OK);
    return status;
}
