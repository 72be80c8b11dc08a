/* Complete lines of k-space, which can be transformed to the voxels along them. */
#ifndef WHOLE_LINES_H
#define WHOLE_LINES_H

#include "mri_scan.h"

/* A line is a run of as many samples as the matrix has voxels along `axis`, with every integer k once, modulo that number,
 * in any order; with one weight, the same k along the other axes, and no phi. */
typedef struct whole_lines {
    int axis;
    int64_t length;  /* samples of a line */
    int32_t **place; /* [trajectory][sample] k modulo `length` */
    int trajectories;
} whole_lines;

/* Finds the lines of all trajectories, also those of calibrations. *whole: there are no other samples. Free `out` also after
 * a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status whole_lines_find(vf_context *ctx, const mri_scan *raw, int axis, whole_lines *out, bool *whole);
void whole_lines_free(whole_lines *lines);

#endif
