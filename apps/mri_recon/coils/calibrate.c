/* Coil maps from the scan itself. Each coil's image of low resolution is solved for by least squares, on a matrix that
 * the centre of k-space fills. (Gridding would leave a haze around the object, which mixes what coils see at different
 * places.) From the image's samples on a Cartesian grid, vf_espirit makes the maps; samples that are Cartesian already
 * are used unchanged. Or the samples are tapered and make smooth images on the scan's matrix, from which
 * vf_coil_maps_walsh makes the maps. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "coil_maps.h"
#include "espirit.h"
#include "voxfield/team_size.h"

/* The centre's radius in cycles per field of view after cropping; it is the same in 1/mm along every axis. Coils vary
 * slowly, and autocalibrated scans acquire 24 lines. Across a thin slab it is at least LEAST_CYCLES. */
static const double CENTRE_CYCLES = 12, LEAST_CYCLES = 4;
/* LEAST_COVERED: the share of the centre's unit cells that must hold a sample, or the coils' images are folded. It is
 * lower for irregular gaps, which spread the aliasing over the image. Gaps are irregular if copies of the object
 * shifted by a half, third or quarter of the field of view have at most the share MOST_FOLDED of its brightness. */
static const double LEAST_COVERED = 0.85, LEAST_COVERED_IRREGULARLY = 0.6, MOST_FOLDED = 0.2;
enum { WIDER = 8 }; /* extra samples along an axis that are solved for and then cut off before ESPIRiT */
/* ESPIRiT's truncation, for original samples and for solved ones. With 1e-6, the errors of solved samples may count as
 * signal: images of a half-sampled radial scan were off by 6 % with WIDER = 8, but by 18 to 24 % with 0, 4 and 24. */
static const double TRUNCATION = CALIBRATE_TRUNCATION, TRUNCATION_SOLVED = 1e-4;
/* Warn if the maps explain less of the data, or if more of the signal lies where two parts of the object fall on one
 * voxel. */
static const double LEAST_EXPLAINED = CALIBRATE_LEAST_EXPLAINED, MOST_SECOND = 0.1;
/* With less of the centre sampled, its gaps fold the coils' images. If they do, voxels look as if two parts of the object fell on
 * them: more of the signal than MOST_OF_GAPS, of which scans whose gaps do not matter, such as few spokes, have 0. */
static const double WITHOUT_GAPS = 0.98, MOST_OF_GAPS = 0.01;
/* In the inner half of the centre, where most of the signal is, more must be sampled than in all of it: few spokes leave gaps
 * only farther out, spirals whose turns are too far apart everywhere. */
static const double LEAST_INNER = 0.95;
/* Nor may the solution lose more of a known image in the gaps (calibrate_solve). Then ESPIRiT's maps describe the gaps' folds,
 * and those of joint estimation are better; with less, the two are equally good. In 3D joint estimation takes ten times as long,
 * and the solution of a koosh ball of few spokes, which is exact enough for maps, loses up to 0.021. */
static const double MOST_LOST_2D = 0.016, MOST_LOST_3D = 0.03;

static void choose_centre(calibration *c)
{
    const mri_scan *raw = c->scan;
    double kept[3], widest = 0;
    for (int a = 0; a < 3; a++) {
        kept[a] = raw->fov[a] * (double)raw->crop[a] / (double)raw->matrix[a];
        widest = raw->matrix[a] > 1 ? fmax(widest, kept[a]) : widest;
    }
    for (int a = 0; a < 3; a++) {
        const double n = (double)raw->matrix[a];
        const double cycles = fmax(CENTRE_CYCLES * raw->fov[a] / widest, LEAST_CYCLES * raw->fov[a] / kept[a]);
        c->k_cut[a] = n > 1 ? fmin(n / 2, cycles) : INFINITY;
        c->small[a] = n > 1 ? (int64_t)fmin(n, 2 * ceil(cycles)) : 1;
    }
    c->points = c->small[0] * c->small[1] * c->small[2];
    c->voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
}

/* Sets the shares of unit cells within the centre, a ball, and within half of its radius, that hold a sample; 1 if memory runs
 * out. */
static void cover(calibration *c)
{
    int64_t within[2] = {0, 0}, held[2] = {0, 0};
    unsigned char *cell = calloc((size_t)c->points, 1);
    c->share = c->inner_share = 1;
    if (!cell)
        return;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->ctx, 5 * c->centre.samples))
    for (int64_t m = 0; m < c->centre.samples; m++) {
        int64_t at = 0;
        for (int a = 2; a >= 0; a--) {
            int64_t n = c->small[a] > 1 ? calibrate_nearest(c->centre.k[3 * m + a]) + c->small[a] / 2 : 0;
            n = n < 0 ? 0 : n < c->small[a] ? n : c->small[a] - 1;
            at = at * c->small[a] + n;
        }
        calibrate_mark(cell + at);
    }
    for (int64_t i = 0; i < c->points; i++) {
        double radius = 0;
        for (int a = 0; a < 3; a++)
            radius += pow((fabs((double)c->grid.k[3 * i + a]) + 0.5) / c->k_cut[a], 2);
        for (int half = 0; half < 2; half++) {
            const bool inside = radius < (half ? 0.25 : 1);
            within[half] += inside;
            held[half] += inside && cell[i];
        }
    }
    free(cell);
    if (within[0] > 0)
        c->share = (double)held[0] / (double)within[0];
    if (within[1] > 0)
        c->inner_share = (double)held[1] / (double)within[1];
}

/* The largest value of the point spread function, relative to its value at 0, at shifts by a half, third and quarter of
 * the field of view along the axes. */
static double folding(const calibration *c)
{
    double largest = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(max                                                            \
                                                        : largest)                                                     \
    num_threads(vf_threads_for(c->ctx, 9 * 30 * c->centre.samples))
    for (int shift = 0; shift < 9; shift++) {
        const int a = shift / 3, part = 2 + shift % 3;
        double re = 0, im = 0;
        for (int64_t m = 0; m < c->centre.samples && c->small[a] > 1; m++) {
            const double phase = 2 * M_PI * (double)c->centre.k[3 * m + a] / part;
            re += cos(phase);
            im += sin(phase);
        }
        largest = fmax(largest, hypot(re, im) / (double)c->centre.samples);
    }
    return largest;
}

/* Whether the centre is sampled well enough to solve for the coils' images. */
static bool well_sampled(const calibration *c)
{
    if (c->inner_share < LEAST_INNER)
        return false;
    return c->share >= LEAST_COVERED || (c->share >= LEAST_COVERED_IRREGULARLY && folding(c) <= MOST_FOLDED);
}

vf_status calibrate_number(calibration *c)
{
    c->points = c->small[0] * c->small[1] * c->small[2];
    c->grid.samples = c->points;
    free(c->grid.k);
    c->grid.k = malloc((size_t)c->points * 3 * sizeof *c->grid.k);
    if (!c->grid.k)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    for (int64_t i = 0; i < c->points; i++) {
        const int64_t at[3] = {i % c->small[0], i / c->small[0] % c->small[1], i / c->small[0] / c->small[1]};
        for (int a = 0; a < 3; a++)
            c->grid.k[3 * i + a] = (float)(at[a] - c->small[a] / 2);
    }
    return VF_OK;
}

static vf_status make_grid(calibration *c)
{
    vf_status status = calibrate_number(c);
    if (status != VF_OK)
        return status;
    c->gridded = malloc((size_t)c->points * (size_t)c->scan->coils * sizeof *c->gridded);
    return c->gridded ? VF_OK : vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
}

static vf_status take_centre(calibration *c, int place, bool warn)
{
    const vf_status status = calibrate_require(c, place, c->k_cut[0]);
    if (status != VF_OK)
        return status;
    calibrate_normalise(c->ctx, c->data, c->centre.samples * c->scan->coils);
    cover(c);
    if (warn && !well_sampled(c))
        vf_warn(c->ctx,
                "only %.0f %% of the centre of k-space is sampled, so the estimated coil maps may be wrong and the "
                "image folded; give maps (--coils FILE), acquire calibration lines, or use --coils rss",
                100 * c->share);
    return VF_OK;
}

/* ---- ESPIRiT ---- */

void calibrate_release(calibration *c)
{
    free(c->centre.k);
    free(c->data);
    free(c->grid.k);
    free(c->gridded);
    c->centre.k = c->grid.k = NULL;
    c->data = c->gridded = NULL;
}

/* The solved centre is somewhat wider than the `n` that is kept, because the solution is worst at its edge. */
static void choose_wider(calibration *c, int64_t n[3])
{
    choose_centre(c);
    for (int a = 0; a < 3; a++) {
        n[a] = c->small[a];
        c->small[a] = n[a] > 1 ? (int64_t)fmin((double)c->scan->matrix[a], (double)(n[a] + WIDER)) : 1;
    }
}

/* Solves for the centre of any trajectory by least squares. */
static vf_status take_any(calibration *c, int place, bool must, int64_t n[3])
{
    choose_wider(c, n);
    vf_status status = make_grid(c);
    VF_TRY(status, take_centre(c, place, must));
    bool enough = must || well_sampled(c);
    if (enough && status == VF_OK) {
        status = calibrate_solve(c, must ? NULL : n);
        enough = must || c->lost <= (c->scan->matrix[2] > 1 ? MOST_LOST_3D : MOST_LOST_2D);
    }
    if (status == VF_OK && enough)
        calibrate_cut(c, c->small, n);
    else
        memset(n, 0, 3 * sizeof *n);
    return status;
}

static void judge(const calibration *c, const vf_espirit_quality *quality, bool replaced)
{
    if (quality->explained < LEAST_EXPLAINED && !replaced)
        vf_warn(
            c->ctx,
            "the coil maps explain only %.0f %% of the calibration data, so the image may be shaded or folded; acquire "
            "more calibration lines, or use --coils rss",
            100 * quality->explained);
    if (quality->second_share > MOST_SECOND && quality->sets == 1 && !c->scan->ghosts)
        vf_warn(c->ctx,
                "the object seems to be larger than the field of view: %.0f %% of the signal is in voxels where two "
                "parts of it overlap, which one set of coil maps cannot describe; use two sets (--method cg with "
                "--map-sets auto)",
                100 * quality->second_share);
}

vf_status calibrate_block(calibration *c, int place, bool must, int64_t n[3], bool *cartesian)
{
    memset(n, 0, 3 * sizeof *n);
    c->voxels = c->scan->matrix[0] * c->scan->matrix[1] * c->scan->matrix[2];
    vf_status status = calibrate_cartesian(c, place, n);
    *cartesian = n[0] > 0;
    if (status != VF_OK || *cartesian)
        return status;
    calibrate_release(c);
    return take_any(c, place, must, n);
}

vf_status calibrate_espirit(calibration *c, int place, bool must, recon_map_sets sets, recon_watch *watch,
                            float complex *maps, calibrated *made, vf_espirit_quality *quality)
{
    const mri_scan *raw = c->scan;
    int64_t n[3];
    bool cartesian;
    vf_status status = calibrate_block(c, place, must, n, &cartesian);
    if (status != VF_OK || n[0] == 0)
        return status;
    const vf_espirit_task task = {.matrix = {raw->matrix[0], raw->matrix[1], raw->matrix[2]},
                                  .block = {n[0], n[1], n[2]},
                                  .coils = raw->coils,
                                  .data = c->gridded,
                                  .truncation = cartesian ? TRUNCATION : TRUNCATION_SOLVED,
                                  .sets = sets == RECON_SETS_ONE ? 1 : 2,
                                  .least_share = sets == RECON_SETS_AUTO ? MOST_SECOND : 0,
                                  .tell = watch ? watch_tell : NULL,
                                  .user = watch};
    status = vf_espirit(c->ctx, &task, maps, NULL, quality);
    if (status != VF_OK)
        return status;
    made->sets = quality->sets;
    made->weighted = true;
    if (quality->sets == 1)
        snprintf(made->text, sizeof made->text,
                 "%d coil%s, maps estimated from %lld x %lld x %lld samples of the centre of k-space (ESPIRiT), which "
                 "explain %.1f %% of the data",
                 raw->coils, vf_plural(raw->coils), (long long)n[0], (long long)n[1], (long long)n[2],
                 100 * quality->explained);
    else
        snprintf(made->text, sizeof made->text,
                 "%d coil%s, two sets of maps estimated from %lld x %lld x %lld samples of the centre of k-space "
                 "(ESPIRiT); %.0f %% of the signal is folded%s",
                 raw->coils, vf_plural(raw->coils), (long long)n[0], (long long)n[1], (long long)n[2],
                 100 * quality->second_share, raw->ghosts ? ", or ghosts" : "");
    return VF_OK;
}

static bool has_calibration_lines(const mri_scan *raw)
{
    for (int f = raw->frames; f < raw->frames + raw->calibrations; f++)
        if (!raw->frame[f].spare)
            return true;
    return false;
}

vf_status calibrate_walsh(calibration *c, int place, bool warn, float complex *maps, calibrated *made)
{
    const mri_scan *raw = c->scan;
    choose_centre(c);
    vf_status status = make_grid(c);
    VF_TRY(status, take_centre(c, place, warn));
    VF_TRY(status, calibrate_solve(c, NULL));
    VF_TRY(status, calibrate_images(c, raw->matrix, maps));
    VF_TRY(status, vf_coil_maps_walsh(c->ctx, raw->matrix, raw->coils, maps, maps));
    if (status == VF_OK)
        snprintf(made->text, sizeof made->text,
                 "%d coil%s, maps estimated from the centre of k-space, |kx| < %.3g%s (Walsh)", raw->coils,
                 vf_plural(raw->coils), c->k_cut[0], has_calibration_lines(raw) ? ", and calibration lines" : "");
    made->sets = 1;
    return status;
}

bool calibrate_takes_joint(vf_context *ctx, const mri_scan *raw, recon_coils how, recon_map_sets sets, int place)
{
    calibration c = {.ctx = ctx, .scan = raw};
    int64_t n[3];
    if (how == RECON_COILS_ESPIRIT || how == RECON_COILS_WALSH || sets == RECON_SETS_TWO || raw->coils == 1)
        return false;
    if (how == RECON_COILS_NLINV)
        return true;
    bool joint = false;
    calibrate_choose_phases(&c, place);
    if (!calibrate_has_box(&c, place)) {
        choose_wider(&c, n);
        vf_status status = calibrate_gather(&c, place, false);
        const bool any = status == VF_OK && c.centre.samples > 0;
        VF_TRY(status, any ? calibrate_number(&c) : VF_OK);
        if (any && status == VF_OK) {
            cover(&c);
            joint = !well_sampled(&c);
        }
        if (status != VF_OK)
            vf_context_clear_error(ctx);
    }
    calibrate_release(&c);
    return joint;
}

/* Whether ESPIRiT's maps are likely to describe the calibration's own folds, as of a spiral whose turns are too far apart. */
static bool gaps_fold(const calibration *c, const vf_espirit_quality *quality)
{
    return c->share > 0 && c->share < WITHOUT_GAPS && quality->second_share > MOST_OF_GAPS;
}

/* Joint estimation in place of ESPIRiT's maps, which stay if it cannot make any. */
static vf_status replace_folded(calibration *c, int place, recon_map_sets sets, recon_watch *watch, float complex *maps,
                                calibrated *made, vf_espirit_quality *quality)
{
    const calibrated before = *made;
    calibrate_release(c);
    *made = (calibrated){0};
    vf_status status = calibrate_jointly(c, place, true, watch, maps, made);
    if (status != VF_ERR_INPUT)
        return status;
    vf_context_clear_error(c->ctx);
    calibrate_release(c);
    *made = before;
    return calibrate_espirit(c, place, false, sets, watch, maps, made, quality);
}

vf_status calibrate_maps(const device_team *team, const mri_scan *raw, recon_coils how, recon_map_sets sets, int place,
                         recon_watch *watch, float complex *maps, calibrated *made)
{
    calibration c = {.ctx = team->ctx, .scan = raw, .team = team, .queue = team->queue[0]};
    const bool must = how == RECON_COILS_ESPIRIT || sets == RECON_SETS_TWO;
    vf_status status = VF_OK;
    vf_espirit_quality quality = {0};
    *made = (calibrated){0};
    calibrate_choose_phases(&c, place);
    c.voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    if (must || (how != RECON_COILS_WALSH && how != RECON_COILS_NLINV && raw->coils > 1))
        status = calibrate_espirit(&c, place, must, sets, watch, maps, made, &quality);
    const bool folded = made->sets > 0 && !must && gaps_fold(&c, &quality);
    bool replaced = false;
    if (status == VF_OK && folded)
        status = replace_folded(&c, place, sets, watch, maps, made, &quality);
    else if (status == VF_OK && made->sets > 0 && quality.explained < LEAST_EXPLAINED && !must)
        status = calibrate_replace(&c, place, quality.explained, maps, made, &replaced);
    if (status == VF_OK && made->sets > 0 && !folded)
        judge(&c, &quality, replaced);
    if (status == VF_OK && made->sets == 0) {
        calibrate_release(&c);
        status = how == RECON_COILS_WALSH || raw->coils == 1 ? calibrate_walsh(&c, place, true, maps, made)
                                                             : calibrate_jointly(&c, place, true, watch, maps, made);
    }
    calibrate_release(&c);
    return status;
}
