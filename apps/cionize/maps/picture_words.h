/* The words of pictures. */
#ifndef CIONIZE_PICTURE_WORDS_H
#define CIONIZE_PICTURE_WORDS_H

#include "map_format.h"
#include "voxfield/canvas.h"

enum { PICTURE_TITLE = 1200, PICTURE_WORDS = 96 };

/* "1hpv.pqr: electrostatic potential", shortened to `width` pixels of the large font. */
void picture_title(const map_info *info, const char *what, int width, char title[PICTURE_TITLE]);

/* "3129 atoms, total charge +5 e"; of a selection "selected: protein (1231 atoms, +4 e) of 3129" */
const char *picture_atoms(const map_info *info, char text[PICTURE_WORDS]);

/* "relative permittivity 2 in the molecule"; "" in vacuum */
const char *picture_medium(const map_info *info, char text[PICTURE_WORDS]);

/* Writes the PNG, with the map's description among its texts. Errors: those of vf_canvas_write_png. */
VF_MUST_CHECK vf_status picture_write(vf_context *ctx, const vf_canvas *canvas, const map_info *info, const char *path);

#endif
