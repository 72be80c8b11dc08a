/* Transforms and vectors of libcore, on the CPU or a GPU, against explicit sums. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_fixture.h"
#include "double_fixture.h"
#include "free_all.h"
#include "refusal_fixture.h"
#include "voxfield/fft.h"
#include "voxfield/vector.h"

static const char *device_spec;

typedef struct fixture {
    vf_context *ctx;
    vf_device *device;
    vf_queue *queue;
} fixture;

static fixture open_fixture(int threads)
{
    fixture f;
    assert_int_equal(vf_context_create(&f.ctx), VF_OK);
    assert_int_equal(vf_context_set_threads(f.ctx, threads), VF_OK);
    assert_int_equal(vf_context_set_devices(f.ctx, device_spec), VF_OK);
    f.device = vf_context_device(f.ctx, 0);
    assert_int_equal(vf_queue_create(f.device, &f.queue), VF_OK);
    return f;
}

static void close_fixture(fixture *f)
{
    vf_queue_destroy(f->queue);
    vf_context_destroy(f->ctx);
}

static const vf_dtype vector_types[] = {VF_F32, VF_F64, VF_C64, VF_C128};
enum { VECTOR_TYPES = sizeof vector_types / sizeof *vector_types };

/* The number of real numbers per element. */
static int parts_of(vf_dtype type)
{
    return type == vf_dtype_real(type) ? 1 : 2;
}

/* Random numbers in the type's precision, as double; the imaginary part of a real number is 0. */
static double complex *random_vector(int64_t n, vf_dtype type)
{
    double complex *v = malloc((size_t)(n + 1) * sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) {
        double re = 2 * uniform() - 1, im = parts_of(type) == 2 ? 2 * uniform() - 1 : 0;
        v[i] = vf_dtype_real(type) == VF_F64 ? re + im * I : (float)re + (float)im * I;
    }
    return v;
}

static void *host_memory(int64_t n, vf_dtype type)
{
    void *host = malloc((size_t)(n + 1) * vf_dtype_bytes(type));
    assert_non_null(host);
    return host;
}

static vf_array to_device(fixture *f, vf_dtype type, int64_t n, const double complex *v)
{
    const int parts = parts_of(type);
    vf_array a;
    void *host = host_memory(n, type);
    for (int64_t i = 0; i < parts * n; i++) {
        const double value = i % parts ? cimag(v[i / parts]) : creal(v[i / parts]);
        if (vf_dtype_real(type) == VF_F64)
            ((double *)host)[i] = value;
        else
            ((float *)host)[i] = (float)value;
    }
    assert_int_equal(vf_array_create(f->device, VF_SPACE_DEVICE, type, n, &a), VF_OK);
    assert_int_equal(vf_queue_copy(f->queue, a.data, host, (size_t)n * vf_dtype_bytes(type)), VF_OK);
    assert_int_equal(vf_queue_sync(f->queue), VF_OK);
    free(host);
    return a;
}

static double complex *from_device(fixture *f, vf_array *a)
{
    const int parts = parts_of(a->type);
    void *host = host_memory(a->count, a->type);
    double complex *v = calloc((size_t)a->count + 1, sizeof *v);
    assert_non_null(v);
    assert_int_equal(vf_queue_copy(f->queue, host, a->data, (size_t)a->count * vf_dtype_bytes(a->type)), VF_OK);
    assert_int_equal(vf_queue_sync(f->queue), VF_OK);
    for (int64_t i = 0; i < parts * a->count; i++) {
        const double value = vf_dtype_real(a->type) == VF_F64 ? ((double *)host)[i] : ((float *)host)[i];
        ((double *)v)[2 * (i / parts) + i % parts] = value;
    }
    free(host);
    vf_array_free(a);
    return v;
}

static double epsilon(vf_dtype type)
{
    return vf_dtype_real(type) == VF_F64 ? 0x1p-53 : 0x1p-24;
}

/* |x - y| <= bound at every element; a NaN fails. */
static void assert_close(int64_t n, const double complex *x, const double complex *y, double bound)
{
    for (int64_t i = 0; i < n; i++)
        if (!(cabs(x[i] - y[i]) <= bound))
            fail_msg("element %lld: (%.17g, %.17g) is not (%.17g, %.17g) within %g", (long long)i, creal(x[i]),
                     cimag(x[i]), creal(y[i]), cimag(y[i]), bound);
}

static void transform_case(vf_dtype type, int rank, const int64_t *dims, int64_t batch, vf_fft_direction direction)
{
    fixture f = open_fixture(2);
    if (lacks_double(f.device, type)) {
        close_fixture(&f);
        return;
    }
    int64_t n[3] = {1, 1, 1}, size = 1;
    for (int d = 0; d < rank; d++)
        n[3 - rank + d] = dims[d];
    size = n[0] * n[1] * n[2];
    double complex *x = random_vector(size * batch, type), *y = calloc((size_t)(size * batch), sizeof *y);
    assert_non_null(y);
    /* One dimension after another, each term with its own exponential. */
    double complex *from = x, *line = malloc((size_t)size * sizeof *line);
    assert_non_null(line);
    memcpy(y, x, (size_t)(size * batch) * sizeof *y);
    int64_t inner = 1;
    for (int d = 2; d >= 0; d--) {
        for (int64_t l = 0; l < size * batch / n[d]; l++) {
            double complex *at = y + l / inner * n[d] * inner + l % inner;
            for (int64_t k = 0; k < n[d]; k++) {
                line[k] = 0;
                for (int64_t i = 0; i < n[d]; i++)
                    line[k] +=
                        at[i * inner] * cexp((int)direction * 2 * M_PI * I * (double)(k * i % n[d]) / (double)n[d]);
            }
            for (int64_t k = 0; k < n[d]; k++)
                at[k * inner] = line[k];
        }
        inner *= n[d];
    }
    vf_fft *plan = NULL;
    assert_int_equal(vf_fft_create(f.device, type, rank, dims, batch, &plan), VF_OK);
    vf_array data = to_device(&f, type, size * batch, from);
    assert_int_equal(vf_fft_execute(plan, f.queue, direction, data.data), VF_OK);
    double complex *z = from_device(&f, &data);
    /* Rounding of a fast transform grows as log2(size) eps times the rms of the result, here sqrt(size 2/3). The
     * factor 10 covers 8 sigma and the constant of poor radices (Gentleman and Sande). */
    assert_close(size * batch, z, y, 10 * (log2((double)size) + 1) * epsilon(type) * sqrt((double)size));
    vf_fft_destroy(plan);
    FREE_ALL(x, y, z, line);
    close_fixture(&f);
}

static void test_transforms(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1},  {7, 1, 1},    {64, 1, 1}, {17, 33, 1}, {16, 8, 1},
                                        {5, 6, 7},  {20, 18, 16}, {1, 9, 4},  {2, 3, 8},   {1009, 1, 1},
                                        {4, 77, 2}, {1, 360, 11}, {512, 1, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int t = 0; t < 2; t++)
            for (int d = 0; d < 2; d++) {
                int rank = shapes[s][2] > 1 ? 3 : shapes[s][1] > 1 ? 2 : 1;
                transform_case(t ? VF_C128 : VF_C64, rank, shapes[s], 1 + (int64_t)(s % 3),
                               d ? VF_FFT_FORWARD : VF_FFT_BACKWARD);
            }
}

/* With memory that the caller lends, the same bits. */
static void test_lent_memory(void **state)
{
    (void)state;
    enum { BATCH = 2 };
    static const int64_t dims[3] = {16, 15, 28}; /* all radices */
    const int64_t size = 16 * 15 * 28 * BATCH;
    fixture f = open_fixture(2);
    double complex *x = random_vector(size, VF_C64), *result[2];
    for (int bare = 0; bare < 2; bare++) {
        vf_fft *plan = NULL;
        vf_array work = {0}, data = to_device(&f, VF_C64, size, x);
        assert_int_equal((bare ? vf_fft_create_bare : vf_fft_create)(f.device, VF_C64, 3, dims, BATCH, &plan), VF_OK);
        assert_int_equal(vf_array_create(f.device, VF_SPACE_DEVICE, VF_U8, vf_fft_bytes(plan) + 1, &work), VF_OK);
        if (bare)
            assert_int_equal(vf_fft_lend(plan, work.data), VF_OK);
        assert_int_equal(vf_fft_execute(plan, f.queue, VF_FFT_FORWARD, data.data), VF_OK);
        result[bare] = from_device(&f, &data);
        vf_fft_destroy(plan);
        vf_array_free(&work);
    }
    assert_memory_equal(result[0], result[1], (size_t)size * sizeof *x);
    FREE_ALL(x, result[0], result[1]);
    close_fixture(&f);
}

static void test_rows(void **state)
{
    (void)state;
    fixture f = open_fixture(1);
    enum { N = 48, ROWS = 16 };
    double complex *x = aligned_alloc(64, N * ROWS * sizeof *x), y[N];
    vf_fft_rows *plan;
    assert_non_null(x);
    for (int i = 0; i < N * ROWS; i++)
        x[i] = uniform() + uniform() * I;
    for (int k = 0; k < N; k++) {
        y[k] = 0;
        for (int i = 0; i < N; i++)
            y[k] += x[5 * N + i] * cexp(-2 * M_PI * I * (double)(k * i % N) / N);
    }
    assert_int_equal(vf_fft_rows_create(f.ctx, VF_C128, N, ROWS, &plan), VF_OK);
    vf_fft_rows_execute(plan, VF_FFT_FORWARD, x);
    assert_close(N, x + 5 * N, y, 60 * 0x1p-53 * sqrt(N));
    vf_fft_rows_destroy(plan);
    free(x);
    close_fixture(&f);
}

static void test_good_length(void **state)
{
    (void)state;
    static const int64_t pairs[][2] = {{1, 1},   {2, 2},     {3, 4},     {7, 8},     {11, 12},
                                       {13, 16}, {254, 256}, {257, 270}, {264, 270}, {511, 512}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(vf_fft_good_length(pairs[i][0]), pairs[i][1]);
}

static void vector_case(vf_dtype type, int64_t n)
{
    fixture f = open_fixture(2);
    if (lacks_double(f.device, type)) {
        close_fixture(&f);
        return;
    }
    double complex *x = random_vector(n, type), *y = random_vector(n, type), *z = random_vector(n, type);
    double complex *expected = malloc((size_t)(n + 1) * sizeof *expected), *got;
    assert_non_null(expected);
    const double eps = epsilon(type);
    vf_array dx = to_device(&f, type, n, x), dy = to_device(&f, type, n, y), dz;

    dz = to_device(&f, type, n, z);
    assert_int_equal(vf_vector_axpby(f.queue, type, n, 0.75, dx.data, -1.5, dz.data), VF_OK);
    for (int64_t i = 0; i < n; i++)
        expected[i] = 0.75 * x[i] - 1.5 * z[i];
    got = from_device(&f, &dz);
    assert_close(n, got, expected, 8 * eps); /* two products and a sum of numbers below 2.2 */
    free(got);

    double complex *bad = malloc((size_t)(n + 1) * sizeof *bad);
    assert_non_null(bad);
    for (int64_t i = 0; i < n; i++)
        bad[i] = NAN;
    dz = to_device(&f, type, n, bad); /* b = 0 must not read it */
    assert_int_equal(vf_vector_axpby(f.queue, type, n, 2, dx.data, 0, dz.data), VF_OK);
    for (int64_t i = 0; i < n; i++)
        expected[i] = 2 * x[i];
    got = from_device(&f, &dz);
    assert_close(n, got, expected, 0);
    free(got);
    free(bad);

    dz = to_device(&f, type, n, z);
    assert_int_equal(vf_vector_multiply_add(f.queue, type, n, dx.data, dy.data, dz.data), VF_OK);
    for (int64_t i = 0; i < n; i++)
        expected[i] = z[i] + conj(x[i]) * y[i];
    got = from_device(&f, &dz);
    assert_close(n, got, expected, 12 * eps);
    free(got);

    dz = to_device(&f, type, n, z);
    assert_int_equal(vf_vector_conjugate(f.queue, type, n, dx.data, dz.data), VF_OK);
    for (int64_t i = 0; i < n; i++)
        expected[i] = conj(x[i]);
    got = from_device(&f, &dz);
    assert_close(n, got, expected, 0);
    free(got);

    /* Sums: in single precision each product is exact in double; n additions, each with half a unit of error in both
     * the sum and the reference, and 20 for the rest. The reference, in long double, has a negligible error. */
    double sum[2], absolute = 1e-300;
    long double complex dot = 0;
    for (int64_t i = 0; i < n; i++) {
        dot += conjl((long double complex)x[i]) * (long double complex)y[i];
        absolute += cabs(x[i]) * cabs(y[i]);
    }
    assert_int_equal(vf_vector_dot(f.queue, type, n, dx.data, dy.data, sum), VF_OK);
    assert_true(cabsl(sum[0] + sum[1] * I - dot) <= absolute * (20 + sqrt((double)n)) * 0x1p-53);
    assert_true(parts_of(type) == 2 || sum[1] == 0);
    double again[2];
    assert_int_equal(vf_vector_dot(f.queue, type, n, dx.data, dy.data, again), VF_OK);
    assert_memory_equal(sum, again, sizeof sum);

    double squares;
    long double want = 0;
    dz = to_device(&f, type, n, z);
    vf_array dr = to_device(&f, type, n, y);
    assert_int_equal(vf_vector_cg_step(f.queue, type, n, 0.5, dx.data, dy.data, dz.data, dr.data, &squares), VF_OK);
    got = from_device(&f, &dr);
    for (int64_t i = 0; i < n; i++) {
        expected[i] = y[i] - 0.5 * y[i];
        want += (long double)creal(got[i]) * creal(got[i]) + (long double)cimag(got[i]) * cimag(got[i]);
    }
    assert_close(n, got, expected, 4 * eps);
    assert_true(fabsl(squares - want) <= want * (20 + sqrt((double)n)) * 0x1p-53);
    free(got);
    got = from_device(&f, &dz);
    for (int64_t i = 0; i < n; i++)
        expected[i] = z[i] + 0.5 * x[i];
    assert_close(n, got, expected, 4 * eps);
    free(got);

    /* Real weights: the real parts of y, packed. */
    vf_array w = to_device(&f, vf_dtype_real(type), n, y);
    for (int64_t i = 0; i < n; i++)
        expected[i] = creal(y[i]) * x[i];
    dz = to_device(&f, type, n, z);
    assert_int_equal(vf_vector_scale_by(f.queue, type, n, w.data, dx.data, dz.data), VF_OK);
    got = from_device(&f, &dz);
    assert_close(n, got, expected, 4 * eps);
    free(got);
    vf_array_free(&w);
    vf_array_free(&dx);
    vf_array_free(&dy);
    FREE_ALL(x, y, z, expected);
    close_fixture(&f);
}

static void test_vectors(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 7, 255, 257, 16384, 16385, 300001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int t = 0; t < VECTOR_TYPES; t++)
            vector_case(vector_types[t], sizes[s]);
}

/* Vectors may begin at any element, like the parts of a stack: the same bits as for vectors at aligned addresses. */
static void beginning_case(vf_dtype type, int first)
{
    enum { N = 5003, VECTORS = 5 };
    fixture f = open_fixture(2);
    if (lacks_double(f.device, type)) {
        close_fixture(&f);
        return;
    }
    const size_t bytes = N * vf_dtype_bytes(type);
    void *result[2][VECTORS];
    double sums[2][3];
    double complex *values[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        values[v] = random_vector(N + 2 * first, type);
    for (int run = 0; run < 2; run++) { /* from the array's first element, then from element `first` */
        vf_array array[VECTORS];
        void *at[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            /* w, of the real type, is number 0 */
            const vf_dtype here = v == 0 ? vf_dtype_real(type) : type;
            array[v] = to_device(&f, here, N + first, values[v] + (run ? 0 : first));
            at[v] = vf_offset(f.device, array[v].data, here, run ? first : 0);
        }
        assert_int_equal(vf_vector_dot(f.queue, type, N, at[1], at[2], sums[run]), VF_OK);
        assert_int_equal(vf_vector_cg_step(f.queue, type, N, 0.3, at[1], at[2], at[3], at[4], &sums[run][2]), VF_OK);
        assert_int_equal(vf_vector_axpby(f.queue, type, N, 0.7, at[1], 0.1, at[4]), VF_OK);
        assert_int_equal(vf_vector_multiply_add(f.queue, type, N, at[1], at[4], at[3]), VF_OK);
        assert_int_equal(vf_vector_scale_by(f.queue, type, N, at[0], at[2], at[2]), VF_OK);
        for (int v = 1; v < VECTORS; v++) {
            result[run][v] = host_memory(N, type);
            assert_int_equal(vf_queue_copy(f.queue, result[run][v], at[v], bytes), VF_OK);
        }
        assert_int_equal(vf_queue_sync(f.queue), VF_OK);
        for (int v = 0; v < VECTORS; v++)
            vf_array_free(&array[v]);
    }
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    for (int v = 0; v < VECTORS; v++) {
        if (v > 0) {
            assert_memory_equal(result[0][v], result[1][v], bytes);
            free(result[0][v]);
            free(result[1][v]);
        }
        free(values[v]);
    }
    close_fixture(&f);
}

static void test_vectors_begin_anywhere(void **state)
{
    (void)state;
    for (int t = 0; t < VECTOR_TYPES; t++)
        for (int first = 1; first < 4; first++)
            beginning_case(vector_types[t], first);
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    enum { N = 100003 };
    for (int i = 0; i < VECTOR_TYPES; i++) {
        const vf_dtype type = vector_types[i];
        double complex *x = random_vector(N, type), *y = random_vector(N, type);
        double sums[3][2];
        for (int t = 0; t < 3; t++) {
            fixture f = open_fixture(t + 1);
            if (lacks_double(f.device, type)) {
                memset(sums[t], 0, sizeof sums[t]);
                close_fixture(&f);
                continue;
            }
            vf_array dx = to_device(&f, type, N, x), dy = to_device(&f, type, N, y);
            assert_int_equal(vf_vector_dot(f.queue, type, N, dx.data, dy.data, sums[t]), VF_OK);
            vf_array_free(&dx);
            vf_array_free(&dy);
            close_fixture(&f);
        }
        assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
        assert_memory_equal(sums[0], sums[2], sizeof sums[0]);
        free(x);
        free(y);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    fixture f = open_fixture(1);
    vf_fft *plan;
    const int64_t good[3] = {4, 4, 4}, bad[3] = {4, 0, 4};
    assert_int_equal(vf_fft_create(f.device, VF_F32, 3, good, 1, &plan), VF_ERR_ARGUMENT);
    assert_int_equal(vf_fft_create(f.device, VF_C64, 4, good, 1, &plan), VF_ERR_ARGUMENT);
    assert_int_equal(vf_fft_create(f.device, VF_C64, 3, bad, 1, &plan), VF_ERR_ARGUMENT);
    assert_int_equal(vf_fft_create(f.device, VF_C64, 3, good, 0, &plan), VF_ERR_ARGUMENT);
    assert_null(plan);
    vf_context_clear_error(f.ctx);
    if (lacks_double(f.device, VF_C128)) {
        assert_int_equal(vf_fft_create(f.device, VF_C128, 3, good, 1, &plan), VF_ERR_UNSUPPORTED);
        assert_non_null(strstr(vf_context_message(f.ctx), "no double precision"));
        vf_context_clear_error(f.ctx);
    }
    assert_refused(f.ctx, vf_fft_create(f.device, (vf_dtype)99, 3, good, 1, &plan), "FFT", "invalid element type 99");
    close_fixture(&f);
}

static void test_refused_vectors(void **state)
{
    (void)state;
    fixture f = open_fixture(1);
    vf_queue *q = f.queue;
    char element[16]; /* not touched */
    void *v = element;
    double sums[2];
    assert_refused(f.ctx, vf_vector_axpby(q, VF_I32, 1, 1, v, 1, v), "a vector", "VF_I32");
    assert_refused(f.ctx, vf_vector_axpby(q, (vf_dtype)99, 1, 1, v, 1, v), "a vector", "invalid element type 99");
    assert_refused(f.ctx, vf_vector_axpby(q, VF_C64, -5, 1, v, 1, v), "a vector", "-5 elements");
    assert_refused(f.ctx, vf_vector_axpby(q, VF_C64, INT64_MAX, 1, v, 1, v), "a vector", "memory");
    assert_refused(f.ctx, vf_vector_axpby(q, VF_C64, 1, 1, NULL, 1, v), "a vector", "x is NULL");
    assert_refused(f.ctx, vf_vector_axpby(q, VF_C64, 1, 1, v, 0, NULL), "a vector", "y is NULL");
    assert_refused(f.ctx, vf_vector_multiply_add(q, VF_C64, 1, v, v, NULL), "a vector", "z is NULL");
    assert_refused(f.ctx, vf_vector_scale_by(q, VF_C64, 1, NULL, v, v), "a vector", "w is NULL");
    assert_refused(f.ctx, vf_vector_dot(q, VF_C64, 1, v, NULL, sums), "a vector", "y is NULL");
    assert_refused(f.ctx, vf_vector_dot(q, VF_C64, 0, NULL, NULL, NULL), "a vector", "result is NULL");
    assert_refused(f.ctx, vf_vector_cg_step(q, VF_C64, 1, 1, v, v, v, NULL, sums), "a vector", "r is NULL");
    assert_refused(f.ctx, vf_vector_cg_step(q, VF_C64, 0, 1, NULL, NULL, NULL, NULL, NULL), "a vector",
                   "squares is NULL");
    close_fixture(&f);
}

int main(int argc, char **argv)
{
    device_spec = argc > 1 ? argv[1] : "cpu";
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transforms),
                                       cmocka_unit_test(test_lent_memory),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_good_length),
                                       cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_vectors_begin_anywhere),
                                       cmocka_unit_test(test_threads_give_the_same_bits),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_refused_vectors)};
    return run_on_device(argc, argv, tests, NULL, NULL);
}
