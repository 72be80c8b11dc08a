/* Frames with equal trajectories share one, so that what depends on it is made once. */
#include <stdlib.h>
#include <string.h>

#include "scan_internal.h"
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

int scan_find_trajectory(const mri_scan *s, const scan_trajectory *t)
{
    int found = 0;
    while (found < s->trajectories &&
           !(s->trajectory[found].samples == t->samples &&
             memcmp(s->trajectory[found].k, t->k, 3 * (size_t)t->samples * sizeof *t->k) == 0))
        found++;
    return found;
}
