#include "backend/opencl_sums.h"

#include <math.h>

typedef union partial_sum {
    struct {
        double sum, lost;
    } twice;
    struct {
        int64_t number;
        int32_t power;
        float special;
    } once;
} partial_sum;
_Static_assert(sizeof(partial_sum) == VF_OPENCL_SUM_BYTES, "as in opencl_sums.cl");

double vf_opencl_total(vf_dtype real, const void *partial_sums, int64_t count, int64_t step)
{
    const partial_sum *s = partial_sums;
    long double sum = 0;
    double special = 0;
    for (int64_t i = 0; i < count; i += step)
        if (real == VF_F32) {
            sum += ldexpl((long double)s[i].once.number, s[i].once.power);
            special += (double)s[i].once.special;
        } else if (isfinite(s[i].twice.sum)) {
            sum += (long double)s[i].twice.sum + (long double)s[i].twice.lost;
        } else {
            special += s[i].twice.sum;
        }
    return special == 0 ? (double)sum : special;
}

double vf_opencl_product(vf_dtype real, const void *partial)
{
    const partial_sum *s = partial;
    if (real == VF_F64)
        return s->twice.sum;
    return s->once.special != 0 && isfinite(s->once.special) ? ldexp((double)s->once.number, s->once.power)
                                                             : (double)s->once.special;
}
