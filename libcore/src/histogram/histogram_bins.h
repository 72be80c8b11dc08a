/* In which bin a value is: what all backends share. For C and CUDA; not installed.
 *
 * By edges. The range of all bins is divided into cells, many more than bins. For each cell a table says which edges
 * are in it, mostly none or one. A value is compared with those, and with no others, so the bin is exact however the
 * cell was computed, as long as its number never falls as values rise: an edge in a later cell is greater than the
 * value, an edge in an earlier cell is less. Rounded differences, products and conversions keep the order.
 *
 * Cells have equal widths, or they are equal steps in the order of all floating-point numbers (their keys), for edges
 * that crowd near 0. A plan takes those with the fewest edges in a cell. */
#ifndef VOXFIELD_HISTOGRAM_BINS_H
#define VOXFIELD_HISTOGRAM_BINS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "voxfield/device.h"

#ifdef __CUDACC__
#define VF_BINS_EVERYWHERE static inline __host__ __device__
#else
#define VF_BINS_EVERYWHERE static inline
#endif

enum { VF_NO_BIN = -1 };

#define REAL float
#define KEY int32_t
#define UNSIGNED_KEY uint32_t
#define NAME(name) name##_f32
#include "histogram_bins.inc"
#define REAL double
#define KEY int64_t
#define UNSIGNED_KEY uint64_t
#define NAME(name) name##_f64
#include "histogram_bins.inc"

/* Bins by edges for a type; the other type's are empty. The tables are in host memory. */
typedef struct vf_bin_cells {
    bool by_keys;
    vf_cells_f32 f32;
    vf_cells_f64 f64;
    void *inner; /* VF_F32: float; VF_F64: double */
    uint32_t *bounds;
    int cells;
} vf_bin_cells;

#ifdef __cplusplus
extern "C" {
#endif

/* How many cells there are for so many bins. */
int vf_cells_for(int bins);

/* Makes them of edges [bins + 1]; whether the last bin is closed, as all others are half open. Frees nothing on failure:
 * call vf_bin_cells_free. */
VF_MUST_CHECK vf_status vf_bin_cells_create(vf_context *ctx, vf_dtype type, int bins, const double *edges, bool closed,
                                            vf_bin_cells *out);
void vf_bin_cells_free(vf_bin_cells *cells);

#ifdef __cplusplus
}
#endif

/* Bins of equal width for integers. */
typedef struct vf_equal_bins {
    int64_t first;
    uint64_t width, last,
        inverse; /* `last`: the greatest x - first; `inverse`: of the width, times 2^64, rounded down */
} vf_equal_bins;

VF_BINS_EVERYWHERE uint64_t vf_high_product(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
#endif
}

/* The product with the inverse is at most 2 too small. */
VF_BINS_EVERYWHERE int vf_equal_bin(const vf_equal_bins *bins, int64_t x)
{
    const uint64_t above = (uint64_t)x - (uint64_t)bins->first;
    if (x < bins->first || above > bins->last)
        return VF_NO_BIN;
    if (bins->width == 1)
        return (int)above;
    uint64_t bin = vf_high_product(above, bins->inverse), left = above - bin * bins->width;
    for (; left >= bins->width; left -= bins->width)
        bin++;
    return (int)bin;
}

#endif
