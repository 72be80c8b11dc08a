/* Reductions: a thread has a run of `length` elements, and the host combines the runs' results in order. ELEMENT: their type,
 * for complex numbers that of their PARTS; REALS says that it is REAL. REDUCTION: a vf_reduction. */
enum { SUM, DOT, SQUARES, MIN, MAX, PRODUCT, AND, OR };

typedef struct {
    ELEMENT value;
    long index;
} extreme;

#ifdef REALS
#ifdef REAL_IS_DOUBLE
typedef double factor;
#define FACTOR(x) x
#define TIMES(a, b) ((a) * (b))
#define MINUS(a, b) ((a) - (b))
#define PLUS(a, b) ((a) + (b))
#define STORE(x) ((partial_sum){x, 0})
#define FINITE(re, im, a, b)
#else
typedef partial_sum factor;
/* `special` of a real product is that of signs, zeros, infinities and NaN. */
static inline partial_sum FACTOR(float x)
{
    partial_sum s = no_sum();
    int power;
    const long number = number_of(x, &power);
    if (!is_special(x))
        add_scaled(&s, number, power);
    s.special = x == 0 || is_special(x) ? x : copysign(1.0f, x);
    return s;
}
/* Neither is negative zero, so a number of 0 needs no power. */
static inline partial_sum TIMES(partial_sum a, partial_sum b)
{
    partial_sum s = no_sum();
    add_scaled(&s, mul_hi(a.number * 2, b.number * 2), a.power + b.power + 62);
    s.special = a.special * b.special;
    return s;
}
static inline partial_sum PLUS(partial_sum a, partial_sum b)
{
    add_scaled(&a, b.number, b.power);
    return a;
}
static inline partial_sum MINUS(partial_sum a, partial_sum b)
{
    add_scaled(&a, -b.number, b.power);
    return a;
}
#define STORE(x) x
/* A complex product with a factor that is not finite is NaN: a and b are 0 if it is. */
#define FINITE(re, im, a, b) re.special = im.special = before.special + (a) + (b)
#endif

static inline void sum_of(LONG first, LONG end, global const REAL *x, global partial_sum *result)
{
    partial_sum part[2] = {no_sum(), no_sum()};
    for (LONG i = PARTS * first; i < PARTS * end; i++)
        add_number(&part[i % PARTS], x[i]);
    result[0] = part[0];
    result[1] = part[1];
}

static inline void product_of(LONG first, LONG end, global const REAL *x, global partial_sum *result)
{
    factor re = FACTOR(1), im = FACTOR(0);
    for (LONG i = first; i < end; i++) {
        const factor a = FACTOR(x[PARTS * i]);
#if PARTS == 2
        const factor b = FACTOR(x[2 * i + 1]), before = re;
        re = MINUS(TIMES(re, a), TIMES(im, b));
        im = PLUS(TIMES(before, b), TIMES(im, a));
        FINITE(re, im, x[2 * i] - x[2 * i], x[2 * i + 1] - x[2 * i + 1]);
#else
        re = TIMES(re, a);
#endif
    }
    result[0] = STORE(re);
    result[1] = STORE(im);
}
#else
static inline ulong combined(LONG first, LONG end, global const ELEMENT *x)
{
    ulong all = REDUCTION == PRODUCT ? 1 : REDUCTION == AND ? -1L : 0;
    for (LONG i = first; i < end; i++) {
        const ulong next = (ulong)(long)x[i];
        all = REDUCTION == SUM ? all + next : REDUCTION == PRODUCT ? all * next : REDUCTION == AND ? all & next : all | next;
    }
    return all;
}
#endif

static inline extreme extreme_of(LONG first, LONG end, global const ELEMENT *x)
{
    LONG best = first;
    for (LONG i = first + 1; i < end && x[best] == x[best]; i++)
        best = (REDUCTION == MIN ? x[i] >= x[best] : x[i] <= x[best]) ? best : i;
    return (extreme){x[best], best};
}

kernel void reduce(LONG n, LONG length, ARRAY(const ELEMENT, x), ARRAY(partial_sum, results))
{
    OPEN(const ELEMENT, x);
    OPEN(partial_sum, results);
    const LONG thread = get_global_id(0), first = thread * length, end = min(first + length, n);
    global partial_sum *result = results + 2 * thread;
    if (first >= n)
        return;
    if (REDUCTION == MIN || REDUCTION == MAX)
        *(global extreme *)result = extreme_of(first, end, x);
#ifdef REALS
    else if (REDUCTION == SUM)
        sum_of(first, end, x, result);
    else
        product_of(first, end, x, result);
#else
    else
        *(global ulong *)result = combined(first, end, x);
#endif
}
