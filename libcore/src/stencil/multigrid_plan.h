/* A plan of multigrid: its levels, and passes over one; not installed. */
#ifndef VOXFIELD_MULTIGRID_PLAN_H
#define VOXFIELD_MULTIGRID_PLAN_H

#include "multigrid_levels.h"
#include "multigrid_rows.h"
#include "voxfield/multigrid.h"

enum { VF_MULTIGRID_MOST_LEVELS = 32 };

typedef struct vf_multigrid_level {
    vf_context *ctx;
    const vf_multigrid_kernels *rows;
    vf_stencil_options options; /* faces and reaction: the level's own, or the caller's on the finest */
    int64_t points, bytes;      /* of a number */
    double weight[3];           /* 1 / spacing^2 */
    vf_levels_pair to_coarse;
    vf_array faces[3], reaction, b, x; /* the finest has none */
    const void *zeros;                 /* a row outside */
    double *sums;                      /* of rows: the finest's */
    const void *now_b, *now_x;         /* of the residual that is being restricted */
} vf_multigrid_level;

struct vf_multigrid {
    vf_device *device;
    const vf_multigrid_moves *moves;
    int sweeps, levels;
    vf_multigrid_level level[VF_MULTIGRID_MOST_LEVELS];
    char *rows;
    void *zeros;
    double *sums;
};

/* x = the cycle's approximation of A^-1 b on the finest level. Returns <b, x>. */
double vf_multigrid_cycle(vf_multigrid *plan, const void *b, void *x);

/* ax = A x; returns <x, A x>. */
double vf_multigrid_apply(const vf_multigrid_level *level, const void *x, void *ax);

/* b -= A x, sum += x, both double; returns |b|^2. */
double vf_multigrid_correct(const vf_multigrid_level *level, const void *x, double *b, double *sum);

#endif
