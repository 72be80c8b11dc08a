/* Declarations shared by the files of this folder. */
#ifndef NLINV_INTERNAL_H
#define NLINV_INTERNAL_H

#include <complex.h>
#include <stddef.h>

#include "nlinv.h"
#include "voxfield/fft.h"

enum { NLINV_MOST_COILS = 16, NLINV_MOST_COILS_3D = 12 };

/* A matrix along one axis, and its transpose. */
typedef struct nlinv_factor {
    int64_t rows, columns;
    double complex *matrix;    /* [rows][columns] */
    double complex *transpose; /* [columns][rows] */
} nlinv_factor;

/* matrix = scale exp(sign 2 pi i r k), for `rows` positions r in fractions of the field of view and `columns`
 * frequencies k in cycles per field of view. */
VF_MUST_CHECK vf_status nlinv_factor_create(vf_context *ctx, int64_t rows, const double *r, int64_t columns,
                                            const double *k, int sign, double scale, nlinv_factor *out);
void nlinv_factor_free(nlinv_factor *factor);
/* out[z][y][x] = the three factors along x, y, z applied to in[z][y][x]. `work`: nlinv_factors_work numbers. */
void nlinv_factors_apply(const nlinv_factor factor[3], const double complex *in, double complex *work,
                         double complex *out);
size_t nlinv_factors_work(const nlinv_factor factor[3]);

/* x holds u and a of nlinv.h, one after the other: [voxels], [coil][terms]. */
typedef struct nlinv {
    vf_context *ctx;
    const vf_nlinv_task *task;
    int threads;
    int coils;                    /* virtual */
    int64_t voxels;               /* of the small matrix */
    int64_t grid[3];              /* size of Q: x, y, z */
    int64_t points;               /* points of that grid */
    int64_t terms;                /* of a map's Fourier series */
    int64_t unknowns;             /* voxels + coils * terms */
    int64_t series[3];            /* terms along x, y, z */
    double *frequency[3];         /* [series] in cycles per field of view */
    double *smooth;               /* [z][y][x] of the series: weights of its terms */
    double *middle;               /* [voxels] m of nlinv.h */
    nlinv_factor sum[3], back[3]; /* S divided by the root of the number of voxels, and S^H, scaled alike */
    double complex *mix;          /* [virtual][coil], rows orthonormal: d_v = sum_c conj(mix_vc) d_c */
    double complex *b;            /* [virtual][voxels], scaled */
    double scale;                 /* of b and the data */
    double *transfer;             /* [z][y][x] of the grid: eigenvalues of T, divided by the number of points */
    vf_fft *fft;
    vf_queue *queue;
    vf_array padded;         /* [virtual][points] */
    double complex *x;       /* [unknowns] */
    double complex *rho;     /* [voxels] */
    double complex *maps;    /* [virtual][voxels] */
    double complex *product; /* [virtual][voxels] */
    double complex *work;    /* [threads][work_each] */
    size_t work_each;
    int iterations;
} nlinv;

/* ---- nlinv_model.c ---- */

/* Allocates and computes everything that the first step needs. */
VF_MUST_CHECK vf_status nlinv_create(nlinv *n);
void nlinv_free(nlinv *n);
/* Computes rho and the maps from x. */
void nlinv_evaluate(nlinv *n);
/* product = T product */
VF_MUST_CHECK vf_status nlinv_convolve(nlinv *n);
/* product = DG dx */
void nlinv_derivative(nlinv *n, const double complex *dx);
/* out = DG^H product */
void nlinv_adjoint(nlinv *n, double complex *out);

/* ---- nlinv_maps.c ---- */

/* The maps of all coils on the task's matrix, normalised. */
VF_MUST_CHECK vf_status nlinv_enlarge(const nlinv *n, float complex *maps);
/* Computes vf_nlinv_quality.folding. */
VF_MUST_CHECK vf_status nlinv_folding(const nlinv *n, double *folding);

static inline double nlinv_square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static inline void nlinv_tell(const nlinv *n, double more)
{
    if (n->task->tell)
        n->task->tell(n->task->user, more);
}

#endif
