/* Gathers the samples in the centre of k-space, the input of all estimates of coil maps. Those of weight 0 do not
 * count. */
#include <math.h>
#include <string.h>

#include "calibrate.h"

/* Whether frame f belongs to the place, shows the same as its first frame, and adds a new trajectory. */
static bool belongs(const mri_scan *raw, int f, int first, int place)
{
    const scan_frame *frame = &raw->frame[f], *like = &raw->frame[first];
    if (frame->place != place || frame->part_of > 0) /* the samples of parts are those of the whole */
        return false;
    if ((f >= raw->frames && !frame->spare) || f == first)
        return true;
    for (int g = 0; g < f; g++) /* a repeated trajectory adds nothing */
        if (scan_same_kind(&raw->frame[g], like) && raw->frame[g].trajectory == frame->trajectory)
            return false;
    return scan_same_kind(frame, like);
}

/* Whether a sample lies within the small matrix. */
static bool inside(const calibration *c, const float *k)
{
    for (int a = 0; a < 3; a++)
        if (c->small[a] > 1 && !(2 * fabsf(k[a]) <= (float)c->small[a]))
            return false;
    return true;
}

int64_t calibrate_gather(const calibration *c, int place, float *k, float complex *data, int64_t samples)
{
    const mri_scan *raw = c->scan;
    int64_t found = 0;
    int first = 0;
    while (first < raw->frames && raw->frame[first].place != place)
        first++;
    for (int f = 0; f < raw->frames + raw->calibrations && first < raw->frames; f++) {
        if (!belongs(raw, f, first, place))
            continue;
        const scan_trajectory *at = &raw->trajectory[raw->frame[f].trajectory];
        for (int64_t m = 0; m < at->samples; m++) {
            if (!inside(c, at->k + 3 * m) || (at->weights && at->weights[m] == 0))
                continue;
            for (int coil = 0; data && coil < raw->coils; coil++)
                data[coil * samples + found] = scan_coil(raw, &raw->frame[f], coil)[m];
            if (k)
                memcpy(k + 3 * found, at->k + 3 * m, 3 * sizeof *k);
            found++;
        }
    }
    return found;
}

void calibrate_normalise(float complex *data, int64_t count)
{
    float largest = 0;
    float *values = (float *)data;
    for (int64_t i = 0; i < 2 * count; i++)
        largest = fmaxf(largest, fabsf(values[i]));
    if (largest == 0 || !isfinite(largest))
        return;
    const int power = -ilogbf(largest);
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = ldexpf(values[i], power);
}
