/* The interface between the CPU backends (cutoff_sum_cpu.c: bins, tiles, threads; cutoff_sum_cpu_scatter.c) and each instruction set
 * (cutoff_sum_simd.inc, compiled once for each); not installed. */
#ifndef VOXFIELD_CUTOFF_SUM_SIMD_H
#define VOXFIELD_CUTOFF_SUM_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "cutoff_sum_backend.h"

/* One thread computes one tile of grid points at a time, whose sums stay in the cache. Charges are in bins. The sizes
 * are in points. Rows of sums are longer than a tile: vectors may begin at its last point. */
enum { TILE_X = 128, TILE_Y = 16, TILE_Z = 8, BIN_X = 16, BIN_Y = 4, BIN_Z = 4, ROW = TILE_X + 16 };

/* A charge at grid point `at` plus `offset`, which is at most half a spacing: so differences from near points are
 * accurate in single precision. */
typedef struct cutoff_charge_f32 {
    int32_t at[3];
    float offset[3], charge;
} cutoff_charge_f32;

typedef struct cutoff_charge_f64 {
    int32_t at[3];
    double offset[3], charge;
} cutoff_charge_f64;

typedef struct cutoff_tile {
    int32_t lo[3], hi[3]; /* the wanted points lo <= n < hi, of the grid */
    double spacing[3], cutoff, r_min;
    const vf_prolate_powers *law; /* Phi(r / rc) / r of t = 2 (r / rc)^2 - 1 */
    const vf_cutoff_window *window;
    int64_t row, plane; /* elements from a row of sums to the next one, and from a plane; rows end in LANES of room */
    void *sums;         /* [z][y][x] from `lo` on; of the precision */
} cutoff_tile;

typedef struct cutoff_simd {
    /* Adds the terms of `count` charges, cutoff_charge_F. */
    void (*add_f32)(const cutoff_tile *tile, const void *charges, int64_t count);
    void (*add_f64)(const cutoff_tile *tile, const void *charges, int64_t count);
} cutoff_simd;

/* ---- cutoff_sum_cpu.c ---- */

/* The instruction set of plan->variant, whose name is set to the set's. Errors: those of vf_variant_isa. */
VF_MUST_CHECK vf_status cutoff_simd_of(vf_cutoff *plan, const cutoff_simd **out);

/* Charges in bins, and their law. */
typedef struct cutoff_bins {
    vf_prolate_powers law; /* the smooth part */
    int64_t bins[3];       /* their numbers along the axes; charges beyond the grid are in the outermost ones */
    int64_t reach[3];      /* the cutoff, in points, rounded up */
    int64_t *first;        /* [bins + 1] charges */
    void *charges;         /* cutoff_charge_F, sorted by bin, x fastest; in the caller's order within a bin */
} cutoff_bins;

/* Also sets plan->count and plan->bytes. cutoff_bins_free is always allowed on zeros. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cutoff_bins_make(vf_cutoff *plan, cutoff_bins *out);
void cutoff_bins_free(cutoff_bins *in);

size_t cutoff_charge_bytes(const vf_cutoff *plan);

/* Sets charge `place` of an array of cutoff_charge_F, of the plan's precision. */
void cutoff_charge_set(const vf_cutoff *plan, void *charges, int64_t place, const double at[3], double charge);

extern const cutoff_simd cutoff_simd_baseline, cutoff_simd_avx2, cutoff_simd_avx512;

#endif
