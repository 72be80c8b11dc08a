/* The difference of a map to another map on the same grid, as its layers pass. */
#ifndef CIONIZE_COMPARE_MAPS_H
#define CIONIZE_COMPARE_MAPS_H

#include "analysis/map_layers.h"
#include "maps/read_map.h"

typedef struct map_comparison map_comparison;

/* With d = map - other at n points. Sums are in double precision, layer by layer around the layer's means, so that large equal
 * parts do not spoil small differences. */
typedef struct comparison_figures {
    int64_t points;
    double rms_difference;  /* sqrt(sum d^2 / n) */
    double mean_difference; /* sum d / n */
    double rms_other;       /* sqrt(sum other^2 / n) */
    double correlation;     /* Pearson's; NaN if one of the maps is constant */
    double largest;         /* d where |d| is largest, the first of equal ones along the layers */
    int64_t at[3];          /* there: grid point x, y, z */
    double here, there;     /* the values of the map and the other */
} comparison_figures;

/* Reads the other map (maps/read_map.h). Its unit must be `unit`, if it states one. Errors: those of read_map; VF_ERR_INPUT (another
 * grid; the message has both, and the options for the other). */
VF_MUST_CHECK vf_status comparison_begin(vf_context *ctx, const char *path, const char *unit, const vf_grid *grid,
                                         map_comparison **out);

void comparison_take(map_comparison *c, const map_layers *layers);

/* After all layers. */
comparison_figures comparison_result(const map_comparison *c);

void comparison_free(map_comparison *c); /* NULL is allowed */

#endif
