/* Frames that outlive the run: see apps/program/kept_pieces.h. A piece is a frame's image, with what it took to make it. The
 * pieces are in the order in which frames are made (frame_order), so that parts of a series have whole places. */
#ifndef KEPT_FRAMES_H
#define KEPT_FRAMES_H

#include "frames/recon_results.h"
#include "kept_pieces.h"

typedef struct kept_frames {
    kept_pieces pieces;
    const mri_scan *scan;
    int *order, *item; /* [frames] the frame of a piece, and the piece of a frame */
    bool *wanted;      /* [frames] those this run makes; NULL: pieces are not kept */
    char *piece;       /* one of them */
    int made;
    vf_status status; /* of keeping what was made */
} kept_frames;

/* Keeps a frame that was made; `image` [z][y][x] of scan->crop. An error is in kept->status. */
void kept_frames_add(kept_frames *kept, const scan_frame *frame, const recon_summary *summary, const char *devices,
                     const float complex *image);

/* Passes the frames that were there to `take`, and puts into the summary what all frames took, and into `devices` [size] those
 * of the last one. Not for parts. */
typedef void (*kept_frames_take)(void *user, const scan_frame *frame, const float complex *image);
VF_MUST_CHECK vf_status kept_frames_rest(kept_frames *kept, kept_frames_take take, void *user, recon_summary *summary,
                                         char *devices, size_t size);

/* Ends the use of the pieces, as kept_end does, and frees. */
VF_MUST_CHECK vf_status kept_frames_end(kept_frames *kept, vf_status status);

#endif
