/* F^H d, coil by coil in batches, combined through the coils' maps on the device. On a GPU the next batch's samples are
 * weighted and copied in beside the transform of the one before. */
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"
#include "voxfield/copy.h"
#include "voxfield/pipeline.h"
#include "voxfield/vector.h"

enum { MOST_BATCH = 8, STAGES = 2 };
static const int64_t BATCH_BYTES = 256 << 20; /* of coil images at a time */

struct right_side {
    vf_context *ctx;
    const recon_settings *settings;
    const scan *scan;
    const scan_trajectory *at;
    vf_queue *queue;
    recon_watch *watch;
    encoding *encoding; /* NULL: bilinear */
    vf_dtype type;
    int64_t voxels;
    int batch;            /* coils at a time */
    float *density;       /* [sample], or NULL */
    vf_pipeline *batches; /* of [batch][sample] */
    vf_array coil_images; /* [batch][voxels] */
    vf_array combined;    /* [voxels] */
};

/* A frame on its way. */
typedef struct side_of_frame {
    right_side *side;
    const scan_frame *frame;
    const vf_array *maps;
    void *out;
} side_of_frame;

static int batch_coils(const right_side *r, int64_t batch, int *first)
{
    *first = (int)batch * r->batch;
    return r->scan->coils - *first < r->batch ? r->scan->coils - *first : r->batch;
}

/* conj(phi) w d of a batch; for gridding `density` d, which is no least-squares right side. */
static vf_status weighted_data(void *user, const vf_piece *piece, size_t *bytes)
{
    const side_of_frame *f = user;
    const right_side *r = f->side;
    const scan_trajectory *at = r->at;
    int first;
    const int count = batch_coils(r, piece->number, &first);
    for (int64_t m = 0; m < at->samples; m++) {
        float complex factor = r->density ? r->density[m] : conjf(sample_phi(r->settings, r->scan, at, m));
        if (!r->density && at->weights)
            factor *= at->weights[m];
        for (int c = 0; c < count; c++) {
            const float complex value = factor * f->frame->data[(first + c) * at->samples + m];
            if (r->type == VF_C128)
                ((double complex *)piece->host)[c * at->samples + m] = value;
            else
                ((float complex *)piece->host)[c * at->samples + m] = value;
        }
    }
    *bytes = (size_t)(count * at->samples) * vf_dtype_bytes(r->type);
    return VF_OK;
}

static void choose_batch(right_side *r)
{
    const int coils = r->scan->coils;
    r->batch = coils < MOST_BATCH ? coils : MOST_BATCH;
    while (r->batch > 1 && r->batch * r->voxels * (int64_t)vf_dtype_bytes(r->type) > BATCH_BYTES)
        r->batch /= 2;
}

static vf_status make_density(right_side *r)
{
    watch_stage(r->watch, "density weights", 0);
    r->density = malloc((size_t)r->at->samples * sizeof *r->density);
    return r->density ? density_weights(r->ctx, r->scan->matrix, r->at, r->queue, r->density)
                      : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for density weights");
}

/* Batches share arrays and the transform's memory, and add up in one order: they are computed one by one. */
static vf_status make_batches(right_side *r)
{
    const bool overlap = r->scan->coils > r->batch && !vf_device_is_host(vf_context_device(r->ctx, 0));
    const int stages = overlap ? STAGES : 1;
    const int64_t samples = r->encoding ? r->at->samples * r->batch : 0; /* bilinear gridding takes them as they are */
    const vf_pipeline_options options = {.devices = 1,
                                         .stages = stages,
                                         .buffers = stages,
                                         .bytes = (size_t)samples * vf_dtype_bytes(r->type),
                                         .ordered = true};
    return vf_pipeline_create(r->ctx, &options, &r->batches);
}

static vf_status prepare(right_side *r)
{
    vf_device *device = vf_context_device(r->ctx, 0);
    recon_settings settings = *r->settings;
    if (settings.method == RECON_GRIDDING)
        settings.encode_by = RECON_NUFFT;
    choose_batch(r);
    vf_status status = settings.method == RECON_GRIDDING ? make_density(r) : VF_OK;
    watch_stage(r->watch, "F^H d", 0);
    if (status == VF_OK && settings.method != RECON_BILINEAR)
        status = encoding_create(r->ctx, &settings, r->scan->matrix, 1, r->at->samples, r->at->k, r->at->time,
                                 r->scan->field_map, r->batch, &r->encoding);
    if (status == VF_OK)
        status = make_batches(r);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, r->type, r->voxels * r->batch, &r->coil_images);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, r->type, r->voxels, &r->combined);
    if (status == VF_OK && r->encoding)
        encoding_watch(r->encoding, &r->watch->progress);
    return status;
}

vf_status right_side_create(vf_context *ctx, const recon_settings *settings, const scan *raw, const scan_trajectory *at,
                            vf_queue *queue, recon_watch *watch, right_side **out)
{
    right_side *r = *out = calloc(1, sizeof *r);
    if (!r)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    *r = (right_side){.ctx = ctx,
                      .settings = settings,
                      .scan = raw,
                      .at = at,
                      .queue = queue,
                      .watch = watch,
                      .type = vf_dtype_complex(settings->precision),
                      .voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2]};
    vf_status status = prepare(r);
    if (status != VF_OK) {
        right_side_destroy(r);
        *out = NULL;
    }
    return status;
}

void right_side_destroy(right_side *r)
{
    if (!r)
        return;
    encoding_destroy(r->encoding);
    free(r->density);
    vf_pipeline_destroy(r->batches);
    vf_array_free(&r->coil_images);
    vf_array_free(&r->combined);
    free(r);
}

const char *right_side_description(const right_side *r)
{
    return r->encoding ? encoding_description(r->encoding) : "bilinear gridding";
}

/* The study's gridding of coils [first, first + count), on the CPU: into coil_images. Samples of weight 0 are left out.
 */
static vf_status bilinear(right_side *r, const scan_frame *frame, vf_queue *queue, int first, int count)
{
    const scan_trajectory *at = r->at;
    float *k = malloc((size_t)at->samples * 3 * sizeof *k);
    float complex *kept = malloc((size_t)at->samples * sizeof *kept);
    float complex *image = malloc((size_t)r->voxels * (size_t)count * sizeof *image);
    vf_status status = image && k && kept ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the coils' images");
    for (int c = 0; c < count && status == VF_OK; c++) {
        const float complex *data = frame->data + (first + c) * at->samples;
        vf_nufft_samples samples = {.k = k};
        for (int64_t m = 0; m < at->samples; m++)
            if (!at->weights || at->weights[m] > 0) {
                memcpy(k + 3 * samples.count, at->k + 3 * m, 3 * sizeof *k);
                kept[samples.count++] = data[m];
            }
        status = vf_bilinear_gridding(r->ctx, r->scan->matrix, &samples, VF_C64, kept, image + c * r->voxels);
        if (status == VF_OK)
            vf_progress_add(&r->watch->progress, 1);
    }
    if (status == VF_OK)
        status = upload(queue, image, r->voxels * count, &r->coil_images);
    free(image);
    free(k);
    free(kept);
    return status;
}

/* Into coil_images. */
static vf_status adjoint(right_side *r, const scan_frame *frame, const vf_piece *piece, int first, int count)
{
    if (!r->encoding)
        return bilinear(r, frame, piece->queue, first, count);
    const vf_array samples = {.data = piece->memory,
                              .count = r->at->samples * count,
                              .type = r->type,
                              .space = VF_SPACE_DEVICE,
                              .device = vf_queue_device(piece->queue)};
    return encoding_adjoint(r->encoding, piece->queue, count, &samples, &r->coil_images);
}

/* A batch's images, and their part of what is asked for. */
static vf_status take_batch(void *user, const vf_piece *piece, size_t *bytes)
{
    const side_of_frame *f = user;
    right_side *r = f->side;
    const size_t image_bytes = (size_t)r->voxels * vf_dtype_bytes(r->type);
    int first;
    const int count = batch_coils(r, piece->number, &first);
    vf_status status = adjoint(r, f->frame, piece, first, count);
    for (int c = 0; c < count && status == VF_OK; c++) {
        const char *image = (const char *)r->coil_images.data + (size_t)c * image_bytes;
        const size_t at = (size_t)(first + c) * image_bytes;
        status = f->maps ? vf_vector_multiply_add(piece->queue, r->type, r->voxels, (const char *)f->maps->data + at,
                                                  image, r->combined.data)
                         : vf_queue_copy(piece->queue, (char *)f->out + at, image, image_bytes);
    }
    *bytes = 0;
    return status;
}

vf_status right_side_of_frame(right_side *r, const scan_frame *frame, const vf_array *maps, void *out)
{
    side_of_frame f = {.side = r, .frame = frame, .maps = maps, .out = out};
    const vf_pipeline_work work = {.pieces = (r->scan->coils + r->batch - 1) / r->batch,
                                   .user = &f,
                                   .load = r->encoding ? weighted_data : NULL,
                                   .compute = take_batch};
    vf_status status = maps ? vf_fill(r->queue, r->type, r->voxels, (const double[2]){0}, r->combined.data) : VF_OK;
    if (status == VF_OK)
        status = vf_queue_sync(r->queue); /* batches have queues of their own */
    if (status == VF_OK)
        status = vf_pipeline_run(r->batches, &work);
    if (status == VF_OK && maps)
        status = vf_queue_copy(r->queue, out, r->combined.data, (size_t)r->voxels * vf_dtype_bytes(r->type));
    return status == VF_OK ? vf_queue_sync(r->queue) : status;
}
