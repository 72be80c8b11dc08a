/* Complex numbers with their real and imaginary parts in vectors of their own, so that lines side by side take the same steps
 * without shuffles; in the instruction set that a file is compiled for; not installed. With F = f32 or f64 (see simd.h):
 *   pair_F                    LANES_F complex numbers, of as many lines
 *   load_lanes_F(p, count)    the first `count` of interleaved complex numbers, then zeros; fastest for a constant `count`
 *   store_lanes_F(p, x, count)
 *   read_pair_F, write_pair_F a pair in memory: [re, im][LANES_F]
 *   add, subtract, times, times_conjugate (a conj(b)), turned (-i a), number (in all lanes), each with _F
 *   square_F(v)               transposes: element j of v[i] becomes element i of v[j]
 * Files that use this need voxfield_shuffles (CMake), see simd_blocks.h. */
#ifndef VOXFIELD_SIMD_LANES_H
#define VOXFIELD_SIMD_LANES_H

#include "backend/simd_blocks.h"

#define LANE_INLINE static inline __attribute__((always_inline))

/* From {re, im, re, im, ...} in two vectors to {re, re, ...} and {im, im, ...}, and back. */
#if VECTOR_BYTES == 64
#define REAL_PARTS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define IMAGINARY_PARTS_F32(a, b)                                                                                      \
    __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define REAL_PARTS_F64(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define IMAGINARY_PARTS_F64(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif VECTOR_BYTES == 32
#define REAL_PARTS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define IMAGINARY_PARTS_F32(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define REAL_PARTS_F64(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define IMAGINARY_PARTS_F64(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define LOW_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define REAL_PARTS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define IMAGINARY_PARTS_F32(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define LOW_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_PAIRS_F32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define REAL_PARTS_F64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define IMAGINARY_PARTS_F64(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_PAIRS_F64(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

#define PAIRS(F, UPPER, REAL)                                                                                          \
    typedef struct pair_##F {                                                                                          \
        vec_##F re, im;                                                                                                \
    } pair_##F;                                                                                                        \
    LANE_INLINE pair_##F add_##F(pair_##F a, pair_##F b)                                                               \
    {                                                                                                                  \
        return (pair_##F){a.re + b.re, a.im + b.im};                                                                   \
    }                                                                                                                  \
    LANE_INLINE pair_##F subtract_##F(pair_##F a, pair_##F b)                                                          \
    {                                                                                                                  \
        return (pair_##F){a.re - b.re, a.im - b.im};                                                                   \
    }                                                                                                                  \
    LANE_INLINE pair_##F turned_##F(pair_##F a)                                                                        \
    {                                                                                                                  \
        return (pair_##F){a.im, -a.re};                                                                                \
    }                                                                                                                  \
    LANE_INLINE pair_##F times_##F(pair_##F a, pair_##F b)                                                             \
    {                                                                                                                  \
        return (pair_##F){fnma_##F(a.im, b.im, a.re * b.re), fma_##F(a.im, b.re, a.re * b.im)};                        \
    }                                                                                                                  \
    LANE_INLINE pair_##F times_conjugate_##F(pair_##F a, pair_##F b)                                                   \
    {                                                                                                                  \
        return (pair_##F){fma_##F(a.im, b.im, a.re * b.re), fnma_##F(a.re, b.im, a.im * b.re)};                        \
    }                                                                                                                  \
    LANE_INLINE pair_##F number_##F(const REAL c[2])                                                                   \
    {                                                                                                                  \
        return (pair_##F){all_##F(c[0]), all_##F(c[1])};                                                               \
    }                                                                                                                  \
    LANE_INLINE pair_##F read_pair_##F(const REAL *p)                                                                  \
    {                                                                                                                  \
        return (pair_##F){load_##F(p), load_##F(p + LANES_##UPPER)};                                                   \
    }                                                                                                                  \
    LANE_INLINE void write_pair_##F(REAL *p, pair_##F a)                                                               \
    {                                                                                                                  \
        store_##F(p, a.re);                                                                                            \
        store_##F(p + LANES_##UPPER, a.im);                                                                            \
    }                                                                                                                  \
    LANE_INLINE pair_##F load_lanes_##F(const REAL *p, int count)                                                      \
    {                                                                                                                  \
        const int low = count < SIDE_##F ? count : SIDE_##F;                                                           \
        const vec_##F a = load_part_##F(p, low);                                                                       \
        const vec_##F b = count > low ? load_part_##F(p + LANES_##UPPER, count - low) : (vec_##F){0};                  \
        return (pair_##F){REAL_PARTS_##UPPER(a, b), IMAGINARY_PARTS_##UPPER(a, b)};                                    \
    }                                                                                                                  \
    LANE_INLINE void store_lanes_##F(REAL *p, pair_##F x, int count)                                                   \
    {                                                                                                                  \
        const int low = count < SIDE_##F ? count : SIDE_##F;                                                           \
        store_part_##F(p, LOW_PAIRS_##UPPER(x.re, x.im), low);                                                         \
        if (count > low)                                                                                               \
            store_part_##F(p + LANES_##UPPER, HIGH_PAIRS_##UPPER(x.re, x.im), count - low);                            \
    }
PAIRS(f32, F32, float)
PAIRS(f64, F64, double)
#undef PAIRS

/* For each place whose bit 0 is not set, exchanges the next number in *a with the one in *b. */
LANE_INLINE void exchange_next(vec_f32 *a, vec_f32 *b)
{
    const vec_f32 x = *a, y = *b;
#if VECTOR_BYTES == 64
    *a = __builtin_shufflevector(x, y, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
    *b = __builtin_shufflevector(x, y, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
#elif VECTOR_BYTES == 32
    *a = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
    *b = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
#else
    *a = __builtin_shufflevector(x, y, 0, 4, 2, 6);
    *b = __builtin_shufflevector(x, y, 1, 5, 3, 7);
#endif
}

/* For one bit d after the other, exchanges the places whose bit d differs from the row's; 64-bit words from d = 2 on. */
LANE_INLINE void square_f32(vec_f32 v[LANES_F32])
{
#pragma GCC unroll 16
    for (int i = 0; i < LANES_F32; i += 2)
        exchange_next(&v[i], &v[i + 1]);
#pragma GCC unroll 4
    for (int d = 2; d < LANES_F32; d *= 2)
#pragma GCC unroll 16
        for (int i = 0; i < LANES_F32; i++)
            if (!(i & d))
                exchange((vec_words *)&v[i], (vec_words *)&v[i + d], d / 2);
}

LANE_INLINE void square_f64(vec_f64 v[LANES_F64])
{
#pragma GCC unroll 4
    for (int d = 1; d < LANES_F64; d *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < LANES_F64; i++)
            if (!(i & d))
                exchange((vec_words *)&v[i], (vec_words *)&v[i + d], d);
}

#endif
