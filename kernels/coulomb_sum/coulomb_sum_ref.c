/* The reference: the formula of coulomb_sum.h in double precision, on one thread. Never tuned. */
#include <math.h>

#include "coulomb_sum_backend.h"

static double potential(const vf_coulomb *plan, double x, double y, double z)
{
    double sum = 0;
    for (int64_t i = 0; i < plan->atoms; i++) {
        double dx = x - plan->x[i], dy = y - plan->y[i], dz = z - plan->z[i];
        double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), plan->options.r_min);
        sum += plan->charge[i] / (plan->options.distance_dielectric ? r * r : r);
    }
    return sum;
}

static vf_status create(vf_coulomb *plan)
{
    (void)plan;
    return VF_OK;
}

static vf_status execute(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out)
{
    (void)queue;
    int64_t n = 0;
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++)
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++) {
            if (vf_cancelled(vf_device_context(plan->device)))
                return vf_fail(vf_device_context(plan->device), VF_ERR_CANCELLED, "interrupted");
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++, n++) {
                double v = potential(plan, vf_coulomb_position(&plan->grid, 0, i),
                                     vf_coulomb_position(&plan->grid, 1, j), vf_coulomb_position(&plan->grid, 2, k));
                if (plan->options.precision == VF_F64)
                    ((double *)out)[n] = v;
                else
                    ((float *)out)[n] = (float)v;
            }
        }
    return VF_OK;
}

static void destroy(vf_coulomb *plan)
{
    (void)plan;
}

static const char *const variants[] = {"ref", NULL};
const vf_coulomb_backend vf_coulomb_ref = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .execute = execute, .destroy = destroy};
