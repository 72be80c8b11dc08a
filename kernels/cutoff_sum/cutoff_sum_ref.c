/* The reference: the formula of cutoff_sum.h in double precision, on one thread. Never tuned. */
#include <math.h>

#include "coulomb_sum_backend.h"
#include "cutoff_sum_backend.h"

static double potential(const vf_cutoff *plan, double x, double y, double z)
{
    double sum = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const double dx = x - plan->x[i], dy = y - plan->y[i], dz = z - plan->z[i];
        const double r = sqrt(dx * dx + dy * dy + dz * dz);
        if (r < plan->options.cutoff)
            sum += plan->charge[i] * vf_cutoff_plan_value(plan, r);
    }
    return sum;
}

static vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
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
                    ((double *)out)[n] = v + (add ? ((const double *)out)[n] : 0);
                else
                    ((float *)out)[n] = (float)(v + (add ? (double)((const float *)out)[n] : 0));
            }
        }
    return VF_OK;
}

static void destroy(vf_cutoff *plan)
{
    (void)plan;
}

static const char *const variants[] = {"ref", NULL};
const vf_cutoff_backend vf_cutoff_ref = {
    .variants = {VF_DEVICE_CPU, variants}, .create = vf_cutoff_copy_charges, .execute = execute, .destroy = destroy};
