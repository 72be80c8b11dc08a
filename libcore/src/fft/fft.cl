/* A pass of Stockham's transform along one axis of an array [outer][n][inner], from x to y (Govindaraju et al., High performance
 * discrete Fourier transforms on graphics processors, SC 2008). `done` is the product of the radices of earlier passes. Table:
 * exp(-2 pi i t / n), t < n. sign: -1 forward, 1 backward. With RADIX, a thread has a butterfly; without, for any prime radix,
 * one output of it. If n is the radix, y may be x with RADIX. */
#ifdef REAL_IS_DOUBLE
#define NUMBER(x) x
#else
#define NUMBER(x) x##f
#endif

/* The butterfly of the thread with these indices (PoCL 3.1 fails where only a function asks for them), number j of `butterflies`, and where its line begins; false: there is none. */
static inline bool place(LONG i0, LONG i1, LONG i2, int butterflies, LONG outer, int n, LONG inner, int *j, LONG *line)
{
    const bool rows = inner == 1;
    const LONG within = rows ? 0 : i0, of = rows ? i1 : i2;
    *j = rows ? i0 : i1;
    *line = of * n * inner + within;
    return within < inner && *j < butterflies && of < outer;
}

static inline REAL2 root(global const REAL2 *table, int t, REAL sign)
{
    const REAL2 w = table[t];
    return (REAL2)(w.x, -sign * w.y);
}

#ifdef RADIX
/* sign i a */
static inline REAL2 turned(REAL2 a, REAL sign)
{
    return (REAL2)(-sign * a.y, sign * a.x);
}

static inline void transform_2(REAL2 *a, REAL2 *b)
{
    const REAL2 sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}

static inline void transform_3(REAL2 *v, REAL sign)
{
    const REAL2 sum = v[1] + v[2], difference = NUMBER(0.86602540378443864676) * turned(v[1] - v[2], sign);
    const REAL2 middle = v[0] - NUMBER(0.5) * sum;
    v[0] += sum;
    v[1] = middle + difference;
    v[2] = middle - difference;
}

static inline void transform_4(REAL2 *a, REAL2 *b, REAL2 *c, REAL2 *d, REAL sign)
{
    transform_2(a, c);
    transform_2(b, d);
    const REAL2 sum = *a + *b, difference = *a - *b, odd = turned(*d, sign), even = *c;
    *a = sum;
    *b = even + odd;
    *c = difference;
    *d = even - odd;
}

static inline void transform_5(REAL2 *v, REAL sign)
{
    const REAL c1 = NUMBER(0.30901699437494742410), c2 = NUMBER(-0.80901699437494742410);
    const REAL s1 = NUMBER(0.95105651629515357212), s2 = NUMBER(0.58778525229247312917);
    const REAL2 near = v[1] + v[4], far = v[2] + v[3], near_odd = v[1] - v[4], far_odd = v[2] - v[3];
    const REAL2 even1 = v[0] + c1 * near + c2 * far, even2 = v[0] + c2 * near + c1 * far;
    const REAL2 odd1 = turned(s1 * near_odd + s2 * far_odd, sign), odd2 = turned(s2 * near_odd - s1 * far_odd, sign);
    v[0] += near + far;
    v[1] = even1 + odd1;
    v[2] = even2 + odd2;
    v[3] = even2 - odd2;
    v[4] = even1 - odd1;
}

static inline void transform_8(REAL2 *v, REAL sign)
{
    const REAL half_root = NUMBER(0.70710678118654752440);
    transform_4(&v[0], &v[2], &v[4], &v[6], sign);
    transform_4(&v[1], &v[3], &v[5], &v[7], sign);
    v[3] = half_root * (v[3] + turned(v[3], sign));
    v[5] = turned(v[5], sign);
    v[7] = half_root * (turned(v[7], sign) - v[7]);
    for (int q = 0; q < 8; q += 2)
        transform_2(&v[q], &v[q + 1]);
    const REAL2 in_order[8] = {v[0], v[2], v[4], v[6], v[1], v[3], v[5], v[7]};
    for (int q = 0; q < 8; q++)
        v[q] = in_order[q];
}

kernel void fft_pass(LONG outer, int n, LONG inner, int done, REAL sign, ARRAY(const REAL2, table), ARRAY(const REAL2, x), ARRAY(REAL2, y))
{
    OPEN(const REAL2, table);
    OPEN(const REAL2, x);
    OPEN(REAL2, y);
    const int butterflies = n / RADIX;
    LONG line;
    int j;
    if (!place(get_global_id(0), get_global_id(1), get_global_id(2), butterflies, outer, n, inner, &j, &line))
        return;
    const int before = j % done, step = butterflies / done * before;
    REAL2 v[RADIX];
    for (int q = 0; q < RADIX; q++)
        v[q] = x[line + (j + (LONG)q * butterflies) * inner];
    for (int q = 1; q < RADIX && before > 0; q++)
        v[q] = times(v[q], root(table, q * step, sign));
#if RADIX == 2
    transform_2(&v[0], &v[1]);
#elif RADIX == 3
    transform_3(v, sign);
#elif RADIX == 4
    transform_4(&v[0], &v[1], &v[2], &v[3], sign);
#elif RADIX == 5
    transform_5(v, sign);
#else
    transform_8(v, sign);
#endif
    for (int q = 0; q < RADIX; q++)
        y[line + ((LONG)(j / done) * done * RADIX + before + (LONG)q * done) * inner] = v[q];
}
#else
/* Adds to a sum whose rounding errors are kept in *lost (Kahan): the factors are many. */
static inline void add(REAL2 *sum, REAL2 *lost, REAL2 x)
{
    const REAL2 exact = x - *lost, next = *sum + exact;
    *lost = (next - *sum) - exact;
    *sum = next;
}

kernel void fft_prime_pass(LONG outer, int n, LONG inner, int done, REAL sign, ARRAY(const REAL2, table), ARRAY(const REAL2, x),
                           ARRAY(REAL2, y), int radix)
{
    OPEN(const REAL2, table);
    OPEN(const REAL2, x);
    OPEN(REAL2, y);
    const int butterflies = n / radix;
    LONG line;
    int output;
    if (!place(get_global_id(0), get_global_id(1), get_global_id(2), n, outer, n, inner, &output, &line))
        return;
    const int j = output % butterflies, q = output / butterflies, before = j % done;
    const LONG step = ((LONG)(butterflies / done) * before + (LONG)q * butterflies) % n;
    REAL2 sum = 0, lost = 0;
    LONG t = 0;
    for (int p = 0; p < radix; p++, t += t + step < n ? step : step - n)
        add(&sum, &lost, times(x[line + (j + (LONG)p * butterflies) * inner], root(table, t, sign)));
    y[line + ((LONG)(j / done) * done * radix + before + (LONG)q * done) * inner] = sum;
}
#endif
