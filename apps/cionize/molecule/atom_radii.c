#include "atom_radii.h"

#include <math.h>
#include <string.h>

#include "atom_element.h"
#include "massless_sites.h"

typedef struct element_radius {
    char symbol[3];
    double radius; /* angstrom */
} element_radius;

static const element_radius radii[] = {
    {"H", 1.20},  {"He", 1.40}, {"Li", 1.82}, {"Be", 1.53}, {"B", 1.92},  {"C", 1.70},  {"N", 1.55},
    {"O", 1.52},  {"F", 1.47},  {"Ne", 1.54}, {"Na", 2.27}, {"Mg", 1.73}, {"Al", 1.84}, {"Si", 2.10},
    {"P", 1.80},  {"S", 1.80},  {"Cl", 1.75}, {"Ar", 1.88}, {"K", 2.75},  {"Ca", 2.31}, {"Ni", 1.63},
    {"Cu", 1.40}, {"Zn", 1.39}, {"Ga", 1.87}, {"Ge", 2.11}, {"As", 1.85}, {"Se", 1.90}, {"Br", 1.85},
    {"Kr", 2.02}, {"Rb", 3.03}, {"Sr", 2.49}, {"Pd", 1.63}, {"Ag", 1.72}, {"Cd", 1.58}, {"In", 1.93},
    {"Sn", 2.17}, {"Sb", 2.06}, {"Te", 2.06}, {"I", 1.98},  {"Xe", 2.16}, {"Cs", 3.43}, {"Ba", 2.68},
    {"Pt", 1.72}, {"Au", 1.66}, {"Hg", 1.55}, {"Tl", 1.96}, {"Pb", 2.02}, {"Bi", 2.07}, {"U", 1.86}};

static double radius_of(const char *symbol)
{
    for (size_t n = 0; n < sizeof radii / sizeof *radii; n++)
        if (strcmp(radii[n].symbol, symbol) == 0)
            return radii[n].radius;
    return 0;
}

vf_status molecule_give_radii(vf_context *ctx, const char *path, molecule *m, int64_t *given)
{
    *given = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        const atom_label *label = &m->labels[i];
        char symbol[3] = "X";
        if (m->radius[i] != 0 || is_massless_site(m, i)) /* these lie within their atoms' spheres */
            continue;
        const bool known = atom_element(label->name, label->residue, label->element, symbol);
        m->radius[i] = known ? radius_of(strcmp(symbol, "D") == 0 ? "H" : symbol) : 0;
        if (m->radius[i] == 0)
            return vf_fail(
                ctx, VF_ERR_INPUT,
                "%s: --radii bondi: %s %s %d, atom %lld, is %s%s, so it has no radius; give it one in a PQR file", path,
                label->residue, label->name, (int)label->residue_number, (long long)i + 1,
                known ? "of an element without one: " : "of no element that its name tells", known ? symbol : "");
        ++*given;
    }
    return VF_OK;
}

bool molecule_has_radii(const molecule *m)
{
    for (int64_t i = 0; i < m->atoms; i++)
        if (m->radius[i] > 0)
            return true;
    return false;
}

void molecule_warn_of_small_radii(vf_context *ctx, const char *path, const molecule *m)
{
    const double least = 0.5; /* angstrom; in nm all radii are below 0.35 */
    double largest = 0;
    for (int64_t i = 0; i < m->atoms; i++)
        largest = fmax(largest, m->radius[i]);
    if (largest > 0 && largest < least)
        vf_warn(ctx,
                "%s: the largest radius is %g angstrom, less than that of any atom but hydrogen; are the radii in nm?",
                path, largest);
}

vf_status molecule_check_radii(vf_context *ctx, const char *path, const molecule *m)
{
    if (molecule_has_radii(m))
        return VF_OK;
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: no atom has a radius, so the molecule has no surface; use a PQR file with radii, as pdb2pqr "
                   "writes them, an AMBER prmtop with its own (--charges), or --radii bondi",
                   path);
}
