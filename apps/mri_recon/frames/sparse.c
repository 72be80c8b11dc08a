/* Sparse priors: their weights from the noise, and the preconditioner.
 *
 * The unit of lambda is the standard deviation that noise alone has in a wavelet coefficient of F^H W n of the finest
 * band. There F^H W F is close to a circulant matrix with the eigenvalues c(k), so
 *
 *     unit^2 = sigma^2 mean_k c(k) prod_a (1 - cos(2 pi k_a / N_a))
 *
 * with the frequency response of Haar's detail filter along each axis. A threshold of that size keeps noise out of the
 * minimum, as universal thresholds do (Donoho and Johnstone, Biometrika 81 (1994) 425), but smaller, since mean square
 * errors are to be small and not noise invisible. validation/tables/sparse_study.py measures the factors. */
#include <math.h>
#include <stdlib.h>

#include "frame_group.h"

/* Lambda in units of the noise, for each kind of prior. */
static const double FACTOR[VF_PENALTY_KINDS] = {[VF_PENALTY_WAVELET] = 1.4,
                                                [VF_PENALTY_TV] = 0.85,
                                                [VF_PENALTY_TEMPORAL] = 1,
                                                [VF_PENALTY_LLR] = 1,
                                                [VF_PENALTY_NUCLEAR] = 1};
/* ADMM's rho, relative to the mean eigenvalue of F^H W F; for differences divided by their mean curvature, 2 an axis. */
static const double RHO = 0.3;
/* The smallest eigenvalue of the preconditioner's F^H W F, relative to the mean. */
static const double LEAST_DENSITY = 1e-3;

static vf_status make(const recon_job *j, device_solver *s)
{
    const recon_settings *settings = j->settings;
    const int64_t *n = j->scan->matrix;
    vf_device *device = vf_queue_device(s->part.queue);
    const int sets = s->part.sets > 1 ? s->part.sets : 1;
    vf_penalties_options options = {.priors = settings->sparse,
                                    .counts = {n[0], n[1], n[2], sets},
                                    .precision = settings->precision,
                                    .seed = (uint64_t)settings->seed,
                                    .moments = settings->moments,
                                    .shifts = settings->shifts};
    for (int i = 0; i < settings->sparse; i++)
        options.kind[i] = settings->sparse_prior[i];
    vf_penalties_free(s->penalties); /* the number of sets may have changed */
    s->penalties = NULL;
    vf_status status = vf_penalties_create(device, &options, &s->penalties);
    if (status == VF_OK && !s->inverse)
        status = vf_circulant_create(device, n, settings->precision, 1, &s->inverse);
    return status;
}

/* The eigenvalues of F^H W F, their mean, and the unit of lambda. */
static double noise_unit(const crew *c, double power, double *mean)
{
    const recon_job *j = c->job;
    const int64_t *n = j->scan->matrix;
    double sum = 0, high = 0;
    for (int64_t i = 0; i < j->voxels; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double response = 1;
        for (int a = 0; a < 3; a++)
            response *= n[a] > 1 ? 1 - cos(2 * M_PI * (double)(at[a] - n[a] / 2) / (double)n[a]) : 1;
        sum += c->density[i] * power;
        high += c->density[i] * power * response;
    }
    *mean = sum / (double)j->voxels;
    return sqrt(regularise_variance(j) * high / (double)j->voxels);
}

static vf_status set_solver(crew *c, device_solver *s, double power, double mean, double unit)
{
    const recon_job *j = c->job;
    const recon_settings *settings = j->settings;
    double *spectrum = calloc((size_t)j->voxels, sizeof *spectrum);
    vf_status status =
        spectrum ? make(j, s) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    for (int i = 0; i < settings->sparse && status == VF_OK; i++) {
        const vf_penalty_kind kind = settings->sparse_prior[i];
        const double lambda = settings->lambda * (settings->lambda_auto ? FACTOR[kind] : 1) * unit;
        const double curvature = kind == VF_PENALTY_TV ? 4 : kind == VF_PENALTY_TEMPORAL ? 2 : 1;
        vf_penalties_set(s->penalties, i, lambda, RHO * mean / curvature);
        c->summary.sparse_lambda[i] = lambda;
    }
    if (status == VF_OK) {
        vf_penalties_add_spectrum(s->penalties, spectrum);
        for (int64_t i = 0; i < j->voxels; i++)
            spectrum[i] = 1 / (fmax(c->density[i] * power, LEAST_DENSITY * mean) + spectrum[i]);
        status = vf_circulant_set(s->inverse, s->part.queue, 0, spectrum);
    }
    free(spectrum);
    return status;
}

vf_status sparse_frame(crew *c, double power)
{
    const int solving = c->job->has_maps ? 1 : c->solvers;
    double mean = 0;
    const double unit = noise_unit(c, power, &mean);
    vf_status status = VF_OK;
    c->summary.noise_unit = unit;
    for (int d = 0; d < solving && status == VF_OK; d++)
        status = set_solver(c, &c->solver[d], power, mean, unit);
    return status;
}

sparse_problem sparse_problem_of(const crew *c, const device_solver *s)
{
    static const sparse_solver solvers[] = {
        [RECON_ADMM] = SPARSE_ADMM, [RECON_FISTA] = SPARSE_FISTA, [RECON_PRIMAL_DUAL] = SPARSE_PRIMAL_DUAL};
    sparse_problem problem = {
        .solver = solvers[c->job->settings->solver], .penalties = s->penalties, .inverse = s->inverse};
    if (c->job->has_maps)
        problem.even = s->known.balance;
    return problem;
}
