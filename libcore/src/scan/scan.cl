/* Scans in three kernels: the results of runs of `length` elements, a scan of these by one thread, and the runs again. IN, OUT: the
 * types of elements; SUM: what they are combined in; OP: a vf_scan_operator, in its order; REALS: SUM is REAL. */

/* The value, and of sums of reals the rounding errors beside it. */
typedef struct {
    SUM value, lost;
} state;

static inline void append(state *s, SUM x)
{
#if OP == 0 && defined(REALS)
    const SUM sum = s->value + x, part = sum - s->value, error = (s->value - (sum - part)) + (x - part);
    s->lost += isfinite(sum) ? error : 0;
    s->value = sum;
#elif OP == 0
    s->value += x;
#elif OP == 1
    s->value *= x;
#elif OP == 2
    s->value = s->value <= x || s->value != s->value ? s->value : x; /* the first of equal ones, or the first NaN */
#elif OP == 3
    s->value = s->value >= x || s->value != s->value ? s->value : x;
#elif OP == 4
    s->value &= x;
#else
    s->value |= x;
#endif
}

static inline SUM result_of(const state *s)
{
#if OP == 0 && defined(REALS)
    return s->value + s->lost;
#else
    return s->value;
#endif
}

/* states: of each run, or of its elements from the last head on; begins: whether it has a head. */
kernel void sum_runs(LONG n, LONG length, ARRAY(const IN, x), ARRAY(const uchar, head), ARRAY(state, states), ARRAY(int, begins))
{
    OPEN(const IN, x);
    OPEN(const uchar, head);
    OPEN(state, states);
    OPEN(int, begins);
    const LONG run = get_global_id(0), first = run * length, end = min(first + length, n);
    state s = {IDENTITY, 0};
    int begun = 0;
    if (first >= n)
        return;
    for (LONG i = first; i < end; i++) {
        if (head && head[i]) {
            s = (state){IDENTITY, 0};
            begun = 1;
        }
        append(&s, (SUM)x[i]);
    }
    states[run] = s;
    begins[run] = begun;
}

/* states: what is before each run. */
kernel void scan_runs(LONG runs, ARRAY(state, states), ARRAY(const int, begins))
{
    OPEN(state, states);
    OPEN(const int, begins);
    if (get_global_id(0) > 0)
        return;
    state s = {IDENTITY, 0};
    for (LONG run = 0; run < runs; run++) {
        const state next = states[run];
        states[run] = s;
        if (begins[run]) {
            s = next;
        } else {
            append(&s, next.value);
            s.lost += next.lost;
        }
    }
}

kernel void finish_runs(LONG n, LONG length, LONG exclusive, ARRAY(const IN, x), ARRAY(const uchar, head), ARRAY(const state, states),
                        ARRAY(OUT, y))
{
    OPEN(const IN, x);
    OPEN(const uchar, head);
    OPEN(const state, states);
    OPEN(OUT, y);
    const LONG run = get_global_id(0), first = run * length, end = min(first + length, n);
    if (first >= n)
        return;
    state s = states[run];
    for (LONG i = first; i < end; i++) {
        const SUM next = (SUM)x[i];
        if (head && head[i])
            s = (state){IDENTITY, 0};
        const SUM before = result_of(&s);
        append(&s, next);
        y[i] = (OUT)(exclusive ? before : result_of(&s)); /* y may be x */
    }
}
