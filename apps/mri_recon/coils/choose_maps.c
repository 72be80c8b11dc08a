#include "choose_maps.h"

#include "solve/recon_choices.h"

bool combines_by_maps(const coil_settings *coils, const mri_scan *raw)
{
    return coils->how != RECON_COILS_RSS && (raw->coils > 1 || raw->sensitivity);
}

bool uses_scan_maps(const coil_settings *coils, const mri_scan *raw)
{
    return raw->sensitivity && (coils->how == RECON_COILS_AUTO || coils->how == RECON_COILS_FILE);
}

int most_map_sets(const coil_settings *coils, const solve_settings *solve, const mri_scan *raw)
{
    const int there = uses_scan_maps(coils, raw)         ? scan_map_sets(raw)
                      : coils->how > RECON_COILS_ESPIRIT ? 1
                                                         : RECON_MOST_SETS;
    const bool one = solve->method != RECON_CG || coils->sets == RECON_SETS_ONE || solves_series(solve);
    const int wanted = one ? 1 : RECON_MOST_SETS;
    return there < wanted ? there : wanted;
}

bool judges_scan_maps(const coil_settings *coils, const solve_settings *solve, const mri_scan *raw)
{
    return coils->how == RECON_COILS_AUTO && raw->sensitivity && !coils->file && regularise_by_noise(solve) &&
           raw->coils > 1;
}
