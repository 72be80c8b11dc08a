/* Density compensation by iteration: Pipe and Menon, Magn. Reson. Med. 41 (1999) 179.
 *
 *     w <- w / (C w)^p,    (C w)_m = sum_m' w_m' K(k_m - k_m')
 *
 * until the density of the weighted samples, smoothed by the kernel K, is the same at all samples. K is the transform
 * of a triangle over twice the field of view, a product of sinc^2. It is nowhere negative, 1 at 0, and 0 at whole
 * cycles per field of view, so the samples of a Cartesian grid do not see each other and keep the weight 1 (after
 * Johnson and Pipe, Magn. Reson. Med. 61 (2009) 439). C is applied as F^H on the doubled grid, the triangle, and F.
 *
 * Pipe and Menon's p is 1. A step multiplies the part of the weights' relative error that belongs to an eigenvalue x of the
 * normalised C, 0 to 1, by 1 - p x. Four steps with the powers below leave what eight steps with p = 1 do, at every x, to
 * 0.062 of the first error. Images are as good as after eight (docs/density.md). */
#include "density.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "voxfield/team_size.h"
#include "voxfield/vector.h"

/* Sufficient for weights, which hardly change after so many steps. */
static const double ACCURACY = 1e-3;
static const float power[] = {1, 1.2F, 1.8F, 3.4F};
enum { STEPS = sizeof power / sizeof *power };

typedef struct density {
    vf_queue *queue;
    vf_encoding *encoding;
    int64_t samples, doubled[3], points;
    vf_array values, image; /* [samples], [points of the doubled grid], complex, on the device */
    double *axis[3];        /* the triangle along x, y, z, over the number of voxels */
    vf_array triangle;      /* [points] real, on a device other than the host */
} density;

/* Row `row` of the triangle over the doubled grid, divided by the number of voxels: factor times d->axis[0]. */
static double factor_of_row(const density *d, int64_t row)
{
    const int64_t ny = d->doubled[1];
    return d->axis[1][row % ny] * d->axis[2][row / ny];
}

static int64_t rows_of(const density *d)
{
    return d->points / d->doubled[0];
}

static vf_status make_axes(vf_context *ctx, const int64_t matrix[3], density *d)
{
    for (int a = 0; a < 3; a++) {
        d->axis[a] = malloc((size_t)d->doubled[a] * sizeof *d->axis[a]);
        if (!d->axis[a])
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
        const double n = (double)matrix[a];
        for (int64_t i = 0; i < d->doubled[a]; i++)
            d->axis[a][i] = (matrix[a] > 1 ? 1 - fabs((double)(i - matrix[a]) / n) : 1) / n;
    }
    return VF_OK;
}

/* The triangle in the memory of a device. In host memory, multiplying by its axes is faster than reading it. */
static vf_status make_triangle(vf_context *ctx, density *d)
{
    float *triangle = malloc((size_t)d->points * sizeof *triangle);
    if (!triangle)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, d->points))
    for (int64_t row = 0; row < rows_of(d); row++)
        for (int64_t i = 0; i < d->doubled[0]; i++)
            triangle[row * d->doubled[0] + i] = (float)(factor_of_row(d, row) * d->axis[0][i]);
    vf_status status = vf_array_create(vf_queue_device(d->queue), VF_SPACE_DEVICE, VF_F32, d->points, &d->triangle);
    VF_TRY(status, vf_queue_copy(d->queue, d->triangle.data, triangle, (size_t)d->points * sizeof *triangle));
    VF_TRY(status, vf_queue_sync(d->queue));
    free(triangle);
    return status;
}

/* d->image *= the triangle */
static vf_status multiply(vf_context *ctx, density *d)
{
    if (!vf_device_is_host(vf_queue_device(d->queue)))
        return vf_vector_scale_by(d->queue, VF_C64, d->points, d->triangle.data, d->image.data, d->image.data);
    const int64_t nx = d->doubled[0];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, d->points))
    for (int64_t row = 0; row < rows_of(d); row++) {
        float *image = (float *)d->image.data + 2 * row * nx;
        const double factor = factor_of_row(d, row);
        for (int64_t i = 0; i < nx; i++) {
            const float t = (float)(factor * d->axis[0][i]);
            image[2 * i] *= t;
            image[2 * i + 1] *= t;
        }
    }
    return VF_OK;
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

/* w <- w / (C w)^p. `seen`: [samples] memory. */
static vf_status step(vf_context *ctx, density *d, float p, float complex *seen, float *weights)
{
    const int threads = vf_threads_for(ctx, 16 * d->samples);
    int64_t wrong = d->samples; /* the first sample that sees too little */
    for (int64_t m = 0; m < d->samples; m++)
        seen[m] = weights[m];
    vf_status status = put(d->queue, seen, d->samples, &d->values);
    VF_TRY(status, vf_encoding_adjoint(d->encoding, d->queue, 1, &d->values, &d->image));
    VF_TRY(status, multiply(ctx, d));
    VF_TRY(status, vf_encoding_forward(d->encoding, d->queue, 1, &d->image, &d->values));
    VF_TRY(status, get(d->queue, &d->values, d->samples, seen));
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : wrong)
    for (int64_t m = 0; m < d->samples; m++) {
        if (weights[m] == 0)
            continue;
        /* K is 1 at 0 and nowhere negative, so a sample sees at least its own weight. */
        if (crealf(seen[m]) > 0.5f * weights[m])
            weights[m] *= powf(crealf(seen[m]), -p);
        else if (m < wrong)
            wrong = m;
    }
    return wrong == d->samples
               ? VF_OK
               : vf_fail(ctx, VF_ERR_INTERNAL, "density weights: sample %lld sees %g of its weight %g; please report",
                         (long long)wrong, (double)crealf(seen[wrong]), (double)weights[wrong]);
}

/* |F x|^2 at k along an axis, x a raised cosine over the field of view: x_i = (1 - cos(2 pi (i + 1/2) / n)) / 2. With sums D of n
 * exponentials, F x = D(k) / 2 + (D(k - 1) + D(k + 1)) / 4 but for a phase, and D(u) = sin(pi u) / sin(pi u / n). */
static double cosine_energy(double n, double k)
{
    const double factor[3] = {0.25, 0.5, 0.25};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const double angle = M_PI * (k + i - 1), below = sin(angle / n);
        /* Where both are 0, their ratio is that of the derivatives. */
        sum += factor[i] * (fabs(below) > 1e-9 ? sin(angle) / below : n * cos(angle) / cos(angle / n));
    }
    return sum * sum;
}

/* Beyond so many cycles the raised cosine has less than 1e-8 of its largest |F x|^2. */
static const double FAR = 16;

/* The sum of w |F x|^2 over samples, x a product of raised cosines. */
static double seen_energy(const int64_t matrix[3], int64_t samples, const float *k, const float *weights)
{
    double sum = 0;
    for (int64_t m = 0; m < samples; m++) {
        double at[3], energy = (double)weights[m], most = 0;
        for (int a = 0; a < 3; a++) {
            const double n = (double)matrix[a], u = (double)k[3 * m + a];
            at[a] = matrix[a] > 1 ? u - n * nearbyint(u / n) : 0; /* F x has the period n */
            most = fmax(most, fabs(at[a]));
        }
        for (int a = 0; a < 3 && most <= FAR; a++)
            energy *= matrix[a] > 1 ? cosine_energy((double)matrix[a], at[a]) : 1;
        sum += most <= FAR ? energy : 0;
    }
    return sum;
}

/* Scales the weights so that F^H w F keeps the energy of a smooth object, a raised cosine over the field of view. The
 * steps alone are some per cent off, because the kernel averages over the centre of k-space. Returns false without memory. */
static bool scale_weights(vf_context *ctx, const int64_t matrix[3], int64_t samples, const float *k, float *weights)
{
    enum { PIECE = 1 << 14 }; /* the sum's terms have the same order for any number of threads */
    const int64_t pieces = (samples + PIECE - 1) / PIECE;
    double energy = 1, seen = 0, *sums = calloc((size_t)pieces + 1, sizeof *sums);
    if (!sums)
        return false;
    for (int a = 0; a < 3; a++) /* the sum of x^2; an axis of two voxels has x = 1/2 */
        energy *= matrix[a] > 2 ? 0.375 * (double)matrix[a] : matrix[a] > 1 ? 0.5 : 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, 100 * samples))
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t first = p * PIECE, count = samples - first < PIECE ? samples - first : PIECE;
        sums[p] = seen_energy(matrix, count, k + 3 * first, weights + first);
    }
    for (int64_t p = 0; p < pieces; p++)
        seen += sums[p]; /* <x, F^H w F x> */
    for (int64_t m = 0; seen > 0 && m < samples; m++)
        weights[m] = (float)(weights[m] * energy / seen);
    free(sums);
    return true;
}

/* A plan for F on the doubled grid. */
static vf_status make_encoding(vf_queue *queue, const int64_t doubled[3], int64_t samples, const float *k,
                               vf_encoding **out)
{
    const vf_encoding_samples at = {.count = samples, .k = k};
    const vf_encoding_options options = {
        .by = VF_ENCODE_NUFFT, .precision = VF_F32, .accuracy = ACCURACY, .most_batch = 1, .extent = 2};
    return vf_encoding_create(vf_queue_device(queue), doubled, &at, &options, out);
}

vf_status vf_density_weights(vf_queue *queue, const int64_t matrix[3], int64_t samples, const float *k,
                             const float *used, vf_encoding_tell *tell, void *user, float *weights)
{
    vf_device *device = vf_queue_device(queue);
    vf_context *ctx = vf_device_context(device);
    density d = {.queue = queue, .samples = samples, .points = 1};
    const double voxels = (double)(matrix[0] * matrix[1] * matrix[2]);
    for (int a = 0; a < 3; a++) {
        d.doubled[a] = matrix[a] > 1 ? 2 * matrix[a] : 1;
        d.points *= d.doubled[a];
    }
    float complex *seen = malloc((size_t)samples * sizeof *seen);
    vf_status status = seen ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
    VF_TRY(status, make_encoding(queue, d.doubled, samples, k, &d.encoding));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, d.samples, &d.values));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, d.points, &d.image));
    VF_TRY(status, make_axes(ctx, matrix, &d));
    if (!vf_device_is_host(device))
        VF_TRY(status, make_triangle(ctx, &d));
    for (int64_t m = 0; m < samples; m++)
        weights[m] = used && used[m] == 0 ? 0 : 1; /* unused samples do not contribute to others */
    for (int i = 0; i < STEPS && status == VF_OK; i++) {
        status =
            vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : step(ctx, &d, power[i], seen, weights);
        if (tell)
            tell(user, 1.0 / STEPS);
    }
    for (int64_t m = 0; m < samples; m++)
        weights[m] = (float)(weights[m] / voxels);
    if (status == VF_OK && !scale_weights(ctx, matrix, samples, k, weights))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for density weights");
    vf_encoding_destroy(d.encoding);
    vf_array_free(&d.values);
    vf_array_free(&d.image);
    vf_array_free(&d.triangle);
    for (int a = 0; a < 3; a++)
        free(d.axis[a]);
    free(seen);
    return status;
}
