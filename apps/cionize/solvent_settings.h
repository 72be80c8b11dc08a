/* cionize: what the user asks of a molecule in a solvent. */
#ifndef CIONIZE_SOLVENT_SETTINGS_H
#define CIONIZE_SOLVENT_SETTINGS_H

#include <stdbool.h>

#include "solvent.h"

/* A map of what the solution is made of: a number of solvent_map_kinds (solvent/solvent_maps.h), and its file. */
typedef struct solvent_map {
    int kind;
    const char *path;
} solvent_map;
enum { MOST_SOLVENT_MAPS = 8 };

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
    int maps;
    solvent_map map[MOST_SOLVENT_MAPS];
    const char *energies; /* file of energies; NULL: none */
} solvent_settings;

#endif
