/* cionize: energies of a molecule in a solvent, and the file that has them. */
#ifndef CIONIZE_SOLVENT_ENERGIES_H
#define CIONIZE_SOLVENT_ENERGIES_H

#include "maps/map_format.h"
#include "molecule/molecule.h"

/* Energies in kJ/mol. Each atom has half of what it shares with the others. */
typedef struct solvent_energies {
    double *reaction;        /* [atoms] q u / 2, of the reaction potential u: the solvent's part, next to a medium of
                            * the molecule's dielectric everywhere */
    double *coulomb;         /* [atoms] q G' / 2, of the other charges in that medium; NULL: not summed */
    double sum, sum_coulomb; /* over all atoms */
} solvent_energies;

/* VF_ERR_ARGUMENT if the extension is neither .json nor .csv. */
VF_MUST_CHECK vf_status energies_check_path(vf_context *ctx, const char *path);

/* Writes totals, residues and atoms. `info`: for what the file says of itself. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status energies_write(vf_context *ctx, const char *path, const molecule *m, const double *charge,
                                       const solvent_energies *energies, const map_info *info);
void energies_free(solvent_energies *energies);

#endif
