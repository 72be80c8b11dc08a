/* The scan by its definition, one element after the other; sums of floating-point numbers in long double. */
#include "scan_plan.h"

static const char *const names[] = {"ref", NULL};

static vf_status create(vf_scan *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_scan *plan)
{
    (void)plan;
}

/* y may be x: each element is read before it is written. */
#define SCAN(IN, SUM, OUT)                                                                                             \
    do {                                                                                                               \
        SUM sum = 0;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const SUM u = (SUM)((const IN *)x)[i];                                                                     \
            if (head && head[i])                                                                                       \
                sum = 0;                                                                                               \
            ((OUT *)y)[i] = (OUT)(plan->options.exclusive ? sum : sum + u);                                            \
            sum += u;                                                                                                  \
        }                                                                                                              \
    } while (0)

static vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    (void)queue;
    switch (plan->options.type) {
    case VF_F32:
        SCAN(float, long double, float);
        break;
    case VF_F64:
        SCAN(double, long double, double);
        break;
    case VF_I32:
        SCAN(int32_t, uint32_t, int32_t);
        break;
    case VF_I64:
        SCAN(int64_t, uint64_t, int64_t);
        break;
    default:
        SCAN(uint8_t, uint64_t, int64_t);
        break;
    }
    return VF_OK;
}

const vf_scan_ops vf_scan_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, execute};
