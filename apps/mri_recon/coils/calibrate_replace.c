/* Where ESPIRiT's maps explain too little of the calibration data, other methods may explain more: ESPIRiT for each
 * partition of a volume, if the coils change too much from one to the next; joint estimation, which needs no patches; or
 * Walsh's method, which only needs images. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"

/* Other maps must explain more by this share of the data to take the place of ESPIRiT's; and Walsh's, which follow the
 * noise, to take that of NLINV's. */
static const double MARGIN = 0.02;

typedef enum method { BY_PARTITIONS, BY_NLINV, BY_WALSH, METHODS } method;
static const char *const names[METHODS] = {"ESPIRiT, partition by partition", "NLINV", "Walsh"};

/* Transforms the block along z: the samples of partition z, [coil][ky][kx]. */
static void partition_of(const calibration *c, const int64_t n[3], int64_t z, float complex *out)
{
    const int64_t plane = n[0] * n[1];
    for (int64_t i = 0; i < plane * c->scan->coils; i++) {
        double complex sum = 0;
        for (int64_t k = 0; k < n[2]; k++) {
            const double phase = 2 * M_PI * (double)((k - n[2] / 2) * (z - n[2] / 2)) / (double)n[2];
            sum += (double complex)c->gridded[i / plane * plane * n[2] + k * plane + i % plane] *
                   (cos(phase) + sin(phase) * I);
        }
        out[i] = (float complex)(sum / (double)n[2]);
    }
}

/* ESPIRiT's maps of each partition, if all partitions are fully sampled; else made->sets stays 0. */
static vf_status by_partitions(calibration *c, int place, float complex *maps, calibrated *made)
{
    const mri_scan *raw = c->scan;
    int64_t n[3];
    bool cartesian;
    *made = (calibrated){0};
    vf_status status = calibrate_block(c, place, false, n, &cartesian);
    if (status != VF_OK || !cartesian || n[2] != raw->matrix[2] || n[0] == 1 || n[1] == 1 || n[2] == 1)
        return status;
    const int64_t plane = raw->matrix[0] * raw->matrix[1];
    float complex *data = malloc((size_t)(n[0] * n[1] * raw->coils) * sizeof *data);
    float complex *of_plane = malloc((size_t)(plane * raw->coils) * sizeof *of_plane);
    if (!data || !of_plane)
        status = vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
    for (int64_t z = 0; z < n[2] && status == VF_OK; z++) {
        vf_espirit_quality quality;
        const vf_espirit_task task = {.matrix = {raw->matrix[0], raw->matrix[1], 1},
                                      .block = {n[0], n[1], 1},
                                      .coils = raw->coils,
                                      .data = data,
                                      .truncation = CALIBRATE_TRUNCATION,
                                      .sets = 1};
        partition_of(c, n, z, data);
        status = vf_espirit(c->ctx, &task, of_plane, NULL, &quality);
        for (int coil = 0; coil < raw->coils && status == VF_OK; coil++)
            memcpy(maps + (coil * n[2] + z) * plane, of_plane + coil * plane, (size_t)plane * sizeof *maps);
    }
    free(data);
    free(of_plane);
    made->sets = 1;
    made->weighted = true;
    (void)snprintf(
        made->text, sizeof made->text,
        "%d coils, maps of each partition estimated from %lld x %lld samples of the centre of k-space (ESPIRiT)",
        raw->coils, (long long)n[0], (long long)n[1]);
    return status;
}

/* Makes maps by a method, and the share of the data that they explain; 0 if the method cannot make any. */
static vf_status attempt(calibration *c, const low_resolution *l, int place, method by, float complex *maps,
                         calibrated *made, double *explained)
{
    calibrate_release(c);
    *explained = 0;
    const vf_status status = by == BY_PARTITIONS ? by_partitions(c, place, maps, made)
                             : by == BY_NLINV    ? calibrate_jointly(c, place, false, NULL, maps, made)
                                                 : calibrate_walsh(c, place, false, maps, made);
    if (status == VF_ERR_INPUT) { /* such as an empty partition, or data that are too inconsistent for NLINV */
        vf_context_clear_error(c->ctx);
        return VF_OK;
    }
    if (status == VF_OK && made->sets > 0)
        *explained = 1 - calibrate_unexplained(c, l, maps, NULL);
    return status;
}

static void take(const calibration *c, const float complex *from, float complex *maps, const calibrated *by,
                 calibrated *made)
{
    memcpy(maps, from, (size_t)c->scan->coils * (size_t)c->voxels * sizeof *maps);
    *made = *by;
}

vf_status calibrate_replace(calibration *c, int place, double explained, float complex *maps, calibrated *made,
                            bool *replaced)
{
    low_resolution l;
    double best = explained, other = 0;
    float complex *made_now = malloc((size_t)c->scan->coils * (size_t)c->voxels * sizeof *made_now);
    const char *name = NULL;
    if (!made_now)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", c->scan->coils);
    vf_status status = calibrate_low_resolution(c, place, &l);
    if (made->sets == 1 && l.points > 0) /* by the same measure */
        best = 1 - calibrate_unexplained(c, &l, maps, NULL);
    /* By this measure ESPIRiT's may explain enough, where the calibration data say that they do not: others are tried. */
    for (int by = 0; by < METHODS && status == VF_OK && l.points > 0; by++) {
        if (name && best >= CALIBRATE_LEAST_EXPLAINED)
            break;
        calibrated now = {0};
        status = attempt(c, &l, place, (method)by, made_now, &now, &other);
        if (status != VF_OK || !(other > best + MARGIN))
            continue;
        best = other;
        name = names[by];
        take(c, made_now, maps, &now, made);
    }
    *replaced = status == VF_OK && name;
    char where[48] = "";
    if (c->scan->places > 1)
        snprintf(where, sizeof where, "slice or slab %d, counted from 0: ", place);
    if (*replaced)
        vf_warn(
            c->ctx,
            "%sESPIRiT's coil maps explain only %.0f %% of the calibration data, so mri_recon uses maps by %s, which "
            "explain %.0f %% of the images of low resolution%s; for ESPIRiT's, use --coils espirit",
            where, 100 * explained, name, 100 * best,
            best < CALIBRATE_LEAST_EXPLAINED ? "; the image may still be shaded or folded" : "");
    free(made_now);
    calibrate_low_resolution_free(&l);
    return status;
}
