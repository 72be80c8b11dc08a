/* Vectors of float and double in the instruction set this file is compiled for, as GCC and clang know them: the
 * operators + - * & | ^ work on them. fma(a, b, c) is a b + c and fnma(a, b, c) is c - a b, with one rounding where the
 * instruction set can. They are written out, and the compiler fuses nothing by itself (-ffp-contract=off): it would
 * choose differently in tiles of different shape, and a voxel's bits would depend on the range it was computed in.
 *
 * phasor(p, &c, &s): cosine and sine of p turns, |p| <= 1/2. p is reduced to r in [-1/8, 1/8] (exactly: p - q/4 for the
 * nearest quarter q/4), then sin(2 pi r) = r S(r^2) and cos(2 pi r) = 1 + r^2 C(r^2) with polynomials fitted at
 * Chebyshev's points (40 digits), and the quarter swaps and negates. Errors of sine and cosine, u = 2^-24 or 2^-53:
 *   fit     2.4e-9, 2e-10 (single), < 2e-21 (double)
 *   sine    S and r S: the Horner steps' roundings fall by r^2 a step; 1.3 u of S at most, 1/2 u for 2 pi, 1/2 u in the
 *           product: < 2.5 u |sin| < 1.8 u, as |sin| <= 0.71. Without fma half a u more.
 *   cosine  1 + r^2 C: r^2 C <= 0.3, with an error of 2.5 u of itself; 1/2 u in the sum:  < 1.3 u
 * So each is within 2.5 u.
 */
#ifndef VOXFIELD_FOURIER_SUM_SIMD_OPS_H
#define VOXFIELD_FOURIER_SUM_SIMD_OPS_H

#include <stdint.h>
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
typedef int32_t bits_f32 __attribute__((vector_size(4 * LANES_F32)));
typedef int64_t bits_f64 __attribute__((vector_size(8 * LANES_F64)));

#if defined(__AVX512F__)
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

static inline vec_f32 narrow(vec_f64 low, vec_f64 high)
{
    return (vec_f32)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                       _mm512_cvtpd_ps((__m512d)high), 1);
}

#elif defined(__AVX2__)
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

static inline vec_f64 fnma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return (vec_f64)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

static inline vec_f32 narrow(vec_f64 low, vec_f64 high)
{
    return (vec_f32)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
}

#else
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

static inline vec_f64 fnma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return c - a * b;
}

static inline vec_f32 narrow(vec_f64 low, vec_f64 high)
{
    vec_f32 v;
    for (int i = 0; i < LANES_F64; i++) {
        v[i] = (float)low[i];
        v[LANES_F64 + i] = (float)high[i];
    }
    return v;
}
#endif

/* What both precisions have alike: load, store, all(a): every lane a, and turn: (re, im) *= (by_re, by_im). */
#define COMMON(F, REAL)                                                                                                \
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
    static inline void turn_##F(vec_##F *re, vec_##F *im, vec_##F by_re, vec_##F by_im)                                \
    {                                                                                                                  \
        vec_##F old = *re;                                                                                             \
        *re = fnma_##F(*im, by_im, old * by_re);                                                                       \
        *im = fma_##F(*im, by_re, old * by_im);                                                                        \
    }
COMMON(f32, float)
COMMON(f64, double)
#undef COMMON

/* p less its nearest whole number, |p| < 2^51: adding 1.5 * 2^52 leaves no fraction. */
static inline vec_f64 fraction(vec_f64 p)
{
    const vec_f64 big = all_f64(0x1.8p52);
    return p - ((p + big) - big);
}

/* Phases of all lanes, in whole turns and more, as the precision's vector of fractions. */
static inline vec_f32 fractions_f32(const vec_f64 *p)
{
    return narrow(fraction(p[0]), fraction(p[1]));
}

static inline vec_f64 fractions_f64(const vec_f64 *p)
{
    return fraction(p[0]);
}

/* The sum q + BIG of a whole number and 1.5 * 2^(bits of the mantissa) has q's last two bits as its own. */
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
