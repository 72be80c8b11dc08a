/* The scan by its definition, one element after the other; sums and products of
 * floating-point numbers in long double. */
#include <math.h>

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

/* The first of equal extremes, or the first NaN. */
#define LEAST(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))
#define GREATEST(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define COMMON(a, b) ((a) & (b))
#define EITHER(a, b) ((a) | (b))

/* y may be x: each element is read before it is written. */
#define SCAN(IN, SUM, OUT, COMBINE, IDENTITY)                                                                          \
    do {                                                                                                               \
        SUM sum = IDENTITY;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const SUM u = (SUM)((const IN *)x)[i];                                                                     \
            if (head && head[i])                                                                                       \
                sum = IDENTITY;                                                                                        \
            const SUM next = COMBINE(sum, u);                                                                          \
            ((OUT *)y)[i] = (OUT)(o->exclusive ? sum : next);                                                          \
            sum = next;                                                                                                \
        }                                                                                                              \
    } while (0)

#define SCAN_REAL(T)                                                                                                   \
    do {                                                                                                               \
        if (o->op == VF_SCAN_SUM)                                                                                      \
            SCAN(T, long double, T, PLUS, 0);                                                                          \
        else if (o->op == VF_SCAN_PRODUCT)                                                                             \
            SCAN(T, long double, T, TIMES, 1);                                                                         \
        else if (o->op == VF_SCAN_MIN)                                                                                 \
            SCAN(T, T, T, LEAST, (T)INFINITY);                                                                         \
        else                                                                                                           \
            SCAN(T, T, T, GREATEST, -(T)INFINITY);                                                                     \
    } while (0)

#define SCAN_INTEGERS(T, UNSIGNED, MIN, MAX)                                                                           \
    do {                                                                                                               \
        if (o->op == VF_SCAN_SUM)                                                                                      \
            SCAN(T, UNSIGNED, T, PLUS, 0);                                                                             \
        else if (o->op == VF_SCAN_PRODUCT)                                                                             \
            SCAN(T, UNSIGNED, T, TIMES, 1);                                                                            \
        else if (o->op == VF_SCAN_MIN)                                                                                 \
            SCAN(T, T, T, LEAST, MAX);                                                                                 \
        else if (o->op == VF_SCAN_MAX)                                                                                 \
            SCAN(T, T, T, GREATEST, MIN);                                                                              \
        else if (o->op == VF_SCAN_AND)                                                                                 \
            SCAN(T, T, T, COMMON, -1);                                                                                 \
        else                                                                                                           \
            SCAN(T, T, T, EITHER, 0);                                                                                  \
    } while (0)

static vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    const vf_scan_options *o = &plan->options;
    (void)queue;
    switch (o->type) {
    case VF_F32:
        SCAN_REAL(float);
        break;
    case VF_F64:
        SCAN_REAL(double);
        break;
    case VF_I32:
        if (o->wide)
            SCAN(int32_t, uint64_t, int64_t, PLUS, 0);
        else
            SCAN_INTEGERS(int32_t, uint32_t, INT32_MIN, INT32_MAX);
        break;
    case VF_I64:
        SCAN_INTEGERS(int64_t, uint64_t, INT64_MIN, INT64_MAX);
        break;
    default:
        SCAN(uint8_t, uint64_t, int64_t, PLUS, 0);
        break;
    }
    return VF_OK;
}

const vf_scan_ops vf_scan_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, execute};
