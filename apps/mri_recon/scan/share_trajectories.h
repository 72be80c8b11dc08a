/* Frames with equal trajectories share one, so that what depends on it is made once; or have their own. */
#ifndef SHARE_TRAJECTORIES_H
#define SHARE_TRAJECTORIES_H

#include "mri_scan.h"

/* Stands for a frame's trajectory: equal ones have the same digest. */
typedef struct trajectory_digest {
    char text[VF_DIGEST_TEXT];
    int frame;
} trajectory_digest;

/* Allocates both arrays for `frames` frames; free them also after a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_allocate_digests(vf_context *ctx, const char *path, int frames,
                                              trajectory_digest **digests, int **first);
/* For each frame, the first frame with the same digest: first[f] <= f. Sorts the digests. */
void scan_find_equal(trajectory_digest *digests, int frames, int *first);
/* Lets frames with equal trajectories share one. Before, frame f has trajectory f. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_share_trajectories(vf_context *ctx, const char *path, mri_scan *s);
/* Gives a frame a trajectory that no other frame has, with weights. Those of calibration frames stay the last. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_own_trajectory(vf_context *ctx, const char *path, mri_scan *raw, scan_frame *frame);

/* ---- samples on the grid ---- */

/* Where samples of a frame were acquired. */
typedef struct scan_pattern {
    unsigned char *acquired; /* [z][y][x] of the scan's matrix */
    bool columns;            /* for planes: samples are in the order of columns, because a readout goes along y */
    int64_t samples;         /* how many are acquired, >= 1 */
} scan_pattern;

/* Sets acquired[i], [positions], to whether some coil of data [coil][position] is not 0. */
void scan_mark_acquired(const vf_context *ctx, int64_t coils, int64_t positions, const float complex *data,
                        unsigned char *acquired);
/* Gives a frame the trajectory of a pattern: an earlier one that is the same, or a new one, for which there must be room
 * in s->trajectory. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_share_pattern(vf_context *ctx, const char *path, const scan_pattern *p, mri_scan *s,
                                           scan_frame *frame);
/* Copies the acquired samples times `scale` from data of all positions to [coil][sample]. Without columns, `to` may be
 * `from`; else they do not overlap, and threads share the coils. */
void scan_keep_acquired(const vf_context *ctx, const scan_pattern *p, const mri_scan *s, float scale,
                        const float complex *from, float complex *to);

#endif
