/* Vectors of float and double in the instruction set that a file is compiled for, as vector extensions of GCC and
 * clang: + - * work on them, and & | ^ on integers of the same width. For files that are compiled once for each set
 * (the kernels' *_isa.inc); not installed. With F = f32 or f64:
 *   vec_F, bits_F       numbers; integers of their width
 *   LANES_F             numbers in a vector; VECTOR_BYTES: its size
 *   load_F, store_F     memory needs only the alignment of a number
 *   all_F(a)            every lane a; -0 stays -0
 *   fma_F(a, b, c)      a b + c: rounded once if the set has such an instruction, else twice
 *   fnma_F(a, b, c)     c - a b, likewise
 *   max_F, sqrt_F       of each lane
 *   narrow(low, high)   both vectors of double as one of float
 *   widen(p)            LANES_F64 floats from p on, as double
 * -ffp-contract decides whether the compiler fuses + and *. fma and fnma do not depend on it if the set has them. */
#ifndef VOXFIELD_SIMD_H
#define VOXFIELD_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR_BYTES 64
#define INTRINSIC(name) _mm512_##name
typedef __m512 raw_f32;
typedef __m512d raw_f64;
#elif defined(__AVX2__)
#include <immintrin.h>
#define VECTOR_BYTES 32
#define INTRINSIC(name) _mm256_##name
typedef __m256 raw_f32;
typedef __m256d raw_f64;
#elif defined(__SSE2__)
#include <emmintrin.h>
#define VECTOR_BYTES 16
#define INTRINSIC(name) _mm_##name
typedef __m128 raw_f32;
typedef __m128d raw_f64;
#else
#define VECTOR_BYTES 16
#endif

enum { LANES_F32 = VECTOR_BYTES / 4, LANES_F64 = VECTOR_BYTES / 8 };

typedef float vec_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vec_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t bits_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t bits_f64 __attribute__((vector_size(VECTOR_BYTES)));

#if defined(__AVX2__)
#define FUSED(F, NAME, a, b, c, otherwise) ((vec_##F)INTRINSIC(NAME)((raw_##F)(a), (raw_##F)(b), (raw_##F)(c)))
#else
#define FUSED(F, NAME, a, b, c, otherwise) (otherwise)
#endif

/* The definitions for one precision: REAL, and the SUFFIX of Intel's names. */
#define BOTH(F, REAL, SUFFIX)                                                                                          \
    static inline vec_##F load_##F(const REAL *p)                                                                      \
    {                                                                                                                  \
        vec_##F v;                                                                                                     \
        memcpy(&v, p, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }                                                                                                                  \
    static inline void store_##F(REAL *p, vec_##F v)                                                                   \
    {                                                                                                                  \
        memcpy(p, &v, sizeof v);                                                                                       \
    }                                                                                                                  \
    static inline vec_##F all_##F(REAL a)                                                                              \
    {                                                                                                                  \
        return a - (vec_##F){0};                                                                                       \
    }                                                                                                                  \
    static inline vec_##F fma_##F(vec_##F a, vec_##F b, vec_##F c)                                                     \
    {                                                                                                                  \
        return FUSED(F, fmadd_##SUFFIX, a, b, c, a * b + c);                                                           \
    }                                                                                                                  \
    static inline vec_##F fnma_##F(vec_##F a, vec_##F b, vec_##F c)                                                    \
    {                                                                                                                  \
        return FUSED(F, fnmadd_##SUFFIX, a, b, c, c - a * b);                                                          \
    }
BOTH(f32, float, ps)
BOTH(f64, double, pd)
#undef BOTH
#undef FUSED

#if defined(INTRINSIC)
#define LANEWISE(F, LANES, SUFFIX, LARGER, ROOT)                                                                       \
    static inline vec_##F max_##F(vec_##F a, vec_##F b)                                                                \
    {                                                                                                                  \
        return (vec_##F)INTRINSIC(max_##SUFFIX)((raw_##F)a, (raw_##F)b);                                               \
    }                                                                                                                  \
    static inline vec_##F sqrt_##F(vec_##F a)                                                                          \
    {                                                                                                                  \
        return (vec_##F)INTRINSIC(sqrt_##SUFFIX)((raw_##F)a);                                                          \
    }
#else
#define LANEWISE(F, LANES, SUFFIX, LARGER, ROOT)                                                                       \
    static inline vec_##F max_##F(vec_##F a, vec_##F b)                                                                \
    {                                                                                                                  \
        for (int i = 0; i < LANES; i++)                                                                                \
            a[i] = LARGER(a[i], b[i]);                                                                                 \
        return a;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##F sqrt_##F(vec_##F a)                                                                          \
    {                                                                                                                  \
        for (int i = 0; i < LANES; i++)                                                                                \
            a[i] = ROOT(a[i]);                                                                                         \
        return a;                                                                                                      \
    }
#endif
LANEWISE(f32, LANES_F32, ps, fmaxf, sqrtf)
LANEWISE(f64, LANES_F64, pd, fmax, sqrt)
#undef LANEWISE

static inline vec_f32 narrow(vec_f64 low, vec_f64 high)
{
#if defined(__AVX512F__)
    return (vec_f32)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                       _mm512_cvtpd_ps((__m512d)high), 1);
#elif defined(__AVX2__)
    return (vec_f32)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
#else
    vec_f32 v;
    for (int i = 0; i < LANES_F64; i++) {
        v[i] = (float)low[i];
        v[LANES_F64 + i] = (float)high[i];
    }
    return v;
#endif
}

/* Explicit, because gcc 12 converts half vectors and joins them. */
static inline vec_f64 widen(const float *p)
{
#if defined(__AVX512F__)
    return (vec_f64)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#else
    typedef float half_f32 __attribute__((vector_size(VECTOR_BYTES / 2)));
    half_f32 h;
    memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, vec_f64);
#endif
}

#endif
