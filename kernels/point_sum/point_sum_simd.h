/* The interface between the fast sum at points and each instruction set (point_sum_isa.inc, compiled once for each); not
 * installed. */
#ifndef VOXFIELD_POINT_SUM_SIMD_H
#define VOXFIELD_POINT_SUM_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "prolate.h"

/* Near charges in bins; POINT_PADDING readable numbers follow each array. POINT_ROWS rows of bins are summed in one call; of
 * bins that are a third of the cutoff, there are about 40. */
enum { POINT_PADDING = 8, POINT_ROWS = 32 };

/* factor q (1 / max(r, r_min) - smooth(t)) for r < cutoff, t = 2 (r / cutoff)^2 - 1. */
typedef struct point_law {
    double cutoff, r_min, factor;
    vf_prolate_powers smooth;
} point_law;

typedef struct point_charges {
    const double *x, *y, *z, *charge;
} point_charges;

typedef struct point_mesh {
    const double *values; /* [mesh z][mesh y][pitch]; a periodic mesh's rows continue beyond their end */
    int64_t pitch, mesh_y, mesh_z;
    int width;
    const vf_prolate_powers *window;
} point_mesh;

typedef struct point_simd {
    /* Adds the terms of charges in `rows` ranges [begin, end) at a point to out: V, and the field if `fields`. */
    void (*near)(const point_law *law, const point_charges *charges, int rows, const int64_t (*range)[2],
                 const double at[3], bool fields, double out[4]);
    /* out = the mesh's potential at a point whose window begins at `start`, offsets as of ewald_start; then, if `slopes`,
     * its derivatives by the mesh coordinates. */
    void (*interpolate)(const point_mesh *mesh, const int64_t start[3], const double offset[3], bool slopes,
                        double out[4]);
} point_simd;

extern const point_simd point_simd_baseline, point_simd_avx2, point_simd_avx512;

#endif
