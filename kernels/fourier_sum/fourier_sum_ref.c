/* The reference: the formulas of fourier_sum.h in double precision, on one thread. Never tuned. */
#include <math.h>

#include "fourier_sum_backend.h"

#define TWO_PI 6.283185307179586476925

static double get(const vf_fourier *plan, const void *values, int64_t n)
{
    return plan->options.precision == VF_F64 ? ((const double *)values)[n] : (double)((const float *)values)[n];
}

static void put(const vf_fourier *plan, void *values, int64_t n, double value)
{
    if (plan->options.precision == VF_F64)
        ((double *)values)[n] = value;
    else
        ((float *)values)[n] = (float)value;
}

/* Adds values[n] exp(sign i 2 pi phase) to sum. */
static void add_term(const vf_fourier *plan, int64_t m, const double r[4], double sign, const void *values, int64_t n,
                     double sum[2])
{
    double turns = plan->k.x[m] * r[0] + plan->k.y[m] * r[1] + plan->k.z[m] * r[2];
    if (plan->has_field)
        turns += plan->k.w[m] * r[3];
    double angle = TWO_PI * (turns - rint(turns));
    double re = get(plan, values, 2 * n), im = get(plan, values, 2 * n + 1), c = cos(angle), s = sign * sin(angle);
    sum[0] += re * c - im * s;
    sum[1] += re * s + im * c;
}

static vf_status adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first,
                         int64_t count, void *y)
{
    (void)queue;
    for (int64_t n = 0; n < count; n++) {
        double r[4];
        if (vf_cancelled(vf_device_context(plan->device)))
            return vf_fail(vf_device_context(plan->device), VF_ERR_CANCELLED, "interrupted");
        vf_fourier_voxel(plan, first + n, r);
        for (int b = 0; b < batch; b++) {
            double sum[2] = {0, 0};
            for (int64_t m = 0; m < plan->samples; m++)
                add_term(plan, m, r, 1, c, b * plan->samples + m, sum);
            put(plan, y, 2 * (b * count + n), sum[0]);
            put(plan, y, 2 * (b * count + n) + 1, sum[1]);
        }
    }
    return VF_OK;
}

static vf_status forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    (void)queue;
    for (int64_t m = 0; m < plan->samples; m++) {
        if (vf_cancelled(vf_device_context(plan->device)))
            return vf_fail(vf_device_context(plan->device), VF_ERR_CANCELLED, "interrupted");
        for (int b = 0; b < batch; b++) {
            double sum[2] = {0, 0}, r[4];
            for (int64_t n = 0; n < plan->voxels; n++) {
                vf_fourier_voxel(plan, n, r);
                add_term(plan, m, r, -1, x, b * plan->voxels + n, sum);
            }
            put(plan, c, 2 * (b * plan->samples + m), sum[0]);
            put(plan, c, 2 * (b * plan->samples + m) + 1, sum[1]);
        }
    }
    return VF_OK;
}

static vf_status create(vf_fourier *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_fourier *plan)
{
    (void)plan;
}

static const char *const variants[] = {"ref", NULL};
const vf_fourier_backend vf_fourier_ref = {.variants = {VF_DEVICE_CPU, variants},
                                           .create = create,
                                           .adjoint = adjoint,
                                           .forward = forward,
                                           .destroy = destroy};
