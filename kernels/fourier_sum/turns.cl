/* Phases in turns, for OpenCL. A phase is the sum of products of factors (turns_opencl.h): in double precision of doubles; in
 * single precision of 64-bit integers, whose product's upper half has units of 2^-32 turns. So whole turns drop out exactly. */
#ifdef REAL_IS_DOUBLE
typedef double TURNS;
typedef double FACTOR;
static inline TURNS turns_of(FACTOR a, FACTOR b)
{
    return a * b;
}
/* exp(i 2 pi t) */
static inline REAL2 wave_of(TURNS t)
{
    const double twice = 2 * (t - rint(t));
    return (REAL2)(cospi(twice), sinpi(twice));
}
#else
typedef uint TURNS;
typedef long FACTOR;
static inline TURNS turns_of(FACTOR a, FACTOR b)
{
    return (uint)mul_hi(a, b);
}
/* Quarters of a turn, and the series of sine and cosine within an eighth (to 1e-8; Moshier's Cephes library). */
static inline REAL2 wave_of(TURNS t)
{
    const uint quarter = (t + 0x20000000u) >> 30;
    const float x = (float)as_int(t - (quarter << 30)) * 0x1.921fb6p-30f, z = x * x;
    const float s = x + x * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
    const float c = 1 - 0.5f * z + z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
    const REAL2 w = quarter & 1 ? (REAL2)(-s, c) : (REAL2)(c, s);
    return quarter & 2 ? -w : w;
}
#endif

/* A sum of numbers of one sign or many: `low` collects what `high` loses (Knuth's two-sum). */
static inline void add_exactly(REAL2 *high, REAL2 *low, REAL2 x)
{
    const REAL2 sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}
