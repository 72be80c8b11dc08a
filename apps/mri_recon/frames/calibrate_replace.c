/* Where ESPIRiT's maps explain too little of the calibration data, other methods may explain more: joint estimation,
 * which needs no patches, or Walsh's method, which only needs images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"

/* Other maps must explain more by this share of the data to take the place of ESPIRiT's; and Walsh's, which follow the
 * noise, to take that of NLINV's. */
static const double MARGIN = 0.02;

/* Makes maps by a method, and the share of the data that they explain; 0 if the method cannot make any. */
static vf_status attempt(calibration *c, const low_resolution *l, int place, bool joint, float complex *maps,
                         calibrated *made, double *explained)
{
    calibrate_release(c);
    *explained = 0;
    const vf_status status =
        joint ? calibrate_jointly(c, place, false, NULL, maps, made) : calibrate_walsh(c, place, false, maps, made);
    if (status == VF_ERR_INPUT) { /* such as data that are too inconsistent for NLINV */
        vf_context_clear_error(c->ctx);
        return VF_OK;
    }
    if (status == VF_OK)
        *explained = 1 - calibrate_unexplained(c, l, maps, NULL);
    return status;
}

static void take(const calibration *c, const float complex *from, float complex *maps, const calibrated *by,
                 calibrated *made)
{
    memcpy(maps, from, (size_t)c->scan->coils * (size_t)c->voxels * sizeof *maps);
    *made = *by;
    made->weighted = false;
}

vf_status calibrate_replace(calibration *c, int place, double explained, float complex *maps, calibrated *made,
                            bool *replaced)
{
    low_resolution l;
    calibrated by = {0};
    double best = explained, other = 0;
    float complex *made_now = malloc((size_t)c->scan->coils * (size_t)c->voxels * sizeof *made_now);
    const char *method = NULL;
    if (!made_now)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", c->scan->coils);
    vf_status status = calibrate_low_resolution(c, place, &l);
    if (made->sets == 1 && l.points > 0) /* by the same measure */
        best = 1 - calibrate_unexplained(c, &l, maps, NULL);
    for (int joint = 1; joint >= 0 && status == VF_OK && l.points > 0 && best < CALIBRATE_LEAST_EXPLAINED; joint--) {
        status = attempt(c, &l, place, joint, made_now, &by, &other);
        if (status != VF_OK || !(other > best + MARGIN))
            continue;
        best = other;
        method = joint ? "NLINV" : "Walsh";
        take(c, made_now, maps, &by, made);
    }
    *replaced = status == VF_OK && method;
    if (*replaced)
        vf_warn(c->ctx,
                "ESPIRiT's coil maps explain only %.0f %% of the calibration data, so mri_recon uses maps by %s, which "
                "explain %.0f %%; for ESPIRiT's, use --coils espirit",
                100 * explained, method, 100 * best);
    free(made_now);
    calibrate_low_resolution_free(&l);
    return status;
}
