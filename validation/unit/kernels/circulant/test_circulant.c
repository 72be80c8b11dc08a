/* Circulant matrices against their explicit sum, in double precision, on fresh random numbers.
 *
 * usage: test_circulant DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound. Parts of x are within [-1, 1], |m| <= M, L = log2 N, u the unit roundoff (2^-24 or 2^-53). A transform
 * of N numbers of root mean square r has an error of at most 10 (L + 1) u sqrt(N) r (test_fft_vector.c). Forward: 10
 * (L + 1) u sqrt(N). Times m / N, and as random numbers through the second transform: 10 (L + 1) u M. The second
 * transform's own rounding, of numbers of size M / sqrt(N): the same again. m / N and the product round to 2 u M
 * sqrt(2), a M x + b y to 4 u of both, of size at most 1.5. Together (20 (L + 1) + 16) u (|a| M + |b|). */
#include <complex.h>
#include <math.h>

#include "circulant.h"
#include "free_all.h"
#include "queue_fixture.h"

static double *random_numbers(int64_t count, double least)
{
    double *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = (double)(float)(least + (1 - least) * uniform());
    return v;
}

/* Complex numbers, to the device's memory in a precision and back. */
static vf_array upload(vf_dtype real, int64_t count, const double complex *values)
{
    vf_array to = {0}, host = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(real), count, &to));
    need(vf_array_create(device, VF_SPACE_PINNED, vf_dtype_complex(real), count, &host));
    for (int64_t n = 0; n < count; n++)
        if (real == VF_F64)
            ((double complex *)host.data)[n] = values[n];
        else
            ((float complex *)host.data)[n] = (float complex)values[n];
    need(vf_array_copy(queue, &to, &host, count));
    need(vf_queue_sync(queue));
    vf_array_free(&host);
    return to;
}

static void download(vf_array *from, vf_dtype real, double complex *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, vf_dtype_complex(real), from->count, &host));
    need(vf_array_copy(queue, &host, from, from->count));
    need(vf_queue_sync(queue));
    for (int64_t n = 0; n < from->count; n++)
        values[n] = real == VF_F64 ? ((double complex *)host.data)[n] : (double complex)((float complex *)host.data)[n];
    vf_array_free(&host);
    vf_array_free(from);
}

/* y = a M x + b y by the library, which must not change x. */
static void apply(vf_circulant *plan, vf_dtype real, int which, int64_t count, double a, const double complex *x,
                  double b, double complex *y)
{
    double complex *same = room(count, sizeof *same);
    vf_array in = upload(real, count, x), out = upload(real, count, y);
    need(vf_circulant_apply(plan, queue, which, a, in.data, b, out.data));
    download(&out, real, y);
    download(&in, real, same);
    assert_memory_equal(same, x, (size_t)count * sizeof *x);
    free(same);
}

static double complex *random_vector(int64_t count)
{
    double *v = random_numbers(2 * count, -1);
    return (double complex *)(void *)v;
}

static int64_t frequency(int64_t n, int64_t length)
{
    return n - length / 2;
}

/* exp(+i 2 pi k.n / N) for frequency number `f` and voxel number `v`. */
static double complex wave(const int64_t matrix[3], int64_t f, int64_t v)
{
    double turns = 0;
    for (int a = 0; a < 3; a++) {
        turns += (double)(frequency(f % matrix[a], matrix[a]) * (v % matrix[a]) % matrix[a]) / (double)matrix[a];
        f /= matrix[a];
        v /= matrix[a];
    }
    return cexp(2 * M_PI * I * turns);
}

/* M x by the sums of circulant.h. */
static void reference(const int64_t matrix[3], const double *m, const double complex *x, double complex *y)
{
    const int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    for (int64_t v = 0; v < voxels; v++)
        y[v] = 0;
    for (int64_t f = 0; f < voxels; f++) {
        double complex sum = 0;
        for (int64_t v = 0; v < voxels; v++)
            sum += x[v] * conj(wave(matrix, f, v));
        for (int64_t v = 0; v < voxels; v++)
            y[v] += m[f] * sum * wave(matrix, f, v) / (double)voxels;
    }
}

static double bound(vf_dtype real, int64_t voxels, double a, double b, double most)
{
    const double u = real == VF_F64 ? 0x1p-53 : 0x1p-24;
    return (20 * (log2((double)voxels) + 1) + 16) * u * (fabs(a) * most + fabs(b));
}

static const int64_t sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {1, 1, 4}, {5, 1, 1}, {8, 1, 7},
                                   {6, 4, 1}, {7, 5, 3}, {4, 3, 2}, {1, 9, 8}, {16, 5, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes, MATRICES = 3 };

/* Several matrices in one plan, set in one order and used in another, each against the sum. */
static void test_sum(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 2; kind++) {
            const int64_t *matrix = sizes[s], n = matrix[0] * matrix[1] * matrix[2];
            const vf_dtype real = kind ? VF_F64 : VF_F32;
            static const double a[MATRICES] = {1, -0.75, 2.5}, b[MATRICES] = {1, 0.5, -1.25},
                                most[MATRICES] = {1, 8, 1};
            double *m[MATRICES];
            vf_circulant *plan = NULL;
            need(vf_circulant_create(device, matrix, real, MATRICES, &plan));
            for (int i = MATRICES - 1; i >= 0; i--) {
                m[i] = random_numbers(n, -1);
                for (int64_t k = 0; k < n; k++)
                    m[i][k] *= most[i];
                need(vf_circulant_set(plan, queue, i, m[i]));
            }
            for (int i = 0; i < MATRICES; i++) {
                double complex *x = random_vector(n), *y = random_vector(n), *expected = room(n, sizeof *expected);
                double complex *got = room(n, sizeof *got);
                memcpy(got, y, (size_t)n * sizeof *y);
                reference(matrix, m[i], x, expected);
                apply(plan, real, i, n, a[i], x, b[i], got);
                const double limit = bound(real, n, a[i], b[i], most[i]);
                for (int64_t v = 0; v < n; v++) {
                    const double error = cabs(got[v] - (a[i] * expected[v] + b[i] * y[v]));
                    if (!(error <= limit))
                        fail_msg("%s, %lld x %lld x %lld, matrix %d, voxel %lld: off by %.3g, allowed %.3g",
                                 kind ? "double" : "single", (long long)matrix[0], (long long)matrix[1],
                                 (long long)matrix[2], i, (long long)v, error, limit);
                }
                FREE_ALL(x, y, expected, got);
            }
            for (int i = 0; i < MATRICES; i++)
                free(m[i]);
            vf_circulant_destroy(plan);
        }
}

/* b = 0 does not read y. Matrices are 0 until they are set, and a matrix may be set again. */
static void test_unread_and_unset(void **state)
{
    (void)state;
    const int64_t matrix[3] = {6, 5, 1}, n = 30;
    for (int kind = 0; kind < 2; kind++) {
        const vf_dtype real = kind ? VF_F64 : VF_F32;
        vf_circulant *plan = NULL;
        double *m = random_numbers(n, -1);
        double complex *x = random_vector(n), *y = room(n, sizeof *y), *expected = room(n, sizeof *expected);
        need(vf_circulant_create(device, matrix, real, 2, &plan));
        for (int round = 0; round < 3; round++) {
            for (int64_t v = 0; v < n; v++)
                y[v] = NAN + NAN * I;
            apply(plan, real, 1, n, 1, x, 0, y);
            reference(matrix, m, x, expected);
            for (int64_t v = 0; v < n; v++)
                if (!(cabs(y[v] - (round ? expected[v] : 0)) <= (round ? bound(real, n, 1, 0, 1) : 0)))
                    fail_msg("round %d, voxel %lld: %g%+gi", round, (long long)v, creal(y[v]), cimag(y[v]));
            for (int64_t k = 0; k < n; k++)
                m[k] = round ? -m[k] : m[k];
            need(vf_circulant_set(plan, queue, 1, m));
        }
        FREE_ALL(m, x, y, expected);
        vf_circulant_destroy(plan);
    }
}

/* If eigenvalues are real, <C x, y> = <x, C y>. Each sum has n terms, with errors of at most the bound times |y| or
 * |x|, 1.5; both together 3 n of it, 0.2 for the largest in single precision. For a matrix that is not self-adjoint
 * the sums differ by about sqrt(n), 64. */
static void test_self_adjoint(void **state)
{
    (void)state;
    static const int64_t matrices[][3] = {{16, 15, 1}, {9, 8, 7}, {31, 1, 1}, {64, 64, 1}};
    for (size_t s = 0; s < sizeof matrices / sizeof *matrices; s++)
        for (int kind = 0; kind < 2; kind++) {
            const int64_t *matrix = matrices[s], n = matrix[0] * matrix[1] * matrix[2];
            const vf_dtype real = kind ? VF_F64 : VF_F32;
            vf_circulant *plan = NULL;
            double *m = random_numbers(n, -1);
            double complex *x = random_vector(n), *y = random_vector(n), first = 0, second = 0;
            double complex *cx = room(n, sizeof *cx), *cy = room(n, sizeof *cy), *again = room(n, sizeof *again);
            need(vf_circulant_create(device, matrix, real, 1, &plan));
            need(vf_circulant_set(plan, queue, 0, m));
            apply(plan, real, 0, n, 1, x, 0, cx);
            apply(plan, real, 0, n, 1, y, 0, cy);
            apply(plan, real, 0, n, 1, x, 0, again);
            assert_memory_equal(again, cx, (size_t)n * sizeof *cx);
            for (int64_t v = 0; v < n; v++) {
                first += conj(cx[v]) * y[v];
                second += conj(x[v]) * cy[v];
            }
            const double limit = 2 * 1.5 * (double)n * bound(real, n, 1, 0, 1);
            if (!(cabs(first - second) <= limit))
                fail_msg("%lld voxels: off by %.3g, allowed %.3g", (long long)n, cabs(first - second), limit);
            FREE_ALL(m, x, y, cx, cy, again);
            vf_circulant_destroy(plan);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t matrix[3] = {2, 3, 1}, none[3] = {2, 0, 1};
    vf_circulant *plan = (void *)&queue;
    double m[6] = {1, 1, 1, 1, 1, 1};
    refused(vf_circulant_create(device, matrix, VF_F32, 0, &plan), "0 matrices");
    assert_null(plan);
    refused(vf_circulant_create(device, matrix, VF_C64, 1, &plan), "circulant");
    assert_int_equal(vf_circulant_create(device, none, VF_F32, 1, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    vf_context_clear_error(ctx);
    vf_circulant_destroy(NULL);
    need(vf_circulant_create(device, matrix, VF_F32, 2, &plan));
    const double complex x[6] = {1};
    vf_array in = upload(VF_F32, 6, x), out = upload(VF_F32, 6, x);
    refused(vf_circulant_set(plan, queue, 2, m), "matrix 2 of 2");
    refused(vf_circulant_set(plan, queue, -1, m), "matrix -1 of 2");
    refused(vf_circulant_apply(plan, queue, 2, 1, in.data, 0, out.data), "matrix 2 of 2");
    refused(vf_circulant_apply(plan, queue, -1, 1, in.data, 0, out.data), "matrix -1 of 2");
    refused(vf_circulant_apply(plan, queue, 0, 1, in.data, 1, in.data), "identical");
    refused(vf_circulant_apply(plan, queue, 0, 1, NULL, 0, out.data), "missing");
    refused(vf_circulant_apply(plan, queue, 0, 1, in.data, 0, NULL), "missing");
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e40};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int at = 0; at < 6; at += 5) {
            m[at] = bad[i];
            refused(vf_circulant_set(plan, queue, 0, m), "infinite or too large");
            m[at] = 1;
        }
    need(vf_circulant_set(plan, queue, 0, m));
    vf_array_free(&in);
    vf_array_free(&out);
    vf_circulant_destroy(plan);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_sum), cmocka_unit_test(test_unread_and_unset),
            cmocka_unit_test(test_self_adjoint), cmocka_unit_test(test_refusals))
