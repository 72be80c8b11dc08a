/* The interface between the CPU backend (fourier_sum_cpu.c: blocks, threads) and each instruction set
 * (fourier_sum_isa.inc, compiled once for each); not installed. */
#ifndef VOXFIELD_FOURIER_SUM_SIMD_H
#define VOXFIELD_FOURIER_SUM_SIMD_H

#include <stddef.h>
#include <stdint.h>

/* ---- points of a grid without off-resonance ----
 *
 * A block of voxels lies on a lattice fixed to the grid. Within it, exp(i 2 pi k.r) is a product of a factor for the
 * block's centre and one for the distance from it along each axis. Distances are half-integers times the spacing,
 * symmetric about the centre. */
enum { BLOCK_X = 32, BLOCK_Y = 32, BLOCK_Z = 8, BLOCK_ROWS = BLOCK_Y * BLOCK_Z };
enum { LATTICE_COILS = 4, LATTICE_SAMPLES = 256 }; /* most coils per call; samples per pass of the forward sum */

typedef struct fourier_row {
    short y, z;       /* in the block */
    short begin, end; /* its requested voxels, along x in the block */
    int64_t at;       /* the element of voxel `begin` in a vector */
} fourier_row;

typedef struct fourier_lattice_block {
    int64_t samples;
    const double *k[3]; /* [samples] */
    double centre[3], spacing[3];
    int rows;
    const fourier_row *row;
} fourier_lattice_block;

/* ---- any points ---- */
enum { PAIRS_OUTER = 64, PAIRS_INNER = 128 }; /* PAIRS_OUTER: a multiple of the lanes of all instruction sets */

typedef struct fourier_pairs {
    int inner;                     /* 1..PAIRS_INNER */
    const double *from[4], *to[4]; /* [inner], [PAIRS_OUTER]: x, y, z, w; from[3] may be NULL */
    double sign;                   /* of the phase */
    int coils;
    const void *values; /* complex, [coils][stride]; the first `inner` of each coil are used */
    int64_t stride;
    double *sums; /* [coils][2][PAIRS_OUTER] re, im: increased */
} fourier_pairs;

typedef struct fourier_simd {
    size_t workspace; /* bytes per thread */
    /* The adjoint for the block's rows. `coils`: at most LATTICE_COILS; c: [coils][samples], y: [coils][stride]. */
    void (*lattice_adjoint)(void *workspace, const fourier_lattice_block *block, int coils, const void *c, void *y,
                            int64_t stride);
    /* The forward sum: call `begin`, then `block` for all blocks, then `end`. c: at most LATTICE_SAMPLES samples, those
     * of `block`. x: [coils][voxels]. */
    void (*lattice_forward_begin)(void *workspace, const fourier_lattice_block *block, int coils);
    void (*lattice_forward_block)(void *workspace, const fourier_lattice_block *block, int coils, const void *x,
                                  int64_t voxels);
    void (*lattice_forward_end)(void *workspace, const fourier_lattice_block *block, int coils, void *c,
                                int64_t stride);
    void (*pairs)(void *workspace, const fourier_pairs *pairs);
} fourier_simd;

/* [0] single, [1] double precision */
extern const fourier_simd fourier_simd_baseline[2], fourier_simd_avx2[2], fourier_simd_avx512[2];

#endif
