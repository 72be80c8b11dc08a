/* The steps that backends share, on the host. */
#include "ewald_common.h"

#include <stdlib.h>

#include "voxfield/fft.h"

/* ---- levels ---- */

void ewald_level_make(vf_context *ctx, const ewald_layout *layout, vf_dtype precision, int64_t pitch, ewald_level *out)
{
    *out = (ewald_level){
        .at = *layout, .ctx = ctx, .precision = precision, .element = vf_dtype_bytes(precision), .pitch = pitch};
    vf_prolate_make(layout->bandwidth, &out->psi);
    vf_prolate_fit(&out->psi, vf_prolate_values, 0, &out->psi_powers);
    vf_prolate_make(layout->window, &out->window);
    vf_prolate_fit(&out->window, vf_prolate_values, precision == VF_F64 ? 0 : 0x1p-26, &out->window_powers);
}

/* ---- windows ---- */

void ewald_targets_place(const ewald_level *level, const int64_t counts[3], const double origin[3],
                         const double edge[3][3], ewald_targets *out)
{
    const ewald_layout *s = &level->at;
    *out = (ewald_targets){0};
    for (int a = 0; a < 3; a++) {
        out->counts[a] = counts[a];
        for (int b = 0; b < 3; b++) {
            out->first[a] += s->inverse[a][b] * (origin[b] - s->origin[b]);
            for (int c = 0; c < 3; c++)
                out->step[a][b] += s->inverse[a][c] * edge[b][c];
        }
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            out->depends[a] |= b != a && fabs(out->step[a][b]) > 1e-12 * fabs(out->step[a][a]);
    out->skewed = out->depends[0] || out->depends[1] || out->depends[2];
}

/* ---- multipliers ---- */

static void radial_make(const ewald_level *level, ewald_radial *out)
{
    out->most = level->at.bandwidth / level->at.cutoff;
    out->sigma = level->at.sigma;
    out->psi = level->psi_powers;
}

/* out[j] *= the transform of a level's window at `angle` j per mesh point, to the power of 1 or 2. work: [2 count]. */
static void multiply_by_window(const ewald_level *level, double angle, int power, int64_t count, double *work,
                               double *out)
{
    const double area = level->window.area * level->at.width;
    for (int64_t j = 0; j < count; j++)
        work[count + j] = fmin(0.5 * angle * (double)j * level->at.width / level->window.c, 1);
    vf_prolate_values(&level->window, count, work + count, work);
    for (int64_t j = 0; j < count; j++)
        out[j] *= power == 2 ? area * work[j] * (area * work[j]) : area * work[j];
}

/* [count] factor / the transforms of all windows at j of a period of `period` points along an axis; NULL without
 * memory. */
static double *make_correction(const ewald_kernel_job *job, int axis, int64_t count, int64_t period, double factor)
{
    const double angle = 2 * EWALD_PI / (double)period, step = job->level->at.step[axis];
    double *out = malloc((size_t)count * 3 * sizeof *out);
    if (!out)
        return NULL;
    for (int64_t j = 0; j < count; j++)
        out[j] = 1;
    multiply_by_window(job->level, angle, job->divisions, count, out + count, out);
    if (job->more)
        multiply_by_window(job->more, angle * job->more->at.step[axis] / step, job->times, count, out + count, out);
    for (int64_t j = 0; j < count; j++)
        out[j] = factor / out[j];
    return out;
}

/* The constant of the transform's part at k = 0, where 4 pi / k^2 is left out. In a cell, it is the uniform
 * background's: the integral of S, with the opposite sign; Gaussian charges without near pairs have none. */
static double constant_of(const ewald_layout *s, const vf_prolate *psi)
{
    if (s->sigma > 0)
        return s->periodic ? 0 : -2 * EWALD_PI * s->sigma * s->sigma;
    return s->background - 2 * EWALD_PI * psi->variance * s->cutoff * s->cutoff;
}

vf_status ewald_closed_form_make(const ewald_kernel_job *job, ewald_closed_form *out)
{
    const ewald_level *level = job->level;
    const ewald_layout *s = &level->at;
    double volume = job->volume;
    *out = (ewald_closed_form){.at_zero = constant_of(s, &level->psi)};
    radial_make(level, &out->own);
    if (job->less) {
        radial_make(job->less, &out->less);
        out->has_less = true;
        out->at_zero += 2 * EWALD_PI * job->less->psi.variance * pow(job->less->at.cutoff, 2);
    }
    if (!(volume > 0)) /* of the period */
        volume =
            s->step[0] * s->step[1] * s->step[2] * (double)s->length[0] * (double)s->length[1] * (double)s->length[2];
    for (int a = 0; a < 3; a++) {
        out->length[a] = s->length[a];
        for (int b = 0; b < 3; b++)
            out->inverse[a][b] = s->inverse[a][b];
        out->correction[a] = make_correction(job, a, s->length[a] / 2 + 1, s->length[a], a == 0 ? 1 / volume : 1);
        if (!out->correction[a])
            return vf_fail(level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for a kernel");
    }
    return VF_OK;
}

void ewald_closed_form_free(ewald_closed_form *f)
{
    for (int a = 0; a < 3; a++)
        free(f->correction[a]);
}

void ewald_truncated_sizes(const ewald_layout *s, ewald_truncated *out)
{
    double diagonal = 0;
    for (int a = 0; a < 3; a++)
        diagonal += pow((double)s->mesh[a] * s->step[a], 2);
    out->radius = sqrt(diagonal) + s->cutoff;
    for (int a = 0; a < 3; a++) {
        /* A window's width more keeps the tails of its inverse transform apart. */
        const double reach = (out->radius + s->cutoff) / s->step[a] + s->width;
        int64_t n = vf_fft_good_length(s->mesh[a] + (int64_t)ceil(reach));
        n = n > s->length[a] ? n : s->length[a];
        out->samples[a] = n;
        out->unit[a] = 2 * EWALD_PI / ((double)n * s->step[a]);
        out->count[a] = (int64_t)(s->bandwidth / s->cutoff / out->unit[a]) + 1;
        out->count[a] = out->count[a] < n / 2 + 1 ? out->count[a] : n / 2 + 1;
    }
}

vf_status ewald_truncated_make(const ewald_kernel_job *job, ewald_truncated *out)
{
    const ewald_layout *s = &job->level->at;
    *out = (ewald_truncated){0};
    radial_make(job->level, &out->radial);
    ewald_truncated_sizes(s, out);
    for (int a = 0; a < 3; a++) {
        const int64_t n = out->samples[a];
        out->correction[a] =
            make_correction(job, a, out->count[a], n, 1 / ((double)n * s->step[a] * (double)s->length[a]));
        if (!out->correction[a])
            return vf_fail(job->level->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for a kernel");
    }
    return VF_OK;
}

void ewald_truncated_free(ewald_truncated *t)
{
    for (int a = 0; a < 3; a++)
        free(t->correction[a]);
}
