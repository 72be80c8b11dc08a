/* DCD trajectories: unformatted Fortran records, each between two markers with its length.
 *
 *   84         "CORD", icntrl(20)
 *   4 + 80 n   n, n lines of title
 *   4          the number of atoms N
 *   4 F        the numbers of the F atoms that move; only if icntrl(9) = N - F atoms are fixed
 *   then, for each frame:
 *   48         the unit cell, 6 doubles; only if icntrl(20) and icntrl(11) are not 0
 *   4 n        x; then y; then z: floats, of all atoms in the first frame, of those that move in the others
 *   4 n        the fourth dimension, only if icntrl(20) is not 0 and icntrl(12) is 1
 *
 * icntrl(20) is 0 in X-PLOR's files; there, icntrl(10) and (11) are a double, the time step. All frames after the first
 * have the same size, so the header gives the offset of each, and frames can be read in any order. The number of frames
 * in the header is not trusted: programs leave it 0, or that of a run that ended early. */
#ifndef CIONIZE_DCD_FILE_H
#define CIONIZE_DCD_FILE_H

#include <stddef.h>

#include "trajectory.h"

enum { DCD_CELL_BYTES = 48 };

/* The layout of a file, in its trajectory's `dcd`. */
typedef struct dcd_layout {
    bool big_endian;                  /* byte order of the file */
    int marker;                       /* bytes of a record marker: 4 or 8 */
    bool cell, fourth;                /* whether frames have these records */
    int32_t version;                  /* icntrl(20) */
    int32_t promised;                 /* number of frames according to icntrl(1) */
    int64_t moving;                   /* atoms */
    int64_t begin;                    /* offset of the first frame */
    int64_t first_bytes, frame_bytes; /* size of the first frame, and of each later one */
    int32_t *index;                   /* [moving] numbers (from 1) of the atoms that move; NULL: all move */
    double *fixed[3];                 /* [atoms] coordinates of the first frame if atoms are fixed; else NULL */
} dcd_layout;

/* ---- dcd_header.c ---- */

/* Sets dcd, atoms and frames. Warns of suspicious input. */
VF_MUST_CHECK vf_status dcd_read_layout(trajectory *t);

/* ---- dcd_records.c ---- */

int32_t dcd_integer(const trajectory *t, const unsigned char *bytes);

/* The size of a record with its markers; and the length that a marker states, negative if it is 2^31 (2^63) or more. */
int64_t dcd_record_bytes(const trajectory *t, int64_t bytes);
VF_MUST_CHECK vf_status dcd_read_marker(const trajectory *t, int64_t offset, int64_t *value);

/* Checks that all records of a frame have the lengths that follow from the header. */
VF_MUST_CHECK vf_status dcd_check_frame(const trajectory *t, int64_t frame);

/* Reads x, y or z (axis 0 to 2) of the atoms in a frame, each to its place in out [atoms]. */
VF_MUST_CHECK vf_status dcd_read_axis(const trajectory *t, int64_t frame, int axis, double *out);

/* Reads the six numbers of a frame's unit cell. Every frame has them if t->cell. */
VF_MUST_CHECK vf_status dcd_read_cell(const trajectory *t, int64_t frame, double values[6]);

#endif
