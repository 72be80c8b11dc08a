/* Which operator F is computed by: the FFT of the grid where samples lie on one, else a direct sum or a NUFFT. */
#include "choose_operator.h"

#include <stdint.h>

/* Direct sums of fewer pairs take less time than a NUFFT's plan. */
static const double FEW_PAIRS = 1e7;

/* Whether samples lie on the grid, and few enough for its 32-bit indices. */
static bool on_grid(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance)
{
    const double voxels = (double)matrix[0] * (double)matrix[1] * (double)matrix[2];
    *first = -1;
    return voxels < UINT32_MAX && samples < UINT32_MAX && vf_cartesian_fits(matrix, samples, k, first, distance);
}

recon_operator encoding_choose(const recon_settings *settings, const int64_t matrix[3], int64_t samples, const float *k,
                               bool off_resonance)
{
    int64_t first;
    double distance;
    const double voxels = (double)matrix[0] * (double)matrix[1] * (double)matrix[2];
    if (settings->encode_by != RECON_AUTO && settings->encode_by != RECON_OFF_GRID)
        return settings->encode_by;
    if (settings->encode_by == RECON_AUTO && !off_resonance && !settings->save_q && !settings->load_q &&
        on_grid(matrix, samples, k, &first, &distance))
        return RECON_CARTESIAN;
    return (double)samples * voxels <= FEW_PAIRS ? RECON_DIRECT : RECON_NUFFT;
}

recon_operator encoding_choose_for(const recon_settings *settings, const scan *raw, const scan_trajectory *at)
{
    return encoding_choose(settings, raw->matrix, at->samples, at->k, raw->field_map && at->time);
}

vf_status encoding_check(vf_context *ctx, const recon_settings *settings, const scan *raw)
{
    int64_t first;
    double distance = 0;
    bool fits = true, off_resonance = false;
    for (int t = 0; t < raw->trajectories && fits; t++) {
        const scan_trajectory *at = &raw->trajectory[t];
        off_resonance = off_resonance || (raw->field_map && at->time);
        fits = on_grid(raw->matrix, at->samples, at->k, &first, &distance);
        if (settings->encode_by == RECON_CARTESIAN && !fits && first < 0)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: --operator cartesian: too many samples or voxels; use --operator auto",
                           settings->input);
        if (settings->encode_by == RECON_CARTESIAN && !fits)
            return vf_fail(
                ctx, VF_ERR_INPUT,
                "%s: --operator cartesian: sample %lld of trajectory %d, at k = (%g, %g, %g), is %.3g cycles "
                "per field of view off the grid; use --operator auto",
                settings->input, (long long)first, t, (double)at->k[3 * first], (double)at->k[3 * first + 1],
                (double)at->k[3 * first + 2], distance);
    }
    if (settings->encode_by == RECON_CARTESIAN && off_resonance)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --operator cartesian: the scan has a field map and sample times, and an FFT has no "
                       "off-resonance; use --operator auto",
                       settings->input);
    if (settings->encode_by == RECON_AUTO && fits && !off_resonance && (settings->save_q || settings->load_q))
        vf_note(ctx, "note: the scan is Cartesian and needs no Q; without %s an FFT of the grid would do",
                settings->save_q ? "--save-q" : "--load-q");
    return VF_OK;
}
