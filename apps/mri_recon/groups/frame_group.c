/* Makes a group of frames on one team of devices: F^H d of all frames first. Then its memory is freed, and Q (once a
 * trajectory) and the solver follow. */
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "frames/summary.h"
#include "noise/envelope.h"
#include "solve_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Of frames [first, end) of the group, which have one trajectory, and the maps of their places. */
static vf_status adjoints_of_trajectory(crew *c, const frame_group *g, int first, int end, bool envelopes, char *images)
{
    const recon_job *j = c->job;
    const recon_method method = j->solve->method;
    const bool even = method == RECON_GRIDDING || method == RECON_BILINEAR;
    const scan_frame *one = frame_of(j, g, first);
    right_side *side = NULL;
    vf_status status = VF_OK;
    for (int f = first; f < end && status == VF_OK; f++)
        status = place_maps(c, frame_of(j, g, f));
    VF_TRY(status,
           right_side_create(&c->team, j->solve, j->scan, &j->scan->trajectory[one->trajectory], c->watch, &side));
    if (status == VF_OK) {
        snprintf(c->summary.last.encoding, sizeof c->summary.last.encoding, "%s", right_side_description(side));
        watch_stage(c->watch, "F^H d", (double)(end - first) * j->scan->coils * (envelopes && !one->replica ? 2 : 1));
    }
    watch_part(c->watch, (end - first) * (method == RECON_CG ? BEFORE_SOLVING : 1));
    for (int f = first; f < end && status == VF_OK; f++) {
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

/* Keeps F^H d of a first image: the next image of the frame, a better first one or its own, needs the same. */
static void keep(crew *c, const frame_group *g, bool envelopes, const char *image)
{
    const recon_job *j = c->job;
    c->kept_of = NULL;
    if (g->count > 1 || c->request->own || frame_of(j, g, 0)->replica || j->solve->method != RECON_CG)
        return;
    if (!c->kept)
        c->kept = malloc(frame_bytes(j));
    vf_large_pages(c->kept, frame_bytes(j));
    if (!c->kept) /* then it is made again */
        return;
    copy_images(j, c->kept, image, frame_bytes(j));
    memcpy(c->kept_encoding, c->summary.last.encoding, sizeof c->kept_encoding);
    c->kept_of = frame_of(j, g, 0);
    c->kept_envelope = envelopes;
}

static void drop_kept(crew *c)
{
    free(c->kept);
    c->kept = NULL;
    c->kept_of = NULL;
}

static vf_status take_kept(crew *c, const frame_group *g, char *image)
{
    copy_images(c->job, image, c->kept, frame_bytes(c->job));
    memcpy(c->summary.last.encoding, c->kept_encoding, sizeof c->kept_encoding);
    watch_part(c->watch, BEFORE_SOLVING);
    if (c->request->own)
        drop_kept(c);
    return found_image(c, frame_of(c->job, g, 0), image);
}

static vf_status adjoints(crew *c, const frame_group *g, bool envelopes, char *images)
{
    if (g->count == 1 && c->kept_of == frame_of(c->job, g, 0) && (c->kept_envelope || !envelopes))
        return take_kept(c, g, images);
    vf_status status = envelopes ? make_envelopes(c, g->count) : VF_OK;
    for (int f = 0, next = 0; f < g->count && status == VF_OK; f = next) {
        while (next < g->count && frame_of(c->job, g, next)->trajectory == frame_of(c->job, g, f)->trajectory)
            next++;
        status = adjoints_of_trajectory(c, g, f, next, envelopes, images);
    }
    if (status == VF_OK)
        keep(c, g, envelopes, images);
    else
        drop_kept(c);
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

/* A frame alone is a series of one. */
static vf_status solve_frames(crew *c, const frame_group *g, char *images)
{
    const recon_job *j = c->job;
    const int problems = c->request->series ? 1 : g->count;
    vf_status status = c->solvers ? VF_OK : crew_prepare(c, g);
    if (status == VF_OK) {
        snprintf(c->summary.last.normal, sizeof c->summary.last.normal, "%s", c->share->of[0]->description);
        watch_stage(c->watch, "solve", (double)problems * j->channels * c->request->iterations);
        watch_part(c->watch, g->count * (1 - BEFORE_SOLVING));
    }
    for (int f = 0; f < problems && status == VF_OK; f++) {
        const frame_group one = {.trajectory = g->trajectory, .first = g->first + f, .count = 1};
        status = crew_solve(c, c->request->series ? g : &one, c->envelope ? &c->envelope[f] : NULL,
                            images + (size_t)f * frame_bytes(j));
    }
    return status;
}

/* ---- all of it ---- */

static void note_encoding(const crew *c, const frame_group *g)
{
    const recon_job *j = c->job;
    const char *text = c->summary.last.encoding;
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
                           .series = solves_series(settings),
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
    const bool series = c->request->series;
    if (series || c->trajectory != g->trajectory)
        crew_free_solvers(c);
    vf_status status = claim_powers(c, g);
    VF_TRY(status, adjoints(c, g, regularise_by_noise(j->solve) && !series, images));
    if (status == VF_OK && c->request->prepare)
        status = c->request->prepare(c, g);
    if (status == VF_OK && j->solve->method == RECON_CG)
        status = solve_frames(c, g, images);
    if (series)
        crew_free_solvers(c);
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
        c->summary.last = before.last;
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
    crew_free_solvers(c);
    device_maps_free(&c->maps);
    free(c->density_room);
    free(c->map_power);
    for (int f = 0; f < c->envelopes; f++)
        free(c->envelope[f].values);
    free(c->envelope);
    free(c->kept);
    free(c->claim);
    free(c->probe);
    team_free(&c->team);
}
