/* Layers of a map on their way to what studies them: compare_maps.h, map_profile.h, radial.h. */
#ifndef CIONIZE_MAP_LAYERS_H
#define CIONIZE_MAP_LAYERS_H

#include "potential/map_order.h"
#include "voxfield/device.h"
#include "voxfield/grid.h"

/* Layers [first, first + count) along the slowest axis: [slow][y][fast], host memory. */
typedef struct map_layers {
    map_order order;
    vf_dtype type;
    int64_t first, count;
    const void *values;
} map_layers;

static inline int map_layers_slow(const map_layers *l)
{
    return l->order == MAP_Z_FASTEST ? 0 : 2;
}

static inline double map_layers_value(const map_layers *l, int64_t i)
{
    return l->type == VF_F64 ? ((const double *)l->values)[i] : (double)((const float *)l->values)[i];
}

#endif
