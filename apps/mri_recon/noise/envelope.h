/* The envelope of an image: where it is bright (envelope.c). */
#ifndef ENVELOPE_H
#define ENVELOPE_H

#include "frames/crew.h"

/* Finds the envelope from the frame's image at low resolution, which takes one more adjoint. A replica gets the
 * envelope of the frame it was made from. out->values is allocated if it is NULL; the caller frees it. Errors:
 * VF_ERR_MEMORY, and as crew_adjoint. */
VF_MUST_CHECK vf_status envelope_of_frame(crew *c, right_side *side, const scan_frame *frame, frame_envelope *out);

/* Box filters along all axes, twice: each reaches a 24th of the axis to both sides, with 0 beyond the ends. Sums below 0, by rounding,
 * count as 0. `values` is [z][y][x], `room` has envelope_smooth_room numbers. The bits do not depend on the number of threads. */
void envelope_smooth(const vf_context *ctx, const int64_t n[3], double *values, double *room);
int64_t envelope_smooth_room(const vf_context *ctx, const int64_t n[3]);

#endif
