/* The Fourier sum. Each thread has a point of the result, voxel or sample, and COILS vectors. Points are products of axes: a grid
 * has a table of positions for each axis, any other points have one axis of them all (the same index thrice). */
typedef struct fourier_points {
    long count;             /* points */
    long step[3], extent[3]; /* the index of point n along axis a: n / step % extent */
    long table[3];          /* where the axis begins in the table of factors */
    long field;             /* where time or off-resonance begins in the table, for each point; -1: none */
} fourier_points;

static inline FACTOR factor_of(const fourier_points *p, global const FACTOR *factors, int axis, long n)
{
    return factors[p->table[axis] + n / p->step[axis] % p->extent[axis]];
}

/* The indices of a point along the axes, and how many points are left until each moves on. Divisions of 64 bits in the sum's loop would
 * take longer than the waves. */
typedef struct walk {
    LONG at[3], left[3];
} walk;

static inline void walk_from_first(walk *w, const fourier_points *p)
{
    for (int a = 0; a < 3; a++) {
        w->at[a] = 0;
        w->left[a] = p->step[a];
    }
}

static inline void walk_on(walk *w, const fourier_points *p)
{
    for (int a = 0; a < 3; a++) {
        if (--w->left[a] > 0)
            continue;
        w->left[a] = p->step[a];
        w->at[a] = w->at[a] + 1 < p->extent[a] ? w->at[a] + 1 : 0;
    }
}

/* to[first, first + threads), of vectors with to_pitch elements, of which the result has those from `to_first` on. */
kernel void fourier_sum(fourier_points to, fourier_points from, LONG first, LONG last, LONG to_first, LONG to_pitch, REAL sign,
                        ARRAY(const FACTOR, to_factors), ARRAY(const FACTOR, from_factors), ARRAY(const REAL2, in), ARRAY(REAL2, out))
{
    OPEN(const FACTOR, to_factors);
    OPEN(const FACTOR, from_factors);
    OPEN(const REAL2, in);
    OPEN(REAL2, out);
    const LONG n = first + get_global_id(0);
    if (n >= last)
        return;
    const FACTOR x = factor_of(&to, to_factors, 0, n), y = factor_of(&to, to_factors, 1, n), z = factor_of(&to, to_factors, 2, n);
    FACTOR w = 0;
    if (to.field >= 0)
        w = to_factors[to.field + n];
    REAL2 high[COILS], low[COILS];
    for (int c = 0; c < COILS; c++)
        high[c] = low[c] = (REAL2)(0, 0);
    walk at;
    walk_from_first(&at, &from);
    for (LONG begin = 0; begin < from.count; begin += CHUNK) {
        const LONG end = min(begin + CHUNK, from.count);
        REAL2 sum[COILS];
        for (int c = 0; c < COILS; c++)
            sum[c] = (REAL2)(0, 0);
        for (LONG m = begin; m < end; m++, walk_on(&at, &from)) {
            TURNS turns = turns_of(x, from_factors[from.table[0] + at.at[0]]) + turns_of(y, from_factors[from.table[1] + at.at[1]]) +
                          turns_of(z, from_factors[from.table[2] + at.at[2]]);
            if (to.field >= 0)
                turns += turns_of(w, from_factors[from.field + m]);
            REAL2 wave = wave_of(turns);
            wave.y *= sign;
            for (int c = 0; c < COILS; c++)
                sum[c] += times(in[c * from.count + m], wave);
        }
        for (int c = 0; c < COILS; c++)
            add_exactly(&high[c], &low[c], sum[c]);
    }
    for (int c = 0; c < COILS; c++)
        out[c * to_pitch + n - to_first] = high[c] + low[c];
}
