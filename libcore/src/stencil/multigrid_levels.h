/* What goes from one level of multigrid to the next; not installed. */
#ifndef VOXFIELD_MULTIGRID_LEVELS_H
#define VOXFIELD_MULTIGRID_LEVELS_H

#include <omp.h>

#include "voxfield/stencil.h"

/* A level, and the next finer one. Along a halved axis, coarse point I is fine point 2 I + 1; along others they are the same. A periodic
 * axis is halved if it has an even number of points: then it is an axis of one point more, whose last point is the first. */
typedef struct vf_levels_pair {
    vf_context *ctx;
    int64_t fine[3], coarse[3];
    bool halved[3], periodic[3];
    int threads;   /* that there are rows for */
    size_t stride; /* bytes from one thread's memory to the next's: a fine and a coarse row, two coarse planes */
    char *rows;
} vf_levels_pair;

/* The calling thread's memory. */
static inline void *vf_multigrid_room(const vf_levels_pair *pair)
{
    return pair->rows + (size_t)omp_get_thread_num() * pair->stride;
}

/* Writes a row of the residual of a level. */
typedef void (*vf_residual_row)(const void *level, int64_t j, int64_t k, void *row);

/* By precision. faces and reactions: as in stencil.h; reaction may be NULL. */
typedef struct vf_multigrid_moves {
    void (*faces)(const vf_levels_pair *pair, int axis, const void *fine, void *coarse);
    void (*reaction)(const vf_levels_pair *pair, const void *fine, void *coarse);
    void (*restrict_residual)(const vf_levels_pair *pair, vf_residual_row residual, const void *level, void *coarse);
    void (*add_correction)(const vf_levels_pair *pair, const void *coarse, void *x); /* x += P e */
} vf_multigrid_moves;
/* For VF_F32 and VF_F64. */
extern const vf_multigrid_moves vf_multigrid_moves_baseline[2], vf_multigrid_moves_avx2[2],
    vf_multigrid_moves_avx512[2];

#endif
