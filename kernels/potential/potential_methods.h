/* The tables of the methods, one file each; potential.c lists them. Not installed. */
#ifndef VOXFIELD_POTENTIAL_METHODS_H
#define VOXFIELD_POTENTIAL_METHODS_H

#include "potential.h"

extern const vf_potential_method vf_potential_direct, vf_potential_fast, vf_potential_cutoff;

/* fast_potential.c: the actual variant of the cutoff sum, of which the fast sum's near part is one. Errors: those of
 * vf_cutoff_create. */
VF_MUST_CHECK vf_status vf_potential_near_variant(vf_device *device, const vf_potential_problem *problem, char *name,
                                                  size_t size);

#endif
