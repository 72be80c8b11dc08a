/* Compares the maps in a scan file with ESPIRiT's: which of them explain more energy of the coils' images of low
 * resolution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"

/* Good maps leave only noise and the effects of low resolution at edges unexplained: 0.2 % or less in scans with exact
 * maps. For a brain scan, the file's maps left 1.3 %, ESPIRiT's 0.2 %; for a checkerboard they left less. */
static const double MOST_UNEXPLAINED = 0.008, MUCH_BETTER = 3;
/* The least share of the centre that must be sampled: with gaps, the images are too inexact to compare maps. */
static const double WHOLE = 0.98;

/* The coils' images, and the nearest voxels of the scan's matrix. */
typedef struct low_resolution {
    int64_t n[3], points;
    float complex *images; /* [coil][points] */
    int64_t *voxel;        /* [points] the nearest */
} low_resolution;

static vf_status make_images(calibration *c, low_resolution *l)
{
    const int64_t *n = l->n, *whole = c->scan->matrix;
    for (int a = 0; a < 3; a++) {
        c->small[a] = n[a];
        c->k_cut[a] = n[a] > 1 ? (double)n[a] / 2 : INFINITY;
    }
    vf_status status = calibrate_number(c);
    l->points = c->points;
    l->images = malloc((size_t)c->points * (size_t)c->scan->coils * sizeof *l->images);
    l->voxel = malloc((size_t)c->points * sizeof *l->voxel);
    if (status == VF_OK && !(l->images && l->voxel))
        status = vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to judge coil maps");
    for (int64_t i = 0; status == VF_OK && i < l->points; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        l->voxel[i] = 0;
        for (int a = 2; a >= 0;
             a--) { /* the centres coincide; the first of an even number is half a voxel off an odd one */
            const double moved = floor((double)(at[a] - n[a] / 2) * (double)whole[a] / (double)n[a]);
            l->voxel[i] = l->voxel[i] * whole[a] + (int64_t)fmax(0, (double)(whole[a] / 2) + moved);
        }
    }
    return status == VF_OK ? calibrate_images(c, n, l->images) : status;
}

/* The share of the energy that maps [coil][voxels] do not explain, over voxels where both `maps` and `others` are not
 * 0. `others` may be NULL. */
static double unexplained(const calibration *c, const low_resolution *l, const float complex *maps,
                          const float complex *others)
{
    double all = 0, left = 0;
    for (int64_t i = 0; i < l->points; i++) {
        double complex dot = 0;
        double own = 0, size = 0, other = others ? 0 : 1;
        for (int coil = 0; coil < c->scan->coils; coil++) {
            const double complex y = l->images[coil * l->points + i], s = maps[coil * c->voxels + l->voxel[i]];
            dot += conj(s) * y;
            own += creal(y * conj(y));
            size += creal(s * conj(s));
            if (others)
                other += cabsf(others[coil * c->voxels + l->voxel[i]]);
        }
        if (!(size > 0 && other > 0))
            continue;
        all += own;
        left += own - creal(dot * conj(dot)) / size;
    }
    return all > 0 ? left / all : 0;
}

/* Makes ESPIRiT's maps. If they are much better, *out gets them, with a warning; else *out stays NULL. */
static vf_status try_espirit(calibration *c, const low_resolution *l, int place, const float complex *given,
                             recon_watch *watch, float complex **out, calibrated *made)
{
    const mri_scan *raw = c->scan;
    float complex *maps = malloc((size_t)raw->coils * (size_t)c->voxels * sizeof *maps);
    if (!maps)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", raw->coils);
    vf_espirit_quality quality;
    calibrate_release(c);
    vf_status status = calibrate_espirit(c, place, true, RECON_SETS_ONE, watch, maps, made, &quality);
    const double by_given = unexplained(c, l, given, maps), by_new = unexplained(c, l, maps, given);
    if (status != VF_OK || !(by_given > MOST_UNEXPLAINED && by_given > MUCH_BETTER * by_new)) {
        free(maps);
        return status;
    }
    if (place == 0)
        vf_warn(
            c->ctx,
            "the file's coil maps leave %.1f %% of the calibration data unexplained, maps estimated from the data "
            "(ESPIRiT) only %.1f %%, so mri_recon uses the estimated maps, and the image is shaded by the coils; for "
            "the file's maps, use --coils file",
            100 * by_given, 100 * by_new);
    *out = maps;
    return VF_OK;
}

vf_status calibrate_better_maps(const device_team *team, const mri_scan *raw, int place, const float complex *given,
                                recon_watch *watch, float complex **out, calibrated *made)
{
    calibration c = {.ctx = team->ctx, .scan = raw, .team = team, .queue = team->queue[0]};
    low_resolution l = {0};
    bool cartesian;
    *made = (calibrated){0};
    *out = NULL;
    vf_status status = calibrate_block(&c, place, false, l.n, &cartesian);
    if (status == VF_OK && l.n[0] > 0 && (cartesian || c.share >= WHOLE)) {
        status = make_images(&c, &l);
        if (status == VF_OK && unexplained(&c, &l, given, NULL) > MOST_UNEXPLAINED)
            status = try_espirit(&c, &l, place, given, watch, out, made);
    }
    calibrate_release(&c);
    free(l.images);
    free(l.voxel);
    return status;
}
