/* cionize: trajectories, the coordinates of a molecule's atoms frame by frame.
 *
 * Read from DCD files, what CHARMM, NAMD, X-PLOR, OpenMM and LAMMPS write (docs/molecules.md says what is read, what is
 * refused, and why). Frames are numbered from 0 here and from 1 in all that a user sees. Lengths in angstrom.
 */
#ifndef CIONIZE_TRAJECTORY_H
#define CIONIZE_TRAJECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

/* ---- read_dcd.c ---- */

typedef struct trajectory trajectory;

/* Opens a trajectory: reads the header, finds from it and the file's size where each frame lies, and looks at whether
 * the first, the second and the last are there. A warning if the file ends within a frame (which is left out), or holds
 * another number of them than its header says. Errors, *out is NULL then: VF_ERR_INPUT; VF_ERR_UNSUPPORTED (another
 * format: what it is, and how to convert it); VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status trajectory_open(vf_context *ctx, const char *path, trajectory **out);
void trajectory_close(trajectory *t); /* NULL is allowed */

const char *trajectory_path(const trajectory *t);
int64_t trajectory_frames(const trajectory *t); /* whole ones in the file, >= 1 */
int64_t trajectory_atoms(const trajectory *t);  /* of each frame, >= 1 */

/* The coordinates of one frame, 0 <= frame < trajectory_frames(t), in any order of frames: [trajectory_atoms(t)] each,
 * the file's single-precision numbers exactly, atoms that are fixed among them. From any number of threads at a time.
 * Errors: VF_ERR_INPUT (damaged; a coordinate that is not finite, with frame and atom), VF_ERR_ARGUMENT (no such
 * frame). */
VF_MUST_CHECK vf_status trajectory_read(const trajectory *t, int64_t frame, double *x, double *y, double *z);

/* The periodic box of a frame, for reports: nothing is computed with it. */
typedef struct trajectory_cell {
    bool known;        /* false: the file says none, or what it says is none; the rest is 0 then */
    double lengths[3]; /* a, b, c */
    double angles[3];  /* alpha, beta, gamma in degrees */
} trajectory_cell;
VF_MUST_CHECK vf_status trajectory_read_cell(const trajectory *t, int64_t frame, trajectory_cell *cell);

/* ---- select_frames.c ---- */

/* Frames first, first + step, ..., `count` of them. */
typedef struct frame_selection {
    int64_t first, step, count;
} frame_selection;

/* What "first:last:step" selects of `frames` >= 1 frames: numbers from 1, both ends included. Each part may be left
 * out: first is 1, last the file's last, step 1. Negative numbers count from the end, -1 is the last frame. Without a
 * colon it is the one frame of that number. "101:", "::10", "-100:", "1:500:5", "7". Nothing is cut to what there is:
 * VF_ERR_ARGUMENT for frames that the file does not have, a step below 1, a last frame before the first, or any other
 * text. */
VF_MUST_CHECK vf_status parse_frames(vf_context *ctx, const char *text, int64_t frames, frame_selection *selection);

#endif
