/* Density compensation by iteration: Pipe and Menon, Magn. Reson. Med. 41 (1999) 179.
 *
 *     w <- w / (C w),    (C w)_m = sum_m' w_m' K(k_m - k_m')
 *
 * until the density of the weighted samples, smoothed by the kernel K, is the same at all samples. K is the transform
 * of a triangle over twice the field of view, a product of sinc^2. It is nowhere negative, 1 at 0, and 0 at whole
 * cycles per field of view, so the samples of a Cartesian grid do not see each other and keep the weight 1 (after
 * Johnson and Pipe, Magn. Reson. Med. 61 (2009) 439). C is applied as F^H on the doubled grid, the triangle, and F. */
#include "density.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "voxfield/team_size.h"
#include "voxfield/vector.h"

/* Sufficient for weights, which hardly change after so many iterations. */
static const double ACCURACY = 1e-3;
enum { ITERATIONS = 8 };

typedef struct density {
    vf_queue *queue;
    vf_encoding *encoding;
    int64_t samples, points;
    vf_array values, image; /* [samples], [points of the doubled grid], complex, on the device */
    vf_array triangle;      /* [points] real, on the device */
} density;

/* A function that is a product of those of its axes, times `scale`: values[3][n], behind each other. */
static void fill_product(vf_context *ctx, const int64_t n[3], double scale, const double *axes, float *out, int stride)
{
    const double *const x = axes, *const y = x + n[0], *const z = y + n[1];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, n[0] * n[1] * n[2]))
    for (int64_t row = 0; row < n[1] * n[2]; row++) {
        const double factor = scale * y[row % n[1]] * z[row / n[1]];
        for (int64_t i = 0; i < n[0]; i++)
            out[(row * n[0] + i) * stride] = (float)(factor * x[i]);
    }
}

/* The triangle over the doubled grid, divided by the number of voxels. */
static vf_status make_triangle(vf_context *ctx, const int64_t matrix[3], const int64_t doubled[3], density *d)
{
    float *triangle = malloc((size_t)d->points * sizeof *triangle);
    double *axes = calloc((size_t)(doubled[0] + doubled[1] + doubled[2]), sizeof *axes), *axis = axes;
    vf_status status = triangle && axes ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
    for (int a = 0; a < 3 && status == VF_OK; axis += doubled[a++])
        for (int64_t i = 0; i < doubled[a]; i++)
            axis[i] = matrix[a] > 1 ? 1 - fabs((double)(i - matrix[a]) / (double)matrix[a]) : 1;
    if (status == VF_OK)
        fill_product(ctx, doubled, 1 / (double)(matrix[0] * matrix[1] * matrix[2]), axes, triangle, 1);
    VF_TRY(status, vf_array_create(vf_queue_device(d->queue), VF_SPACE_DEVICE, VF_F32, d->points, &d->triangle));
    VF_TRY(status, vf_queue_copy(d->queue, d->triangle.data, triangle, (size_t)d->points * sizeof *triangle));
    VF_TRY(status, vf_queue_sync(d->queue));
    free(triangle);
    free(axes);
    return status;
}

static vf_status put(vf_queue *queue, const float complex *from, int64_t n, vf_array *to)
{
    const vf_status status = vf_queue_copy(queue, to->data, from, (size_t)n * sizeof *from);
    return status == VF_OK ? vf_queue_sync(queue) : status;
}

static vf_status get(vf_queue *queue, const vf_array *from, int64_t n, float complex *to)
{
    const vf_status status = vf_queue_copy(queue, to, from->data, (size_t)n * sizeof *to);
    return status == VF_OK ? vf_queue_sync(queue) : status;
}

/* A plan for F: for images with `extent` 1, for the doubled grid with 2. */
static vf_status make_encoding(vf_queue *queue, const int64_t matrix[3], int extent, int64_t samples, const float *k,
                               vf_encoding **out)
{
    const vf_encoding_samples at = {.count = samples, .k = k};
    const vf_encoding_options options = {
        .by = VF_ENCODE_NUFFT, .precision = VF_F32, .accuracy = ACCURACY, .most_batch = 1, .extent = extent};
    return vf_encoding_create(vf_queue_device(queue), matrix, &at, &options, out);
}

static vf_status iterate(vf_context *ctx, density *d, float complex *seen, float *weights)
{
    for (int64_t m = 0; m < d->samples; m++)
        seen[m] = weights[m];
    vf_status status = put(d->queue, seen, d->samples, &d->values);
    VF_TRY(status, vf_encoding_adjoint(d->encoding, d->queue, 1, &d->values, &d->image));
    VF_TRY(status, vf_vector_scale_by(d->queue, VF_C64, d->points, d->triangle.data, d->image.data, d->image.data));
    VF_TRY(status, vf_encoding_forward(d->encoding, d->queue, 1, &d->image, &d->values));
    VF_TRY(status, get(d->queue, &d->values, d->samples, seen));
    for (int64_t m = 0; status == VF_OK && m < d->samples; m++) {
        if (weights[m] == 0)
            continue;
        /* K is 1 at 0 and nowhere negative, so a sample sees at least its own weight. */
        if (!(crealf(seen[m]) > 0.5f * weights[m]))
            return vf_fail(ctx, VF_ERR_INTERNAL, "density weights: sample %lld sees %g of its weight %g; please report",
                           (long long)m, (double)crealf(seen[m]), (double)weights[m]);
        weights[m] /= crealf(seen[m]);
    }
    return status;
}

/* Scales the weights so that F^H w F keeps the energy of a smooth object, a raised cosine over the field of view. The
 * iteration alone is some per cent off, because the kernel averages over the centre of k-space. */
static vf_status scale_weights(vf_context *ctx, const int64_t matrix[3], int64_t samples, const float *k,
                               vf_queue *queue, float complex *values, float *weights)
{
    vf_device *device = vf_queue_device(queue);
    const int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    double energy = 1, seen = 0;
    vf_encoding *e = NULL;
    vf_array x = {0}, c = {0};
    float complex *object = calloc((size_t)voxels, sizeof *object);
    double *axes = calloc((size_t)(matrix[0] + matrix[1] + matrix[2]), sizeof *axes), *axis = axes;
    vf_status status = object && axes ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
    for (int a = 0; a < 3 && status == VF_OK; axis += matrix[a++]) {
        double squares = 0;
        for (int64_t i = 0; i < matrix[a]; i++) {
            axis[i] = matrix[a] > 1 ? 0.5 - 0.5 * cos(2 * M_PI * ((double)i + 0.5) / (double)matrix[a]) : 1;
            squares += axis[i] * axis[i];
        }
        energy *= squares;
    }
    if (status == VF_OK)
        fill_product(ctx, matrix, 1, axes, (float *)object, 2);
    VF_TRY(status, make_encoding(queue, matrix, 1, samples, k, &e));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, voxels, &x));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, samples, &c));
    VF_TRY(status, put(queue, object, voxels, &x));
    VF_TRY(status, vf_encoding_forward(e, queue, 1, &x, &c));
    VF_TRY(status, get(queue, &c, samples, values));
    /* <x, F^H w F x> = sum w |F x|^2 */
    for (int64_t m = 0; status == VF_OK && m < samples; m++)
        seen += weights[m] * creal((double complex)values[m] * conj((double complex)values[m]));
    for (int64_t m = 0; status == VF_OK && seen > 0 && m < samples; m++)
        weights[m] = (float)(weights[m] * energy / seen);
    vf_encoding_destroy(e);
    vf_array_free(&x);
    vf_array_free(&c);
    free(object);
    free(axes);
    return status;
}

vf_status vf_density_weights(vf_queue *queue, const int64_t matrix[3], int64_t samples, const float *k,
                             const float *used, vf_encoding_tell *tell, void *user, float *weights)
{
    vf_device *device = vf_queue_device(queue);
    vf_context *ctx = vf_device_context(device);
    density d = {.queue = queue, .samples = samples, .points = 1};
    int64_t doubled[3];
    const double voxels = (double)(matrix[0] * matrix[1] * matrix[2]);
    for (int a = 0; a < 3; a++) {
        doubled[a] = matrix[a] > 1 ? 2 * matrix[a] : 1;
        d.points *= doubled[a];
    }
    float complex *seen = malloc((size_t)samples * sizeof *seen);
    vf_status status = seen ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
    VF_TRY(status, make_encoding(queue, doubled, 2, samples, k, &d.encoding));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, d.samples, &d.values));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, d.points, &d.image));
    VF_TRY(status, make_triangle(ctx, matrix, doubled, &d));
    for (int64_t m = 0; m < samples; m++)
        weights[m] = used && used[m] == 0 ? 0 : 1; /* unused samples do not contribute to others */
    for (int i = 0; i < ITERATIONS && status == VF_OK; i++) {
        status = vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : iterate(ctx, &d, seen, weights);
        if (tell)
            tell(user, 1.0 / ITERATIONS);
    }
    for (int64_t m = 0; m < samples; m++)
        weights[m] = (float)(weights[m] / voxels);
    vf_encoding_destroy(d.encoding);
    d.encoding = NULL;
    VF_TRY(status, scale_weights(ctx, matrix, samples, k, queue, seen, weights));
    vf_array_free(&d.values);
    vf_array_free(&d.image);
    vf_array_free(&d.triangle);
    free(seen);
    return status;
}
