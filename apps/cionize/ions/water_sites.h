/* cionize: the search for the water molecule whose place an ion takes: the one at whose oxygen the ion's energy is least.
 * Like ion_search.h, with the oxygens instead of a grid's points. Energies are exact sums: in free space to rounding, in a
 * cell to 1e-9 of the rms potential. Energies that differ by no more than the sums' errors explain (in free
 * space 2^-40 of |z| C sum |q| / d, d the least distance from atoms) count as equal; of equal oxygens, the first is taken.
 * Lengths in angstrom. */
#ifndef CIONIZE_WATER_SITES_H
#define CIONIZE_WATER_SITES_H

#include "ion_search.h"
#include "ions.h"

#define WATER_SITES_TOLERANCE                                                                                          \
    1e-9 /* of sums in a cell; of vf_ewald_pair, whose points are off by a hundredth of what is asked, too */
#define WATER_SITES_EQUAL 1e-8 /* energies in a cell, of |z| C sum |q| / edge, the edge that of a cube of its volume */

typedef struct water_sites water_sites;

/* Sums the potential of the solute's atoms (solute->atoms may be 0) at the oxygens that are far enough from them. The arrays may
 * be freed afterwards. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status water_sites_create(vf_context *ctx, const water_solvent *water, const ion_settings *ions,
                                           const molecule *solute, water_sites **out);
void water_sites_destroy(water_sites *s); /* NULL is allowed */

/* The best oxygen for an ion of this charge. out->index: of water->oxygen; -1: none is left. */
void water_sites_find(const water_sites *s, double charge, vf_ion_place *out);

/* Puts an ion at the oxygen `place`: oxygens nearer than `distance` are no longer free. *energy: charge x potential there,
 * without the ion. Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status water_sites_add(water_sites *s, const vf_ion_place *place, double charge, double distance,
                                        double *energy);

/* Numbers of oxygens: free, excluded by the solute, excluded by ions. */
void water_sites_count(const water_sites *s, int64_t counts[3]);

#endif
