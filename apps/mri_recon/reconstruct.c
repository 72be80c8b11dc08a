/* From samples to images, one trajectory after another: F^H d of its frames first, then, when the memory of that is
 * free, Q and the solver. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"
#include "voxfield/vector.h"

enum { MOST_BATCH = 8 };
static const int64_t BATCH_BYTES = 256 << 20; /* of coil images at a time */

typedef struct job {
    vf_context *ctx;
    const recon_settings *settings;
    const scan *scan;
    vf_queue *queue;
    vf_stages *stages;
    vf_progress *progress;
    recon_summary *summary;
    vf_dtype type;
    int64_t voxels;
    int channels;         /* images a frame: 1, or one a coil where they are combined at the end */
    int batch;            /* coils at a time */
    bool has_maps;        /* more than one coil, seen through maps */
    float complex **maps; /* [place] -> [coil][voxels]; the scan's own where they come from it */
    vf_array device_maps;
    double *power;     /* [place] map_power of its first frame; 0: not known yet */
    int maps_place;    /* the place whose maps are on the device; -1: none */
    char title[64];    /* of the progress line */
    double work, done; /* iterations of all frames and channels */
} job;

static const scan_trajectory *trajectory_of(const job *j, const scan_frame *frame)
{
    return &j->scan->trajectory[frame->trajectory];
}

/* ---- coil maps ---- */

static vf_status prepare_maps(job *j, const scan_frame *frame)
{
    const scan *raw = j->scan;
    if (!j->has_maps)
        return VF_OK;
    if (!j->maps[frame->place]) {
        if (raw->sensitivity && j->settings->coils != RECON_COILS_WALSH) {
            j->maps[frame->place] = raw->sensitivity;
            snprintf(j->summary->coils, sizeof j->summary->coils, "%d coil%s, maps from the file", raw->coils,
                     raw->coils == 1 ? "" : "s");
        } else {
            vf_stage_begin(j->stages, "coil maps");
            float complex *maps = malloc((size_t)raw->coils * (size_t)j->voxels * sizeof *maps);
            if (!maps)
                return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", raw->coils);
            j->maps[frame->place] = maps;
            vf_status status =
                calibrate_maps(j->ctx, raw, frame->place, j->queue, maps, j->summary->coils, sizeof j->summary->coils);
            if (status != VF_OK)
                return status;
        }
    }
    if (j->maps_place == frame->place)
        return VF_OK;
    j->maps_place = frame->place;
    return upload(j->queue, j->maps[frame->place], raw->coils * j->voxels, &j->device_maps);
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
        double re, im, sum = 0;
        if (j->type == VF_C128) {
            re = creal(((const double complex *)(const void *)image)[n]);
            im = cimag(((const double complex *)(const void *)image)[n]);
        } else {
            re = crealf(((const float complex *)(const void *)image)[n]);
            im = cimagf(((const float complex *)(const void *)image)[n]);
        }
        for (int c = 0; c < j->scan->coils; c++) {
            float complex s = maps[c * j->voxels + n];
            sum += (double)crealf(s) * crealf(s) + (double)cimagf(s) * cimagf(s);
        }
        power += (re * re + im * im) * sum;
        weights += re * re + im * im;
    }
    return weights > 0 ? power / weights : 1;
}

/* ---- F^H d ---- */

/* conj(phi) w d of `count` coils; for gridding `density` d, which is no least-squares right side. */
static void weighted_data(const job *j, const scan_frame *frame, const float *density, int first, int count,
                          float complex *out)
{
    const scan_trajectory *at = trajectory_of(j, frame);
    for (int64_t m = 0; m < at->samples; m++) {
        float complex factor = density ? density[m] : conjf(sample_phi(j->settings, j->scan, at, m));
        if (!density && at->weights)
            factor *= at->weights[m];
        for (int c = 0; c < count; c++)
            out[c * at->samples + m] = factor * frame->data[(first + c) * at->samples + m];
    }
}

typedef struct adjoint_work {
    encoding *encoding;
    float *density;       /* [sample], or NULL */
    float complex *host;  /* [batch][sample] */
    vf_array samples;     /* [batch][sample] */
    vf_array coil_images; /* [batch][voxels] */
    vf_array combined;    /* [voxels] */
} adjoint_work;

static void free_adjoint(adjoint_work *w)
{
    encoding_destroy(w->encoding);
    free(w->density);
    free(w->host);
    vf_array_free(&w->samples);
    vf_array_free(&w->coil_images);
    vf_array_free(&w->combined);
}

static vf_status prepare_adjoint(job *j, int trajectory, adjoint_work *w)
{
    vf_device *device = vf_context_device(j->ctx, 0);
    const scan_trajectory *at = &j->scan->trajectory[trajectory];
    recon_settings settings = *j->settings;
    if (settings.method == RECON_GRIDDING)
        settings.encode_by = RECON_NUFFT;
    w->host = malloc((size_t)at->samples * (size_t)j->batch * sizeof *w->host);
    vf_status status = w->host ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the samples");
    if (status == VF_OK && settings.method != RECON_BILINEAR)
        status = encoding_create(j->ctx, &settings, j->scan->matrix, 1, at->samples, at->k, at->time,
                                 j->scan->field_map, j->batch, &w->encoding);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, at->samples * j->batch, &w->samples);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels * j->batch, &w->coil_images);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, &w->combined);
    if (status == VF_OK && settings.method == RECON_GRIDDING) {
        w->density = malloc((size_t)at->samples * sizeof *w->density);
        status = w->density ? density_weights(j->ctx, j->scan->matrix, at, j->queue, w->density)
                            : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for density weights");
    }
    if (status == VF_OK)
        snprintf(j->summary->encoding, sizeof j->summary->encoding, "%s",
                 w->encoding ? encoding_description(w->encoding) : "bilinear gridding");
    return status;
}

/* The study's gridding of coils [first, first + count), on the CPU: into w->coil_images. Samples of weight 0 are left
 * out. */
static vf_status bilinear(job *j, const scan_frame *frame, int first, int count, adjoint_work *w)
{
    const scan_trajectory *at = trajectory_of(j, frame);
    float *k = malloc((size_t)at->samples * 3 * sizeof *k);
    float complex *kept = malloc((size_t)at->samples * sizeof *kept);
    float complex *image = malloc((size_t)j->voxels * (size_t)count * sizeof *image);
    vf_status status = image && k && kept ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the coils' images");
    for (int c = 0; c < count && status == VF_OK; c++) {
        const float complex *data = frame->data + (first + c) * at->samples;
        vf_nufft_samples samples = {.k = k};
        for (int64_t m = 0; m < at->samples; m++)
            if (!at->weights || at->weights[m] > 0) {
                memcpy(k + 3 * samples.count, at->k + 3 * m, 3 * sizeof *k);
                kept[samples.count++] = data[m];
            }
        status = vf_bilinear_gridding(j->ctx, j->scan->matrix, &samples, VF_C64, kept, image + c * j->voxels);
    }
    if (status == VF_OK)
        status = upload(j->queue, image, j->voxels * count, &w->coil_images);
    free(image);
    free(k);
    free(kept);
    return status;
}

/* Gridding makes each coil's image; combined by conj(s), they are sum |s|^2 too bright, by which is divided where coils
 * see anything. */
static void normalise(const job *j, const scan_frame *frame, char *image)
{
    const double least = 0.01; /* of the largest sum |s|^2 */
    const float complex *maps = j->maps[frame->place];
    double most = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t n = 0; n < j->voxels; n++) {
            double sum = 0;
            for (int c = 0; c < j->scan->coils; c++) {
                const float complex s = maps[c * j->voxels + n];
                sum += (double)crealf(s) * crealf(s) + (double)cimagf(s) * cimagf(s);
            }
            if (pass == 0)
                most = fmax(most, sum);
            else if (most > 0 && j->type == VF_C128)
                ((double complex *)(void *)image)[n] /= fmax(sum, least * most);
            else if (most > 0)
                ((float complex *)(void *)image)[n] /= (float)fmax(sum, least * most);
        }
}

/* F^H d of one frame into out[channel][voxel], host memory of the job's type. */
static vf_status adjoint_of_frame(job *j, const scan_frame *frame, adjoint_work *w, char *out)
{
    const scan_trajectory *at = trajectory_of(j, frame);
    const size_t element = vf_dtype_bytes(j->type), image_bytes = (size_t)j->voxels * element;
    vf_status status = VF_OK;
    if (j->has_maps)
        status = vf_vector_zero(j->queue, j->type, j->voxels, w->combined.data);
    for (int first = 0; first < j->scan->coils && status == VF_OK; first += j->batch) {
        const int count = j->scan->coils - first < j->batch ? j->scan->coils - first : j->batch;
        if (vf_cancelled(j->ctx))
            return vf_fail(j->ctx, VF_ERR_CANCELLED, "interrupted");
        if (w->encoding) {
            weighted_data(j, frame, w->density, first, count, w->host);
            status = upload(j->queue, w->host, at->samples * count, &w->samples);
            if (status == VF_OK)
                status = encoding_adjoint(w->encoding, j->queue, count, &w->samples, &w->coil_images);
        } else {
            status = bilinear(j, frame, first, count, w);
        }
        for (int c = 0; c < count && status == VF_OK; c++) {
            const char *image = (const char *)w->coil_images.data + (size_t)c * image_bytes;
            if (j->has_maps)
                status = vf_vector_multiply_add(j->queue, j->type, j->voxels,
                                                (const char *)j->device_maps.data + (size_t)(first + c) * image_bytes,
                                                image, w->combined.data);
            else
                status = vf_queue_copy(j->queue, out + (size_t)(first + c) * image_bytes, image, image_bytes);
        }
        if (status == VF_OK)
            status = vf_queue_sync(j->queue);
    }
    if (status == VF_OK && j->has_maps)
        status = vf_queue_copy(j->queue, out, w->combined.data, image_bytes);
    return status == VF_OK ? vf_queue_sync(j->queue) : status;
}

/* ---- the solver ---- */

static void tell(void *user, int iteration, double residual)
{
    job *j = user;
    j->done++;
    (void)iteration;
    snprintf(j->title, sizeof j->title, "solving, residual %.1e,", residual);
    vf_progress_update(j->progress, j->done);
}

static vf_status solve_frame(job *j, const scan_frame *frame, const normal_matrix *normal, prior *known, vf_array *b,
                             vf_array *x, char *images)
{
    const size_t image_bytes = (size_t)j->voxels * vf_dtype_bytes(j->type);
    recon_summary *summary = j->summary;
    vf_status status = prepare_maps(j, frame);
    if (status != VF_OK)
        return status;
    vf_stage_begin(j->stages, "solve");
    const system_matrix system = {.normal = normal,
                                  .prior = known,
                                  .coils = j->has_maps ? j->scan->coils : 1,
                                  .maps = j->has_maps ? &j->device_maps : NULL};
    if (!(j->power[frame->place] > 0))
        j->power[frame->place] = map_power(j, frame, images);
    summary->diagonal = normal->diagonal * j->power[frame->place];
    summary->lambda = known->lambda = j->settings->lambda * summary->diagonal;
    for (int c = 0; c < j->channels && status == VF_OK; c++) {
        solve_result result = {0};
        char *image = images + (size_t)c * image_bytes;
        double expected = j->done + j->settings->iterations;
        status = vf_queue_copy(j->queue, b->data, image, image_bytes);
        if (status == VF_OK)
            status = solve(j->ctx, j->settings, &system, j->queue, b, x, tell, j, &result);
        if (status == VF_OK)
            status = vf_queue_copy(j->queue, image, x->data, image_bytes);
        if (status == VF_OK)
            status = vf_queue_sync(j->queue);
        j->done = expected;
        summary->iterations += result.iterations;
        summary->residual = fmax(summary->residual, result.residual);
        summary->converged &= result.converged;
    }
    return status;
}

/* All frames of a trajectory: `images` [frame of the trajectory][channel][voxel], F^H d before, the image after. */
static vf_status solve_frames(job *j, int trajectory, char *images)
{
    vf_device *device = vf_context_device(j->ctx, 0);
    const size_t frame_bytes = (size_t)j->voxels * (size_t)j->channels * vf_dtype_bytes(j->type);
    normal_matrix normal = {0};
    prior known = {0};
    vf_array b = {0}, x = {0};
    vf_stage_begin(j->stages, "Q");
    vf_status status =
        normal_matrix_create(j->ctx, j->settings, j->scan, &j->scan->trajectory[trajectory], j->queue, &normal);
    if (status == VF_OK)
        snprintf(j->summary->normal, sizeof j->summary->normal, "%s", normal.description);
    vf_stage_begin(j->stages, "solve");
    if (status == VF_OK)
        status = prior_create(j->ctx, j->settings, j->scan, j->queue, &known);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, &b);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, &x);
    for (int f = 0, here = 0; f < j->scan->frames && status == VF_OK; f++)
        if (j->scan->frame[f].trajectory == trajectory)
            status = solve_frame(j, &j->scan->frame[f], &normal, &known, &b, &x, images + (size_t)here++ * frame_bytes);
    vf_array_free(&b);
    vf_array_free(&x);
    prior_free(&known);
    normal_matrix_free(&normal);
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

static vf_status adjoint_of_frames(job *j, int trajectory, char *images)
{
    const size_t frame_bytes = (size_t)j->voxels * (size_t)j->channels * vf_dtype_bytes(j->type);
    adjoint_work w = {0};
    vf_stage_begin(j->stages, "F^H d");
    vf_status status = prepare_adjoint(j, trajectory, &w);
    for (int f = 0, here = 0; f < j->scan->frames && status == VF_OK; f++) {
        const scan_frame *frame = &j->scan->frame[f];
        if (frame->trajectory != trajectory)
            continue;
        status = prepare_maps(j, frame);
        vf_stage_begin(j->stages, "F^H d");
        char *image = images + (size_t)here++ * frame_bytes;
        if (status == VF_OK)
            status = adjoint_of_frame(j, frame, &w, image);
        if (status == VF_OK && j->has_maps &&
            (j->settings->method == RECON_GRIDDING || j->settings->method == RECON_BILINEAR))
            normalise(j, frame, image);
    }
    free_adjoint(&w);
    return status;
}

static vf_status one_trajectory(job *j, int trajectory, float complex *images)
{
    const size_t frame_bytes = (size_t)j->voxels * (size_t)j->channels * vf_dtype_bytes(j->type);
    size_t frames = 0;
    for (int f = 0; f < j->scan->frames; f++)
        frames += j->scan->frame[f].trajectory == trajectory;
    if (frames == 0)
        return VF_OK;
    char *work = malloc(frames * frame_bytes);
    if (!work)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %zu images of %lld voxels", frames * (size_t)j->channels,
                       (long long)j->voxels);
    vf_status status = adjoint_of_frames(j, trajectory, work);
    if (status == VF_OK && j->settings->method == RECON_CG)
        status = solve_frames(j, trajectory, work);
    vf_stage_begin(j->stages, "combine");
    for (int f = 0, here = 0; f < j->scan->frames && status == VF_OK; f++)
        if (j->scan->frame[f].trajectory == trajectory)
            status = finish_frame(j, work + (size_t)here++ * frame_bytes, images + f * j->voxels);
    free(work);
    return status;
}

static vf_status prepare_job(job *j)
{
    const scan *raw = j->scan;
    const recon_settings *s = j->settings;
    j->has_maps = raw->coils > 1 ? s->coils != RECON_COILS_RSS : raw->sensitivity && s->coils != RECON_COILS_RSS;
    j->channels = j->has_maps ? 1 : raw->coils;
    j->batch = raw->coils < MOST_BATCH ? raw->coils : MOST_BATCH;
    while (j->batch > 1 && j->batch * j->voxels * (int64_t)vf_dtype_bytes(j->type) > BATCH_BYTES)
        j->batch /= 2;
    snprintf(j->summary->coils, sizeof j->summary->coils,
             raw->coils == 1 ? "1 coil" : "%d coils, root of the sum of squares", raw->coils);
    for (int f = 0; f < raw->frames; f++)
        if (raw->frame[f].place < 0 || raw->frame[f].place >= raw->places)
            return vf_fail(j->ctx, VF_ERR_INTERNAL, "frame %d: place %d of %d", f, raw->frame[f].place, raw->places);
    j->work = (double)raw->frames * j->channels * s->iterations;
    j->maps = calloc((size_t)raw->places, sizeof *j->maps);
    j->power = calloc((size_t)raw->places, sizeof *j->power);
    if (!j->maps || !j->power)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    return j->has_maps ? vf_array_create(vf_context_device(j->ctx, 0), VF_SPACE_DEVICE, j->type, raw->coils * j->voxels,
                                         &j->device_maps)
                       : VF_OK;
}

vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const scan *raw, vf_stages *stages,
                      vf_progress *progress, float complex *images, recon_summary *summary)
{
    job j = {.ctx = ctx,
             .settings = settings,
             .scan = raw,
             .stages = stages,
             .progress = progress,
             .summary = summary,
             .type = vf_dtype_complex(settings->precision),
             .voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2],
             .maps_place = -1,
             .title = "reconstructing,"};
    const double kept = summary->coils_kept;
    *summary = (recon_summary){.converged = true, .coils_kept = kept};
    vf_status status = vf_queue_create(vf_context_device(ctx, 0), &j.queue);
    if (status == VF_OK)
        status = prepare_job(&j);
    vf_progress_begin(progress, stderr, settings->quiet ? VF_PROGRESS_OFF : settings->progress, j.title, j.work, 1,
                      "iterations");
    for (int t = 0; t < raw->trajectories && status == VF_OK; t++)
        status = one_trajectory(&j, t, images);
    vf_progress_end(progress);
    for (int s = 0; j.maps && s < raw->places; s++)
        if (j.maps[s] != raw->sensitivity)
            free(j.maps[s]);
    free(j.maps);
    free(j.power);
    vf_array_free(&j.device_maps);
    vf_queue_destroy(j.queue);
    return status;
}
