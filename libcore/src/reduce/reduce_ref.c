/* Reductions by their definition, the reference for tests of the backends. */
#include <math.h>

#include "reduce_internal.h"

/* Element i of an array of any type, as {re, im}; exact except for VF_I64. */
static void element(vf_dtype type, const void *x, int64_t i, long double part[2])
{
    part[1] = 0;
    switch (type) {
    case VF_F32:
        part[0] = (long double)((const float *)x)[i];
        return;
    case VF_F64:
        part[0] = (long double)((const double *)x)[i];
        return;
    case VF_C64:
        part[0] = (long double)((const float *)x)[2 * i];
        part[1] = (long double)((const float *)x)[2 * i + 1];
        return;
    case VF_C128:
        part[0] = (long double)((const double *)x)[2 * i];
        part[1] = (long double)((const double *)x)[2 * i + 1];
        return;
    default:
        part[0] = 0;
        return;
    }
}

static int64_t integer(vf_dtype type, const void *x, int64_t i)
{
    return type == VF_I32   ? ((const int32_t *)x)[i]
           : type == VF_I64 ? ((const int64_t *)x)[i]
                            : (int64_t)((const uint8_t *)x)[i];
}

vf_reduced vf_reduce_identity(vf_reduction reduction, vf_dtype type)
{
    const bool integers = type == VF_I32 || type == VF_I64 || type == VF_U8;
    switch (reduction) {
    case VF_REDUCE_MIN:
    case VF_REDUCE_MAX:
        return (vf_reduced){.index = -1};
    case VF_REDUCE_PRODUCT:
        return integers ? (vf_reduced){.integer = 1} : (vf_reduced){.re = 1};
    case VF_REDUCE_AND:
        return (vf_reduced){.integer = type == VF_U8 ? UINT8_MAX : -1};
    default:
        return (vf_reduced){0};
    }
}

static vf_reduced reduce_integers(vf_reduction reduction, vf_dtype type, int64_t n, const void *x)
{
    uint64_t all = (uint64_t)vf_reduce_identity(reduction, type).integer;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t u = (uint64_t)integer(type, x, i);
        all = reduction == VF_REDUCE_SUM       ? all + u
              : reduction == VF_REDUCE_PRODUCT ? all * u
              : reduction == VF_REDUCE_AND     ? all & u
                                               : all | u;
    }
    return (vf_reduced){.integer = (int64_t)all};
}

static vf_reduced product(vf_dtype type, int64_t n, const void *x)
{
    const bool is_complex = type == VF_C64 || type == VF_C128;
    long double re = 1, im = 0;
    for (int64_t i = 0; i < n && !(isnan(re) && (isnan(im) || !is_complex)); i++) {
        long double u[2];
        element(type, x, i, u);
        const long double before = re;
        re = is_complex ? re * u[0] - im * u[1] : re * u[0];
        im = is_complex ? before * u[1] + im * u[0] : 0;
    }
    return (vf_reduced){.re = (double)re, .im = (double)im};
}

static vf_reduced extreme_integer(vf_reduction reduction, vf_dtype type, int64_t n, const void *x)
{
    vf_reduced best = {.index = -1};
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = integer(type, x, i);
        if (best.index < 0 || (reduction == VF_REDUCE_MIN ? value < best.integer : value > best.integer))
            best = (vf_reduced){.integer = value, .index = i};
    }
    return best;
}

static vf_reduced extreme(vf_reduction reduction, vf_dtype type, int64_t n, const void *x)
{
    vf_reduced best = {.index = -1};
    for (int64_t i = 0; i < n; i++) {
        long double part[2];
        element(type, x, i, part);
        const double value = (double)part[0];
        if (isnan(value))
            return (vf_reduced){.re = value, .index = i};
        if (best.index < 0 || (reduction == VF_REDUCE_MIN ? value < best.re : value > best.re))
            best = (vf_reduced){.re = value, .index = i};
    }
    return best;
}

vf_reduced vf_reduce_ref(vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y)
{
    const bool integers = type == VF_I32 || type == VF_I64 || type == VF_U8;
    const bool is_complex = type == VF_C64 || type == VF_C128;
    if (reduction == VF_REDUCE_MIN || reduction == VF_REDUCE_MAX)
        return integers ? extreme_integer(reduction, type, n, x) : extreme(reduction, type, n, x);
    if (integers)
        return reduce_integers(reduction, type, n, x);
    if (reduction == VF_REDUCE_PRODUCT)
        return product(type, n, x);
    long double re = 0, im = 0;
    /* NaN stays NaN, and the x87 unit takes some hundred cycles to say so. */
    for (int64_t i = 0; i < n && !(isnan(re) && (isnan(im) || !is_complex)); i++) {
        long double u[2], v[2];
        element(type, x, i, u);
        element(type, reduction == VF_REDUCE_DOT ? y : x, i, v);
        if (reduction == VF_REDUCE_SUM) {
            re += u[0];
            im += u[1];
        } else {
            re += u[0] * v[0];
            if (is_complex)
                re += u[1] * v[1];
            if (is_complex && reduction == VF_REDUCE_DOT)
                im += u[0] * v[1] - u[1] * v[0];
        }
    }
    return (vf_reduced){.re = (double)re, .im = (double)im};
}
