/* What the readers of map files share (map_reader.c), and the readers for read_map.c. */
#ifndef CIONIZE_MAP_READER_H
#define CIONIZE_MAP_READER_H

#include "read_map.h"
#include "text/text_words.h"

/* They fill in all but the path, which is set already. map_free frees what they allocate. */
VF_MUST_CHECK vf_status read_map_dx(vf_context *ctx, loaded_map *map);
VF_MUST_CHECK vf_status read_map_h5(vf_context *ctx, loaded_map *map);
VF_MUST_CHECK vf_status read_map_mrc(vf_context *ctx, loaded_map *map);
VF_MUST_CHECK vf_status read_map_cube(vf_context *ctx, loaded_map *map);

/* ---- map_reader.c ---- */

/* Allocates values of map->grid in map->type. VF_ERR_INPUT if the grid is invalid, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status map_allocate(vf_context *ctx, loaded_map *map);

/* A name for maps that are not a potential, from the start of their quantity: "a mask (what excludes ions)".
 * NULL: none of these. */
const char *map_no_potential(text_piece quantity);

/* Parses "electrostatic potential with 5 ions in kT/e": returns true, 5 ions (0 without "with"), and the rest of the
 * text. */
bool map_potential(text_piece quantity, int64_t *ions, bool *in_solvent, text_piece *rest);

/* Parses a line of the header that map_provenance (map_common.h) wrote: digest, constants, dielectric. The texts
 * have six digits. */
void map_constants(text_piece line, locale_t c_locale, loaded_map *map);

/* Takes a line of a header that cionize or another program wrote, without what marks it as a comment: the first, "electrostatic potential in kT/e", and
 * those of map_constants. Other lines are skipped. False if the map is not a potential, or its unit cannot be shown: `trouble` says
 * so. */
enum { MAP_TROUBLE_SIZE = 160 };
bool map_header_text(text_piece line, locale_t c_locale, loaded_map *map, char trouble[MAP_TROUBLE_SIZE]);

/* Whether a text of a file can be shown: printable characters of ASCII. */
bool map_is_printable(text_piece text);

#endif
