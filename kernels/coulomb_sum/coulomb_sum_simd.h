/* The interface between the CPU backend (coulomb_sum_cpu.c: blocks, threads) and each instruction set
 * (coulomb_sum_simd.inc, compiled once for each); not installed. */
#ifndef VOXFIELD_COULOMB_SUM_SIMD_H
#define VOXFIELD_COULOMB_SUM_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/device.h"

/* One thread computes one block of grid points at a time. A block is small enough for its sums to stay in the cache,
 * and for positions relative to its centre to be accurate in single precision. */
enum { BLOCK_X = 32, BLOCK_Y = 16, BLOCK_Z = 8 };

typedef struct coulomb_block {
    int64_t atoms;
    const double *x, *y, *z, *charge; /* [atoms] */
    double centre[3];                 /* subtracted from all positions before they are rounded to single precision */
    double px[BLOCK_X], py[BLOCK_Y],
        pz[BLOCK_Z]; /* positions of the points relative to the centre; px is padded to BLOCK_X */
    int nx, ny, nz;  /* points in the block: 1..BLOCK_X, ... */
    double r_min;
    bool distance_dielectric;
    void *out;                  /* the block's first point; float or double */
    int64_t stride_y, stride_z; /* in elements */
} coulomb_block;

typedef struct coulomb_simd {
    void (*f32)(const coulomb_block *block);
    void (*f64)(const coulomb_block *block);
} coulomb_simd;

extern const coulomb_simd coulomb_simd_baseline, coulomb_simd_avx2, coulomb_simd_avx512;
const coulomb_simd *coulomb_simd_for(vf_isa isa);

#endif
