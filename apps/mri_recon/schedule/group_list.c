/* Cuts frames into groups: what a crew makes in one go. */
#include <stdlib.h>
#include <string.h>

#include "frames/frame_images.h"
#include "group_list.h"
#include "windows.h"

/* What groups have in common: the trajectory; or the place, if the frames of a place are solved together. */
static int class_of(const solve_settings *solve, const scan_frame *frame)
{
    return solves_series(solve) ? frame->place : frame->trajectory;
}

bool frame_is_wanted(const recon_job *j, const scan_frame *frame)
{
    return !j->wanted || frame->replica || j->wanted[frame - j->scan->frame];
}

/* Leaves out windows that deliver no wanted frame, nor images that the next window needs. */
static void leave_out_windows(const recon_job *j, group_list *s)
{
    int kept = s->count;
    bool next_needs = false;
    for (int n = s->count - 1; n >= 0; n--) {
        const frame_group *g = &s->group[n];
        bool delivers = false;
        for (int f = g->skip; f < g->count - g->drop - g->after; f++)
            delivers |= frame_is_wanted(j, j->frames[g->first + f]);
        if (delivers || (next_needs && g->after > 0))
            s->group[--kept] = *g;
        next_needs = delivers && g->before > 0;
    }
    s->count -= kept;
    memmove(s->group, s->group + kept, (size_t)s->count * sizeof *s->group);
}

vf_status group_list_leave_out(const recon_job *j, group_list *s)
{
    if (!j->wanted)
        return VF_OK;
    if (solves_series(j->solve)) {
        leave_out_windows(j, s);
        return VF_OK;
    }
    frame_group *wanted = calloc((size_t)j->frame_count + 1, sizeof *wanted);
    int count = 0;
    if (!wanted)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int n = 0; n < s->count; n++) {
        bool goes_on = false;
        for (int f = s->group[n].first; f < s->group[n].first + s->group[n].count; f++) {
            const bool is = frame_is_wanted(j, j->frames[f]);
            if (is && goes_on)
                wanted[count - 1].count++;
            else if (is)
                wanted[count++] = (frame_group){.trajectory = s->group[n].trajectory, .first = f, .count = 1};
            goes_on = is;
        }
    }
    free(s->group);
    s->group = wanted;
    s->count = count;
    return VF_OK;
}

/* The windows of all places. */
static void make_windows(const recon_job *j, const schedule_settings *schedule, group_list *s)
{
    for (int f = 0, next = 0; f < j->frame_count; f = next) {
        while (next < j->frame_count && j->frames[next]->place == j->frames[f]->place)
            next++;
        const series_windows windows = windows_of_series(schedule, next - f, (double)frame_bytes(j));
        for (int w = 0; w < windows.count; w++)
            s->group[s->count++] = window_of_series(&windows, f, next - f, w);
    }
}

vf_status group_list_make(const recon_job *j, const schedule_settings *schedule, int teams, int slots, group_list *s)
{
    const int64_t room = recon_group_bytes(schedule) / slots / (int64_t)frame_bytes(j);
    const int fair = (j->frame_count + teams - 1) / teams;
    const int most = room < 1 ? 1 : room < fair ? (int)room : fair;
    s->count = s->most = 0;
    s->group = calloc((size_t)j->frame_count + 1, sizeof *s->group);
    if (!s->group)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (solves_series(j->solve))
        make_windows(j, schedule, s);
    for (int f = 0; f < j->frame_count && !solves_series(j->solve); f++) {
        const int trajectory = j->frames[f]->trajectory;
        frame_group *last = s->count ? &s->group[s->count - 1] : NULL;
        if (last && last->trajectory == trajectory && last->count < most)
            last->count++;
        else
            s->group[s->count++] = (frame_group){.trajectory = trajectory, .first = f, .count = 1};
    }
    for (int g = 0; g < s->count; g++)
        s->most = s->group[g].count > s->most ? s->group[g].count : s->most;
    return VF_OK;
}

/* ---- the order ---- */

/* Sorts the frames by class. */
vf_status frame_order(vf_context *ctx, const solve_settings *solve, const mri_scan *raw, int *order)
{
    const int classes = solves_series(solve) ? raw->places : raw->trajectories;
    int *place = calloc((size_t)classes + 1, sizeof *place); /* of a class's next frame */
    vf_status status = place ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    for (int f = 0; f < raw->frames && status == VF_OK; f++)
        if (raw->frame[f].trajectory < 0 || raw->frame[f].trajectory >= raw->trajectories)
            status = vf_fail(ctx, VF_ERR_INTERNAL, "frame %d: trajectory %d of %d", f, raw->frame[f].trajectory,
                             raw->trajectories);
        else
            place[class_of(solve, &raw->frame[f]) + 1]++;
    for (int t = 0; t < classes && status == VF_OK; t++)
        place[t + 1] += place[t];
    for (int f = 0; f < raw->frames && status == VF_OK; f++)
        order[place[class_of(solve, &raw->frame[f])]++] = f;
    free(place);
    return status;
}
