/* The tables of an mmCIF file. Private to its reader. */
#ifndef CIONIZE_MMCIF_FILE_H
#define CIONIZE_MMCIF_FILE_H

#include "molecule_readers.h"
#include "text/cif_tables.h"

enum mmcif_table {
    MMCIF_ATOMS,
    MMCIF_CELL,
    MMCIF_SCALE,
    MMCIF_SYMMETRY,
    MMCIF_GROUP,
    MMCIF_SYMMETRY_TEXTS,
    MMCIF_GROUP_TEXTS,
    MMCIF_NCS,
    MMCIF_CHARGES,      /* _sb_ncbr_partial_atomic_charges, and _partial_atomic_charges: Atomic Charge Calculator II */
    MMCIF_CHARGES_META, /* what kinds of charges these are */
    MMCIF_PLAIN_CHARGES,
    MMCIF_PLAIN_CHARGES_META,
    MMCIF_BONDS, /* which are not kept */
    MMCIF_TABLES
};

/* Items of _atom_site. */
enum atom_item {
    ATOM_GROUP,
    ATOM_ID,
    ATOM_ELEMENT,
    ATOM_AUTH_NAME,
    ATOM_NAME,
    ATOM_PLAIN_LABEL, /* of the CIF of small molecules */
    ATOM_ALTERNATE,
    ATOM_DISORDER, /* the same in the CIF of small molecules */
    ATOM_AUTH_RESIDUE,
    ATOM_RESIDUE,
    ATOM_AUTH_CHAIN,
    ATOM_CHAIN,
    ATOM_AUTH_NUMBER,
    ATOM_NUMBER,
    ATOM_INSERTION,
    ATOM_X,
    ATOM_Y,
    ATOM_Z,
    ATOM_FRACTION_X,
    ATOM_FRACTION_Y,
    ATOM_FRACTION_Z,
    ATOM_OCCUPANCY,
    ATOM_MODEL,
    ATOM_PQR_CHARGE,
    ATOM_PARTIAL_CHARGE,
    ATOM_CHARGE,
    ATOM_PQR_RADIUS,
    ATOM_RADIUS,
    ATOM_B_FACTOR,
    ATOM_FORMAL_CHARGE
};

enum { CHARGE_TYPE, CHARGE_ATOM, CHARGE_VALUE };
enum { META_ID, META_TYPE, META_METHOD };

typedef struct mmcif_file {
    molecule_reader *r;
    cif_table tables[MMCIF_TABLES];
    int64_t *id;   /* [r->capacity] _atom_site.id of the atoms */
    int64_t ids;   /* allocated */
    int64_t *line; /* [r->capacity] */
} mmcif_file;

/* A number, with or without its uncertainty in brackets: 1.234(5). Errors: VF_ERR_INPUT, naming line and item. */
VF_MUST_CHECK vf_status mmcif_number(const molecule_reader *r, const cif_word *word, const char *item, double *out);

/* The cell, the space group and its operators, from their tables. Errors: VF_ERR_INPUT (a number of the cell). */
VF_MUST_CHECK vf_status mmcif_read_crystal(mmcif_file *f);

/* Charges and radii of the atoms, from _atom_site or from a table of charges. *found: the file has charges. Errors:
 * VF_ERR_INPUT (an atom without a charge), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status mmcif_read_charges(mmcif_file *f, bool *found);

#endif
