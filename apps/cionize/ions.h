/* cionize: ions, from what the user asks for to the files that hold them.
 *
 *   ion_request (ion_kinds.c) -> count_ions -> place_ions -> write_ions
 *
 * Lengths in angstrom, charges in elementary charges, energies (charge x potential) in the potential's unit times e.
 */
#ifndef CIONIZE_IONS_H
#define CIONIZE_IONS_H

#include "cionize.h"

/* ---- ion_kinds.c ---- */

/* One kind of ion: how files name it, and what it is. */
typedef struct ion_kind {
    char name[5];    /* of the atom and of its residue: "SOD" */
    char element[3]; /* "Na"; "" if the name is not known */
    double charge;   /* e; not 0 */
    double radius;   /* angstrom, for PQR files; 0 if not known */
} ion_kind;

/* ---- place_ions.c ---- */

/* An ion that was placed. */
typedef struct ion_site {
    int kind;           /* index into ion_list.kinds */
    double position[3]; /* angstrom */
    double energy;      /* charge x potential of the solute and of the ions placed before it */
} ion_site;

/* Ions in the order they were placed. */
typedef struct ion_list {
    int kind_count;
    ion_kind *kinds; /* [kind_count] */
    int64_t count;
    ion_site *sites; /* [count] */
} ion_list;

/* ---- write_ions.c ---- */

/* Writes the ions, and before them the solute if it is not NULL (with the labels it was read with), as the path's
 * extension says: .pdb, .pqr, .xyz. The file appears whole or not at all. Atoms' numbers beyond 99,999 and residues'
 * beyond 9,999 are hybrid-36 in PDB files, whole numbers in PQR. A warning where a format cannot hold something (PDB:
 * coordinates outside -999.999 to 9999.999 are VF_ERR_UNSUPPORTED, and the message offers .pqr and .xyz). `comment`: one
 * line of ASCII for the head of the file, or NULL. Errors: VF_ERR_OUTPUT, VF_ERR_UNSUPPORTED, VF_ERR_ARGUMENT (unknown
 * extension: lists the known), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status write_ions(vf_context *ctx, const char *path, const ion_list *ions, const molecule *solute,
                                   const char *comment);

/* Whether write_ions knows the path's extension. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status check_ions_path(vf_context *ctx, const char *path);

#endif
