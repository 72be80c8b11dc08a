#include "channel_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

/* The share of samples, by radius, that counts as outermost, and the most frames that are looked at there. */
static const double OUTER_SHARE = 0.15, OUTERMOST_HALF = 0.075;
enum { MOST_FRAMES = 16, LEAST_SAMPLES = 256 };
/* Real receivers have filters and drift: neighbours may be correlated by this much, and the ratio of moments may be off
 * by as much. */
static const double SLACK = 0.1;
/* Variances that differ by less are left as they are: a factor of 3 in the deviation. Weights that ignore such a
 * difference cost at most a third of the signal-to-noise ratio of two coils. */
static const double CLEARLY = 9;
static const double DEVIATIONS = 3;

/* Where a sample counts. */
enum { INSIDE, OUTER, OUTERMOST };

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

/* Adds the samples of a frame; with `ring` [sample] (may be NULL) those that are not INSIDE, and their sums and numbers
 * to `half`. */
static void add_frame(const mri_scan *raw, const scan_frame *frame, int coil, const unsigned char *ring,
                      channel_statistics *out, double half[2][2])
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const float *d = (const float *)(frame->data + coil * at->samples);
    double before[4] = {0, 0, 0, 0}; /* the sample before, and the one before that */
    for (int64_t m = 0; m < at->samples; m++) {
        const double root = ring && ring[m] == INSIDE ? 0 : at->weights ? sqrt((double)at->weights[m]) : 1;
        const double re = root * (double)d[2 * m], im = root * (double)d[2 * m + 1], x = re * re + im * im;
        if (x > 0) {
            out->count++;
            out->sum += x;
            out->squares += x * x;
            out->largest = x > out->largest ? x : out->largest;
            for (int lag = 0; lag < 2; lag++) { /* times the conjugate */
                const double a = before[2 * lag], b = before[2 * lag + 1];
                out->lag[lag][0] += re * a + im * b;
                out->lag[lag][1] += im * a - re * b;
            }
            if (ring) {
                half[ring[m] == OUTERMOST][0] += x;
                half[ring[m] == OUTERMOST][1]++;
            }
        }
        memcpy(before + 2, before, 2 * sizeof *before);
        before[0] = re;
        before[1] = im;
    }
}

/* Marks the outermost samples of a trajectory, ring [sample], which the caller frees. */
static vf_status find_ring(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at, unsigned char **ring)
{
    const vf_wiener_samples samples = {.count = at->samples, .k = at->k, .weights = at->weights, .coils = 0};
    const vf_wiener_space space = wiener_space_of(raw);
    double outer = 0, outermost = 0;
    *ring = malloc((size_t)at->samples + 1);
    if (!*ring)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
    vf_status status = vf_outer_radius(ctx, &space, &samples, OUTER_SHARE, &outer);
    VF_TRY(status, vf_outer_radius(ctx, &space, &samples, OUTERMOST_HALF, &outermost));
    for (int64_t m = 0; m < at->samples && status == VF_OK; m++) {
        const double k[3] = {at->k[3 * m], at->k[3 * m + 1], at->k[3 * m + 2]};
        const double radius = vf_wiener_radius(&space, k);
        (*ring)[m] = radius < outer ? INSIDE : radius < outermost ? OUTER : OUTERMOST;
    }
    return status;
}

vf_status channel_measure(vf_context *ctx, const mri_scan *raw, bool outer, channel_statistics *out, double *half)
{
    const int frames = raw->frames + raw->calibrations;
    const int step = outer && raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    double(*halves)[2][2] = calloc((size_t)raw->coils, sizeof *halves);
    vf_status status = halves ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to look at the channels");
    memset(out, 0, (size_t)raw->coils * sizeof *out);
    for (int f = 0; f < (outer ? raw->frames : frames) && status == VF_OK; f += step) {
        const scan_frame *frame = &raw->frame[f];
        unsigned char *ring = NULL;
        if (!frame->data)
            continue;
        if (outer)
            status = find_ring(ctx, raw, &raw->trajectory[frame->trajectory], &ring);
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, 2 * raw->coils * scan_stride(raw, frame)))
        for (int c = 0; c < raw->coils; c++)
            if (ring || !outer)
                add_frame(raw, frame, c, ring, &out[c], halves[c]);
        free(ring);
    }
    for (int c = 0; c < raw->coils && half && status == VF_OK; c++)
        for (int h = 0; h < 2; h++)
            half[h * raw->coils + c] = halves[c][h][1] > 0 ? halves[c][h][0] / halves[c][h][1] : 0;
    free(halves);
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
