/* Frames of a place that are solved together, under priors that couple them. All vectors are on the team's first
 * device, [frame][voxels]; each frame has the F^H W F of its trajectory (series_normal.c).
 *
 * If frames differ in noise, the sum of squares of frame f is weighted by v_f = sigma^2 / sigma_f^2, as maximum
 * likelihood requires. So its F^H W F and F^H W d are multiplied by v_f, and the noise in F^H W d by sqrt(v_f). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/frame_images.h"
#include "frames/summary.h"
#include "noise/noise_level.h"
#include "noise/regularise.h"
#include "noise/sparse.h"
#include "series.h"
#include "solve_group.h"
#include "voxfield/vector.h"

typedef struct series {
    crew *c;
    const frame_group *group;
    vf_queue *queue;
    series_normal normal;
    double power;
    vf_array b, x, even, unseen;
    vf_penalties *penalties;
    vf_circulant_chain *chain; /* the preconditioner: of the images, and of the penalties' fields */
    vf_circulant *inverse, *held;
    double mean, unit; /* of sparse_weigh */
    vf_operator *system;
    solve_result *result; /* [channel] */
    bool again;           /* with the numbers of iterations in `result` */
} series;

static const scan_frame *frame_of(const series *s, int f)
{
    return s->c->job->frames[s->group->first + f];
}

/* ---- priors ---- */

/* The balance of solve_sparse, the same for all frames, and its weights of unseen voxels. These follow the weight of
 * the frame's data, as F^H W F does: a voxel that coils see a little then has the same share of its signal in all
 * frames. */
static vf_status put_balance(series *s)
{
    const recon_job *j = s->c->job;
    const frame_place *place = &j->place[frame_of(s, 0)->place];
    const int count = s->group->count;
    double *factor = malloc((size_t)count * sizeof *factor);
    if (!factor)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the weights of %d frames", count);
    for (int f = 0; f < count; f++)
        factor[f] = 1;
    vf_status status =
        regularise_put_of_maps(j, place, regularise_balance, s->power, count, factor, s->queue, &s->even);
    for (int f = 0; f < count; f++)
        factor[f] = s->mean * frame_weight(j, frame_of(s, f));
    VF_TRY(status, regularise_put_of_maps(j, place, regularise_unseen, s->power, count, factor, s->queue, &s->unseen));
    free(factor);
    return status;
}

/* The unit of lambda and the mean eigenvalue, over all frames of the place, so that all windows have the same; the place
 * keeps them. */
static vf_status find_unit(series *s, frame_place *place)
{
    crew *c = s->c;
    recon_job *j = c->job;
    double squares = 0, sum = 0;
    int count = 0;
    pthread_mutex_lock(&j->lock);
    s->mean = place->mean;
    s->unit = place->unit;
    pthread_mutex_unlock(&j->lock);
    if (s->mean != 0)
        return VF_OK;
    for (int f = 0; f < j->frame_count; f++) {
        double one = 0;
        if (&j->place[j->frames[f]->place] != place)
            continue;
        const vf_status status = regularise_density(c, j->frames[f]->trajectory);
        if (status != VF_OK)
            return status;
        squares += pow(sparse_unit(c, s->power * frame_weight(j, j->frames[f]), &one), 2);
        sum += one;
        count++;
    }
    s->mean = sum / count;
    s->unit = sqrt(squares / count);
    pthread_mutex_lock(&j->lock);
    place->mean = s->mean;
    place->unit = s->unit;
    pthread_mutex_unlock(&j->lock);
    return VF_OK;
}

/* Wavelets act within a frame, so each frame's lambda is in units of its own noise: sqrt(v_f) over the root mean square
 * of all frames'. */
static vf_status set_own_units(const series *s, const frame_place *place)
{
    const recon_job *j = s->c->job;
    double sum = 0;
    int count = 0;
    for (int f = 0; f < j->frame_count; f++)
        if (&j->place[j->frames[f]->place] == place) {
            sum += frame_weight(j, j->frames[f]);
            count++;
        }
    double *factor = malloc((size_t)s->group->count * sizeof *factor);
    if (!factor)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the weights of %d frames", s->group->count);
    for (int f = 0; f < s->group->count; f++)
        factor[f] = sqrt(frame_weight(j, frame_of(s, f)) * count / sum);
    const vf_status status = vf_penalties_set_frames(s->penalties, j->ctx, factor);
    free(factor);
    return status;
}

/* Frames of a series have no forecast of their error. */
static void set_weights(series *s)
{
    sparse_weigh(s->c, s->penalties, s->mean, s->unit, sparse_error(&(recon_summary){0}));
}

/* Makes K for the frequencies that no frame of the place reaches. kappa: [voxels]. */
static vf_status hold(series *s, const frame_place *place, double *kappa)
{
    const recon_job *j = s->c->job;
    bool *reached = calloc((size_t)j->voxels, sizeof *reached);
    if (!reached)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    for (int f = 0, last = -1; f < j->frame_count; f++)
        if (&j->place[j->frames[f]->place] == place && j->frames[f]->trajectory != last)
            scan_mark_reached(j->ctx, j->scan, last = j->frames[f]->trajectory, reached);
    const vf_status status = sparse_hold(j, s->queue, reached, s->mean, kappa, &s->held);
    free(reached);
    return status;
}

/* The preconditioner. */
static vf_status set_chain(series *s, const double *kappa, double *spectrum)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    vf_status status = vf_circulant_chain_couple(s->chain, vf_penalties_coupling(s->penalties));
    for (int f = 0; f < s->group->count && status == VF_OK; f++) {
        status = regularise_density(c, frame_of(s, f)->trajectory);
        if (status != VF_OK)
            break;
        sparse_spectrum(c, s->penalties, s->power * frame_weight(j, frame_of(s, f)), s->mean, kappa, spectrum);
        status = vf_circulant_chain_add(s->chain, s->queue, spectrum);
    }
    return status == VF_OK ? sparse_set_fields(j, s->penalties, s->queue, 0, spectrum, s->inverse) : status;
}

static vf_status make_priors(series *s)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    const int count = s->group->count;
    double *spectrum = malloc(2 * (size_t)j->voxels * sizeof *spectrum);
    frame_place *place = &c->job->place[frame_of(s, 0)->place];
    vf_status status =
        spectrum ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %lld voxels", (long long)j->voxels);
    VF_TRY(status, sparse_create(j, vf_queue_device(s->queue), count, &s->penalties));
    VF_TRY(status, vf_circulant_chain_create(vf_queue_device(s->queue), j->scan->matrix, j->solve->precision, count,
                                             &s->chain));
    const int extra = status == VF_OK ? vf_penalties_extra(s->penalties) : 0;
    if (extra > 0)
        status =
            vf_circulant_create(vf_queue_device(s->queue), j->scan->matrix, j->solve->precision, extra, &s->inverse);
    VF_TRY(status, find_unit(s, place));
    if (status == VF_OK)
        set_weights(s);
    if (status == VF_OK && j->noise_ratio)
        status = set_own_units(s, place);
    VF_TRY(status, hold(s, place, spectrum));
    VF_TRY(status, set_chain(s, spectrum, spectrum + j->voxels));
    free(spectrum);
    return status == VF_OK && j->has_maps ? put_balance(s) : status;
}

/* ---- solving ---- */

static bool tell(void *user, int iteration, double residual)
{
    const crew *c = user;
    char text[96];
    snprintf(text, sizeof text, "solving for all frames, iteration %d of %d, residual %.1e:", iteration,
             c->request->iterations, residual);
    watch_title(c->watch, text);
    watch_add(c->watch, 1);
    return false;
}

/* Copies a channel of all frames to the device or back. */
static vf_status transfer(series *s, char *images, int channel, bool back)
{
    const recon_job *j = s->c->job;
    const size_t bytes = (size_t)j->voxels * vf_dtype_bytes(j->type);
    vf_status status = VF_OK;
    for (int f = 0; f < s->group->count && status == VF_OK; f++) {
        char *image = images + (size_t)f * frame_bytes(j) + (size_t)channel * bytes;
        void *there = vf_array_at(back ? &s->x : &s->b, f * j->voxels);
        status = vf_queue_copy(s->queue, back ? (void *)image : there, back ? there : (void *)image, bytes);
        const double weight = frame_weight(j, frame_of(s, f));
        if (status == VF_OK && !back && weight != 1)
            status = vf_vector_axpby(s->queue, j->type, j->voxels, weight, there, 0, there);
    }
    return status == VF_OK ? vf_queue_sync(s->queue) : status;
}

static vf_status solve_channel(series *s, char *images, int channel)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    solve_result *result = &s->result[channel];
    const solve_options options = {.precision = j->solve->precision,
                                   .iterations = s->again ? result->iterations : c->request->iterations,
                                   .tolerance = s->again ? 0 : c->request->tolerance,
                                   .input = j->scan->path,
                                   .lambda_auto = j->solve->lambda_auto};
    const sparse_problem problem = {.solver = j->solve->solver,
                                    .penalties = s->penalties,
                                    .chain = s->chain,
                                    .inverse = s->inverse,
                                    .voxels = j->voxels,
                                    .even = s->even,
                                    .unseen = s->unseen,
                                    .held = s->held};
    vf_status status = transfer(s, images, channel, false);
    VF_TRY(status, solve_sparse(j->ctx, &options, s->system, s->queue, &problem, &s->b, &s->x, tell, c, result));
    return status == VF_OK ? transfer(s, images, channel, true) : status;
}

/* A sure_estimate. */
static vf_status estimate(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    series *s = user;
    recon_job *j = s->c->job;
    vf_status status = VF_OK;
    s->again = again;
    j->factor = factor;
    set_weights(s);
    memcpy(x, b, (size_t)s->group->count * frame_bytes(j));
    *data = 0;
    for (int i = 0; i < j->channels && status == VF_OK; i++) {
        status = solve_channel(s, x, i);
        *data += s->result[i].data;
        j->sure_applications += s->result[i].applications;
    }
    return status;
}

static vf_status solve_channels(series *s, char *images)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    vf_status status = VF_OK;
    for (int i = 0; i < j->channels && status == VF_OK; i++) {
        status = solve_channel(s, images, i);
        if (status != VF_OK)
            break;
        watch_add(c->watch, c->request->iterations - s->result[i].iterations);
        summary_add(&c->summary, &s->result[i], i == 0);
        if (c->request->own)
            effort_add(j, frame_of(s, s->group->count - s->group->drop - s->group->after - 1), &s->result[i], i == 0);
    }
    return status;
}

static vf_status solve_all(series *s, char *images)
{
    crew *c = s->c;
    const recon_job *j = c->job;
    vf_device *device = vf_queue_device(s->queue);
    const vf_vector_space space = {j->type, s->group->count * j->voxels};
    snprintf(c->summary.normal, sizeof c->summary.normal, "%s", series_normal_of(&s->normal, 0)->description);
    c->summary.diagonal = series_normal_of(&s->normal, s->group->count - 1)->diagonal * s->power;
    crew_stage_solve(c, s->group->count, (double)j->channels * c->request->iterations);
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &s->b);
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, space.type, space.count, &s->x));
    VF_TRY(status, series_normal_operator(&s->normal, &s->system));
    if (status == VF_OK)
        status = c->request->search ? c->request->search(c, images, j->channels * space.count, estimate, s)
                                    : solve_channels(s, images);
    vf_operator_free(s->system);
    return status;
}

/* F^H d, one trajectory after another. */
static vf_status adjoints(const series *s, char *images)
{
    const recon_job *j = s->c->job;
    vf_status status = VF_OK;
    for (int f = 0, next = 0; f < s->group->count && status == VF_OK; f = next) {
        frame_group part = {.trajectory = frame_of(s, f)->trajectory, .first = s->group->first + f};
        while (next < s->group->count && frame_of(s, next)->trajectory == part.trajectory)
            next++;
        part.count = next - f;
        status = crew_adjoints(s->c, &part, false, images + (size_t)f * frame_bytes(j));
    }
    return status;
}

vf_status crew_solve_series(crew *c, const frame_group *g, char *images)
{
    const recon_job *j = c->job;
    const scan_frame *first = j->frames[g->first];
    series s = {.c = c, .group = g, .queue = c->team.queue[0], .power = 1};
    s.result = calloc((size_t)j->channels, sizeof *s.result);
    vf_status status = s.result ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, adjoints(&s, images));
    if (status == VF_OK && c->request->prepare)
        status = c->request->prepare(c, g);
    VF_TRY(status, crew_power(c, first, &s.power));
    VF_TRY(status, series_normal_create(c, g, &s.normal));
    VF_TRY(status, make_priors(&s));
    VF_TRY(status, solve_all(&s, images));
    series_normal_free(&s.normal);
    vf_penalties_free(s.penalties);
    vf_circulant_chain_destroy(s.chain);
    vf_circulant_destroy(s.inverse);
    vf_circulant_destroy(s.held);
    vf_array_free(&s.b);
    vf_array_free(&s.x);
    vf_array_free(&s.even);
    vf_array_free(&s.unseen);
    free(s.result);
    return status;
}
