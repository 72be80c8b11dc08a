/* What the readers of map files share (map_reader.c), and the readers that read_map.c chooses from. */
#ifndef CIONIZE_MAP_READER_H
#define CIONIZE_MAP_READER_H

#include "read_map.h"
#include "text/text_words.h"

/* They fill in everything but the path, which is there; what they allocate is freed with the map. */
VF_MUST_CHECK vf_status read_map_dx(vf_context *ctx, loaded_map *map);
VF_MUST_CHECK vf_status read_map_h5(vf_context *ctx, loaded_map *map);

/* ---- map_reader.c ---- */

/* Allocates the values of map->grid, of map->type. VF_ERR_INPUT if the grid is not valid, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status map_allocate(vf_context *ctx, loaded_map *map);

/* What cionize writes that is no potential, told by how its quantity begins: "a mask (what excludes ions)"; else NULL.
 */
const char *map_no_potential(text_piece quantity);

/* "electrostatic potential with 5 ions in kT/e": true, and 5, and what follows the quantity; ions: 0 without "with". */
bool map_potential(text_piece quantity, int64_t *ions, text_piece *rest);

/* What a line of the text in a file's head says of how the map was made, one that map_provenance (map_common.h) wrote:
 * digest, constants, dielectric. Six digits, where loaded_map has doubles. */
void map_constants(text_piece line, locale_t c_locale, loaded_map *map);

#endif
