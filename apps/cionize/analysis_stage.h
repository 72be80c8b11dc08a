/* cionize: --compare, --profile, --radial, --page. */
#ifndef CIONIZE_ANALYSIS_STAGE_H
#define CIONIZE_ANALYSIS_STAGE_H

#include "cionize_state.h"

/* Whether one of them is asked for. */
bool analyses_asked(const cionize_settings *settings);

/* After planning, before the map. Errors: those of comparison_begin, profile_begin, radial_begin. */
VF_MUST_CHECK vf_status analyses_begin(cionize_state *r);

/* Takes layers of the map. */
VF_MUST_CHECK vf_status analyses_take(cionize_state *r, const map_layers *layers);

/* After all layers: sums up. Then the files are written. Errors: those of trajectory_read; VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status analyses_end(cionize_state *r);
VF_MUST_CHECK vf_status analyses_write(cionize_state *r);
void analyses_free(cionize_state *r);
void analysis_facts(facts *f, const cionize_state *r);

#endif
