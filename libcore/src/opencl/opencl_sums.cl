/* Sums with the error and the range of double precision, for devices without it, too. A partial_sum has 16 bytes in both precisions;
 * vf_opencl_total adds them up.
 *
 * In single precision: an integer of 61 bits times a power of two. Products of floats are exact, and an addition loses less than
 * 2^-58 of the larger number. Infinities and NaN are added up apart. In double precision: a number, and the sum of its roundings. */
#ifdef REAL_IS_DOUBLE
typedef struct {
    double sum, lost;
} partial_sum;

static inline partial_sum no_sum(void)
{
    return (partial_sum){0, 0};
}
static inline void add_number(partial_sum *s, double x)
{
    const double sum = s->sum + x, added = sum - s->sum;
    s->lost += (s->sum - (sum - added)) + (x - added);
    s->sum = sum;
}
static inline void add_product(partial_sum *s, double x, double y)
{
    add_number(s, x * y);
}
/* The sum, rounded. */
static inline double sum_value(const partial_sum *s)
{
    return isfinite(s->sum) ? s->sum + s->lost : s->sum;
}
#else
typedef struct {
    long number;
    int power;
    float special;
} partial_sum;

static inline partial_sum no_sum(void)
{
    return (partial_sum){0, -2000, 0};
}
static inline bool is_special(float x)
{
    return (as_uint(x) >> 23 & 255) == 255;
}
/* x = number 2^power; subnormal numbers, too. */
static inline long number_of(float x, int *power)
{
    const uint bits = as_uint(x), field = bits >> 23 & 255;
    const long size = (bits & 0x7fffff) | (field ? 0x800000 : 0);
    *power = (field ? (int)field : 1) - 150;
    return bits >> 31 ? -size : size;
}
/* Adds number 2^power, |number| < 2^60. */
static inline void add_scaled(partial_sum *s, long number, int power)
{
    if (number == 0)
        return;
    const int room = (int)clz(abs(number)) - 4; /* now 2^59 <= |number| < 2^60 */
    number *= 1L << room;
    power -= room;
    const int behind = s->power - power;
    if (behind >= 0) {
        number = behind > 62 ? 0 : number >> behind;
    } else {
        s->number = behind < -62 ? 0 : s->number >> -behind;
        s->power = power;
    }
    s->number += number;
    if (abs(s->number) >= 1UL << 61) {
        s->number >>= 1;
        s->power++;
    }
}
static inline void add_number(partial_sum *s, float x)
{
    int power;
    const long number = number_of(x, &power);
    if (is_special(x))
        s->special += x;
    else
        add_scaled(s, number, power);
}
static inline void add_product(partial_sum *s, float x, float y)
{
    int of_x, of_y;
    const long number = number_of(x, &of_x) * number_of(y, &of_y);
    if (is_special(x) || is_special(y))
        s->special += x * y;
    else
        add_scaled(s, number, of_x + of_y);
}
static inline float sum_value(const partial_sum *s)
{
    return s->special == 0 ? ldexp((float)s->number, s->power) : s->special;
}
#endif
