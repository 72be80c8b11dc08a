/* The user's selection of frames, as text. */
#ifndef PROGRAM_SELECT_FRAMES_H
#define PROGRAM_SELECT_FRAMES_H

#include <stdint.h>

#include "voxfield/context.h"

/* Frames first, first + step, ...: `count` of them. Numbered from 0. */
typedef struct frame_selection {
    int64_t first, step, count;
} frame_selection;

/* Parses the selection "first:last:step" of `frames` >= 1 frames. Numbers are from 1; both ends are included. Each
 * part may be left out; the defaults are 1, the last frame, and 1. Negative numbers count from the end; -1 is the
 * last frame. A number without a colon selects that frame. Examples: "101:", "::10", "-100:", "1:500:5", "7".
 * `whose` is for messages: "the trajectory". Errors: VF_ERR_ARGUMENT for frames that there are not, a step below 1, a
 * last frame before the first, or any other text. */
VF_MUST_CHECK vf_status parse_frames(vf_context *ctx, const char *text, const char *whose, int64_t frames,
                                     frame_selection *selection);

#endif
