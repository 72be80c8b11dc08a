/* cionize: values at points, and field maps. */
#ifndef CIONIZE_POINT_STAGE_H
#define CIONIZE_POINT_STAGE_H

#include "cionize_state.h"

/* Whether options ask for values at points, or a field map; and for nothing else: then there is no map. */
bool points_asked(const cionize_state *r);
bool only_points(const cionize_state *r);

/* Reads the points, after the molecule and the cell. */
VF_MUST_CHECK vf_status points_prepare(cionize_state *r);

/* Computes and writes what is asked, and says it. */
VF_MUST_CHECK vf_status points_run(cionize_state *r);

void point_facts(facts *f, const cionize_state *r);

#endif
