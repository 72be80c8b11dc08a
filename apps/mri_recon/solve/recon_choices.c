/* Choices that depend only on the settings and the scan. */
#include "recon_choices.h"

#include "prior_table.h"

bool regularise_by_noise(const solve_settings *settings)
{
    return settings->method == RECON_CG && (settings->lambda_auto || quadratic_prior_of(settings)->of_spectrum);
}

bool uses_reference(const solve_settings *settings)
{
    return quadratic_prior_of(settings)->needs_reference;
}

bool finds_reference_strength(const solve_settings *settings)
{
    return settings->prior == RECON_REFERENCE && settings->method == RECON_CG && settings->lambda_auto;
}

vf_prior_kind reference_prior_kind(const solve_settings *s)
{
    if (s->prior != RECON_REFERENCE)
        return (vf_prior_kind)s->prior;
    return finds_reference_strength(s) ? VF_PRIOR_SPECTRUM : VF_PRIOR_DIFFERENCES;
}

bool solves_series(const solve_settings *s)
{
    bool together = false;
    for (int i = 0; i < s->sparse; i++)
        together |= sparse_prior_of(s, i)->couples;
    return together;
}

bool may_crop_readout(const scan_settings *scan, const solve_settings *s, const mri_scan *raw)
{
    bool off_resonance = false;
    for (int t = 0; t < raw->trajectories + raw->calibrations; t++)
        off_resonance = off_resonance || (raw->field_map && raw->trajectory[t].time);
    return !off_resonance && !scan->keep_oversampling && !s->box_voxels && !s->save_q && !s->load_q &&
           (s->encode_by == VF_ENCODE_AUTO || s->encode_by == VF_ENCODE_CARTESIAN) && s->method != RECON_BILINEAR &&
           (s->method != RECON_CG || !quadratic_prior_of(s)->across_faces);
}
