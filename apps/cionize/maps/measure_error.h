/* cionize: the error of a map, measured while it is made: at random points, against the exact sum in double precision. Of
 * a map with a cutoff, it is the difference from the sum over all atoms, and no fault.
 *
 * The exact sums cost atoms times points (times frames, whose mean the map is). As many points as take at most 1.5 % of
 * the run's expected time are taken, but 16 at least, 256 at most. For n points, the estimate of the rms error is
 * itself uncertain by about 1 / sqrt(2 n) of itself where errors are alike everywhere: 4 % for 256, 18 % for 16. The
 * first points are the same in each run of a grid.
 *
 * In a cell, an exact value is Ewald's own sum, whose waves are summed once for all points; this may take 5 % of the
 * time. */
#ifndef CIONIZE_MEASURE_ERROR_H
#define CIONIZE_MEASURE_ERROR_H

#include "map_output.h"
#include "potential/potential_plan.h"
#include "trajectory/trajectory.h"

typedef struct error_points error_points;

/* Seconds on one thread of the exact sums of one map, or frame; 0 for methods that are exact. */
double error_points_seconds(const vf_context *ctx, const potential_plan *plan, int64_t atoms);

/* Draws points and sums their exact values: of the molecule, or the mean over frames (`t`, `selection`; else NULL).
 * *out is NULL for methods that are exact. Errors: those of vf_point_sum_create and of trajectory_read. */
VF_MUST_CHECK vf_status error_points_make(vf_context *ctx, const potential_plan *plan, const molecule *mol,
                                          const trajectory *t, const frame_selection *selection, error_points **out);
void error_points_free(error_points *points); /* NULL is allowed */

/* Takes the map's values at the points among layers [first, first + count), see map_format.write. NULL is allowed. */
void error_points_take(error_points *points, int64_t first, int64_t count, const void *values);

/* After all layers, with their statistics. Warns if the error is larger than asked. */
map_error error_points_result(vf_context *ctx, const error_points *points, const map_figures *figures);

#endif
