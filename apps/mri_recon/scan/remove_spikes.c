#include "remove_spikes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "find_spikes.h"
#include "scan_finish.h"
#include "share_trajectories.h"
#include "voxfield/append.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

enum { MOST_NAMED = 4 };

/* What was found, for the warning. */
typedef struct findings {
    int64_t samples, readouts;
    int frames, named;
    double ratio;
    char text[512];
} findings;

/* Names the readouts of bad samples, counted from 1, until there are too many. */
static void name(const mri_scan *raw, const scan_frame *frame, const spike_cells *c, const bool *bad, findings *found)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    for (int64_t m = 0, end; m < at->samples; m = end) {
        int64_t count = 0, first = -1;
        for (end = m; end < at->samples && c->readout[end] == c->readout[m]; end++)
            if (bad[end] && count++ == 0)
                first = end;
        if (count == 0)
            continue;
        found->readouts++;
        if (found->named++ >= MOST_NAMED)
            continue;
        vf_append(found->text, sizeof found->text, "%s%" PRId64 " of readout %d", found->text[0] ? ", " : "", count,
                  c->readout[m] + 1);
        if (raw->frames + raw->calibrations > 1)
            vf_append(found->text, sizeof found->text, " of volume %d, slice %d", frame->volume + 1, frame->slice + 1);
        vf_append(found->text, sizeof found->text, " (%s at k = %.4g, %.4g, %.4g)", count > 1 ? "the first" : "it is",
                  (double)at->k[3 * first] + 0.0, (double)at->k[3 * first + 1] + 0.0,
                  (double)at->k[3 * first + 2] + 0.0);
    }
}

static vf_status clean(vf_context *ctx, const char *path, mri_scan *raw, scan_frame *frame, const spike_cells *c,
                       findings *found)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const int64_t samples = at->samples;
    bool *bad = calloc((size_t)samples + 1, sizeof *bad), failed = !bad;
    double ratio = 0;
    int64_t marked = 0, count = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, 20 * raw->coils * samples))              \
    reduction(max : ratio) reduction(+ : marked)
    for (int coil = 0; coil < raw->coils; coil++) { /* threads only ever set elements of `bad` */
        double by = 0;
        const int64_t own = bad ? find_spikes(at, c, frame->data + coil * samples, bad, &by) : 0;
        ratio = fmax(ratio, by);
        marked += own;
        if (own < 0)
#pragma omp atomic write
            failed = true;
    }
    for (int64_t m = 0; m < samples && !failed && marked > 0; m++) /* coils share some */
        count += bad[m];
    vf_status status = failed ? vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to look for interference", path) : VF_OK;
    if (status == VF_OK && count > 0)
        status = scan_own_trajectory(ctx, path, raw, frame);
    if (status == VF_OK && count > 0) {
        name(raw, frame, c, bad, found);
        found->samples += count;
        found->frames++;
        found->ratio = fmax(found->ratio, ratio);
        for (int64_t m = 0; m < samples; m++) {
            raw->trajectory[frame->trajectory].weights[m] *= bad[m] ? 0 : 1;
            for (int coil = 0; coil < raw->coils && bad[m]; coil++)
                frame->data[coil * samples + m] = 0;
        }
    }
    free(bad);
    return status;
}

static void say(vf_context *ctx, const char *path, const findings *found)
{
    char more[48] = "";
    if (found->named > MOST_NAMED)
        vf_append(more, sizeof more, " and of %d more readouts", found->named - MOST_NAMED);
    vf_warn(ctx,
            "%s: interference: %" PRId64 " sample%s %s alone in k-space and up to %.3g times as strong as the object, "
            "which no object can be: %s%s; left out (weight 0); to use %s, give --spikes keep",
            path, found->samples, vf_plural(found->samples), found->samples == 1 ? "is" : "are", found->ratio,
            found->text, more, found->samples == 1 ? "it" : "them");
}

vf_status remove_spikes(vf_context *ctx, const char *path, mri_scan *raw)
{
    vf_status status = VF_OK;
    findings found = {0};
    spike_cells c = {0};
    int made_for = -1;
    for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++) {
        scan_frame *frame = &raw->frame[f];
        if (!frame->data || raw->trajectory[frame->trajectory].samples == 0)
            continue;
        if (made_for != frame->trajectory) {
            spike_cells_free(&c);
            status = spike_cells_make(ctx, raw, &raw->trajectory[frame->trajectory], &c);
            made_for = frame->trajectory;
        }
        const int before = raw->trajectories;
        VF_TRY(status, clean(ctx, path, raw, frame, &c, &found));
        if (raw->trajectories != before) /* its own has another number now */
            made_for = -1;
    }
    spike_cells_free(&c);
    if (status == VF_OK && found.samples > 0) {
        say(ctx, path, &found);
        status = scan_digest(ctx, path, raw);
    }
    return status;
}
