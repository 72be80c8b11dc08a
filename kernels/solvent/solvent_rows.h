/* A row of points of the boundary, and its function for each instruction set; not installed. */
#ifndef VOXFIELD_SOLVENT_ROWS_H
#define VOXFIELD_SOLVENT_ROWS_H

#include <stdint.h>

/* Of atoms: positions in the side's plane, the square of the distance from it, and the screened charge q 2^(shift - kappa d) / d. */
typedef struct solvent_sources {
    int64_t count;
    float *u, *v, *square, *charge, *shift;
} solvent_sources;

/* sum[i] = the sources' potential at (u[i], v), i < n; u has room for whole vectors of SOLVENT_LANES. `kappa` is per log2(e). */
enum { SOLVENT_LANES = 16 };
typedef void (*solvent_row)(const solvent_sources *s, float kappa, int64_t n, const float *u, float v, double *sum);
extern const solvent_row solvent_row_baseline, solvent_row_avx2, solvent_row_avx512;

#endif
