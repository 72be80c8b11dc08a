/* Frames with equal trajectories share one, so that what depends on it is made once. */
#include "share_trajectories.h"

#include <stdlib.h>
#include <string.h>

#include "voxfield/team_size.h"

static int by_digest(const void *a, const void *b)
{
    const trajectory_digest *p = a, *q = b;
    int order = strcmp(p->text, q->text);
    return order ? order : (p->frame > q->frame) - (p->frame < q->frame);
}

void scan_find_equal(trajectory_digest *digests, int frames, int *first)
{
    qsort(digests, (size_t)frames, sizeof *digests, by_digest);
    for (int i = 0, start = 0; i < frames; i++) {
        if (strcmp(digests[i].text, digests[start].text) != 0)
            start = i;
        first[digests[i].frame] = digests[start].frame;
    }
}

vf_status scan_allocate_digests(vf_context *ctx, const char *path, int frames, trajectory_digest **digests, int **first)
{
    *first = NULL;
    vf_status status = scan_allocate(ctx, path, "frames", frames, sizeof **digests, digests);
    return status == VF_OK ? scan_allocate(ctx, path, "frames", frames, sizeof **first, first) : status;
}

static void digest_of(const scan_trajectory *t, trajectory_digest *out)
{
    char text[4][VF_DIGEST_TEXT] = {"", "", "", ""};
    vf_digest(t->k, (size_t)t->samples * 3 * sizeof *t->k, text[0]);
    if (t->weights)
        vf_digest(t->weights, (size_t)t->samples * sizeof *t->weights, text[1]);
    if (t->time)
        vf_digest(t->time, (size_t)t->samples * sizeof *t->time, text[2]);
    if (t->phi)
        vf_digest(t->phi, (size_t)t->samples * sizeof *t->phi, text[3]);
    vf_digest(text, sizeof text, out->text);
}

vf_status scan_share_trajectories(vf_context *ctx, const char *path, mri_scan *s)
{
    trajectory_digest *digests;
    int *first, kept = 0;
    vf_status status = scan_allocate_digests(ctx, path, s->frames, &digests, &first);
    const int frames = status == VF_OK ? s->frames : 0;
    int64_t samples = 0;
    for (int f = 0; f < frames; f++)
        samples += s->trajectory[f].samples;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, frames > 1 ? 12 * samples : 0))
    for (int f = 0; f < frames; f++) {
        digest_of(&s->trajectory[f], &digests[f]);
        digests[f].frame = f;
    }
    if (status == VF_OK)
        scan_find_equal(digests, s->frames, first);
    for (int f = 0; f < frames; f++) {
        scan_trajectory t = s->trajectory[f];
        s->trajectory[f] = (scan_trajectory){0};
        if (first[f] == f) {
            s->frame[f].trajectory = kept;
            s->trajectory[kept++] = t;
            continue;
        }
        s->frame[f].trajectory = s->frame[first[f]].trajectory;
        scan_free_trajectory(&t);
    }
    if (status == VF_OK)
        s->trajectories = kept;
    free(digests);
    free(first);
    return status;
}

vf_status scan_own_trajectory(vf_context *ctx, const char *path, mri_scan *raw, scan_frame *frame)
{
    int users = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        users += raw->frame[f].trajectory == frame->trajectory;
    if (users > 1) {
        scan_trajectory own = {0}, *all = realloc(raw->trajectory,
                                                  sizeof *all * (size_t)(raw->trajectories + raw->calibrations + 1));
        if (!all)
            return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to leave out samples", path);
        raw->trajectory = all;
        vf_status status = scan_copy_trajectory(ctx, path, &all[frame->trajectory], &own);
        if (status != VF_OK) {
            scan_free_trajectory(&own);
            return status;
        }
        memmove(all + raw->trajectories + 1, all + raw->trajectories, (size_t)raw->calibrations * sizeof *all);
        for (int f = 0; f < raw->frames + raw->calibrations; f++)
            raw->frame[f].trajectory += raw->frame[f].trajectory >= raw->trajectories;
        all[raw->trajectories] = own;
        frame->trajectory = raw->trajectories++;
    }
    return scan_need_weights(ctx, path, &raw->trajectory[frame->trajectory]);
}

/* ---- samples on the grid ---- */

void scan_mark_acquired(const vf_context *ctx, int64_t coils, int64_t positions, const float complex *data,
                        unsigned char *acquired)
{
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, coils *positions))
    for (int64_t first = 0; first < positions; first += BLOCK) {
        const int64_t count = positions - first < BLOCK ? positions - first : BLOCK;
        memset(acquired + first, 0, (size_t)count);
        for (int64_t c = 0; c < coils; c++)
            for (int64_t i = first; i < first + count; i++)
                acquired[i] |= data[c * positions + i] != 0;
    }
}

/* The position of number i in the order of the samples. */
static int64_t position(const scan_pattern *p, const int64_t matrix[3], int64_t i)
{
    return p->columns ? i % matrix[1] * matrix[0] + i / matrix[1] : i;
}

static int find_trajectory(const mri_scan *s, const scan_trajectory *t)
{
    int found = 0;
    while (found < s->trajectories &&
           !(s->trajectory[found].samples == t->samples &&
             memcmp(s->trajectory[found].k, t->k, 3 * (size_t)t->samples * sizeof *t->k) == 0))
        found++;
    return found;
}

vf_status scan_share_pattern(vf_context *ctx, const char *path, const scan_pattern *p, mri_scan *s, scan_frame *frame)
{
    const int64_t *n = s->matrix, positions = n[0] * n[1] * n[2];
    scan_trajectory *t = &s->trajectory[s->trajectories];
    *t = (scan_trajectory){.samples = p->samples};
    vf_status status = SCAN_NEW(ctx, path, "the trajectory", 3 * p->samples, t->k);
    if (status != VF_OK)
        return status;
    float *k = t->k;
    for (int64_t i = 0; i < positions; i++) {
        const int64_t at = position(p, n, i);
        if (!p->acquired[at])
            continue;
        *k++ = (float)(at % n[0] - n[0] / 2);
        *k++ = (float)(at / n[0] % n[1] - n[1] / 2);
        *k++ = (float)(at / n[0] / n[1] - n[2] / 2);
    }
    frame->trajectory = find_trajectory(s, t);
    if (frame->trajectory == s->trajectories)
        s->trajectories++;
    else
        scan_free_trajectory(t);
    return VF_OK;
}

static void keep_of_coil(const scan_pattern *p, const int64_t matrix[3], float scale, const float complex *from,
                         float complex *to)
{
    const int64_t lines = p->columns ? matrix[0] : 1, positions = matrix[0] * matrix[1] * matrix[2];
    for (int64_t line = 0; line < lines; line++)
        for (int64_t at = line; at < positions; at += lines)
            if (p->acquired[at])
                *to++ = from[at] * scale;
}

void scan_keep_acquired(const vf_context *ctx, const scan_pattern *p, const mri_scan *s, float scale,
                        const float complex *from, float complex *to)
{
    const int64_t positions = s->matrix[0] * s->matrix[1] * s->matrix[2];
    /* In place, a coil's samples go where those of coils before it were: one after the other. */
    for (int64_t c = 0; c < s->coils && from == to; c++)
        keep_of_coil(p, s->matrix, scale, from + c * positions, to + c * p->samples);
    if (from == to)
        return;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, s->coils *positions))
    for (int64_t c = 0; c < s->coils; c++)
        keep_of_coil(p, s->matrix, scale, from + c * positions, to + c * p->samples);
}
