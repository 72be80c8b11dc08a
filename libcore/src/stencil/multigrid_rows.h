/* Rows of a level of multigrid on the CPU, and their tables for each instruction set; not installed. */
#ifndef VOXFIELD_MULTIGRID_ROWS_H
#define VOXFIELD_MULTIGRID_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* A row of n points, which all pointers begin at. Points of one colour are those with i + colour even. */
typedef struct vf_multigrid_row {
    int64_t n;
    bool wraps;                     /* periodic along x: the face above the last point is the first one */
    int colour;                     /* -1: all points */
    const void *x, *y[2], *z[2];    /* the row, and its neighbours below and above; zeros outside */
    const void *cx, *cy[2], *cz[2]; /* faces below and above; along x they are in one row */
    const void *reaction, *b;       /* reaction: may be NULL */
    double weight[3];               /* 1 / spacing^2 */
} vf_multigrid_row;

/* For VF_F32 and VF_F64. All sets give the same bits, but for sums, which are of double precision. */
typedef struct vf_multigrid_kernels {
    void (*start)(const vf_multigrid_row *row, void *x); /* x = b / A_pp of the colour, 0 elsewhere */
    /* x = (b - what A takes from neighbours) / A_pp of the colour, in place. Returns sum b x of the row, if `sums`. */
    double (*relax)(const vf_multigrid_row *row, void *x, bool sums);
    /* out = x + omega (b - A x) / A_pp, of 0 for x if `first`. Returns sum b out of the row, if `sums`. */
    double (*jacobi)(const vf_multigrid_row *row, double omega, bool first, void *out, bool sums);
    void (*residual)(const vf_multigrid_row *row, void *out); /* b - A x of the colour, 0 elsewhere */
    double (*apply)(const vf_multigrid_row *row, void *out);  /* A x; returns <x, A x> of the row */
    /* b -= A x, sum += x, in double precision with the coefficients as they are. Returns |b|^2 of the row. */
    double (*correct)(const vf_multigrid_row *row, double *b, double *sum);
} vf_multigrid_kernels;
typedef vf_multigrid_kernels vf_multigrid_tables[2];
extern const vf_multigrid_tables vf_multigrid_rows_baseline, vf_multigrid_rows_avx2, vf_multigrid_rows_avx512;

#endif
