/* The inverse of coupled circulant matrices: multiplying its result by A gives the original vector. The test computes
 * A by vf_circulant_apply and differences of images. Fresh random numbers.
 *
 * usage: test_circulant_chain DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound. Eigenvalues c are in [1/4, 4], the coupling is at most R = 3, so |A| <= 16 and |A^-1| <= 4. u is the unit
 * roundoff, L = log2 N. A transform of N numbers has an error of at most 10 (L + 1) u times their norm
 * (test_fft_vector.c). A sweep multiplies by numbers of at most 1 and adds, with 4 u for each step, and errors of
 * earlier images decay. So z has an error of (20 (L + 1) + 8 F) u |z| for F images, and A z 16 times that. Applying A
 * adds (20 (L + 1) + 16) 16 u |z|. |z| <= 4 |r|. */
#include <complex.h>
#include <math.h>

#include "circulant.h"
#include "circulant_chain.h"
#include "queue_fixture.h"
#include "voxfield/vector.h"

static const double MOST_COUPLING = 3;

typedef struct subject {
    int64_t matrix[3], voxels;
    int images;
    vf_dtype real;
    double coupling;
    vf_circulant *single; /* C_f */
    vf_circulant_chain *chain;
} subject;

static vf_array vector(const subject *s, int64_t images)
{
    vf_array a = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(s->real), images * s->voxels, &a));
    return a;
}

/* Random numbers with parts in [-1, 1]. */
static vf_array random_images(const subject *s)
{
    vf_array to = vector(s, s->images), host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, to.type, to.count, &host));
    for (int64_t n = 0; n < 2 * to.count; n++) {
        const float value = (float)(2 * uniform() - 1);
        if (s->real == VF_F64)
            ((double *)host.data)[n] = value;
        else
            ((float *)host.data)[n] = value;
    }
    need(vf_array_copy(queue, &to, &host, to.count));
    need(vf_queue_sync(queue));
    vf_array_free(&host);
    return to;
}

static double complex dot(const vf_array *x, const vf_array *y)
{
    double sum[2];
    need(vf_vector_dot(queue, x->type, x->count, x->data, y->data, sum));
    assert_true(isfinite(sum[0]) && isfinite(sum[1]));
    return sum[0] + I * sum[1];
}

static double norm(const vf_array *x)
{
    return sqrt(creal(dot(x, x)));
}

static subject make(const int64_t matrix[3], int images, vf_dtype real, double coupling)
{
    subject s = {{matrix[0], matrix[1], matrix[2]}, matrix[0] * matrix[1] * matrix[2], images, real, coupling, 0, 0};
    double *c = calloc((size_t)s.voxels, sizeof *c);
    assert_non_null(c);
    need(vf_circulant_create(device, matrix, real, images, &s.single));
    need(vf_circulant_chain_create(device, matrix, real, images, &s.chain));
    for (int round = 0; round < 2; round++) { /* matrices can be set again */
        need(vf_circulant_chain_couple(s.chain, round ? coupling : 1));
        for (int f = 0; f < images; f++) {
            for (int64_t k = 0; k < s.voxels; k++)
                c[k] = pow(4, 2 * uniform() - 1);
            need(vf_circulant_set(s.single, queue, f, c));
            need(vf_circulant_chain_add(s.chain, queue, c));
        }
    }
    free(c);
    return s;
}

static void drop(subject *s)
{
    vf_circulant_destroy(s->single);
    vf_circulant_chain_destroy(s->chain);
}

/* y += factor A x */
static void add_product(const subject *s, double factor, const vf_array *x, vf_array *y)
{
    for (int f = 0; f < s->images; f++) {
        void *of = vf_array_at(y, f * s->voxels);
        need(vf_circulant_apply(s->single, queue, f, factor, vf_array_at(x, f * s->voxels), 1, of));
        for (int g = f - 1; g <= f + 1; g += 2) {
            if (g < 0 || g >= s->images)
                continue;
            need(
                vf_vector_axpby(queue, x->type, s->voxels, factor * s->coupling, vf_array_at(x, f * s->voxels), 1, of));
            need(vf_vector_axpby(queue, x->type, s->voxels, -factor * s->coupling, vf_array_at(x, g * s->voxels), 1,
                                 of));
        }
    }
}

static double unit_of(const subject *s)
{
    return s->real == VF_F64 ? 0x1p-53 : 0x1p-24;
}

static double bound(const subject *s)
{
    const double transforms = 20 * (log2((double)s->voxels) + 1);
    return (transforms + 8 * s->images + transforms + 16) * 16 * unit_of(s) * 4;
}

static const int64_t sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {8, 7, 1}, {6, 5, 4}, {15, 16, 1}, {1, 1, 9}};
static const int image_counts[] = {1, 2, 3, 8, 17};
enum { SIZES = sizeof sizes / sizeof *sizes, COUNTS = sizeof image_counts / sizeof *image_counts };

/* A z = r for any number of images, also without coupling; <A^-1 x, y> = <x, A^-1 y>, <x, A^-1 x> > 0; the same bits
 * again. */
static void test_inverse(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * SIZES * COUNTS; i++) {
        const double coupling = i % 5 ? MOST_COUPLING * uniform() : 0;
        subject s = make(sizes[i / 2 % SIZES], image_counts[i / 2 / SIZES], i % 2 ? VF_F64 : VF_F32, coupling);
        vf_array r = random_images(&s), z = vector(&s, s.images), y = random_images(&s), of_y = vector(&s, s.images);
        const double size = norm(&r);
        need(vf_circulant_chain_apply(s.chain, queue, r.data, z.data));
        need(vf_circulant_chain_apply(s.chain, queue, y.data, of_y.data));
        const double apart = cabs(dot(&z, &y) - dot(&r, &of_y)), positive = creal(dot(&r, &z));
        if (!(apart <= 2 * bound(&s) * size * norm(&y)) || !(positive > 0))
            fail_msg("%d images: <z, y> - <r, A^-1 y> = %.2g, <r, z> = %.2g", s.images, apart, positive);
        need(vf_circulant_chain_apply(s.chain, queue, r.data, of_y.data));
        need(vf_vector_axpby(queue, z.type, z.count, -1, z.data, 1, of_y.data));
        assert_true(norm(&of_y) == 0);
        add_product(&s, -1, &z, &r);
        const double left = norm(&r);
        if (!(left <= bound(&s) * size))
            fail_msg("%lld x %lld x %lld, %d images, coupling %g, %s: A z is off by %.2g of r, allowed %.2g",
                     (long long)s.matrix[0], (long long)s.matrix[1], (long long)s.matrix[2], s.images, coupling,
                     vf_dtype_name(s.real), left / size, bound(&s));
        vf_array_free(&r);
        vf_array_free(&z);
        vf_array_free(&y);
        vf_array_free(&of_y);
        drop(&s);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const int64_t matrix[3] = {2, 1, 1}, none[3] = {2, 0, 1};
    vf_circulant_chain *chain = (void *)&queue;
    refused(vf_circulant_chain_create(device, matrix, VF_F32, 0, &chain), "0 images");
    assert_null(chain);
    refused(vf_circulant_chain_create(device, matrix, VF_C64, 1, &chain), "not supported");
    assert_int_equal(vf_circulant_chain_create(device, none, VF_F32, 1, &chain), VF_ERR_ARGUMENT);
    assert_null(chain);
    vf_context_clear_error(ctx);
    vf_circulant_chain_destroy(NULL);
    subject s = make(matrix, 2, VF_F32, 1);
    vf_array r = random_images(&s), z = vector(&s, 2);
    const double bad[] = {NAN, 0, -1, 1e-300}, good[2] = {1, 1};
    refused(vf_circulant_chain_add(s.chain, queue, good), "all 2 images");
    refused(vf_circulant_chain_apply(s.chain, queue, r.data, r.data), "identical");
    refused(vf_circulant_chain_apply(s.chain, queue, NULL, z.data), "missing");
    refused(vf_circulant_chain_couple(s.chain, -1), "coupling");
    refused(vf_circulant_chain_couple(s.chain, NAN), "coupling");
    refused(vf_circulant_chain_couple(s.chain, INFINITY), "coupling");
    need(vf_circulant_chain_couple(s.chain, 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const double m[2] = {1, bad[i]};
        refused(vf_circulant_chain_add(s.chain, queue, m), "eigenvalue");
    }
    need(vf_circulant_chain_add(s.chain, queue, good));
    refused(vf_circulant_chain_apply(s.chain, queue, r.data, z.data), "1 of 2 images");
    vf_array_free(&r);
    vf_array_free(&z);
    drop(&s);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_inverse), cmocka_unit_test(test_refusals))
