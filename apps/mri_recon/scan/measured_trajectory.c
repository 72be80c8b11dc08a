/* Replaces the trajectory of a scan by that of a file (--trajectory): .h5 or .cfl. */
#include <inttypes.h>
#include <stdlib.h>

#include "bart/cfl_names.h"
#include "bart_trajectory.h"
#include "correct_internal.h"
#include "scan_units.h"
#include "scan_values.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/timer.h"

static const char DATASET[] = "/scan/trajectory";

/* An open file, with the numbers of its blocks (one for all frames, or one each), samples and components. */
typedef struct source {
    const char *path;
    vf_h5 *h5;
    cfl_file *cfl;
    int rank; /* of the dataset: 2 or 3 */
    int64_t blocks, samples, components;
} source;

static vf_status open_h5(vf_context *ctx, source *s)
{
    vf_dtype type;
    int64_t dims[VF_H5_MAX_RANK] = {0};
    vf_status status = vf_h5_open(ctx, s->path, &s->h5);
    if (status == VF_OK && !vf_h5_exists(s->h5, DATASET))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: dataset %s is missing", s->path, DATASET);
    VF_TRY(status, vf_h5_dataset_shape(s->h5, DATASET, &type, &s->rank, dims));
    if (status != VF_OK)
        return status;
    if ((s->rank != 2 && s->rank != 3) || vf_dtype_real(type) != type)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %s must be real numbers of the shape [sample][3] or [frame][sample][3]",
                       s->path, DATASET);
    s->blocks = s->rank == 3 ? dims[0] : 1;
    s->samples = dims[s->rank - 2];
    s->components = dims[s->rank - 1];
    return VF_OK;
}

static vf_status open_cfl(vf_context *ctx, source *s)
{
    vf_status status = cfl_open(ctx, s->path, &s->cfl);
    VF_TRY(status, bart_check_trajectory(ctx, s->cfl));
    if (status != VF_OK)
        return status;
    const int64_t *dims = cfl_dims(s->cfl);
    s->components = 3;
    s->samples = dims[CFL_PHS1] * dims[CFL_PHS2];
    s->blocks = cfl_count(s->cfl) / (3 * s->samples);
    return VF_OK;
}

static vf_status check_counts(vf_context *ctx, const source *s, const mri_scan *raw)
{
    const bool plane = raw->matrix[2] == 1;
    if (s->components != 3 && !(plane && s->components == 2))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %s has %" PRId64 " components; expected 3%s", s->path, DATASET,
                       s->components, plane ? " or 2" : "");
    if (s->blocks != 1 && s->blocks != raw->frames)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: trajectories for %" PRId64 " frames, but the scan has %d; expected one, or one a frame",
                       s->path, s->blocks, raw->frames);
    for (int f = 0; f < raw->frames; f++) {
        const int64_t samples = raw->trajectory[raw->frame[f].trajectory].samples;
        if (samples != s->samples)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the trajectory has %" PRId64 " sample%s, but frame %d of the scan has %" PRId64,
                           s->path, s->samples, vf_plural(s->samples), f, samples);
    }
    return VF_OK;
}

/* Reads one block into k [sample][3]. */
static vf_status read_block(vf_context *ctx, const source *s, int64_t block, float *k)
{
    if (s->cfl)
        return bart_read_k(ctx, s->cfl, block * s->samples, s->samples, k);
    const int64_t start[3] = {s->rank == 3 ? block : 0, 0, 0}, values = s->samples * s->components;
    const int64_t of_frame[3] = {1, s->samples, s->components}, whole[2] = {s->samples, s->components};
    float *numbers = NULL;
    vf_status status = SCAN_NEW(ctx, s->path, "the trajectory", values, numbers);
    VF_TRY(status, vf_h5_read(s->h5, DATASET, VF_F32, start, s->rank == 3 ? of_frame : whole, numbers));
    const int64_t bad = status == VF_OK ? scan_first_not_finite(ctx, numbers, values) : -1;
    if (bad >= 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: k of sample %" PRId64 " is %s", s->path, bad / s->components,
                         scan_not_finite_name(numbers[bad]));
    for (int64_t i = 0; status == VF_OK && i < values; i++)
        k[3 * (i / s->components) + i % s->components] = numbers[i];
    free(numbers);
    return status;
}

vf_status take_measured(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    source s = {.path = settings->trajectory};
    double extent[3];
    vf_status status = cfl_is_name(s.path) ? open_cfl(ctx, &s) : open_h5(ctx, &s);
    VF_TRY(status, check_counts(ctx, &s, raw));
    if (status == VF_OK && s.blocks > 1)
        status = separate_trajectories(ctx, s.path, raw);
    for (int i = 0; status == VF_OK && i < raw->trajectories; i++) {
        status = read_block(ctx, &s, s.blocks > 1 ? i : 0, raw->trajectory[i].k);
        VF_TRY(status, scan_check_cancelled(ctx));
    }
    VF_TRY(status, scan_take_units(ctx, s.path, settings->read.units, raw, extent));
    if (status == VF_OK)
        note_correction(raw, "trajectory of %s", s.path);
    vf_h5_close(&s.h5);
    cfl_close(&s.cfl);
    return status;
}
