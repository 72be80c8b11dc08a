/* The tables of the methods, one file each; potential.c lists them. Not installed. */
#ifndef VOXFIELD_POTENTIAL_METHODS_H
#define VOXFIELD_POTENTIAL_METHODS_H

#include "potential.h"

extern const vf_potential_method vf_potential_direct, vf_potential_fast;

#endif
