/* Random images, coils and point spread functions for F^H W F: the library's result (between guards), the true result, and
 * the allowed distance.
 *
 * The bound, in the l2 norm, from the arithmetic. u is the unit roundoff (2^-24 or 2^-53), M the points of the
 * doubled grid, |.| the l2 norm, for one coil and segment.
 *   FFT       a transform with `stages` radix-2 stages has a relative error of at most stages * 6.7 u (Higham,
 *             Accuracy and Stability of Numerical Algorithms, 2002, theorem 24.2). A prime factor p > 2 as a plain
 *             product with the p x p matrix has sqrt(p) (p + 2) u, less than p such stages for p < 45; there are no
 *             larger ones here.
 *   forward, backward   each multiplies its input by such a factor; between them is max |P| <= |P| = sqrt(M) |Q|.
 *   kernel    the transform of Q, with the same relative error of |P| = sqrt(M) |Q|, at most, in each of its values.
 *   the rest  multiplications by map, e_l, turns and P, forward and back: 8 complex products of at most sqrt(5) u
 *     each, and the errors of e_l and the turns, at most 8 u each (two of each): 50 u, also of max |P|; taken as 64
 *     u.
 * Together,
 *     |error| <= (3 * 6.7 stages + 64) u sqrt(M) |Q| max |s| |s x|,
 * A GPU may pad the doubled grid (toeplitz_flow.cu), to 1.25 x 1.25 x 4 times as many points, with at most 14 stages along an
 * axis (400 = 2^4 5^2).
 * For several coils and segments it is the sum of that over them. Adding the c-th coil or segment to y costs another u of the sum
 * so far, which is less than the same. Second-order terms: 1 %. */
#ifndef TOEPLITZ_FIXTURE_H
#define TOEPLITZ_FIXTURE_H

#include <complex.h>
#include <math.h>

#include "device_fixture.h"
#include "free_all.h"
#include "toeplitz.h"

enum { GUARD = 64, MOST_SEGMENTS = 4, SAMPLES = 12 };

static inline double complex number(double re, double im)
{
    double parts[2] = {re, im};
    double complex v;
    memcpy(&v, parts, sizeof v);
    return v;
}

static inline double complex random_complex(void)
{
    double re = 2 * uniform() - 1;
    return number(re, 2 * uniform() - 1);
}

/* All values are doubles, already rounded to the problem's precision. */
typedef struct problem {
    int64_t matrix[3], doubled[3], voxels, points;
    int coils, segments;
    vf_dtype precision;
    double complex *q;    /* [segments][points] */
    double complex *maps; /* [coils][voxels] or NULL */
    double time[MOST_SEGMENTS];
    float *field; /* or NULL */
} problem;

/* volatile: GCC 12 with -O2 omits one of two such conversions when it vectorises them. */
static inline double complex rounded(vf_dtype precision, double complex v)
{
    volatile float re = (float)creal(v), im = (float)cimag(v);
    return precision == VF_F64 ? v : number((double)re, (double)im);
}

static inline double complex *random_vector(const problem *p, int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = rounded(p->precision, random_complex());
    return v;
}

/* Q_l(r) = sum_m w_m exp(i 2 pi k_m.r) for a few random samples with w >= 0; NaN at r = -1, which must not be used. */
static inline void random_kernel(const problem *p, double complex *q)
{
    double k[SAMPLES][3], w[SAMPLES];
    for (int m = 0; m < SAMPLES; m++) {
        w[m] = uniform();
        for (int a = 0; a < 3; a++)
            k[m][a] = (uniform() - 0.5) * (double)p->matrix[a];
    }
    for (int64_t n = 0; n < p->points; n++) {
        bool unused = false;
        double r[3];
        int64_t rest = n;
        for (int a = 0; a < 3; a++) {
            int64_t index = rest % p->doubled[a];
            rest /= p->doubled[a];
            unused |= p->matrix[a] > 1 && index == 0;
            r[a] = p->matrix[a] > 1 ? (double)(index - p->matrix[a]) / (double)p->matrix[a] : 0;
        }
        double complex sum = 0;
        for (int m = 0; m < SAMPLES; m++) {
            double angle = 2 * M_PI * (k[m][0] * r[0] + k[m][1] * r[1] + k[m][2] * r[2]);
            sum += w[m] * number(cos(angle), sin(angle));
        }
        q[n] = unused ? number(NAN, NAN) : rounded(p->precision, sum);
    }
}

static inline problem make_problem(int64_t nx, int64_t ny, int64_t nz, int coils, int segments, bool maps, bool field,
                                   vf_dtype precision)
{
    problem p = {
        .matrix = {nx, ny, nz}, .voxels = 1, .points = 1, .coils = coils, .segments = segments, .precision = precision};
    for (int a = 0; a < 3; a++) {
        p.doubled[a] = p.matrix[a] > 1 ? 2 * p.matrix[a] : 1;
        p.voxels *= p.matrix[a];
        p.points *= p.doubled[a];
    }
    p.q = room(p.points * segments, sizeof *p.q);
    for (int l = 0; l < segments; l++) {
        random_kernel(&p, p.q + l * p.points);
        p.time[l] = 0.02 * uniform() + 0.01 * l;
    }
    p.maps = maps ? random_vector(&p, coils * p.voxels) : NULL;
    p.field = field ? room(p.voxels, sizeof *p.field) : NULL;
    for (int64_t n = 0; field && n < p.voxels; n++)
        p.field[n] = (float)(400 * uniform() - 200);
    return p;
}

static inline void free_problem(problem *p)
{
    FREE_ALL(p->q, p->maps, p->field);
}

/* ---- the device's side ---- */

/* `count` elements in the device's memory, with GUARD elements of a pattern before and after them. */
/* ---- vectors on the host ---- */

static inline double roundoff(vf_dtype precision)
{
    return precision == VF_F64 ? 0x1p-53 : 0x1p-24;
}

static inline double complex inner(int64_t count, const double complex *x, const double complex *y)
{
    double complex sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += conj(x[n]) * y[n];
    return sum;
}

static inline double distance(int64_t count, const double complex *x, const double complex *y)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += creal((x[n] - y[n]) * conj(x[n] - y[n]));
    return sqrt(sum);
}

typedef struct guarded {
    vf_array all, host;
    int64_t count;
    void *data;
} guarded;

static inline void put(vf_array *host, int64_t at, double complex v)
{
    if (host->type == VF_C128)
        ((double complex *)host->data)[at] = v;
    else if (host->type == VF_C64)
        ((float complex *)host->data)[at] = (float complex)v;
    else if (host->type == VF_F64)
        ((double *)host->data)[at] = creal(v);
    else
        ((float *)host->data)[at] = (float)creal(v);
}

static inline double complex get(const vf_array *host, int64_t at)
{
    if (host->type == VF_C128)
        return ((const double complex *)host->data)[at];
    if (host->type == VF_C64)
        return ((const float complex *)host->data)[at];
    return host->type == VF_F64 ? ((const double *)host->data)[at] : ((const float *)host->data)[at];
}

/* Values NULL: NaN, so that unwritten values show. */
static inline guarded upload_elements(vf_queue *queue, vf_dtype type, int64_t count, const double complex *values)
{
    guarded g = {.count = count};
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count + 2 * GUARD, &g.all));
    need(vf_array_create(device, VF_SPACE_PINNED, type, count + 2 * GUARD, &g.host));
    for (int64_t n = -GUARD; n < count + GUARD; n++)
        put(&g.host, n + GUARD, n < 0 || n >= count ? 12345 + n : values ? values[n] : number(NAN, NAN));
    need(vf_array_copy(queue, &g.all, &g.host, g.all.count));
    need(vf_queue_sync(queue));
    g.data = (char *)g.all.data + GUARD * vf_dtype_bytes(type);
    return g;
}

static inline guarded upload(vf_queue *queue, vf_dtype precision, int64_t count, const double complex *values)
{
    return upload_elements(queue, vf_dtype_complex(precision), count, values);
}

/* Checks the guards, copies the values out (NULL: none) and frees the array. */
static inline void download(vf_queue *queue, guarded *g, double complex *values)
{
    need(vf_array_copy(queue, &g->host, &g->all, g->all.count));
    need(vf_queue_sync(queue));
    for (int64_t n = -GUARD; n < g->count + GUARD; n++)
        if (n < 0 || n >= g->count) {
            if (!(get(&g->host, n + GUARD) == 12345 + n))
                fail_msg("written to element %lld of %lld", (long long)n, (long long)g->count);
        } else if (values) {
            values[n] = get(&g->host, n + GUARD);
        }
    vf_array_free(&g->all);
    vf_array_free(&g->host);
}

typedef struct running {
    const problem *p;
    vf_toeplitz *plan;
    vf_queue *queue;
    guarded maps;
} running;

static inline running start(const problem *p, const char *variant)
{
    running r = {.p = p};
    vf_toeplitz_options o = {.precision = p->precision,
                             .segments = p->segments,
                             .time = p->field ? p->time : NULL,
                             .field = p->field,
                             .variant = variant};
    int64_t doubled[3];
    need(vf_toeplitz_create(device, p->matrix, &o, &r.plan));
    need(vf_queue_create(device, &r.queue));
    vf_toeplitz_doubled(r.plan, doubled);
    assert_memory_equal(doubled, p->doubled, sizeof doubled);
    assert_true(vf_toeplitz_bytes(r.plan) >=
                p->points * p->segments * (int64_t)vf_dtype_bytes(vf_dtype_real(p->precision)));
    for (int l = 0; l < p->segments; l++) {
        guarded q = upload(r.queue, p->precision, p->points, p->q + l * p->points);
        need(vf_toeplitz_set(r.plan, r.queue, l, q.data));
        download(r.queue, &q, NULL);
    }
    if (p->maps)
        r.maps = upload(r.queue, p->precision, p->coils * p->voxels, p->maps);
    return r;
}

static inline void apply(const running *r, const double complex *x, double complex *y)
{
    const problem *p = r->p;
    guarded in = upload(r->queue, p->precision, p->voxels, x), out = upload(r->queue, p->precision, p->voxels, NULL);
    need(vf_toeplitz_apply(r->plan, r->queue, p->coils, p->maps ? r->maps.data : NULL, in.data, out.data));
    double complex *same = room(p->voxels, sizeof *same);
    download(r->queue, &in, same);
    if (memcmp(same, x, (size_t)p->voxels * sizeof *x) != 0)
        fail_msg("the input was written to");
    free(same);
    download(r->queue, &out, y);
}

static inline void stop(running *r)
{
    if (r->p->maps)
        download(r->queue, &r->maps, NULL);
    vf_toeplitz_destroy(r->plan);
    vf_queue_destroy(r->queue);
}

static inline void run(const problem *p, const char *variant, const double complex *x, double complex *y)
{
    running r = start(p, variant);
    apply(&r, x, y);
    stop(&r);
}

/* ---- the true result ---- */

static inline double norm(int64_t count, const double complex *v)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += creal(v[n] * conj(v[n]));
    return sqrt(sum);
}

/* The place of n - m in Q_l. */
static inline int64_t kernel_index(const problem *p, int64_t n, int64_t m)
{
    int64_t index = 0, stride = 1;
    for (int a = 0; a < 3; a++) {
        int64_t size = p->matrix[a];
        index += size > 1 ? (n % size - m % size + size) * stride : 0;
        n /= size;
        m /= size;
        stride *= p->doubled[a];
    }
    return index;
}

/* Q_l(n - m) */
static inline double complex kernel(const problem *p, int l, int64_t n, int64_t m)
{
    return p->q[l * p->points + kernel_index(p, n, m)];
}

static inline double complex seen(const problem *p, int c, int l, int64_t n)
{
    double complex s = p->maps ? p->maps[c * p->voxels + n] : 1;
    return p->field ? s * cexp(number(0, -2 * M_PI * p->time[l] * (double)p->field[n])) : s;
}

static inline void dense(const problem *p, const double complex *x, double complex *y)
{
    const int64_t *matrix = p->matrix;
    double complex *inner = room(p->voxels, sizeof *inner);
    memset(y, 0, (size_t)p->voxels * sizeof *y);
    for (int c = 0; c < p->coils; c++)
        for (int l = 0; l < p->segments; l++) {
            for (int64_t m = 0; m < p->voxels; m++)
                inner[m] = seen(p, c, l, m) * x[m];
            for (int64_t n = 0; n < p->voxels; n++) {
                const double complex *in = inner;
                double re = 0, im = 0;
                for (int64_t z = 0; z < matrix[2]; z++)
                    for (int64_t row = 0; row < matrix[1]; row++) {
                        /* Q_l(n - m) for the row's first voxel m; along x, Q runs backwards. */
                        const int64_t first = (z * matrix[1] + row) * matrix[0];
                        const double complex *q = p->q + l * p->points + kernel_index(p, n, first);
                        for (int64_t i = 0; i < matrix[0]; i++, q--, in++) { /* no NaN: plain products */
                            re += creal(*q) * creal(*in) - cimag(*q) * cimag(*in);
                            im += creal(*q) * cimag(*in) + cimag(*q) * creal(*in);
                        }
                    }
                y[n] += conj(seen(p, c, l, n)) * number(re, im);
            }
        }
    free(inner);
}

static inline double stages(int64_t n)
{
    double sum = 0;
    for (int64_t prime = 2; n > 1; prime++)
        for (; n % prime == 0; n /= prime)
            sum += prime == 2 ? 1 : (double)prime;
    return sum;
}

/* See the head of the file; `factor` false: for |x| = 1 and |s| = 1, to compare with the result for given maps. */
static inline double bound(const problem *p, const double complex *x)
{
    double u = p->precision == VF_F64 ? 0x1p-53 : 0x1p-24, depth = 0, sum = 0, points = (double)p->points;
    bool padded = false;
    for (int a = 0; a < 3; a++)
        padded = padded || (!vf_device_is_host(device) && (p->doubled[a] & (p->doubled[a] - 1)) != 0);
    for (int a = 0; a < 3; a++)
        depth += fmax(stages(p->doubled[a]), padded ? 14 : 0);
    points *= padded ? 1.25 * 1.25 * 4 : 1;
    for (int l = 0; l < p->segments; l++) {
        double q = 0;
        for (int64_t n = 0; n < p->points; n++) {
            double size = cabs(p->q[l * p->points + n]);
            q += isnan(size) ? 0 : size * size;
        }
        for (int c = 0; c < p->coils; c++) {
            double largest = 0, inside = 0;
            for (int64_t n = 0; n < p->voxels; n++) {
                double s = cabs(seen(p, c, l, n)), sx = s * cabs(x[n]);
                largest = fmax(largest, s);
                inside += sx * sx;
            }
            sum += sqrt(q) * largest * sqrt(inside);
        }
    }
    return 1.01 * (3 * 6.7 * depth + 64) * u * sqrt(points) * sum;
}

static inline void check_near(const problem *p, const char *what, const double complex *got,
                              const double complex *expected, double limit)
{
    double sum = 0;
    for (int64_t n = 0; n < p->voxels; n++)
        sum += pow(cabs(got[n] - expected[n]), 2);
    if (!(sqrt(sum) <= limit))
        fail_msg("%s, %s, %lld x %lld x %lld, %d coils, %d segments: off by %.3g of %.3g, allowed %.3g", what,
                 p->precision == VF_F64 ? "double" : "single", (long long)p->matrix[0], (long long)p->matrix[1],
                 (long long)p->matrix[2], p->coils, p->segments, sqrt(sum), norm(p->voxels, expected), limit);
}

#endif
