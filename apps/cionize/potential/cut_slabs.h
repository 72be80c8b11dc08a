/* cionize: how a map is cut into slabs (cut_slabs.c explains why). */
#ifndef CIONIZE_CUT_SLABS_H
#define CIONIZE_CUT_SLABS_H

#include <stdint.h>

/* Layers [0, layers) cut into slabs for `queues` queues of devices: `most` layers thick, thinner towards the end,
 * but at least `least` (the last may have fewer). Cuts are at multiples of `unit`. */
typedef struct slab_cut {
    int64_t layers; /* >= 1 */
    int64_t unit;   /* >= 1; most and least are multiples of it, 1 <= unit <= least <= most */
    int64_t most, least;
    int queues; /* >= 1 */
} slab_cut;
int64_t slab_count(const slab_cut *cut);
/* The first layer of slab n; for n = slab_count(cut), the number of layers. */
int64_t slab_first(const slab_cut *cut, int64_t n);

typedef struct layer_range {
    int64_t first, behind;
} layer_range;

/* The slabs of some layers, in order: each of the `ranges` is cut as a map of its own; 0 ranges: all layers. free()
 * the result. NULL: no memory. */
layer_range *cut_ranges(const slab_cut *cut, int64_t ranges, const layer_range *range, int64_t *slabs);

#endif
