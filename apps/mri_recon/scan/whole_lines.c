#include "whole_lines.h"

#include <math.h>
#include <stdlib.h>

/* Whether the samples from `first` on are a complete line. `seen` [length] is 0 before the first line. */
static bool is_line(const mri_scan *raw, const scan_trajectory *at, const whole_lines *lines, int64_t first,
                    int32_t *place, int64_t *seen)
{
    for (int64_t m = first; m < first + lines->length; m++) {
        if (at->weights && at->weights[m] != at->weights[first])
            return false;
        for (int a = 0; a < 3; a++)
            if (a != lines->axis && raw->matrix[a] > 1 &&
                !(fabsf(at->k[3 * m + a] - at->k[3 * first + a]) <= (float)raw->matrix[a] * 0x1p-22F))
                return false;
        const double k = rint((double)at->k[3 * m + lines->axis]), n = (double)lines->length;
        const int64_t index = (int64_t)(k - n * floor(k / n));
        if (!(fabs((double)at->k[3 * m + lines->axis] - k) <= n * 0x1p-22) || seen[index] == first + 1)
            return false;
        seen[index] = first + 1;
        place[m - first] = (int32_t)index;
    }
    return true;
}

static vf_status find_of(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at, const whole_lines *lines,
                         int32_t **place, bool *whole)
{
    int64_t *seen = calloc((size_t)lines->length, sizeof *seen);
    *place = malloc((size_t)at->samples * sizeof **place + 1);
    *whole = at->samples % lines->length == 0 && !at->phi;
    vf_status status = seen && *place ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the lines of k-space");
    for (int64_t m = 0; status == VF_OK && *whole && m < at->samples; m += lines->length)
        *whole = is_line(raw, at, lines, m, *place + m, seen);
    free(seen);
    return status;
}

vf_status whole_lines_find(vf_context *ctx, const mri_scan *raw, int axis, whole_lines *out, bool *whole)
{
    const int all = raw->trajectories + raw->calibrations;
    *out = (whole_lines){.axis = axis,
                         .length = raw->matrix[axis],
                         .place = calloc((size_t)all + 1, sizeof *out->place),
                         .trajectories = all};
    *whole = true;
    vf_status status = out->place ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the lines of k-space");
    for (int t = 0; t < all && status == VF_OK && *whole; t++)
        status = find_of(ctx, raw, &raw->trajectory[t], out, &out->place[t], whole);
    return status;
}

void whole_lines_free(whole_lines *lines)
{
    for (int t = 0; lines->place && t < lines->trajectories; t++)
        free(lines->place[t]);
    free(lines->place);
    *lines = (whole_lines){0};
}
