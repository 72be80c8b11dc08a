/* The inner loops of the CPU's wavelet transforms, one table for each instruction set; not installed. */
#ifndef VOXFIELD_WAVELET_SIMD_H
#define VOXFIELD_WAVELET_SIMD_H

#include <stdint.h>

/* Rows are numbers of one precision; `n` counts complex ones. Coefficients are of that precision, too. */
typedef struct wavelet_lines {
    /* [moments - 1]: two outputs of 2 moments rows: first = sum_k a_k rows_k, second = sum_k b_k rows_k. */
    void (*combine[4])(int64_t n, const void *a, const void *b, const void *const *rows, void *first, void *second);
    /* even_i = row_2i, odd_i = row_(2i + 1) for i < n, and the inverse. */
    void (*split)(int64_t n, const void *row, void *even, void *odd);
    void (*merge)(int64_t n, const void *even, const void *odd, void *row);
    /* The soft threshold of vf_wavelet_soft. */
    void (*soft)(int64_t n, double scale, double level, void *row);
    double (*magnitudes)(int64_t n, const void *row);
} wavelet_lines;

typedef struct wavelet_simd {
    wavelet_lines f32, f64;
} wavelet_simd;

extern const wavelet_simd wavelet_simd_baseline, wavelet_simd_avx2, wavelet_simd_avx512;

#endif
