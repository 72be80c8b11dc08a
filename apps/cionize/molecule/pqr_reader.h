/* The state of reading a PQR file, and what is checked when it has been read. Private to the PQR reader. */
#ifndef CIONIZE_PQR_READER_H
#define CIONIZE_PQR_READER_H

#include <stdint.h>

#include "molecule.h"
#include "pqr_fields.h"
#include "text/input_text.h"

typedef struct pqr_reader {
    vf_context *ctx;
    const char *name; /* of the file, for messages */
    molecule *out;
    int64_t capacity;   /* atoms that out's arrays have room for */
    int64_t *atom_line; /* [atoms] the line each atom came from */
    locale_t c_locale;
    text_piece text; /* all of it */
    text_lines lines;
    bool stopped; /* at END or after the first model */

    int64_t readings[PQR_READINGS];
    double total_rest; /* what total_charge lacks through rounding */
    double rounding_limit, rounding_variance, coarse_limit;
    int64_t first_cut, cut;
    int64_t first_unknown, unknown;
    char unknown_word[TEXT_QUOTE_SIZE];
    int64_t models, atoms_after_end, end_line;
    text_piece left_out; /* the residue of the last atom that REMARK 5 names */
    int64_t first_left_out;
    char left_out_list[160];
    int64_t swapped_line; /* of a REMARK that says that radii come before charges; 0: none */

    /* Signs of a PDB file. */
    bool two_decimals, one_name, pdb_records, elements;
    int64_t whole_charges, zero_charges, negative_charges, large_charges;
    double largest_radius, first_charge, first_radius;
    text_piece first_name;
} pqr_reader;

/* Refuses a file that is known for something else. VF_OK if it is not. */
VF_MUST_CHECK vf_status pqr_check_kind(const pqr_reader *r);

/* Says what a file without atoms is. Always fails. */
VF_MUST_CHECK vf_status pqr_fail_no_atoms(const pqr_reader *r);

/* In a PDB file occupancy and B-factor, both with two decimals, stand where a PQR file has charge and radius.
 * Occupancies are between 0 and 1, and mostly 1. Ions of charge 1 look the same, so one name for all atoms speaks for
 * them; and a PQR with one more decimal is never taken for a PDB. */
VF_MUST_CHECK vf_status pqr_check_not_pdb(const pqr_reader *r);

/* Refuses a file that says itself that the radii come before the charges, unless its values show the contrary. */
VF_MUST_CHECK vf_status pqr_check_not_swapped(const pqr_reader *r);

/* Warns of what was left out and of what looks wrong. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status pqr_warn(const pqr_reader *r);

/* How the records were read, for people. */
void pqr_describe(const pqr_reader *r, char *text, size_t size);

#endif
