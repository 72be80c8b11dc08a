#include "scan_values.h"

#include <math.h>

#include "voxfield/team_size.h"

int64_t scan_first_not_finite(const vf_context *ctx, const float *values, int64_t count)
{
    enum { BLOCK = 1024 };
    const int64_t blocks = (count + BLOCK - 1) / BLOCK;
    int64_t first = blocks; /* of the blocks with such a value */
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, count / 4)) reduction(min : first)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t end = (b + 1) * BLOCK < count ? (b + 1) * BLOCK : count;
        float zero = 0;
#pragma omp simd reduction(+ : zero)
        for (int64_t i = b * BLOCK; i < end; i++)
            zero += values[i] * 0; /* NaN if any value is NaN or infinite */
        first = zero != 0 && b < first ? b : first;
    }
    for (int64_t i = first * BLOCK; i < count; i++)
        if (!isfinite(values[i]))
            return i;
    return -1;
}

const char *scan_not_finite_name(float value)
{
    return isnan(value) ? "nan" : "infinite";
}
