/* Multiply-adds are explicit, and the compiler fuses none (-ffp-contract=off). It would fuse differently in tiles of
 * different shapes, and a voxel's bits would depend on the range it was computed in.
 *
 * phasor(p, &c, &s): cosine and sine of p turns, |p| <= 1/2. p is reduced exactly to r = p - q/4 in [-1/8, 1/8], where
 * q/4 is the nearest quarter. Then sin(2 pi r) = r S(r^2) and cos(2 pi r) = 1 + r^2 C(r^2), with polynomials fitted at
 * Chebyshev points (40 digits). Finally, the quarter swaps and negates. Errors of sine and cosine, u = 2^-24 or 2^-53:
 *   fit     2.4e-9, 2e-10 (single), < 2e-21 (double)
 *   sine    S and r S: the Horner steps' roundings fall by r^2 per step; at most 1.3 u of S, 1/2 u for 2 pi, 1/2 u in
 *           the product: < 2.5 u |sin| < 1.8 u, as |sin| <= 0.71. Without fma half a u more.
 *   cosine  1 + r^2 C: r^2 C <= 0.3, with an error of 2.5 u of itself; 1/2 u in the sum:  < 1.3 u
 * So each is within 2.5 u.
 */
#ifndef VOXFIELD_FOURIER_SUM_SIMD_OPS_H
#define VOXFIELD_FOURIER_SUM_SIMD_OPS_H

#include "backend/simd.h"

/* turn: (re, im) *= (by_re, by_im). */
#define TURN(F)                                                                                                        \
    static inline void turn_##F(vec_##F *re, vec_##F *im, vec_##F by_re, vec_##F by_im)                                \
    {                                                                                                                  \
        vec_##F old = *re;                                                                                             \
        *re = fnma_##F(*im, by_im, old * by_re);                                                                       \
        *im = fma_##F(*im, by_re, old * by_im);                                                                        \
    }
TURN(f32)
TURN(f64)
#undef TURN

/* p minus the nearest integer, for |p| < 2^51: adding 1.5 * 2^52 removes the fraction. */
static inline vec_f64 fraction(vec_f64 p)
{
    const vec_f64 big = all_f64(0x1.8p52);
    return p - ((p + big) - big);
}

/* The fractions of all lanes' phases, in the precision's vector type; phases may be many turns. */
static inline vec_f32 fractions_f32(const vec_f64 *p)
{
    return narrow(fraction(p[0]), fraction(p[1]));
}

static inline vec_f64 fractions_f64(const vec_f64 *p)
{
    return fraction(p[0]);
}

/* q + BIG, with an integer q and BIG = 1.5 * 2^(mantissa bits), has the last two bits of q as its own. */
#define BIG_f32 0x1.8p23f
#define BIG_f64 0x1.8p52
#define SIGN_SHIFT_f32 30
#define SIGN_SHIFT_f64 62

static inline vec_f32 sine_f32(vec_f32 r, vec_f32 u)
{
    vec_f32 s = all_f32(-75.401612702747458f);
    s = fma_f32(s, u, all_f32(81.592542871301543f));
    s = fma_f32(s, u, all_f32(-41.341662570547955f));
    return r * fma_f32(s, u, all_f32(6.2831852878129467f));
}

static inline vec_f32 cosine_f32(vec_f32 u)
{
    vec_f32 c = all_f32(59.424105981756474f);
    c = fma_f32(c, u, all_f32(-85.448820089651071f));
    c = fma_f32(c, u, all_f32(64.939369051419776f));
    c = fma_f32(c, u, all_f32(-19.739208789987510f));
    return fma_f32(c, u, all_f32(1.0f));
}

static inline vec_f64 sine_f64(vec_f64 r, vec_f64 u)
{
    vec_f64 s = all_f64(-0.71163580907816659965);
    s = fma_f64(s, u, all_f64(3.8197881201632114229));
    s = fma_f64(s, u, all_f64(-15.094640403891545649));
    s = fma_f64(s, u, all_f64(42.058693928988783438));
    s = fma_f64(s, u, all_f64(-76.70585975299812673));
    s = fma_f64(s, u, all_f64(81.605249276074930668));
    s = fma_f64(s, u, all_f64(-41.341702240399760142));
    return r * fma_f64(s, u, all_f64(6.2831853071795864769));
}

static inline vec_f64 cosine_f64(vec_f64 u)
{
    vec_f64 c = all_f64(0.27974078606575040508);
    c = fma_f64(c, u, all_f64(-1.7143332694209920809));
    c = fma_f64(c, u, all_f64(7.9035356123389601795));
    c = fma_f64(c, u, all_f64(-26.426256777817400247));
    c = fma_f64(c, u, all_f64(60.244641371854563322));
    c = fma_f64(c, u, all_f64(-85.456817206693684583));
    c = fma_f64(c, u, all_f64(64.939394022668291459));
    c = fma_f64(c, u, all_f64(-19.739208802178717238));
    return fma_f64(c, u, all_f64(1.0));
}

#define PHASOR(F, REAL, INT)                                                                                           \
    static inline void phasor_##F(vec_##F p, vec_##F *cosine, vec_##F *sine)                                           \
    {                                                                                                                  \
        const vec_##F big = all_##F(BIG_##F);                                                                          \
        const bits_##F one = (bits_##F){0} + (INT)1, two = one + one;                                                  \
        vec_##F shifted = fma_##F(p, all_##F(4), big);                                                                 \
        vec_##F r = fnma_##F(shifted - big, all_##F((REAL)0.25), p), u = r * r;                                        \
        bits_##F q = (bits_##F)shifted, swap = -(q & one);                                                             \
        bits_##F s = (bits_##F)sine_##F(r, u), c = (bits_##F)cosine_##F(u), differ = (s ^ c) & swap;                   \
        *sine = (vec_##F)((s ^ differ) ^ ((q & two) << SIGN_SHIFT_##F));                                               \
        *cosine = (vec_##F)((c ^ differ) ^ (((q + one) & two) << SIGN_SHIFT_##F));                                     \
    }

PHASOR(f32, float, int32_t)
PHASOR(f64, double, int64_t)
#undef PHASOR

#endif
