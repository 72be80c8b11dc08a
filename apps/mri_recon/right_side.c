/* F^H d, coil by coil in batches, combined through the coils' maps on the device. */
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"
#include "voxfield/vector.h"

enum { MOST_BATCH = 8 };
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
    float complex *host;  /* [batch][sample] */
    vf_array samples;     /* [batch][sample] */
    vf_array coil_images; /* [batch][voxels] */
    vf_array combined;    /* [voxels] */
};

/* conj(phi) w d of `count` coils; for gridding `density` d, which is no least-squares right side. */
static void weighted_data(const right_side *r, const scan_frame *frame, int first, int count, float complex *out)
{
    const scan_trajectory *at = r->at;
    for (int64_t m = 0; m < at->samples; m++) {
        float complex factor = r->density ? r->density[m] : conjf(sample_phi(r->settings, r->scan, at, m));
        if (!r->density && at->weights)
            factor *= at->weights[m];
        for (int c = 0; c < count; c++)
            out[c * at->samples + m] = factor * frame->data[(first + c) * at->samples + m];
    }
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

static vf_status prepare(right_side *r)
{
    vf_device *device = vf_context_device(r->ctx, 0);
    recon_settings settings = *r->settings;
    if (settings.method == RECON_GRIDDING)
        settings.encode_by = RECON_NUFFT;
    choose_batch(r);
    r->host = malloc((size_t)r->at->samples * (size_t)r->batch * sizeof *r->host);
    vf_status status = r->host ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the samples");
    if (status == VF_OK && settings.method == RECON_GRIDDING)
        status = make_density(r);
    watch_stage(r->watch, "F^H d", 0);
    if (status == VF_OK && settings.method != RECON_BILINEAR)
        status = encoding_create(r->ctx, &settings, r->scan->matrix, 1, r->at->samples, r->at->k, r->at->time,
                                 r->scan->field_map, r->batch, &r->encoding);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, r->type, r->at->samples * r->batch, &r->samples);
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
    free(r->host);
    vf_array_free(&r->samples);
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
static vf_status bilinear(right_side *r, const scan_frame *frame, int first, int count)
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
        status = upload(r->queue, image, r->voxels * count, &r->coil_images);
    free(image);
    free(k);
    free(kept);
    return status;
}

static vf_status adjoint(right_side *r, const scan_frame *frame, int first, int count)
{
    if (!r->encoding)
        return bilinear(r, frame, first, count);
    weighted_data(r, frame, first, count, r->host);
    vf_status status = upload(r->queue, r->host, r->at->samples * count, &r->samples);
    return status == VF_OK ? encoding_adjoint(r->encoding, r->queue, count, &r->samples, &r->coil_images) : status;
}

vf_status right_side_of_frame(right_side *r, const scan_frame *frame, const vf_array *maps, void *out)
{
    const size_t image_bytes = (size_t)r->voxels * vf_dtype_bytes(r->type);
    const int coils = r->scan->coils;
    vf_status status = maps ? vf_vector_zero(r->queue, r->type, r->voxels, r->combined.data) : VF_OK;
    for (int first = 0; first < coils && status == VF_OK; first += r->batch) {
        const int count = coils - first < r->batch ? coils - first : r->batch;
        status =
            vf_cancelled(r->ctx) ? vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted") : adjoint(r, frame, first, count);
        for (int c = 0; c < count && status == VF_OK; c++) {
            const char *image = (const char *)r->coil_images.data + (size_t)c * image_bytes;
            const size_t at = (size_t)(first + c) * image_bytes;
            status = maps ? vf_vector_multiply_add(r->queue, r->type, r->voxels, (const char *)maps->data + at, image,
                                                   r->combined.data)
                          : vf_queue_copy(r->queue, (char *)out + at, image, image_bytes);
        }
        if (status == VF_OK)
            status = vf_queue_sync(r->queue);
    }
    if (status == VF_OK && maps)
        status = vf_queue_copy(r->queue, out, r->combined.data, image_bytes);
    return status == VF_OK ? vf_queue_sync(r->queue) : status;
}
