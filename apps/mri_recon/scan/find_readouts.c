/* Finds where readouts begin in trajectories that do not say so. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "scan_internal.h"

/* Between readouts, k jumps at least by this multiple of the longest step within a readout. */
static const double JUMP = 2;

vf_status scan_even_readouts(vf_context *ctx, const char *path, int64_t length, scan_trajectory *t)
{
    const int64_t count = t->samples / length;
    vf_status status = scan_allocate(ctx, path, "readouts", count + 1, sizeof *t->readout, &t->readout);
    if (status != VF_OK)
        return status;
    for (int64_t i = 0; i <= count; i++)
        t->readout[i] = i * length;
    t->readouts = count;
    return VF_OK;
}

/* Each excitation starts the time again. Without several of them, t->readouts stays 0. */
static vf_status by_time(vf_context *ctx, const char *path, scan_trajectory *t)
{
    int64_t count = 1;
    for (int64_t m = 1; t->time && m < t->samples; m++)
        count += t->time[m] < t->time[m - 1];
    if (count == 1)
        return VF_OK;
    vf_status status = scan_allocate(ctx, path, "readouts", count + 1, sizeof *t->readout, &t->readout);
    if (status != VF_OK)
        return status;
    for (int64_t m = 1; m < t->samples; m++)
        if (t->time[m] < t->time[m - 1])
            t->readout[++t->readouts] = m;
    t->readout[++t->readouts] = t->samples;
    return VF_OK;
}

/* The length of the step to sample m. */
static double step_to(const scan_trajectory *t, int64_t m)
{
    const float *k = t->k + 3 * m;
    const double x = (double)k[0] - k[-3], y = (double)k[1] - k[-2], z = (double)k[2] - k[-1];
    return sqrt(x * x + y * y + z * z);
}

/* Whether k jumps every `length` samples and nowhere else. */
static bool jumps_every(const scan_trajectory *t, int64_t length)
{
    double within = 0, between = INFINITY;
    for (int64_t m = 1; m < t->samples; m++) {
        const double step = step_to(t, m);
        if (m % length == 0)
            between = fmin(between, step);
        else
            within = fmax(within, step);
    }
    return between > JUMP * within;
}

/* The length of readouts that jumps of k separate; 0: there are no such readouts. */
static int64_t length_by_jumps(const scan_trajectory *t)
{
    double longest = 0;
    for (int64_t m = 1; m < t->samples; m++) {
        const double step = step_to(t, m);
        if (m > 1 && longest > 0 && step > JUMP * longest && t->samples % m == 0 && jumps_every(t, m))
            return m;
        longest = fmax(longest, step);
    }
    return 0;
}

static vf_status find(vf_context *ctx, const recon_settings *settings, scan_trajectory *t)
{
    const char *path = settings->input;
    const int64_t given = settings->readout_samples;
    if (given > 0 && t->samples % given != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--readout-samples %" PRId64 ": %s has %" PRId64 " samples a frame, which is no multiple of it",
                       given, path, t->samples);
    if (given > 0)
        return scan_even_readouts(ctx, path, given, t);
    vf_status status = by_time(ctx, path, t);
    if (status != VF_OK || t->readouts > 0)
        return status;
    const int64_t length = length_by_jumps(t);
    if (length > 0)
        return scan_even_readouts(ctx, path, length, t);
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: --spokes-per-frame: where readouts begin cannot be seen, because neither do sample times start "
                   "again nor does k jump at equal distances; give --readout-samples",
                   path);
}

vf_status find_readouts(vf_context *ctx, const recon_settings *settings, mri_scan *raw)
{
    vf_status status = VF_OK;
    bool all_known = true;
    for (int t = 0; t < raw->trajectories; t++)
        all_known = all_known && raw->trajectory[t].readouts > 0;
    if (all_known && settings->readout_samples > 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--readout-samples: %s says itself how long its readouts are; leave out this option",
                       settings->input);
    if (!all_known && strcmp(raw->layout, "BART") == 0)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --spokes-per-frame: a Cartesian .cfl does not say in what order it was acquired",
                       settings->input);
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++)
        if (raw->trajectory[t].readouts == 0)
            status = find(ctx, settings, &raw->trajectory[t]);
    return status;
}
