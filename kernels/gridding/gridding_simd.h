/* The interface between the CPU backend (gridding_cpu.c: tiles, threads, transforms) and each instruction set
 * (gridding_simd.inc, compiled once for each); not installed. */
#ifndef VOXFIELD_GRIDDING_SIMD_H
#define VOXFIELD_GRIDDING_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "gridding_internal.h"

/* Kernels are padded with zeros to GRIDDING_REACH points: whole vectors of at most GRIDDING_LANES complex numbers,
 * wherever the kernel starts in the first vector. */
enum {
    GRIDDING_LANES = 8,
    GRIDDING_MOST_LANES = 2 * GRIDDING_LANES, /* real numbers in the widest vector */
    GRIDDING_REACH = GRIDDING_MAX_WIDTH + GRIDDING_LANES,
    GRIDDING_BEGINNINGS = 4 /* complex numbers in the widest vector that is not permuted by an index: AVX2's */
};

/* The kernel's polynomials in one precision, highest power first, 0 beyond the width; on a skipped axis the polynomial is
 * 1. `once`: along x, y, z. `begun`: along x, with 0 to GRIDDING_BEGINNINGS - 1 zeros before the kernel's first point.
 * `sides`: along y and z, in the halves of one vector, if the kernel is that narrow. */
typedef struct gridding_table_f32 {
    _Alignas(64) float once[3][GRIDDING_MAX_DEGREE + 1][GRIDDING_REACH];
    _Alignas(64) float begun[GRIDDING_BEGINNINGS][GRIDDING_MAX_DEGREE + 1][GRIDDING_REACH];
    _Alignas(64) float sides[GRIDDING_MAX_DEGREE + 1][GRIDDING_MOST_LANES];
} gridding_table_f32;

typedef struct gridding_table_f64 {
    _Alignas(64) double once[3][GRIDDING_MAX_DEGREE + 1][GRIDDING_REACH];
    _Alignas(64) double begun[GRIDDING_BEGINNINGS][GRIDDING_MAX_DEGREE + 1][GRIDDING_REACH];
    _Alignas(64) double sides[GRIDDING_MAX_DEGREE + 1][GRIDDING_MOST_LANES];
} gridding_table_f64;

/* Samples [first, last), between the grid and the caller's vector. Zeros may be added, and values read and multiplied by
 * 0, at up to GRIDDING_LANES - 1 points before a kernel, and up to GRIDDING_REACH points from its start. So rows are that
 * much longer than `grid[0]`; the padding stands for the start of the row. Rows are 64-byte aligned. */
typedef struct gridding_job {
    const gridding_record *samples; /* sorted */
    const double *exact;            /* [samples][3] sorted positions in double precision; or NULL */
    const gridding_axis *axis;      /* [3] */
    const void *table;              /* of the precision */
    int64_t first, last;
    int degree, kernel_width, width[3]; /* width: 1 along a skipped axis */
    int64_t grid[3], pitch, plane;      /* points; strides between rows and planes, in complex elements */
    void *points;                       /* [grid[2]][grid[1]][pitch] */
    int64_t origin[3];                  /* spreading: the grid point of points[0]; x is a multiple of GRIDDING_LANES */
    const void *factor; /* [samples] complex, sorted: factors when spreading; when interpolating, conjugated; NULL: 1 */
    void *values;       /* [samples] complex, caller's order */
    bool add;           /* interpolation: add to the values */
} gridding_job;

/* A row of voxels and the phase exp(i 2 pi time field). */
typedef struct gridding_phase {
    int64_t count;
    double time;
    const float *field;
    const void *in; /* complex */
    void *out;
} gridding_phase;

/* Within a tile samples are sorted by blocks of so many rows and planes: what a piece of them touches stays in the
 * cache, and is all that a dense tile's piece has to clear and to add. */
enum { GRIDDING_CPU_BLOCK = 4 };

/* The most samples whose places are found together; of these, the most that wide kernels take plane by plane. */
enum { GRIDDING_BLOCK = 64, GRIDDING_GROUP = 16 };

/* Kernels that touch more bytes of the grid than these are taken plane by plane. Measured with first caches of 48 KiB,
 * on AVX2 and AVX-512. */
enum { GRIDDING_SPREAD_ALONE = 40 * 1024, GRIDDING_INTERPOLATE_ALONE = 28 * 1024 };

/* The places, an array for each axis. */
typedef struct gridding_places {
    float k[3][GRIDDING_BLOCK];
    int32_t start[3][GRIDDING_BLOCK];
    double offset[3][GRIDDING_BLOCK];
} gridding_places;

/* Buckets in the order of the result: tiles, and blocks of rows and planes within a tile, y fastest. A kernel's bucket
 * is part[0][start x] + part[1][start y] + part[2][start z]. */
typedef struct gridding_buckets {
    int64_t total, in_tile;
    uint32_t *part[3];
} gridding_buckets;

typedef struct gridding_simd {
    int lanes_f32, lanes_f64;
    void (*spread_f32)(const gridding_job *job);
    void (*spread_f64)(const gridding_job *job);
    void (*interpolate_f32)(const gridding_job *job);
    void (*interpolate_f64)(const gridding_job *job);
    /* How many points from its first one on a kernel may touch along x; at most GRIDDING_REACH. */
    int (*reach_f32)(int kernel_width);
    int (*reach_f64)(int kernel_width);
    /* to += from, `count` real numbers. */
    void (*add_f32)(int64_t count, const void *from, void *to);
    void (*add_f64)(int64_t count, const void *from, void *to);
    /* out = in times the phase, or out += that. `sign` -1: the conjugate phase. */
    void (*rotate_f32)(const gridding_phase *phase, int sign, bool add);
    void (*rotate_f64)(const gridding_phase *phase, int sign, bool add);
    /* start and offset of `count` samples at k, with the bits of gridding_locate. */
    void (*locate)(const gridding_axis axis[3], int count, gridding_places *places);
    /* The buckets of at most GRIDDING_BLOCK samples at k [count][3]. Sets starts[start z][start y] to 1, if not NULL.
     * Returns false, and does nothing, if a position is not finite along an axis of more than one point. */
    bool (*find_buckets)(const gridding_axis axis[3], const gridding_buckets *buckets, int count, const float *k,
                         uint32_t *bucket, unsigned char *starts);
    /* The same in double precision. */
    bool (*find_exact)(const gridding_axis axis[3], const gridding_buckets *buckets, int count, const double *k,
                       uint32_t *bucket, unsigned char *starts);
} gridding_simd;

extern const gridding_simd gridding_simd_baseline, gridding_simd_avx2, gridding_simd_avx512;

/* That of this CPU. */
const gridding_simd *gridding_simd_here(void);

#endif
