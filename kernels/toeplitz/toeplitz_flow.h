/* How a multiplication on a GPU by transforms of two or three passes is cut into thread blocks; plain C, so that a test needs no
 * GPU. Not installed.
 *
 * The lengths of the transforms are at least 2N - 1. The padded grid is cut into tiles of neighbouring frequencies along x:
 *
 *     enter   rows: x times map and e_l, transformed along x -> [array][tile][z][y][width]
 *     there   columns y: -> [array][tile][z][frequency y][width] (3D only)
 *     turn    columns along the last axis: there, times the kernel, and back, in place
 *     back    columns y back (3D only)
 *     leave   rows back, times conj(map e_l), added over arrays
 *
 * An array is that of a coil and a segment. */
#ifndef VOXFIELD_TOEPLITZ_FLOW_H
#define VOXFIELD_TOEPLITZ_FLOW_H

#include <stdint.h>

typedef struct vf_flow_shape {
    int voxels[3];  /* x, y, z */
    int lengths[3]; /* of the transforms along x, y and the last axis; in 2D the last is y, and lengths[1] is 1 */
    int planes, turns, last; /* voxels along z; frequencies along y (1 in 2D); voxels along the last axis */
    int width, shift;        /* frequencies along x of a tile: 1 << shift */
    int tiles, arrays;
    int row_lines, row_groups; /* rows that a thread block of `enter` transforms, and its blocks in a plane */
    int leave_lanes, leave_rows, leave_groups; /* arrays and rows that a thread block of `leave` transforms at a time */
} vf_flow_shape;

/* How many arrays of `each` numbers of rows are in a batch: few launches, and few sums that are read again. */
static inline int vf_flow_arrays(int64_t each)
{
    const int64_t few = ((int64_t)1 << 22) / each, many = ((int64_t)1 << 24) / each, least = many < 4 ? many : 4;
    return few > 32 ? 32 : few > least ? (int)few : least > 1 ? (int)least : 1;
}

/* Fills in what follows from voxels, lengths, width, arrays, and the rows that a thread block has room for. */
static inline void vf_flow_complete(vf_flow_shape *s, int most_lines)
{
    const int flat = s->voxels[2] == 1;
    s->planes = s->voxels[2];
    s->turns = flat ? 1 : s->lengths[1];
    s->last = s->voxels[flat ? 1 : 2];
    for (s->shift = 0; 1 << s->shift < s->width; s->shift++)
        ;
    s->tiles = (s->lengths[0] + s->width - 1) / s->width;
    s->row_lines = most_lines;
    s->row_groups = (s->voxels[1] + s->row_lines - 1) / s->row_lines;
    /* Arrays beside each other if rows alone are too few for a GPU. */
    s->leave_lanes = 1;
    while (2 * s->leave_lanes <= s->row_lines && s->leave_lanes < s->arrays &&
           s->planes * ((s->voxels[1] * s->leave_lanes + s->row_lines - 1) / s->row_lines) < 256)
        s->leave_lanes *= 2;
    s->leave_rows = s->row_lines / s->leave_lanes;
    s->leave_groups = (s->voxels[1] + s->leave_rows - 1) / s->leave_rows;
}

#endif
