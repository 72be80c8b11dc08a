/* Frames that differ only in time are joined, so that their readouts can be cut into other frames. */
#ifndef JOIN_FRAMES_H
#define JOIN_FRAMES_H

#include "mri_scan.h"

/* Where the readouts of a joined frame come from: its pieces [begin[f], begin[f + 1]) are former frames. */
typedef struct joined_pieces {
    int *begin;             /* [frames + 1] */
    int *volume;            /* [pieces] of the former frame */
    int64_t *first_readout; /* [pieces] in the joined frame */
} joined_pieces;

/* Joins frames that differ only in repetition into one each, in the order of repetitions. The frames are then in the
 * order of phase, set, contrast and place. All trajectories know their readouts. raw->volumes and volumes of frames
 * are no longer valid. Free the pieces also after a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status join_frames(vf_context *ctx, const char *path, mri_scan *raw, joined_pieces *pieces);
void joined_pieces_free(joined_pieces *pieces);

#endif
