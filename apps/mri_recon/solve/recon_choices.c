/* Choices that depend only on the settings and the scan. */
#include "recon_choices.h"

#include "prior_table.h"

bool uses_scan_maps(const recon_settings *s, const mri_scan *raw)
{
    return raw->sensitivity && (s->coils == RECON_COILS_AUTO || s->coils == RECON_COILS_FILE);
}

int most_map_sets(const recon_settings *s, const mri_scan *raw)
{
    const int there = uses_scan_maps(s, raw)           ? scan_map_sets(raw)
                      : s->coils > RECON_COILS_ESPIRIT ? 1
                                                       : RECON_MOST_SETS;
    const int wanted = s->method != RECON_CG || s->map_sets == RECON_SETS_ONE || solves_series(s) ? 1 : RECON_MOST_SETS;
    return there < wanted ? there : wanted;
}

int64_t recon_group_bytes(const recon_settings *settings)
{
    return settings->group_bytes > 0 ? settings->group_bytes : INT64_C(1) << 30;
}

bool regularise_by_noise(const recon_settings *settings)
{
    return settings->method == RECON_CG && (settings->lambda_auto || settings->prior == RECON_SPECTRUM);
}

bool judges_scan_maps(const recon_settings *s, const mri_scan *raw)
{
    return s->coils == RECON_COILS_AUTO && raw->sensitivity && !s->maps && regularise_by_noise(s) && raw->coils > 1;
}

bool solves_series(const recon_settings *s)
{
    bool together = false;
    for (int i = 0; i < s->sparse; i++)
        together |= sparse_prior_of(s, i)->couples;
    return together;
}

bool may_crop_readout(const recon_settings *s, const mri_scan *raw)
{
    bool off_resonance = false;
    for (int t = 0; t < raw->trajectories + raw->calibrations; t++)
        off_resonance = off_resonance || (raw->field_map && raw->trajectory[t].time);
    return !off_resonance && !s->keep_oversampling && !s->box_voxels && !s->save_q && !s->load_q &&
           (s->encode_by == VF_ENCODE_AUTO || s->encode_by == VF_ENCODE_CARTESIAN) && s->method != RECON_BILINEAR &&
           (s->method != RECON_CG || s->prior == RECON_IDENTITY || s->prior == RECON_SPECTRUM);
}
