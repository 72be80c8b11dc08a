/* Reconstructs all frames: cuts them into groups that fit in memory, and shares the groups among teams of devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coil_maps.h"
#include "coils/choose_maps.h"
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "frames/summary.h"
#include "group_list.h"
#include "groups/choose_lambda.h"
#include "groups/frame_noise.h"
#include "groups/solve_group.h"
#include "noise/noise_level.h"
#include "noise/noise_map.h"
#include "noise/reference_fit.h"
#include "plan_device.h"
#include "reconstruct.h"
#include "voxfield/ranks.h"
#include "voxfield/workpool.h"
#include "windows.h"

/* Warn if the residual is larger than this multiple of the known noise. Because voxels only approximate the object, two
 * or three is normal. */
static const double MUCH_MORE_THAN_NOISE = 5;
/* Without a noise scan, what seems to be noise may be too little. So the residual must also be a share of the data that no error
 * of coil maps leaves. */
static const double FAR_MORE_THAN_NOISE = 10, MUCH_OF_THE_DATA = 0.03;

/* All frame groups of a scan, and the crews that make them. */
typedef struct sharing {
    recon_job *job;
    const schedule_settings *schedule;
    recon_watch *watch;
    recon_put put;
    void *user;
    recon_sharing how;
    group_list list;
    crew *crew;        /* [how.teams] */
    int *number;       /* [how.teams] the teams' numbers: 0, 1, ... */
    recon_watch *own;  /* [how.teams] the teams' watches; NULL: the only team uses the caller's */
    device_team whole; /* all devices; used for several teams and one trajectory, else empty */
    vf_normal *normal; /* F^H W F on each device of `whole` */
    int slots;
    char **images;        /* [slots] the images of a group */
    char *shared;         /* the images that a window shares with the next one */
    float complex *image; /* [most_sets][voxels] a frame's image for `put` */
} sharing;

/* ---- images ---- */

static vf_status make_slots(sharing *s)
{
    const recon_job *j = s->job;
    s->images = calloc((size_t)s->slots, sizeof *s->images);
    s->image = malloc((size_t)(j->most_sets * j->voxels) * sizeof *s->image);
    int shared = 0;
    for (int g = 0; g < s->list.count; g++)
        shared = s->list.group[g].after > shared ? s->list.group[g].after : shared;
    s->shared = malloc((size_t)shared * frame_bytes(j) + 1);
    bool all = s->images && s->image && s->shared;
    vf_large_pages(s->image, (size_t)j->voxels * sizeof *s->image);
    for (int i = 0; all && i < s->slots; i++) {
        s->images[i] = malloc((size_t)s->list.most * frame_bytes(j) + 1);
        vf_large_pages(s->images[i], (size_t)s->list.most * frame_bytes(j));
        all = s->images[i];
    }
    return all ? VF_OK
               : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the images of %d coils, %lld voxels each", j->channels,
                         (long long)j->voxels);
}

/* ---- teams ---- */

/* If the scan has one trajectory and there are several teams: makes F^H W F once, on all devices. */
static vf_status make_normal(sharing *s)
{
    const recon_job *j = s->job;
    const int devices = s->how.teams * s->how.each;
    const bool wanted = solves_series(j->solve) || crew_normals(j, s->how.each) == s->how.each;
    if (s->how.teams == 1 || j->scan->trajectories > 1 || !wanted)
        return VF_OK;
    s->normal = calloc((size_t)devices, sizeof *s->normal);
    vf_status status = s->normal ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, team_create(j->ctx, 0, devices, &s->whole));
    if (status == VF_OK)
        status = normal_matrix_create(&s->whole, j->solve, j->scan, j->scan->trajectory, s->watch, devices, s->normal);
    return status;
}

static vf_status make_crews(sharing *s)
{
    const recon_job *j = s->job;
    vf_status status = VF_OK;
    s->crew = calloc((size_t)s->how.teams, sizeof *s->crew);
    s->number = calloc((size_t)s->how.teams, sizeof *s->number);
    s->own = s->how.teams > 1 ? calloc((size_t)s->how.teams, sizeof *s->own) : NULL;
    if (!s->crew || !s->number || (s->how.teams > 1 && !s->own))
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int t = 0; t < s->how.teams && status == VF_OK; t++) {
        crew *c = &s->crew[t];
        s->number[t] = t;
        *c = (crew){.job = s->job,
                    .watch = s->own ? &s->own[t] : s->watch,
                    .summary = {.converged = true},
                    .last = -1,
                    .shared = s->normal ? &s->normal[t * s->how.each] : NULL};
        if (s->own)
            s->own[t] = (recon_watch){.mode = VF_PROGRESS_OFF, .whole = s->watch};
        status = team_create(j->ctx, t * s->how.each, s->how.each, &c->team);
    }
    return status;
}

/* ---- frames ---- */

/* Combines a frame's channels, or its images of several sets, into one image. `image` has room for all sets. */
static vf_status finish_frame(const recon_job *j, const scan_frame *frame, const char *channels, float complex *image)
{
    const int64_t n = j->channels * frame_sets(j, frame) * j->voxels;
    float complex *narrow = NULL;
    const float complex *from = (const float complex *)(const void *)channels;
    if (j->type == VF_C128) {
        const double complex *wide = (const double complex *)(const void *)channels;
        narrow = malloc((size_t)n * sizeof *narrow);
        if (!narrow)
            return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for an image");
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (float complex)wide[i];
        from = narrow;
    }
    if (j->channels > 1)
        vf_root_sum_of_squares(j->channels, j->voxels, from, image);
    else
        copy_images(j, image, from, (size_t)n * sizeof *image);
    free(narrow);
    combine_sets(j, frame, image);
    return VF_OK;
}

static vf_status make_one_group(void *user, int worker, int slot, int64_t item)
{
    sharing *s = user;
    return crew_make_group(&s->crew[worker], &s->list.group[item], NULL, s->images[slot]);
}

static vf_status put_group(void *user, int slot, int64_t item)
{
    sharing *s = user;
    const recon_job *j = s->job;
    const frame_group *g = &s->list.group[item];
    vf_status status = VF_OK;
    if (!s->own)
        watch_stage(s->watch, "combine", 0);
    if (g->before + g->after > 0)
        window_blend(g, j->type, frame_bytes(j), s->images[slot], s->shared);
    for (int f = g->skip; f < g->count - g->drop - g->after && status == VF_OK; f++) {
        status = finish_frame(j, j->frames[g->first + f], s->images[slot] + (size_t)f * frame_bytes(j), s->image);
        if (status == VF_OK && frame_is_wanted(j, j->frames[g->first + f]))
            s->put(s->user, j->frames[g->first + f], s->image);
    }
    return status;
}

/* Gives up a team after a device error; the other teams make its frames. */
static void give_up(void *user, int number, const char *error)
{
    const sharing *s = user;
    for (int d = 0; d < s->how.each; d++)
        vf_device_give_up(vf_context_device(s->job->ctx, number * s->how.each + d), error);
}

typedef vf_status (*team_work)(crew *c, const frame_group *g, char *images);

/* Gives work that precedes the frames to the first team whose devices work. Its summary does not count. */
static vf_status on_a_team(sharing *s, const frame_group *g, team_work work)
{
    vf_status status = VF_OK;
    for (int t = 0; t < s->how.teams; t++) {
        crew *c = &s->crew[t];
        status = work(c, g, s->images[0]);
        c->summary = (recon_summary){.converged = true};
        c->last = -1;
        if (!vf_is_device_error(status) || t + 1 == s->how.teams)
            break;
        give_up(s, t, vf_context_message(s->job->ctx));
        vf_context_clear_error(s->job->ctx);
    }
    return status;
}

/* Estimates the noise from the samples, then refines it with a first image. */
static vf_status find_noise(sharing *s)
{
    recon_job *j = s->job;
    int frame = -1;
    if (!regularise_by_noise(j->solve) && !j->noise->map)
        return VF_OK;
    watch_stage(s->watch, "noise", 0);
    vf_status status = noise_from_samples(j, &frame);
    if (status != VF_OK || frame < 0 || j->solve->method != RECON_CG)
        return status;
    status = on_a_team(s, &(frame_group){.first = frame}, crew_find_noise);
    if (status == VF_OK && j->level.known && j->level.misfit > MUCH_MORE_THAN_NOISE * MUCH_MORE_THAN_NOISE)
        vf_warn(j->ctx,
                "%s: the residual of the samples is %.2g times the noise measured by the noise scan, so the coil maps, "
                "trajectory or field map do not fit the data, or the noise scan is of another gain or dwell time; try "
                "other maps (--coils espirit, walsh or a file), and check the trajectory's units and delays",
                j->scan->path, sqrt(j->level.misfit));
    else if (status == VF_OK && j->level.misfit > FAR_MORE_THAN_NOISE * FAR_MORE_THAN_NOISE &&
             j->level.unexplained > MUCH_OF_THE_DATA)
        vf_warn(j->ctx,
                "%s: the image leaves %.0f %% of the samples' energy unexplained, %.2g times the noise, so trajectory, "
                "coil maps "
                "or field map do not fit the data; check the order and units of the trajectory and its delays, or try "
                "other maps "
                "(--coils espirit, walsh or a file)",
                j->scan->path, 100 * j->level.unexplained, sqrt(j->level.misfit));
    return status;
}

/* --lambda sure. Without noise there is nothing to choose. */
static vf_status choose_lambda(sharing *s)
{
    recon_job *j = s->job;
    if (!j->solve->lambda_sure || !(j->level.variance > 0) || s->list.count == 0)
        return VF_OK;
    const frame_group g = sure_group(j, s->list.group, s->list.count);
    return on_a_team(s, &g, crew_choose_lambda);
}

/* --prior reference: how strong it is with --lambda auto, and for a file whether it fits. */
static vf_status fit_reference(sharing *s)
{
    recon_job *j = s->job;
    if (!uses_reference(j->solve) || j->solve->method != RECON_CG || s->list.count == 0 ||
        (!j->solve->reference && !finds_reference_strength(j->solve)))
        return VF_OK;
    const frame_group g = sure_group(j, s->list.group, s->list.count);
    const vf_status status = on_a_team(s, &g, crew_choose_reference);
    if (status == VF_OK)
        reference_fit_warn(j->ctx, j->solve->reference ? j->solve->reference : j->scan->path, &j->fit);
    return status;
}

static vf_status make_frames(sharing *s)
{
    const vf_workpool pool = {.items = s->list.count,
                              .workers = s->how.teams,
                              .slots = s->slots,
                              .user = s,
                              .produce = make_one_group,
                              .consume = put_group,
                              .devices = s->number,
                              .give_up = give_up};
    vf_status status = VF_OK;
    int frames = 0;
    for (int g = 0; g < s->list.count; g++)
        frames += s->list.group[g].count - s->list.group[g].skip - s->list.group[g].drop - s->list.group[g].after;
    if (s->own) {
        watch_stage(s->watch, s->job->frames[0]->replica ? "noise map" : "frames", frames);
        return vf_workpool_run(s->job->ctx, &pool);
    }
    for (int g = 0; g < s->list.count && status == VF_OK; g++) {
        status = make_one_group(s, 0, 0, g);
        VF_TRY(status, put_group(s, 0, g));
    }
    return status;
}

/* ---- frames of an MPI job ---- */

static vf_status make_range(sharing *s, const frame_range *range)
{
    recon_job *j = s->job;
    const group_list all = s->list;
    const bool *before = j->wanted;
    bool *wanted = calloc((size_t)j->scan->frames + 1, sizeof *wanted);
    frame_group *copy = calloc((size_t)all.count + 1, sizeof *copy);
    vf_status status = wanted && copy ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int f = range->first; status == VF_OK && f < range->behind && f < j->frame_count; f++)
        wanted[j->frames[f] - j->scan->frame] = true;
    if (status == VF_OK) {
        memcpy(copy, all.group, (size_t)all.count * sizeof *copy);
        s->list.group = copy;
        j->wanted = wanted;
        status = group_list_leave_out(j, &s->list);
        copy = s->list.group;
        VF_TRY(status, make_frames(s));
        j->wanted = before;
        s->list = all;
    }
    free(wanted);
    free(copy);
    return status == VF_OK ? vf_context_status(j->ctx) : status;
}

static vf_status make_shared_frames(sharing *s, vf_ranks *ranks)
{
    frame_range *range = NULL;
    int count = 0;
    int64_t item = VF_NEXT_LATER;
    vf_status status = frame_ranges_share(s->job, ranks, &range, &count);
    while (status == VF_OK && (item = vf_ranks_next(ranks)) != VF_NEXT_NONE) {
        const struct timespec pause = {.tv_nsec = 10000000};
        if (item >= 0 && item < count)
            status = make_range(s, &range[item]);
        else
            (void)nanosleep(&pause, NULL); /* another rank may fail */
        if (status == VF_OK && item >= 0)
            vf_ranks_done(ranks, item);
        if (status == VF_OK && vf_cancelled(s->job->ctx))
            status = vf_fail(s->job->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(range);
    return status;
}

/* ---- noise ---- */

static void free_groups(sharing *s)
{
    for (int i = 0; s->images && i < s->slots; i++)
        free(s->images[i]);
    free(s->images);
    free(s->image);
    free(s->shared);
    free(s->list.group);
    s->images = NULL;
    s->image = NULL;
    s->shared = NULL;
    s->list.group = NULL;
}

/* Makes replicas of noise as frames, by the same steps. */
static vf_status make_noise_map(sharing *s, recon_put_noise put_noise)
{
    recon_job *j = s->job;
    noise_map map;
    const recon_put put = s->put;
    void *user = s->user;
    free(j->frames);
    free_groups(s);
    vf_status status = noise_map_create(j, &map);
    s->put = noise_map_add;
    s->user = &map;
    for (int t = 0; t < s->how.teams; t++)
        s->crew[t].last = -1;
    VF_TRY(status, group_list_make(j, s->schedule, s->how.teams, s->slots, &s->list));
    VF_TRY(status, make_slots(s));
    VF_TRY(status, make_frames(s));
    s->put = put;
    s->user = user;
    VF_TRY(status, noise_map_finish(&map, put_noise, user));
    noise_map_free(&map);
    return status;
}

/* ---- all of it ---- */

static vf_status order_frames(recon_job *j)
{
    const mri_scan *raw = j->scan;
    int *order = calloc((size_t)raw->frames + 1, sizeof *order);
    j->frames = calloc((size_t)raw->frames + 1, sizeof *j->frames);
    vf_status status =
        j->frames && order ? frame_order(j->ctx, j->solve, raw, order) : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    for (int f = 0; f < raw->frames && status == VF_OK; f++)
        j->frames[f] = &raw->frame[order[f]];
    j->frame_count = raw->frames;
    free(order);
    return status;
}

/* Merges the teams' summaries. */
static void sum_up(const sharing *s, recon_summary *summary)
{
    int last = -1;
    const coil_choice compression = summary->compression;
    *summary =
        (recon_summary){.converged = true, .compression = compression, .sharing = s->how, .effort = s->job->effort};
    for (int t = 0; s->crew && t < s->how.teams; t++) {
        const crew *c = &s->crew[t];
        const recon_summary *of = &c->summary;
        summary->iterations += of->iterations;
        summary->applications += of->applications;
        summary->residual = fmax(summary->residual, of->residual);
        summary->converged &= of->converged;
        if (of->curve.count > 0)
            summary->curve = of->curve;
        for (int d = 0; d < RECON_MAX_DEVICES; d++) {
            summary->device[d].frames += of->device[d].frames;
            summary->device[d].seconds += of->device[d].seconds;
        }
        if (c->last <= last)
            continue;
        last = c->last;
        summary->last = of->last;
    }
    memcpy(summary->coils, s->job->maps_text, sizeof summary->coils);
    summary->frame_noise = s->job->level.ratio;
    s->job->level.ratio = NULL;
    summary->level = s->job->level;
    summary->choice = s->job->choice;
    summary->strength = s->job->strength;
    summary->fit = s->job->fit;
    summary->first = s->job->first;
    summary->sigma = sqrt(s->job->level.variance);
    for (int f = 0; summary->frame_noise && f < s->job->scan->frames; f++)
        summary->frame_noise[f] = summary->sigma * sqrt(summary->frame_noise[f]);
}

static void free_sharing(sharing *s)
{
    for (int t = 0; s->crew && t < s->how.teams; t++)
        crew_free(&s->crew[t]);
    for (int d = 0; s->normal && d < s->whole.count; d++)
        vf_normal_free(&s->normal[d]);
    free_groups(s);
    team_free(&s->whole);
    free(s->crew);
    free(s->own);
    free(s->number);
    free(s->normal);
}

static vf_status make_all(sharing *s)
{
    recon_job *j = s->job;
    vf_ranks *ranks = j->ranks;
    vf_status status = find_noise(s);
    VF_TRY(status, choose_lambda(s));
    VF_TRY(status, fit_reference(s));
    if (status == VF_OK && ranks)
        status = make_shared_frames(s, ranks);
    if (status == VF_OK && !ranks)
        status = group_list_leave_out(j, &s->list);
    if (status == VF_OK && !ranks)
        status = make_frames(s);
    return status == VF_OK ? places_save_maps(j) : status;
}

vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, recon_watch *watch,
                      recon_put put, recon_put_noise put_noise, void *user, recon_summary *summary)
{
    recon_job j = {.ctx = ctx,
                   .solve = &settings->solve,
                   .coils = &settings->coils,
                   .noise = &settings->noise,
                   .ranks = settings->pieces.ranks,
                   .scan = raw,
                   .type = vf_dtype_complex(settings->solve.precision),
                   .voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2],
                   .choice = {.factor = 1},
                   .strength = {1, 0, VF_PRIOR_SHARPNESS},
                   .wanted = settings->schedule.wanted,
                   .has_maps = combines_by_maps(&settings->coils, raw),
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .changed = PTHREAD_COND_INITIALIZER};
    sharing s = {.job = &j,
                 .schedule = &settings->schedule,
                 .watch = watch,
                 .put = put,
                 .user = user,
                 .how = share_devices(settings, raw, vf_context_device_count(ctx))};
    j.channels = j.has_maps ? 1 : raw->coils;
    j.most_sets = j.has_maps ? most_map_sets(&settings->coils, &settings->solve, raw) : 1;
    if (j.most_sets > 1 && !uses_scan_maps(&settings->coils, raw) && settings->coils.sets == RECON_SETS_AUTO &&
        !plan_fits(ctx, settings, raw, j.most_sets))
        j.most_sets = 1;
    s.slots = s.how.teams > 1 ? s.how.teams + 1 : 1;
    snprintf(j.maps_text, sizeof j.maps_text, raw->coils == 1 ? "1 coil" : "%d coils, root of the sum of squares",
             raw->coils);
    vf_status status = order_frames(&j);
    summary->effort = j.effort = settings->schedule.wanted ? calloc((size_t)raw->frames + 1, sizeof *j.effort) : NULL;
    if (status == VF_OK && settings->schedule.wanted && !j.effort)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, places_create(&j));
    VF_TRY(status, group_list_make(&j, s.schedule, s.how.teams, s.slots, &s.list));
    VF_TRY(status, make_slots(&s));
    VF_TRY(status, make_normal(&s));
    VF_TRY(status, make_crews(&s));
    VF_TRY(status, make_all(&s));
    sum_up(&s, summary);
    VF_TRY(status, places_keep_maps(&j, summary));
    if (status == VF_OK && settings->noise.map)
        status = make_noise_map(&s, put_noise);
    watch_hush(watch);
    if (status == VF_OK)
        summary_judge(ctx, &settings->solve, summary);
    free_sharing(&s);
    places_free(&j);
    free(j.first_image);
    free(j.frames);
    return status;
}
