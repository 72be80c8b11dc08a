/* Square blocks of complex numbers, and how they are turned, in the instruction set that a file is compiled for; not
 * installed. With F = f32 or f64 (see simd.h):
 *   SIDE_F                   complex numbers in a vector: the side of a block
 *   load_part_F(p, count)    the first `count` complex numbers, then zeros; fastest for a constant `count`
 *   store_part_F(p, v, count)
 *   turn_F(v)                transposes: element j of v[i] becomes element i of v[j]
 * gcc 12 makes wrong code of shuffled vectors when it checks them for undefined behaviour, at any optimisation:
 * voxfield_shuffles (CMake) keeps a file from that; addresses are still checked. */
#ifndef VOXFIELD_SIMD_BLOCKS_H
#define VOXFIELD_SIMD_BLOCKS_H

#include "backend/simd.h"

/* A vector of 64-bit words, to move complex numbers of either precision. */
typedef long long vec_words __attribute__((vector_size(VECTOR_BYTES), may_alias));

/* For each place whose bit d is not set, exchanges the word d places to the right in *a with the one in *b. */
static inline __attribute__((always_inline)) void exchange(vec_words *a, vec_words *b, int d)
{
    vec_words x = *a, y = *b;
#if VECTOR_BYTES == 64
    if (d == 1) {
        *a = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
        *b = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    } else if (d == 2) {
        *a = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
        *b = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    } else {
        *a = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
        *b = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
    }
#elif VECTOR_BYTES == 32
    if (d == 1) {
        *a = __builtin_shufflevector(x, y, 0, 4, 2, 6);
        *b = __builtin_shufflevector(x, y, 1, 5, 3, 7);
    } else {
        *a = __builtin_shufflevector(x, y, 0, 1, 4, 5);
        *b = __builtin_shufflevector(x, y, 2, 3, 6, 7);
    }
#else
    (void)d;
    *a = __builtin_shufflevector(x, y, 0, 2);
    *b = __builtin_shufflevector(x, y, 1, 3);
#endif
}

/* turn: for one bit d after the other, it exchanges the places whose bit d differs from the row's. */
#define BLOCKS(F, REAL)                                                                                                \
    enum { SIDE_##F = VECTOR_BYTES / (2 * sizeof(REAL)) };                                                             \
    static inline __attribute__((always_inline)) vec_##F load_part_##F(const REAL *p, int count)                       \
    {                                                                                                                  \
        vec_##F v = {0};                                                                                               \
        if (count < SIDE_##F)                                                                                          \
            memcpy(&v, p, (size_t)count * 2 * sizeof *p);                                                              \
        else                                                                                                           \
            memcpy(&v, p, sizeof v);                                                                                   \
        return v;                                                                                                      \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void store_part_##F(REAL *p, vec_##F v, int count)                    \
    {                                                                                                                  \
        if (count < SIDE_##F)                                                                                          \
            memcpy(p, &v, (size_t)count * 2 * sizeof *p);                                                              \
        else                                                                                                           \
            memcpy(p, &v, sizeof v);                                                                                   \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void turn_##F(vec_##F v[SIDE_##F])                                    \
    {                                                                                                                  \
        _Pragma("GCC unroll 4") for (int d = 1; d < SIDE_##F; d *= 2)                                                  \
            _Pragma("GCC unroll 8") for (int i = 0; i < SIDE_##F; i++) if (!(i & d))                                   \
                exchange((vec_words *)&v[i], (vec_words *)&v[i + d], d *(int)(2 * sizeof(REAL) / 8));                  \
    }
BLOCKS(f32, float)
BLOCKS(f64, double)
#undef BLOCKS

#endif
