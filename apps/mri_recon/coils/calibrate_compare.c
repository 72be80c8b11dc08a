/* Compares the maps in a scan file with ESPIRiT's: which of them explain more energy of the coils' images of low
 * resolution. The file's maps stay unless they are clearly wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"

/* Good maps leave only noise and the effects of low resolution at edges unexplained: 0.2 % or less in scans with exact
 * maps. More than MOST_UNEXPLAINED, and MUCH_BETTER times as much as ESPIRiT's, is worth a word: maps shifted by a
 * sixteenth of the field of view or turned by 18 degrees leave 1.3 to 2.2 %, and are a matter of taste, as the image of
 * a complete scan has nearly the same error.
 *
 * Maps that leave WRONG are not this scan's: what they cannot explain has sqrt(0.05) = 0.22 of the signal's amplitude,
 * and an undersampled scan folds it to other places. Two coils of eight exchanged leave 7 %, maps turned by 36 degrees
 * 8 %, mirrored ones 24 %, conjugate ones 94 %; an object that moved by an eighth of the field of view 4.5 %. */
static const double MOST_UNEXPLAINED = 0.008, MUCH_BETTER = 3, WRONG = 0.05;
/* Nor are maps whose error is much larger than the noise, of which ESPIRiT's leave little more: more than SPOILING, and
 * FAR_BETTER times as much. A real scan of the brain whose maps leave 1.2 % beside 0.1 % gets a checkerboard by them. */
static const double SPOILING = 0.01, FAR_BETTER = 6;
/* The least share of the centre that must be sampled: with gaps, the images are too inexact to compare maps. */
static const double WHOLE = 0.98;
/* The root of the sum of squares of maps is smooth if it differs from its mean over 5 voxels an axis by less than this
 * (rms); that of 8 coils of noise differs by 0.18. */
static const double ROUGH = 0.1;
/* A taper would blend the voxels of an axis that has at most FEW, all of them sampled. */
enum { REACH = 2, FEW = 16 };

static vf_status make_images(calibration *c, low_resolution *l)
{
    const int64_t *n = l->n, *whole = c->scan->matrix;
    for (int a = 0; a < 3; a++) {
        c->small[a] = n[a];
        c->k_cut[a] = n[a] > FEW || n[a] < whole[a] ? (double)n[a] / 2 : INFINITY;
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

double calibrate_unexplained(const calibration *c, const low_resolution *l, const float complex *maps,
                             const float complex *others)
{
    double all = 0, left = 0;
    for (int64_t i = 0; i < l->points; i++) {
        double complex dot = 0;
        double own = 0, size = 0, other = 0;
        for (int coil = 0; coil < c->scan->coils; coil++) {
            const double complex y = l->images[coil * l->points + i], s = maps[coil * c->voxels + l->voxel[i]];
            dot += conj(s) * y;
            own += creal(y * conj(y));
            size += creal(s * conj(s));
            if (others)
                other += cabsf(others[coil * c->voxels + l->voxel[i]]);
        }
        if (others && !(size > 0 && other > 0))
            continue;
        all += own;
        left += own - (size > 0 ? creal(dot * conj(dot)) / size : 0);
    }
    return all > 0 ? left / all : 0;
}

vf_status calibrate_low_resolution(calibration *c, int place, low_resolution *l)
{
    bool cartesian;
    *l = (low_resolution){0};
    calibrate_release(c);
    vf_status status = calibrate_block(c, place, false, l->n, &cartesian);
    if (status == VF_OK && l->n[0] > 0 && (cartesian || c->share >= WHOLE))
        status = make_images(c, l);
    return status;
}

void calibrate_low_resolution_free(low_resolution *l)
{
    free(l->images);
    free(l->voxel);
    *l = (low_resolution){0};
}

/* ---- the intensity of the file's maps ---- */

/* Means over 2 REACH + 1 voxels along an axis, of values that are not 0. */
static void smooth_axis(const int64_t n[3], int axis, const float *in, float *out)
{
    const int64_t stride = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1], all = n[0] * n[1] * n[2];
    for (int64_t i = 0; i < all; i++) {
        const int64_t at = i / stride % n[axis];
        double sum = 0, count = 0;
        for (int64_t d = -REACH; d <= REACH; d++)
            if (at + d >= 0 && at + d < n[axis] && in[i + d * stride] > 0) {
                sum += (double)in[i + d * stride];
                count++;
            }
        out[i] = count > 0 ? (float)(sum / count) : 0;
    }
}

/* length[voxel] gets the root of the sum of squares of the file's maps, smoothed: with maps of this length, the image
 * is as even as with the file's. Where those are 0, the mean. False, if it is not smooth, so the maps say nothing of the
 * coils' sensitivity. `other` is scratch. */
static bool length_of(const calibration *c, const float complex *given, float *length, float *other)
{
    const int64_t *n = c->scan->matrix;
    double mean = 0, count = 0, apart = 0;
    for (int64_t i = 0; i < c->voxels; i++) {
        double sum = 0;
        for (int coil = 0; coil < c->scan->coils; coil++)
            sum += pow(cabs(given[coil * c->voxels + i]), 2);
        length[i] = (float)sqrt(sum);
        mean += sqrt(sum);
        count += sum > 0;
    }
    smooth_axis(n, 0, length, other);
    float *swap = calloc((size_t)c->voxels, sizeof *swap);
    if (!swap || !(mean > 0)) {
        free(swap);
        return false;
    }
    smooth_axis(n, 1, other, swap);
    smooth_axis(n, 2, swap, other);
    free(swap);
    mean /= count;
    for (int64_t i = 0; i < c->voxels; i++) {
        apart += length[i] > 0 ? pow((double)(length[i] - other[i]) / (double)other[i], 2) : 0;
        length[i] = other[i] > 0 ? other[i] : (float)mean;
    }
    return apart < ROUGH * ROUGH * count;
}

/* Gives maps the length of the file's where they are not 0. They no longer fade then. */
static bool even_out(const calibration *c, const float complex *given, float complex *maps)
{
    float *length = calloc((size_t)c->voxels, sizeof *length), *other = calloc((size_t)c->voxels, sizeof *other);
    const bool even = length && other && length_of(c, given, length, other);
    for (int64_t i = 0; even && i < c->voxels; i++) {
        double sum = 0;
        for (int coil = 0; coil < c->scan->coils; coil++)
            sum += pow(cabs(maps[coil * c->voxels + i]), 2);
        for (int coil = 0; coil < c->scan->coils && sum > 0; coil++)
            maps[coil * c->voxels + i] *= (float)((double)length[i] / sqrt(sum));
    }
    free(length);
    free(other);
    return even;
}

/* ---- the comparison ---- */

static bool clearly_wrong(double by_given, double by_new)
{
    return by_given > WRONG || (by_given > SPOILING && by_given > FAR_BETTER * by_new);
}

static void say_kept(const calibration *c, double by_given, double by_new)
{
    vf_warn(c->ctx,
            "the file's coil maps leave %.1f %% of the calibration data unexplained, maps estimated from the data "
            "(ESPIRiT) only %.1f %%; mri_recon uses the file's, because that may be due to motion or smoothing; "
            "compare with "
            "--coils espirit",
            100 * by_given, 100 * by_new);
}

/* Makes ESPIRiT's maps. If the given ones are wrong beside them, *out gets them, with a warning; else *out stays
 * NULL. */
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
    const double by_given = calibrate_unexplained(c, l, given, maps), by_new = calibrate_unexplained(c, l, maps, given);
    const bool better = status == VF_OK && by_given > MUCH_BETTER * by_new && by_given > MOST_UNEXPLAINED;
    const bool wrong = better && clearly_wrong(by_given, by_new);
    if (better && !wrong && place == 0)
        say_kept(c, by_given, by_new);
    if (!wrong) {
        free(maps);
        return status;
    }
    const bool even = even_out(c, given, maps);
    made->weighted = !even;
    if (place == 0)
        vf_warn(
            c->ctx,
            "the file's coil maps leave %.1f %% of the calibration data unexplained, and maps estimated from the data "
            "(ESPIRiT) only %.1f %%, so mri_recon uses the estimated maps%s; for the file's maps, use --coils file",
            100 * by_given, 100 * by_new,
            even ? ", scaled to the total sensitivity of the file's" : ", and the image is shaded by the coils");
    *out = maps;
    return VF_OK;
}

vf_status calibrate_better_maps(const device_team *team, const mri_scan *raw, int place, const float complex *given,
                                recon_watch *watch, float complex **out, calibrated *made)
{
    calibration c = {.ctx = team->ctx, .scan = raw, .team = team, .queue = team->queue[0]};
    low_resolution l;
    *made = (calibrated){0};
    *out = NULL;
    vf_status status = calibrate_low_resolution(&c, place, &l);
    /* where maps are 0, there is no image, either: the user's own choice */
    if (status == VF_OK && l.points > 0 && calibrate_unexplained(&c, &l, given, given) > MOST_UNEXPLAINED)
        status = try_espirit(&c, &l, place, given, watch, out, made);
    calibrate_release(&c);
    calibrate_low_resolution_free(&l);
    return status;
}
