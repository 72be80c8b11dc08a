/* Sparse priors: their weights from the noise, and the preconditioner.
 *
 * The unit of lambda is the standard deviation that noise alone has in a wavelet coefficient of F^H W n of the finest
 * bands. There F^H W F is close to a circulant matrix with the eigenvalues c(k), so with B = 2^axes - 1 bands
 *
 *     unit^2 = sigma^2 mean_k c(k) (B + 1 - prod_a (1 + cos(2 pi k_a / N_a))) / B
 *
 * with the frequency response of Haar's smoothing filter along each axis. All bands, because the same lambda is for all. The band
 * with details along each axis lies mostly in the corners of k-space, which radial scans do not reach, so its noise alone
 * says little of theirs.
 *
 * Thresholds of about one unit give small mean square errors. Universal thresholds (Donoho and Johnstone, Biometrika 81 (1994)
 * 425) are larger: they make noise invisible. validation/tables/sparse_study.py measures the factors of prior_table.c,
 * series_study.py those of series. They do not cover tgv, which has tv's factor, nor nuclear, which has llr's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cartesian.h"
#include "noise_level.h"
#include "regularise.h"
#include "solve/prior_table.h"
#include "sparse.h"
#include "voxfield/matrix_product.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

/* What lambda and rho of prior_table.c are for: the expected error relative to the signal, and its bounds. With errors
 * above the upper one (SNR 5) a larger lambda was worse. A Laplace distribution of the coefficients with standard deviation s has its most probable image at lambda =
 * sqrt(2) sigma^2 / s, which is proportional to sigma / s in units of sigma: the power 1. The measured ones are near. */
static const double USUAL_ERROR = 0.12;
static const double LEAST_ERROR = 0.05, MOST_ERROR = 0.2;
/* The bounds of what rho is multiplied by for other errors. */
static const double LEAST_RHO = 0.2, MOST_RHO = 1;
/* What lambda and rho are multiplied by in koosh balls and the like (is_ball). By hand, the best multiple of lambda was 0.35 to 0.5
 * for the study's heads of 32 voxels along each axis, 0.55 to 0.8 for those of 64, and 0.8 to 1.6 for mri_phantom's of 48 and
 * 64: a compromise. */
static const double LAMBDA_OF_BALLS = 0.7, RHO_OF_BALLS = 1.3;
/* What the solver leaves must be small beside the noise: the noise, relative to the signal, for which the usual tolerance
 * is small enough; the power of it that the tolerance falls with; and the tolerance's least share. With more noise, the tolerance
 * grows with the noise's root, to the largest share, where a cosine matrix preconditions: there images are one to two tolerances
 * from the solution, elsewhere two to twenty. */
static const double USUAL_NOISE = 0.09, TOLERANCE_POWER = 3, LEAST_TOLERANCE = 0.1, MOST_TOLERANCE = 2;
/* ADMM's inner steps. With several coils an iteration takes one, mostly, and two would save no iterations. With one coil
 * preconditioners are farther from F^H W F, and images from the solution, at the same tolerance. */
static const double REDUCTION = 0.75, REDUCTION_OF_ONE = 0.6;
/* The smallest eigenvalue of the preconditioner's F^H W F, relative to the mean. */
static const double LEAST_DENSITY = 1e-3;

static vf_status create_penalties(const recon_job *j, vf_device *device, int images, vf_penalties **out)
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

/* Whether a cosine matrix replaces the circulant one. Where samples lie off the grid, F^H W F does not join opposite faces of
 * the image, and in three dimensions a circulant matrix that does costs twice as many applications. On the grid it does. In
 * two dimensions both are as good, and transforms are cheaper. */
static bool mirrors(const mri_scan *raw, const vf_device *device)
{
    const scan_trajectory *at = &raw->trajectory[0];
    int64_t first;
    double distance;
    return raw->matrix[0] > 1 && raw->matrix[1] > 1 && raw->matrix[2] > 1 &&
           vf_matrix_product_variant_name(vf_device_get_kind(device), 0) &&
           !vf_cartesian_fits(raw->matrix, at->samples, at->k, &first, &distance);
}

/* Whether samples lie off the grid along all three axes, as in koosh balls, but not in stacks of stars. */
static bool is_ball(const mri_scan *raw)
{
    static const double NEAR_GRID = 1e-3;
    const scan_trajectory *at = &raw->trajectory[0];
    bool off = true;
    for (int a = 0; a < 3 && off; a++) {
        off = false;
        for (int64_t m = 0; m < at->samples && raw->matrix[a] > 1 && !off; m++)
            off = fabs((double)at->k[3 * m + a] - rint((double)at->k[3 * m + a])) > NEAR_GRID;
    }
    return off;
}

/* Whether the images have a matrix that is not among those of `inverse`. */
static int apart(const sparse_problem *p)
{
    return p->chain || p->mirrored;
}

/* The penalties without weights, and the preconditioner's matrices: of images the cosine matrix or the first, or of a series the
 * chain, which ties frames to each other; of the penalties' fields the rest. */
static vf_status make(const crew *c, device_solver *s)
{
    const recon_job *j = c->job;
    vf_device *device = vf_queue_device(s->queue);
    sparse_problem *p = &s->sparse;
    vf_penalties_free(p->penalties); /* the number of images may have changed */
    p->penalties = NULL;
    vf_status status = create_penalties(j, device, c->images, &p->penalties);
    if (status == VF_OK && c->request->series && !p->chain)
        status = vf_circulant_chain_create(device, j->scan->matrix, j->solve->precision, c->images, &p->chain);
    if (status == VF_OK && !p->chain && !p->mirrored && mirrors(j->scan, device))
        status = vf_cosine_create(device, j->scan->matrix, j->solve->precision, &p->mirrored);
    const int matrices = status == VF_OK ? !apart(p) + vf_penalties_extra(p->penalties) : 0;
    if (matrices > 0 && !p->inverse)
        status = vf_circulant_create(device, j->scan->matrix, j->solve->precision, matrices, &p->inverse);
    return status;
}

/* |the frequency response|^2 of Haar's smoothing filter, times 2; nothing is smoothed along an axis of one voxel. */
static double smoothing(int64_t at, int64_t n)
{
    return n > 1 ? 1 + cos(2 * M_PI * (double)(at - n / 2) / (double)n) : 1;
}

/* The unit of lambda; *mean gets the mean eigenvalue of F^H W F. Both for c->density. */
static vf_status unit_of(const crew *c, double power, double *mean, double *unit)
{
    enum { BLOCKS = 128 }; /* of rows, added in order: the bits do not depend on the number of threads */
    const recon_job *j = c->job;
    const int64_t *n = j->scan->matrix, rows = n[1] * n[2];
    const double all = (n[0] > 1 ? 2 : 1) * (n[1] > 1 ? 2 : 1) * (n[2] > 1 ? 2 : 1); /* bands, with the smooth one */
    double sums[BLOCKS][2] = {{0}}, sum = 0, high = 0, *along = malloc((size_t)n[0] * sizeof *along);
    if (!along)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a line of %lld voxels", (long long)n[0]);
    for (int64_t x = 0; x < n[0]; x++)
        along[x] = smoothing(x, n[0]);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 10 * j->voxels))
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t row = rows * b / BLOCKS; row < rows * (b + 1) / BLOCKS; row++) {
            const double *density = c->density + row * n[0];
            const double across = smoothing(row % n[1], n[1]) * smoothing(row / n[1], n[2]);
            for (int64_t x = 0; x < n[0]; x++) {
                sums[b][0] += density[x] * power;
                sums[b][1] += density[x] * power * (all - across * along[x]);
            }
        }
    for (int b = 0; b < BLOCKS; b++) {
        sum += sums[b][0];
        high += sums[b][1];
    }
    free(along);
    *mean = sum / (double)j->voxels;
    *unit = sqrt(regularise_variance(j) * high / (fmax(all - 1, 1) * (double)j->voxels));
    return VF_OK;
}

/* Whether the job's frame f shares its unit of lambda with a group: those of a series do with all frames of the place, so that
 * all windows have the same. */
static bool shares_unit(const crew *c, const frame_group *g, int f)
{
    const recon_job *j = c->job;
    return c->request->series ? j->frames[f]->place == j->frames[g->first]->place : f == g->first;
}

/* The unit of lambda and the mean eigenvalue. The place keeps those of a series. */
static vf_status find_unit(crew *c, const frame_group *g, double power)
{
    recon_job *j = c->job;
    const scan_frame *first = j->frames[g->first];
    frame_place *place = &j->place[first->place];
    const bool series = c->request->series;
    double squares = 0, sum = 0;
    int count = 0;
    vf_status status = VF_OK;
    pthread_mutex_lock(&j->lock);
    c->mean = series ? place->mean : 0;
    c->unit = place->unit;
    pthread_mutex_unlock(&j->lock);
    if (c->mean != 0)
        return VF_OK;
    for (int f = 0; f < j->frame_count && status == VF_OK; f++) {
        double one = 0, unit = 0;
        if (!shares_unit(c, g, f))
            continue;
        status = regularise_density(c, j->frames[f]->trajectory);
        VF_TRY(status, unit_of(c, power * frame_weight(c, j->frames[f]), &one, &unit));
        squares += unit * unit;
        sum += one;
        count++;
    }
    c->mean = sum / count;
    c->unit = sqrt(squares / count) * (series ? 1 : sqrt(frame_noise_ratio(j, first)));
    pthread_mutex_lock(&j->lock);
    if (status == VF_OK && series) {
        place->mean = c->mean;
        place->unit = c->unit;
    }
    pthread_mutex_unlock(&j->lock);
    return status;
}

/* Wavelets act within a frame, so each frame's lambda is in units of its own noise: sqrt(v_f) over the root mean square
 * of all frames'. */
static vf_status set_own_units(const crew *c, const frame_group *g, vf_penalties *penalties)
{
    const recon_job *j = c->job;
    double sum = 0;
    int count = 0;
    for (int f = 0; f < j->frame_count; f++)
        if (shares_unit(c, g, f)) {
            sum += frame_weight(c, j->frames[f]);
            count++;
        }
    double *factor = malloc((size_t)g->count * sizeof *factor);
    if (!factor)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the weights of %d frames", g->count);
    for (int f = 0; f < g->count; f++)
        factor[f] = sqrt(frame_weight(c, j->frames[g->first + f]) * count / sum);
    const vf_status status = vf_penalties_set_frames(penalties, j->ctx, factor);
    free(factor);
    return status;
}

/* The expected error of a frame's image with the spectrum prior, relative to the signal; without a forecast, as for series, a
 * usual value. */
static double expected_error(const recon_summary *summary)
{
    const double error = hypot(summary->last.expected_noise, summary->last.expected_bias);
    return summary->last.expected_signal > 0 ? error / summary->last.expected_signal : USUAL_ERROR;
}

double sparse_tolerance(const crew *c)
{
    const recon_job *j = c->job;
    const recon_summary *summary = &c->summary;
    const double noise = summary->last.expected_noise / summary->last.expected_signal;
    const double share = summary->last.expected_signal > 0 ? pow(noise / USUAL_NOISE, TOLERANCE_POWER) : 1;
    const double most = c->solver[0].sparse.mirrored ? fmax(1, fmin(sqrt(noise / USUAL_NOISE), MOST_TOLERANCE)) : 1;
    return j->solve->tolerance * (j->solve->tolerance_auto ? fmin(fmax(share, LEAST_TOLERANCE), most) : 1);
}

static void weigh(crew *c, vf_penalties *penalties)
{
    const solve_settings *settings = c->job->solve;
    const bool ball = is_ball(c->job->scan);
    const double usual = fmin(fmax(expected_error(&c->summary), LEAST_ERROR), MOST_ERROR) / USUAL_ERROR;
    bool taken = false;
    for (int i = 0; i < settings->sparse; i++)
        taken |= sparse_prior_of(settings, i)->takes_noise;
    for (int i = 0; i < settings->sparse; i++) {
        const sparse_prior *prior = sparse_prior_of(settings, i);
        const double beside = taken && prior->beside > 0 ? prior->beside : 1;
        const double factor = settings->lambda_auto
                                  ? c->job->choice.factor * prior->factor * (ball ? LAMBDA_OF_BALLS : 1) * beside *
                                        pow(usual, prior->factor_power) * vf_penalties_noise(penalties, i)
                                  : 1;
        const double lambda = settings->lambda * factor * c->unit;
        const double rho =
            prior->rho * (ball ? RHO_OF_BALLS : 1) * fmin(fmax(pow(usual, prior->rho_power), LEAST_RHO), MOST_RHO);
        vf_penalties_set(penalties, i, lambda, rho * c->mean);
        c->summary.last.sparse_lambda[i] = lambda;
    }
    c->summary.last.noise_unit = c->unit;
}

void sparse_weigh(crew *c)
{
    for (int d = 0; d < c->solvers; d++)
        weigh(c, c->solver[d].sparse.penalties);
}

/* Makes K of solve_sparse, with the eigenvalues kappa [voxels]: the mean at frequencies that none of the frames that share
 * their unit reaches, else 0. */
static vf_status hold(const crew *c, const frame_group *g, double *kappa, device_solver *s)
{
    const recon_job *j = c->job;
    vf_circulant **held = &s->sparse.held;
    bool all = true, *reached = calloc((size_t)j->voxels, sizeof *reached);
    if (!reached)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    for (int f = 0, last = -1; f < j->frame_count; f++)
        if (shares_unit(c, g, f) && j->frames[f]->trajectory != last)
            scan_mark_reached(j->ctx, j->scan, last = j->frames[f]->trajectory, reached);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, j->voxels)) reduction(&& : all)
    for (int64_t i = 0; i < j->voxels; i++) {
        kappa[i] = reached[i] ? 0 : c->mean;
        all = all && reached[i];
    }
    free(reached);
    vf_circulant_destroy(*held);
    *held = NULL;
    if (all)
        return VF_OK;
    vf_status status = vf_circulant_create(vf_queue_device(s->queue), j->scan->matrix, j->solve->precision, 1, held);
    VF_TRY(status, vf_circulant_set(*held, s->queue, 0, kappa));
    return status;
}

/* The eigenvalues of what the preconditioner inverts, for c->density, without the differences between frames. */
static void spectrum_of(const crew *c, const vf_penalties *penalties, double power, const double *kappa, double *out)
{
    const int64_t voxels = c->job->voxels;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->job->ctx, voxels))
    for (int64_t i = 0; i < voxels; i++) /* by all threads: they are the first to touch it */
        out[i] = 0;
    vf_penalties_add_spectrum(penalties, 0, out);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->job->ctx, 2 * voxels))
    for (int64_t i = 0; i < voxels; i++)
        out[i] += fmax(c->density[i] * power, LEAST_DENSITY * c->mean) + kappa[i];
}

/* Of the images (part 0), or a component of the penalties' fields. */
static vf_status set_inverse(const recon_job *j, device_solver *s, int part, double *spectrum)
{
    const bool mirrored = part == 0 && s->sparse.mirrored;
    const vf_status status = mirrored ? vf_cosine_spectrum(j->ctx, j->scan->matrix, spectrum) : VF_OK;
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
    for (int64_t i = 0; i < j->voxels; i++)
        spectrum[i] = 1 / spectrum[i];
    return mirrored ? vf_cosine_set(s->sparse.mirrored, s->queue, spectrum)
                    : vf_circulant_set(s->sparse.inverse, s->queue, part - apart(&s->sparse), spectrum);
}

/* Sets the preconditioner's matrices; `spectrum` is scratch. mean[frame] gets the mean eigenvalue that they invert. */
static vf_status set_matrices(crew *c, const frame_group *g, device_solver *s, double power, const double *kappa,
                              double *spectrum, double *mean)
{
    const recon_job *j = c->job;
    const sparse_problem *p = &s->sparse;
    vf_reduced sum = {0};
    vf_status status = p->chain ? vf_circulant_chain_couple(p->chain, vf_penalties_coupling(p->penalties)) : VF_OK;
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        const scan_frame *frame = j->frames[g->first + f];
        status = regularise_density(c, frame->trajectory);
        if (status != VF_OK)
            break;
        spectrum_of(c, p->penalties, power * frame_weight(c, frame), kappa, spectrum);
        status = vf_host_reduce(j->ctx, VF_REDUCE_SUM, VF_F64, j->voxels, spectrum, NULL, &sum);
        mean[f] = sum.re / (double)j->voxels;
        if (status != VF_OK)
            break;
        status = p->chain ? vf_circulant_chain_add(p->chain, s->queue, spectrum) : set_inverse(j, s, 0, spectrum);
    }
    for (int part = 1; status == VF_OK && part <= vf_penalties_extra(p->penalties); part++) {
        memset(spectrum, 0, (size_t)j->voxels * sizeof *spectrum);
        vf_penalties_add_spectrum(p->penalties, part, spectrum);
        status = set_inverse(j, s, part, spectrum);
    }
    return status;
}

static vf_status precondition(crew *c, const frame_group *g, device_solver *s, double power, const double *kappa,
                              double *spectrum)
{
    double *mean = calloc((size_t)g->count, sizeof *mean);
    vf_status status = mean ? set_matrices(c, g, s, power, kappa, spectrum, mean)
                            : vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory for %d frames", g->count);
    /* Of frames tied to each other one eigenvalue says nothing, even where no coil sees: with it temporal priors take three times the
     * applications. */
    const bool tied = s->sparse.chain && vf_penalties_coupling(s->sparse.penalties) > 0;
    if (status == VF_OK && c->job->has_maps && !tied)
        status = regularise_dark(c, g, power, mean, s->queue, &s->sparse.seen, &s->sparse.dark);
    free(mean);
    return status;
}

static vf_status set_solver(crew *c, const frame_group *g, device_solver *s, double power)
{
    const recon_job *j = c->job;
    double *spectrum = malloc(2 * (size_t)j->voxels * sizeof *spectrum);
    vf_large_pages(spectrum, 2 * (size_t)j->voxels * sizeof *spectrum);
    vf_status status =
        spectrum ? make(c, s) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    if (status == VF_OK)
        weigh(c, s->sparse.penalties);
    if (status == VF_OK && c->request->series && j->level.ratio)
        status = set_own_units(c, g, s->sparse.penalties);
    VF_TRY(status, hold(c, g, spectrum + j->voxels, s));
    VF_TRY(status, precondition(c, g, s, power, spectrum + j->voxels, spectrum));
    free(spectrum);
    s->sparse.even = s->known.balance;
    s->sparse.reduction = j->has_maps && j->scan->coils > 1 ? REDUCTION : REDUCTION_OF_ONE;
    if (status == VF_OK && j->has_maps && j->frames[g->first] == j->first_of)
        status = regularise_uneven(c, g, power, s->queue, &s->sparse.uneven);
    return status == VF_OK && j->has_maps ? regularise_unseen(c, g, power, c->mean, s->queue, &s->sparse.unseen)
                                          : status;
}

vf_status sparse_frames(crew *c, const frame_group *g, double power)
{
    vf_status status = find_unit(c, g, power);
    for (int d = 0; d < c->solvers && status == VF_OK; d++)
        status = set_solver(c, g, &c->solver[d], power);
    return status;
}
