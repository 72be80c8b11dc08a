/* cionize: one map on its way out: to its file, to a picture, to the figures that the report has; and maps that stay in
 * memory, whole. */
#ifndef CIONIZE_MAP_OUTPUT_H
#define CIONIZE_MAP_OUTPUT_H

#include "draw_slices.h"
#include "potential/potential_plan.h"

/* Figures of a map, summed up while its layers go by. */
typedef struct map_figures {
    double minimum, maximum, sum, squares;
    int64_t count;
} map_figures;
double map_figures_mean(const map_figures *f);
double map_figures_deviation(const map_figures *f); /* from the mean, rms */

/* ---- map_output.c ---- */

/* Where a map goes. Zero-initialise, set the first members, and after map_output_begin touch nothing. */
typedef struct map_output {
    vf_context *ctx;
    const char *path;         /* NULL: no file */
    const char *picture;      /* NULL: none */
    const map_format *format; /* of the path (map_format_for) */
    const map_info *info;     /* must outlive it */
    map_order order;          /* of the layers; the format's if there is one */
    map_figures figures;
    void *state;    /* the format's; NULL when none is open */
    slices *planes; /* of the picture */
} map_output;

/* Opens the file. */
VF_MUST_CHECK vf_status map_output_begin(map_output *out);

/* Layers [first, first + count) in the output's order (see map_format.write). VF_ERR_INTERNAL if a value is not finite;
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status map_output_take(map_output *out, int64_t first, int64_t count, const void *values);

/* The file gets its name, and the picture is drawn. */
VF_MUST_CHECK vf_status map_output_commit(map_output *out);
void map_output_discard(map_output *out); /* after a commit, too */

/* About how large the finished file is. */
double map_output_bytes(const map_format *format, const map_info *info);

/* ---- stored_map.c ---- */

/* Puts layers in an order of files into a map in memory, [z][y][x] of the grid. */
VF_MUST_CHECK vf_status store_layers(vf_context *ctx, const vf_grid *grid, vf_dtype type, map_order order,
                                     int64_t first, int64_t count, const void *values, void *map);

/* Hands a map in memory, on the grid of plan->problem, to an output. If there are `extra` charges (NULL: none), adds
 * their potential first, by the method of the plan and as plan->problem states it. */
VF_MUST_CHECK vf_status write_stored_map(vf_context *ctx, const potential_plan *plan, const void *map,
                                         const molecule *extra, map_output *out);

#endif
