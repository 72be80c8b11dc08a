/* The functions for small matrices in the coil stages, by their algebra. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "coil_fixture.h"
#include "free_all.h"
#include "test_main.h"
#include "voxfield/dense.h"

/* sum over k of values[k] u_k u_k^H, where u_k are the rows of u. */
static double complex *hermitian(int n, const double complex *u, const double *values)
{
    double complex *a = allocate((size_t)n * (size_t)n * sizeof *a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                a[i * n + j] += values[k] * u[k * n + i] * conj(u[k * n + j]);
        }
    return a;
}

/* Known eigenvalues, some of them equal, zero and negative. The residual of a backward stable method is a modest
 * multiple of n u times the norm; n * 1e-15 leaves a factor of 9. */
static void test_eigenvectors(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 8, 33, 128};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n = sizes[s];
        double *values = allocate((size_t)n * sizeof *values), *found = allocate((size_t)n * sizeof *found);
        double complex *u = random_unitary(n), *vectors = allocate((size_t)n * (size_t)n * sizeof *vectors);
        for (int k = 0; k < n; k++) /* largest first: 10, 10, 9, 8, ..., 0, 0, -1 */
            values[k] = k < 2 ? 10 : k == n - 1 ? -1 : fmax(11 - k, 0);
        double complex *a = hermitian(n, u, values), *copy = hermitian(n, u, values);
        vf_hermitian_eigen(n, copy, found, vectors);
        double tolerance = 10 * n * 1e-15;
        for (int k = 0; k < n; k++) {
            assert_near(found[k], values[k], tolerance);
            int largest = 0;
            for (int i = 0; i < n; i++) {
                double complex image = 0;
                for (int j = 0; j < n; j++)
                    image += a[i * n + j] * vectors[k * n + j];
                assert_near(cabs(image - found[k] * vectors[k * n + i]), 0, tolerance);
                largest = cabs(vectors[k * n + i]) > cabs(vectors[k * n + largest]) ? i : largest;
            }
            bool is_positive = false; /* of components that are equally large but for rounding, one is */
            for (int i = 0; i < n; i++)
                is_positive |= cabs(vectors[k * n + i]) >= (1 - 1e-14) * cabs(vectors[k * n + largest]) &&
                               cimag(vectors[k * n + i]) == 0 && creal(vectors[k * n + i]) > 0;
            assert_true(is_positive);
            for (int l = 0; l <= k; l++) {
                double complex dot = 0;
                for (int i = 0; i < n; i++)
                    dot += conj(vectors[l * n + i]) * vectors[k * n + i];
                assert_near(cabs(dot - (k == l)), 0, n * 1e-15);
            }
        }
        FREE_ALL(copy, a, vectors, u, found, values);
    }
}

/* Their errors are a modest multiple of n u times the norm, as above. Scales near the ends of the range of numbers must not
 * matter, for squares would leave it. */
static void test_eigenvalues(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 8, 33, 128};
    static const double scales[] = {1, 1e-290, 1e290};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t e = 0; e < sizeof scales / sizeof *scales; e++) {
            const int n = sizes[s];
            double *values = allocate((size_t)n * sizeof *values), *found = allocate((size_t)n * sizeof *found);
            double complex *u = random_unitary(n), *scratch = allocate(3 * (size_t)n * sizeof *scratch);
            for (int k = 0; k < n; k++)
                values[k] = k < 2 ? 10 : k == n - 1 ? -1 : fmax(11 - k, 0);
            double complex *a = hermitian(n, u, values);
            for (int i = 0; i < n * n; i++)
                a[i] *= scales[e];
            vf_hermitian_values(n, a, found, scratch);
            for (int k = 0; k < n; k++)
                assert_near(found[k] / scales[e], values[k], 10 * n * 1e-15);
            FREE_ALL(a, scratch, u, found, values);
        }
}

static void test_eigenvalues_of_simple_matrices(void **state)
{
    (void)state;
    double complex scratch[9], zero[9] = {0}, diagonal[9] = {2, 0, 0, 0, 5, 0, 0, 0, -3};
    double complex pair[4] = {1, 2.0 * I, -2.0 * I, 1}, bad[9] = {1, NAN, 0, NAN, 1, 0, 0, 0, 1};
    double values[3];
    vf_hermitian_values(3, zero, values, scratch);
    assert_true(values[0] == 0 && values[1] == 0 && values[2] == 0);
    vf_hermitian_values(3, diagonal, values, scratch);
    assert_true(values[0] == 5 && values[1] == 2 && values[2] == -3);
    vf_hermitian_values(2, pair, values, scratch);
    assert_near(values[0], 3, 1e-15);
    assert_near(values[1], -1, 1e-15);
    vf_hermitian_values(3, bad, values, scratch); /* returns */
}

static void test_eigenvectors_of_zero_and_nan(void **state)
{
    (void)state;
    double complex zero[9] = {0}, vectors[9];
    double values[3];
    vf_hermitian_eigen(3, zero, values, vectors);
    for (int k = 0; k < 3; k++)
        assert_true(values[k] == 0 && cabs(vectors[4 * k]) == 1);
    double complex bad[4] = {1, NAN, NAN, 1};
    vf_hermitian_eigen(2, bad, values, vectors); /* returns */
}

static void test_cholesky(void **state)
{
    (void)state;
    enum { N = 12 };
    double values[N];
    double complex *u = random_unitary(N);
    for (int k = 0; k < N; k++)
        values[k] = 1 + k; /* condition 12, so errors stay within 12 n u = 2e-14 or so */
    double complex *a = hermitian(N, u, values), *l = hermitian(N, u, values), *inverse = hermitian(N, u, values);
    assert_int_equal(vf_cholesky(N, l, 1e-10), -1);
    assert_int_equal(vf_cholesky(N, inverse, 1e-10), -1);
    vf_invert_lower(N, inverse);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double complex product = 0, one = 0;
            for (int k = 0; k < N; k++) {
                product += l[i * N + k] * conj(l[j * N + k]);
                one += inverse[i * N + k] * l[k * N + j];
            }
            assert_near(cabs(product - a[i * N + j]), 0, 1e-13);
            assert_near(cabs(one - (i == j)), 0, 1e-13);
            assert_true(j <= i || (l[i * N + j] == 0 && inverse[i * N + j] == 0));
        }
    values[0] = 0; /* u_0 has a component in every row, so the last row's pivot vanishes */
    double complex *singular = hermitian(N, u, values);
    assert_int_equal(vf_cholesky(N, singular, 1e-10), N - 1);
    FREE_ALL(singular, inverse, l, a, u);
}

/* Of a product and a sum, rounded as floats are: in double precision the product is exact, and the second rounding of a sum does
 * not show (53 bits are more than twice 24 and 2). So no compiler fuses them. */
static float product(float a, float b)
{
    return (float)((double)a * b);
}

static float sum_of(float a, float b)
{
    return (float)((double)a + b);
}

/* One number of what vf_mix_rows gives, with its bits. */
static float complex mixed(int columns, const double complex *row, const float complex *in, int64_t count)
{
    float re = 0, im = 0;
    for (int j = 0; j < columns; j++) {
        const float a = (float)creal(row[j]), b = (float)cimag(row[j]), x = crealf(in[j * count]),
                    y = cimagf(in[j * count]);
        re = sum_of(re, sum_of(product(a, x), -product(b, y)));
        im = sum_of(im, sum_of(product(a, y), product(b, x)));
    }
    return re + I * im;
}

/* Against a sum in double: u (columns + 2) sum |a| |d| bounds the error of a sum of products, and a complex one has
 * four of them. And bit by bit, for all instruction sets. */
static void test_apply(void **state)
{
    vf_context *ctx = *state;
    enum { COLUMNS = 7 };
    static const int64_t counts[] = {0, 1, 511, 512, 513, 5000};
    for (size_t s = 0; s < sizeof counts / sizeof *counts; s++)
        for (int rows = 1; rows <= COLUMNS; rows += 3) {
            int64_t count = counts[s];
            double complex matrix[COLUMNS * COLUMNS];
            float complex *data = random_images(COLUMNS, count), *in = copy_of(data, COLUMNS * count);
            for (int e = 0; e < rows * COLUMNS; e++)
                matrix[e] = random_complex();
            set_threads(ctx, 3);
            assert_int_equal(vf_mix_rows(ctx, rows, COLUMNS, matrix, count, data), VF_OK);
            for (int i = 0; i < rows; i++)
                for (int64_t m = 0; m < count; m++) {
                    double complex sum = 0;
                    double size = 0;
                    for (int j = 0; j < COLUMNS; j++) {
                        sum += matrix[i * COLUMNS + j] * in[j * count + m];
                        size += cabs(matrix[i * COLUMNS + j]) * cabsf(in[j * count + m]);
                    }
                    assert_near(cabs(data[i * count + m] - sum), 0, 4 * (COLUMNS + 2) * 6e-8 * size);
                    assert_true(data[i * count + m] == mixed(COLUMNS, matrix + i * COLUMNS, in + m, count));
                }
            for (int64_t m = rows * count; m < COLUMNS * count; m++)
                assert_true(data[m] == in[m]); /* data after the end stay unchanged */
            set_threads(ctx, 1);
            float complex *again = copy_of(in, COLUMNS * count);
            assert_int_equal(vf_mix_rows(ctx, rows, COLUMNS, matrix, count, again), VF_OK);
            assert_memory_equal(again, data, (size_t)(COLUMNS * count) * sizeof *data);
            FREE_ALL(again, in, data);
        }
}

TEST_MAIN(make_context, free_context, cmocka_unit_test(test_eigenvectors), cmocka_unit_test(test_eigenvalues),
          cmocka_unit_test(test_eigenvalues_of_simple_matrices), cmocka_unit_test(test_eigenvectors_of_zero_and_nan),
          cmocka_unit_test(test_cholesky), cmocka_unit_test(test_apply))
