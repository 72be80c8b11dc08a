/* Directions of acquisitions that are no unit vectors, because they carry a length, or of which one is missing: what they say of
 * the patient is clear all the same. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/timer.h"

/* As for directions that are read: to 1 %. */
static const float LENGTH_OFF = 0.01F, COSINE = 0.01F;

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void ismrmrd_mend_directions(ismrmrd_directions *count, ismrmrd_acquisition_header *head)
{
    float *const own[3] = {head->read_dir, head->phase_dir, head->slice_dir};
    float unit[3][3];
    int missing = 0, at = 0;
    bool scaled = false, good = true;
    for (int d = 0; d < 3; d++) {
        const float length = sqrtf(dot(own[d], own[d]));
        memcpy(unit[d], own[d], sizeof unit[d]);
        if (length == 0) {
            at = d;
            missing++;
            continue;
        }
        scaled = scaled || !(fabsf(length - 1) <= LENGTH_OFF);
        good = good && isfinite(length);
        for (int a = 0; a < 3; a++)
            unit[d][a] /= length;
    }
    if (missing == 3)
        return;
    for (int d = 0; d < 3; d++)
        good = good && fabsf(dot(unit[d], unit[(d + 1) % 3])) <= COSINE;
    /* Bruker's converter drops the third component of each: then one is 0 and another too long. */
    if (!good || missing > 1 || (missing > 0 && scaled)) {
        count->unusable++;
        return;
    }
    const float *a = unit[(at + 1) % 3], *b = unit[(at + 2) % 3];
    if (missing > 0)
        memcpy(unit[at],
               (const float[3]){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]},
               sizeof unit[at]);
    count->completed += missing > 0;
    count->scaled += scaled;
    for (int d = 0; d < 3 && (scaled || missing > 0); d++)
        memcpy(own[d], unit[d], sizeof unit[d]);
}

void ismrmrd_warn_of_directions(const ismrmrd_reader *r)
{
    const char *path = r->source->path;
    if (r->directions.unusable > 0)
        vf_warn(r->ctx,
                "%s: read_dir, phase_dir and slice_dir of %" PRId64
                " acquisitions are not orthogonal; images with these directions get no orientation",
                path, r->directions.unusable);
    if (r->directions.completed > 0)
        vf_warn(
            r->ctx,
            "%s: one of read_dir, phase_dir and slice_dir is 0 in %" PRId64
            " acquisitions; the product of the two others is taken, so left and right are those of right-handed axes",
            path, r->directions.completed);
    if (r->directions.scaled > 0)
        vf_warn(r->ctx,
                "%s: read_dir, phase_dir or slice_dir of %" PRId64
                " acquisitions are no unit vectors; their directions are taken",
                path, r->directions.scaled);
}
