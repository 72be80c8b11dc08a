/* The interface between the CPU backend (toeplitz_cpu.c: passes, threads) and each instruction set (toeplitz_simd.inc,
 * compiled once for each set and precision); not installed. Numbers are complex and interleaved, except where noted as
 * "real". */
#ifndef VOXFIELD_TOEPLITZ_SIMD_H
#define VOXFIELD_TOEPLITZ_SIMD_H

#include <stdint.h>

/* Lines of a plane that are neighbours in memory, copied to or from contiguous rows. Point n of line c is at c + n *
 * stride in the plane, and at c * points + n in the rows. */
typedef struct toeplitz_tile {
    int64_t points, lines;
    int64_t stride;    /* in complex elements */
    const void *phase; /* [points] */
} toeplitz_tile;

typedef struct toeplitz_simd {
    /* even = the lines; odd = each point times its phase. odd may be NULL. */
    void (*split)(const toeplitz_tile *tile, const void *plane, void *even, void *odd);
    /* The lines = even + conj(phase) odd. odd may be NULL. */
    void (*merge)(const toeplitz_tile *tile, const void *even, const void *odd, void *plane);
    /* out = a b */
    void (*multiply)(int64_t n, const void *a, const void *b, void *out);
    /* out += conj(a) b; without `add` out = conj(a) b. */
    void (*multiply_conjugate)(int64_t n, const void *a, const void *b, int add, void *out);
    /* out += b */
    void (*add)(int64_t n, const void *b, void *out);
    /* out *= a, a real */
    void (*scale)(int64_t n, const void *a, void *out);
    /* out = exp(-i 2 pi t f), f real in single precision */
    void (*rotation)(int64_t n, double t, const float *f, void *out);
} toeplitz_simd;

typedef struct toeplitz_isa {
    const toeplitz_simd *f32, *f64;
} toeplitz_isa;

extern const toeplitz_isa toeplitz_isa_baseline, toeplitz_isa_avx2, toeplitz_isa_avx512;

#endif
