/* What the files of this folder share. */
#ifndef ESPIRIT_INTERNAL_H
#define ESPIRIT_INTERNAL_H

#include <complex.h>
#include <stddef.h>

#include "espirit.h"

enum { ESPIRIT_MOST_COILS = 16, ESPIRIT_MOST_COILS_3D = 12 };

typedef struct espirit {
    vf_context *ctx;
    const vf_espirit_task *task;
    int threads;
    int coils;             /* virtual */
    int64_t samples;       /* of the block */
    double complex *mix;   /* [virtual][coil], rows orthonormal: d_v = sum_c conj(mix_vc) d_c */
    double complex *block; /* [virtual][kz][ky][kx]; the largest energy first */
    double energy;         /* of all coils' data */
    int width[3];          /* of a patch, in samples */
    int points;            /* within its ellipsoid */
    int *offset;           /* [points][3] */
    int64_t rows;          /* n = coils * points, of A and P; row (v, i) is v * points + i */
    double *re, *im;       /* [n][n] A, then P */
    double sigma;          /* root mean square of |noise| of a sample */
    int span[3];           /* 2 width - 1: differences of offsets */
    int spans;             /* their product */
    float *filter;         /* [v][v'][dz][dy][dx][re, im] of G */
} espirit;

/* A, the Gram matrix of all patches; then sigma, where it is not known. */
VF_MUST_CHECK vf_status espirit_gram(espirit *e);
/* P in place of A. */
VF_MUST_CHECK vf_status espirit_projector(espirit *e);
/* G of every voxel of `matrix`, and its eigenvectors: `vectors` [set][coil][z][y][x] of all coils where `expand`, else
 * of virtual ones; maps, as the contract has them, where `expand`, else eigenvectors of length 1. `eigenvalue` may be
 * NULL. `share`: of the work. */
VF_MUST_CHECK vf_status espirit_voxels(const espirit *e, const int64_t matrix[3], int sets, bool expand,
                                       float complex *vectors, float *eigenvalue, double share);
/* What of the contract's quality follows from maps of the block's own resolution: sets, explained, second_share. */
VF_MUST_CHECK vf_status espirit_explained(const espirit *e, vf_espirit_quality *quality);

static inline void espirit_tell(const espirit *e, double more)
{
    if (e->task->tell)
        e->task->tell(e->task->user, more);
}

#endif
