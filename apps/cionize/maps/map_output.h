/* cionize: passes a map to its file, its picture and the statistics of the report. Also maps that stay in memory. */
#ifndef CIONIZE_MAP_OUTPUT_H
#define CIONIZE_MAP_OUTPUT_H

#include "draw_slices.h"
#include "potential/potential_plan.h"

/* Statistics of a map, summed as its layers pass: sums of differences from its first value, and of their squares. Far from a molecule,
 * all values are nearly equal: the squares of the values themselves would cancel there. */
typedef struct map_figures {
    double minimum, maximum, first, sum, squares;
    int64_t count;
} map_figures;
double map_figures_mean(const map_figures *f);
double map_figures_rms(const map_figures *f);
double map_figures_deviation(const map_figures *f); /* rms deviation from the mean */

/* ---- map_output.c ---- */

/* One output of a map. Zero-initialise it, set the first members, and do not change it after map_output_begin. */
typedef struct map_output {
    vf_context *ctx;
    const char *path;         /* NULL: no file */
    const char *picture;      /* NULL: none */
    const map_format *format; /* of the path (map_format_for) */
    const map_info *info;     /* must outlive the output */
    map_order order;          /* of the layers; must be the format's order if there is a file */
    map_figures figures;
    void *state;    /* the format's state; NULL: no file is open */
    slices *planes; /* planes of the picture */
} map_output;

/* Opens the file. */
VF_MUST_CHECK vf_status map_output_begin(map_output *out);

/* Takes layers [first, first + count) in the output's order (see map_format.write). VF_ERR_INTERNAL if a value is not
 * finite; VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status map_output_take(map_output *out, int64_t first, int64_t count, const void *values);

/* Gives the file its name and draws the picture. */
VF_MUST_CHECK vf_status map_output_commit(map_output *out);
void map_output_discard(map_output *out); /* allowed after a commit */

/* Estimates the size of the finished file. */
double map_output_bytes(const map_format *format, const map_info *info);

/* ---- stored_map.c ---- */

/* Copies layers in file order into a map in memory, [z][y][x] of the grid. */
VF_MUST_CHECK vf_status store_layers(vf_context *ctx, const vf_grid *grid, vf_dtype type, map_order order,
                                     int64_t first, int64_t count, const void *values, void *map);

/* Passes a map in memory, on the grid of plan->problem, to an output. If there are `extra` charges (NULL: none), adds
 * their potential first, with the plan's method and the settings of plan->problem. */
VF_MUST_CHECK vf_status write_stored_map(vf_context *ctx, const potential_plan *plan, const void *map,
                                         const molecule *extra, map_output *out);

#endif
