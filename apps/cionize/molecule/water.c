/* Which atoms are water molecules. */
#include "water.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atom_element.h"
#include "massless_sites.h"
#include "residue_kinds.h"
#include "residues.h"

enum { MOST_SITES = 4, OXYGEN = 8 };

/* What a part of a residue consists of. */
typedef struct composition {
    int64_t oxygens, hydrogens, sites, others;
    int64_t oxygen; /* index of the last one */
} composition;

static void add_atom(const atom_label *label, int64_t index, composition *c)
{
    char symbol[3];
    if (massless_in_water(label->name, label->element)) {
        c->sites++;
        return;
    }
    (void)atom_element(label->name, label->residue, label->element, symbol);
    if (atomic_number(symbol) == OXYGEN) {
        c->oxygens++;
        c->oxygen = index;
    } else if (atom_is_hydrogen(label->name, label->residue, label->element)) {
        c->hydrogens++;
    } else {
        c->others++;
    }
}

static bool is_water(const composition *c)
{
    return c->oxygens == 1 && (c->hydrogens == 0 || c->hydrogens == 2) && c->sites <= MOST_SITES && c->others == 0;
}

static bool add_water(water_list *list, int64_t *capacity, int64_t first, int64_t behind, int64_t oxygen)
{
    if (list->count == *capacity) {
        const int64_t more = *capacity > 0 ? 2 * *capacity : 1024;
        water_molecule *larger = realloc(list->at, (size_t)more * sizeof *larger);
        if (!larger)
            return false;
        list->at = larger;
        *capacity = more;
    }
    list->at[list->count++] = (water_molecule){first, behind - first, oxygen};
    return true;
}

static composition composition_of(const molecule *m, int64_t first, int64_t behind)
{
    composition c = {0};
    for (int64_t i = first; i < behind; i++)
        add_atom(&m->labels[i], i, &c);
    return c;
}

/* The end of the molecule that begins at `first`, among residues with the same label: before the next oxygen if they begin
 * with their oxygens, otherwise after `size` atoms. */
static int64_t end_of_molecule(const molecule *m, int64_t first, int64_t behind, bool oxygen_first, int64_t size)
{
    if (!oxygen_first)
        return first + size;
    int64_t end = first + 1;
    while (end < behind && composition_of(m, end, end + 1).oxygens == 0)
        end++;
    return end;
}

/* Adds the molecules of [first, behind), atoms with the same residue label. *is_all_water: they are nothing else.
 * Otherwise none is added. False: no memory. */
static bool add_residue(const molecule *m, int64_t first, int64_t behind, water_list *list, int64_t *capacity,
                        bool *is_all_water)
{
    const int64_t before = list->count;
    const composition all = composition_of(m, first, behind);
    const bool oxygen_first = composition_of(m, first, first + 1).oxygens == 1;
    *is_all_water = is_water(&all);
    if (*is_all_water)
        return add_water(list, capacity, first, behind, all.oxygen);
    if (all.others > 0 || all.oxygens < 2 || (!oxygen_first && (behind - first) % all.oxygens != 0))
        return true;
    *is_all_water = true;
    for (int64_t at = first, end; at < behind && *is_all_water; at = end) {
        end = end_of_molecule(m, at, behind, oxygen_first, (behind - first) / all.oxygens);
        const composition part = composition_of(m, at, end);
        *is_all_water = is_water(&part);
        if (*is_all_water && !add_water(list, capacity, at, end, part.oxygen))
            return false;
    }
    if (!*is_all_water)
        list->count = before;
    return true;
}

static void note_unlike(vf_context *ctx, const molecule *m, int64_t residues, int64_t first)
{
    const atom_label *label = &m->labels[first];
    char number[16];
    snprintf(number, sizeof number, "%d", (int)label->residue_number);
    if (residues > 0)
        vf_note(ctx,
                "%lld residue%s a name of water, but not its atoms (first: %s%s%s %s, atom %lld); %s with the solute",
                (long long)residues, residues == 1 ? " has" : "s have", label->residue, *label->chain ? " " : "",
                label->chain, *label->number_text ? label->number_text : number, (long long)first + 1,
                residues == 1 ? "it counts" : "they count");
}

vf_status find_water(vf_context *ctx, const molecule *m, bool notes, water_list *out)
{
    int64_t capacity = 0, unlike = 0, first_unlike = 0;
    *out = (water_list){0};
    for (int64_t first = 0, behind; first < m->atoms; first = behind) {
        bool water = true;
        for (behind = first + 1; behind < m->atoms && same_residue(&m->labels[behind - 1], &m->labels[behind]);)
            behind++;
        if (!residue_is_water(m->labels[first].residue))
            continue;
        if (!add_residue(m, first, behind, out, &capacity, &water))
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld water molecules", (long long)out->count);
        if (!water && unlike++ == 0)
            first_unlike = first;
    }
    if (notes)
        note_unlike(ctx, m, unlike, first_unlike);
    return VF_OK;
}

void water_list_free(water_list *list)
{
    free(list->at);
    *list = (water_list){0};
}

/* ---- numbers ---- */

vf_status renumber_residues(vf_context *ctx, molecule *m)
{
    int64_t *residue = malloc((size_t)(m->atoms + 1) * sizeof *residue), residues;
    int32_t number = 0;
    vf_status status =
        residue ? find_residues(ctx, m, residue, &residues)
                : vf_fail(ctx, VF_ERR_MEMORY, "no memory to number the residues of %lld atoms", (long long)m->atoms);
    for (int64_t i = 0; status == VF_OK && i < m->atoms; i++) {
        atom_label *label = &m->labels[i];
        if (i == 0 || !same_chain(label - 1, label))
            number = 1;
        else if (residue[i] != residue[i - 1])
            number++;
        label->residue_number = number;
        label->insertion = '\0';
        label->number_text[0] = '\0';
    }
    free(residue);
    return status;
}
