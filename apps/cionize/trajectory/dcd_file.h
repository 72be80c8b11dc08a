/* DCD trajectories: Fortran's unformatted records, each between two markers that say its length.
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
 * icntrl(20) is 0 in X-PLOR's files, whose icntrl(10) and (11) are a double, the time step. So frames after the first
 * are equally long, and where each begins follows from the header: frames are read in any order. The number of frames
 * in the header is not believed: programs leave it 0, or that of a run that ended early. */
#ifndef CIONIZE_DCD_FILE_H
#define CIONIZE_DCD_FILE_H

#include <stddef.h>

#include "trajectory.h"
#include "voxfield/timer.h"

enum { DCD_CELL_BYTES = 48 };

struct trajectory {
    vf_context *ctx;
    char *path;
    int fd;
    int64_t size;      /* of the file, bytes */
    bool big_endian;   /* the file's order of bytes */
    int marker;        /* bytes of a record's marker: 4 or 8 */
    bool cell, fourth; /* records of each frame */
    int32_t version;   /* icntrl(20) */
    int32_t promised;  /* icntrl(1): frames, if it were true */
    int64_t atoms, moving, frames;
    int64_t begin;                    /* of the first frame */
    int64_t first_bytes, frame_bytes; /* of the first frame, and of each of the others */
    int32_t *index;                   /* [moving] numbers from 1 of the atoms that move; NULL: all do */
    double *fixed[3];                 /* [atoms] the first frame's coordinates, where atoms are fixed; else NULL */
};

/* ---- dcd_header.c ---- */

/* Fills in all but ctx, path, fd and size, and says what deserves a warning. */
VF_MUST_CHECK vf_status dcd_read_layout(trajectory *t);

/* ---- dcd_records.c ---- */

/* VF_ERR_INPUT, with the file's name before the text. */
vf_status dcd_fail(const trajectory *t, const char *format, ...) VF_PRINTF(2, 3);

uint64_t dcd_unsigned(const unsigned char *bytes, int count, bool big_endian);
int32_t dcd_integer(const trajectory *t, const unsigned char *bytes);
VF_MUST_CHECK vf_status dcd_read(const trajectory *t, int64_t offset, void *to, size_t bytes);

/* A record's length with its markers; and the length that a marker says, negative if it is 2^31 (2^63) or more. */
int64_t dcd_record_bytes(const trajectory *t, int64_t bytes);
VF_MUST_CHECK vf_status dcd_read_marker(const trajectory *t, int64_t offset, int64_t *value);

/* Whether all records of a frame have the lengths that follow from the header. */
VF_MUST_CHECK vf_status dcd_check_frame(const trajectory *t, int64_t frame);

/* x, y or z (axis 0 to 2) of the atoms that a frame has, each to its place in out [atoms]. */
VF_MUST_CHECK vf_status dcd_read_axis(const trajectory *t, int64_t frame, int axis, double *out);

/* The six numbers of a frame's record of its unit cell, which each frame must have (t->cell). */
VF_MUST_CHECK vf_status dcd_read_cell(const trajectory *t, int64_t frame, double values[6]);

#endif
