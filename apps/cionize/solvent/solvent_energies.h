/* cionize: the files of energies of a molecule in a solvent. */
#ifndef CIONIZE_SOLVENT_ENERGIES_H
#define CIONIZE_SOLVENT_ENERGIES_H

#include "dissolve.h"
#include "maps/map_format.h"

/* A complex, and its partners each alone in the solvent. */
enum { OF_COMPLEX, OF_FIRST, OF_SECOND, OF_ALL };

typedef struct energy_table {
    const molecule *mol;
    const double *charge;               /* [mol->atoms] */
    atom_energies atoms;                /* of the one frame; arrays of NULL: not known, as of several */
    bool binds;                         /* `of` has the partners, too */
    int64_t frames, first_frame, step;  /* numbered from 0 in the trajectory; without one, frames is 0 */
    const solvent_energy (*of)[OF_ALL]; /* [frames, or 1] */
} energy_table;

/* The partners' energies subtracted from the complex's. */
solvent_energy binding_energy(const solvent_energy of[OF_ALL]);

/* VF_ERR_ARGUMENT if the extension is neither .json nor .csv. */
VF_MUST_CHECK vf_status energies_check_path(vf_context *ctx, const char *path);

/* Writes totals, residues and atoms; of a trajectory, totals of each frame. `info`: for what the file says of itself. Errors:
 * VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status energies_write(vf_context *ctx, const char *path, const energy_table *table,
                                       const map_info *info);

#endif
