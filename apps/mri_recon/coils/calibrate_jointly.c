/* Coil maps if the centre of k-space is not sampled densely enough for calibration: image and maps are estimated
 * together (nlinv.h) from the samples in the centre. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"
#include "channel_noise.h"
#include "density.h"
#include "nlinv.h"
#include "solve/transfer.h"
#include "voxfield/fft.h"

/* The centre's radius in cycles per field of view after cropping; it is the same in 1/mm along every axis. It covers
 * enough of the object that missing lines follow from their neighbours. Across a thin slab it is at least
 * LEAST_CYCLES. */
static const double CYCLES_2D = 24, CYCLES_3D = 12, LEAST_CYCLES = 4;
/* The solved image and maps reach beyond the samples by this many cycles. */
static const double BEYOND = 6;
/* Warn if image and maps explain less of the data, or if the folding (vf_nlinv_quality) of regular samples is
 * larger. */
static const double LEAST_EXPLAINED = 0.9, MOST_FOLDING = 0.95;
static const double ACCURACY = 1e-5; /* of F */

typedef struct joint {
    calibration *c;
    int64_t small[3];
    int64_t voxels, points; /* of the small matrix; of Q */
    int periods;
    float complex *weights; /* [sample] */
    float complex *adjoint; /* [coil][voxels] */
    float complex *psf;     /* [points] */
    double energy, noise;
} joint;

static vf_status no_memory(const calibration *c)
{
    return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
}

/* Chooses the part of the centre to use, c->small, and the matrix to solve on, j->small. Only c->scan must be set. */
static void choose_small(joint *j)
{
    calibration *c = j->c;
    const mri_scan *raw = c->scan;
    double kept[3], widest = 0;
    int axes = 0;
    for (int a = 0; a < 3; a++) {
        kept[a] = raw->fov[a] * (double)raw->crop[a] / (double)raw->matrix[a];
        widest = raw->matrix[a] > 1 ? fmax(widest, kept[a]) : widest;
        axes += raw->matrix[a] > 1;
    }
    j->voxels = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = raw->matrix[a];
        const double reach = axes == 3 ? CYCLES_3D : CYCLES_2D;
        const double cycles = fmax(reach * raw->fov[a] / widest, LEAST_CYCLES * raw->fov[a] / kept[a]);
        const int64_t wanted = vf_fft_good_length((int64_t)ceil(2 * (cycles + BEYOND * raw->fov[a] / widest)));
        c->small[a] = n > 1 ? (int64_t)fmin((double)n, 2 * ceil(cycles)) : 1;
        j->small[a] = n > 1 ? (n < wanted ? n : wanted) : 1;
        j->voxels *= j->small[a];
    }
}

static vf_status gather(joint *j, int place)
{
    calibration *c = j->c;
    const vf_status status = calibrate_require(c, place, 0);
    if (status != VF_OK)
        return status;
    j->weights = malloc((size_t)c->centre.samples * sizeof *j->weights);
    return j->weights ? VF_OK : no_memory(c);
}

/* W: 1 / voxels for samples on a grid, else density weights, so that F^H W F is near 1 where there are samples. */
static vf_status choose_weights(joint *j)
{
    calibration *c = j->c;
    const int64_t samples = c->centre.samples;
    vf_status status = VF_OK;
    j->periods = vf_cartesian_fits(j->small, samples, c->centre.k, NULL, NULL) ? 1 : 2;
    float *density = malloc((size_t)samples * sizeof *density);
    if (!density)
        return no_memory(c);
    for (int64_t m = 0; m < samples; m++)
        density[m] = (float)(1 / (double)j->voxels);
    if (j->periods == 2)
        status = vf_density_weights(c->queue, j->small, c->centre.samples, c->centre.k, c->centre.weights, NULL, NULL,
                                    density);
    for (int64_t m = 0; m < samples && status == VF_OK; m++)
        j->weights[m] = density[m];
    free(density);
    return status;
}

/* sum of w |d|^2 */
static double data_energy(const joint *j)
{
    const int64_t samples = j->c->centre.samples;
    double energy = 0;
    for (int coil = 0; coil < j->c->scan->coils; coil++)
        for (int64_t m = 0; m < samples; m++) {
            const float complex d = j->c->data[coil * samples + m];
            energy += crealf(j->weights[m]) * ((double)crealf(d) * crealf(d) + (double)cimagf(d) * cimagf(d));
        }
    return energy;
}

/* Scales the data, and computes their energy and the noise's part of it: of whitened data, or as the outermost samples have it. */
static vf_status measure(joint *j)
{
    calibration *c = j->c;
    const double before = data_energy(j);
    double noise = c->scan->coils, weights = 0;
    vf_status status = VF_OK;
    if (!c->scan->whitened || c->scan->noise_estimated)
        status = channel_outer_noise(c->ctx, c->scan, &noise);
    for (int64_t m = 0; m < c->centre.samples; m++)
        weights += (double)crealf(j->weights[m]);
    calibrate_normalise(c->ctx, c->data, c->centre.samples * c->scan->coils);
    j->energy = data_energy(j);
    j->noise = before > 0 ? fmin(noise * weights / before, 1) * j->energy : 0;
    return status;
}

/* y = F^H x for `count` vectors of samples, on a matrix of `extent` fields of view. `weighted`: y = F^H W x. */
static vf_status adjoint_of(const joint *j, int extent, const int64_t matrix[3], int count, const float complex *x,
                            bool weighted, float complex *y)
{
    calibration *c = j->c;
    vf_device *device = vf_queue_device(c->queue);
    const int64_t samples = c->centre.samples, points = matrix[0] * matrix[1] * matrix[2];
    const vf_encoding_samples at = {.count = samples, .k = c->centre.k};
    const vf_encoding_options options = {.by = j->periods == 1 ? VF_ENCODE_AUTO : VF_ENCODE_OFF_GRID,
                                         .precision = VF_F32,
                                         .accuracy = ACCURACY,
                                         .most_batch = 1,
                                         .extent = extent};
    vf_encoding *e = NULL;
    vf_array in = {0}, out = {0};
    float complex *product = malloc((size_t)samples * sizeof *product);
    vf_status status = product ? VF_OK : no_memory(c);
    VF_TRY(status, vf_encoding_create(device, matrix, &at, &options, &e));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, samples, &in));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, points, &out));
    for (int v = 0; v < count && status == VF_OK; v++) {
        for (int64_t m = 0; m < samples; m++)
            product[m] = weighted ? crealf(j->weights[m]) * x[v * samples + m] : x[v * samples + m];
        status = upload(c->queue, product, samples, &in);
        VF_TRY(status, vf_encoding_adjoint(e, c->queue, 1, &in, &out));
        VF_TRY(status, download(c->queue, &out, points, y + v * points));
    }
    vf_encoding_destroy(e);
    vf_array_free(&in);
    vf_array_free(&out);
    free(product);
    return status;
}

/* F^H W d of each coil, and Q. */
static vf_status make_input(joint *j)
{
    calibration *c = j->c;
    int64_t grid[3];
    j->points = 1;
    for (int a = 0; a < 3; a++) {
        grid[a] = j->small[a] > 1 ? j->small[a] * j->periods : 1;
        j->points *= grid[a];
    }
    j->adjoint = malloc((size_t)c->scan->coils * (size_t)j->voxels * sizeof *j->adjoint);
    j->psf = malloc((size_t)j->points * sizeof *j->psf);
    if (!j->adjoint || !j->psf)
        return no_memory(c);
    vf_status status = adjoint_of(j, 1, j->small, c->scan->coils, c->data, true, j->adjoint);
    VF_TRY(status, adjoint_of(j, j->periods, grid, 1, j->weights, false, j->psf));
    return status;
}

static void judge(const calibration *c, const vf_nlinv_quality *quality)
{
    if (quality->explained < LEAST_EXPLAINED)
        vf_warn(
            c->ctx,
            "the estimated image and coil maps explain only %.0f %% of the data in the centre of k-space, so the "
            "image may be shaded or folded; give maps (--coils FILE), acquire calibration lines, or use --coils rss",
            100 * quality->explained);
    if (quality->folding > MOST_FOLDING)
        vf_warn(
            c->ctx,
            "the centre of k-space is regularly undersampled, so the coil maps are ambiguous and the image may have "
            "ghosts; give maps (--coils FILE), or acquire at least four more lines in the centre of k-space");
}

static vf_status estimate(joint *j, recon_watch *watch, float complex *maps, vf_nlinv_quality *quality)
{
    const mri_scan *raw = j->c->scan;
    vf_nlinv_task task = {.coils = raw->coils,
                          .periods = j->periods,
                          .adjoint = j->adjoint,
                          .psf = j->psf,
                          .energy = j->energy,
                          .noise = j->noise,
                          .tell = watch ? watch_tell : NULL,
                          .user = watch};
    for (int a = 0; a < 3; a++) {
        task.matrix[a] = raw->matrix[a];
        task.small[a] = j->small[a];
        task.fov[a] = raw->fov[a];
        task.kept[a] = (double)raw->crop[a] / (double)raw->matrix[a];
    }
    return vf_nlinv(j->c->ctx, &task, maps, quality);
}

double calibrate_jointly_work(const mri_scan *raw, bool on_grid)
{
    /* `terms`: of nlinv.h's series along an axis; `iterations`: a typical number. */
    const double terms = 17, iterations = 150;
    calibration c = {.scan = raw};
    joint j = {.c = &c};
    choose_small(&j);
    double points = 1, series = 1, sums = 0;
    int axes = 0;
    for (int a = 0; a < 3; a++) {
        axes += j.small[a] > 1;
        points *= (double)(j.small[a] > 1 && !on_grid ? 2 * j.small[a] : j.small[a]);
        series *= j.small[a] > 1 ? terms : 1;
    }
    for (int a = 2; a >= 0; a--) { /* the series is summed axis by axis, from terms to voxels */
        if (j.small[a] == 1)
            continue;
        sums += 8 * series * (double)j.small[a];
        series *= (double)j.small[a] / terms;
    }
    const double coils = fmin(raw->coils, axes == 3 ? 12 : 16);
    return iterations * coils * 2 * (5 * points * log2(points + 1) + sums);
}

vf_status calibrate_jointly(calibration *c, int place, bool warn, recon_watch *watch, float complex *maps,
                            calibrated *made)
{
    joint j = {.c = c};
    vf_nlinv_quality quality;
    choose_small(&j);
    vf_status status = gather(&j, place);
    VF_TRY(status, choose_weights(&j));
    VF_TRY(status, measure(&j));
    VF_TRY(status, make_input(&j));
    VF_TRY(status, estimate(&j, watch, maps, &quality));
    if (status == VF_OK) {
        if (warn)
            judge(c, &quality);
        made->sets = 1;
        snprintf(made->text, sizeof made->text,
                 "%d coils, maps estimated together with the image from %lld samples of the centre of k-space (NLINV), "
                 "which explain %.1f %% of the data",
                 c->scan->coils, (long long)c->centre.samples, 100 * quality.explained);
    }
    free(j.weights);
    free(j.adjoint);
    free(j.psf);
    return status;
}
