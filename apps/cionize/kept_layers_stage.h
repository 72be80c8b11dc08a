/* cionize: layers of the map that are kept for --resume and --join. */
#ifndef CIONIZE_KEPT_LAYERS_STAGE_H
#define CIONIZE_KEPT_LAYERS_STAGE_H

#include "cionize_state.h"

/* After planning: finds the layers that are there and restricts the plan to those that are not. Errors: those of
 * kept_begin; VF_ERR_ARGUMENT (a method that only computes whole maps). */
VF_MUST_CHECK vf_status kept_layers_begin(cionize_state *r);

/* As a rank other than 0, after planning, so that all ranks measure their speed at the same time: takes the method and the
 * slabs from rank 0. *differs: the plan has another method. Errors: those of vf_ranks_share; VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status take_job_plan(cionize_state *r, bool *differs);

/* --dry-run --ranks. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status plan_job(cionize_state *r);

/* Takes layers that were computed, in order; `deviation` may be NULL. Keeps them, and passes them to the outputs after the
 * kept ones before them, unless the run makes only a part. The sums of blocks of frames are only kept. */
typedef vf_status (*layers_sink)(cionize_state *r, int64_t first, int64_t count, const void *mean,
                                 const void *deviation);
VF_MUST_CHECK vf_status kept_layers_take(cionize_state *r, int64_t first, int64_t count, const void *mean,
                                         const void *deviation, layers_sink pass);

/* Passes the kept layers that come after the last passed one. */
VF_MUST_CHECK vf_status kept_layers_rest(cionize_state *r, layers_sink pass);

void kept_layers_free(cionize_state *r);

#endif
