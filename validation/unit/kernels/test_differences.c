/* Gradients and their adjoints, group soft thresholds and norms: against the definitions in double precision, and by
 * properties that need no reference, on fresh random numbers.
 *
 * usage: test_differences DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bounds. u is the unit roundoff, 2^-24 or 2^-53; inputs are exact in the precision.
 *   Gradients: a value is a sum of at most 8 inputs with factors 1 or 1/2, which are exact: at most 8 additions,
 *   |error| <= 8 u (sum of |terms|) <= 8 u 8, for |parts| <= 1. 1 % for second-order terms.
 *   Thresholds: r and the factor are in double precision, U = 2^-53. The sum over G groups has a relative error of
 *   (G + 3) U, r half of that plus 1 U, and threshold / r (G / 2 + 4) U. So the factor 1 - threshold / r has an
 *   absolute error of (G / 2 + 5) U where threshold <= r, and also where the error moves r across the threshold. With
 *   the product and the reference's own error, |error| <= (G + 12) U |v| + u |z|.
 *   Norms: each r has a relative error of (G / 2 + 3) U, and the sum of n adds n U: (n + G + 6) U sum. */
#include <math.h>

#include "differences_backend.h"
#include "free_all.h"
#include "queue_fixture.h"

enum { GUARD = 64 };

static double roundoff(vf_dtype type)
{
    return type == VF_C128 ? 0x1p-53 : 0x1p-24;
}

/* `count` random complex numbers, parts in [-1, 1], exact in both precisions. */
static double *random_numbers(int64_t count)
{
    double *v = room(2 * count, sizeof *v);
    for (int64_t n = 0; n < 2 * count; n++) {
        volatile float single = (float)(2 * uniform() - 1);
        v[n] = (double)single;
    }
    return v;
}

/* ---- the device's side ---- */

/* Complex numbers in the device's memory, with GUARD parts of a pattern before and after them. */
typedef struct guarded {
    vf_array all, host;
    int64_t parts;
    void *data;
} guarded;

static guarded upload(vf_dtype type, int64_t count, const double *values)
{
    const vf_dtype real = vf_dtype_real(type);
    guarded g = {.parts = 2 * count};
    need(vf_array_create(device, VF_SPACE_DEVICE, real, g.parts + 2 * GUARD, &g.all));
    need(vf_array_create(device, VF_SPACE_PINNED, real, g.parts + 2 * GUARD, &g.host));
    for (int64_t n = -GUARD; n < g.parts + GUARD; n++) {
        const double v = n >= 0 && n < g.parts ? (values ? values[n] : NAN) : 12345 + (double)n;
        if (real == VF_F64)
            ((double *)g.host.data)[n + GUARD] = v;
        else
            ((float *)g.host.data)[n + GUARD] = (float)v;
    }
    need(vf_array_copy(queue, &g.all, &g.host, g.all.count));
    need(vf_queue_sync(queue));
    g.data = vf_array_at(&g.all, GUARD);
    return g;
}

/* Checks the guards, copies the values out and frees the array. */
static void download(guarded *g, double *values)
{
    need(vf_array_copy(queue, &g->host, &g->all, g->all.count));
    need(vf_queue_sync(queue));
    for (int64_t n = -GUARD; n < g->parts + GUARD; n++) {
        const double v =
            g->host.type == VF_F64 ? ((double *)g->host.data)[n + GUARD] : (double)((float *)g->host.data)[n + GUARD];
        if (n >= 0 && n < g->parts)
            values[n] = v;
        else if (!(v == 12345 + (double)n))
            fail_msg("written to part %lld of %lld", (long long)n, (long long)g->parts);
    }
    vf_array_free(&g->all);
    vf_array_free(&g->host);
}

static void must_be_same(const double *a, const double *b, int64_t parts, const char *what)
{
    if (memcmp(a, b, (size_t)parts * sizeof *a) != 0)
        fail_msg("%s", what);
}

/* ---- gradients ---- */

typedef struct gradient {
    const char *name;
    vf_status (*apply)(vf_queue *queue, vf_dtype type, const int64_t counts[4], unsigned axes, const void *in,
                       void *out);
    void (*ref)(const int64_t counts[4], unsigned axes, const double *in, double *out);
    bool symmetric, adjoint;
} gradient;

static const gradient gradients[] = {
    {"D", vf_differences_forward, vf_differences_ref, false, false},
    {"D^H", vf_differences_adjoint, vf_differences_adjoint_ref, false, true},
    {"E", vf_symmetric_gradient_forward, vf_symmetric_gradient_ref, true, false},
    {"E^H", vf_symmetric_gradient_adjoint, vf_symmetric_gradient_adjoint_ref, true, true},
};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

static int64_t voxels(const int64_t counts[4])
{
    return counts[0] * counts[1] * counts[2] * counts[3];
}

/* Complex numbers of the operator's domain, or of its codomain. */
static int64_t numbers(const gradient *g, const int64_t counts[4], unsigned axes, bool domain)
{
    const int d = vf_differences_components(axes), e = vf_symmetric_gradient_components(axes);
    const int image = g->symmetric ? d : 1, field = g->symmetric ? e : d;
    return (domain != g->adjoint ? image : field) * voxels(counts);
}

static double *apply(const gradient *g, vf_dtype type, const int64_t counts[4], unsigned axes, const double *x)
{
    const int64_t n = numbers(g, counts, axes, true), m = numbers(g, counts, axes, false);
    guarded in = upload(type, n, x), out = upload(type, m, NULL);
    double *same = room(2 * n, sizeof *same), *y = room(2 * m, sizeof *y);
    need(g->apply(queue, type, counts, axes, in.data, out.data));
    download(&in, same);
    must_be_same(same, x, 2 * n, "the input was written to");
    download(&out, y);
    free(same);
    return y;
}

static const int64_t sizes[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1},  {1, 1, 2, 1},    {1, 1, 1, 2},
                                   {5, 1, 1, 3}, {1, 7, 1, 2}, {4, 3, 1, 1},  {3, 4, 5, 2},    {17, 1, 3, 4},
                                   {2, 2, 2, 2}, {8, 4, 2, 5}, {33, 5, 3, 1}, {129, 11, 2, 5}, {3, 257, 2, 3}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_against_definition(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (unsigned axes = 1; axes < 16; axes++)
            for (int kind = 0; kind < 2 * GRADIENTS; kind++) {
                const gradient *g = &gradients[kind / 2];
                const vf_dtype type = kind % 2 ? VF_C128 : VF_C64;
                if (!has_precision(type))
                    continue;
                const int64_t n = numbers(g, sizes[s], axes, true), m = numbers(g, sizes[s], axes, false);
                const double allowed = 1.01 * 64 * roundoff(type);
                double *x = random_numbers(n), *expected = room(2 * m, sizeof *expected);
                double *y = apply(g, type, sizes[s], axes, x);
                g->ref(sizes[s], axes, x, expected);
                for (int64_t i = 0; i < 2 * m; i++)
                    if (!(fabs(y[i] - expected[i]) <= allowed))
                        fail_msg("%s, size %d, axes %u: part %lld is %.9g instead of %.9g", g->name, s, axes,
                                 (long long)i, y[i], expected[i]);
                FREE_ALL(x, y, expected);
            }
}

static void inner(int64_t n, const double *x, const double *y, double result[2])
{
    result[0] = result[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        result[0] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
        result[1] += x[2 * i] * y[2 * i + 1] - x[2 * i + 1] * y[2 * i];
    }
}

/* <A x, y> = <x, A^H y>: each of the 2 (n + m) products has factors of at most 1 with the error above; the sums are
 * in double precision. */
static void test_adjoint(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (unsigned axes = 1; axes < 16; axes++)
            for (int kind = 0; kind < GRADIENTS; kind++) {
                const gradient *a = &gradients[kind / 2 * 2], *adjoint = a + 1;
                const vf_dtype type = kind % 2 ? VF_C128 : VF_C64;
                if (!has_precision(type))
                    continue;
                const int64_t n = numbers(a, sizes[s], axes, true), m = numbers(a, sizes[s], axes, false);
                double *x = random_numbers(n), *y = random_numbers(m), one[2], other[2];
                double *ax = apply(a, type, sizes[s], axes, x), *ay = apply(adjoint, type, sizes[s], axes, y);
                inner(m, ax, y, one);
                inner(n, x, ay, other);
                const double allowed = 1.01 * 64 * roundoff(type) * 2 * (double)(n + m);
                if (!(fabs(one[0] - other[0]) <= allowed && fabs(one[1] - other[1]) <= allowed))
                    fail_msg("%s, size %d, axes %u: %.9g%+.9gi and %.9g%+.9gi", a->name, s, axes, one[0], one[1],
                             other[0], other[1]);
                FREE_ALL(x, y, ax, ay);
            }
}

/* Values worked out by hand; small integers, so they are exact. x = 2 * 1 + 2 voxels; both operators along x and y. */
static void test_by_hand(void **state)
{
    (void)state;
    const int64_t counts[4] = {2, 2, 1, 1};
    const double x[8] = {1, 0, 4, 1, 10, 0, 20, 2};                                  /* 1, 4+i; 10, 20+2i */
    const double dx[16] = {3, 1, 0, 0, 10, 2, 0, 0, 9, 0, 16, 1, 0, 0, 0, 0};        /* along x; along y */
    const double v[16] = {1, 0, 3, 0, 7, 0, 15, 0, 100, 0, 300, 0, 700, 0, 1500, 2}; /* v_x; v_y */
    /* B_x v_x, B_y v_y, and the mean of B_y v_x = (0, 0; 6, 12) and B_x v_y = (0, 200; 0, 800 + 2i) */
    const double ev[24] = {0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 600, 0, 1200, 2, 0, 0, 100, 0, 3, 0, 406, 1};
    for (int kind = 0; kind < 1 + has_precision(VF_F64); kind++) {
        double *a = apply(&gradients[0], kind ? VF_C128 : VF_C64, counts, VF_ALONG_X | VF_ALONG_Y, x);
        double *b = apply(&gradients[2], kind ? VF_C128 : VF_C64, counts, VF_ALONG_X | VF_ALONG_Y, v);
        for (int i = 0; i < 16; i++)
            assert_true(a[i] == dx[i]);
        for (int i = 0; i < 24; i++)
            if (!(b[i] == ev[i]))
                fail_msg("part %d of E v: %g instead of %g", i, b[i], ev[i]);
        free(a);
        free(b);
    }
}

/* The bits do not depend on the number of threads. A NaN affects only its voxel and the neighbours. */
static void test_threads_and_nan(void **state)
{
    (void)state;
    const int64_t counts[4] = {40, 13, 7, 5}, n = voxels(counts);
    const int threads = vf_context_threads(ctx);
    for (int kind = 0; kind < 2 * GRADIENTS; kind++) {
        const gradient *g = &gradients[kind / 2];
        const int64_t all = numbers(g, counts, 15, true), m = numbers(g, counts, 15, false);
        const int64_t at[4] = {7, 12, 3, 2},
                      bad = ((at[3] * counts[2] + at[2]) * counts[1] + at[1]) * counts[0] + at[0];
        double *x = random_numbers(all), *first = NULL;
        for (int64_t c = 0; c < all / n; c++)
            x[2 * (c * n + bad)] = NAN;
        for (int t = 1; t <= 4; t++) {
            need(vf_context_set_threads(ctx, t));
            double *y = apply(g, kind % 2 && has_precision(VF_F64) ? VF_C128 : VF_C64, counts, 15, x);
            if (t > 1)
                must_be_same(y, first, 2 * m, "the bits depend on the number of threads");
            if (t > 1)
                free(y);
            else
                first = y;
        }
        int64_t spoilt = 0;
        for (int64_t i = 0; i < m; i++) {
            int64_t apart = 0, rest = i % n;
            for (int a = 0; a < 4; a++) {
                apart += llabs(rest % counts[a] - at[a]);
                rest /= counts[a];
            }
            spoilt += isnan(first[2 * i]) != 0;
            if ((apart > 1 && isnan(first[2 * i])) || isnan(first[2 * i + 1]))
                fail_msg("%s: number %lld is %g%+gi", g->name, (long long)i, first[2 * i], first[2 * i + 1]);
        }
        assert_true(spoilt > 0);
        free(x);
        free(first);
    }
    need(vf_context_set_threads(ctx, threads));
}

/* ---- thresholds and norms ---- */

static const int64_t lengths[] = {0, 1, 2, 3, 255, 256, 257, 1023, 1024, 1025, 20011};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static double *soft(vf_dtype type, int groups, int64_t n, const double *weights, double threshold, const double *v,
                    bool in_place)
{
    guarded in = upload(type, groups * n, v), out = upload(type, groups * n, NULL);
    double *same = room(2 * groups * n, sizeof *same), *z = room(2 * groups * n, sizeof *z);
    need(vf_group_soft(queue, type, groups, n, weights, threshold, in.data, in_place ? in.data : out.data));
    download(&in, same);
    download(&out, z);
    if (!in_place)
        must_be_same(same, v, 2 * groups * n, "the input was written to");
    else
        memcpy(z, same, 2 * (size_t)(groups * n) * sizeof *z);
    free(same);
    return z;
}

static double norm(vf_dtype type, int groups, int64_t n, const double *weights, const double *v)
{
    guarded in = upload(type, groups * n, v);
    double *same = room(2 * groups * n, sizeof *same), sum = NAN;
    need(vf_group_norm(queue, type, groups, n, weights, in.data, &sum));
    download(&in, same);
    free(same);
    return sum;
}

static void random_weights(int groups, double *weights)
{
    for (int g = 0; g < groups; g++)
        weights[g] = 0.1 + 3 * uniform();
}

static void test_groups_against_definition(void **state)
{
    (void)state;
    for (int l = 0; l < LENGTHS; l++)
        for (int kind = 0; kind < 12; kind++) {
            const vf_dtype type = kind & 1 ? VF_C128 : VF_C64;
            if (!has_precision(type))
                continue;
            const int64_t n = lengths[l];
            const int groups = kind / 4 == 0 ? 1 : 1 + (int)(uniform() * VF_MOST_GROUPS);
            double weights[VF_MOST_GROUPS], threshold = kind / 4 == 1 ? 0 : 2 * uniform() * sqrt(groups);
            const double *w = kind & 2 ? weights : NULL;
            const double u =
                has_precision(VF_F64) ? 0x1p-53 : 0x1p-24; /* of r and the factor: the widest that there is */
            random_weights(groups, weights);
            double *v = random_numbers(groups * n), *expected = room(2 * groups * n, sizeof *expected);
            for (int64_t i = 0; i < n; i += 5) /* points of 0 */
                for (int g = 0; g < groups; g++)
                    v[2 * (g * n + i)] = v[2 * (g * n + i) + 1] = 0;
            vf_group_soft_ref(groups, n, w, threshold, v, expected);
            double *z = soft(type, groups, n, w, threshold, v, false),
                   *in = soft(type, groups, n, w, threshold, v, true);
            must_be_same(z, in, 2 * groups * n, "in place gives other bits");
            for (int64_t i = 0; i < 2 * groups * n; i++)
                if (!(fabs(z[i] - expected[i]) <=
                      1.01 * ((groups + 12) * u * fabs(v[i]) + roundoff(type) * fabs(expected[i]))))
                    fail_msg("%d groups of %lld: part %lld is %.17g instead of %.17g", groups, (long long)n,
                             (long long)i, z[i], expected[i]);
            const double sum = norm(type, groups, n, w, v), right = vf_group_norm_ref(groups, n, w, v);
            if (!(fabs(sum - right) <= 1.01 * ((double)n + groups + 6) * u * right))
                fail_msg("%d groups of %lld: the norm is %.17g instead of %.17g", groups, (long long)n, sum, right);
            FREE_ALL(v, z, in, expected);
        }
}

/* threshold r(z) + 1/2 sum w |z - v|^2 at one point */
static double objective(int groups, const double *w, double threshold, const double *z, const double *v)
{
    double squares = 0, apart = 0;
    for (int i = 0; i < 2 * groups; i++) {
        squares += w[i / 2] * z[i] * z[i];
        apart += w[i / 2] * (z[i] - v[i]) * (z[i] - v[i]);
    }
    return threshold * sqrt(squares) + apart / 2;
}

/* z minimises the objective in the header. It is strongly convex: at the distance d (in the weighted norm) from the
 * minimum it is larger by at least d^2 / 2. Its rounding error is about 1e-14 here. So at random points around z, at
 * v and at 0, it must exceed the value at z by at least half of d^2 / 2. */
static void test_minimises(void **state)
{
    (void)state;
    enum { TRIES = 300 };
    if (!has_precision(VF_F64))
        skip();
    for (int try = 0; try < 200; try++) {
        const int groups = 1 + (int)(uniform() * 6);
        double w[VF_MOST_GROUPS], threshold = 1.5 * uniform() * sqrt(groups), other[2 * VF_MOST_GROUPS];
        random_weights(groups, w);
        double *v = random_numbers(groups), *z = soft(VF_C128, groups, 1, w, threshold, v, false);
        const double least = objective(groups, w, threshold, z, v);
        for (int t = 0; t < TRIES; t++) {
            const double size = pow(10, -6 * uniform());
            double far = 0;
            for (int i = 0; i < 2 * groups; i++) {
                other[i] = t == 0 ? 0 : t == 1 ? v[i] : z[i] + size * (2 * uniform() - 1);
                far += w[i / 2] * (other[i] - z[i]) * (other[i] - z[i]);
            }
            const double there = objective(groups, w, threshold, other, v);
            if (!(there >= least + far / 4 - 1e-14))
                fail_msg("%d groups, threshold %g: %.17g at %g, %.17g at z", groups, threshold, there, sqrt(far),
                         least);
        }
        free(v);
        free(z);
    }
}

/* z = 0 up to the threshold and at r = 0. A NaN affects only its point. Large and small numbers of single precision
 * keep their size, because r is in double precision. */
static void test_special_values(void **state)
{
    (void)state;
    enum { N = 6 };
    const double big = 0x1p126, small = 0x1p-140;
    const double v[4 * N] = {0, 0, NAN, 0, 3, 0, big,  0, small, 0, 0, -2, /* group 0 */
                             0, 0, 1,   2, 4, 0, -big, 0, 0,     0, 0, 0}; /* group 1 */
    for (int kind = 0; kind < 2; kind++)
        for (int t = 0; t < 2; t++) {
            const vf_dtype type = kind ? VF_C128 : VF_C64;
            if (!has_precision(type))
                continue;
            double *z = soft(type, 2, N, NULL, t ? 2.5 : 0, v, false);
            for (int i = 0; i < 4 * N; i++) {
                const int64_t at = i / 2 % N;
                const double expected = t && (at == 4 || at == 5) ? 0 : t && at == 2 ? v[i] / 2 : v[i];
                if (at == 1 ? !isnan(z[i]) : !(z[i] == expected))
                    fail_msg("part %d: %g instead of %g", i, z[i], expected);
            }
            free(z);
            assert_true(isnan(norm(type, 2, N, NULL, v)));
        }
}

static void test_group_threads(void **state)
{
    (void)state;
    const int64_t n = 30011;
    const int threads = vf_context_threads(ctx);
    double *v = random_numbers(3 * n), *first = NULL, sum = 0;
    for (int t = 1; t <= 4; t++) {
        need(vf_context_set_threads(ctx, t));
        double *z = soft(VF_C64, 3, n, NULL, 0.5, v, false), again = norm(VF_C64, 3, n, NULL, v);
        if (t == 1) {
            first = z;
            sum = again;
            continue;
        }
        must_be_same(z, first, 6 * n, "the bits depend on the number of threads");
        assert_memory_equal(&again, &sum, sizeof sum);
        free(z);
    }
    free(v);
    free(first);
    need(vf_context_set_threads(ctx, threads));
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t good[4] = {2, 1, 1, 1}, zero[4] = {2, 1, 0, 1}, huge[4] = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
    const double negative[2] = {1, -1}, none[2] = {0, 1}, bad[2] = {1, NAN};
    float x[8] = {0}, y[8] = {0};
    double sum;
    for (int g = 0; g < GRADIENTS; g++) {
        refused(gradients[g].apply(queue, VF_C64, zero, 1, x, y), "");
        refused(gradients[g].apply(queue, VF_C64, huge, 1, x, y), "");
        refused(gradients[g].apply(queue, VF_F32, good, 1, x, y), "");
        refused(gradients[g].apply(queue, VF_C64, good, 0, x, y), "");
        refused(gradients[g].apply(queue, VF_C64, good, 17, x, y), "");
        refused(gradients[g].apply(queue, VF_C64, good, 1, x, x), "");
        refused(gradients[g].apply(queue, VF_C64, good, 1, NULL, y), "");
    }
    refused(vf_group_soft(queue, VF_C64, 0, 2, NULL, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, VF_MOST_GROUPS + 1, 2, NULL, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, -1, NULL, 1, x, y), "");
    refused(vf_group_soft(queue, VF_F64, 2, 2, NULL, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, negative, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, none, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, bad, 1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, NULL, -1, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, NULL, NAN, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, NULL, INFINITY, x, y), "");
    refused(vf_group_soft(queue, VF_C64, 2, 2, NULL, 1, NULL, y), "");
    refused(vf_group_norm(queue, VF_C64, 2, 2, NULL, NULL, &sum), "");
    refused(vf_group_norm(queue, VF_C64, 2, 2, negative, x, &sum), "");
    assert_int_equal(vf_differences_components(13), 3);
    assert_int_equal(vf_symmetric_gradient_components(13), 6);
    assert_int_equal(vf_differences_components(16), 0);
    assert_int_equal(vf_symmetric_gradient_components(16), 0);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_against_definition), cmocka_unit_test(test_adjoint),
            cmocka_unit_test(test_by_hand), cmocka_unit_test(test_threads_and_nan),
            cmocka_unit_test(test_groups_against_definition), cmocka_unit_test(test_minimises),
            cmocka_unit_test(test_special_values), cmocka_unit_test(test_group_threads),
            cmocka_unit_test(test_refusals))
