/* Estimates the noise of the samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame_group.h"
#include "wiener.h"

/* The share of the samples that counts as outermost. In most scans they are mostly noise. */
static const double OUTER_SHARE = 0.15;
/* The most samples that the residual is computed for, which gives its variance to 2 % with one coil; the most frames
 * whose samples are examined. */
enum { MOST_SAMPLES = 1 << 14, MOST_FRAMES = 16 };
/* The estimate needs at least this share of the samples' degrees of freedom left over by the image. */
static const double LEAST_FREE = 0.2;

static vf_wiener_samples samples_of(const mri_scan *raw, const scan_frame *frame)
{
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    return (vf_wiener_samples){.count = at->samples,
                               .k = at->k,
                               .weights = at->weights,
                               .coils = raw->coils,
                               .stride = scan_stride(raw, frame),
                               .data = (const float *)scan_coil(raw, frame, 0)};
}

vf_status noise_of_outer(const recon_job *j, const scan_frame *frame, double *variance, double *error)
{
    const vf_wiener_space space = regularise_space(j->scan);
    const vf_wiener_samples samples = samples_of(j->scan, frame);
    double radius, used = 0;
    vf_status status = vf_outer_radius(j->ctx, &space, &samples, OUTER_SHARE, &radius);
    if (status == VF_OK)
        status = vf_outer_variance(j->ctx, &space, &samples, radius, variance);
    for (int64_t m = 0; m < samples.count; m++)
        used += !samples.weights || samples.weights[m] > 0;
    *error = 1 / log(2) / sqrt(fmax(1, fmin(OUTER_SHARE * used, MOST_SAMPLES) * samples.coils));
    return status;
}

double mean_of_samples(const recon_job *j, const scan_frame *frame)
{
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    double sum = 0, used = 0;
    for (int64_t m = 0; m < at->samples; m++)
        used += !at->weights || at->weights[m] > 0;
    for (int coil = 0; coil < j->scan->coils; coil++) {
        const float complex *d = scan_coil(j->scan, frame, coil);
        for (int64_t m = 0; m < at->samples; m++)
            sum += (at->weights ? at->weights[m] : 1) *
                   ((double)crealf(d[m]) * crealf(d[m]) + (double)cimagf(d[m]) * cimagf(d[m]));
    }
    return used > 0 ? sum / used / j->scan->coils : 0;
}

vf_status noise_from_samples(recon_job *j, int *frame)
{
    const mri_scan *raw = j->scan;
    const int step = raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    vf_status status = VF_OK;
    *frame = -1;
    j->misfit = 1;
    j->noise_known = raw->whitened;
    if (raw->whitened) {
        *frame = raw->frames / 2;
        j->variance = 1;
        snprintf(j->noise, sizeof j->noise, "after prewhitening with the noise scan");
        return VF_OK;
    }
    for (int f = 0; f < raw->frames && status == VF_OK; f += step) {
        double error, variance = 0;
        status = noise_of_outer(j, j->frames[f], &variance, &error);
        if (status == VF_OK && variance > 0 && (*frame < 0 || variance < j->variance)) {
            j->variance = variance;
            *frame = f;
        }
    }
    snprintf(j->noise, sizeof j->noise, "estimated from the outermost %.0f %% of samples, assuming no signal there",
             100 * OUTER_SHARE);
    return status;
}

/* A frame's samples beyond a radius, thinned out. */
typedef struct outer_samples {
    int64_t all, count; /* samples beyond the radius; those that were taken */
    double radius;
    int64_t *index; /* [count] */
    float *k, *time;
} outer_samples;

static vf_status take_outer(const recon_job *j, const scan_frame *frame, double share, outer_samples *o)
{
    const vf_wiener_space space = regularise_space(j->scan);
    const vf_wiener_samples samples = samples_of(j->scan, frame);
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    vf_status status = share < 1 ? vf_outer_radius(j->ctx, &space, &samples, share, &o->radius) : VF_OK;
    o->index = calloc((size_t)at->samples + 1, sizeof *o->index);
    o->k = calloc(3 * (size_t)MOST_SAMPLES, sizeof *o->k);
    o->time = calloc(MOST_SAMPLES, sizeof *o->time);
    if (status == VF_OK && !(o->index && o->k && o->time))
        status = vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the outermost samples");
    for (int64_t m = 0; status == VF_OK && m < at->samples; m++) {
        const double k[3] = {at->k[3 * m], at->k[3 * m + 1], at->k[3 * m + 2]};
        if ((!at->weights || at->weights[m] > 0) && vf_wiener_radius(&space, k) >= o->radius)
            o->index[o->all++] = m;
    }
    const int64_t step = o->all / MOST_SAMPLES + 1;
    for (int64_t i = 0; status == VF_OK && i < o->all; i += step) {
        const int64_t m = o->index[i];
        memcpy(o->k + 3 * o->count, at->k + 3 * m, 3 * sizeof *o->k);
        o->time[o->count] = at->time ? at->time[m] : 0;
        o->index[o->count++] = m;
    }
    return status;
}

static void free_outer(outer_samples *o)
{
    free(o->index);
    free(o->k);
    free(o->time);
}

/* What a coil sees: s x, added up over the sets; without maps, the coil's own image. */
static void see_through(const recon_job *j, const scan_frame *frame, int coil, const char *image, float complex *out)
{
    for (int s = 0; s < frame_sets(j, frame); s++) {
        const float complex *maps =
            j->has_maps ? j->place[frame->place].maps + (s * j->scan->coils + coil) * j->voxels : NULL;
        const int64_t first = (j->has_maps ? s : coil) * j->voxels;
        for (int64_t n = 0; n < j->voxels; n++) {
            const float complex x = j->type == VF_C128
                                        ? (float complex)((const double complex *)(const void *)image)[first + n]
                                        : ((const float complex *)(const void *)image)[first + n];
            const float complex y = maps ? maps[n] * x : x;
            out[n] = s > 0 ? out[n] + y : y;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* w |d - F s x|^2 of the taken samples: *median is the mean over coils of median / ln 2, *mean the mean over coils of
 * the mean. Samples that are exactly 0 were not acquired and do not count; without any others, *median is infinite. */
static vf_status residual_variance(const crew *c, const scan_frame *frame, const char *image, const outer_samples *o,
                                   double *median, double *mean)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const vf_encoding_options options = {.precision = VF_F32, .accuracy = 1e-5, .most_batch = 1};
    const scan_trajectory taken = {.samples = o->count, .k = o->k, .time = at->time ? o->time : NULL};
    vf_queue *queue = c->team.queue[0];
    vf_device *device = vf_queue_device(queue);
    vf_encoding *e = NULL;
    vf_array x = {0}, d = {0};
    double medians = 0, means = 0;
    int coils = 0;
    float complex *seen = malloc((size_t)j->voxels * sizeof *seen), *expected = calloc(MOST_SAMPLES, sizeof *expected);
    double *squares = malloc(MOST_SAMPLES * sizeof *squares);
    vf_status status =
        seen && expected && squares ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a coil's image");
    if (status == VF_OK)
        status = encoding_create(device, j->settings->input, raw, &taken, &options, &e);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_C64, j->voxels, &x);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_C64, o->count, &d);
    for (int coil = 0; coil < raw->coils && status == VF_OK; coil++) {
        see_through(j, frame, coil, image, seen);
        status = upload(queue, seen, j->voxels, &x);
        if (status == VF_OK)
            status = vf_encoding_forward(e, queue, 1, &x, &d);
        if (status == VF_OK)
            status = download(queue, &d, o->count, expected);
        int64_t kept = 0;
        for (int64_t i = 0; i < o->count && status == VF_OK; i++) {
            const int64_t m = o->index[i];
            const float complex phi = sample_phi(j->settings, raw, at, m), d_m = scan_coil(raw, frame, coil)[m];
            const double complex left = d_m - phi * expected[i];
            if (d_m == 0)
                continue;
            squares[kept++] =
                (at->weights ? at->weights[m] : 1) * (creal(left) * creal(left) + cimag(left) * cimag(left));
        }
        if (kept == 0)
            continue;
        qsort(squares, (size_t)kept, sizeof *squares, compare);
        medians += squares[kept / 2] / log(2);
        for (int64_t i = 0; i < kept; i++)
            means += squares[i] / (double)kept;
        coils++;
    }
    *median = coils > 0 ? medians / coils : INFINITY;
    *mean = coils > 0 ? means / coils : 0;
    vf_encoding_destroy(e);
    vf_array_free(&x);
    vf_array_free(&d);
    free(seen);
    free(expected);
    free(squares);
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
    outer_samples outer = {0}, all = {0};
    double power = 1, variance = 0, rest = 0, unused = 0;
    vf_forecast forecast = {0};
    vf_status status = take_outer(j, frame, OUTER_SHARE, &outer);
    if (status == VF_OK)
        status = take_outer(j, frame, 1, &all);
    if (status == VF_OK && !place_power(c, frame, &power))
        status = vf_fail(j->ctx, VF_ERR_INTERNAL, "the power of a frame that was made is not known");
    if (status == VF_OK)
        status = regularise_forecast(c, frame, power, outer.radius, &forecast);
    if (status == VF_OK && outer.count > 0)
        status = residual_variance(c, frame, image, &outer, &variance, &unused);
    if (status == VF_OK && all.count > 0)
        status = residual_variance(c, frame, image, &all, &unused, &rest);
    const double outer_free = outer.all > 0 ? share_free(j, forecast.outer, outer.all) : 0;
    const double all_free = all.all > 0 ? share_free(j, forecast.freedom, all.all) : 0;
    *told = status == VF_OK && outer_free > LEAST_FREE;
    if (*told && !j->noise_known && variance / outer_free < j->variance) {
        j->variance = variance / outer_free;
        snprintf(j->noise, sizeof j->noise,
                 "estimated from the residual of a first image in the outermost %.0f %% of samples", 100 * OUTER_SHARE);
    }
    if (status == VF_OK && all_free > LEAST_FREE && rest / all_free > j->variance)
        j->misfit = rest / all_free / j->variance;
    else if (status == VF_OK)
        j->misfit = 1;
    free_outer(&outer);
    free_outer(&all);
    return status;
}
