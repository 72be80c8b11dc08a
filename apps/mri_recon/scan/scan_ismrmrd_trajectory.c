/* The trajectories of an ISMRMRD scan: from encoding steps for Cartesian readouts, otherwise as stored, with
 * conversion of units. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"
#include "scan_units.h"
#include "share_trajectories.h"
#include "voxfield/append.h"

vf_status ismrmrd_mark_readouts(const ismrmrd_reader *r, int frame, scan_trajectory *t)
{
    const int64_t first = r->frame_first[frame], count = r->frame_first[frame + 1] - first;
    t->samples = r->frame_samples[frame];
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "readouts", count + 1, t->readout);
    if (status != VF_OK)
        return status;
    for (int64_t i = 0; i < count; i++)
        t->readout[i] = r->line[r->order[first + i].line].at;
    t->readout[count] = t->samples;
    t->readouts = count;
    return VF_OK;
}

/* ---- Cartesian ---- */

/* A readout acquired backwards is reversed first: center_sample counts from the end at negative k, unless r->as_stored. */
double ismrmrd_readout_k(const ismrmrd_reader *r, const scan_line *line, int sample, bool ramps)
{
    const int zero = line->reversed && !r->as_stored ? line->samples - 1 - line->center : line->center;
    const double k = ramps ? epi_k(&r->epi.gradient, sample, zero) : sample - zero;
    return line->reversed ? -k : k;
}

static float readout_k(const ismrmrd_reader *r, const scan_line *line, int sample)
{
    return (float)ismrmrd_readout_k(r, line, sample, ismrmrd_on_ramps(r, line));
}

/* The smallest and largest k of the kept part of a readout. */
static void readout_range(const ismrmrd_reader *r, const scan_line *line, float range[2])
{
    float first = readout_k(r, line, line->pre), last = readout_k(r, line, line->samples - line->post - 1);
    range[0] = fminf(first, last);
    range[1] = fmaxf(first, last);
}

bool ismrmrd_line_fits(const ismrmrd_reader *r, const scan_line *line, int *axis)
{
    const int64_t *n = r->out->matrix;
    const int64_t step[3] = {0, line->step_1, line->step_2};
    float range[2];
    for (*axis = 1; *axis <= (r->plane ? 1 : 2); ++*axis) {
        const double k = ismrmrd_step_k(r, line, *axis - 1), half = (double)(n[*axis] / 2);
        if (n[*axis] == 1 ? k != 0 && step[*axis] != 0 : k < -half || k > half)
            return false;
    }
    *axis = 0;
    readout_range(r, line, range);
    return ismrmrd_on_ramps(r, line) || (range[0] >= -(float)n[0] / 2 - 0.5f && range[1] <= (float)n[0] / 2 + 0.5f);
}

static vf_status check_line(const ismrmrd_reader *r, int64_t index)
{
    const scan_line *line = &r->line[index];
    const int64_t step[2] = {line->step_1, line->step_2};
    const int64_t *n = r->out->matrix;
    int axis;
    if (ismrmrd_line_fits(r, line, &axis))
        return VF_OK;
    if (axis > 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: acquisition %" PRId64 " has kspace_encode_step_%d = %" PRId64 ", which is %+" PRId64
                       " from the centre; the encoded matrix is %" PRId64 " along %c",
                       r->source->path, index, axis, step[axis - 1], step[axis - 1] - r->center[axis - 1], n[axis],
                       "xyz"[axis]);
    float range[2];
    readout_range(r, line, range);
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s: acquisition %" PRId64
                   ": samples from %g to %g relative to center_sample exceed the encoded matrix of %" PRId64 " along x",
                   r->source->path, index, (double)range[0], (double)range[1], n[0]);
}

/* A digest of everything that k depends on. */
static vf_status cartesian_digest(const ismrmrd_reader *r, int frame, trajectory_digest *out)
{
    enum { VALUES = 8 };
    int64_t lines = r->frame_first[frame + 1] - r->frame_first[frame];
    int32_t *values;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "a frame", VALUES * lines, values);
    for (int64_t i = 0; status == VF_OK && i < lines; i++) {
        int64_t index = r->order[r->frame_first[frame] + i].line;
        const scan_line *line = &r->line[index];
        const int32_t row[VALUES] = {line->samples, line->pre,    line->post,    line->center,
                                     line->step_1,  line->step_2, line->reversed};
        memcpy(values + i * VALUES, row, sizeof row);
        memcpy(values + i * VALUES + 7, &line->shift, sizeof line->shift);
        status = check_line(r, index);
    }
    if (status == VF_OK)
        vf_digest(values, (size_t)lines * VALUES * sizeof *values, out->text);
    out->frame = frame;
    free(values);
    return status;
}

/* Samples of EPI's readouts that its correction or the ramps put more than half a cycle beyond the matrix get the weight
 * 0; readouts that the headers put there are refused before. */
static vf_status drop_beyond(const ismrmrd_reader *r, scan_trajectory *t)
{
    const float edge = (float)r->out->matrix[0] / 2;
    for (int64_t m = 0; (r->epi.ramps || r->epi.mixed) && m < t->samples; m++) {
        if (r->out->matrix[0] == 1 || fabsf(t->k[3 * m]) <= edge + 0.5f)
            continue;
        vf_status status = scan_need_weights(r->ctx, r->source->path, t);
        if (status != VF_OK)
            return status;
        t->weights[m] = 0;
        t->k[3 * m] = copysignf(edge, t->k[3 * m]);
    }
    return VF_OK;
}

static vf_status make_k(ismrmrd_reader *r, int frame, scan_trajectory *t)
{
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "a trajectory", 3 * r->frame_samples[frame], t->k);
    if (status != VF_OK)
        return status;
    status = ismrmrd_mark_readouts(r, frame, t);
    if (status != VF_OK)
        return status;
    float *k = t->k;
    for (int64_t i = r->frame_first[frame]; i < r->frame_first[frame + 1]; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        for (int m = line->pre; m < line->samples - line->post; m++, k += 3) {
            k[0] = readout_k(r, line, m) + line->shift;
            k[1] = r->out->matrix[1] == 1 ? 0 : (float)ismrmrd_step_k(r, line, 0);
            k[2] = r->out->matrix[2] == 1 ? 0 : (float)ismrmrd_step_k(r, line, 1);
        }
    }
    return drop_beyond(r, t);
}

/* Whether the stored trajectories of some acquisitions of the image have numbers that are not 0. */
static vf_status trajectories_say_something(const ismrmrd_reader *r, bool *out)
{
    enum { LOOKED_AT = 32 };
    const int64_t every = r->image_lines / LOOKED_AT + 1;
    int64_t seen = 0;
    *out = false;
    for (int64_t i = 0; !*out && i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        ismrmrd_body body;
        if (line->frame != LINE_IMAGE || seen++ % every != 0)
            continue;
        const int64_t floats = (int64_t)line->samples * (2 * (int64_t)line->channels + line->dims);
        const vf_status status =
            r->source->bodies(r->ctx, r->source->user, i, 1, sizeof(float) * (size_t)floats + 64, &body);
        if (status != VF_OK)
            return status;
        for (int64_t m = 0; m < body.traj_floats; m++)
            *out = *out || body.traj[m] != 0;
    }
    return VF_OK;
}

vf_status ismrmrd_leave_out_trajectories(ismrmrd_reader *r)
{
    const char *name = r->e->trajectory;
    bool something = true;
    if (r->dims == 0 || (strcmp(name, "cartesian") != 0 && strcmp(name, "epi") != 0))
        return VF_OK;
    const vf_status status = trajectories_say_something(r, &something);
    if (status != VF_OK || something)
        return status;
    vf_warn(r->ctx,
            "%s: acquisitions have %d trajectory_dimensions, but no k that is not 0; the header says '%s', so encoding "
            "steps "
            "are used",
            r->source->path, r->dims, name);
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        r->line[i].unused = r->line[i].dims;
        r->line[i].dims = 0;
    }
    r->dims = 0;
    return VF_OK;
}

/* Fails or warns if the header names a trajectory that does not follow from encoding steps. */
static vf_status check_is_cartesian(ismrmrd_reader *r)
{
    const char *name = r->e->trajectory;
    if (strcmp(name, "cartesian") == 0)
        return VF_OK;
    if (strcmp(name, "radial") == 0 || strcmp(name, "goldenangle") == 0 || strcmp(name, "spiral") == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the header says '%s', but the acquisitions have no trajectory (trajectory_dimensions is 0)",
                       r->source->path, name);
    if (strcmp(name, "epi") != 0)
        vf_warn(r->ctx, "%s: xml: the trajectory is '%s', but the acquisitions have none; assuming Cartesian",
                r->source->path, name[0] ? name : "not named");
    return VF_OK;
}

static void describe_steps(ismrmrd_reader *r)
{
    const int64_t *n = r->out->matrix;
    snprintf(r->units_text, sizeof r->units_text, "%sk = 0 at center_sample",
             r->epi.ramps ? "sampled on the gradient's ramps, " : "");
    if (n[1] > 1)
        vf_append(r->units_text, sizeof r->units_text, " of line %" PRId64, r->center[0]);
    if (n[2] > 1)
        vf_append(r->units_text, sizeof r->units_text, " of partition %" PRId64, r->center[1]);
}

vf_status ismrmrd_make_cartesian(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    trajectory_digest *digests = NULL;
    int *first = NULL;
    vf_status status = check_is_cartesian(r);
    VF_TRY(status, scan_allocate_digests(r->ctx, r->source->path, s->frames, &digests, &first));
    for (int f = 0; status == VF_OK && f < s->frames; f++)
        status = cartesian_digest(r, f, &digests[f]);
    if (status != VF_OK)
        goto done;
    scan_find_equal(digests, s->frames, first);
    for (int f = 0; f < s->frames; f++)
        s->trajectories += first[f] == f;
    status = SCAN_NEW(r->ctx, r->source->path, "trajectories", s->trajectories + s->calibrations, s->trajectory);
    int made = 0;
    for (int f = 0; status == VF_OK && f < s->frames; f++) {
        if (first[f] == f) {
            status = make_k(r, f, &s->trajectory[made]);
            s->frame[f].trajectory = made++;
        } else {
            s->frame[f].trajectory = s->frame[first[f]].trajectory;
        }
    }
    for (int f = s->frames; status == VF_OK && f < s->frames + s->calibrations; f++) {
        status = make_k(r, f, &s->trajectory[made]);
        s->frame[f].trajectory = made++;
    }
    describe_steps(r);
done:
    free(digests);
    free(first);
    return status;
}

/* ---- stored trajectories ---- */

/* The meaning of the third component. */
typedef enum third { THIRD_KZ, THIRD_WEIGHT, THIRD_STEP } third;

/* What the third components of all samples are. */
typedef struct third_facts {
    bool all_zero, negative; /* negative: some are */
    bool even;               /* each frame has one value */
    bool some_zero;          /* of frames with one value, some have 0 */
    double most, most_k;     /* the largest |value|, and the largest |kx| or |ky| */
} third_facts;

static third_facts look_at_third(const mri_scan *s)
{
    third_facts f = {.all_zero = true, .even = true};
    for (int i = 0; i < s->trajectories; i++) {
        const scan_trajectory *t = &s->trajectory[i];
        for (int64_t m = 0; m < t->samples; m++) {
            const float *k = t->k + 3 * m;
            f.all_zero = f.all_zero && k[2] == 0;
            f.negative = f.negative || k[2] < 0;
            f.even = f.even && k[2] == t->k[2];
            f.most = fmax(f.most, fabs((double)k[2]));
            f.most_k = fmax(f.most_k, fmax(fabs((double)k[0]), fabs((double)k[1])));
        }
        f.some_zero = f.some_zero || t->k[2] == 0;
    }
    return f;
}

/* Whether the third components of planes are neither weights nor encode anything: what a slice's position or rounding leaves of kz.
 * Programs that add up gradients leave a thousandth of k; positive ones could be weights unless they are rounding errors. */
static bool third_says_nothing(const third_facts *f)
{
    const double small = f->negative ? 1e-3 : 1e-9;
    return f->most <= small * f->most_k || (f->even && (f->negative || f->some_zero));
}

/* docs/ismrmrd.md has the rule. */
static vf_status third_component(const ismrmrd_reader *r, third *out)
{
    mri_scan *s = r->out;
    const third_facts f = look_at_third(s);
    bool steps = false;
    for (int64_t i = 0; i < r->image_lines; i++)
        steps = steps || r->line[r->order[i].line].step_2 != r->line[r->order[0].line].step_2;
    if (s->matrix[2] > 1) {
        *out = f.all_zero && (r->dims < 3 || steps) ? THIRD_STEP : THIRD_KZ;
        return VF_OK;
    }
    *out = f.all_zero || r->dims == 4 ? THIRD_KZ : THIRD_WEIGHT;
    if (*out == THIRD_WEIGHT && third_says_nothing(&f)) {
        vf_note(r->ctx,
                "%s: the trajectory's third component is %s, so it is no weight, and the matrix is 1 along z: it is "
                "not used",
                r->source->path, f.even ? "the same in all samples of an image" : "nearly 0");
        for (int i = 0; i < s->trajectories; i++)
            for (int64_t m = 0; m < s->trajectory[i].samples; m++)
                s->trajectory[i].k[3 * m + 2] = 0;
        *out = THIRD_KZ;
    }
    if (*out == THIRD_WEIGHT && f.negative)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: the trajectory's third component is neither kz (the matrix is 1 along z) nor a weight "
                       "(some are negative)",
                       r->source->path);
    return VF_OK;
}

static vf_status move_weights(ismrmrd_reader *r, scan_trajectory *t)
{
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "weights", t->samples, t->weights);
    for (int64_t m = 0; status == VF_OK && m < t->samples; m++) {
        t->weights[m] = t->k[3 * m + 2];
        t->k[3 * m + 2] = 0;
    }
    return status;
}

static vf_status step_kz(ismrmrd_reader *r)
{
    for (int64_t i = 0; i < r->image_lines; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        int64_t k = line->step_2 - r->center[1], n = r->out->matrix[2];
        if (k < -n / 2 || k > n / 2)
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: acquisition %" PRId64 " has kspace_encode_step_2 = %" PRId32 ", which is %+" PRId64
                           " from the centre; the encoded matrix is %" PRId64 " along z",
                           r->source->path, r->order[i].line, line->step_2, k, n);
        float *kz = r->out->trajectory[line->frame].k + 3 * line->at + 2;
        for (int64_t m = 0; m < line_kept(line); m++)
            kz[3 * m] = (float)k;
    }
    return VF_OK;
}

/* A trajectory that ends well within the edge may be one in units that are not known, or of another matrix. Below a quarter,
 * scan_warn says more. */
static void warn_of_share(const ismrmrd_reader *r, const k_space *space, const k_units chosen[3])
{
    const double least = 0.25, usual = 2.0 / 3;
    double share = 0;
    for (int a = 0; a < 2; a++)
        if (space->matrix[a] > 1)
            share = fmax(share, space->extent[a] * scan_unit_factor(chosen[a], space->matrix[a], space->fov[a]) /
                                    (0.5 * (double)space->matrix[a]));
    if (r->request->units == K_AUTO && share >= least && share < usual)
        vf_warn(r->ctx,
                "%s: the trajectory reaches only %.0f %% of the edge of k-space if it is in %s; if the object has the "
                "wrong "
                "size in the image, give --trajectory-units",
                r->source->path, 100 * share, scan_unit_text(chosen[0]));
}

static vf_status convert_units(ismrmrd_reader *r, int axes)
{
    mri_scan *s = r->out;
    k_space space = {.most = 0};
    char why[800] = "";
    k_units chosen[3];
    memcpy(space.matrix, s->matrix, sizeof space.matrix);
    memcpy(space.fov, s->fov, sizeof space.fov);
    scan_extent_of_all(r->ctx, s, space.extent);
    const bool fits = scan_choose_units(r->request->units, &space, axes, chosen, why, sizeof why);
    scan_tell(s, "trajectory: |k| up to %.4g, %.4g, %.4g along x, y, z; %s", space.extent[0], space.extent[1],
              space.extent[2], why);
    if (!fits)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: units of the trajectory: %s", r->source->path, why);
    const double voxel = r->request->units == K_AUTO ? scan_common_voxel(chosen[0], &space, axes) : 0;
    if (voxel > 0)
        vf_warn(r->ctx,
                "%s: the trajectory is in %s of %g mm along all axes, scaled by one number as in files of KomaMRI, "
                "because it "
                "does not reach the edge of k-space with each axis's own voxels; --trajectory-units %s takes these",
                r->source->path, scan_unit_text(chosen[0]), voxel, scan_unit_word(chosen[0]));
    else
        warn_of_share(r, &space, chosen);
    snprintf(r->units_text, sizeof r->units_text, "k %.240s%s", why,
             voxel > 0 ? "; of the smallest voxel on all axes" : "");
    for (int a = 0; a < axes; a++) {
        const double factor = voxel > 0 ? scan_unit_factor(chosen[a], 1, 0) * s->fov[a] / voxel
                                        : scan_unit_factor(chosen[a], s->matrix[a], s->fov[a]);
        for (int i = 0; factor != 1 && i < s->trajectories; i++) {
            float *k = s->trajectory[i].k + a;
            for (int64_t m = 0; m < s->trajectory[i].samples; m++)
                k[3 * m] = (float)((double)k[3 * m] * factor);
        }
    }
    return VF_OK;
}

vf_status ismrmrd_convert_trajectories(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    third component = THIRD_KZ;
    vf_status status = third_component(r, &component);
    for (int i = 0; status == VF_OK && component == THIRD_WEIGHT && i < s->trajectories; i++)
        status = move_weights(r, &s->trajectory[i]);
    VF_TRY(status, convert_units(r, component == THIRD_KZ ? 3 : 2));
    if (status == VF_OK && component == THIRD_STEP)
        status = ismrmrd_check_step(r, 1);
    if (status == VF_OK && component == THIRD_STEP)
        status = step_kz(r);
    VF_TRY(status, scan_share_trajectories(r->ctx, r->source->path, s));
    if (status == VF_OK && component != THIRD_KZ)
        vf_append(r->units_text, sizeof r->units_text, "; %s",
                  component == THIRD_WEIGHT ? "third component: weights" : "kz from encoding step 2");
    return status;
}
