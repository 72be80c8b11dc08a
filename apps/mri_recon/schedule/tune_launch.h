/* The launch of the direct sum's variant tuned-structs on the user's GPU: searched on request, and kept for later runs.
 *
 * The table of launches is $XDG_CACHE_HOME/voxfield/launches.txt, or ~/.cache/voxfield/launches.txt. After its first
 * line, each line is a row: trigonometry, threads, chunk, unrolling, the GPU's name. The sum has the same bits with any
 * launch, so the table changes only speed. */
#ifndef TUNE_LAUNCH_H
#define TUNE_LAUNCH_H

#include "solve/solve_settings.h"

/* Sets settings->launch if the variant is tuned-structs and there is a GPU (the first one counts): to the best of a
 * search, which goes into the table, or, without `search`, to the table's row. A table that cannot be used is ignored
 * with a note. Errors: VF_ERR_ARGUMENT (search with another variant, or without a GPU), those of vf_fourier_search. */
VF_MUST_CHECK vf_status tune_launch(vf_context *ctx, bool search, solve_settings *settings);

/* ---- the table ---- */

/* The table's path; NULL if the environment names no folder. The caller frees it. */
char *launch_table_path(void);

typedef enum launch_found { LAUNCH_MISSING, LAUNCH_FOUND, LAUNCH_DAMAGED } launch_found;

/* Looks a launch up. LAUNCH_DAMAGED: the file is no such table, or has a line that is no row; then nothing of it counts. */
launch_found launch_table_find(const char *path, const char *device, vf_trig trig, vf_fourier_tuning *launch);

/* Adds or replaces a row, and makes the folder. A damaged table is replaced. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status launch_table_store(vf_context *ctx, const char *path, const char *device, vf_trig trig,
                                           const vf_fourier_tuning *launch);

#endif
