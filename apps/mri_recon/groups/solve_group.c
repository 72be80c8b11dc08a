/* Solves for frames of one place. A frame is solved for alone, as a series of one, unless a prior couples it with others: then
 * all frames of the group are, and their vectors are [frame][voxels].
 *
 * If the frames of a series differ in noise, the sum of squares of frame f is weighted by v_f = sigma^2 / sigma_f^2, as maximum
 * likelihood requires. So its F^H W F and F^H W d are multiplied by v_f, and the noise in F^H W d by sqrt(v_f). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/frame_images.h"
#include "frames/summary.h"
#include "noise/noise_level.h"
#include "noise/partial_fourier.h"
#include "noise/regularise.h"
#include "noise/sparse.h"
#include "solve_group.h"
#include "voxfield/vector.h"

/* The tolerance of a first solution that is only used for the phase of low frequencies. */
static const double ROUGH_PHASE = 1e-3;

/* The frames in progress. */
typedef struct solving {
    crew *crew;
    const frame_group *group;
    const frame_envelope *envelope;
    double power, tolerance;
    bool rough; /* a first solution; it does not complete the frame's progress */
    bool again; /* with the numbers of iterations in `result` */
    int sets;
    char *images;         /* as those of crew_make_group */
    solve_result *result; /* [channel] */
} solving;

/* Who hears of iterations: the progress line and, if this solution is the first frame's, its curve. */
typedef struct listener {
    crew *crew;
    residual_curve *curve; /* NULL: not kept */
} listener;

static void keep_residual(residual_curve *curve, int iteration, double residual)
{
    if (iteration <= curve->count || curve->count == 0)
        curve->count = 0; /* a first image came before */
    if (curve->count < RECON_MOST_RESIDUALS)
        curve->value[curve->count++] = residual;
}

static bool tell(void *user, int iteration, double residual)
{
    const listener *l = user;
    const crew *c = l->crew;
    char text[96];
    if (l->curve)
        keep_residual(l->curve, iteration, residual);
    snprintf(text, sizeof text,
             "solving%s, iteration %d of %d, residual %.1e:", c->request->series ? " for all frames" : "", iteration,
             c->request->iterations, residual);
    watch_title(c->watch, text);
    watch_add(c->watch, 1);
    return false;
}

/* The images that a solution starts from, or NULL. Both solutions of sure_estimate start from 0: what they start from must not
 * depend on the data. */
static const char *start_of(const solving *w)
{
    const recon_job *j = w->crew->job;
    const group_request *request = w->crew->request;
    const scan_frame *frame = j->frames[w->group->first];
    const bool first = request->own && request->sparse && !request->series && frame == j->first_of;
    return request->search || w->rough ? NULL : first ? j->first_image : request->start;
}

/* Copies a channel of the images to start from to x. */
static vf_status transfer_start(const solving *w, const device_solver *s, int channel)
{
    const int64_t count = w->sets * w->crew->job->voxels;
    const size_t bytes = (size_t)count * vf_dtype_bytes(w->crew->job->type);
    return vf_queue_copy(s->queue, s->x.data, start_of(w) + (size_t)channel * bytes, bytes);
}

/* Copies a channel of all frames to b, times the frames' weights, or back from x. */
static vf_status transfer(const solving *w, const device_solver *s, int channel, bool back)
{
    const recon_job *j = w->crew->job;
    const int64_t count = w->sets * j->voxels;
    const size_t bytes = (size_t)count * vf_dtype_bytes(j->type);
    vf_status status = VF_OK;
    for (int f = 0; f < w->group->count && status == VF_OK; f++) {
        const double weight = frame_weight(w->crew, j->frames[w->group->first + f]);
        char *image = w->images + (size_t)f * frame_bytes(j) + (size_t)channel * bytes;
        void *there = vf_array_at(back ? &s->x : &s->b, f * count);
        status = vf_queue_copy(s->queue, back ? (void *)image : there, back ? there : (void *)image, bytes);
        if (status == VF_OK && !back && weight != 1)
            status = vf_vector_axpby(s->queue, j->type, count, weight, there, 0, there);
    }
    return status == VF_OK && back ? vf_queue_sync(s->queue) : status;
}

/* Solves for a channel, or with maps for all of a frame's images, with the solver of device d. */
static vf_status solve_channel(const solving *w, int d, int channel)
{
    crew *c = w->crew;
    const recon_job *j = c->job;
    device_solver *s = &c->solver[d];
    solve_result *result = &w->result[channel];
    const scan_frame *first = j->frames[w->group->first];
    const bool keeps = channel == 0 && !w->rough && !first->replica && first == j->scan->frame;
    listener hears = {c, keeps ? &c->summary.curve : NULL};
    vf_array b = s->b, x = s->x;
    b.count = x.count = w->group->count * w->sets * j->voxels;
    const solve_options options = {.precision = j->solve->precision,
                                   .iterations = w->again ? result->iterations : c->request->iterations,
                                   .tolerance = w->again ? 0 : w->tolerance,
                                   .energy = w->again ? 0 : c->request->energy,
                                   .warm = start_of(w) != NULL,
                                   .input = j->scan->path,
                                   .lambda_auto = j->solve->lambda_auto,
                                   .tell = tell,
                                   .user = &hears};
    vf_status status = transfer(w, s, channel, false);
    if (status == VF_OK && options.warm)
        status = transfer_start(w, s, channel);
    VF_TRY(status, c->request->sparse ? solve_sparse(&options, s->normal, &s->sparse, s->queue, &b, &x, result)
                                      : solve(&options, s->normal, &s->known, s->queue, &b, &x, result));
    if (status == VF_OK && c->applied) { /* one frame, without weights */
        const size_t bytes = (size_t)x.count * vf_dtype_bytes(j->type);
        status = vf_operator_forward(s->normal, s->queue, s->x.data, s->b.data);
        VF_TRY(status, vf_queue_copy(s->queue, c->applied + (size_t)channel * bytes, s->b.data, bytes));
    }
    VF_TRY(status, transfer(w, s, channel, true));
    if (status == VF_OK && !w->rough)
        watch_add(c->watch, c->request->iterations - result->iterations);
    return status;
}

/* Solves for the share of the channels that solver d has, one by one. */
static vf_status solve_channels(void *user, int d)
{
    const solving *w = user;
    vf_status status = VF_OK;
    const int all = w->crew->job->channels, solvers = w->crew->solvers;
    for (int i = (int)team_cut(all, 1, solvers, d); i < team_cut(all, 1, solvers, d + 1) && status == VF_OK; i++)
        status = solve_channel(w, d, i);
    return status;
}

static vf_status solve_images(solving *w)
{
    return team_run(&w->crew->team, w->crew->solvers, solve_channels, w);
}

/* If one side of k-space is missing, takes the phase from a first solution, unless there are two sets of maps. The images
 * are F^H d, which stays unchanged. */
static vf_status solve_for_phase(const solving *now)
{
    crew *c = now->crew;
    const recon_job *j = c->job;
    const scan_frame *frame = j->frames[now->group->first];
    solve_result result;
    double reach[3];
    if (!c->request->own || c->request->series)
        return VF_OK;
    const bool one_sided = partial_fourier(j->ctx, j->noise, j->solve, j->coils, j->scan, frame->trajectory, reach);
    if (!one_sided || now->sets > 1 || c->request->sparse) {
        if (one_sided)
            snprintf(c->summary.last.phase, sizeof c->summary.last.phase,
                     "one side of k-space is missing; nothing compensates for it, because %s",
                     c->request->sparse ? "the prior is sparse" : "there are two sets of maps");
        else
            c->summary.last.phase[0] = '\0';
        return VF_OK;
    }
    char *image = frame->replica ? NULL : malloc(frame_bytes(j));
    vf_status status =
        image || frame->replica ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image without its phase");
    solving first = *now;
    first.tolerance = fmax(c->request->tolerance, ROUGH_PHASE);
    first.rough = true;
    first.images = image;
    first.result = &result;
    if (image) {
        copy_images(j, image, now->images, frame_bytes(j));
        status = solve_channel(&first, 0, 0);
    }
    VF_TRY(status, constrain_phase(c, frame, now->power, reach, image));
    free(image);
    return status;
}

/* The numbers of all images. */
static int64_t numbers(const solving *w)
{
    const recon_job *j = w->crew->job;
    return w->group->count * j->channels * w->sets * j->voxels;
}

/* A sure_estimate. */
static vf_status estimate(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    solving *w = user;
    recon_job *j = w->crew->job;
    w->images = x;
    w->again = again;
    copy_images(j, x, b, (size_t)numbers(w) * vf_dtype_bytes(j->type));
    vf_status status = VF_OK;
    if (w->crew->request->sparse) {
        j->choice.factor = factor;
        sparse_weigh(w->crew);
    } else if (!again)
        status = regularise_frames(w->crew, w->group, w->power, w->envelope);
    VF_TRY(status, solve_images(w));
    *data = 0;
    for (int i = 0; i < j->channels && status == VF_OK; i++) {
        *data += w->result[i].data;
        j->choice.applications += w->result[i].applications;
    }
    return status;
}

/* Of a series, the last frame that it delivers has all effort. */
static void sum_up(const solving *w)
{
    crew *c = w->crew;
    const recon_job *j = c->job;
    const frame_group *g = w->group;
    group_effort *effort = c->request->effort;
    for (int i = 0; i < j->channels; i++) {
        summary_add(&c->summary, &w->result[i], i == 0);
        if (c->request->own)
            effort_add(j, j->frames[g->first + g->count - g->drop - g->after - 1], &w->result[i], i == 0);
        if (effort)
            effort->iterations += w->result[i].iterations;
    }
    if (effort)
        effort->images++;
}

vf_status crew_solve(crew *c, const frame_group *g, const frame_envelope *envelope, char *images)
{
    const recon_job *j = c->job;
    const scan_frame *first = j->frames[g->first];
    const group_request *request = c->request;
    solving w = {.crew = c,
                 .group = g,
                 .envelope = envelope,
                 .power = 1,
                 .tolerance = request->tolerance,
                 .rough = request->search != NULL,
                 .sets = frame_sets(j, first),
                 .images = images,
                 .result = calloc((size_t)j->channels, sizeof *w.result)};
    vf_status status = w.result ? crew_power(c, first, &w.power) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, crew_give_frames(c, g));
    VF_TRY(status, regularise_frames(c, g, w.power, envelope));
    if (status == VF_OK && request->sparse)
        status = sparse_frames(c, g, w.power);
    if (status == VF_OK && request->sparse)
        w.tolerance = sparse_tolerance(c);
    VF_TRY(status, solve_for_phase(&w));
    if (status == VF_OK)
        status = request->search ? request->search(c, images, numbers(&w), estimate, &w) : solve_images(&w);
    if (status == VF_OK)
        sum_up(&w);
    free(w.result);
    return status;
}
