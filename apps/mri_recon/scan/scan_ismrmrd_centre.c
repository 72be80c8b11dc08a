/* Where the centre of k-space lies, by the energy of the samples: headers state it wrongly, and in two ways.
 *
 * An image has most of its energy near k = 0, and a line far from it has a hundredth of that or less. So the peak of the
 * energy decides where the declared centre is far from it and has much less energy. A phase that varies linearly over the
 * object moves the peak, too, by a few lines; then both centres give images that differ only in phase. So a difference
 * that small is no evidence, and the declared centre is kept. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"

/* The peak must have so many times the energy of the declared centre. */
static const double PROMINENT = 4;

/* How far a peak may be from the centre of an axis of n voxels without a meaning. */
static double usual_shift(int64_t n)
{
    return fmax(2, (double)n / 32);
}

/* ---- the energy of readouts ---- */

bool ismrmrd_is_alike(const readout_energy *e, const scan_line *line)
{
    return e->samples == line->samples && e->center == line->center && e->pre == line->pre && e->post == line->post;
}

vf_status ismrmrd_add_energy(ismrmrd_reader *r, const scan_line *line)
{
    readout_energy *e = &r->readout[line->reversed];
    const int64_t kept = line_kept(line), stride = r->frame_samples[line->frame];
    if (r->dims > 0 || line->empty)
        return VF_OK;
    if (!e->sum) {
        *e = (readout_energy){.samples = line->samples,
                              .center = line->center,
                              .pre = line->pre,
                              .post = line->post,
                              .lead = (int)kept,
                              .trail = (int)kept};
        vf_status status = SCAN_NEW(r->ctx, r->source->path, "a readout", 2 * kept, e->sum);
        if (status != VF_OK)
            return status;
    }
    if (!ismrmrd_is_alike(e, line))
        return VF_OK;
    double *now = e->sum + kept;
    memset(now, 0, (size_t)kept * sizeof *now);
    for (int c = 0; c < r->out->coils; c++) {
        const float *own = (const float *)(r->out->frame[line->frame].data + c * stride + line->at);
        for (int64_t m = 0; m < kept; m++)
            now[m] += (double)own[2 * m] * (double)own[2 * m] + (double)own[2 * m + 1] * (double)own[2 * m + 1];
    }
    int lead = 0, trail = 0;
    while (lead < kept && now[lead] == 0)
        lead++;
    while (trail < kept && now[kept - 1 - trail] == 0)
        trail++;
    e->lead = lead < e->lead ? lead : e->lead;
    e->trail = trail < e->trail ? trail : e->trail;
    for (int64_t m = 0; m < kept; m++)
        e->sum[m] += now[m];
    e->lines++;
    return VF_OK;
}

/* ---- peaks ---- */

/* The nearest value before or after, as far as lines may be missing; -1 if there is none. */
static double beside(const double *e, int64_t n, int64_t at, int step)
{
    enum { APART = 8 };
    for (int64_t i = at + step; i >= 0 && i < n && llabs(i - at) <= APART; i += step)
        if (e[i] >= 0)
            return e[i];
    return -1;
}

/* The median of a value and its two neighbours, which one spike of interference does not change. At an end, the lesser of
 * two. 0 where there is no value. */
static double smooth(const double *e, int64_t n, int64_t at)
{
    const double before = beside(e, n, at, -1), after = beside(e, n, at, 1);
    if (!(e[at] >= 0))
        return fmax(0, fmin(before, after));
    if (before < 0 || after < 0)
        return fmin(e[at], fmax(before, after));
    return fmax(fmin(before, after), fmin(e[at], fmax(before, after)));
}

/* A value as far as its neighbours bear it out: a peak may be four times as high, a spike is more. */
static double strength(const double *e, int64_t n, int64_t at)
{
    const double most = 4 * smooth(e, n, at);
    return e[at] >= 0 ? fmin(e[at], most) : most / 4;
}

/* The place of the largest energy: the centre of mass of the five smoothed values about it. */
static double peak_of(const double *e, int64_t n)
{
    int64_t most = 0;
    double mass = 0, moment = 0;
    for (int64_t i = 1; i < n; i++)
        most = smooth(e, n, i) > smooth(e, n, most) ? i : most;
    for (int64_t i = most - 2; i <= most + 2; i++)
        if (i >= 0 && i < n) {
            const double own = e[i] >= 0 ? strength(e, n, i) : 0;
            mass += own;
            moment += own * (double)i;
        }
    return mass > 0 ? moment / mass : (double)most;
}

/* Whether the energy has a peak at all: noise has not. */
static bool has_peak(const double *e, int64_t n, double peak)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (e[i] >= 0) {
            sum += strength(e, n, i);
            count++;
        }
    return count >= 8 && strength(e, n, llround(peak)) * (double)count >= PROMINENT * sum;
}

/* A centre to put in the declared one's place, of an axis of `voxels` whose values of e are those from `least` on; or
 * the declared one. The samples then lie within the matrix. */
static int64_t better_centre(const double *e, int64_t n, int64_t least, int64_t voxels, int64_t declared, double *peak)
{
    const int64_t most = least + n - 1, low = most - voxels / 2, high = least + voxels / 2;
    const bool fits = declared >= low && declared <= high;
    *peak = peak_of(e, n) + (double)least;
    int64_t centre = llround(*peak);
    if (low > high || !has_peak(e, n, *peak - (double)least))
        return declared;
    centre = centre < low ? low : centre > high ? high : centre;
    if (fits && fabs((double)(centre - declared)) <= usual_shift(voxels))
        return declared;
    const bool within = declared >= least && declared <= most;
    if (fits && within && strength(e, n, centre - least) < PROMINENT * strength(e, n, declared - least))
        return declared;
    return centre;
}

/* ---- readouts ---- */

static void shift_centers(ismrmrd_reader *r, const readout_energy *e, bool reversed, int64_t by)
{
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        if ((line->frame >= 0 || line->frame == LINE_NAVIGATOR || line->calibration) && line->reversed == reversed &&
            ismrmrd_is_alike(e, line))
            line->center = (uint16_t)(line->center + by);
    }
}

/* Whether center_sample of reversed readouts counts samples as stored, as the standard's text has it, instead of after
 * reversal, as Siemens' converter does. Where both are close, an offset of the forward readouts' peak may be that of the
 * reversed ones. */
static void read_reversed(ismrmrd_reader *r)
{
    const readout_energy *back = &r->readout[1], *forth = &r->readout[0];
    if (r->epi.flipped || !back->sum || back->lines == 0)
        return;
    const int64_t kept = back->samples - back->pre - back->post;
    const double after = back->samples - 1 - back->center - back->pre, stored = back->center - back->pre;
    const double peak = peak_of(back->sum, kept);
    double offset = 0;
    if (forth->sum && forth->lines > 0)
        offset = fabs(peak_of(forth->sum, forth->samples - forth->pre - forth->post) + forth->pre - forth->center);
    if (!has_peak(back->sum, kept, peak) || fabs(after - stored) <= 2 * offset)
        return;
    r->as_stored = fabs(peak - stored) + 0.25 < fabs(peak - after);
    if (fabs(after - stored) > 2)
        scan_tell(r->out,
                  "reversed readouts: their energy peaks at sample %.1f as stored; center_sample %d counts samples %s",
                  peak + back->pre, back->center, r->as_stored ? "as stored" : "after reversal");
}

static void check_center_sample(ismrmrd_reader *r)
{
    readout_energy *e = &r->readout[0];
    const int64_t voxels = r->out->matrix[0];
    double peak;
    if (!e->sum || e->lines == 0 || voxels < 2)
        return;
    const int64_t kept = e->samples - e->pre - e->post;
    const int64_t centre = better_centre(e->sum, kept, e->pre, voxels, e->center, &peak);
    scan_tell(r->out, "readout: %d samples, center_sample %d, the energy peaks at sample %.1f", e->samples, e->center,
              peak);
    if (centre == e->center || centre < 0 || centre > UINT16_MAX)
        return;
    vf_warn(r->ctx,
            "%s: center_sample is %d, but the energy of the readouts peaks at sample %.0f; %" PRId64
            " is taken as the centre",
            r->source->path, e->center, peak, centre);
    shift_centers(r, e, false, centre - e->center);
    e->center = (uint16_t)centre;
}

/* ---- encoding steps ---- */

/* Mean energy of the image's lines by step, from facts.least on; -1 where there is no line. */
static vf_status energy_by_step(const ismrmrd_reader *r, int axis, double **out, int64_t *n)
{
    const int32_t least = r->facts.least[axis];
    *n = r->facts.most[axis] - least + 1;
    int64_t *lines = NULL;
    vf_status status = scan_allocate(r->ctx, r->source->path, "steps", *n, sizeof **out, out);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "steps", *n, lines));
    for (int64_t i = 0; status == VF_OK && i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        const int64_t at = (axis == 0 ? line->step_1 : line->step_2) - least;
        if (line->frame < 0 || line->frame >= r->out->frames || line->empty || at < 0 || at >= *n)
            continue;
        (*out)[at] += (double)line->energy;
        lines[at]++;
    }
    for (int64_t i = 0; status == VF_OK && i < *n; i++)
        (*out)[i] = lines[i] > 0 ? (*out)[i] / (double)lines[i] : -1;
    free(lines);
    return status;
}

/* The centre that Siemens' converter writes in idx.user, the same in all lines; 0: none. */
static int64_t stated_by_siemens(const ismrmrd_reader *r, int axis)
{
    int64_t stated = -1;
    if (!strstr(r->protocol->vendor, "siemens"))
        return 0;
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        if (line->frame < 0 || line->frame >= r->out->frames)
            continue;
        if (stated >= 0 && stated != line->user[axis])
            return 0;
        stated = line->user[axis];
    }
    return stated > 0 ? stated : 0;
}

/* One sentence on the centre that is taken. */
static void say_centre(const ismrmrd_reader *r, int axis, int64_t centre, double peak, bool agrees)
{
    const int64_t declared = r->center[axis];
    const char *path = r->source->path;
    if (r->center_missing[axis])
        vf_warn(r->ctx, "%s: xml: no centre of kspace_encoding_step_%d in encodingLimits; %" PRId64 " is taken%s", path,
                axis + 1, centre, centre != declared ? ", where the energy of the samples peaks" : "");
    else if (centre != declared && !agrees)
        vf_warn(r->ctx,
                "%s: the header's centre of kspace_encoding_step_%d is %" PRId64
                ", but the energy of the samples peaks at %.0f; %" PRId64 " is taken as the centre",
                path, axis + 1, declared, fabs(peak) < 0.5 ? 0 : peak, centre); /* 0, not -0 */
}

vf_status ismrmrd_check_step(ismrmrd_reader *r, int axis)
{
    const int64_t voxels = r->out->matrix[axis + 1], declared = r->center[axis], stated = stated_by_siemens(r, axis);
    const int32_t least = r->facts.least[axis];
    const ismrmrd_limit *limit = axis == 0 ? &r->e->step_1 : &r->e->step_2;
    double *e = NULL, peak;
    int64_t n, centre;
    if (voxels < 2)
        return VF_OK;
    vf_status status = energy_by_step(r, axis, &e, &n);
    if (status != VF_OK) {
        free(e);
        return status;
    }
    centre = better_centre(e, n, least, voxels, declared, &peak);
    free(e);
    if (declared > r->facts.most[axis] && declared <= limit->maximum && declared <= least + voxels / 2 &&
        peak >= (double)r->facts.most[axis] - usual_shift(voxels))
        centre = declared; /* the scan ended before it: the peak is only its last line */
    const bool agrees = stated > 0 && fabs((double)stated - peak) <= usual_shift(voxels) &&
                        r->facts.most[axis] - stated <= voxels / 2 && least - stated >= -voxels / 2;
    char also[64] = "", claimed[64] = "the header states no centre";
    if (stated > 0)
        snprintf(also, sizeof also, ", idx.user[%d] says %" PRId64, axis + 5, stated);
    if (!r->center_missing[axis])
        snprintf(claimed, sizeof claimed, "the header's centre is %" PRId64, declared);
    scan_tell(r->out, "encoding step %d: %d to %d, %s%s, the energy peaks at %.1f", axis + 1, least,
              r->facts.most[axis], claimed, also, peak);
    if (centre != declared && agrees)
        centre = stated;
    /* Negative steps count from the centre. Philips' converter states half of their range beside them. */
    const bool counted =
        least < 0 && fabs(peak) <= usual_shift(voxels) && (centre != declared || r->center_missing[axis]);
    if (counted)
        centre = 0;
    else
        say_centre(r, axis, centre, peak, agrees);
    r->center[axis] = centre;
    return VF_OK;
}

vf_status ismrmrd_check_centre(ismrmrd_reader *r)
{
    vf_status status = VF_OK;
    read_reversed(r);
    check_center_sample(r);
    for (int axis = 0; axis < 2 && status == VF_OK; axis++)
        status = ismrmrd_check_step(r, axis);
    return status;
}
