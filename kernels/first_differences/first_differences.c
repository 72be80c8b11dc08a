/* The contract's own part: checks, the choice of the backend, and the weights. */
#include "first_differences.h"

#include <math.h>

#include "first_differences_backend.h"

static const vf_differences_backend *const backends[] = {
    &vf_differences_cpu,
#ifdef VF_HAVE_CUDA
    &vf_differences_cuda,
#endif
};
enum { BACKENDS = sizeof backends / sizeof *backends };

static bool possible(const int64_t counts[3])
{
    int64_t voxels = 1;
    for (int a = 0; a < 3; a++) {
        if (counts[a] < 1 || counts[a] > ((int64_t)1 << 50) / voxels)
            return false;
        voxels *= counts[a];
    }
    return true;
}

vf_status vf_first_differences_add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale,
                                   const void *weights, const void *x, void *y)
{
    vf_device *device = vf_queue_device(queue);
    if (!possible(counts) || (type != VF_C64 && type != VF_C128) || !isfinite(scale) || !x || !y || x == y)
        return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT,
                       "first differences: a grid of %lld x %lld x %lld, a scale of %g, or vectors that are missing, "
                       "the same or not complex",
                       (long long)counts[0], (long long)counts[1], (long long)counts[2], scale);
    for (int b = 0; b < BACKENDS; b++)
        if (backends[b]->kind == vf_device_get_kind(device))
            return backends[b]->add(queue, type, counts, scale, weights, x, y);
    return vf_fail(vf_device_context(device), VF_ERR_INTERNAL, "first differences: no backend for %s",
                   vf_device_spec(device));
}

/* ---- weights ---- */

/* Difference of an image between voxel n and the one `step` before it. */
static double difference(const float *image, int64_t n, int64_t step)
{
    return (double)image[n] - (double)image[n - step];
}

/* 1 / (sharpness h)^2, h the root mean square of the image's differences; 0 if it has none. */
static double inverse_square(const int64_t counts[3], const float *image, double sharpness)
{
    double sum = 0, differences = 0;
    int64_t n = 0;
    for (int64_t z = 0; z < counts[2]; z++)
        for (int64_t y = 0; y < counts[1]; y++)
            for (int64_t x = 0; x < counts[0]; x++, n++) {
                double dx = x > 0 ? difference(image, n, 1) : 0, dy = y > 0 ? difference(image, n, counts[0]) : 0,
                       dz = z > 0 ? difference(image, n, counts[0] * counts[1]) : 0;
                sum += dx * dx + dy * dy + dz * dz;
                differences += (x > 0) + (y > 0) + (z > 0);
            }
    return sum > 0 ? differences / (sum * sharpness * sharpness) : 0;
}

/* weights[axis] += the image's part of the sum in the denominator. */
static void add_image(const int64_t counts[3], const float *image, double factor, float *weights)
{
    const int64_t steps[3] = {1, counts[0], counts[0] * counts[1]}, voxels = steps[2] * counts[2];
    for (int a = 0; a < 3; a++)
        for (int64_t n = 0; n < voxels; n++)
            if (n / steps[a] % counts[a] > 0) {
                double d = difference(image, n, steps[a]);
                weights[a * voxels + n] += (float)(d * d * factor);
            }
}

vf_status vf_first_differences_weights(vf_context *ctx, const int64_t counts[3], int images, const float *references,
                                       double sharpness, float *weights)
{
    /* Squares of what is allowed stay within the range of double precision. */
    if (!possible(counts) || images < 1 || !references || !weights || !(sharpness >= 1e-100 && sharpness <= 1e100))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "first differences: %d reference images with a sharpness of %g", images,
                       sharpness);
    const int64_t steps[3] = {1, counts[0], counts[0] * counts[1]}, voxels = steps[2] * counts[2];
    for (int64_t i = 0; i < images * voxels; i++)
        if (!isfinite(references[i]))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "first differences: reference image %lld is not finite at voxel %lld",
                           (long long)(i / voxels), (long long)(i % voxels));
    for (int64_t i = 0; i < 3 * voxels; i++)
        weights[i] = 0;
    for (int r = 0; r < images; r++) {
        const float *image = references + r * voxels;
        add_image(counts, image, inverse_square(counts, image, sharpness), weights);
    }
    for (int a = 0; a < 3; a++)
        for (int64_t n = 0; n < voxels; n++) {
            float *w = &weights[a * voxels + n];
            *w = n / steps[a] % counts[a] > 0 ? 1 / (1 + *w) : 0;
        }
    return VF_OK;
}
