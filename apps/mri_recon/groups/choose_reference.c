/* How strongly references act (--prior reference, --lambda auto).
 *
 * The prior is mu P + nu D^H D: P that of the image's spectrum, as without references, and D first differences, weighted less
 * where the references have edges. (1, 0) is the default prior without references. From there the search goes on to the mu, nu
 * and sharpness of edges of least predicted risk (sure.h), so references count as much as the scan's own data say that they help:
 * where structures agree, nu becomes large and mu small; a reference of something else ends near (1, 0). The search is made
 * once, as that of choose_lambda.c, and serves all frames: mu, nu are factors on weights that follow from each frame's noise and
 * spectrum.
 *
 * The risk is that of the image where the object is, and mostly of its magnitude. sure.h's is the error at the samples, which counts a frequency as
 * often as it was sampled, in radial scans hardly anything but the lowest; and half of it is noise across the signal, which does
 * not change the magnitude. With A = F^H W F, b = A x0 + e, where e has the covariance sigma^2 A, and any real-linear M,
 *
 *     E |M A (x - x0)|^2 = E [<w, A x> - 2 Re <w, b>] + 2 sigma^2 E Re <w'(b) p, p> + constant,    w = M^T M A x
 *
 * which is sure.h's formula for the estimate w. M = m P G: G is circulant, one over the samples' density, so that G A is near a
 * multiple of 1 wherever there are samples; P leaves the part of a voxel that has the phase of the image without references, or
 * the opposite one, and half of the rest, which the image's phase needs; m^2 is that image's brightness, at most 1.
 *
 * The first image of the search, without references, also shows whether they fit it (reference_fit.h). With a lambda that the
 * user gave, that image is one with plain differences, and there is no search. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "choose_lambda.h"
#include "frames/frame_images.h"
#include "noise/reference_fit.h"
#include "noise/regularise.h"
#include "solve_group.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

/* The weight of the error across the signal's phase, of that in phase: 0 for the magnitude's, 1 for the complex image's. */
static const double ACROSS = 0.25;
enum { MOST_TRIED = 20 };
/* The tolerance of the search's images. */
static const double ROUGH = 1e-4;
/* Where the search for references begins, its first steps as factors, and its limits. */
static const reference_strength start = {1, 2, 0.3}, step = {0.3, 2, 2}, least = {0.02, 0.1, 0.05}, most = {1, 64, 2};
typedef struct strength_search {
    crew *crew;
    sure_estimate estimate;
    void *user;
    size_t bytes;
    vf_queue *queue;
    vf_circulant *weights; /* G, on the host */
    double *bright;        /* [voxels] m^2 */
    double chance; /* a gain that references must exceed: the standard deviation of the energy of the noise in phase */
    const char *first; /* the image without references */
    vf_sure_problem problem;
    reference_strength best;
    double risk; /* of the best */
    int tried;
} strength_search;

/* P^T P u times m^2: the part of u in phase with `first`, and ACROSS times the rest. */
static double complex in_phase(double complex u, double complex first, double bright)
{
    const double complex turn = cabs(first) > 0 ? first / cabs(first) : 1;
    const double complex part = creal(u * conj(turn)) * turn;
    return bright * (part + ACROSS * (u - part));
}

/* Applies m P^T P m to all images. */
static void keep_in_phase(const strength_search *s, char *images)
{
    const recon_job *j = s->crew->job;
    const int64_t count = s->problem.count;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 10 * count))
    for (int64_t i = 0; i < count; i++) {
        const double bright = s->bright[i % j->voxels];
        if (j->type == VF_C128) {
            double complex *u = (double complex *)(void *)images + i;
            *u = in_phase(*u, ((const double complex *)(const void *)s->first)[i], bright);
        } else {
            float complex *u = (float complex *)(void *)images + i;
            *u = (float complex)in_phase(*u, ((const float complex *)(const void *)s->first)[i], bright);
        }
    }
}

/* w = M^T M y */
static vf_status weigh(const strength_search *s, const char *y, char *w)
{
    const recon_job *j = s->crew->job;
    const size_t image = (size_t)j->voxels * vf_dtype_bytes(j->type);
    vf_status status = VF_OK;
    for (size_t at = 0; at < s->bytes && status == VF_OK; at += image)
        status = vf_circulant_apply(s->weights, s->queue, 0, 1, y + at, 0, w + at);
    if (status == VF_OK)
        keep_in_phase(s, w);
    for (size_t at = 0; at < s->bytes && status == VF_OK; at += image)
        status = vf_circulant_apply(s->weights, s->queue, 0, 1, w + at, 0, w + at);
    return status;
}

/* A vf_sure_problem's, at the job's strength: w of the image. */
static vf_status estimate(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    strength_search *s = user;
    const char *applied = s->crew->applied;
    double energy[2] = {0}, product[2] = {0}, unused;
    vf_status status = s->estimate(s->user, factor, again, b, x, &unused);
    VF_TRY(status, weigh(s, applied, x));
    VF_TRY(status, vf_vector_dot(s->queue, s->problem.type, s->problem.count, x, applied, energy));
    VF_TRY(status, vf_vector_dot(s->queue, s->problem.type, s->problem.count, x, b, product));
    *data = energy[0] / 2 - product[0];
    return status;
}

/* Measures the risk of a strength; better than the best: it becomes the best. */
static vf_status try_strength(strength_search *s, reference_strength strength, bool *better)
{
    vf_sure_point point;
    s->crew->job->strength = strength;
    const vf_status status = vf_sure_risk(s->queue, &s->problem, 1, &point);
    *better = status == VF_OK && (s->tried == 0 || point.risk < s->risk);
    s->tried++;
    if (*better) {
        s->best = strength;
        s->risk = point.risk;
    }
    return status;
}

static double *member(reference_strength *s, int which)
{
    return which == 0 ? &s->differences : which == 1 ? &s->spectrum : &s->sharpness;
}

/* Goes along one of the three numbers while the risk falls, from the second step on by the step's square. */
static vf_status go_along(strength_search *s, int which, bool up, bool *moved)
{
    reference_strength steps = step, lowest = least, highest = most;
    bool better = true;
    int steps_made = 0;
    vf_status status = VF_OK;
    while (better && status == VF_OK && s->tried < MOST_TRIED) {
        reference_strength next = s->best;
        double *value = member(&next, which);
        const double first = *member(&steps, which), by = steps_made > 0 ? first * first : first;
        *value *= (by > 1) == up ? by : 1 / by;
        if (*value < *member(&lowest, which) || *value > *member(&highest, which))
            break;
        status = try_strength(s, next, &better);
        *moved = *moved || better;
        steps_made++;
    }
    return status;
}

/* Coordinate by coordinate, until nothing lowers the risk. */
static vf_status search_strengths(strength_search *s)
{
    const reference_strength none = {1, 0, start.sharpness}; /* of s->first */
    bool better, moved = true;
    vf_status status = try_strength(s, none, &better);
    const double without = s->risk;
    s->risk = INFINITY; /* the start counts, even if it is worse: a weaker one may be better */
    VF_TRY(status, try_strength(s, start, &better));
    while (moved && status == VF_OK && s->tried < MOST_TRIED) {
        moved = false;
        for (int which = 0; which < 3 && status == VF_OK; which++) {
            bool along = false;
            status = go_along(s, which, true, &along);
            if (status == VF_OK && !along)
                status = go_along(s, which, false, &along);
            moved = moved || along;
        }
    }
    recon_job *j = s->crew->job;
    j->strength = s->risk < without - s->chance ? s->best : none;
    j->fit.tried = s->tried;
    j->fit.gain = fmax(0, without - s->risk);
    return status;
}

/* The variance that the risk takes for noise. With coil maps, a misfit is errors of maps and trajectory, which must not pass for
 * signal: its share counts as noise, as in regularise.c. One channel has as many numbers as the image at most, so what the
 * first image leaves of them is noise and its own bias, and a larger variance would favour blurred images. */
static double risk_variance(const recon_job *j)
{
    return j->has_maps && j->scan->coils > 1 ? regularise_variance(j) : j->level.variance;
}

/* Makes G and m^2. Gaps between samples have density 0, but neighbours' samples see something of their frequencies. */
static vf_status make_weights(strength_search *s)
{
    static const double LEAST_DENSITY = 0.1;
    const crew *c = s->crew;
    const recon_job *j = c->job;
    const double mean = c->summary.last.diagonal, power = mean / c->diagonal;
    double *g = malloc((size_t)j->voxels * sizeof *g);
    vf_status status = g ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    for (int64_t i = 0; i < j->voxels && status == VF_OK; i++)
        g[i] = sqrt(mean) / fmax(c->density[i] * power, LEAST_DENSITY * mean);
    VF_TRY(status, vf_circulant_create(vf_context_host(j->ctx), j->scan->matrix, j->solve->precision, 1, &s->weights));
    VF_TRY(status, vf_circulant_set(s->weights, s->queue, 0, g));
    for (int64_t i = 0; i < j->voxels && status == VF_OK; i++)
        g[i] = fmin(1, pow((double)c->envelope[0].values[i], 2) * c->envelope[0].filled);
    for (int64_t i = 0; i < j->voxels && status == VF_OK; i++)
        s->chance += g[i] * g[i] / 2; /* of m n, n real of the variance 1/2 */
    s->chance = sqrt(s->chance);
    s->bright = g;
    return status;
}

/* `b`: the images F^H d of a frame, `count` numbers in host memory. */
static vf_status search(crew *c, const char *b, int64_t count, sure_estimate one, void *user)
{
    recon_job *j = c->job;
    const int place = j->scan->own_references ? j->frames[c->probed]->place : 0;
    const size_t bytes = (size_t)count * vf_dtype_bytes(j->type);
    char *image = malloc(bytes);
    double unused;
    strength_search s = {.crew = c, .estimate = one, .user = user, .first = image, .bytes = bytes};
    s.problem = (vf_sure_problem){.type = j->type,
                                  .count = count,
                                  .b = b,
                                  .probe = c->probe,
                                  .variance = c->probe ? risk_variance(j) : 0,
                                  .estimate = estimate,
                                  .user = &s};
    vf_status status = image ? vf_queue_create(vf_context_host(j->ctx), &s.queue)
                             : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image");
    VF_TRY(status, one(user, 1, false, b, image, &unused));
    VF_TRY(status, reference_fit_measure(j, place, image, count / j->voxels, &j->fit));
    if (status == VF_OK && c->probe) {
        c->applied = malloc(bytes);
        status = c->applied ? make_weights(&s) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image");
        VF_TRY(status, search_strengths(&s));
    }
    vf_circulant_destroy(s.weights);
    vf_queue_destroy(s.queue);
    free(s.bright);
    free(image);
    free(c->applied);
    free(c->probe);
    c->applied = NULL;
    c->probe = NULL;
    return status;
}

vf_status crew_choose_reference(crew *c, const frame_group *g, char *images)
{
    recon_job *j = c->job;
    const solve_settings *settings = j->solve;
    const bool finds = finds_reference_strength(settings) && j->level.variance > 0;
    const reference_strength before = j->strength;
    const group_request request = {.name = "reference: ",
                                   .lambda = finds_reference_strength(settings) ? 1 : settings->lambda,
                                   .tolerance = fmax(ROUGH, settings->tolerance),
                                   .iterations = settings->iterations,
                                   .prepare = finds ? sure_probe : NULL,
                                   .search = search};
    j->leave_out_reference = !finds_reference_strength(settings);
    c->probed = g->first;
    vf_status status = crew_make_group(c, g, &request, images);
    j->leave_out_reference = false;
    if (status != VF_OK)
        j->strength = before;
    return status;
}
