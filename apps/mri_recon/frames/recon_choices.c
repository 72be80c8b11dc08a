/* Choices that depend only on the settings and the scan. */
#include "reconstruct.h"
#include "solve/choose_operator.h"

recon_sharing share_devices(const recon_settings *s, const mri_scan *raw, int devices)
{
    const int64_t rows = raw->matrix[1] * raw->matrix[2];
    const int pieces = solves_series(s) ? windows_up_to(s, raw, devices) : raw->frames;
    const int teams = pieces < 1 ? 1 : pieces < devices ? pieces : devices;
    int64_t most = s->method == RECON_BILINEAR ? 1 : raw->coils; /* devices that one frame can keep busy */
    bool direct = false;
    for (int t = 0; t < raw->trajectories; t++)
        direct = direct || (s->method != RECON_GRIDDING && s->method != RECON_BILINEAR &&
                            encoding_choose_for(s, raw, &raw->trajectory[t]) == VF_ENCODE_DIRECT);
    if (direct && rows > most)
        most = rows;
    if (solves_series(s) && teams < devices) {
        const int frames = windows_of_series(s, most_frames_of_place(raw), series_frame_bytes(s, raw)).frames;
        most = frames > most ? frames : most;
    }
    return (recon_sharing){
        .teams = teams, .each = most < devices / teams ? (int)most : devices / teams, .by_voxels = direct};
}

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
        together |= s->sparse_prior[i] == VF_PENALTY_TEMPORAL || s->sparse_prior[i] == VF_PENALTY_LLR ||
                    s->sparse_prior[i] == VF_PENALTY_NUCLEAR;
    return together;
}
