/* cionize: sites of force fields that have a charge, but are no atoms: lone pairs, virtual sites and Drude particles. */
#ifndef CIONIZE_MASSLESS_SITES_H
#define CIONIZE_MASSLESS_SITES_H

#include "molecule.h"

/* In a molecule of water, by the name, unless the file states an element: M, MW, OM, LP1, L1, EPW, EP1, DOH2. */
bool massless_in_water(const char *name, const char *element);

/* Whether atom i is the Drude particle of that atom. It follows the atom, and has its name with a D in front. */
bool drude_of(const molecule *m, int64_t i, int64_t atom);

/* Whether atom i is one of these sites, in any molecule. Outside of water, M and L could be anything, but not LP and EP. */
bool is_massless_site(const molecule *m, int64_t i);

#endif
