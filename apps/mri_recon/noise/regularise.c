/* The prior's weight: the user's number, or a weight from the frame's noise and spectrum (wiener.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coils/channel_noise.h"
#include "map_weights.h"
#include "noise_level.h"
#include "regularise.h"
#include "solve/prior_table.h"
#include "solve/recon_choices.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"
#include "wiener.h"

/* The preconditioner's smallest density, relative to the mean. Gaps between samples have density 0, but the coils see
 * something of their frequencies. */
static const double LEAST_DENSITY = 0.1;
/* The prior's least weight, relative to the diagonal of F^H W F: the rounding error of the matrix. */
static const double LEAST_WEIGHT = 1e-6;
/* Errors of coil maps, trajectory or field map are not noise, but are amplified like noise. They lie where the signal
 * is, in the middle of k-space. So the misfit counts by its cube root, up to this factor (docs/reconstruction.md). */
static const double MOST_FOR_MISFIT = 3;

vf_status regularise_density(crew *c, int trajectory)
{
    const recon_job *j = c->job;
    const vf_wiener_space space = wiener_space_of(j->scan);
    const scan_trajectory *at = &j->scan->trajectory[trajectory];
    if (c->density && c->density_of == trajectory)
        return VF_OK;
    const bool made = trajectory == 0 && j->scan->density && !at->phi && !j->solve->box_voxels; /* all phi are 1 */
    double *weights = malloc((size_t)at->samples * sizeof *weights + 1);
    if (!made && !c->density_room)
        c->density_room = malloc((size_t)j->voxels * sizeof *c->density_room);
    vf_large_pages(weights, (size_t)at->samples * sizeof *weights);
    vf_large_pages(c->density_room, (size_t)j->voxels * sizeof *c->density_room);
    c->density = made ? j->scan->density : c->density_room;
    vf_status status =
        weights && c->density ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the samples' density");
    const int64_t samples = status == VF_OK ? at->samples : 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 10 * samples))
    for (int64_t m = 0; m < samples; m++) {
        const float complex phi = sample_phi(j->solve, j->scan, at, m);
        weights[m] = (at->weights ? at->weights[m] : 1) * (double)crealf(phi * conjf(phi));
    }
    vf_reduced all = {0};
    VF_TRY(status, vf_host_reduce(j->ctx, VF_REDUCE_SUM, VF_F64, samples, weights, NULL, &all));
    c->mean_weight = samples > 0 ? all.re / (double)samples : 0;
    if (status == VF_OK && !made)
        status = vf_sampling_density(j->ctx, &space, at->samples, at->k, weights, c->density_room);
    c->density_of = trajectory;
    free(weights);
    return status;
}

double regularise_variance(const recon_job *j)
{
    return j->level.variance * fmin(cbrt(j->level.misfit), MOST_FOR_MISFIT);
}

/* Differences across known edges continue an image beyond the part of k-space that the trajectory reaches, where no data correct
 * it. The image has the resolution of a full scan of that extent, so there the spectrum's weight is large against theirs, whose
 * eigenvalues are 12 at most. */
static vf_status hold_unreached(const recon_job *j, int trajectory, double lambda, prior_model *f)
{
    static const double LARGE = 30;
    bool *reached = calloc((size_t)j->voxels, sizeof *reached);
    if (!reached)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    scan_mark_reached(j->ctx, j->scan, trajectory, reached);
    for (int64_t i = 0; i < j->voxels; i++)
        f->p[i] = reached[i] ? f->p[i] : fmax(f->p[i], LARGE * f->differences / lambda);
    free(reached);
    return VF_OK;
}

/* Adds the eigenvalues of differences to the spectrum's. Their weight is a factor on the best one of differences alone by the
 * forecast, and the preconditioner takes their mean. `room`: [voxels]. */
static vf_status add_differences(const crew *c, int trajectory, prior_model *f, double *room)
{
    static const solve_settings differences = {.prior = RECON_DIFFERENCES};
    const recon_job *j = c->job;
    const reference_strength *strength = &j->strength;
    const double lambda = c->factor * strength->spectrum;
    prior_model other = *f;
    if (!finds_reference_strength(j->solve) || !(strength->differences > 0))
        return VF_OK;
    other.p = room;
    quadratic_prior_of(&differences)->eigenvalues(j->ctx, &other);
    const double best = vf_wiener_best_weight(j->ctx, &f->space, f->variance, f->c, f->s, room, 1e-2 * f->mean);
    f->differences = c->factor * strength->differences * fmax(f->least, best);
    const vf_status status = hold_unreached(j, trajectory, lambda, f);
    for (int64_t i = 0; i < j->voxels; i++)
        room[i] = f->p[i] + f->differences * c->reference_mean / lambda * room[i];
    f->all = room;
    return status;
}

static vf_status make_model(crew *c, const scan_frame *frame, double power, prior_model *f)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const double ratio = frame_noise_ratio(j, frame);
    if (frame->replica) /* a replica is solved like the frame it was made from */
        frame = j->place[frame->place].first;
    const vf_wiener_samples samples = wiener_samples_of(raw, frame);
    vf_spectrum spectrum;
    f->space = wiener_space_of(raw);
    f->s = malloc(4 * (size_t)j->voxels * sizeof *f->s);
    vf_large_pages(f->s, 4 * (size_t)j->voxels * sizeof *f->s);
    if (!f->s)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the spectrum of %lld voxels", (long long)j->voxels);
    f->c = f->s + j->voxels;
    f->p = f->c + j->voxels;
    f->all = f->p;
    vf_status status = regularise_density(c, frame->trajectory);
    if (status == VF_OK && c->spectrum_of != frame) {
        status = vf_spectrum_add_up(j->ctx, &f->space, &samples, &c->spectrum);
        c->spectrum_of = status == VF_OK ? frame : NULL;
    }
    if (status != VF_OK)
        return status;
    /* Without maps, all coils share a mean spectrum. */
    vf_spectrum_of_sums(&f->space, &c->spectrum, j->level.variance * ratio, j->has_maps ? power : raw->coils,
                        &spectrum);
    vf_spectrum_fill(j->ctx, &f->space, &spectrum, f->s);
    f->mean = c->diagonal * power;
    f->least = LEAST_WEIGHT * f->mean;
    f->variance = regularise_variance(j) * ratio;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
    for (int64_t i = 0; i < j->voxels; i++) {
        f->s[i] /= c->filled; /* the variance in the object, not the mean over the field of view */
        f->c[i] = c->density[i] * power;
    }
    quadratic_prior_of(j->solve)->eigenvalues(j->ctx, f);
    return add_differences(c, frame->trajectory, f, f->p + j->voxels);
}

static void inverse_of_envelope(const void *envelope, int64_t first, int64_t count, double *out)
{
    const float *values = ((const frame_envelope *)envelope)->values + first;
    for (int64_t n = 0; n < count; n++)
        out[n] = 1 / (double)values[n];
}

static void values_of_envelope(const void *envelope, int64_t first, int64_t count, double *out)
{
    const float *values = ((const frame_envelope *)envelope)->values + first;
    for (int64_t n = 0; n < count; n++)
        out[n] = (double)values[n];
}

/* Sets the spectrum's weights. They apply to the image divided by its envelope, whose mean square is 1 over the whole
 * field of view. */
static vf_status set_spectrum(const crew *c, const frame_envelope *envelope, prior_model *f, device_solver *s)
{
    const recon_job *j = c->job;
    vf_queue *queue = s->queue;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
    for (int64_t n = 0; n < j->voxels; n++) /* f->s serves as scratch from here on */
        f->s[n] = f->p[n] / envelope->filled;
    vf_status status = vf_circulant_set(s->known.circulant, queue, VF_PRIOR_WEIGHTS, f->s);
    VF_TRY(status, put_made(j, j->voxels, inverse_of_envelope, envelope, queue, &s->known.flatten));
    if (status != VF_OK || j->has_maps) /* with maps, put_support has put the envelope */
        return status;
    return put_made(j, j->voxels, values_of_envelope, envelope, queue, &s->known.envelope);
}

/* The approximate inverse is the sum of two terms, one for the data and one for the prior: c / a^2 and lambda p / a^2,
 * with a = c + lambda p. If the phase is known (`imaginary` > 0), the image's real part r and imaginary part i s have
 * different weights, and data on one side of k-space couple them. With c for the density at k, and c' at -k:
 *
 *     A = 1/2 [c + c'  c - c'] + lambda p [1      0      ]     of (r(k), i s(k)),
 *             [c - c'  c + c']            [0  1/imaginary]
 *
 * The terms are A^-1 C A^-1 and A^-1 P A^-1. The two columns of each term make its two matrices. */
static double inverse_of_pair(const prior_model *f, double lambda, double imaginary, int which, int64_t i,
                              int64_t opposite)
{
    const bool data = which == VF_PRIOR_INVERSE_DATA || which == VF_PRIOR_INVERSE_DATA_IMAGINARY;
    const int column = which >= VF_PRIOR_INVERSE_DATA_IMAGINARY;
    const double mean = fmax((f->c[i] + f->c[opposite]) / 2, LEAST_DENSITY * f->mean), p = lambda * f->all[i];
    const double apart = (f->c[i] - f->c[opposite]) / 2, q = p / imaginary;
    const double scale = (mean + p) * (mean + q) - apart * apart;
    const double w[2][2] = {{(mean + q) / scale, -apart / scale}, {-apart / scale, (mean + p) / scale}};
    const double m[2][2] = {{data ? mean : p, data ? apart : 0}, {data ? apart : 0, data ? mean : q}};
    double sum = 0;
    for (int row = 0; row < 2; row++)
        for (int k = 0; k < 2; k++)
            for (int l = 0; l < 2; l++)
                sum += w[row][k] * m[k][l] * w[l][column];
    return sum;
}

static double inverse_of(const prior_model *f, double lambda, int which, int64_t i)
{
    const double seen = fmax(f->c[i], LEAST_DENSITY * f->mean), known = lambda * f->all[i];
    return (which == VF_PRIOR_INVERSE_DATA ? seen : known) / pow(seen + known, 2);
}

/* The place of -k, where i is that of k. */
static int64_t opposite_of(const int64_t n[3], int64_t i)
{
    const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    int64_t opposite = 0;
    for (int a = 2; a >= 0; a--)
        opposite = opposite * n[a] + (2 * (n[a] / 2) - at[a]) % n[a];
    return opposite;
}

/* Overwrites f->s. */
static vf_status set_inverse(const crew *c, prior_model *f, double lambda, double imaginary, device_solver *s)
{
    const recon_job *j = c->job;
    const double filled = quadratic_prior_of(j->solve)->of_spectrum ? c->filled : 1; /* 1 / envelope^2 in the object */
    const int end = imaginary > 0 ? VF_PRIOR_MATRICES : VF_PRIOR_INVERSE_DATA_IMAGINARY;
    vf_status status = VF_OK;
    for (int which = VF_PRIOR_INVERSE_DATA; which < end && status == VF_OK; which++) {
        const bool data = which == VF_PRIOR_INVERSE_DATA || which == VF_PRIOR_INVERSE_DATA_IMAGINARY;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 20 * j->voxels))
        for (int64_t i = 0; i < j->voxels; i++) {
            f->s[i] = (data ? 1 : filled) *
                      (imaginary > 0 ? inverse_of_pair(f, lambda, imaginary, which, i, opposite_of(j->scan->matrix, i))
                                     : inverse_of(f, lambda, which, i));
        }
        status = vf_circulant_set(s->known.circulant, s->queue, which, f->s);
    }
    return status;
}

static vf_status set_solver(crew *c, device_solver *s, const frame_envelope *envelope, prior_model *f,
                            const frame_place *place, double power, double lambda)
{
    const recon_job *j = c->job;
    vf_status status = VF_OK;
    s->known.lambda = lambda;
    s->known.differences = f->differences;
    s->known.preconditioned = true;
    s->known.imaginary = 0;
    if (!s->known.flat.data)
        status = vf_array_create(vf_queue_device(s->queue), VF_SPACE_DEVICE, j->type, j->voxels, &s->known.flat);
    if (status == VF_OK && place)
        status = put_support(c, envelope, place, power, s);
    if (status == VF_OK && quadratic_prior_of(j->solve)->of_spectrum)
        status = set_spectrum(c, envelope, f, s);
    return status == VF_OK ? set_inverse(c, f, lambda, 0, s) : status;
}

static vf_status weigh_by_noise(crew *c, const scan_frame *frame, double power, const frame_envelope *envelope)
{
    const recon_job *j = c->job;
    const solve_settings *settings = j->solve;
    recon_summary *summary = &c->summary;
    prior_model f = {0};
    vf_forecast forecast;
    c->filled = envelope->filled;
    vf_status status = make_model(c, frame, power, &f);
    if (status == VF_OK) {
        double lambda = c->request->lambda;
        if (finds_reference_strength(settings))
            lambda *= j->strength.spectrum;
        else if (settings->lambda_auto && !quadratic_prior_of(settings)->of_spectrum)
            lambda *= fmax(f.least, vf_wiener_best_weight(j->ctx, &f.space, f.variance, f.c, f.s, f.p, 1e-2 * f.mean));
        vf_wiener_forecast(j->ctx, &f.space, f.variance, f.c, f.s, f.all, lambda, INFINITY, &forecast);
        summary->last.lambda = lambda;
        summary->last.expected_signal = forecast.signal;
        summary->last.expected_noise = forecast.noise;
        summary->last.expected_bias = forecast.bias;
    }
    for (int d = 0; d < c->solvers && status == VF_OK; d++)
        status = set_solver(c, &c->solver[d], envelope, &f, j->has_maps ? &j->place[frame->place] : NULL, power,
                            summary->last.lambda);
    free(f.s);
    return status;
}

vf_status regularise_frames(crew *c, const frame_group *g, double power, const frame_envelope *envelope)
{
    const recon_job *j = c->job;
    recon_summary *summary = &c->summary;
    device_solver *first = c->solver;
    summary->last.diagonal = c->diagonal * power;
    if (c->request->series)
        return j->has_maps ? regularise_balance(c, g, power, first->queue, &first->known.balance) : VF_OK;
    c->factor = c->request->lambda;
    const vf_status status = give_reference(c, j->frames[g->first]);
    if (status != VF_OK)
        return status;
    if (regularise_by_noise(j->solve))
        return weigh_by_noise(c, j->frames[g->first], power, envelope);
    summary->last.lambda = c->request->lambda * summary->last.diagonal;
    for (int d = 0; d < c->solvers; d++)
        c->solver[d].known.lambda = summary->last.lambda;
    return VF_OK;
}

vf_status regularise_filtered_noise(crew *c, const scan_frame *frame, double power, const double *filter, double *noise)
{
    const double lambda = c->summary.last.lambda, voxels = (double)c->job->voxels;
    prior_model f = {0};
    vf_status status = make_model(c, frame, power, &f);
    *noise = 0;
    for (int64_t i = 0; status == VF_OK && i < c->job->voxels; i++)
        *noise += f.variance * f.c[i] * pow(filter[i] / (f.c[i] + lambda * f.all[i]), 2) / voxels;
    free(f.s);
    return status;
}

vf_status regularise_parts(crew *c, const scan_frame *frame, double power, double imaginary)
{
    prior_model f = {0};
    vf_status status = make_model(c, frame, power, &f);
    VF_TRY(status, set_inverse(c, &f, c->summary.last.lambda, imaginary, c->solver));
    free(f.s);
    return status;
}

vf_status regularise_forecast(crew *c, const scan_frame *frame, double power, double radius, vf_forecast *forecast)
{
    prior_model f = {0};
    vf_status status = make_model(c, frame, power, &f);
    if (status == VF_OK)
        vf_wiener_forecast(c->job->ctx, &f.space, f.variance, f.c, f.s, f.all, c->summary.last.lambda, radius,
                           forecast);
    free(f.s);
    return status;
}
