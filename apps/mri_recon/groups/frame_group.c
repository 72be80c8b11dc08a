/* Makes a group of frames of one trajectory on one team of devices: F^H d of all frames first. Then its memory is
 * freed, and Q (once) and the solver follow. */
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "frames/summary.h"
#include "noise/envelope.h"
#include "noise/partial_fourier.h"
#include "noise/regularise.h"
#include "noise/sparse.h"
#include "series.h"
#include "solve_group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_operators.h"
#include "voxfield/statistics.h"

/* The tolerance of a first solution that is only used for the phase of low frequencies. */
static const double ROUGH_PHASE = 1e-3;
/* The approximate share of F^H d in a frame's time if a solver follows; for the progress line. */
static const double BEFORE_SOLVING = 0.25;

static const scan_frame *frame_of(const recon_job *j, const frame_group *g, int f)
{
    return j->frames[g->first + f];
}

/* ---- F^H d ---- */

/* Grows c->envelope to `count` envelopes. */
static vf_status make_envelopes(crew *c, int count)
{
    if (count <= c->envelopes)
        return VF_OK;
    frame_envelope *more = realloc(c->envelope, (size_t)count * sizeof *more);
    if (!more)
        return vf_fail(c->job->ctx, VF_ERR_MEMORY, "no memory");
    memset(more + c->envelopes, 0, (size_t)(count - c->envelopes) * sizeof *more);
    c->envelope = more;
    c->envelopes = count;
    return VF_OK;
}

vf_status crew_adjoints(crew *c, const frame_group *g, bool envelopes, char *images)
{
    const recon_job *j = c->job;
    const recon_method method = j->solve->method;
    const bool even = method == RECON_GRIDDING || method == RECON_BILINEAR;
    right_side *side = NULL;
    vf_status status = envelopes ? make_envelopes(c, g->count) : VF_OK;
    for (int f = 0; f < g->count && status == VF_OK; f++)
        status = place_maps(c, frame_of(j, g, f));
    if (status == VF_OK)
        status = right_side_create(&c->team, j->solve, j->scan, &j->scan->trajectory[g->trajectory], c->watch, &side);
    if (status == VF_OK)
        snprintf(c->summary.encoding, sizeof c->summary.encoding, "%s", right_side_description(side));
    if (status == VF_OK)
        watch_stage(c->watch, "F^H d",
                    (double)g->count * j->scan->coils * (envelopes && !frame_of(j, g, 0)->replica ? 2 : 1));
    watch_part(c->watch, g->count * (method == RECON_CG ? BEFORE_SOLVING : 1));
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        const scan_frame *frame = frame_of(j, g, f);
        char *image = images + (size_t)f * frame_bytes(j);
        status = crew_adjoint(c, side, frame, even, image);
        VF_TRY(status, found_image(c, frame, image));
        if (status == VF_OK && envelopes)
            status = envelope_of_frame(c, side, frame, &c->envelope[f]);
    }
    right_side_destroy(side);
    return status;
}

/* Finds the power of a place if the team that should have made its first frame failed. */
static vf_status find_power(crew *c, const scan_frame *first)
{
    const recon_job *j = c->job;
    const scan_trajectory *at = &j->scan->trajectory[first->trajectory];
    recon_watch silent = {.mode = VF_PROGRESS_OFF};
    right_side *side = NULL;
    char *image = malloc(frame_bytes(j));
    vf_status status = image ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image");
    VF_TRY(status, right_side_create(&c->team, j->solve, j->scan, at, &silent, &side));
    VF_TRY(status, crew_adjoint(c, side, first, false, image));
    VF_TRY(status, found_image(c, first, image));
    right_side_destroy(side);
    free(image);
    return status;
}

vf_status crew_power(crew *c, const scan_frame *frame, double *power)
{
    vf_status status = VF_OK;
    while (status == VF_OK && !place_power(c, frame, power))
        status = find_power(c, c->job->place[frame->place].first);
    return status;
}

/* ---- the solver ---- */

static bool shares_channels(const recon_job *j)
{
    return j->channels > 1;
}

/* With maps, the devices solve one system together, and each takes some coils. Without maps, each coil is a system of
 * its own, and the devices share the systems. So at most one device per coil is used. */
int crew_normals(const recon_job *j, int devices)
{
    const int most = j->solve->method == RECON_CG ? j->scan->coils : 0;
    return most < devices ? most : devices;
}

static void free_solvers(crew *c)
{
    for (int d = 0; d < c->solvers; d++) {
        device_solver *s = &c->solver[d];
        vf_array_free(&s->b);
        vf_array_free(&s->x);
        vf_operator_free(s->normal);
        vf_prior_free(&s->known);
        vf_penalties_free(s->penalties);
        vf_circulant_destroy(s->inverse);
        vf_circulant_destroy(s->held);
        vf_array_free(&s->unseen);
        if (!c->shared)
            vf_normal_free(&c->normal[d]);
    }
    free(c->solver);
    if (!c->shared)
        free(c->normal);
    c->solver = NULL;
    c->normal = NULL;
    c->solvers = 0;
}

static vf_status make_prior(const recon_job *j, vf_queue *queue, vf_prior *out)
{
    const solve_settings *settings = j->solve;
    const mri_scan *raw = j->scan;
    const vf_prior_options options = {.kind = (vf_prior_kind)settings->prior,
                                      .precision = settings->precision,
                                      .counts = {raw->matrix[0], raw->matrix[1], raw->matrix[2]},
                                      .circulant = settings->lambda_auto,
                                      .references = raw->references,
                                      .reference = raw->reference};
    return vf_prior_create(queue, &options, out);
}

static vf_status prepare_device(crew *c, int d)
{
    const recon_job *j = c->job;
    device_solver *s = &c->solver[d];
    vf_queue *queue = c->team.queue[d];
    s->queue = queue;
    if (d > 0 && !shares_channels(j))
        return VF_OK;
    vf_status status = make_prior(j, queue, &s->known);
    if (status == VF_OK && !j->has_maps)
        status = vf_normal_operator(vf_queue_device(queue), j->solve->precision, j->voxels, &c->normal[d], 1, NULL,
                                    &s->normal);
    return status == VF_OK ? crew_make_vectors(c, d, 1) : status;
}

vf_status crew_prepare(crew *c, int trajectory)
{
    const recon_job *j = c->job;
    const int wanted = crew_normals(j, c->team.count);
    c->normal = c->shared ? c->shared : calloc((size_t)wanted + 1, sizeof *c->normal);
    c->solver = calloc((size_t)wanted + 1, sizeof *c->solver);
    vf_status status = c->normal && c->solver ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && !c->shared)
        status = normal_matrix_create(&c->team, j->solve, j->scan, &j->scan->trajectory[trajectory], c->watch, wanted,
                                      c->normal);
    if (status == VF_OK) {
        c->solvers = wanted;
        c->trajectory = trajectory;
        c->sets = 1;
        snprintf(c->summary.normal, sizeof c->summary.normal, "%s", c->normal->description);
        watch_stage(c->watch, "solve", 0);
    }
    for (int d = 0; d < wanted && status == VF_OK; d++)
        status = prepare_device(c, d);
    if (status != VF_OK)
        free_solvers(c);
    return status;
}

/* The frame in progress. */
typedef struct solving {
    crew *crew;
    const scan_frame *frame;
    double tolerance;
    bool rough; /* a first solution; it does not complete the frame's progress */
    bool sparse;
    bool again; /* with the numbers of iterations in `result` */
    char *images;
    int sets;
    double power;
    solve_result *result; /* [channel] */
} solving;

static bool tell(void *user, int iteration, double residual)
{
    const crew *c = user;
    char text[96];
    snprintf(text, sizeof text, "solving, iteration %d of %d, residual %.1e:", iteration, c->request->iterations,
             residual);
    watch_title(c->watch, text);
    watch_add(c->watch, 1);
    return false;
}

/* Solves for a channel on device d, or with maps for all of a frame's images on all devices. */
static vf_status solve_channel(const solving *w, int d, int channel)
{
    crew *c = w->crew;
    const recon_job *j = c->job;
    device_solver *s = &c->solver[d];
    solve_result *result = &w->result[channel];
    const size_t image_bytes = (size_t)(w->sets * j->voxels) * vf_dtype_bytes(j->type);
    char *image = w->images + (size_t)channel * image_bytes;
    vf_array b = s->b, x = s->x;
    b.count = x.count = w->sets * j->voxels;
    const sparse_problem problem = sparse_problem_of(c, s);
    const solve_options options = {.precision = j->solve->precision,
                                   .iterations = w->again ? result->iterations : c->request->iterations,
                                   .tolerance = w->again ? 0 : w->tolerance,
                                   .input = j->scan->path,
                                   .lambda_auto = j->solve->lambda_auto};
    vf_status status = vf_queue_copy(s->queue, s->b.data, image, image_bytes);
    VF_TRY(status, w->sparse ? solve_sparse(j->ctx, &options, s->normal, s->queue, &problem, &b, &x, tell, c, result)
                             : solve(j->ctx, &options, s->normal, &s->known, s->queue, &b, &x, tell, c, result));
    VF_TRY(status, vf_queue_copy(s->queue, image, s->x.data, image_bytes));
    VF_TRY(status, vf_queue_sync(s->queue));
    if (status == VF_OK && !w->rough)
        watch_add(c->watch, c->request->iterations - result->iterations);
    return status;
}

/* Solves for device d's share of the channels, one by one. */
static vf_status solve_channels(void *user, int d)
{
    const solving *w = user;
    vf_status status = VF_OK;
    const int all = w->crew->job->channels, devices = shares_channels(w->crew->job) ? w->crew->solvers : 1;
    for (int i = (int)team_cut(all, 1, devices, d); i < team_cut(all, 1, devices, d + 1) && status == VF_OK; i++)
        status = solve_channel(w, d, i);
    return status;
}

/* If one side of k-space is missing, takes the phase from a first solution, unless there are two sets of maps. `images`
 * is F^H d, which stays unchanged. */
static vf_status solve_for_phase(const solving *now, const scan_frame *frame, double power, const char *images)
{
    crew *c = now->crew;
    const recon_job *j = c->job;
    solve_result result;
    double reach[3];
    if (!c->request->own)
        return VF_OK;
    const bool one_sided = partial_fourier(j->noise, j->solve, j->coils, j->scan, frame->trajectory, reach);
    if (!one_sided || now->sets > 1 || now->sparse) {
        if (one_sided)
            snprintf(c->summary.phase, sizeof c->summary.phase,
                     "one side of k-space is missing; nothing compensates for it, because %s",
                     now->sparse ? "the prior is sparse" : "there are two sets of maps");
        else
            c->summary.phase[0] = '\0';
        return VF_OK;
    }
    char *image = frame->replica ? NULL : malloc(frame_bytes(j));
    vf_status status =
        image || frame->replica ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image without its phase");
    if (image)
        memcpy(image, images, frame_bytes(j));
    const solving w = {.crew = c,
                       .tolerance = fmax(c->request->tolerance, ROUGH_PHASE),
                       .rough = true,
                       .images = image,
                       .sets = now->sets,
                       .result = &result};
    if (image)
        status = solve_channel(&w, 0, 0);
    VF_TRY(status, constrain_phase(c, frame, power, reach, image));
    free(image);
    return status;
}

/* Solves for all channels. */
static vf_status solve_images(solving *w)
{
    const crew *c = w->crew;
    return team_run(&c->team, shares_channels(c->job) ? c->solvers : 1, solve_channels, w);
}

/* A sure_estimate. */
static vf_status estimate(void *user, double factor, bool again, const void *b, void *x, double *data)
{
    solving *w = user;
    crew *c = w->crew;
    recon_job *j = c->job;
    w->images = x;
    w->again = again;
    j->factor = factor;
    memcpy(x, b, (size_t)(j->channels * w->sets * j->voxels) * vf_dtype_bytes(j->type));
    vf_status status = again ? VF_OK : sparse_frame(c, w->frame, w->power);
    VF_TRY(status, solve_images(w));
    *data = 0;
    for (int i = 0; i < j->channels && status == VF_OK; i++) {
        *data += w->result[i].data;
        j->sure_applications += w->result[i].applications;
    }
    return status;
}

static vf_status solve_frame(crew *c, const scan_frame *frame, const frame_envelope *envelope, char *images)
{
    recon_job *j = c->job;
    recon_summary *summary = &c->summary;
    const group_request *request = c->request;
    solving w = {.crew = c,
                 .frame = frame,
                 .tolerance = request->tolerance,
                 .rough = request->search != NULL,
                 .power = 1,
                 .sparse = request->sparse,
                 .images = images,
                 .sets = frame_sets(j, frame),
                 .result = calloc((size_t)j->channels, sizeof *w.result)};
    vf_status status = w.result ? crew_power(c, frame, &w.power) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    if (status == VF_OK && j->has_maps)
        status = crew_give_coils(c, frame);
    VF_TRY(status, regularise_frame(c, frame, w.power, envelope));
    if (status == VF_OK && request->sparse)
        status = sparse_frame(c, frame, w.power);
    if (status == VF_OK && request->sparse)
        w.tolerance = sparse_tolerance(j, summary);
    VF_TRY(status, solve_for_phase(&w, frame, w.power, images));
    if (status == VF_OK)
        status = request->search ? request->search(c, images, j->channels * w.sets * j->voxels, estimate, &w)
                                 : solve_images(&w);
    for (int i = 0; i < j->channels && status == VF_OK; i++) {
        summary_add(summary, &w.result[i], i == 0);
        if (request->own)
            effort_add(j, frame, &w.result[i], i == 0);
        if (request->effort)
            request->effort->iterations += w.result[i].iterations;
    }
    if (request->effort && status == VF_OK)
        request->effort->images++;
    free(w.result);
    return status;
}

void crew_stage_solve(crew *c, int frames, double work)
{
    watch_stage(c->watch, "solve", work);
    watch_part(c->watch, frames * (1 - BEFORE_SOLVING));
}

static vf_status solve_frames(crew *c, const frame_group *g, char *images)
{
    const recon_job *j = c->job;
    vf_status status = c->solvers ? VF_OK : crew_prepare(c, g->trajectory);
    if (status == VF_OK)
        crew_stage_solve(c, g->count, (double)g->count * j->channels * c->request->iterations);
    for (int f = 0; f < g->count && status == VF_OK; f++)
        status = solve_frame(c, frame_of(j, g, f), c->envelope ? &c->envelope[f] : NULL,
                             images + (size_t)f * frame_bytes(j));
    return status;
}

/* ---- all of it ---- */

static void note_encoding(const crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    const char *text = c->summary.encoding;
    for (int f = 0; j->effort && c->request->own && f < g->count && !frame_of(j, g, f)->replica; f++) {
        frame_effort *effort = &j->effort[frame_of(j, g, f) - j->scan->frame];
        snprintf(effort->encoding, sizeof effort->encoding, "%.*s", (int)strcspn(text, ","), text);
    }
}

/* The frames' own images. */
static group_request own_request(const solve_settings *settings)
{
    return (group_request){.own = true,
                           .sparse = settings->sparse > 0,
                           .lambda = settings->sparse > 0 ? 1 : settings->lambda,
                           .tolerance = settings->tolerance,
                           .iterations = settings->iterations};
}

/* The words before the stage in the progress line. */
static void name_group(const crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    char *which = c->watch->which;
    const size_t size = sizeof c->watch->which;
    const int number = (int)(frame_of(j, g, 0) - j->scan->frame) + 1, frames = j->scan->frames;
    if (frame_of(j, g, 0)->replica)
        snprintf(which, size, "noise, replicas up to %d of %d: ", g->first + g->count, j->frame_count);
    else if (g->count < frames && g->count > 1)
        snprintf(which, size, "frame %d and %d more of %d: ", number, g->count - 1, frames);
    else if (c->request->name)
        snprintf(which, size, "%s", c->request->name);
    else if (g->count < frames)
        snprintf(which, size, "frame %d of %d: ", number, frames);
    else
        which[0] = '\0';
}

static vf_status make_images(crew *c, const frame_group *g, char *images)
{
    const recon_job *j = c->job;
    const bool together = solves_series(j->solve) && c->request->sparse;
    if (c->solvers && (together || c->trajectory != g->trajectory))
        free_solvers(c);
    vf_status status = claim_powers(c, g);
    if (status == VF_OK)
        status =
            together ? crew_solve_series(c, g, images) : crew_adjoints(c, g, regularise_by_noise(j->solve), images);
    if (status == VF_OK && c->request->prepare && !together)
        status = c->request->prepare(c, g);
    if (status == VF_OK && j->solve->method == RECON_CG && !together)
        status = solve_frames(c, g, images);
    leave_powers(c);
    return status;
}

vf_status crew_make_group(crew *c, const frame_group *g, const group_request *request, char *images)
{
    const recon_job *j = c->job;
    const int frames = g->count - g->skip - g->drop - g->after, last = g->first + g->count - 1;
    const group_request own = own_request(j->solve);
    const recon_summary before = c->summary;
    const double begin = vf_now();
    c->request = request ? request : &own;
    name_group(c, g);
    const vf_status status = make_images(c, g, images);
    watch_part_ends(c->watch, status == VF_OK ? frames : 0);
    if (status == VF_OK)
        note_encoding(c, g);
    c->request = NULL;
    if (status != VF_OK) {
        c->summary = before;
        return status;
    }
    if (last < c->last) /* taken over from a failed team */
        summary_take_last(&c->summary, &before);
    else
        c->last = last;
    for (int d = 0; d < c->team.count; d++) {
        c->summary.device[c->team.first + d].frames += frames;
        c->summary.device[c->team.first + d].seconds += vf_now() - begin;
    }
    return VF_OK;
}

void crew_free(crew *c)
{
    free_solvers(c);
    device_maps_free(&c->maps);
    free(c->density);
    for (int f = 0; f < c->envelopes; f++)
        free(c->envelope[f].values);
    free(c->envelope);
    free(c->claim);
    free(c->probe);
    team_free(&c->team);
}
