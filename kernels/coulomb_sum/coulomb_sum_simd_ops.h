/* Vectors of float and double in the instruction set this file is compiled for, as GCC and clang know them: the
 * operators
 * + - * work on them. fma(a, b, c) is a b + c and fnma(a, b, c) is c - a b, with one rounding where the instruction set
 * can. They are written out, and the compiler fuses nothing by itself (-ffp-contract=off): it would choose differently
 * in tiles of different shape, and a point's bits would depend on its place in the box.
 *
 * inverse_sum(sum, q, s, square) returns sum + q / sqrt(s), or sum + q / s if `square`; the charge comes multiplied by
 * charge_factor, which saves an operation in the Newton step. Errors per term, relative, for s in the normal range:
 *   AVX-512 single: seed 2^-14; after y (3 - s y^2) / 2 it is 1.5 * 2^-28 + rounding of 4 operations   < 2.1 * 2^-23
 *   AVX2, baseline single: seed 1.5 * 2^-12; the third-order step leaves 2.5 * (1.5 * 2^-12)^3 + rounding < 2.6 * 2^-23
 *   double: AVX-512 seed 2^-14 and two steps (2^-27, then 1.5 * 2^-54 + rounding); otherwise sqrt and division, exact
 * to 2^-53 (seeds: Intel 64 manual, VRSQRT14PS and RSQRTPS; AMD documents the same bounds.)
 */
#ifndef VOXFIELD_COULOMB_SUM_SIMD_OPS_H
#define VOXFIELD_COULOMB_SUM_SIMD_OPS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES_F32 = 16, LANES_F64 = 8 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES_F32 = 8, LANES_F64 = 4 };
#elif defined(__SSE2__)
#include <emmintrin.h>
enum { LANES_F32 = 4, LANES_F64 = 2 };
#else
enum { LANES_F32 = 4, LANES_F64 = 2 };
#endif

typedef float vec_f32 __attribute__((vector_size(4 * LANES_F32)));
typedef double vec_f64 __attribute__((vector_size(8 * LANES_F64)));

#if defined(__AVX512F__)

#define charge_factor_f32(square) ((square) ? 1.0f : 0.5f)
#define charge_factor_f64(square) ((square) ? 1.0 : 0.5)

static inline vec_f32 max_f32(vec_f32 a, vec_f32 b)
{
    return (vec_f32)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline vec_f64 max_f64(vec_f64 a, vec_f64 b)
{
    return (vec_f64)_mm512_max_pd((__m512d)a, (__m512d)b);
}

static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return (vec_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static inline vec_f32 fnma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return (vec_f32)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline vec_f64 fnma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

static inline vec_f32 inverse_sum_f32(vec_f32 sum, vec_f32 q, vec_f32 s, bool square)
{
    vec_f32 y = square ? (vec_f32)_mm512_rcp14_ps((__m512)s) : (vec_f32)_mm512_rsqrt14_ps((__m512)s);
    vec_f32 correction = square ? fnma_f32(s, y, 2.0f - (vec_f32){0}) : fnma_f32(s, y * y, 3.0f - (vec_f32){0});
    return fma_f32(q * y, correction, sum);
}

static inline vec_f64 inverse_sum_f64(vec_f64 sum, vec_f64 q, vec_f64 s, bool square)
{
    const vec_f64 two = 2.0 - (vec_f64){0}, three = 3.0 - (vec_f64){0};
    vec_f64 y = square ? (vec_f64)_mm512_rcp14_pd((__m512d)s) : (vec_f64)_mm512_rsqrt14_pd((__m512d)s);
    y = square ? y * fnma_f64(s, y, two) : 0.5 * y * fnma_f64(s, y * y, three);
    return fma_f64(q * y, square ? fnma_f64(s, y, two) : fnma_f64(s, y * y, three), sum);
}

#else

#define charge_factor_f32(square) 1.0f
#define charge_factor_f64(square) 1.0

#if defined(__AVX2__)
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return (vec_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline vec_f32 fnma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return (vec_f32)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline vec_f32 max_f32(vec_f32 a, vec_f32 b)
{
    return (vec_f32)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline vec_f64 max_f64(vec_f64 a, vec_f64 b)
{
    return (vec_f64)_mm256_max_pd((__m256d)a, (__m256d)b);
}

static inline vec_f32 seed_f32(vec_f32 s)
{
    return (vec_f32)_mm256_rsqrt_ps((__m256)s);
}

static inline vec_f64 sqrt_f64(vec_f64 s)
{
    return (vec_f64)_mm256_sqrt_pd((__m256d)s);
}
#elif defined(__SSE2__)
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b)
{
    return (vec_f32)_mm_max_ps((__m128)a, (__m128)b);
}

static inline vec_f64 max_f64(vec_f64 a, vec_f64 b)
{
    return (vec_f64)_mm_max_pd((__m128d)a, (__m128d)b);
}

static inline vec_f32 seed_f32(vec_f32 s)
{
    return (vec_f32)_mm_rsqrt_ps((__m128)s);
}

static inline vec_f64 sqrt_f64(vec_f64 s)
{
    return (vec_f64)_mm_sqrt_pd((__m128d)s);
}
#else
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b)
{
    for (int i = 0; i < LANES_F32; i++)
        a[i] = fmaxf(a[i], b[i]);
    return a;
}

static inline vec_f64 max_f64(vec_f64 a, vec_f64 b)
{
    for (int i = 0; i < LANES_F64; i++)
        a[i] = fmax(a[i], b[i]);
    return a;
}

static inline vec_f32 seed_f32(vec_f32 s)
{
    for (int i = 0; i < LANES_F32; i++)
        s[i] = 1.0f / sqrtf(s[i]);
    return s;
}

static inline vec_f64 sqrt_f64(vec_f64 s)
{
    for (int i = 0; i < LANES_F64; i++)
        s[i] = sqrt(s[i]);
    return s;
}
#endif

#if !defined(__AVX2__)
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return a * b + c;
}

static inline vec_f32 fnma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return c - a * b;
}

static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return a * b + c;
}

#endif

static inline vec_f32 inverse_sum_f32(vec_f32 sum, vec_f32 q, vec_f32 s, bool square)
{
    if (square)
        return sum + q / s;
    /* y = (1 + d) / sqrt(s); with e = 1 - s y^2, 1/sqrt(s) = y (1 + e/2 + 3/8 e^2 + O(d^3)). */
    const vec_f32 half = 0.5f - (vec_f32){0}, three_eighths = 0.375f - (vec_f32){0}, one = 1.0f - (vec_f32){0};
    vec_f32 y = seed_f32(s), w = q * y, e = fnma_f32(s * y, y, one);
    return sum + fma_f32(w, e * fma_f32(three_eighths, e, half), w);
}

static inline vec_f64 inverse_sum_f64(vec_f64 sum, vec_f64 q, vec_f64 s, bool square)
{
    return sum + q / (square ? s : sqrt_f64(s));
}

#endif
#endif
