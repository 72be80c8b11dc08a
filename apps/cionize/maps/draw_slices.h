/* cionize: a picture of a map. */
#ifndef CIONIZE_DRAW_SLICES_H
#define CIONIZE_DRAW_SLICES_H

#include "map_format.h"

/* The three planes through the middle of the map, collected as its layers pass. */
typedef struct slices slices;
VF_MUST_CHECK vf_status slices_create(vf_context *ctx, const vf_grid *grid, slices **out);
/* Takes the values it needs from layers [first, first + count) in `order` (see map_format.write). */
void slices_take(slices *planes, map_order order, vf_dtype type, int64_t first, int64_t count, const void *values);
/* Writes the picture (PNG), atomically. */
VF_MUST_CHECK vf_status slices_draw(const slices *planes, const map_info *info, const char *path);
void slices_destroy(slices *planes);

#endif
