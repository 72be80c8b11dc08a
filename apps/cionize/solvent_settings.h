/* cionize: what the user asks of a molecule in a solvent. */
#ifndef CIONIZE_SOLVENT_SETTINGS_H
#define CIONIZE_SOLVENT_SETTINGS_H

#include <stdbool.h>

#include "solvent.h"

typedef struct solvent_settings {
    bool on;                                        /* --solvent */
    double molecule_dielectric, solvent_dielectric; /* relative permittivities */
    double strength;                                /* ionic strength of the salt, mol/L */
    double stern, probe;                            /* radii of ions and of the solvent, angstrom */
    int surface;                                    /* a vf_surface_kind */
    bool non_linear;
    double accuracy; /* of the energy, relative, for which the spacing is chosen; 0: the spacing is given */
    bool error;      /* estimate that of the energy */
    int ions;        /* kinds of ions of a salt; 0: a salt of ions of one charge each */
    vf_solvent_ion ion[VF_SOLVENT_MOST_IONS]; /* mol/L */
    const char *ligand, *partners;            /* of a complex: a selection, or two files; NULL: no complex */
    const char *energies;                     /* file of energies; NULL: none */
} solvent_settings;

#endif
