/* cionize: the periodic cell of a run, and the grids of frames whose cells differ from it. */
#ifndef CIONIZE_PERIODIC_FRAMES_H
#define CIONIZE_PERIODIC_FRAMES_H

#include "cionize_settings.h"
#include "molecule/molecule.h"
#include "trajectory/trajectory.h"

/* The cell of the map: that of the settings or of their file, or, if they ask for the input's, the mean of the selected frames' vectors,
 * or the molecule's without a trajectory (NULL). *follows: frames have cells of their own. *of_file and *symmetry (zero
 * before): what a file for the cell alone says. Errors: VF_ERR_INPUT (a file
 * without a cell, or one that is turned or changes its shape; the message says what to do). */
VF_MUST_CHECK vf_status choose_cell(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                    const trajectory *t, const frame_selection *frames, vf_cell *out, bool *follows,
                                    unit_cell *of_file, listed_symmetry *symmetry);

/* The grid whose points have in the cell of frame `frame` (from 0) the fractional coordinates that those of `grid` have
 * in its cell, both counted from the origin of the coordinates. Errors: as choose_cell. */
VF_MUST_CHECK vf_status frame_grid(vf_context *ctx, const trajectory *t, int64_t frame, const vf_grid *grid,
                                   vf_grid *out);

#endif
