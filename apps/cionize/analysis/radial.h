/* The distribution of a map's values by the distance from the molecule's surface, in shells of equal width. */
#ifndef CIONIZE_RADIAL_H
#define CIONIZE_RADIAL_H

#include "analysis/map_layers.h"
#include "analysis/surface_distance.h"

/* Values at distances from n width to (n + 1) width, the first included. */
typedef struct radial_shell {
    int64_t points;
    double mean, squares; /* squares: sum of squared deviations from the mean */
    double least, most;
} radial_shell;

typedef struct radial_distribution {
    vf_grid grid;
    surface_tree *surface;
    double width;
    int64_t first; /* number of the first shell: 0 or less */
    int64_t shells;
    radial_shell *shell;
    double *distance; /* [points of a layer] */
} radial_distribution;

/* Errors: VF_ERR_MEMORY. Free with radial_free. */
VF_MUST_CHECK vf_status radial_begin(vf_context *ctx, const molecule *m, const vf_grid *grid, double width,
                                     radial_distribution *out);

/* Errors: VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status radial_take(vf_context *ctx, radial_distribution *d, const map_layers *layers);
void radial_free(radial_distribution *d);

#endif
