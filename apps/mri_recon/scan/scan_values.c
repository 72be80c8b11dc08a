#include "scan_values.h"

#include <math.h>

int64_t scan_first_not_finite(const float *values, int64_t count)
{
    enum { BLOCK = 1024 };
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t end = first + BLOCK < count ? first + BLOCK : count;
        float zero = 0;
#pragma omp simd reduction(+ : zero)
        for (int64_t i = first; i < end; i++)
            zero += values[i] * 0; /* NaN if any value is NaN or infinite */
        if (zero == 0)
            continue;
        for (int64_t i = first; i < end; i++)
            if (!isfinite(values[i]))
                return i;
    }
    return -1;
}

const char *scan_not_finite_name(float value)
{
    return isnan(value) ? "nan" : "infinite";
}
