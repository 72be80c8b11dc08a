/* Vectors: a thread has an element; of sums, every get_global_size(0)-th. Complex numbers, PARTS = 2, need the alignment of their
 * parts only, so they are loaded as pairs. Where the parts are treated alike, n counts them. */
kernel void axpby(LONG n, REAL a, ARRAY(const REAL, x), REAL b, ARRAY(REAL, y))
{
    OPEN(const REAL, x);
    OPEN(REAL, y);
    const LONG i = get_global_id(0);
    if (i < n)
        y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

kernel void multiply_add(LONG n, ARRAY(const REAL, x), ARRAY(const REAL, y), ARRAY(REAL, z))
{
    OPEN(const REAL, x);
    OPEN(const REAL, y);
    OPEN(REAL, z);
    const LONG i = get_global_id(0);
    if (i >= n)
        return;
#if PARTS == 2
    vstore2(vload2(i, z) + conjugate_times(vload2(i, x), vload2(i, y)), i, z);
#else
    z[i] += x[i] * y[i];
#endif
}

kernel void scale_by(LONG n, ARRAY(const REAL, w), ARRAY(const REAL, x), ARRAY(REAL, y))
{
    OPEN(const REAL, w);
    OPEN(const REAL, x);
    OPEN(REAL, y);
    const LONG i = get_global_id(0);
    if (i < n)
        y[i] = w[i / PARTS] * x[i];
}

/* Per thread: the real part, and the imaginary part, which is 0 for real vectors. */
kernel void dot_product(LONG n, ARRAY(const REAL, x), ARRAY(const REAL, y), ARRAY(partial_sum, sums))
{
    OPEN(const REAL, x);
    OPEN(const REAL, y);
    OPEN(partial_sum, sums);
    const LONG thread = get_global_id(0);
    partial_sum re = no_sum(), im = no_sum();
    for (LONG i = thread; i < n; i += get_global_size(0)) {
        add_product(&re, x[PARTS * i], y[PARTS * i]);
#if PARTS == 2
        add_product(&re, x[2 * i + 1], y[2 * i + 1]);
        add_product(&im, x[2 * i], y[2 * i + 1]);
        add_product(&im, -x[2 * i + 1], y[2 * i]);
#endif
    }
    sums[2 * thread] = re;
    sums[2 * thread + 1] = im;
}

kernel void cg_step(LONG n, REAL a, ARRAY(const REAL, p), ARRAY(const REAL, q), ARRAY(REAL, x), ARRAY(REAL, r),
                    ARRAY(partial_sum, sums))
{
    OPEN(const REAL, p);
    OPEN(const REAL, q);
    OPEN(REAL, x);
    OPEN(REAL, r);
    OPEN(partial_sum, sums);
    const LONG thread = get_global_id(0);
    partial_sum squares = no_sum();
    for (LONG i = thread; i < n; i += get_global_size(0)) {
        const REAL rest = r[i] - a * q[i];
        x[i] += a * p[i];
        r[i] = rest;
        add_product(&squares, rest, rest);
    }
    sums[2 * thread] = squares;
    sums[2 * thread + 1] = no_sum();
}
