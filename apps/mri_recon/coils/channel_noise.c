#include "channel_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frames/frame_group.h"
#include "wiener.h"

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

/* Adds the samples of a frame at radii of at least `radius`; their mean goes to half[1] beyond `outermost`, else to
 * half[0]. */
typedef struct ring {
    vf_wiener_space space;
    double radius, outermost;
} ring;

static void add_frame(const mri_scan *raw, const scan_frame *frame, int coil, const ring *r, channel_statistics *out,
                      double half[2][2])
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const float complex *d = frame->data + coil * at->samples;
    double complex before[2] = {0, 0};
    for (int64_t m = 0; m < at->samples; m++) {
        const double weight = at->weights ? (double)at->weights[m] : 1;
        const double k[3] = {at->k[3 * m], at->k[3 * m + 1], at->k[3 * m + 2]};
        const double radius = r ? vf_wiener_radius(&r->space, k) : 0;
        const double complex v = d[m] == 0 || (r && radius < r->radius) ? 0 : sqrt(weight) * (double complex)d[m];
        const double x = creal(v) * creal(v) + cimag(v) * cimag(v);
        if (x > 0) {
            out->count++;
            out->sum += x;
            out->squares += x * x;
            out->largest = fmax(out->largest, x);
            for (int lag = 0; lag < 2; lag++)
                out->lag[lag] += v * conj(before[lag]);
        }
        if (x > 0 && r) {
            half[radius >= r->outermost][0] += x;
            half[radius >= r->outermost][1]++;
        }
        before[1] = before[0];
        before[0] = v;
    }
}

static vf_status find_ring(vf_context *ctx, const mri_scan *raw, const scan_frame *frame, ring *out)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const vf_wiener_samples samples = {.count = at->samples, .k = at->k, .weights = at->weights, .coils = 0};
    out->space = regularise_space(raw);
    vf_status status = vf_outer_radius(ctx, &out->space, &samples, OUTER_SHARE, &out->radius);
    return status == VF_OK ? vf_outer_radius(ctx, &out->space, &samples, OUTERMOST_HALF, &out->outermost) : status;
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
        ring r;
        if (!frame->data)
            continue;
        if (outer)
            status = find_ring(ctx, raw, frame, &r);
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_context_threads(ctx))
        for (int c = 0; c < raw->coils; c++)
            add_frame(raw, frame, c, outer ? &r : NULL, &out[c], halves[c]);
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
        if (!(cabs(s->lag[lag]) / s->sum < SLACK + deviations / sqrt(n)))
            return false;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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
    qsort(sorted, (size_t)coils, sizeof *sorted, ascending);
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
    if (status == VF_OK)
        status = channel_measure(ctx, raw, true, s, half);
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
