#include "massless_sites.h"

#include <ctype.h>
#include <string.h>

#include "atom_element.h"
#include "residue_kinds.h"

static bool begins_with(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

bool massless_in_water(const char *name, const char *element)
{
    static const char *const beginnings[] = {"M", "OM", "LP", "EP", "VS", "DO", "DRUD"};
    if (atomic_number(element) != 0)
        return false;
    while (isdigit((unsigned char)*name))
        name++;
    for (size_t n = 0; n < sizeof beginnings / sizeof *beginnings; n++)
        if (begins_with(name, beginnings[n]))
            return true;
    return *name == 'L' && (name[1] == '\0' || isdigit((unsigned char)name[1]));
}

bool drude_of(const molecule *m, int64_t i, int64_t atom)
{
    const atom_label *label = &m->labels[i], *other = &m->labels[atom];
    return i == atom + 1 && *label->name == 'D' && strcmp(label->name + 1, other->name) == 0 &&
           label->residue_number == other->residue_number && strcmp(label->residue, other->residue) == 0;
}

bool is_massless_site(const molecule *m, int64_t i)
{
    const atom_label *label = &m->labels[i];
    if (residue_is_water(label->residue) && massless_in_water(label->name, label->element))
        return true;
    if (atomic_number(label->element) != 0)
        return false;
    return begins_with(label->name, "LP") || begins_with(label->name, "EP") || (i > 0 && drude_of(m, i, i - 1));
}
