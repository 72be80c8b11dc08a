/* Cosine matrices against their explicit sum, in double precision, on fresh random numbers.
 *
 * usage: test_cosine DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound. Parts of x are within [-1, 1] and |m| <= 1, so |x| <= sqrt(2 n) for n voxels; u is the unit roundoff (2^-24 or
 * 2^-53). A product with an orthogonal matrix of N numbers a side, itself rounded, has errors of at most (N + 1) u sum |d_k x_k|
 * in an element (matrix_product.h), in the 2-norm (N + 1) u sqrt(N) |x|, because the norm of |d| is at most its Frobenius norm
 * sqrt(N). There are two for each axis; m and the product with it round to 2 u. Together (2 sum_a (N_a + 1) sqrt(N_a) + 2) u
 * sqrt(2 n) to first order, for each voxel; 1 u more for the rest. Fast transforms round less. The largest below is 0.05 in single
 * precision, at 520 numbers in a row, and 1e-10 in double; elsewhere 4e-4 or less; a wrong index is off by about 1. */
#include <complex.h>
#include <math.h>

#include "cosine.h"
#include "free_all.h"
#include "queue_fixture.h"

static double *random_numbers(int64_t count)
{
    double *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = (double)(float)(2 * uniform() - 1);
    return v;
}

/* M x by the library. In place, or not, where it must not change x. */
static void apply(vf_cosine *plan, vf_dtype real, int64_t count, bool in_place, const double *x, double *y)
{
    const vf_dtype type = vf_dtype_complex(real);
    vf_array host = {0}, in = {0}, out = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, &in));
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, &out));
    for (int64_t i = 0; i < 2 * count; i++)
        if (real == VF_F64)
            ((double *)host.data)[i] = x[i];
        else
            ((float *)host.data)[i] = (float)x[i];
    need(vf_array_copy(queue, &in, &host, count));
    need(vf_cosine_apply(plan, queue, in.data, in_place ? in.data : out.data));
    need(vf_array_copy(queue, &host, in_place ? &in : &out, count));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < 2 * count; i++)
        y[i] = real == VF_F64 ? ((double *)host.data)[i] : (double)((float *)host.data)[i];
    need(vf_array_copy(queue, &host, &in, count));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < 2 * count && !in_place; i++)
        assert_true((real == VF_F64 ? ((double *)host.data)[i] : (double)((float *)host.data)[i]) == x[i]);
    vf_array_free(&host);
    vf_array_free(&in);
    vf_array_free(&out);
}

/* d_k(v) for mode number `k` and voxel number `v`. */
static double mode(const int64_t counts[3], int64_t k, int64_t v)
{
    double value = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = counts[a], q = k % n;
        value *= sqrt((q > 0 ? 2.0 : 1.0) / (double)n) * cos(M_PI * (double)q * ((double)(v % n) + 0.5) / (double)n);
        k /= n;
        v /= n;
    }
    return value;
}

static void reference(const int64_t counts[3], const double *m, const double complex *x, double complex *y)
{
    const int64_t voxels = counts[0] * counts[1] * counts[2];
    for (int64_t v = 0; v < voxels; v++)
        y[v] = 0;
    for (int64_t k = 0; k < voxels; k++) {
        double complex sum = 0;
        for (int64_t v = 0; v < voxels; v++)
            sum += mode(counts, k, v) * x[v];
        for (int64_t v = 0; v < voxels; v++)
            y[v] += m[k] * sum * mode(counts, k, v);
    }
}

static const int64_t sizes[][3] = {{1, 1, 1},  {2, 1, 1},  {1, 3, 1},  {1, 1, 4},  {5, 1, 1},  {8, 1, 7},
                                   {6, 4, 1},  {7, 5, 3},  {4, 3, 2},  {1, 9, 8},  {16, 5, 1}, {5, 6, 7},
                                   {20, 3, 5}, {3, 19, 4}, {34, 1, 9}, {520, 1, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_sum(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int c = 0; c < (sizes[s][0] > 100 ? 4 : 16); c++) { /* long sums, for each kind only */
            const int kind = c % 4,
                      constant = c / 2; /* bits: axes along which m does not vary, which need no transform */
            const int64_t *counts = sizes[s], n = counts[0] * counts[1] * counts[2];
            const vf_dtype real = kind % 2 ? VF_F64 : VF_F32;
            double limit = 3;
            for (int a = 0; a < 3; a++)
                limit += 2 * ((double)counts[a] + 1) * sqrt((double)counts[a]);
            limit *= (real == VF_F64 ? 0x1p-53 : 0x1p-24) * sqrt(2 * (double)n);
            double *m = random_numbers(n), *x = random_numbers(2 * n), *got = room(2 * n, sizeof *got);
            double complex *expected = room(n, sizeof *expected);
            for (int64_t v = 0; v < n; v++) {
                int64_t from = 0, step = 1;
                for (int a = 0; a < 3; step *= counts[a++])
                    from += constant >> a & 1 ? 0 : v / step % counts[a] * step;
                m[v] = m[from];
            }
            vf_cosine *plan = NULL;
            need(vf_cosine_create(device, counts, real, &plan));
            apply(plan, real, n, kind / 2, x, got);
            for (int64_t i = 0; i < 2 * n; i++)
                assert_true(got[i] == 0); /* until the matrix is set */
            need(vf_cosine_set(plan, queue, m));
            apply(plan, real, n, kind / 2, x, got);
            reference(counts, m, (const double complex *)(const void *)x, expected);
            for (int64_t v = 0; v < n; v++) {
                const double error = cabs(got[2 * v] + I * got[2 * v + 1] - expected[v]);
                if (!(error <= limit))
                    fail_msg("%lld x %lld x %lld, kind %d, constant along %d, voxel %lld: off by %.3g, allowed %.3g",
                             (long long)counts[0], (long long)counts[1], (long long)counts[2], kind, constant,
                             (long long)v, error, limit);
            }
            vf_cosine_destroy(plan);
            FREE_ALL(m, x, got, expected);
        }
}

/* |f_a| is even, and linear between two frequencies: mode k gets k_a / 2, exactly, because the sums are of small integers. A
 * factor for positive frequencies, and 2 less it for negative ones, cancels, except at -N/2, which has no partner. */
static void test_spectrum(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const int64_t *counts = sizes[s], n = counts[0] * counts[1] * counts[2];
        double *m = room(n, sizeof *m);
        for (int a = 0; a < 3; a++)
            for (int odd = 0; odd < 2; odd++) {
                const int64_t step = a > 0 ? (a > 1 ? counts[0] * counts[1] : counts[0]) : 1;
                for (int64_t i = 0; i < n; i++) {
                    const int64_t f = i / step % counts[a] - counts[a] / 2;
                    const double factor = odd && 2 * f != -counts[a] && f != 0 ? (f > 0 ? 0.75 : 1.25) : 1;
                    m[i] = factor * (double)(f < 0 ? -f : f);
                }
                need(vf_cosine_spectrum(ctx, counts, m));
                for (int64_t i = 0; i < n; i++)
                    if (!(m[i] == (double)(i / step % counts[a]) / 2))
                        fail_msg("%lld x %lld x %lld, axis %d, mode %lld: %g", (long long)counts[0],
                                 (long long)counts[1], (long long)counts[2], a, (long long)i, m[i]);
            }
        free(m);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t counts[3] = {2, 3, 1}, none[3] = {2, 0, 1};
    vf_cosine *plan = (void *)&queue;
    double m[6] = {1, 1, 1, 1, 1, 1};
    refused(vf_cosine_create(device, counts, VF_C64, &plan), "not supported");
    assert_null(plan);
    refused(vf_cosine_create(device, none, VF_F32, &plan), "2 x 0 x 1");
    vf_cosine_destroy(NULL);
    need(vf_cosine_create(device, counts, VF_F32, &plan));
    refused(vf_cosine_apply(plan, queue, NULL, &plan), "missing");
    refused(vf_cosine_apply(plan, queue, &plan, NULL), "missing");
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e40};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int at = 0; at < 6; at += 5) {
            m[at] = bad[i];
            refused(vf_cosine_set(plan, queue, m), "infinite or too large");
            m[at] = 1;
        }
    need(vf_cosine_set(plan, queue, m));
    vf_cosine_destroy(plan);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sum), cmocka_unit_test(test_spectrum),
            cmocka_unit_test(test_refusals))
