/* Estimates the noise of the samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coils/channel_noise.h"
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "noise_level.h"
#include "regularise.h"
#include "solve/transfer.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"
#include "wiener.h"

/* The share of the samples that counts as outermost. In most scans they are mostly noise. */
static const double OUTER_SHARE = 0.15;
/* The most samples that the residual is computed for, which gives its variance to 2 % with one coil; the most frames
 * whose samples are examined. */
enum { MOST_SAMPLES = 1 << 14, MOST_FRAMES = 16 };
/* The estimate needs at least this share of the samples' degrees of freedom left over by the image. */
static const double LEAST_FREE = 0.2;

int64_t used_samples(const recon_job *j, const scan_frame *frame)
{
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    int64_t used = at->weights ? 0 : at->samples;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, at->samples)) reduction(+ : used)
    for (int64_t m = 0; m < (at->weights ? at->samples : 0); m++)
        used += at->weights[m] > 0;
    return used;
}

vf_status noise_of_outer(const recon_job *j, const scan_frame *frame, double *variance, double *error)
{
    const vf_wiener_space space = wiener_space_of(j->scan);
    const vf_wiener_samples samples = wiener_samples_of(j->scan, frame);
    const double radius = vf_outer_radius(j->ctx, &space, &samples, OUTER_SHARE);
    const vf_status status = vf_outer_variance(j->ctx, &space, &samples, radius, variance);
    const double used = OUTER_SHARE * (double)used_samples(j, frame);
    *error = 1 / log(2) / sqrt(fmax(1, fmin(used, MOST_SAMPLES) * samples.coils));
    return status;
}

/* Sums over chunks are added in order, so the bits do not depend on the number of threads. */
double mean_of_samples(const recon_job *j, const scan_frame *frame)
{
    enum { CHUNK = 1 << 16, MOST_CHUNKS = 1 << 10 };
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    const int64_t chunks = at->samples / CHUNK < MOST_CHUNKS ? at->samples / CHUNK + 1 : MOST_CHUNKS;
    double sum = 0, used = 0, part[MOST_CHUNKS] = {0}, part_used[MOST_CHUNKS] = {0};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * at->samples * j->scan->coils))
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t first = at->samples * i / chunks, end = at->samples * (i + 1) / chunks;
        for (int64_t m = first; m < end; m++)
            part_used[i] += !at->weights || at->weights[m] > 0;
        for (int coil = 0; coil < j->scan->coils; coil++) {
            const float complex *d = scan_coil(j->scan, frame, coil);
            for (int64_t m = first; m < end; m++)
                part[i] += (at->weights ? at->weights[m] : 1) *
                           ((double)crealf(d[m]) * crealf(d[m]) + (double)cimagf(d[m]) * cimagf(d[m]));
        }
    }
    for (int64_t i = 0; i < chunks; i++) {
        sum += part[i];
        used += part_used[i];
    }
    return used > 0 ? sum / used / j->scan->coils : 0;
}

vf_status noise_from_samples(recon_job *j, int *frame)
{
    const mri_scan *raw = j->scan;
    const int step = raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    vf_status status = VF_OK;
    *frame = -1;
    j->level.misfit = 1;
    j->level.known = raw->whitened && !raw->noise_estimated;
    if (j->level.known) {
        *frame = raw->frames / 2;
        j->level.variance = 1;
        snprintf(j->level.source, sizeof j->level.source, "after prewhitening with the noise scan");
        return VF_OK;
    }
    for (int f = 0; f < raw->frames && status == VF_OK; f += step) {
        double error, variance = 0;
        status = noise_of_outer(j, j->frames[f], &variance, &error);
        if (status == VF_OK && variance > 0 && (*frame < 0 || variance < j->level.variance)) {
            j->level.variance = variance;
            *frame = f;
        }
    }
    snprintf(j->level.source, sizeof j->level.source,
             "estimated from the outermost %.0f %% of samples, assuming no signal there", 100 * OUTER_SHARE);
    return status;
}

double frame_noise_ratio(const recon_job *j, const scan_frame *frame)
{
    return j->level.ratio && !frame->replica ? j->level.ratio[frame - j->scan->frame] : 1;
}

double frame_weight(const crew *c, const scan_frame *frame)
{
    return c->request->series ? 1 / frame_noise_ratio(c->job, frame) : 1;
}

/* Samples that the residual is computed for: the outermost ones, and then ones of all of k-space, both thinned out. */
typedef struct taken_samples {
    int64_t count, outer; /* all that were taken; those of them that are outermost, which come first */
    int64_t index[2 * MOST_SAMPLES];
    float k[6 * MOST_SAMPLES], time[2 * MOST_SAMPLES];
} taken_samples;

/* Takes samples beyond `radius`; *all is how many there are. */
static vf_status take_samples(const recon_job *j, const scan_frame *frame, double radius, taken_samples *o,
                              int64_t *all)
{
    const vf_wiener_space space = wiener_space_of(j->scan);
    const vf_wiener_samples samples = wiener_samples_of(j->scan, frame);
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    int64_t *beyond = NULL, count = 0;
    vf_status status = vf_outer_samples(j->ctx, &space, &samples, radius, MOST_SAMPLES, &beyond, &count, all);
    for (int64_t i = 0; i < count && status == VF_OK; i++) {
        const int64_t m = beyond[i];
        memcpy(o->k + 3 * o->count, at->k + 3 * m, 3 * sizeof *o->k);
        o->time[o->count] = at->time ? at->time[m] : 0;
        o->index[o->count++] = m;
    }
    free(beyond);
    return status;
}

/* What a coil sees: s x, added up over the sets; without maps, the coil's own image. */
static void see_through(const recon_job *j, const scan_frame *frame, int coil, const char *image, float complex *out)
{
    float *to = (float *)out;
    for (int s = 0; s < frame_sets(j, frame); s++) {
        const float complex *maps =
            j->has_maps ? j->place[frame->place].maps + (s * j->scan->coils + coil) * j->voxels : NULL;
        const int64_t first = (j->has_maps ? s : coil) * j->voxels;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
        for (int64_t n = 0; n < j->voxels; n++) {
            const float complex x = (float complex)image_value(j, image, first + n);
            const float complex m = maps ? maps[n] : 1; /* a plain product: all values are finite */
            const float re = crealf(m) * crealf(x) - cimagf(m) * cimagf(x);
            const float im = crealf(m) * cimagf(x) + cimagf(m) * crealf(x);
            to[2 * n] = s > 0 ? to[2 * n] + re : re;
            to[2 * n + 1] = s > 0 ? to[2 * n + 1] + im : im;
        }
    }
}

/* w |d - F s x|^2 of a coil's samples, -1 for those that were not acquired, and w |d|^2. */
static void squares_of_coil(const recon_job *j, const scan_frame *frame, int coil, const taken_samples *o,
                            const float complex *expected, double *left, double *energy)
{
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    const float complex *data = scan_coil(j->scan, frame, coil);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 50 * o->count))
    for (int64_t i = 0; i < o->count; i++) {
        const int64_t m = o->index[i];
        const float complex phi = sample_phi(j->solve, j->scan, at, m), d = data[m];
        const double complex rest = d - phi * expected[i];
        const double w = at->weights ? at->weights[m] : 1;
        left[i] = d != 0 ? w * (creal(rest) * creal(rest) + cimag(rest) * cimag(rest)) : -1;
        energy[i] = w * (crealf(d) * (double)crealf(d) + cimagf(d) * (double)cimagf(d));
    }
}

/* w |d - F s x|^2: *median of the outermost samples, the mean over coils of median / ln 2; *mean of the others, the mean
 * over coils of the mean. Samples that are exactly 0 were not acquired and do not count; without any others, *median is
 * infinite, and *mean is 0. *unexplained: the sum of the others over that of w |d|^2, all coils. */
static vf_status residual_variance(const crew *c, const scan_frame *frame, const char *image, const taken_samples *o,
                                   double *median, double *mean, double *unexplained)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const vf_encoding_options options = {.precision = VF_F32, .accuracy = 1e-5, .most_batch = 1};
    const scan_trajectory taken = {.samples = o->count, .k = (float *)o->k, .time = at->time ? (float *)o->time : NULL};
    vf_queue *queue = c->team.queue[0];
    vf_device *device = vf_queue_device(queue);
    vf_encoding *e = NULL;
    vf_array x = {0}, d = {0};
    double medians = 0, means = 0, left_over = 0, energy = 0;
    int median_coils = 0, mean_coils = 0;
    float complex *seen = malloc((size_t)j->voxels * sizeof *seen),
                  *expected = calloc((size_t)o->count, sizeof *expected);
    double *left = malloc(2 * (size_t)o->count * sizeof *left + 1); /* and energies */
    vf_large_pages(seen, (size_t)j->voxels * sizeof *seen);
    vf_status status =
        seen && expected && left ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a coil's image");
    VF_TRY(status, encoding_create(device, raw, &taken, &options, &e));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, j->voxels, &x));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, o->count, &d));
    for (int coil = 0; coil < raw->coils && status == VF_OK; coil++) {
        see_through(j, frame, coil, image, seen);
        status = upload(queue, seen, j->voxels, &x);
        VF_TRY(status, vf_encoding_forward(e, queue, 1, &x, &d));
        VF_TRY(status, download(queue, &d, o->count, expected));
        int64_t kept = 0, others = 0;
        double sum = 0;
        if (status == VF_OK)
            squares_of_coil(j, frame, coil, o, expected, left, left + o->count);
        for (int64_t i = 0; i < o->count && status == VF_OK; i++) { /* in order: the bits do not depend on threads */
            if (left[i] < 0)
                continue;
            if (i < o->outer) {
                left[kept++] = left[i];
            } else {
                sum += left[i];
                energy += left[o->count + i];
                others++;
            }
        }
        medians += kept > 0 ? vf_host_select(kept, left, kept / 2) / log(2) : 0;
        median_coils += kept > 0;
        means += others > 0 ? sum / (double)others : 0;
        mean_coils += others > 0;
        left_over += sum;
    }
    *unexplained = energy > 0 ? left_over / energy : 0;
    *median = median_coils > 0 ? medians / median_coils : INFINITY;
    *mean = mean_coils > 0 ? means / mean_coils : 0;
    vf_encoding_destroy(e);
    vf_array_free(&x);
    vf_array_free(&d);
    free(seen);
    free(expected);
    free(left);
    return status;
}

/* The share of the samples' degrees of freedom that the image left over. */
static double share_free(const recon_job *j, double taken, int64_t samples)
{
    return 1 - taken * (j->has_maps ? 1.0 / j->scan->coils : 1) / (double)samples;
}

vf_status noise_from_residual(crew *c, int number, const char *image, bool *told)
{
    recon_job *j = c->job;
    const scan_frame *frame = j->frames[number];
    const vf_wiener_space space = wiener_space_of(j->scan);
    const vf_wiener_samples samples = wiener_samples_of(j->scan, frame);
    const double radius = vf_outer_radius(j->ctx, &space, &samples, OUTER_SHARE);
    double power = 1, variance = 0, rest = 0;
    int64_t outer = 0, all = 0;
    vf_forecast forecast = {0};
    taken_samples *taken = calloc(1, sizeof *taken);
    vf_status status = taken ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the outermost samples");
    VF_TRY(status, take_samples(j, frame, radius, taken, &outer));
    if (status == VF_OK) {
        taken->outer = taken->count;
        status = take_samples(j, frame, 0, taken, &all);
    }
    if (status == VF_OK && !place_power(c, frame, &power))
        status = vf_fail(j->ctx, VF_ERR_INTERNAL, "the power of a frame that was made is not known");
    VF_TRY(status, regularise_forecast(c, frame, power, radius, &forecast));
    if (status == VF_OK && taken->count > 0)
        status = residual_variance(c, frame, image, taken, &variance, &rest, &j->level.unexplained);
    const double outer_free = outer > 0 ? share_free(j, forecast.outer, outer) : 0;
    const double all_free = all > 0 ? share_free(j, forecast.freedom, all) : 0;
    *told = status == VF_OK && outer_free > LEAST_FREE;
    if (*told && !j->level.known && variance / outer_free < j->level.variance) {
        j->level.variance = variance / outer_free;
        snprintf(j->level.source, sizeof j->level.source,
                 "estimated from the residual of a first image in the outermost %.0f %% of samples", 100 * OUTER_SHARE);
    }
    if (status == VF_OK && all_free > LEAST_FREE && rest / all_free > j->level.variance)
        j->level.misfit = rest / all_free / j->level.variance;
    else if (status == VF_OK)
        j->level.misfit = 1;
    free(taken);
    return status;
}
