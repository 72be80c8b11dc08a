/* Coil maps from the scan itself: low-resolution images of the coils by gridding, then coil_maps_walsh. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"

/* The centre reaches this many cycles per field of view that is kept, as far in mm along every axis: coils vary slowly,
 * and 24 lines are what autocalibrated scans acquire. Along a thin slab at least LEAST_CYCLES. */
static const double CENTRE_CYCLES = 12, LEAST_CYCLES = 4;
/* Maps are far smoother than this error of the images they come from. */
static const double CALIBRATION_ACCURACY = 1e-3;
/* Of the unit cells of the centre, this share must hold a sample, or the images of the coils are folded. */
static const double LEAST_COVERED = 0.85;
enum { DENSITY_ITERATIONS = 8 };

typedef struct calibration {
    vf_context *ctx;
    const scan *scan;
    vf_queue *queue;
    vf_nufft *nufft;
    int64_t voxels;
    scan_trajectory centre; /* samples of all frames within the centre; k only */
    float complex *data;    /* [coil][sample] of those */
    float *weights;         /* [sample] */
    double k_cut[3];
    vf_array samples, image; /* of one coil, on the device */
} calibration;

static void choose_centre(calibration *c)
{
    const scan *raw = c->scan;
    double kept[3], widest = 0;
    for (int a = 0; a < 3; a++) {
        kept[a] = raw->fov[a] * (double)raw->crop[a] / (double)raw->matrix[a];
        widest = raw->matrix[a] > 1 ? fmax(widest, kept[a]) : widest;
    }
    for (int a = 0; a < 3; a++) {
        const double n = (double)raw->matrix[a];
        const double cycles = fmax(CENTRE_CYCLES * raw->fov[a] / widest, LEAST_CYCLES * raw->fov[a] / kept[a]);
        c->k_cut[a] = n > 1 ? fmin(n / 2, cycles) : INFINITY;
    }
}

/* Whether frame f is of the slice and shows what its first frame shows. */
static bool belongs(const scan *raw, int f, int first, int slice)
{
    const scan_frame *frame = &raw->frame[f], *like = &raw->frame[first];
    if (frame->slice != slice)
        return false;
    if (f >= raw->frames || f == first)
        return true;
    if (frame->contrast != like->contrast || frame->phase != like->phase || frame->set != like->set)
        return false;
    for (int g = 0; g < f; g++) /* the same samples again add nothing */
        if (raw->frame[g].slice == slice && raw->frame[g].trajectory == frame->trajectory)
            return false;
    return true;
}

static bool inside(const calibration *c, const float *k)
{
    double radius = 0;
    for (int a = 0; a < 3; a++)
        radius += pow(k[a] / c->k_cut[a], 2);
    return radius < 1;
}

/* Gathers the centres of the frames; with NULL arrays it counts. */
static int64_t gather(const calibration *c, int slice, float *k, float complex *data, int64_t samples)
{
    const scan *raw = c->scan;
    int64_t found = 0;
    int first = 0;
    while (first < raw->frames && raw->frame[first].slice != slice)
        first++;
    for (int f = 0; f < raw->frames + raw->calibrations && first < raw->frames; f++) {
        if (!belongs(raw, f, first, slice))
            continue;
        const scan_trajectory *at = &raw->trajectory[raw->frame[f].trajectory];
        for (int64_t m = 0; m < at->samples; m++) {
            if (!inside(c, at->k + 3 * m))
                continue;
            for (int coil = 0; data && coil < raw->coils; coil++)
                data[coil * samples + found] = raw->frame[f].data[coil * at->samples + m];
            if (k)
                memcpy(k + 3 * found, at->k + 3 * m, 3 * sizeof *k);
            found++;
        }
    }
    return found;
}

/* The share of unit cells within the centre that hold a sample; 1 if there are too many to count. */
static double covered(const calibration *c)
{
    int64_t reach[3], cells = 1, within = 0, held = 0;
    for (int a = 0; a < 3; a++) {
        reach[a] = isfinite(c->k_cut[a]) ? (int64_t)floor(c->k_cut[a] - 0.5) : 0;
        cells *= 2 * reach[a] + 1;
    }
    unsigned char *cell = cells < (1 << 24) ? calloc((size_t)cells, 1) : NULL;
    if (!cell)
        return 1;
    for (int64_t m = 0; m < c->centre.samples; m++) {
        int64_t at = 0;
        bool in = true;
        for (int a = 2; a >= 0; a--) {
            const int64_t n = reach[a] > 0 ? llroundf(c->centre.k[3 * m + a]) + reach[a] : 0;
            in &= n >= 0 && n <= 2 * reach[a];
            at = at * (2 * reach[a] + 1) + n;
        }
        if (in)
            cell[at] = 1;
    }
    for (int64_t i = 0; i < cells; i++) {
        const int64_t along = 2 * reach[0] + 1, rows = 2 * reach[1] + 1;
        const float k[3] = {(float)(i % along - reach[0]), (float)(i / along % rows - reach[1]),
                            (float)(i / along / rows - reach[2])};
        if (inside(c, k)) {
            within++;
            held += cell[i];
        }
    }
    free(cell);
    return within ? (double)held / (double)within : 1;
}

static vf_status take_centre(calibration *c, int slice)
{
    const int coils = c->scan->coils;
    const int64_t samples = c->centre.samples = gather(c, slice, NULL, NULL, 0);
    if (samples == 0)
        return vf_fail(
            c->ctx, VF_ERR_INPUT,
            "slice %d: no sample lies in the centre of k-space (|k| < %g), so coil maps cannot be estimated; "
            "use --coils rss",
            slice, c->k_cut[0]);
    c->centre.k = malloc((size_t)samples * 3 * sizeof *c->centre.k);
    c->data = malloc((size_t)samples * (size_t)coils * sizeof *c->data);
    c->weights = malloc((size_t)samples * sizeof *c->weights);
    if (!c->centre.k || !c->data || !c->weights)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    gather(c, slice, c->centre.k, c->data, samples);
    const double share = covered(c);
    if (share < LEAST_COVERED)
        vf_warn(
            c->ctx,
            "coil maps are estimated from a centre of k-space of which only %.0f %% is sampled, so the image may be "
            "folded; give maps (--coils file) or calibration lines, or use --coils rss",
            100 * share);
    return VF_OK;
}

/* Density weights of the samples, from the device. */
static vf_status density(calibration *c)
{
    vf_array weights = {0};
    const int64_t samples = c->centre.samples;
    vf_status status = vf_array_create(vf_context_device(c->ctx, 0), VF_SPACE_DEVICE, VF_F32, samples, &weights);
    if (status == VF_OK)
        status = vf_nufft_density_weights(c->nufft, c->queue, DENSITY_ITERATIONS, weights.data);
    if (status == VF_OK)
        status = vf_queue_copy(c->queue, c->weights, weights.data, (size_t)samples * sizeof *c->weights);
    if (status == VF_OK)
        status = vf_queue_sync(c->queue);
    vf_array_free(&weights);
    return status;
}

static vf_status coil_images(calibration *c, float complex *images)
{
    vf_device *device = vf_context_device(c->ctx, 0);
    const int64_t samples = c->centre.samples;
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_C64, samples, &c->samples);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, VF_C64, c->voxels, &c->image);
    for (int coil = 0; coil < c->scan->coils && status == VF_OK; coil++) {
        status = upload(c->queue, c->data + coil * samples, samples, &c->samples);
        if (status == VF_OK)
            status = vf_nufft_adjoint(c->nufft, c->queue, 1, c->samples.data, c->image.data);
        if (status == VF_OK)
            status = download(c->queue, &c->image, c->voxels, images + coil * c->voxels);
    }
    return status;
}

vf_status calibrate_maps(vf_context *ctx, const scan *raw, int slice, vf_queue *queue, float complex *maps, char *text,
                         size_t size)
{
    calibration c = {.ctx = ctx, .scan = raw, .queue = queue};
    const vf_nufft_options options = {.tolerance = CALIBRATION_ACCURACY, .precision = VF_F32};
    c.voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    choose_centre(&c);
    vf_status status = take_centre(&c, slice);
    const vf_nufft_samples samples = {.count = c.centre.samples, .k = c.centre.k};
    if (status == VF_OK)
        status = vf_nufft_create(vf_context_device(ctx, 0), raw->matrix, &samples, 1, &options, &c.nufft);
    if (status == VF_OK)
        status = density(&c);
    if (status == VF_OK) {
        coil_maps_calibration(&c.centre, raw->coils, c.data, c.k_cut, c.weights, c.data);
        status = coil_images(&c, maps);
    }
    float *signal = malloc((size_t)c.voxels * sizeof *signal);
    if (status == VF_OK && !signal)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    if (status == VF_OK)
        status = coil_maps_walsh(ctx, raw->matrix, raw->coils, maps, maps, signal);
    if (status == VF_OK)
        status = coil_maps_extend(ctx, raw->matrix, raw->coils, signal, maps);
    free(signal);
    if (status == VF_OK)
        snprintf(text, size, "%d coils, maps estimated from the centre of k-space, |kx| < %.3g%s (Walsh)", raw->coils,
                 c.k_cut[0], raw->calibrations ? ", and calibration lines" : "");
    vf_nufft_destroy(c.nufft);
    vf_array_free(&c.samples);
    vf_array_free(&c.image);
    free(c.centre.k);
    free(c.data);
    free(c.weights);
    return status;
}
