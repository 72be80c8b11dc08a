/* Finds the fully sampled centre of a Cartesian scan. Its samples already lie on the grid that vf_espirit needs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "espirit.h"
#include "voxfield/team_size.h"

/* The least number of fully sampled lines along each axis; with fewer, ESPIRiT's patches have too little room. */
enum { LEAST_LINES = 12 };

/* The most samples along an axis that ESPIRiT takes, and the fewest from which it can make maps. */
static int64_t most_lines(const mri_scan *raw)
{
    const bool volume = raw->matrix[0] > 1 && raw->matrix[1] > 1 && raw->matrix[2] > 1;
    return volume ? VF_ESPIRIT_LARGEST_3D : VF_ESPIRIT_LARGEST_2D;
}

static int64_t fewest_lines(int64_t matrix)
{
    return matrix < LEAST_LINES ? matrix : LEAST_LINES;
}

int64_t calibrate_point_of(const int64_t n[3], const float *k)
{
    int64_t at = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t nearest = n[a] > 1 ? calibrate_nearest(k[a]) : 0, i = nearest + n[a] / 2;
        if (fabsf(k[a] - (float)nearest) > 1e-3f || i < 0 || i >= n[a])
            return -1;
        at = at * n[a] + i;
    }
    return at;
}

/* Whether the box of `n` in the middle of `whole` is fully sampled. */
static bool box_full(const int64_t whole[3], const int64_t n[3], const unsigned char *sampled)
{
    int64_t first[3];
    for (int a = 0; a < 3; a++)
        first[a] = whole[a] / 2 - n[a] / 2;
    for (int64_t z = first[2]; z < first[2] + n[2]; z++)
        for (int64_t y = first[1]; y < first[1] + n[1]; y++)
            for (int64_t x = first[0]; x < first[0] + n[0]; x++)
                if (!sampled[(z * whole[1] + y) * whole[0] + x])
                    return false;
    return true;
}

/* Grows the box from the fewest lines, axis by axis. False if not even those are sampled. */
static bool grow(const int64_t whole[3], const unsigned char *sampled, int64_t n[3])
{
    bool grown = true;
    for (int a = 0; a < 3; a++)
        n[a] = fewest_lines(whole[a]);
    if (!box_full(whole, n, sampled))
        return false;
    while (grown) {
        grown = false;
        for (int a = 0; a < 3; a++) {
            int64_t wider[3] = {n[0], n[1], n[2]};
            wider[a] += 2;
            if (wider[a] <= whole[a] && box_full(whole, wider, sampled)) {
                n[a] = wider[a];
                grown = true;
            }
        }
    }
    return true;
}

void calibrate_cut(calibration *c, const int64_t whole[3], const int64_t n[3])
{
    const int64_t points = whole[0] * whole[1] * whole[2];
    float complex *out = c->gridded;
    for (int coil = 0; coil < c->scan->coils; coil++)
        for (int64_t z = 0; z < n[2]; z++)
            for (int64_t y = 0; y < n[1]; y++) {
                const int64_t row = (z + whole[2] / 2 - n[2] / 2) * whole[1] + y + whole[1] / 2 - n[1] / 2;
                memmove(out, c->gridded + coil * points + row * whole[0] + whole[0] / 2 - n[0] / 2,
                        (size_t)n[0] * sizeof *out);
                out += n[0];
            }
}

static void choose_small(calibration *c)
{
    const mri_scan *raw = c->scan;
    for (int a = 0; a < 3; a++)
        c->small[a] = raw->matrix[a] < most_lines(raw) ? raw->matrix[a] : most_lines(raw);
    c->points = c->small[0] * c->small[1] * c->small[2];
}

/* Looks for the fully sampled box, without gathering samples: `n`, 0 if there is none. */
static vf_status find_box(calibration *c, int place, int64_t n[3])
{
    memset(n, 0, 3 * sizeof *n);
    choose_small(c);
    unsigned char *sampled = calloc((size_t)c->points, 1);
    if (!sampled)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    const vf_status status = calibrate_mark_sampled(c, place, sampled);
    int64_t grown[3];
    if (status == VF_OK && grow(c->small, sampled, grown))
        memcpy(n, grown, sizeof grown);
    free(sampled);
    return status;
}

bool calibrate_has_box(calibration *c, int place)
{
    int64_t n[3];
    if (find_box(c, place, n) != VF_OK)
        vf_context_clear_error(c->ctx);
    return n[0] > 0;
}

/* Puts the mean of a coil's samples at each point into c->gridded. at[sample]: its point, -1: none; times[point]. */
static void put_coil(const calibration *c, int coil, const int32_t *at, const int *times)
{
    const float complex *data = c->data + coil * c->centre.samples;
    float complex *out = c->gridded + coil * c->points;
    for (int64_t m = 0; m < c->centre.samples; m++)
        if (at[m] >= 0)
            out[at[m]] += data[m];
    for (int64_t i = 0; i < c->points; i++)
        if (times[i] > 1)
            out[i] /= (float)times[i];
}

vf_status calibrate_cartesian(calibration *c, int place, int64_t n[3])
{
    const mri_scan *raw = c->scan;
    int64_t box[3];
    vf_status status = find_box(c, place, box);
    if (status != VF_OK || box[0] == 0) /* most scans off the grid end here, before their data are gathered */
        return status;
    status = calibrate_gather(c, place, true);
    int32_t *at = malloc((size_t)(c->centre.samples + 1) * sizeof *at);
    int *times = calloc((size_t)c->points, sizeof *times);
    c->gridded = calloc((size_t)c->points * (size_t)raw->coils, sizeof *c->gridded);
    if (status == VF_OK && (!at || !times || !c->gridded))
        status = vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    for (int64_t m = 0; m < c->centre.samples && status == VF_OK; m++) {
        at[m] = (int32_t)calibrate_point_of(c->small, c->centre.k + 3 * m);
        if (at[m] >= 0)
            times[at[m]]++;
    }
    if (status == VF_OK) {
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_for(c->ctx, 2 * raw->coils * (c->centre.samples + c->points)))
        for (int coil = 0; coil < raw->coils; coil++)
            put_coil(c, coil, at, times);
        memcpy(n, box, sizeof box);
        calibrate_cut(c, c->small, n);
        calibrate_normalise(c->ctx, c->gridded, n[0] * n[1] * n[2] * raw->coils);
    }
    free(at);
    free(times);
    return status;
}
