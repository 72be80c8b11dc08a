/* The state of reading a PQR file, and the checks afterwards. Private to the PQR reader. */
#ifndef CIONIZE_PQR_READER_H
#define CIONIZE_PQR_READER_H

#include <stdint.h>

#include "molecule.h"
#include "molecule_records.h"
#include "pqr_fields.h"
#include "text/input_text.h"

typedef struct pqr_reader {
    vf_context *ctx;
    const char *name; /* of the file, for messages */
    molecule *out;
    conformer_choice choice;
    record_pieces records;
    int64_t capacity;   /* the allocated length of out's arrays */
    int64_t *atom_line; /* [atoms] the line of each atom */
    bool lines_known;   /* no conformer was left out since */
    locale_t c_locale;
    text_piece text; /* the whole file */
    text_lines lines;

    int64_t readings[PQR_READINGS];
    double total_rest; /* compensation for the rounding of total_charge */
    double rounding_limit, rounding_variance, coarse_limit;
    int64_t first_cut, cut;
    text_piece left_out; /* the residue of the last atom in REMARK 5 */
    int64_t first_left_out;
    char left_out_list[160];
    int64_t swapped_line; /* line of a REMARK that says that radii come before charges; 0: none */

    /* Signs of a PDB file. */
    bool two_decimals, one_name, pdb_records, elements;
    int64_t whole_charges, zero_charges, negative_charges, large_charges;
    double largest_radius, first_charge, first_radius;
    text_piece first_name;
} pqr_reader;

/* Fails if the file is of another known kind. */
VF_MUST_CHECK vf_status pqr_check_kind(const pqr_reader *r);

/* Explains a file without atoms. Always fails. */
VF_MUST_CHECK vf_status pqr_fail_no_atoms(const pqr_reader *r);

/* Fails for PDB files. They have occupancy and B-factor, both with two decimals, instead of charge and radius.
 * Occupancies are between 0 and 1, mostly 1. Ions of charge 1 look the same, so a file with only one atom name may
 * be ions. A PQR file with one more decimal is never taken for a PDB file. */
VF_MUST_CHECK vf_status pqr_check_not_pdb(const pqr_reader *r);

/* Fails if the file states that the radii come before the charges, unless its values show otherwise. */
VF_MUST_CHECK vf_status pqr_check_not_swapped(const pqr_reader *r);

/* Warns of ignored or suspicious input. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status pqr_warn(const pqr_reader *r);

/* Describes how the records were read, for messages. */
void pqr_describe(const pqr_reader *r, char *text, size_t size);

#endif
