/* Finds where readouts begin in trajectories that do not say so. */
#include "find_readouts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Between readouts, k jumps at least by this multiple of the longest step within a readout. */
static const double JUMP = 2;
/* The steps of a straight readout are equal to this share. */
static const double EVEN = 0.05;

vf_status scan_even_readouts(vf_context *ctx, const char *path, int64_t length, scan_trajectory *t)
{
    const int64_t count = t->samples / length;
    vf_status status = SCAN_NEW(ctx, path, "readouts", count + 1, t->readout);
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
    vf_status status = SCAN_NEW(ctx, path, "readouts", count + 1, t->readout);
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

/* Whether the step to sample m is that of the step before. */
static bool goes_on(const float *k, int64_t m)
{
    double change = 0, step = 0;
    for (int a = 0; a < 3; a++) {
        const double now = (double)k[3 * m + a] - k[3 * m - 3 + a],
                     before = (double)k[3 * m - 3 + a] - k[3 * m - 6 + a];
        change += (now - before) * (now - before);
        step += before * before;
    }
    return step > 0 && change <= EVEN * EVEN * step;
}

/* The length of straight readouts with even steps, up to the first bend; 0: not all are such lines of one length. */
static int64_t length_by_lines(const scan_trajectory *t)
{
    int64_t length = 2;
    while (length < t->samples && goes_on(t->k, length))
        length++;
    if (length == 2 || length >= t->samples || t->samples % length != 0)
        return 0;
    for (int64_t m = length; m < t->samples; m++)
        if (m % length != 1 && goes_on(t->k, m) != (m % length != 0))
            return 0;
    return length;
}

static vf_status find(vf_context *ctx, const scan_settings *settings, const char *option, scan_trajectory *t)
{
    const char *path = settings->input;
    int64_t length = settings->readout_samples;
    if (length > 0 && t->samples % length != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--readout-samples %" PRId64 ": %s has %" PRId64 " samples a frame, which is no multiple of it",
                       length, path, t->samples);
    if (length == 0) {
        vf_status status = by_time(ctx, path, t);
        if (status != VF_OK || t->readouts > 0)
            return status;
        length = length_by_lines(t);
    }
    if (length == 0)
        length = length_by_jumps(t);
    if (length > 0)
        return scan_even_readouts(ctx, path, length, t);
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: %s: cannot tell where readouts begin: sample times (/scan/time) do not start again, and k "
                   "neither follows straight lines of one length nor jumps at equal distances; give --readout-samples",
                   path, option);
}

vf_status find_readouts(vf_context *ctx, const scan_settings *settings, const char *option, mri_scan *raw)
{
    vf_status status = VF_OK;
    bool all_known = true;
    for (int t = 0; t < raw->trajectories; t++)
        all_known = all_known && raw->trajectory[t].readouts > 0;
    raw->readouts_found = raw->readouts_found || !all_known;
    if (!raw->readouts_found && settings->readout_samples > 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--readout-samples: %s says itself how long its readouts are; leave out this option",
                       settings->input);
    if (raw->readouts_found && settings->spokes_per_frame > 0 && strcmp(raw->layout, "plain") != 0)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --spokes-per-frame: a Cartesian %s does not say in what order it was acquired",
                       settings->input, strcmp(raw->layout, "BART") == 0 ? ".cfl" : raw->layout);
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++)
        if (raw->trajectory[t].readouts == 0)
            status = find(ctx, settings, option, &raw->trajectory[t]);
    return status;
}
