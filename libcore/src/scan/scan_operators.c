/* Scans on the CPU with other operators than sums: one element after the other, in runs side by side. One source for all
 * instruction sets. Also how the sums of runs are combined, for all operators. */
#include <math.h>

#include "scan_chunks.h"
#include "scan_plan.h"

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
/* The first of equal extremes, or the first NaN. */
#define LEAST(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))
#define GREATEST(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define COMMON(a, b) ((a) & (b))
#define ANY(a, b) ((a) | (b))

/* ---- chunks: INTEGER is the type in which integers are combined; the extreme values of each type ---- */

#define LOWEST_f32 (-(double)INFINITY)
#define LOWEST_f64 (-(double)INFINITY)
#define LOWEST_i32 INT32_MIN
#define LOWEST_i64 INT64_MIN
#define HIGHEST_f32 ((double)INFINITY)
#define HIGHEST_f64 ((double)INFINITY)
#define HIGHEST_i32 INT32_MAX
#define HIGHEST_i64 INT64_MAX

#define COMBINE TIMES
#define INTEGER uint64_t
#define IDENTITY_OF(type) 1
#define NAME_OF(x, type) x##_product_##type
#include "scan_operator_integer.inc"
#include "scan_operator_real.inc"
#undef COMBINE
#undef INTEGER
#undef IDENTITY_OF
#undef NAME_OF

#define INTEGER int64_t

#define COMBINE LEAST
#define IDENTITY_OF(type) HIGHEST_##type
#define NAME_OF(x, type) x##_min_##type
#include "scan_operator_integer.inc"
#include "scan_operator_real.inc"
#undef COMBINE
#undef IDENTITY_OF
#undef NAME_OF

#define COMBINE GREATEST
#define IDENTITY_OF(type) LOWEST_##type
#define NAME_OF(x, type) x##_max_##type
#include "scan_operator_integer.inc"
#include "scan_operator_real.inc"
#undef COMBINE
#undef IDENTITY_OF
#undef NAME_OF

#define COMBINE COMMON
#define IDENTITY_OF(type) (-1)
#define NAME_OF(x, type) x##_and_##type
#include "scan_operator_integer.inc"
#undef COMBINE
#undef IDENTITY_OF
#undef NAME_OF

#define COMBINE ANY
#define IDENTITY_OF(type) 0
#define NAME_OF(x, type) x##_or_##type
#include "scan_operator_integer.inc"

#define CHUNK(operator, type)                                                                                          \
    {                                                                                                                  \
        sum_chunk_##operator##_##type, scan_chunk_##operator##_##type                                                  \
    }
#define REAL_CHUNKS(operator) [VF_F32] = CHUNK(operator, f32), [VF_F64] = CHUNK(operator, f64)
#define INTEGER_CHUNKS(operator) [VF_I32] = CHUNK(operator, i32), [VF_I64] = CHUNK(operator, i64)
const vf_scan_chunk vf_scan_operator_chunks[VF_SCAN_OPERATORS][VF_U8 + 1] = {
    [VF_SCAN_PRODUCT] = {REAL_CHUNKS(product), INTEGER_CHUNKS(product)},
    [VF_SCAN_MIN] = {REAL_CHUNKS(min), INTEGER_CHUNKS(min)},
    [VF_SCAN_MAX] = {REAL_CHUNKS(max), INTEGER_CHUNKS(max)},
    [VF_SCAN_AND] = {INTEGER_CHUNKS(and)},
    [VF_SCAN_OR] = {INTEGER_CHUNKS(or)},
};

/* ---- sums of runs ---- */

#define APPEND(NAME, T, MEMBER, COMBINE)                                                                               \
    static void NAME(vf_scan_sum *carry, const vf_scan_sum *next)                                                      \
    {                                                                                                                  \
        const T a = (T)carry->MEMBER, b = (T)next->MEMBER;                                                             \
        carry->MEMBER = (__typeof__(carry->MEMBER))(next->flag ? b : COMBINE(a, b));                                   \
    }
APPEND(add_reals, double, real, PLUS)
APPEND(add_integers, uint64_t, integer, PLUS)
APPEND(multiply_reals, double, real, TIMES)
APPEND(multiply_integers, uint64_t, integer, TIMES)
APPEND(keep_least_real, double, real, LEAST)
APPEND(keep_least_integer, int64_t, integer, LEAST)
APPEND(keep_greatest_real, double, real, GREATEST)
APPEND(keep_greatest_integer, int64_t, integer, GREATEST)
APPEND(keep_common, uint64_t, integer, COMMON)
APPEND(keep_any, uint64_t, integer, ANY)

vf_scan_sum vf_scan_identity(vf_scan_operator op, vf_dtype type)
{
    const bool real = type == VF_F32 || type == VF_F64, narrow = type == VF_I32;
    const int64_t integer[VF_SCAN_OPERATORS] = {0,  1, narrow ? INT32_MAX : INT64_MAX, narrow ? INT32_MIN : INT64_MIN,
                                                -1, 0};
    static const double number[VF_SCAN_OPERATORS] = {0, 1, HUGE_VAL, -HUGE_VAL, 0, 0};
    vf_scan_sum sum = {.flag = false};
    if (real)
        sum.real = number[op];
    else
        sum.integer = (uint64_t)integer[op];
    return sum;
}

vf_scan_append vf_scan_append_of(vf_scan_operator op, vf_dtype type)
{
    static const vf_scan_append all[VF_SCAN_OPERATORS][2] = {
        [VF_SCAN_SUM] = {add_integers, add_reals},
        [VF_SCAN_PRODUCT] = {multiply_integers, multiply_reals},
        [VF_SCAN_MIN] = {keep_least_integer, keep_least_real},
        [VF_SCAN_MAX] = {keep_greatest_integer, keep_greatest_real},
        [VF_SCAN_AND] = {keep_common},
        [VF_SCAN_OR] = {keep_any},
    };
    return all[op][type == VF_F32 || type == VF_F64];
}
