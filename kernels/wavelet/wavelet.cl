/* Wavelet transforms: a kernel for each axis of each level, a thread for each pair of numbers; and sums over rows. */

/* Where the numbers of a box lie. With `has_coarse`, those below `limits` lie in an array of their own. */
typedef struct wavelet_field {
    long row, plane, has_coarse, coarse_row, coarse_plane, shift[3], limits[3];
} wavelet_field;

typedef struct wavelet_step {
    long counts[3], axis, inverse, soft; /* soft: whether there is a threshold */
    REAL scale, level, low[TAPS], high[TAPS];
} wavelet_step;

static inline bool is_coarse(const wavelet_field *f, const LONG q[3])
{
    return f->has_coarse && q[0] < f->limits[0] && q[1] < f->limits[1] && q[2] < f->limits[2];
}

static inline LONG place_of(const wavelet_field *f, const wavelet_step *s, const LONG q[3])
{
    LONG at[3];
    if (is_coarse(f, q))
        return q[2] * f->coarse_plane + q[1] * f->coarse_row + q[0];
    for (int a = 0; a < 3; a++)
        at[a] = q[a] < f->shift[a] ? q[a] - f->shift[a] + s->counts[a] : q[a] - f->shift[a];
    return at[2] * f->plane + at[1] * f->row + at[0];
}

static inline REAL2 value_at(const wavelet_field *f, const wavelet_step *s, const LONG q[3], global const REAL2 *data,
                             global const REAL2 *coarse)
{
    return (is_coarse(f, q) ? coarse : data)[place_of(f, s, q)];
}

static inline void put_value(const wavelet_field *f, const wavelet_step *s, const LONG q[3], global REAL2 *data,
                             global REAL2 *coarse, REAL2 value)
{
    if (is_coarse(f, q)) {
        coarse[place_of(f, s, q)] = value;
        return;
    }
    if (s->soft) {
        const REAL2 scaled = s->scale * value;
        const REAL magnitude = sqrt(scaled.x * scaled.x + scaled.y * scaled.y);
        value *= magnitude <= s->level ? 0 : 1 - s->level / magnitude;
    }
    data[place_of(f, s, q)] = value;
}

/* axis -1: to = from, for plans without levels. Else one level: of the fine side 2i and 2i + 1, of the bands i and centre + i. */
kernel void transform(wavelet_step s, LONG taps, wavelet_field from, wavelet_field to, ARRAY(const REAL2, in),
                      ARRAY(const REAL2, in_coarse), ARRAY(REAL2, out), ARRAY(REAL2, out_coarse))
{
    OPEN(const REAL2, in);
    OPEN(const REAL2, in_coarse);
    OPEN(REAL2, out);
    OPEN(REAL2, out_coarse);
    LONG extent[3] = {s.counts[0], s.counts[1], s.counts[2]};
    if (s.axis >= 0)
        extent[s.axis] /= 2;
    const LONG n = get_global_id(0);
    if (n >= extent[0] * extent[1] * extent[2])
        return;
    LONG q[3] = {n % extent[0], n / extent[0] % extent[1], n / extent[0] / extent[1]};
    if (s.axis < 0) {
        put_value(&to, &s, q, out, out_coarse, value_at(&from, &s, q, in, in_coarse));
        return;
    }
    const LONG i = q[s.axis], centre = extent[s.axis];
    REAL2 first = (REAL2)(0, 0), second = first;
    for (LONG m = 0; m < taps / 2; m++) {
        const LONG ahead = i + m < centre ? i + m : i + m - centre, back = i < m ? i - m + centre : i - m;
        for (int b = 0; b < 2; b++) {
            q[s.axis] = s.inverse ? back + b * centre : 2 * ahead + b;
            const REAL2 x = value_at(&from, &s, q, in, in_coarse);
            first += (s.inverse && b ? s.high[2 * m] : s.low[s.inverse ? 2 * m : 2 * m + b]) * x;
            second += (s.inverse ? (b ? s.high[2 * m + 1] : s.low[2 * m + 1]) : s.high[2 * m + b]) * x;
        }
    }
    q[s.axis] = s.inverse ? 2 * i : i;
    put_value(&to, &s, q, out, out_coarse, first);
    q[s.axis] = s.inverse ? 2 * i + 1 : centre + i;
    put_value(&to, &s, q, out, out_coarse, second);
}

/* ---- sums: a thread has a row ---- */

static inline void add_square(partial_sum *sum, REAL2 c)
{
    add_product(sum, c.x, c.x);
    add_product(sum, c.y, c.y);
}

/* |c| to twice the precision: the root, and what is left of the squares over twice the root. */
static inline void add_magnitude(partial_sum *sum, REAL2 c)
{
    const REAL most = fmax(fabs(c.x), fabs(c.y));
    const int power = most > 0 && isfinite(most) ? ilogb(most) : 0;
    const REAL x = ldexp(fabs(c.x), -power), y = ldexp(fabs(c.y), -power), a = x > y ? x : y, b = x > y ? y : x;
    const REAL aa = a * a, bb = b * b, root = sqrt(aa + bb), rr = root * root;
    /* a^2 - root^2 + b^2, the largest numbers first: without rounding; then what the products lost */
    const REAL rest = ((aa - rr) + bb) + (fma(a, a, -aa) + fma(b, b, -bb) - fma(root, root, -rr));
    add_number(sum, ldexp(root + (isnan(c.x) || isnan(c.y) ? NAN : 0), power));
    if (root > 0 && isfinite(root))
        add_number(sum, ldexp(rest / (2 * root), power));
}

kernel void add_magnitudes(LONG nx, LONG ny, LONG rows, LONG cx, LONG cy, LONG cz, ARRAY(const REAL2, c), ARRAY(partial_sum, sums))
{
    OPEN(const REAL2, c);
    OPEN(partial_sum, sums);
    const LONG row = get_global_id(0);
    if (row >= rows)
        return;
    partial_sum sum = no_sum();
    for (LONG x = row % ny < cy && row / ny < cz ? cx : 0; x < nx; x++)
        add_magnitude(&sum, c[row * nx + x]);
    sums[row] = sum;
}

typedef struct wavelet_support {
    long counts[3], padded[3], shift[3], split[3], taps;
} wavelet_support;

/* As vf_wavelet_range and vf_wavelet_counts. */
static inline bool coefficient_counts(const wavelet_support *s, global const REAL *weights, const LONG at[3])
{
    LONG first[3], extent[3];
    for (int a = 0; a < 3; a++) {
        const LONG n = s->padded[a], shifted = s->split[a] ? 2 * at[a] - n : at[a];
        if (shifted < 0)
            return false;
        first[a] = shifted < s->shift[a] ? shifted - s->shift[a] + n : shifted - s->shift[a];
        extent[a] = s->split[a] ? s->taps : 1;
        if (first[a] + extent[a] > s->counts[a])
            return false;
    }
    for (LONG n = 0; weights && n < extent[0] * extent[1] * extent[2]; n++) {
        const LONG x = first[0] + n % extent[0], y = first[1] + n / extent[0] % extent[1], z = first[2] + n / extent[0] / extent[1];
        if (!(weights[(z * s->counts[1] + y) * s->counts[0] + x] > 0))
            return false;
    }
    return true;
}

kernel void add_finest(wavelet_support s, ARRAY(const REAL, weights), ARRAY(const REAL2, c), ARRAY(partial_sum, sums),
                       ARRAY(LONG, numbers))
{
    OPEN(const REAL, weights);
    OPEN(const REAL2, c);
    OPEN(partial_sum, sums);
    OPEN(LONG, numbers);
    const LONG row = get_global_id(0);
    if (row >= s.padded[1] * s.padded[2])
        return;
    partial_sum sum = no_sum();
    LONG count = 0;
    for (LONG x = 0; x < s.padded[0]; x++) {
        const LONG at[3] = {x, row % s.padded[1], row / s.padded[1]};
        if (coefficient_counts(&s, weights, at)) {
            add_square(&sum, c[row * s.padded[0] + x]);
            count++;
        }
    }
    sums[row] = sum;
    numbers[row] = count;
}
