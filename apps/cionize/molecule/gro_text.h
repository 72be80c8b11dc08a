/* The lines of GROMACS's .gro files: a title, the number of atoms, atoms in columns, and a box. Private to the readers of
 * molecules and trajectories. */
#ifndef CIONIZE_GRO_TEXT_H
#define CIONIZE_GRO_TEXT_H

#include <stdint.h>

#include "unit_cell.h"

/* Whether a text is a .gro file, by its second and third lines. */
bool is_gro(text_piece text);

/* The number of atoms on the second line. False if it is not a number of at least 1. */
bool gro_count(text_piece line, int64_t *atoms);

/* The box on the last line: v1x v2y v3z [v1y v1z v2x v2z v3x v3y], nm, between blanks. Zeros mean no box. False if these
 * are not 3 or 9 numbers. */
bool gro_box(text_piece line, locale_t c_locale, unit_cell *out);

#endif
