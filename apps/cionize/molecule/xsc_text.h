/* NAMD's extended system files. Private to the readers of cells. */
#ifndef CIONIZE_XSC_TEXT_H
#define CIONIZE_XSC_TEXT_H

#include "molecule_readers.h"

/* Whether a text has the line of labels among its first comments. */
bool is_xsc(text_piece text);

/* Reads the cell of the last line into out->cell; out has no atoms. Errors: VF_ERR_INPUT, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_xsc(molecule_reader *r);

#endif
