/* Sparse priors: their weights from the noise, and the preconditioner.
 *
 * The unit of lambda is the standard deviation that noise alone has in a wavelet coefficient of F^H W n of the finest
 * band. There F^H W F is close to a circulant matrix with the eigenvalues c(k), so
 *
 *     unit^2 = sigma^2 mean_k c(k) prod_a (1 - cos(2 pi k_a / N_a))
 *
 * with the frequency response of Haar's detail filter along each axis. Thresholds of about one unit give small mean
 * square errors. Universal thresholds (Donoho and Johnstone, Biometrika 81 (1994) 425) are larger: they make noise
 * invisible. validation/tables/sparse_study.py measures the factors of prior_table.c, series_study.py
 * those of series. They do not cover tgv, which has tv's factor, nor nuclear, which has llr's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise_level.h"
#include "regularise.h"
#include "solve/prior_table.h"
#include "sparse.h"
#include "voxfield/team_size.h"

/* What the wavelets' factor is multiplied by beside differences between frames, which have taken most of the noise. The
 * best value falls with the number of frames, from 0.4 for 4 to 0.1 for 48 of a still head, and grows with the noise. */
static const double BESIDE_TEMPORAL = 0.22;
/* What lambda and rho of prior_table.c are for: the expected error relative to the signal, and the bounds of the scans that they
 * were measured with. A Laplace distribution of the coefficients with standard deviation s has its most probable image at lambda =
 * sqrt(2) sigma^2 / s, which is proportional to sigma / s in units of sigma: the power 1. The measured ones are near. */
static const double USUAL_ERROR = 0.12;
static const double LEAST_ERROR = 0.05, MOST_ERROR = 0.27;
/* The bounds of what rho is multiplied by for other errors. */
static const double LEAST_RHO = 0.2, MOST_RHO = 1;
/* What the solver leaves must be small beside the noise: the noise, relative to the signal, for which the usual tolerance
 * is small enough; the power of it that the tolerance falls with; and the tolerance's least share. */
static const double USUAL_NOISE = 0.08, TOLERANCE_POWER = 3, LEAST_TOLERANCE = 0.1;
/* The smallest eigenvalue of the preconditioner's F^H W F, relative to the mean. */
static const double LEAST_DENSITY = 1e-3;

vf_status sparse_create(const recon_job *j, vf_device *device, int images, vf_penalties **out)
{
    const solve_settings *settings = j->solve;
    const int64_t *n = j->scan->matrix;
    vf_penalties_options options = {.priors = settings->sparse,
                                    .counts = {n[0], n[1], n[2], images},
                                    .precision = settings->precision,
                                    .seed = (uint64_t)settings->seed,
                                    .moments = settings->moments,
                                    .shifts = settings->shifts};
    for (int i = 0; i < settings->sparse; i++)
        options.kind[i] = settings->sparse_prior[i];
    return vf_penalties_create(device, &options, out);
}

static vf_status make(const crew *c, device_solver *s)
{
    const recon_job *j = c->job;
    vf_device *device = vf_queue_device(s->queue);
    vf_penalties_free(s->penalties); /* the number of sets may have changed */
    s->penalties = NULL;
    vf_status status = sparse_create(j, device, c->sets, &s->penalties);
    if (status == VF_OK && !s->inverse)
        status = vf_circulant_create(device, j->scan->matrix, j->solve->precision, 1 + vf_penalties_extra(s->penalties),
                                     &s->inverse);
    return status;
}

/* |the frequency response|^2 of Haar's detail filter, times 2. */
static double response(int64_t at, int64_t n)
{
    return n > 1 ? 1 - cos(2 * M_PI * (double)(at - n / 2) / (double)n) : 1;
}

double sparse_unit(const crew *c, double power, double *mean)
{
    enum { BLOCKS = 128 }; /* of rows, added in order: the bits do not depend on the number of threads */
    const recon_job *j = c->job;
    const int64_t *n = j->scan->matrix, rows = n[1] * n[2];
    double sums[BLOCKS][2] = {{0}}, sum = 0, high = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 10 * j->voxels))
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t row = rows * b / BLOCKS; row < rows * (b + 1) / BLOCKS; row++) {
            const double *density = c->density + row * n[0];
            const double across = response(row % n[1], n[1]) * response(row / n[1], n[2]);
            for (int64_t x = 0; x < n[0]; x++) {
                sums[b][0] += density[x] * power;
                sums[b][1] += density[x] * power * across * response(x, n[0]);
            }
        }
    for (int b = 0; b < BLOCKS; b++) {
        sum += sums[b][0];
        high += sums[b][1];
    }
    *mean = sum / (double)j->voxels;
    return sqrt(regularise_variance(j) * high / (double)j->voxels);
}

double sparse_error(const recon_summary *summary)
{
    const double error = hypot(summary->expected_noise, summary->expected_bias);
    return summary->expected_signal > 0 ? error / summary->expected_signal : USUAL_ERROR;
}

double sparse_tolerance(const recon_job *j, const recon_summary *summary)
{
    const double noise = summary->expected_noise / summary->expected_signal;
    const double share = summary->expected_signal > 0 ? pow(noise / USUAL_NOISE, TOLERANCE_POWER) : 1;
    return j->solve->tolerance * (j->solve->tolerance_auto ? fmin(fmax(share, LEAST_TOLERANCE), 1) : 1);
}

void sparse_weigh(crew *c, vf_penalties *penalties, double mean, double unit, double error)
{
    const solve_settings *settings = c->job->solve;
    bool temporal = false;
    for (int i = 0; i < settings->sparse; i++)
        temporal |= settings->sparse_prior[i] == VF_PENALTY_TEMPORAL;
    for (int i = 0; i < settings->sparse; i++) {
        const sparse_prior *prior = sparse_prior_of(settings, i);
        const double beside = temporal && settings->sparse_prior[i] == VF_PENALTY_WAVELET ? BESIDE_TEMPORAL : 1;
        const double usual = fmin(fmax(error, LEAST_ERROR), MOST_ERROR) / USUAL_ERROR;
        const double factor = settings->lambda_auto
                                  ? c->job->factor * prior->factor * beside * pow(usual, prior->factor_power) *
                                        vf_penalties_noise(penalties, i)
                                  : 1;
        const double lambda = settings->lambda * factor * unit;
        const double rho = prior->rho * fmin(fmax(pow(usual, prior->rho_power), LEAST_RHO), MOST_RHO);
        vf_penalties_set(penalties, i, lambda, rho * mean);
        c->summary.sparse_lambda[i] = lambda;
    }
    c->summary.noise_unit = unit;
}

vf_status sparse_hold(const recon_job *j, vf_queue *queue, const bool *reached, double mean, double *kappa,
                      vf_circulant **held)
{
    bool all = true;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, j->voxels)) reduction(&& : all)
    for (int64_t i = 0; i < j->voxels; i++) {
        kappa[i] = reached[i] ? 0 : mean;
        all = all && reached[i];
    }
    vf_circulant_destroy(*held);
    *held = NULL;
    if (all)
        return VF_OK;
    const vf_status status = vf_circulant_create(vf_queue_device(queue), j->scan->matrix, j->solve->precision, 1, held);
    return status == VF_OK ? vf_circulant_set(*held, queue, 0, kappa) : status;
}

void sparse_spectrum(const crew *c, const vf_penalties *penalties, double power, double mean, const double *kappa,
                     double *out)
{
    const int64_t voxels = c->job->voxels;
    memset(out, 0, (size_t)voxels * sizeof *out);
    vf_penalties_add_spectrum(penalties, 0, out);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->job->ctx, 2 * voxels))
    for (int64_t i = 0; i < voxels; i++)
        out[i] += fmax(c->density[i] * power, LEAST_DENSITY * mean) + kappa[i];
}

static vf_status set_inverse(const recon_job *j, vf_queue *queue, int which, double *spectrum, vf_circulant *inverse)
{
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
    for (int64_t i = 0; i < j->voxels; i++)
        spectrum[i] = 1 / spectrum[i];
    return vf_circulant_set(inverse, queue, which, spectrum);
}

vf_status sparse_set_fields(const recon_job *j, const vf_penalties *penalties, vf_queue *queue, int first, double *room,
                            vf_circulant *inverse)
{
    vf_status status = VF_OK;
    for (int part = 1; part <= vf_penalties_extra(penalties) && status == VF_OK; part++) {
        memset(room, 0, (size_t)j->voxels * sizeof *room);
        vf_penalties_add_spectrum(penalties, part, room);
        status = set_inverse(j, queue, first + part - 1, room, inverse);
    }
    return status;
}

static vf_status set_solver(crew *c, const scan_frame *frame, device_solver *s, double power, double mean, double unit)
{
    const recon_job *j = c->job;
    const frame_place *place = &j->place[frame->place];
    double *spectrum = malloc(2 * (size_t)j->voxels * sizeof *spectrum);
    bool *reached = calloc((size_t)j->voxels, sizeof *reached);
    vf_status status = spectrum && reached
                           ? make(c, s)
                           : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    if (status == VF_OK) {
        scan_mark_reached(j->ctx, j->scan, frame->trajectory, reached);
        status = sparse_hold(j, s->queue, reached, mean, spectrum + j->voxels, &s->held);
    }
    if (status == VF_OK) {
        sparse_weigh(c, s->penalties, mean, unit, sparse_error(&c->summary));
        sparse_spectrum(c, s->penalties, power, mean, spectrum + j->voxels, spectrum);
        status = set_inverse(j, s->queue, 0, spectrum, s->inverse);
    }
    VF_TRY(status, sparse_set_fields(j, s->penalties, s->queue, 1, spectrum, s->inverse));
    free(spectrum);
    free(reached);
    return status == VF_OK && j->has_maps
               ? regularise_put_of_maps(j, place, regularise_unseen, power, 1, &mean, s->queue, &s->unseen)
               : status;
}

vf_status sparse_frame(crew *c, const scan_frame *frame, double power)
{
    const int solving = c->job->has_maps ? 1 : c->solvers;
    double mean = 0;
    const double unit = sparse_unit(c, power, &mean) * sqrt(frame_noise_ratio(c->job, frame));
    vf_status status = VF_OK;
    for (int d = 0; d < solving && status == VF_OK; d++)
        status = set_solver(c, frame, &c->solver[d], power, mean, unit);
    return status;
}

sparse_problem sparse_problem_of(const crew *c, const device_solver *s)
{
    sparse_problem problem = {.solver = c->job->solve->solver,
                              .penalties = s->penalties,
                              .inverse = s->inverse,
                              .voxels = c->job->voxels,
                              .held = s->held};
    if (c->job->has_maps) {
        problem.even = s->known.balance;
        problem.unseen = s->unseen;
    }
    return problem;
}
