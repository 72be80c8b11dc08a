/* F^H d in batches of coils, combined with the coil maps on the device. On a GPU, the next batch's samples are weighted
 * and copied while the current batch is transformed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choose_operator.h"
#include "density.h"
#include "equations.h"
#include "transfer.h"
#include "voxfield/copy.h"
#include "voxfield/pipeline.h"
#include "voxfield/team_size.h"
#include "voxfield/vector.h"

enum { MOST_BATCH = 8, STAGES = 2 };
enum { FEW_FRAMES = 4 };                      /* so few copies take less time than to pin memory for them */
static const int64_t BATCH_BYTES = 256 << 20; /* limit for the coil images of a batch */

/* One device's part of the work. */
typedef struct side_part {
    right_side *side;
    vf_queue *queue;
    team_share share;
    vf_encoding *encoding; /* NULL: bilinear */
    int batch;             /* coils at a time */
    vf_pipeline *batches;  /* of [batch][sample] */
    vf_array coil_images;  /* [batch][its voxels] */
    vf_array combined;     /* [set][its voxels]; allocated on first use */
} side_part;

struct right_side {
    const device_team *team;
    const solve_settings *settings;
    const mri_scan *scan;
    const scan_trajectory *at;
    recon_watch *watch;
    vf_dtype type;
    int64_t voxels;
    float *density;      /* [sample], or NULL */
    const float *factor; /* [sample] on the data, or NULL */
    int parts;           /* devices that take part */
    team_share *share;   /* [parts] */
    side_part *part;     /* [parts] */
    vf_queue *host;      /* adds up the images of several coil groups; NULL: not needed */
    vf_array partial;    /* [parts - 1][set][voxel], in host memory: images of all coil groups but the first */
};

/* The frame in progress. */
typedef struct side_of_frame {
    right_side *side;
    const scan_frame *frame;
    const device_maps *maps;
    void *out;
} side_of_frame;

/* The frame in progress on one device. */
typedef struct part_of_frame {
    side_part *part;
    const scan_frame *frame;
    const vf_array *maps;
    int sets;
    void *out; /* without maps: gets all coils' images, all voxels */
} part_of_frame;

/* Returns the number of coils in a batch; *first is its first coil, counted over all coils. */
static int batch_coils(const side_part *p, int64_t batch, int *first)
{
    const int64_t left = p->share.coils - batch * p->batch;
    *first = (int)(p->share.first_coil + batch * p->batch);
    return (int)(left < p->batch ? left : p->batch);
}

/* Noise with E|n|^2 = 1, determined by the numbers of replica, place and sample: the Box-Muller method on numbers from
 * splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static float complex draw(int replica, int place, int64_t sample)
{
    const uint64_t bits = mix(mix(mix((uint64_t)replica << 32 | (uint32_t)place)) + (uint64_t)sample);
    const double to_unit = 1.0 / 4294967296; /* (0, 1] and [0, 1) */
    const double size = sqrt(-log(((double)(bits >> 32) + 1) * to_unit));
    const double angle = 2 * M_PI * (double)(uint32_t)bits * to_unit;
    return (float)(size * cos(angle)) + (float)(size * sin(angle)) * I;
}

/* A coil's sample m: the frame's data, times `factor`, or a replica's noise. The noise of a sample of weight w has the variance 1
 * / w. */
static float complex datum(const right_side *r, const scan_frame *frame, int64_t coil, int64_t m)
{
    const scan_trajectory *at = r->at;
    if (!frame->replica) {
        const float complex d = scan_coil(r->scan, frame, coil)[m];
        return r->factor ? r->factor[m] * d : d;
    }
    const float w = at->weights ? at->weights[m] : 1;
    return w > 0 ? draw(frame->replica, frame->place, coil * at->samples + m) / sqrtf(w) : 0;
}

/* A batch's conj(phi) w d; for gridding `density` d. */
static vf_status weighted_data(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const part_of_frame *f = user;
    const right_side *r = f->part->side;
    const scan_trajectory *at = r->at;
    int first;
    const int count = batch_coils(f->part, piece->number, &first);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(r->team->ctx, 2 * count * at->samples))
    for (int64_t m = 0; m < at->samples; m++) {
        float complex factor = r->density ? r->density[m] : conjf(sample_phi(r->settings, r->scan, at, m));
        if (!r->density && at->weights)
            factor *= at->weights[m];
        for (int c = 0; c < count; c++) {
            const float complex value = factor * datum(r, f->frame, first + c, m);
            if (r->type == VF_C128)
                ((double complex *)piece->host)[c * at->samples + m] = value;
            else
                ((float complex *)piece->host)[c * at->samples + m] = value;
        }
    }
    *bytes = (size_t)(count * at->samples) * vf_dtype_bytes(r->type);
    return VF_OK;
}

/* ---- sharing the work ---- */

/* Devices share a direct sum by voxels: the exponentials serve all coils of a batch, and the bits stay the same. A
 * NUFFT needs whole images, so devices share it by coils. Bilinear gridding runs on the CPU, as one part. */
static vf_status make_shares(right_side *r)
{
    const bool cuts_voxels = r->settings->method != RECON_GRIDDING && r->settings->method != RECON_BILINEAR &&
                             encoding_choose_for(r->settings, r->scan, r->at) == VF_ENCODE_DIRECT;
    const int64_t row = r->scan->matrix[0], coils = r->scan->coils;
    const int64_t most = r->settings->method == RECON_BILINEAR ? 1 : cuts_voxels ? r->voxels / row : coils;
    r->parts = most < r->team->count ? (int)most : r->team->count;
    r->share = calloc((size_t)r->parts, sizeof *r->share);
    r->part = calloc((size_t)r->parts, sizeof *r->part);
    if (!r->share || !r->part)
        return vf_fail(r->team->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < r->parts; d++) {
        team_share *s = &r->share[d];
        *s = (team_share){.coils = coils, .voxels = r->voxels};
        if (cuts_voxels) {
            s->first_voxel = team_cut(r->voxels, row, r->parts, d);
            s->voxels = team_cut(r->voxels, row, r->parts, d + 1) - s->first_voxel;
        } else {
            s->first_coil = team_cut(coils, 1, r->parts, d);
            s->coils = team_cut(coils, 1, r->parts, d + 1) - s->first_coil;
        }
        r->part[d] = (side_part){.side = r, .queue = r->team->queue[d], .share = *s};
    }
    return VF_OK;
}

const team_share *right_side_shares(const right_side *r, int *parts)
{
    *parts = r->parts;
    return r->share;
}

static bool adds_groups(const right_side *r)
{
    return r->parts > 1 && r->share[0].voxels == r->voxels;
}

/* ---- memory and plans ---- */

static void choose_batch(side_part *p)
{
    const int64_t image = p->share.voxels * (int64_t)vf_dtype_bytes(p->side->type);
    p->batch = p->share.coils < MOST_BATCH ? (int)p->share.coils : MOST_BATCH;
    while (p->batch > 1 && p->batch * image > BATCH_BYTES)
        p->batch /= 2;
}

static vf_status make_density(right_side *r)
{
    r->density = malloc((size_t)r->at->samples * sizeof *r->density);
    if (!r->density)
        return vf_fail(r->team->ctx, VF_ERR_MEMORY, "no memory for density weights");
    watch_stage(r->watch, "density weights", 1);
    return vf_density_weights(r->team->queue[0], r->scan->matrix, r->at->samples, r->at->k, r->at->weights, watch_tell,
                              r->watch, r->density);
}

/* Batches share arrays and the transform's memory, and are added up in a fixed order, so they are computed one by
 * one. */
static vf_status make_batches(side_part *p, int device)
{
    const right_side *r = p->side;
    const bool overlap = p->share.coils > p->batch && !vf_device_is_host(vf_queue_device(p->queue));
    const int stages = overlap ? STAGES : 1;
    const int64_t samples =
        p->encoding ? r->at->samples * p->batch : 0; /* bilinear gridding reads the frame's data directly */
    const vf_pipeline_options options = {.first = device,
                                         .devices = 1,
                                         .stages = stages,
                                         .buffers = stages,
                                         .bytes = (size_t)samples * vf_dtype_bytes(r->type),
                                         .ordered = true,
                                         .ordinary = r->scan->frames <= FEW_FRAMES};
    return vf_pipeline_create(r->team->ctx, &options, &p->batches);
}

static vf_status prepare_part(void *user, int number)
{
    right_side *r = user;
    side_part *p = &r->part[number];
    vf_device *device = vf_queue_device(p->queue);
    vf_encoding_options options = encoding_options(r->settings, r->scan, r->at);
    if (r->settings->method == RECON_GRIDDING && options.by != VF_ENCODE_CARTESIAN)
        options.by = VF_ENCODE_NUFFT;
    choose_batch(p);
    options.most_batch = p->batch;
    vf_status status = VF_OK;
    if (r->settings->method != RECON_BILINEAR)
        status = encoding_create(device, r->scan, r->at, &options, &p->encoding);
    if (status == VF_OK && p->encoding) {
        vf_encoding_restrict(p->encoding, p->share.first_voxel, p->share.voxels);
        vf_encoding_watch(p->encoding, watch_tell, r->watch);
    }
    VF_TRY(status, make_batches(p, r->team->first + number));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, r->type, p->share.voxels * p->batch, &p->coil_images));
    return status;
}

vf_status right_side_create(const device_team *team, const solve_settings *settings, const mri_scan *raw,
                            const scan_trajectory *at, recon_watch *watch, right_side **out)
{
    right_side *r = *out = calloc(1, sizeof *r);
    if (!r)
        return vf_fail(team->ctx, VF_ERR_MEMORY, "no memory");
    *r = (right_side){.team = team,
                      .settings = settings,
                      .scan = raw,
                      .at = at,
                      .watch = watch,
                      .type = vf_dtype_complex(settings->precision),
                      .voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2]};
    vf_device *host = vf_context_host(team->ctx);
    vf_status status = settings->method == RECON_GRIDDING ? make_density(r) : VF_OK;
    watch_stage(watch, "F^H d", 0);
    VF_TRY(status, make_shares(r));
    VF_TRY(status, team_run(team, r->parts, prepare_part, r));
    if (status == VF_OK && adds_groups(r))
        status = vf_queue_create(host, &r->host);
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
    for (int d = 0; r->part && d < r->parts; d++) {
        side_part *p = &r->part[d];
        vf_encoding_destroy(p->encoding);
        vf_pipeline_destroy(p->batches);
        vf_array_free(&p->coil_images);
        vf_array_free(&p->combined);
    }
    vf_queue_destroy(r->host);
    vf_array_free(&r->partial);
    free(r->density);
    free(r->share);
    free(r->part);
    free(r);
}

void right_side_weigh(right_side *r, const float *factor)
{
    r->factor = factor;
}

const char *right_side_description(const right_side *r)
{
    return r->part[0].encoding ? vf_encoding_description(r->part[0].encoding) : "bilinear gridding";
}

/* ---- a frame ---- */

/* Bilinear gridding, as in the published study, of coils [first, first + count) on the CPU, into coil_images. Samples
 * of weight 0 are left out. */
static vf_status bilinear(side_part *p, const scan_frame *frame, vf_queue *queue, int first, int count)
{
    const right_side *r = p->side;
    const scan_trajectory *at = r->at;
    vf_context *ctx = r->team->ctx;
    float *k = malloc((size_t)at->samples * 3 * sizeof *k);
    float complex *kept = malloc((size_t)at->samples * sizeof *kept);
    float complex *image = malloc((size_t)r->voxels * (size_t)count * sizeof *image);
    vf_status status = image && k && kept ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the coils' images");
    for (int c = 0; c < count && status == VF_OK; c++) {
        vf_nufft_samples samples = {.k = k};
        for (int64_t m = 0; m < at->samples; m++)
            if (!at->weights || at->weights[m] > 0) {
                memcpy(k + 3 * samples.count, at->k + 3 * m, 3 * sizeof *k);
                kept[samples.count++] = datum(r, frame, first + c, m);
            }
        status = vf_bilinear_gridding(ctx, r->scan->matrix, &samples, VF_C64, kept, image + c * r->voxels);
        if (status == VF_OK)
            watch_add(r->watch, 1);
    }
    VF_TRY(status, upload(queue, image, r->voxels * count, &p->coil_images));
    free(image);
    free(k);
    free(kept);
    return status;
}

/* F^H d of a batch, into coil_images. */
static vf_status adjoint(side_part *p, const scan_frame *frame, const vf_pipeline_piece *piece, int first, int count)
{
    if (!p->encoding)
        return bilinear(p, frame, piece->queue, first, count);
    const vf_array samples = {.data = piece->memory,
                              .count = p->side->at->samples * count,
                              .type = p->side->type,
                              .space = VF_SPACE_DEVICE,
                              .device = vf_queue_device(piece->queue)};
    return vf_encoding_adjoint(p->encoding, piece->queue, count, &samples, &p->coil_images);
}

/* Element `first` of host memory. */
static void *host_at(const right_side *r, void *data, int64_t first)
{
    return vf_offset(vf_context_host(r->team->ctx), data, r->type, first);
}

/* Computes a batch's images, and adds them to the combined image or copies them to the output. */
static vf_status take_batch(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const part_of_frame *f = user;
    side_part *p = f->part;
    const right_side *r = p->side;
    const int64_t voxels = p->share.voxels;
    int first;
    const int count = batch_coils(p, piece->number, &first);
    vf_status status = adjoint(p, f->frame, piece, first, count);
    for (int c = 0; c < count && status == VF_OK; c++) {
        const void *image = vf_array_at(&p->coil_images, c * voxels);
        const int64_t coil = first + c;
        for (int s = 0; s < f->sets && status == VF_OK; s++) {
            const int64_t map = (s * p->share.coils + coil - p->share.first_coil) * voxels;
            status = vf_vector_multiply_add(piece->queue, r->type, voxels, vf_array_at(f->maps, map), image,
                                            vf_array_at(&p->combined, s * voxels));
        }
        if (!f->maps)
            status = vf_queue_copy(piece->queue, host_at(r, f->out, coil * r->voxels + p->share.first_voxel), image,
                                   (size_t)voxels * vf_dtype_bytes(r->type));
    }
    *bytes = 0;
    return status;
}

/* Copies a device's combined image to the output, or to `partial` if groups are added up. */
static vf_status take_combined(side_part *p, int number, const side_of_frame *whole)
{
    const right_side *r = p->side;
    const bool adds = r->host && number > 0;
    void *to = adds ? vf_array_at(&r->partial, (number - 1) * whole->maps->sets * r->voxels) : whole->out;
    vf_status status = VF_OK;
    for (int s = 0; s < whole->maps->sets && status == VF_OK; s++)
        status = vf_queue_copy(p->queue, host_at(r, to, s * r->voxels + p->share.first_voxel),
                               vf_array_at(&p->combined, s * p->share.voxels),
                               (size_t)p->share.voxels * vf_dtype_bytes(r->type));
    return status;
}

static vf_status run_part(void *user, int number)
{
    const side_of_frame *whole = user;
    const right_side *r = whole->side;
    side_part *p = &r->part[number];
    const int sets = whole->maps ? whole->maps->sets : 0;
    const int64_t count = sets * p->share.voxels;
    part_of_frame f = {p, whole->frame, sets ? &whole->maps->array[number] : NULL, sets, whole->out};
    const vf_pipeline_work work = {.pieces = (p->share.coils + p->batch - 1) / p->batch,
                                   .user = &f,
                                   .load = p->encoding ? weighted_data : NULL,
                                   .compute = take_batch};
    vf_status status = VF_OK;
    if (sets)
        status = grow_array(vf_queue_device(p->queue), VF_SPACE_DEVICE, r->type, count, &p->combined);
    if (status == VF_OK && sets)
        status = vf_fill(p->queue, r->type, count, (const double[2]){0}, p->combined.data);
    if (status == VF_OK)
        status = vf_queue_sync(p->queue); /* the batches run on other queues */
    VF_TRY(status, vf_pipeline_run(p->batches, &work));
    if (status == VF_OK && sets)
        status = take_combined(p, number, whole);
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

vf_status right_side_of_frame(right_side *r, const scan_frame *frame, const device_maps *maps, void *out)
{
    side_of_frame f = {.side = r, .frame = frame, .maps = maps, .out = out};
    const int64_t count = maps ? maps->sets * r->voxels : 0;
    vf_status status = VF_OK;
    if (maps && r->host)
        status = grow_array(vf_context_host(r->team->ctx), VF_SPACE_HOST, r->type, (r->parts - 1) * count, &r->partial);
    VF_TRY(status, team_run(r->team, r->parts, run_part, &f));
    /* Always in device order, so that the bits are the same. */
    for (int d = 1; maps && r->host && d < r->parts && status == VF_OK; d++)
        status = vf_vector_axpby(r->host, r->type, count, 1, vf_array_at(&r->partial, (d - 1) * count), 1, out);
    return status;
}
