/* A part of a row of a stencil on the CPU, and its tables for each instruction set; not installed. */
#ifndef VOXFIELD_STENCIL_ROWS_H
#define VOXFIELD_STENCIL_ROWS_H

#include "stencil_plan.h"

/* Points [from, to) of a row, which all pointers begin at. */
typedef struct vf_stencil_row {
    const vf_stencil *plan;
    int64_t from, to;
    const void *x, *low[3], *high[3]; /* the row, and its neighbours along y and z, [1] and [2]; zeros outside */
    const void *c_low[3], *c_high[3]; /* faces; along x, c_low[0] has them all */
    const void *reaction, *b;         /* may be NULL */
    void *y;
    double omega;
    bool past_caches; /* stores y past the caches; the thread needs a fence at its end */
} vf_stencil_row;

/* For VF_F32 and VF_F64. */
typedef void (*vf_stencil_row_function)(const vf_stencil_row *row);
typedef vf_stencil_row_function vf_stencil_rows[2];
extern const vf_stencil_rows vf_stencil_rows_baseline, vf_stencil_rows_avx2, vf_stencil_rows_avx512;

#endif
