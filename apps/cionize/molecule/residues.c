#include "residues.h"

#include <string.h>

#include "residue_kinds.h"
#include "water.h"

bool same_chain(const atom_label *a, const atom_label *b)
{
    return strcmp(a->chain, b->chain) == 0 && strcmp(a->segment, b->segment) == 0;
}

bool same_number(const atom_label *a, const atom_label *b)
{
    return a->residue_number == b->residue_number && a->insertion == b->insertion && same_chain(a, b) &&
           strcmp(a->number_text, b->number_text) == 0;
}

bool same_residue(const atom_label *before, const atom_label *after)
{
    return same_number(before, after) && strcmp(before->residue, after->residue) == 0 && !before->ends_chain;
}

bool name_comes_again(const atom_label *labels, int64_t first, int64_t at)
{
    enum { MOST = 64 };
    const atom_label *own = &labels[at];
    for (int64_t k = first > at - MOST ? first : at - MOST; k < at; k++)
        if (strcmp(labels[k].name, own->name) == 0 &&
            (labels[k].alternate == own->alternate || !own->alternate || !labels[k].alternate))
            return true;
    return false;
}

vf_status find_residues(vf_context *ctx, const molecule *m, int64_t *residue, int64_t *residues)
{
    const atom_label *label = m->labels;
    water_list water = {0};
    int64_t next = 0, first = 0, behind = 0; /* behind: where the last molecule of water ends */
    vf_status status = find_water(ctx, m, false, &water);
    *residues = 0;
    for (int64_t i = 0; status == VF_OK && i < m->atoms; i++) {
        const bool begins_water = next < water.count && water.at[next].first == i;
        const bool repeats = residue_is_water(label[i].residue) || residue_is_ion(label[i].residue);
        if (begins_water)
            behind = i + water.at[next++].atoms;
        if (i == 0 || begins_water || !same_residue(&label[i - 1], &label[i]) ||
            (i >= behind && repeats && name_comes_again(label, first, i))) {
            first = i;
            ++*residues;
        }
        residue[i] = *residues - 1;
    }
    water_list_free(&water);
    return status;
}
