/* What XTC and TRR files of GROMACS share: big-endian numbers (XDR), and frames of different lengths one after another
 * without a list of them. So opening a file walks through the headers of its frames. Private to the readers of
 * trajectories. */
#ifndef CIONIZE_XDR_FRAMES_H
#define CIONIZE_XDR_FRAMES_H

#include "trajectory.h"

/* Where the frames of a file are. */
typedef struct xdr_layout {
    int64_t *offset;  /* [frames] of the frames that have positions */
    int64_t capacity; /* of `offset` */
    int64_t left_out; /* frames without positions */
} xdr_layout;

/* What the header of a frame says. */
typedef struct xdr_header {
    int64_t bytes; /* of the whole frame; 0: the file ends within its header */
    int64_t atoms;
    bool positions;
} xdr_header;

/* Reads the header of frame `number` (from 1, of all frames) at `offset`, of which at least one byte is there. Errors:
 * VF_ERR_INPUT (not a header). */
typedef vf_status (*xdr_look)(const trajectory *t, int64_t number, int64_t offset, xdr_header *out);

/* Fails because of frame `number` (from 1) at `offset`; `why` follows its number: "has no atoms". Always VF_ERR_INPUT. */
vf_status xdr_fail(const trajectory *t, int64_t number, int64_t offset, const char *why);

/* Finds the frames of a file; sets t->atoms and t->frames. Warns of an incomplete last frame, and notes frames without
 * positions. */
VF_MUST_CHECK vf_status xdr_find_frames(trajectory *t, xdr_look look);
void xdr_close(trajectory *t);

/* A box of nine numbers in nm, each of `width` bytes (4 or 8), the vectors one after another. All 0: none. */
void xdr_box(const unsigned char *bytes, int width, unit_cell *out);

/* Numbers of GROMACS's files. */
int32_t xdr_integer(const unsigned char *bytes);
double xdr_real(const unsigned char *bytes, int width);

/* Reads x, y and z of all atoms, reals of `width` bytes in nm at `offset`. */
VF_MUST_CHECK vf_status xdr_positions(const trajectory *t, int64_t frame, int64_t offset, int width, double *x,
                                      double *y, double *z);

#endif
