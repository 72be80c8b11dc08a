/* inverse_sum(sum, q, s, square) returns sum + q / sqrt(s), or sum + q / s if `square`. The caller multiplies the
 * charge by charge_factor, which saves an operation in the Newton step. Multiply-adds are explicit, and the compiler
 * fuses none (-ffp-contract=off). It would fuse differently in tiles of different shapes, and a point's bits would
 * depend on its place in the box.
 *
 * Errors per term, relative, for s in the normal range:
 *   AVX-512 single: seed 2^-14; after y (3 - s y^2) / 2 it is 1.5 * 2^-28 + rounding of 4 operations   < 2.1 * 2^-23
 *   AVX2, baseline single: seed 1.5 * 2^-12; the third-order step leaves 2.5 * (1.5 * 2^-12)^3 + rounding < 2.6 * 2^-23
 *   double: AVX-512 seed 2^-14 and two steps (2^-27, then 1.5 * 2^-54 + rounding); otherwise sqrt and division, exact
 *           to 2^-53
 * Seeds: Intel 64 manual, VRSQRT14PS and RSQRTPS; AMD documents the same bounds.
 */
#ifndef VOXFIELD_COULOMB_SUM_SIMD_OPS_H
#define VOXFIELD_COULOMB_SUM_SIMD_OPS_H

#include <stdbool.h>

#include "backend/simd.h"

#if defined(__AVX512F__)

#define charge_factor_f32(square) ((square) ? 1.0f : 0.5f)
#define charge_factor_f64(square) ((square) ? 1.0 : 0.5)

static inline vec_f32 inverse_sum_f32(vec_f32 sum, vec_f32 q, vec_f32 s, bool square)
{
    vec_f32 y = square ? (vec_f32)_mm512_rcp14_ps((__m512)s) : (vec_f32)_mm512_rsqrt14_ps((__m512)s);
    vec_f32 correction = square ? fnma_f32(s, y, all_f32(2)) : fnma_f32(s, y * y, all_f32(3));
    return fma_f32(q * y, correction, sum);
}

static inline vec_f64 inverse_sum_f64(vec_f64 sum, vec_f64 q, vec_f64 s, bool square)
{
    const vec_f64 two = all_f64(2), three = all_f64(3);
    vec_f64 y = square ? (vec_f64)_mm512_rcp14_pd((__m512d)s) : (vec_f64)_mm512_rsqrt14_pd((__m512d)s);
    y = square ? y * fnma_f64(s, y, two) : 0.5 * y * fnma_f64(s, y * y, three);
    return fma_f64(q * y, square ? fnma_f64(s, y, two) : fnma_f64(s, y * y, three), sum);
}

#else

#define charge_factor_f32(square) 1.0f
#define charge_factor_f64(square) 1.0

static inline vec_f32 seed_f32(vec_f32 s)
{
#if defined(INTRINSIC)
    return (vec_f32)INTRINSIC(rsqrt_ps)((raw_f32)s);
#else
    return 1.0f / sqrt_f32(s);
#endif
}

static inline vec_f32 inverse_sum_f32(vec_f32 sum, vec_f32 q, vec_f32 s, bool square)
{
    if (square)
        return sum + q / s;
    /* y = (1 + d) / sqrt(s); with e = 1 - s y^2, 1/sqrt(s) = y (1 + e/2 + 3/8 e^2 + O(d^3)). */
    vec_f32 y = seed_f32(s), w = q * y, e = fnma_f32(s * y, y, all_f32(1));
    return sum + fma_f32(w, e * fma_f32(all_f32(0.375f), e, all_f32(0.5f)), w);
}

static inline vec_f64 inverse_sum_f64(vec_f64 sum, vec_f64 q, vec_f64 s, bool square)
{
    return sum + q / (square ? s : sqrt_f64(s));
}

#endif
#endif
