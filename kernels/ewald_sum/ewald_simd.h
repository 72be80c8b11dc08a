/* The interface between the steps of an Ewald sum and each instruction set (ewald_simd.inc, compiled once for each);
 * not installed. Numbers are of one precision; complex numbers are interleaved. */
#ifndef VOXFIELD_EWALD_SIMD_H
#define VOXFIELD_EWALD_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "ewald_backend.h"

/* Windows are padded with zeros to whole vectors: at most EWALD_PADDED points. */
enum { EWALD_LANES = 16 };

/* A charge: the first point of its window, and offsets as of ewald_start. */
typedef struct ewald_charge_f32 {
    int32_t start[3];
    float offset[3], charge;
} ewald_charge_f32;

typedef struct ewald_charge_f64 {
    int32_t start[3];
    double offset[3], charge;
} ewald_charge_f64;

typedef struct ewald_spread_job {
    const void *charges; /* ewald_charge_F */
    int64_t count;
    int width;
    const vf_prolate_powers *window;
    void *mesh;
    int64_t pitch, mesh_y, mesh_z; /* y and z are taken modulo these; x is not */
    int64_t share, shares;         /* of the mesh's planes: only those of number `share` modulo `shares` */
} ewald_spread_job;

typedef struct ewald_simd {
    int lanes; /* at most EWALD_LANES */
    void (*spread)(const ewald_spread_job *job);
    /* row [length] complex = a + i b, a and b [n], zeros behind; b may be NULL. */
    void (*pack)(int64_t n, const void *a, const void *b, int64_t length, void *row);
    void (*unpack)(int64_t n, const void *row, void *a, void *b);
    /* The spectra of a and b, [length / 2 + 1] complex, from that of a + i b; and back. b may be NULL. */
    void (*split)(int64_t length, const void *row, void *a, void *b);
    void (*join)(int64_t length, const void *a, const void *b, void *row);
    /* rows[line][i] = src[i * stride + line], complex, i < points; zeros up to length. scatter: back. */
    void (*gather)(int64_t points, int lines, const void *src, int64_t stride, int64_t length, void *rows);
    void (*scatter)(int64_t points, int lines, const void *rows, int64_t length, void *dst, int64_t stride);
    /* row [length] complex *= kernel [length], or, if folded, [length / 2 + 1] and even. */
    void (*multiply)(int64_t length, bool folded, const void *kernel, void *row);
    /* out[i] = sum_p weights[p] rows[p][i] for i < count */
    void (*combine)(int64_t count, int width, const void *const *rows, const void *weights, void *out);
    /* out[l][i] = sum_p weights[i][p] rows[l][start[i] - first + p], for `lanes` rows, `pitch` apart; work has `lanes`
     * numbers for each element of a row and for each result. Rows of out are `out_pitch` apart; the first `lines` are
     * written. */
    void (*upsample)(int64_t count, int width, const int64_t *start, int64_t first, const void *weights,
                     const void *rows, int64_t pitch, void *work, int lines, void *out, int64_t out_pitch);
    /* The same for one row, in the order of p. */
    void (*upsample_one)(int64_t count, int width, const int64_t *start, const void *weights, const void *row,
                         void *out);
    /* row[start[i] + p] += in[i] weights[i][p] for p < width */
    void (*add_windows)(int64_t count, int width, const int64_t *start, const void *weights, const void *in, void *row);
    /* out[i] += weight in[i] for i < count */
    void (*add_row)(int64_t count, double weight, const void *in, void *out);
} ewald_simd;

typedef struct ewald_isa {
    const ewald_simd *f32, *f64;
} ewald_isa;
extern const ewald_isa ewald_isa_baseline, ewald_isa_avx2, ewald_isa_avx512;

#endif
