/* Noise is never exactly 0. So zeros are what a program filled in: for lines that an undersampled scan left out, for spokes and
 * samples before the receiver was ready. Used as samples, they would say that there is no signal: an image from zero filling. Only
 * integers of few levels can be 0 by chance, and images that are even over the whole field of view have zeros in k-space. */
#include "leave_out_zeros.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_finish.h"
#include "share_trajectories.h"

/* Zeros matter from this share of the samples on, near the centre and anywhere. Fewer, at the ends of readouts, change nothing. */
static const double MATTERS_NEAR = 1e-3, MATTERS = 1.0 / 16;
/* At least this share of the samples near the centre is signal, or the object has hardly any frequencies but 0. */
static const double LEAST_SIGNAL = 1.0 / 16;
/* Of the numbers of samples that are not 0, so many may be 0 before zeros count as weak signal in integers. */
static const double COARSE = 0.05;

typedef struct zeros {
    unsigned char *measured; /* [sample] */
    int64_t all, none;       /* samples that count, and those of them that are 0 in all channels */
    int64_t near, none_near; /* the same within an eighth of the matrix from the centre along each axis */
} zeros;

static bool is_near(const int64_t matrix[3], const float *k)
{
    bool near = true;
    for (int a = 0; a < 3; a++)
        near = near && (matrix[a] == 1 || fabs((double)k[a]) <= (double)matrix[a] / 8);
    return near;
}

/* Whether the first channel has enough zeros to look at the others. */
static bool worth_a_look(const float complex *data, int64_t samples)
{
    int64_t none = 0;
#pragma omp simd reduction(+ : none)
    for (int64_t m = 0; m < samples; m++)
        none += data[m] == 0;
    return (double)none >= MATTERS_NEAR * MATTERS * (double)samples && none > 0;
}

static void count(const mri_scan *raw, const scan_trajectory *t, zeros *z)
{
    for (int64_t m = 0; m < t->samples; m++) {
        if (t->weights && t->weights[m] == 0)
            continue;
        const bool near = is_near(raw->matrix, t->k + 3 * m);
        z->all++;
        z->none += !z->measured[m];
        z->near += near;
        z->none_near += near && !z->measured[m];
    }
}

/* The share of zeros among the numbers of measured samples, of channels that are not silent. */
static double share_of_zeros(const float complex *data, int64_t samples, int64_t coils, const zeros *z)
{
    int64_t none = 0, all = 0;
    for (int64_t c = 0; c < coils; c++) {
        int64_t own = 0, numbers = 0;
        for (int64_t m = 0; m < samples; m++)
            if (z->measured[m]) {
                own += (crealf(data[c * samples + m]) == 0) + (cimagf(data[c * samples + m]) == 0);
                numbers += 2;
            }
        if (own < numbers) {
            none += own;
            all += numbers;
        }
    }
    return all > 0 ? (double)none / (double)all : 1;
}

static bool left_out(const scan_frame *frame, int64_t samples, int64_t coils, const zeros *z)
{
    if (z->none == 0 || (double)(z->near - z->none_near) < LEAST_SIGNAL * (double)z->near)
        return false;
    if (z->none_near > 0 && (double)z->none_near >= MATTERS_NEAR * (double)z->near)
        return true;
    return (double)z->none >= MATTERS * (double)z->all && share_of_zeros(frame->data, samples, coils, z) < COARSE;
}

/* Finds the zeros of a frame that are to be left out. z->measured stays NULL if there are none. */
static vf_status find(vf_context *ctx, const char *path, const mri_scan *raw, const scan_frame *frame, zeros *z)
{
    const scan_trajectory *t = &raw->trajectory[frame->trajectory];
    *z = (zeros){0};
    if (!frame->data || t->samples == 0 || !worth_a_look(frame->data, t->samples))
        return VF_OK;
    vf_status status = SCAN_NEW(ctx, path, "samples", t->samples, z->measured);
    if (status != VF_OK)
        return status;
    scan_mark_acquired(ctx, raw->coils, t->samples, frame->data, z->measured);
    count(raw, t, z);
    if (!left_out(frame, t->samples, raw->coils, z)) {
        free(z->measured);
        z->measured = NULL;
    }
    return VF_OK;
}

static bool same(const zeros *a, const zeros *b, int64_t samples)
{
    return !a->measured || !b->measured ? a->measured == b->measured
                                        : memcmp(a->measured, b->measured, (size_t)samples) == 0;
}

/* Gives the zeros of frame f the weight 0: in its trajectory, if all frames that share it have the same zeros, else in one of its
 * own, for all frames like it. Doing it again for these changes nothing. */
static vf_status apply(vf_context *ctx, const char *path, mri_scan *raw, const zeros *z, int f)
{
    const int number = raw->frame[f].trajectory;
    const int64_t samples = raw->trajectory[number].samples;
    bool alone = true;
    for (int g = 0; g < raw->frames + raw->calibrations; g++)
        alone = alone && (raw->frame[g].trajectory != number || same(&z[g], &z[f], samples));
    vf_status status = alone ? scan_need_weights(ctx, path, &raw->trajectory[number])
                             : scan_own_trajectory(ctx, path, raw, &raw->frame[f]);
    for (int64_t m = 0; status == VF_OK && m < samples; m++)
        if (!z[f].measured[m])
            raw->trajectory[raw->frame[f].trajectory].weights[m] = 0;
    for (int g = f + 1; status == VF_OK && !alone && g < raw->frames; g++)
        if (raw->frame[g].trajectory == number && same(&z[g], &z[f], samples))
            raw->frame[g].trajectory = raw->frame[f].trajectory;
    return status;
}

vf_status leave_out_zeros(vf_context *ctx, const char *path, mri_scan *raw)
{
    const int all = raw->frames + raw->calibrations;
    int64_t samples = 0, none = 0;
    zeros *z;
    vf_status status = SCAN_NEW(ctx, path, "frames", all, z);
    for (int f = 0; status == VF_OK && f < all; f++) {
        status = find(ctx, path, raw, &raw->frame[f], &z[f]);
        samples += raw->trajectory[raw->frame[f].trajectory].samples;
        none += z[f].measured ? z[f].none : 0;
    }
    for (int f = 0; status == VF_OK && none > 0 && f < all; f++)
        if (z[f].measured)
            status = apply(ctx, path, raw, z, f);
    for (int f = 0; z && f < all; f++)
        free(z[f].measured);
    free(z);
    if (status != VF_OK || none == 0)
        return status;
    vf_note(ctx,
            "%s: %" PRId64 " of %" PRId64
            " samples are 0 in all channels, which noise never is: filled in, not measured; left out (weight 0)",
            path, none, samples);
    return scan_digest(ctx, path, raw);
}
