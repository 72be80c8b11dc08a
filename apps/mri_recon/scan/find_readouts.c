/* Which samples of a trajectory were taken in one readout. */
#include <inttypes.h>
#include <math.h>

#include "correct_internal.h"

/* The steps of a straight readout are equal to this share. */
static const double EVEN = 0.05;

/* Up to the first time that is not later than the one before. */
static int64_t by_time(const scan_trajectory *t)
{
    int64_t length = 1;
    while (length < t->samples && t->time[length] > t->time[length - 1])
        length++;
    for (int64_t m = length; m < t->samples; m++)
        if ((t->time[m] > t->time[m - 1]) != (m % length != 0))
            return 0;
    return length;
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

/* Up to the first bend. */
static int64_t by_straight_lines(const scan_trajectory *t)
{
    int64_t length = 2;
    while (length < t->samples && goes_on(t->k, length))
        length++;
    for (int64_t m = length; m < t->samples; m++)
        if (m % length >= 2 && !goes_on(t->k, m))
            return 0;
    return length > 2 ? length : 0;
}

int64_t find_readout(const scan_trajectory *t)
{
    int64_t length = t->readout;
    if (length == 0 && t->time)
        length = by_time(t);
    if (length == 0 || (length == t->samples && t->readout == 0))
        length = t->samples > 2 ? by_straight_lines(t) : 0;
    return length > 0 && t->samples % length == 0 ? length : 0;
}

vf_status find_readouts(vf_context *ctx, const char *path, const char *option, mri_scan *raw)
{
    for (int i = 0; i < raw->trajectories; i++) {
        scan_trajectory *t = &raw->trajectory[i];
        t->readout = find_readout(t);
        if (t->readout == 0)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: %s needs to know which samples are one readout, but the %" PRId64
                           " samples of trajectory %d are not readouts of equal length; add the time of each sample "
                           "since the beginning of its readout (/scan/time)",
                           path, option, t->samples, i);
    }
    return VF_OK;
}
