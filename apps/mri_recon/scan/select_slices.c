/* --slices: leaves only some slices of a scan. */
#include <stdlib.h>

#include "correct_trajectory.h"
#include "scan_finish.h"
#include "select_frames.h"
#include "voxfield/append.h"

/* The new number of a place, or -1. Slices are counted in each stack. */
static int number_of(const mri_scan *raw, const frame_selection *chosen, int place)
{
    const int64_t from_first = place % raw->slices - chosen->first;
    if (from_first < 0 || from_first % chosen->step != 0 || from_first / chosen->step >= chosen->count)
        return -1;
    return (int)(place / raw->slices * chosen->count + from_first / chosen->step);
}

/* Frees trajectories that no frame has, and numbers the others. Frames' trajectories come before those of calibration
 * frames. */
static void keep_trajectories(mri_scan *raw, int trajectories, int *number)
{
    int kept = 0;
    raw->trajectories = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        number[raw->frame[f].trajectory] = 1;
    for (int t = 0; t < trajectories; t++) {
        if (number[t] == 0) {
            scan_free_trajectory(&raw->trajectory[t]);
            continue;
        }
        number[t] = kept;
        raw->trajectory[kept++] = raw->trajectory[t];
    }
    for (int f = 0; f < raw->frames + raw->calibrations; f++) {
        raw->frame[f].trajectory = number[raw->frame[f].trajectory];
        if (f < raw->frames && raw->frame[f].trajectory >= raw->trajectories)
            raw->trajectories = raw->frame[f].trajectory + 1;
    }
}

/* Keeps frames of chosen places, calibration frames after them. */
static void keep_frames(mri_scan *raw, const frame_selection *chosen)
{
    int frames = 0, all = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++) {
        scan_frame *frame = &raw->frame[f];
        const int place = number_of(raw, chosen, frame->place);
        if (place < 0) {
            free(frame->data);
            continue;
        }
        frame->place = place;
        frame->slice = (int)(place % chosen->count);
        frames += f < raw->frames;
        raw->frame[all++] = *frame;
    }
    raw->calibrations = all - frames;
    raw->frames = frames;
}

static void move_geometry(scan_geometry *g, const frame_selection *chosen)
{
    for (int a = 0; a < 3; a++)
        g->centre[a] += (double)chosen->first * g->slice_step * g->direction[2][a];
    g->slice_step *= (double)chosen->step;
}

vf_status select_slices(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    frame_selection chosen;
    if (!settings->slices)
        return VF_OK;
    if (raw->slices == 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--slices: %s has no stack of slices", settings->input);
    vf_status status = parse_frames(ctx, settings->slices, "the scan", raw->slices, &chosen);
    if (status != VF_OK)
        vf_context_clear_error(ctx);
    if (status != VF_OK)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--slices '%s': expected FIRST:LAST:STEP or a number; %s has %d slices, numbered from 1",
                       settings->slices, settings->input, raw->slices);
    if (raw->sensitivity && raw->own_maps)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--slices: the coil maps of %s belong to all slices", settings->input);
    const int stacks = scan_stacks(raw), trajectories = raw->trajectories + raw->calibrations;
    int *number;
    status = SCAN_NEW(ctx, settings->input, "trajectories", trajectories, number);
    if (status != VF_OK)
        return status;
    keep_frames(raw, &chosen);
    keep_trajectories(raw, trajectories, number);
    free(number);
    if (raw->frames == 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--slices '%s': %s has no samples of these slices", settings->slices,
                       settings->input);
    move_geometry(&raw->geometry, &chosen);
    for (int s = 0; raw->place_geometry && s < stacks; s++)
        move_geometry(&raw->place_geometry[s], &chosen);
    vf_append(raw->description, sizeof raw->description, "; slices %.40s of %d", settings->slices, raw->slices);
    raw->slices = (int)chosen.count;
    raw->places = stacks * raw->slices;
    scan_drop_truth(raw);
    return scan_digest(ctx, settings->input, raw);
}
