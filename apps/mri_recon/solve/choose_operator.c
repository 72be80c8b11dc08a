/* Chooses how F is computed from the settings, and makes its plans. */
#include "choose_operator.h"
#include "equations.h"

#include <stdio.h>

vf_encode_by encoding_choose_for(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at)
{
    const bool keeps_q = settings->save_q || settings->load_q; /* the FFT of the grid has no Q */
    const vf_encode_by wish =
        settings->encode_by == VF_ENCODE_AUTO && keeps_q ? VF_ENCODE_OFF_GRID : settings->encode_by;
    return vf_encoding_choose(wish, raw->matrix, at->samples, at->k, raw->field_map && at->time);
}

vf_encoding_options encoding_options(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at)
{
    return (vf_encoding_options){.by = encoding_choose_for(settings, raw, at),
                                 .precision = settings->precision,
                                 .accuracy = settings->accuracy,
                                 .most_batch = 1,
                                 .trig = settings->hardware_trig ? VF_TRIG_HARDWARE : VF_TRIG_ACCURATE,
                                 .variant = settings->variant,
                                 .tuning = settings->launch,
                                 .piece_pairs = settings->piece_pairs};
}

vf_status encoding_check(vf_context *ctx, const solve_settings *settings, const mri_scan *raw)
{
    int64_t first;
    double distance = 0;
    bool fits = true, off_resonance = false;
    for (int t = 0; t < raw->trajectories && fits; t++) {
        const scan_trajectory *at = &raw->trajectory[t];
        off_resonance = off_resonance || (raw->field_map && at->time);
        fits = vf_encoding_fits(raw->matrix, at->samples, at->k, &first, &distance);
        if (settings->encode_by == VF_ENCODE_CARTESIAN && !fits && first < 0)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: --operator cartesian: too many samples or voxels; use --operator auto", raw->path);
        if (settings->encode_by == VF_ENCODE_CARTESIAN && !fits)
            return vf_fail(
                ctx, VF_ERR_INPUT,
                "%s: --operator cartesian: sample %lld of trajectory %d, at k = (%g, %g, %g), is %.3g cycles "
                "per field of view off the grid; use --operator auto",
                raw->path, (long long)first, t, (double)at->k[3 * first], (double)at->k[3 * first + 1],
                (double)at->k[3 * first + 2], distance);
    }
    if (settings->encode_by == VF_ENCODE_CARTESIAN && off_resonance)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --operator cartesian: the scan has a field map and sample times, but an FFT cannot model "
                       "off-resonance; use --operator auto",
                       raw->path);
    if (settings->encode_by == VF_ENCODE_AUTO && fits && !off_resonance && (settings->save_q || settings->load_q))
        vf_note(ctx, "note: the scan is Cartesian and needs no Q; without %s, mri_recon would use an FFT",
                settings->save_q ? "--save-q" : "--load-q");
    return VF_OK;
}

/* Turns the sum's VF_ERR_ARGUMENT (times and field map too large together) into an input error that names the scan. */
static vf_status blame_scan(vf_context *ctx, const mri_scan *raw)
{
    char reason[512];
    snprintf(reason, sizeof reason, "%s", vf_context_message(ctx));
    vf_context_clear_error(ctx);
    return vf_fail(ctx, VF_ERR_INPUT, "%s: time and field map: %s", raw->path, reason);
}

vf_status encoding_create(vf_device *device, const mri_scan *raw, const scan_trajectory *at,
                          const vf_encoding_options *options, vf_encoding **out)
{
    const vf_encoding_samples samples = {.count = at->samples, .k = at->k, .time = at->time, .field = raw->field_map};
    const vf_status status = vf_encoding_create(device, raw->matrix, &samples, options, out);
    if (status == VF_ERR_ARGUMENT && at->time && raw->field_map && !options->variant)
        return blame_scan(vf_device_context(device), raw);
    return status;
}
