/* Recognises CHARMM's coordinate files. Private to the readers of molecules. */
#ifndef CIONIZE_CRD_TEXT_H
#define CIONIZE_CRD_TEXT_H

#include <stdbool.h>

#include "text/text_number.h"

/* Whether a text has lines that begin with * and then a number of atoms, or such a number and then a line of an atom. */
bool is_crd(text_piece text);

#endif
