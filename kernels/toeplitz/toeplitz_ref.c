/* The reference: the sum over all pairs of voxels of toeplitz.h, in double precision, on one thread. For tests only:
 * the work grows with the square of the number of voxels. Never tuned. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "toeplitz_backend.h"

/* plan->state: [segments][2z][2y][2x] double complex, a copy of Q. */

static int64_t points(const vf_toeplitz *plan)
{
    return plan->doubled[0] * plan->doubled[1] * plan->doubled[2];
}

static double complex at(const vf_toeplitz *plan, const void *values, int64_t n)
{
    if (plan->precision == VF_F64)
        return ((const double complex *)values)[n];
    return ((const float complex *)values)[n];
}

static vf_status create(vf_toeplitz *plan)
{
    int64_t count = points(plan) * plan->segments;
    plan->state = calloc((size_t)count, sizeof(double complex));
    plan->bytes += count * (int64_t)sizeof(double complex);
    return plan->state ? VF_OK
                       : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                                 "Toeplitz: not enough memory for Q of %lld", (long long)count);
}

static void destroy(vf_toeplitz *plan)
{
    free(plan->state);
    plan->state = NULL;
}

static vf_status set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q)
{
    (void)queue;
    double complex *copy = (double complex *)plan->state + segment * points(plan);
    for (int64_t n = 0; n < points(plan); n++)
        copy[n] = at(plan, q, n);
    return VF_OK;
}

/* Q_l(n - m). Along an axis of N > 1 voxels, the difference n - m has index n - m + N. */
static double complex kernel(const vf_toeplitz *plan, int segment, int64_t n, int64_t m)
{
    const double complex *q = (const double complex *)plan->state + segment * points(plan);
    int64_t index = 0, stride = 1;
    for (int a = 0; a < 3; a++) {
        int64_t size = plan->matrix[a];
        if (size > 1)
            index += (n % size - m % size + size) * stride;
        n /= size;
        m /= size;
        stride *= plan->doubled[a];
    }
    return q[index];
}

/* s_c(n) e_l(n) */
static double complex seen_through(const vf_toeplitz *plan, const void *maps, int coil, int segment, int64_t n)
{
    double complex s = maps ? at(plan, maps, coil * plan->voxels + n) : 1;
    if (!plan->time)
        return s;
    double turns = plan->time[segment] * (double)((const float *)plan->field.data)[n];
    double angle = -2 * M_PI * (turns - rint(turns));
    return s * (cos(angle) + I * sin(angle));
}

static vf_status apply(vf_toeplitz *plan, vf_queue *queue, int coils, const void *maps, const void *x, void *y)
{
    (void)queue;
    for (int64_t n = 0; n < plan->voxels; n++) {
        double complex sum = 0;
        if (vf_cancelled(vf_device_context(plan->device)))
            return vf_fail(vf_device_context(plan->device), VF_ERR_CANCELLED, "interrupted");
        for (int c = 0; c < coils; c++)
            for (int l = 0; l < plan->segments; l++) {
                double complex inner = 0;
                for (int64_t m = 0; m < plan->voxels; m++)
                    inner += kernel(plan, l, n, m) * seen_through(plan, maps, c, l, m) * at(plan, x, m);
                sum += conj(seen_through(plan, maps, c, l, n)) * inner;
            }
        if (plan->precision == VF_F64)
            ((double complex *)y)[n] = sum;
        else
            ((float complex *)y)[n] = (float complex)sum;
    }
    return VF_OK;
}

const vf_toeplitz_backend vf_toeplitz_ref = {
    .kind = VF_DEVICE_CPU, .variant = "ref", .create = create, .set = set, .apply = apply, .destroy = destroy};
