#include "channel_noise.h"

#include <math.h>
#include <stdlib.h>

#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

/* The share of samples, by radius, that counts as outermost, and the most frames that are looked at there. */
static const double OUTER_SHARE = 0.15, OUTERMOST_HALF = 0.075;
enum { MOST_FRAMES = 16, LEAST_SAMPLES = 256, CHUNK = 1 << 16 };
/* Real receivers have filters and drift: neighbours may be correlated by this much, and the ratio of moments may be off
 * by as much. */
static const double SLACK = 0.1;
/* Variances that differ by less are left as they are: a factor of 3 in the deviation. Weights that ignore such a
 * difference cost at most a third of the signal-to-noise ratio of two coils. */
static const double CLEARLY = 9;
static const double DEVIATIONS = 3, MOST_DEVIATIONS = 6;

vf_wiener_space wiener_space_of(const mri_scan *raw)
{
    vf_wiener_space space;
    for (int a = 0; a < 3; a++) {
        space.matrix[a] = raw->matrix[a];
        space.fov[a] = raw->fov[a];
    }
    return space;
}

vf_wiener_samples wiener_samples_of(const mri_scan *raw, const scan_frame *frame)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    return (vf_wiener_samples){.count = at->samples,
                               .k = at->k,
                               .weights = at->weights,
                               .coils = raw->coils,
                               .stride = scan_stride(raw, frame),
                               .received = raw->compressed_from,
                               .data = (const float *)scan_coil(raw, frame, 0)};
}

static void add_moments(const channel_statistics *part, channel_statistics *to)
{
    to->count += part->count;
    to->sum += part->sum;
    to->squares += part->squares;
    to->largest = part->largest > to->largest ? part->largest : to->largest;
    for (int i = 0; i < 4; i++)
        to->lag[i / 2][i % 2] += part->lag[i / 2][i % 2];
    for (int h = 0; h < 2; h++) {
        to->half[h].count += part->half[h].count;
        to->half[h].sum += part->half[h].sum;
    }
}

/* Adds the samples of a frame to `to` [coils]. The parts are added in order, so the bits do not depend on the number of
 * threads. */
static vf_status add_frame(vf_context *ctx, const mri_scan *raw, const scan_frame *frame, const unsigned char *ring,
                           channel_statistics *to)
{
    const vf_wiener_samples samples = wiener_samples_of(raw, frame);
    const int64_t chunks = (samples.count + CHUNK - 1) / CHUNK, coils = raw->coils;
    channel_statistics *part = malloc((size_t)(chunks * coils) * sizeof *part + 1);
    if (!part)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 4 * coils * samples.count))
    for (int64_t i = 0; i < chunks; i++)
        vf_coil_moments_of(&samples, ring, i * CHUNK, (i + 1) * CHUNK < samples.count ? (i + 1) * CHUNK : samples.count,
                           part + i * coils);
    for (int64_t i = 0; i < chunks * coils; i++)
        add_moments(&part[i], &to[i % coils]);
    free(part);
    return VF_OK;
}

/* Marks the outermost samples of a trajectory, ring [sample], which the caller frees. */
static vf_status find_ring(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at, unsigned char **ring)
{
    const vf_wiener_samples samples = {.count = at->samples, .k = at->k, .weights = at->weights, .coils = 0};
    const vf_wiener_space space = wiener_space_of(raw);
    const double shares[2] = {OUTER_SHARE, OUTERMOST_HALF};
    double radii[2];
    unsigned char *of = malloc((size_t)at->samples + 1);
    *ring = of;
    if (!of)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
    vf_outer_radii(ctx, &space, &samples, 2, shares, radii);
    vf_rings_of(ctx, &space, &samples, 2, radii, of); /* VF_RING_INSIDE, VF_RING_OUTER, VF_RING_OUTERMOST */
    return VF_OK;
}

vf_status channel_measure(vf_context *ctx, const mri_scan *raw, bool outer, channel_statistics *out, double *half)
{
    const int frames = raw->frames + raw->calibrations;
    const int step = outer && raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    channel_statistics *of = calloc((size_t)raw->coils + 1, sizeof *of);
    vf_status status = of ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
    for (int f = 0; f < (outer ? raw->frames : frames) && status == VF_OK; f += step) {
        const scan_frame *frame = &raw->frame[f];
        unsigned char *ring = NULL;
        if (!frame->data)
            continue;
        if (outer)
            status = find_ring(ctx, raw, &raw->trajectory[frame->trajectory], &ring);
        VF_TRY(status, add_frame(ctx, raw, frame, ring, of));
        free(ring);
    }
    for (int c = 0; c < raw->coils && status == VF_OK; c++) {
        out[c] = of[c];
        for (int h = 0; h < 2 && half; h++)
            half[h * raw->coils + c] = of[c].half[h].count > 0 ? of[c].half[h].sum / (double)of[c].half[h].count : 0;
    }
    free(of);
    return status;
}

bool channel_looks_like_noise(const channel_statistics *s, double deviations)
{
    if (s->count < LEAST_SAMPLES)
        return false;
    const double n = (double)s->count, mean = s->sum / n;
    if (!(s->largest < (log(n) + 10) * mean))
        return false;
    /* x^2 / mean^2 has the mean 2, and its variance is 24 - 4 */
    if (!(fabs(s->squares / n / (mean * mean) - 2) < 2 * SLACK + deviations * sqrt(20 / n)))
        return false;
    for (int lag = 0; lag < 2; lag++)
        if (!(hypot(s->lag[lag][0], s->lag[lag][1]) / s->sum < SLACK + deviations / sqrt(n)))
            return false;
    return true;
}

vf_status channel_outer_noise(vf_context *ctx, const mri_scan *raw, double *variance)
{
    channel_statistics *s = malloc((size_t)raw->coils * sizeof *s);
    vf_status status = s ? channel_measure(ctx, raw, true, s, NULL)
                         : vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at %d channels", raw->coils);
    int alike = 0;
    *variance = 0;
    for (int c = 0; c < raw->coils && status == VF_OK; c++) {
        alike += channel_looks_like_noise(&s[c], MOST_DEVIATIONS);
        *variance += s[c].count > 0 ? s[c].sum / (double)s[c].count : 0;
    }
    *variance = 2 * alike >= raw->coils ? *variance : 0;
    free(s);
    return status;
}

/* Of channels whose outermost samples look like noise, variance[c] is theirs. Of others it is at most the median of
 * all: signal makes their samples larger. False if variances do not clearly differ. */
static bool choose_variances(const mri_scan *raw, const channel_statistics *s, const double *half, double *variance,
                             double *sorted)
{
    const int coils = raw->coils;
    double least = INFINITY, most = 0;
    for (int c = 0; c < coils; c++)
        sorted[c] = s[c].count > 0 ? s[c].sum / (double)s[c].count : 0;
    vf_host_sort(coils, sorted);
    const double median = sorted[(coils - 1) / 2];
    for (int c = 0; c < coils; c++) {
        const double mean = s[c].count > 0 ? s[c].sum / (double)s[c].count : 0, n = (double)s[c].count / 2;
        const bool flat = fabs(half[c] - half[coils + c]) < (SLACK + DEVIATIONS * sqrt(2 / fmax(n, 1))) * mean;
        const bool noise = flat && channel_looks_like_noise(&s[c], DEVIATIONS);
        variance[c] = noise ? mean : fmin(mean, median);
        if (!(variance[c] > 0))
            return false;
        least = fmin(least, variance[c]);
        most = noise ? fmax(most, variance[c]) : most;
    }
    for (int c = 0; c < coils; c++)
        variance[c] /= median;
    return most > CLEARLY * least;
}

vf_status estimate_channel_noise(vf_context *ctx, mri_scan *raw)
{
    const size_t coils = (size_t)raw->coils;
    if (raw->noise || coils < 2)
        return VF_OK;
    channel_statistics *s = malloc(coils * sizeof *s);
    double *numbers = malloc(4 * coils * sizeof *numbers), *half = numbers, *variance = numbers + 2 * coils;
    vf_status status = VF_OK;
    if (!s || !numbers)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
    VF_TRY(status, channel_measure(ctx, raw, true, s, half));
    if (status == VF_OK && choose_variances(raw, s, half, variance, numbers + 3 * coils)) {
        double least = INFINITY, most = 0;
        raw->noise = calloc(coils * coils, sizeof *raw->noise);
        if (!raw->noise)
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the noise of %zu coils", coils);
        for (size_t c = 0; c < coils && raw->noise; c++) {
            raw->noise[c * coils + c] = variance[c];
            least = fmin(least, sqrt(variance[c]));
            most = fmax(most, sqrt(variance[c]));
        }
        raw->noise_estimated = status == VF_OK;
        if (status == VF_OK)
            vf_note(
                ctx,
                "note: the channels' noise differs, %.2g to %.2g times the median, and there is no noise scan: they "
                "are scaled to equal noise, as estimated from the outermost samples",
                least, most);
    }
    free(s);
    free(numbers);
    return status;
}
