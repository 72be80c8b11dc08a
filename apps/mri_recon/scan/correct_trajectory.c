/* The corrections of a trajectory, in order. */
#include "correct_trajectory.h"

#include <stdarg.h>
#include <stdlib.h>

#include "bart/cfl_names.h"
#include "correct_internal.h"
#include "scan_finish.h"
#include "voxfield/append.h"

void note_correction(mri_scan *raw, const char *format, ...)
{
    va_list arguments;
    if (raw->corrections[0])
        vf_append(raw->corrections, sizeof raw->corrections, "; ");
    va_start(arguments, format);
    vf_append_args(raw->corrections, sizeof raw->corrections, format, arguments);
    va_end(arguments);
}

vf_status separate_trajectories(vf_context *ctx, const char *path, mri_scan *raw)
{
    scan_trajectory *own = NULL;
    const int total = raw->frames + raw->calibrations;
    bool own_already = raw->trajectories == raw->frames;
    for (int f = 0; f < raw->frames; f++)
        own_already = own_already && raw->frame[f].trajectory == f;
    if (own_already)
        return VF_OK;
    vf_status status = SCAN_NEW(ctx, path, "trajectories", total, own);
    for (int f = 0; status == VF_OK && f < raw->frames; f++)
        status = scan_copy_trajectory(ctx, path, &raw->trajectory[raw->frame[f].trajectory], &own[f]);
    for (int i = 0; status != VF_OK && own && i < total; i++)
        scan_free_trajectory(&own[i]);
    if (status != VF_OK) {
        free(own);
        return status;
    }
    for (int i = 0; i < raw->trajectories; i++)
        scan_free_trajectory(&raw->trajectory[i]);
    for (int i = 0; i < raw->calibrations; i++)
        own[raw->frames + i] = raw->trajectory[raw->trajectories + i];
    free(raw->trajectory);
    raw->trajectory = own;
    raw->trajectories = raw->frames;
    for (int f = 0; f < total; f++)
        raw->frame[f].trajectory = f;
    return VF_OK;
}

/* phi belongs to the k of the file. */
static vf_status check_phi(vf_context *ctx, const char *path, const mri_scan *raw)
{
    for (int i = 0; i < raw->trajectories; i++)
        if (raw->trajectory[i].phi)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: /scan/phi belongs to the trajectory of the file, so --trajectory, --girf, --delays and "
                           "--motion cannot change k; leave phi out and use --voxel box",
                           path);
    return VF_OK;
}

vf_status correct_trajectory(vf_context *ctx, const scan_settings *s, mri_scan *raw)
{
    const bool measured = s->trajectory && !cfl_is_name(s->input); /* BART's scans are read with theirs */
    const bool delays = s->delays == RECON_DELAYS_AUTO || s->delays == RECON_DELAYS_GIVEN;
    if (!measured && !s->girf && !delays && !s->motion)
        return s->delays == RECON_DELAYS_WARN ? warn_of_delays(ctx, s, raw) : VF_OK;
    vf_status status = check_phi(ctx, s->input, raw);
    if (status == VF_OK && measured)
        status = take_measured(ctx, s, raw);
    if (status == VF_OK && s->girf)
        status = correct_girf(ctx, s, raw);
    if (status == VF_OK && delays)
        status = correct_delays(ctx, s, raw);
    if (status == VF_OK && s->motion)
        status = correct_motion(ctx, s, raw);
    return status == VF_OK ? scan_finish_trajectories(ctx, s->input, raw) : status;
}
