/* Frames of a place that are solved for together (series.c). */
#ifndef SERIES_H
#define SERIES_H

#include "frames/crew.h"

/* A device's share of a series: frames [first, first + count) of the group. */
typedef struct series_part {
    vf_queue *queue;
    int first, count;
    vf_normal *normal; /* [normals] its own, of different trajectories */
    int normals;
    const vf_normal **of; /* [count] each frame's */
} series_part;

/* F^H W F of the frames of a group, which are of one place, times frame_weight. The vectors [frame][voxels] are on the
 * team's first device. Each frame is computed by one device, so the bits do not depend on their number. */
typedef struct series_normal {
    crew *c;
    const frame_group *group;
    int parts;
    series_part *part; /* [parts] */
} series_normal;

/* Makes F^H W F of the group's trajectories, and copies the place's maps, which must have been made, to all devices.
 * Call series_normal_free even after an error. Errors: as normal_matrix_create. */
VF_MUST_CHECK vf_status series_normal_create(crew *c, const frame_group *g, series_normal *out);
void series_normal_free(series_normal *s);
/* That of frame f of the group. */
const vf_normal *series_normal_of(const series_normal *s, int f);
/* Makes an operator of it, which it must outlive. Errors: as vf_operator_blocks. */
VF_MUST_CHECK vf_status series_normal_operator(const series_normal *s, vf_operator **out);

/* ---- series.c ---- */

/* Makes the images of a group of frames of one place together, [frame][channel][voxel]. Errors: those of the stages. */
VF_MUST_CHECK vf_status crew_solve_series(crew *c, const frame_group *g, char *images);

#endif
