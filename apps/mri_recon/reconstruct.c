/* From samples to images, one trajectory after another, its frames in groups that memory has room for: F^H d of all,
 * then, when the memory of that is free, Q (once) and the solver. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"
#include "voxfield/statistics.h"

/* A residual so many times the tolerance, where that was asked for. */
static const double WORTH_A_WARNING = 10;

typedef struct job {
    vf_context *ctx;
    const recon_settings *settings;
    const scan *scan;
    vf_queue *queue;
    recon_watch *watch;
    recon_put put;
    void *user;
    recon_summary *summary;
    vf_dtype type;
    int64_t voxels;
    int channels;         /* images a frame: 1, or one a coil where they are combined at the end */
    bool has_maps;        /* more than one coil, seen through maps */
    float complex **maps; /* [place] -> [coil][voxels]; the scan's own where they come from it */
    vf_array device_maps;
    double *power;        /* [place] map_power of its first frame; 0: not known yet */
    int maps_place;       /* the place whose maps are on the device; -1: none */
    float complex *image; /* [voxels]: a frame's, on its way to `put` */
} job;

/* Frames of one trajectory that are worked on together. */
typedef struct group {
    const scan_trajectory *at;
    const scan_frame **frame; /* [count] */
    int count;
    char *images; /* [count][channel][voxel]: F^H d, then the image */
} group;

static size_t frame_bytes(const job *j)
{
    return (size_t)j->voxels * (size_t)j->channels * vf_dtype_bytes(j->type);
}

/* ---- coil maps ---- */

/* Those of a frame's place, once, into host memory. */
static vf_status make_maps(job *j, const scan_frame *frame)
{
    const scan *raw = j->scan;
    if (!j->has_maps || j->maps[frame->place])
        return VF_OK;
    if (raw->sensitivity && j->settings->coils != RECON_COILS_WALSH) {
        j->maps[frame->place] = raw->sensitivity;
        snprintf(j->summary->coils, sizeof j->summary->coils, "%d coil%s, maps from the file", raw->coils,
                 raw->coils == 1 ? "" : "s");
        return VF_OK;
    }
    watch_stage(j->watch, "coil maps", 0);
    float complex *maps = malloc((size_t)raw->coils * (size_t)j->voxels * sizeof *maps);
    if (!maps)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", raw->coils);
    j->maps[frame->place] = maps;
    return calibrate_maps(j->ctx, raw, frame->place, j->queue, maps, j->summary->coils, sizeof j->summary->coils);
}

static vf_status upload_maps(job *j, const scan_frame *frame)
{
    if (!j->has_maps || j->maps_place == frame->place)
        return VF_OK;
    j->maps_place = frame->place;
    return upload(j->queue, j->maps[frame->place], j->scan->coils * j->voxels, &j->device_maps);
}

/* sum over coils of |s|^2 at a voxel */
static double power_at(const job *j, const float complex *maps, int64_t n)
{
    double sum = 0;
    for (int c = 0; c < j->scan->coils; c++) {
        const float complex s = maps[c * j->voxels + n];
        sum += (double)crealf(s) * crealf(s) + (double)cimagf(s) * cimagf(s);
    }
    return sum;
}

/* sum over coils of |s|^2, averaged over voxels with |F^H d|^2 (`image`) as weights: where the object is. Maps of a
 * file may be of any scale, and largest where there is nothing. */
static double map_power(const job *j, const scan_frame *frame, const char *image)
{
    if (!j->has_maps)
        return 1;
    const float complex *maps = j->maps[frame->place];
    double power = 0, weights = 0;
    for (int64_t n = 0; n < j->voxels; n++) {
        const double sum = power_at(j, maps, n);
        double re, im;
        if (j->type == VF_C128) {
            re = creal(((const double complex *)(const void *)image)[n]);
            im = cimag(((const double complex *)(const void *)image)[n]);
        } else {
            re = crealf(((const float complex *)(const void *)image)[n]);
            im = cimagf(((const float complex *)(const void *)image)[n]);
        }
        power += (re * re + im * im) * sum;
        weights += re * re + im * im;
    }
    return weights > 0 ? power / weights : 1;
}

/* Gridding makes each coil's image; combined by conj(s), they are sum |s|^2 too bright, by which is divided where coils
 * see anything. */
static vf_status normalise(const job *j, const scan_frame *frame, char *image)
{
    const double least = 0.01; /* of the largest sum |s|^2 */
    vf_reduced most;
    double *sum = malloc((size_t)j->voxels * sizeof *sum);
    if (!sum)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory to combine coils");
    for (int64_t n = 0; n < j->voxels; n++)
        sum[n] = power_at(j, j->maps[frame->place], n);
    vf_status status = vf_host_reduce(j->ctx, VF_REDUCE_MAX, VF_F64, j->voxels, sum, NULL, &most);
    for (int64_t n = 0; status == VF_OK && most.re > 0 && n < j->voxels; n++)
        if (j->type == VF_C128)
            ((double complex *)(void *)image)[n] /= fmax(sum[n], least * most.re);
        else
            ((float complex *)(void *)image)[n] /= (float)fmax(sum[n], least * most.re);
    free(sum);
    return status;
}

/* ---- the solver ---- */

static void tell(void *user, int iteration, double residual)
{
    job *j = user;
    snprintf(j->watch->title, sizeof j->watch->title, "%ssolving, iteration %d of %d, residual %.1e:", j->watch->which,
             iteration, j->settings->iterations, residual);
    vf_progress_add(&j->watch->progress, 1);
}

static vf_status solve_frame(job *j, const scan_frame *frame, const normal_matrix *normal, prior *known, vf_array *b,
                             vf_array *x, char *images)
{
    const size_t image_bytes = (size_t)j->voxels * vf_dtype_bytes(j->type);
    vf_progress *progress = &j->watch->progress;
    recon_summary *summary = j->summary;
    const system_matrix system = {.normal = normal,
                                  .prior = known,
                                  .coils = j->has_maps ? j->scan->coils : 1,
                                  .maps = j->has_maps ? &j->device_maps : NULL};
    vf_status status = VF_OK;
    if (!(j->power[frame->place] > 0))
        j->power[frame->place] = map_power(j, frame, images);
    summary->diagonal = normal->diagonal * j->power[frame->place];
    summary->lambda = known->lambda = j->settings->lambda * summary->diagonal;
    for (int c = 0; c < j->channels && status == VF_OK; c++) {
        solve_result result = {0};
        char *image = images + (size_t)c * image_bytes;
        const double expected = progress->done + j->settings->iterations;
        status = vf_queue_copy(j->queue, b->data, image, image_bytes);
        if (status == VF_OK)
            status = solve(j->ctx, j->settings, &system, j->queue, b, x, tell, j, &result);
        if (status == VF_OK)
            status = vf_queue_copy(j->queue, image, x->data, image_bytes);
        if (status == VF_OK)
            status = vf_queue_sync(j->queue);
        progress->done = expected;
        summary->iterations += result.iterations;
        summary->residual = fmax(summary->residual, result.residual);
        summary->converged &= result.converged;
    }
    return status;
}

/* What the solver needs for all frames of a trajectory. */
typedef struct solver {
    normal_matrix normal;
    prior known;
    vf_array b, x;
    bool ready;
} solver;

static void free_solver(solver *s)
{
    vf_array_free(&s->b);
    vf_array_free(&s->x);
    prior_free(&s->known);
    normal_matrix_free(&s->normal);
}

static vf_status prepare_solver(job *j, const scan_trajectory *at, solver *s)
{
    vf_device *device = vf_context_device(j->ctx, 0);
    vf_status status = normal_matrix_create(j->ctx, j->settings, j->scan, at, j->queue, j->watch, &s->normal);
    if (status == VF_OK)
        snprintf(j->summary->normal, sizeof j->summary->normal, "%s", s->normal.description);
    if (status == VF_OK)
        watch_stage(j->watch, "solve", 0);
    if (status == VF_OK)
        status = prior_create(j->ctx, j->settings, j->scan, j->queue, &s->known);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, &s->b);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, &s->x);
    s->ready = status == VF_OK;
    return status;
}

static vf_status solve_frames(job *j, const group *g, solver *s)
{
    vf_status status = s->ready ? VF_OK : prepare_solver(j, g->at, s);
    if (status == VF_OK)
        watch_stage(j->watch, "solve", (double)g->count * j->channels * j->settings->iterations);
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        status = upload_maps(j, g->frame[f]);
        if (status == VF_OK)
            status = solve_frame(j, g->frame[f], &s->normal, &s->known, &s->b, &s->x,
                                 g->images + (size_t)f * frame_bytes(j));
    }
    return status;
}

/* ---- frames ---- */

/* One frame's channels to its image. */
static vf_status finish_frame(const job *j, const char *channels, float complex *image)
{
    const int64_t n = j->channels * j->voxels;
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
        coil_images_rss(j->channels, j->voxels, from, image);
    else
        memcpy(image, from, (size_t)n * sizeof *image);
    free(narrow);
    return VF_OK;
}

static vf_status adjoint_of_frames(job *j, const group *g)
{
    const bool gridding = j->settings->method == RECON_GRIDDING || j->settings->method == RECON_BILINEAR;
    right_side *side = NULL;
    vf_status status = VF_OK;
    for (int f = 0; f < g->count && status == VF_OK; f++)
        status = make_maps(j, g->frame[f]);
    if (status == VF_OK)
        status = right_side_create(j->ctx, j->settings, j->scan, g->at, j->queue, j->watch, &side);
    if (status == VF_OK)
        snprintf(j->summary->encoding, sizeof j->summary->encoding, "%s", right_side_description(side));
    if (status == VF_OK)
        watch_stage(j->watch, "F^H d", (double)g->count * j->scan->coils);
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        char *image = g->images + (size_t)f * frame_bytes(j);
        status = upload_maps(j, g->frame[f]);
        if (status == VF_OK)
            status = right_side_of_frame(side, g->frame[f], j->has_maps ? &j->device_maps : NULL, image);
        if (status == VF_OK && j->has_maps && gridding)
            status = normalise(j, g->frame[f], image);
    }
    right_side_destroy(side);
    return status;
}

static vf_status one_group(job *j, const group *g, solver *s)
{
    const int first = (int)(g->frame[0] - j->scan->frame) + 1, frames = j->scan->frames;
    if (g->count < frames && g->count > 1)
        snprintf(j->watch->which, sizeof j->watch->which, "frame %d and %d more of %d: ", first, g->count - 1, frames);
    else if (g->count < frames)
        snprintf(j->watch->which, sizeof j->watch->which, "frame %d of %d: ", first, frames);
    vf_status status = adjoint_of_frames(j, g);
    if (status == VF_OK && j->settings->method == RECON_CG)
        status = solve_frames(j, g, s);
    if (status == VF_OK)
        watch_stage(j->watch, "combine", 0);
    for (int f = 0; f < g->count && status == VF_OK; f++) {
        status = finish_frame(j, g->images + (size_t)f * frame_bytes(j), j->image);
        if (status == VF_OK)
            j->put(j->user, g->frame[f], j->image);
    }
    return status;
}

int64_t recon_group_bytes(const recon_settings *settings)
{
    return settings->group_bytes > 0 ? settings->group_bytes : INT64_C(1) << 30;
}

static vf_status one_trajectory(job *j, int trajectory)
{
    const scan *raw = j->scan;
    const int64_t room = recon_group_bytes(j->settings) / (int64_t)frame_bytes(j), most = room < 1 ? 1 : room;
    group g = {.at = &raw->trajectory[trajectory], .frame = calloc((size_t)raw->frames, sizeof *g.frame)};
    solver s = {0};
    int frames = 0;
    for (int f = 0; g.frame && f < raw->frames; f++)
        if (raw->frame[f].trajectory == trajectory)
            g.frame[frames++] = &raw->frame[f];
    g.images = malloc((size_t)(frames < most ? frames : most) * frame_bytes(j) + 1);
    vf_status status = VF_OK;
    if (!g.frame || !g.images)
        status = vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the images of %d coils, %lld voxels each", j->channels,
                         (long long)j->voxels);
    const scan_frame **all = g.frame;
    for (int f = 0; f < frames && status == VF_OK; f += g.count) {
        g.frame = all + f;
        g.count = frames - f < most ? frames - f : (int)most;
        status = one_group(j, &g, &s);
    }
    free_solver(&s);
    free(g.images);
    free(all);
    return status;
}

static vf_status prepare_job(job *j)
{
    const scan *raw = j->scan;
    const recon_settings *s = j->settings;
    j->has_maps = raw->coils > 1 ? s->coils != RECON_COILS_RSS : raw->sensitivity && s->coils != RECON_COILS_RSS;
    j->channels = j->has_maps ? 1 : raw->coils;
    snprintf(j->summary->coils, sizeof j->summary->coils,
             raw->coils == 1 ? "1 coil" : "%d coils, root of the sum of squares", raw->coils);
    for (int f = 0; f < raw->frames; f++)
        if (raw->frame[f].place < 0 || raw->frame[f].place >= raw->places)
            return vf_fail(j->ctx, VF_ERR_INTERNAL, "frame %d: place %d of %d", f, raw->frame[f].place, raw->places);
    j->maps = calloc((size_t)raw->places, sizeof *j->maps);
    j->power = calloc((size_t)raw->places, sizeof *j->power);
    j->image = malloc((size_t)j->voxels * sizeof *j->image);
    if (!j->maps || !j->power || !j->image)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    return j->has_maps ? vf_array_create(vf_context_device(j->ctx, 0), VF_SPACE_DEVICE, j->type, raw->coils * j->voxels,
                                         &j->device_maps)
                       : VF_OK;
}

vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const scan *raw, recon_watch *watch,
                      recon_put put, void *user, recon_summary *summary)
{
    job j = {.ctx = ctx,
             .settings = settings,
             .scan = raw,
             .watch = watch,
             .put = put,
             .user = user,
             .summary = summary,
             .type = vf_dtype_complex(settings->precision),
             .voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2],
             .maps_place = -1};
    const double kept = summary->coils_kept;
    *summary = (recon_summary){.converged = true, .coils_kept = kept};
    vf_status status = vf_queue_create(vf_context_device(ctx, 0), &j.queue);
    if (status == VF_OK)
        status = prepare_job(&j);
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++)
        status = one_trajectory(&j, t);
    vf_progress_end(&watch->progress);
    if (status == VF_OK && settings->method == RECON_CG && !summary->converged && settings->tolerance > 0 &&
        summary->residual > WORTH_A_WARNING * settings->tolerance)
        vf_warn(ctx,
                "the solver stopped after %d iterations at a residual of %.2g, far from the tolerance of %g: use more "
                "--iterations, or a larger --lambda",
                settings->iterations, summary->residual, settings->tolerance);
    for (int s = 0; j.maps && s < raw->places; s++)
        if (j.maps[s] != raw->sensitivity)
            free(j.maps[s]);
    free(j.maps);
    free(j.power);
    free(j.image);
    vf_array_free(&j.device_maps);
    vf_queue_destroy(j.queue);
    return status;
}
