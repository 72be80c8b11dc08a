/* The interface between the CPU backend (toeplitz_cpu.c: passes, threads) and each instruction set (toeplitz_simd.inc,
 * compiled once for each set and precision); not installed.
 *
 * Images are complex and interleaved. Lines side by side, as fft_lanes.h transforms them, are [points][re, im][lanes]; a point
 * of them is 2 * lanes real numbers. A phase is [points] complex. */
#ifndef VOXFIELD_TOEPLITZ_SIMD_H
#define VOXFIELD_TOEPLITZ_SIMD_H

#include <stdint.h>

/* Lines of an image, lanes next to each other in memory. */
typedef struct toeplitz_lines {
    int64_t points, stride; /* elements between points */
    int64_t ahead;          /* elements to the lines that are probably next */
    int count;              /* lines, at most the lanes; others are 0 */
    const void *map;        /* of the first line's first point; NULL: 1 */
    const float *field;     /* likewise, in Hz: each point also has a factor exp(-i 2 pi t f); NULL: 1 */
    double time;            /* t in s */
    const void *phase;
    void *even, *odd; /* lines side by side; odd may be NULL */
} toeplitz_lines;

typedef struct toeplitz_simd {
    int lanes;
    /* even = x times the factors; odd = phase even. */
    void (*enter)(const toeplitz_lines *l, const void *x);
    /* y = (even + conj(phase) odd) times the conjugate factors; with `add` it is added. */
    void (*leave)(const toeplitz_lines *l, int add, void *y);
    /* Points of lines side by side, `from` and `to` elements apart. */
    void (*copy)(int64_t points, const void *a, int64_t from, void *b, int64_t to);
    /* b = phase a; a += conj(phase) b */
    void (*turn)(int64_t points, const void *phase, const void *a, void *b);
    void (*join)(int64_t points, const void *phase, const void *b, void *a);
    /* a *= factor, real: [points][lanes], or [points] */
    void (*scale)(int64_t points, const void *factor, void *a);
    void (*scale_points)(int64_t points, const void *factor, void *a);
    /* As many points of lines side by side as there are lanes: point j of line i becomes point i of line j. */
    void (*square)(const void *a, int64_t from, void *b, int64_t to);
} toeplitz_simd;

typedef struct toeplitz_isa {
    const toeplitz_simd *f32, *f64;
} toeplitz_isa;

extern const toeplitz_isa toeplitz_isa_baseline, toeplitz_isa_avx2, toeplitz_isa_avx512;

#endif
