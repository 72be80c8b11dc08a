/* cionize: atoms' labels in tables (CSV). */
#ifndef CIONIZE_LABEL_CSV_H
#define CIONIZE_LABEL_CSV_H

#include "molecule.h"
#include "voxfield/output.h"

/* "12", "12A", or the text that is no number: the residue's. */
void label_residue_text(const atom_label *label, char text[32]);

/* The columns name,residue,residue_number,chain,segment of an atom, or without the name those of a residue, each with a comma behind
 * it. Texts are quoted where they must be (RFC 4180). Errors: VF_ERR_OUTPUT. */
#define LABEL_CSV_RESIDUE "residue,residue_number,chain,segment,"
#define LABEL_CSV_ATOM "name," LABEL_CSV_RESIDUE
VF_MUST_CHECK vf_status label_csv(vf_output *out, const atom_label *label, bool with_name);

#endif
