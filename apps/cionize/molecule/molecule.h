/* cionize: molecules, and the files they are read from. Lengths in angstrom, charges in elementary charges. */
#ifndef CIONIZE_MOLECULE_H
#define CIONIZE_MOLECULE_H

#include "space_group.h"
#include "unit_cell.h"
#include "voxfield/context.h"
#include "voxfield/digest.h"

/* ---- read_molecule.c ---- */

/* An atom's names in its file, for output files. Texts that the file does not state are empty. */
typedef struct atom_label {
    char name[9], residue[9]; /* "CA", "ALA" */
    char chain[9];            /* chain: "A"; if the file has none, the segment: "PROT" */
    char segment[9];          /* segment; "" if the file has none */
    char element[3];          /* "Na" */
    char insertion;           /* letter after the residue number; 0: none */
    char alternate;           /* alternate location; 0: none, or another conformer was left out */
    bool hetero;              /* a HETATM record */
    bool ends_chain;          /* a TER follows */
    bool cut;                 /* a name had more than eight characters */
    float occupancy;          /* 1 if the file states none */
    int32_t residue_number;   /* 0 if number_text is set */
    char number_text[9];      /* the residue's label if it is no number: "****"; otherwise "" */
    char formal_charge[3];    /* "2+", as in PDB files; "" if the file states none */
    float b_factor;           /* temperature factor; 0 if the file states none */
} atom_label;

/* What PDB and PQR files say beside the atoms, for output files. All zero: nothing. */
typedef struct molecule_records {
    char *lines;          /* records before the atoms, as they stand in the file, each with '\n'; NULL: none */
    int64_t bonds;        /* of CONECT, in the file's order; a double bond is there twice */
    int64_t (*bond)[2];   /* [bonds] from one atom to another, by index */
    int32_t model_number; /* of the MODEL that was read; 0: none */
} molecule_records;

/* The atoms of a molecule, in the order of the file. */
typedef struct molecule {
    int64_t atoms;               /* >= 1 */
    double *x, *y, *z;           /* [atoms] angstrom */
    double *charge;              /* [atoms] e */
    double *radius;              /* [atoms] angstrom */
    atom_label *labels;          /* [atoms] */
    double total_charge;         /* e */
    double lo[3], hi[3];         /* bounds of the atoms' centres: x, y, z */
    int64_t missing_atoms;       /* atoms left out according to the file itself (REMARK 5 of pdb2pqr) */
    int64_t missing_residues;    /* residues of those atoms, or residues named as missing */
    molecule_records records;    /* what else the file says */
    unit_cell cell;              /* of the crystal or box, if the file states one */
    listed_symmetry symmetry;    /* the crystal's operators, if the file lists them */
    char dialect[96];            /* how the records were read, for messages */
    char digest[VF_DIGEST_TEXT]; /* SHA-256 of the file's text */
    /* Of a part of a molecule (molecule_part.h), which still has frames of the whole: */
    int64_t whole_atoms; /* 0: this is the whole */
    double whole_charge; /* e; of the whole */
    int64_t *of_whole;   /* [atoms] numbers of the atoms in the whole, in order; NULL: this is the whole */
} molecule;

/* Which of several alternate locations of a residue's atoms is kept. All zero: by occupancy. */
typedef enum conformer_rule { CONFORMER_BY_OCCUPANCY, CONFORMER_FIRST, CONFORMER_LETTER } conformer_rule;
typedef struct conformer_choice {
    conformer_rule rule;
    char letter; /* of CONFORMER_LETTER: residues that have it */
} conformer_choice;

/* Reads the molecule in `path`, a PQR file or an mmCIF file with charges, or with `charges` (NULL: none) in two files. It calls the functions below. */
VF_MUST_CHECK vf_status read_molecule_choosing(vf_context *ctx, const char *path, const char *charges,
                                               conformer_choice choice, molecule *out);

/* Reads a PQR file, or an mmCIF file with charges (docs/molecules.md). `out` is overwritten; free it with molecule_free. Suspicious input gives
 * warnings (vf_warn). Errors (each names file, line and field): VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_molecule(vf_context *ctx, const char *path, molecule *out);

/* The same from memory; `name` replaces the path in messages. The fuzzer calls this. */
VF_MUST_CHECK vf_status parse_pqr(vf_context *ctx, const char *name, const char *text, size_t bytes, molecule *out);
void molecule_free(molecule *molecule);

/* ---- molecule_with_charges.c ---- */

/* Reads a molecule from two files: coordinates (PDB, mmCIF, GROMACS's .gro, CHARMM's .crd, NAMD's .coor, or AMBER's inpcrd, rst7 or
 * NetCDF restart) and charges (PSF, or AMBER's prmtop). The contents tell the formats. Both files must have the same atoms in the same order; atom names
 * are compared if both files have them. Without radii in the charge file, radii are 0, with a note. The digest is
 * that of the text of the coordinates followed by the text of the charges. */
VF_MUST_CHECK vf_status read_molecule_with_charges(vf_context *ctx, const char *coordinates, const char *charges,
                                                   molecule *out);

/* The same from memory. The fuzzer calls this. */
typedef struct named_text {
    const char *name; /* replaces the path in messages */
    const char *text;
    size_t bytes;
} named_text;
VF_MUST_CHECK vf_status parse_molecule_with_charges(vf_context *ctx, const named_text *coordinates,
                                                    const named_text *charges, molecule *out);

/* The coordinates alone, of one file in a format of those; charges are 0. */
VF_MUST_CHECK vf_status parse_coordinates(vf_context *ctx, const named_text *coordinates, molecule *out);
/* The same, choosing among alternate locations otherwise than by occupancy. */
VF_MUST_CHECK vf_status parse_molecule_choosing(vf_context *ctx, const named_text *coordinates,
                                                const named_text *charges, conformer_choice choice, molecule *out);

/* ---- read_cell.c ---- */

/* The periodic cell of a file that is read for its cell alone: .gro (of the first frame), AMBER coordinates, NAMD's
 * .xsc (of the last line), PDB, PQR or mmCIF, and the symmetry operators that it lists (NULL: not wanted; zero before, to be
 * freed with symmetry_free). Errors: VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. A file without a cell is none. */
VF_MUST_CHECK vf_status read_cell_of_file(vf_context *ctx, const char *path, unit_cell *out, listed_symmetry *symmetry);

/* The same from memory. The fuzzer calls this. */
VF_MUST_CHECK vf_status parse_cell(vf_context *ctx, const char *name, const char *text, size_t bytes, unit_cell *out,
                                   listed_symmetry *symmetry);

/* ---- expand_crystal.c ---- */

/* Adds the copies of the atoms that the operators make, so that the molecule is a whole cell. Copies keep charge, radius
 * and labels; their chains and segments get names of their own. Each copy is shifted by lattice vectors so that the
 * centre of its atoms lies in the cell. Copies within 0.1 A of an atom with the same charge and radius are that atom, and
 * atoms within 0.1 A of their own copies are moved to the special position between them; a note counts both. The
 * cell's group becomes P 1. `path` is for messages. Errors: VF_ERR_INPUT (copies that overlap with other atoms),
 * VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status molecule_expand(vf_context *ctx, const char *path, const unit_cell *shape,
                                        const symmetry_group *group, molecule *m);

#endif
