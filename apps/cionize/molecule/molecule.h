/* cionize: molecules, and the files they are read from. Lengths in angstrom, charges in elementary charges. */
#ifndef CIONIZE_MOLECULE_H
#define CIONIZE_MOLECULE_H

#include "voxfield/context.h"
#include "voxfield/digest.h"

/* ---- read_molecule.c ---- */

/* What a file calls an atom, for files that name it again; texts are empty where it does not say. */
typedef struct atom_label {
    char name[9], residue[9]; /* "CA", "ALA" */
    char chain[9];            /* chain or segment: "A", "PROT" */
    char element[3];          /* "Na" */
    char insertion;           /* code after the residue's number; 0: none */
    bool hetero;              /* a HETATM record */
    int32_t residue_number;
} atom_label;

/* The atoms of a molecule, in the order of the file. */
typedef struct molecule {
    int64_t atoms;               /* >= 1 */
    double *x, *y, *z;           /* [atoms] angstrom */
    double *charge;              /* [atoms] e */
    double *radius;              /* [atoms] angstrom */
    atom_label *labels;          /* [atoms] */
    double total_charge;         /* e */
    double lo[3], hi[3];         /* bounds of the atoms' centres: x, y, z */
    int64_t missing_atoms;       /* atoms the file itself says were left out (REMARK 5 of pdb2pqr) */
    int64_t missing_residues;    /* residues those atoms belong to, or residues named as missing */
    char dialect[96];            /* how the records were read, for the summary */
    char digest[VF_DIGEST_TEXT]; /* SHA-256 of the file's text */
} molecule;

/* Reads a PQR file (docs/molecules.md). `out` is overwritten; free it with molecule_free. What deserves attention but is
 * no error goes out as vf_warn. Errors, each naming file, line and field: VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_molecule(vf_context *ctx, const char *path, molecule *out);

/* The same from memory; `name` stands for the path in messages. The fuzzer's entry. */
VF_MUST_CHECK vf_status parse_pqr(vf_context *ctx, const char *name, const char *text, size_t bytes, molecule *out);
void molecule_free(molecule *molecule);

/* ---- molecule_with_charges.c ---- */

/* The same out of two files: coordinates (PDB, or AMBER's inpcrd and rst7 as text) and charges (PSF, or AMBER's
 * prmtop), told apart by what they hold. Both must have the same atoms in the same order; names are compared, as far as
 * both files have them. Radii are 0 where the charges' file has none, and a note says so. The digest is that of the
 * coordinates' text followed by the charges' text. */
VF_MUST_CHECK vf_status read_molecule_with_charges(vf_context *ctx, const char *coordinates, const char *charges,
                                                   molecule *out);

/* The same from memory. The fuzzer's entry. */
typedef struct named_text {
    const char *name; /* stands for the path in messages */
    const char *text;
    size_t bytes;
} named_text;
VF_MUST_CHECK vf_status parse_molecule_with_charges(vf_context *ctx, const named_text *coordinates,
                                                    const named_text *charges, molecule *out);

#endif
