/* Declarations shared by the files of this folder. */
#ifndef ESPIRIT_INTERNAL_H
#define ESPIRIT_INTERNAL_H

#include <complex.h>
#include <math.h>
#include <stddef.h>

#include "espirit.h"

enum { ESPIRIT_MOST_COILS = 32, ESPIRIT_USUAL_COILS = 16, ESPIRIT_USUAL_COILS_3D = 12 };

typedef struct espirit {
    vf_context *ctx;
    const vf_espirit_task *task;
    int threads;
    int coils;             /* virtual */
    int64_t samples;       /* of the block */
    double complex *mix;   /* [virtual][coil], rows orthonormal: d_v = sum_c conj(mix_vc) d_c */
    double complex *block; /* [virtual][kz][ky][kx], in the order of falling energy */
    double energy;         /* of all coils' data */
    int width[3];          /* of a patch, in samples */
    int points;            /* number within its ellipsoid */
    int *offset;           /* [points][3] */
    int64_t rows;          /* n = coils * points, rows of A and P; row (v, i) is v * points + i */
    double *re, *im;       /* [n][n] A, then P */
    double sigma;          /* root mean square of |noise| of a sample */
    int span[3];           /* 2 width - 1: differences of offsets */
    int spans;             /* their product */
    int64_t padded[3];     /* block + 2 (width - 1): with zeros around */
    float *filter;         /* [v][v'][dz][dy][dx][re, im] of G */
    float *steady;         /* [ESPIRIT_FIELDS][z][y][x] on the block's grid: real and imaginary parts of the steady
                            * directions, the share of the eigenvectors beside them, and how certain a signal is, 0 to 1;
                            * with two sets of maps only the last. NULL: eigenvectors alone, nothing is certain */
} espirit;

#define ESPIRIT_FIELDS(e) (2 * (e)->coils + 2)

/* Makes A, the Gram matrix of all patches; then sigma, if it is unknown. */
VF_MUST_CHECK vf_status espirit_gram(espirit *e);
/* Replaces A by P. */
VF_MUST_CHECK vf_status espirit_projector(espirit *e);
/* Computes G at every voxel of `matrix`, and its eigenvectors. With `expand`, `vectors` [set][coil][z][y][x] are maps
 * of all coils, as in espirit.h; without, eigenvectors of length 1 of the virtual coils. `eigenvalue` may be NULL.
 * `share`: this call's share of the work, for progress. */
VF_MUST_CHECK vf_status espirit_voxels(const espirit *e, const int64_t matrix[3], int sets, bool expand,
                                       float complex *vectors, float *eigenvalue, double share);
/* Sets the members of `quality` that follow from maps at the block's own resolution: sets, explained, second_share; and
 * e->steady. */
VF_MUST_CHECK vf_status espirit_explained(espirit *e, vf_espirit_quality *quality);
/* Makes e->steady from `vectors` [coil][z][y][x] and `eigenvalue` on the block's grid. */
VF_MUST_CHECK vf_status espirit_steady(espirit *e, int sets, const float complex *vectors, const float *eigenvalue);
/* k-space of the virtual coils on the block's grid to images, unitary. */
void espirit_transform(const espirit *e, double complex *data);
/* The least truncation, relative to the largest eigenvalue of A. */
double espirit_truncation(const espirit *e);

/* w of espirit.h, where a signal is certain to `sure`. A wider range would slow solvers down, because only the prior
 * determines faint voxels. */
static inline float espirit_weight(float eigenvalue, float sure)
{
    const float faint = 0.94f, full = 0.99f, t = fminf(fmaxf((eigenvalue - faint) / (full - faint), 0), 1);
    const float own = t * t * (3 - 2 * t);
    return own + sure * (1 - own);
}

static inline void espirit_tell(const espirit *e, double more)
{
    if (e->task->tell)
        e->task->tell(e->task->user, more);
}

/* out[n] += sign * sum over `rows` of factor * row, in columns [from, to); re and im are [rows][n]. Compiled for each instruction
 * set. */
typedef void espirit_add_rows(int rows, int64_t n, const double *fr, const double *fi, double sign, const double *re,
                              const double *im, int64_t from, int64_t to, double *out_re, double *out_im);
extern espirit_add_rows espirit_add_rows_baseline, espirit_add_rows_avx2, espirit_add_rows_avx512;

/* The sums of x(q) conj(y(q + d)) over q from i to i + block - width, along each axis, for each i below width: out [re,
 * im][z][y][x]. x [re, im][samples]; y [re, im][padded]; `room` has 2 (width[2] + 2) planes and width[1] rows of numbers.
 * Compiled for each instruction set. */
typedef void espirit_box_sums(const espirit *e, const double *x, const double *y, const int *d, double *room,
                              double *out);
extern espirit_box_sums espirit_box_sums_baseline, espirit_box_sums_avx2, espirit_box_sums_avx512;

#endif
