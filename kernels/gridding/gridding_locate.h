/* Where a sample's kernel lies. Host and GPU get the same bits, because the backends sort by them; not installed. */
#ifndef VOXFIELD_GRIDDING_LOCATE_H
#define VOXFIELD_GRIDDING_LOCATE_H

#include <math.h>
#include <string.h>

#include "gridding_internal.h"

#ifdef __CUDACC__
#define GRIDDING_HOST_DEVICE __host__ __device__
#else
#define GRIDDING_HOST_DEVICE
#endif

/* Along each axis, the first grid point under the kernel, and d of gridding_kernel. */
typedef struct gridding_place {
    double offset[3];
    int64_t start[3];
} gridding_place;

/* A product that is rounded before any addition, even where the compiler would fuse the two. */
GRIDDING_HOST_DEVICE static inline double gridding_product(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/* floor and ceil without a call where the instruction set has none for them. */
GRIDDING_HOST_DEVICE static inline double gridding_floor(double x)
{
#ifndef __CUDA_ARCH__
    if (fabs(x) < 1e9) { /* without a branch that depends on x, which nobody could predict */
        const int32_t whole = (int32_t)x;
        return (double)(whole - ((double)whole > x));
    }
#endif
    return floor(x);
}

GRIDDING_HOST_DEVICE static inline double gridding_ceil(double x)
{
    return -gridding_floor(-x);
}

/* Whether all numbers are finite; without branches, so that compilers make vectors of it. */
static inline bool gridding_are_finite(int64_t count, const float *x)
{
    const uint32_t exponent = 0x7f800000; /* all ones in infinities and NaN, and in nothing else */
    uint32_t special = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        special |= (bits & exponent) == exponent;
    }
    return special == 0;
}

/* Whether all numbers are finite: the difference of a number and itself is 0, or NaN. */
static inline bool gridding_are_finite_f64(int64_t count, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

/* `k` must be finite on axes of more than one voxel. */
GRIDDING_HOST_DEVICE static inline gridding_place gridding_locate_exact(const gridding_axis *axis, const double *k)
{
    gridding_place place;
    for (int a = 0; a < 3; a++) {
        place.start[a] = 0;
        place.offset[a] = 0;
        if (axis[a].grid == 1)
            continue;
        const double turns = k[a] / (double)axis[a].voxels;
        const double position = gridding_product(turns - gridding_floor(turns), (double)axis[a].grid);
        const double begin = position - 0.5 * axis[a].width,
                     first = gridding_ceil(begin); /* half of the width is exact */
        const int64_t start = (int64_t)first;
        place.offset[a] = first - begin;
        place.start[a] = start < 0 ? start + axis[a].grid : start >= axis[a].grid ? start - axis[a].grid : start;
    }
    return place;
}

GRIDDING_HOST_DEVICE static inline gridding_place gridding_locate(const gridding_axis *axis, const float *k)
{
    const double exact[3] = {k[0], k[1], k[2]};
    return gridding_locate_exact(axis, exact);
}

/* The tile in which the kernel starts, x fastest. */
GRIDDING_HOST_DEVICE static inline int64_t gridding_tile_of(const gridding_tiles *tiles, const gridding_place *place)
{
    int64_t tile = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t along = place->start[a] / tiles->size[a];
        tile = tile * tiles->count[a] + (along < tiles->count[a] ? along : tiles->count[a] - 1);
    }
    return tile;
}

#endif
