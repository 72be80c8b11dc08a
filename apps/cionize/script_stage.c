/* The settings of a script, over those of options. */
#include <math.h>
#include <string.h>

#include "cionize_state.h"

/* A script's settings override options. A warning names each option that is overridden. */
static void warn_overridden(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const script *from = &r->script;
    const char *name = strcmp(r->ions.script, "-") == 0 ? "standard input" : r->ions.script;
    const bool border = from->has_border && !from->has_box;
    const struct {
        bool both;
        const char *used, *unused;
    } pairs[] = {
        {from->has_ion_solute && r->ions.has_ion_solute, "R_ION_SOLUTE", "--ion-solute"},
        {from->has_ion_ion && r->ions.has_ion_ion, "R_ION_ION", "--ion-ion"},
        {from->has_spacing && s->has_spacing, "GRIDSPACING", "--spacing"},
        {border && s->has_border, "BORDERSIZE", "--border"},
        {border && s->has_size, "--size", "BORDERSIZE"},
        {border && s->has_counts, "--counts", "BORDERSIZE"},
        {from->has_box && from->has_border, "XYZDIM", "BORDERSIZE"},
        {from->has_box && s->has_border, "XYZDIM", "--border"},
        {from->has_box && s->has_origin, "XYZDIM", "--origin"},
        {from->has_box && s->has_size, "XYZDIM", "--size"},
        {from->has_box && s->has_counts, "XYZDIM", "--counts"},
        {from->has_distance_dielectric && s->has_dielectric, "DDD",
         s->distance_dielectric ? "--distance-dielectric" : "--dielectric"},
        {from->grid_file && s->read_map, "GRIDFILE", "--read-map"},
    };
    for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++)
        if (pairs[n].both)
            vf_warn(r->ctx, "%s: %s overrides %s", name, pairs[n].used, pairs[n].unused);
}

vf_status read_settings_script(cionize_state *r)
{
    cionize_settings *s = &r->settings;
    script *from = &r->script;
    vf_status status = read_script(r->ctx, r->ions.script, from);
    if (status != VF_OK)
        return status;
    warn_overridden(r);
    if (from->has_ion_solute)
        r->ions.ion_solute = from->ion_solute;
    if (from->has_ion_ion)
        r->ions.ion_ion = from->ion_ion;
    if (from->has_border)
        s->border = from->border;
    for (int a = 0; a < 3; a++) {
        if (from->has_spacing)
            s->spacing[a] = from->spacing;
        if (from->has_box) {
            s->origin[a] = from->box_lo[a];
            s->counts[a] = (int64_t)round((from->box_hi[a] - from->box_lo[a]) / s->spacing[a]) + 1;
        }
    }
    s->has_origin |= from->has_box;
    s->has_counts |= from->has_box;
    s->has_size &= !from->has_box;
    if (from->has_distance_dielectric) {
        s->distance_dielectric = true;
        s->dielectric = from->distance_dielectric;
    }
    if (from->grid_file)
        s->read_map = from->grid_file;
    return VF_OK;
}
