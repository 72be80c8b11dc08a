/* Plans of reductions, their results beside the definition's, the bounds of errors, and elements, for the tests of
 * reductions. */
#ifndef REDUCTION_FIXTURE_H
#define REDUCTION_FIXTURE_H

#include "double_fixture.h"
#include "free_all.h"
#include "reduce_fixture.h"

#include "reduce/reduce_internal.h"

static const char *const reduction_names[] = {"sum", "dot", "squares", "min", "max", "product", "and", "or"};

/* Whether the device can reduce the type so; prints a line if it lacks its precision. */
static inline bool can_reduce(vf_reduction reduction, vf_dtype type)
{
    return vf_reduce_exists(reduction, type) && !lacks_double(device, type);
}

static inline vf_reduce *make_plan(vf_reduction reduction, vf_dtype type, int64_t most)
{
    vf_reduce *plan = NULL;
    need(vf_reduce_create(device, reduction, type, most, &plan));
    assert_non_null(plan);
    return plan;
}

/* Runs a plan and returns the result. vf_reduce_now must give the same, and nothing may be written around it. */
static inline vf_reduced run(const vf_reduce *plan, int64_t n, const void *x, const void *y)
{
    vf_array results;
    vf_reduced host[3], poison[3], result, again;
    memset(poison, SENTINEL, sizeof poison);
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, sizeof host, &results));
    need(vf_queue_copy(queue, results.data, poison, sizeof poison));
    need(vf_reduce_execute(plan, queue, n, x, y, (vf_reduced *)results.data + 1));
    need(vf_queue_copy(queue, host, results.data, sizeof host));
    need(vf_queue_sync(queue));
    assert_memory_equal(&host[0], &poison[0], sizeof *host);
    assert_memory_equal(&host[2], &poison[2], sizeof *host);
    result = host[1];
    memset(&again, SENTINEL, sizeof again);
    need(vf_reduce_now(plan, queue, n, x, y, &again));
    assert_memory_equal(&result, &again, sizeof result);
    vf_array_free(&results);
    return result;
}

static inline void assert_result(const vf_reduced *got, const vf_reduced *want, double bound, vf_reduction reduction,
                                 vf_dtype type, int64_t n)
{
    if ((same(got->re, want->re) || fabs(got->re - want->re) <= bound) &&
        (same(got->im, want->im) || fabs(got->im - want->im) <= bound) && got->integer == want->integer &&
        got->index == want->index)
        return;
    fail_msg("%s of %lld %s: (%.17g, %.17g), %lld at %lld instead of (%.17g, %.17g), %lld at %lld within %g",
             reduction_names[reduction], (long long)n, type_name(type), got->re, got->im, (long long)got->integer,
             (long long)got->index, want->re, want->im, (long long)want->integer, (long long)want->index, bound);
}

/* However n factors are grouped, there are n - 1 multiplications: real ones have a relative error of u = 2^-53 each, complex
 * ones, with or without fma, of sqrt(5) u in the norm (Brent, Percival and Zimmermann, Math. Comp. 76 (2007) 1469). One
 * more for the reference's rounding to double, and n 2^-64 for its own multiplications. */
static inline double bound_of_product(vf_dtype type, int64_t n, const void *x)
{
    const vf_reduced product = vf_reduce_ref(VF_REDUCE_PRODUCT, type, n, x, NULL);
    const double each = type == VF_C64 || type == VF_C128 ? sqrt(5) : 1;
    return 1.01 * each * ((double)n + 2) * 0x1p-53 * hypot(product.re, product.im);
}

/* The error of a sum in double precision is at most k 2^-53 times the sum of the terms' magnitudes, if no term goes
 * through more than k roundings (Higham, Accuracy and Stability, 4.2). The CPU's longest path: 1/16 of a chunk,
 * which is 2^14 elements or 1/1024 of all, the 16 columns, the 1024 chunks. Complex elements have two numbers each,
 * and for the dot product both may be in one column. A GPU's path is shorter, because it has more threads. Three
 * more for the product and the reference's own rounding to double, twice for parts. */
static inline double bound_of(vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y)
{
    if (reduction == VF_REDUCE_PRODUCT && type < VF_I32)
        return bound_of_product(type, n, x);
    if (reduction >= VF_REDUCE_MIN || type >= VF_I32)
        return 0;
    const bool is_complex = type == VF_C64 || type == VF_C128;
    const bool is_double = type == VF_F64 || type == VF_C128;
    double size = 0;
    for (int64_t i = 0; i < (is_complex ? 2 * n : n); i++) {
        const double u = is_double ? ((const double *)x)[i] : (double)((const float *)x)[i];
        const int64_t other = is_complex ? i ^ 1 : i;
        const double v = reduction == VF_REDUCE_SUM       ? 1
                         : reduction == VF_REDUCE_SQUARES ? u
                         : is_double                      ? ((const double *)y)[i]
                                                          : (double)((const float *)y)[i];
        const double w = reduction != VF_REDUCE_DOT ? 0
                         : is_double                ? ((const double *)y)[other]
                                                    : (double)((const float *)y)[other];
        size += fabs(u) * fmax(fabs(v), fabs(w));
    }
    const double longest = 2 * fmax(1024, (double)n / 16384 + 4) + 16 + 1024 + 6;
    return fmin(longest, 2 * (double)n + 6) * 0x1p-53 * size;
}

/* A factor near 1, so that products of millions stay within the range of double: its logarithm is a random walk with
 * steps of at most 0.1 bits. */
static inline void set_factor(vf_dtype type, void *x, int64_t i)
{
    const double size = exp2(0.2 * uniform() - 0.1), angle = 6.283185307 * uniform();
    switch (type) {
    case VF_F32:
        ((float *)x)[i] = (float)(angle < 3 ? size : -size);
        return;
    case VF_F64:
        ((double *)x)[i] = angle < 3 ? size : -size;
        return;
    case VF_C64:
        ((float *)x)[2 * i] = (float)(size * cos(angle));
        ((float *)x)[2 * i + 1] = (float)(size * sin(angle));
        return;
    case VF_C128:
        ((double *)x)[2 * i] = size * cos(angle);
        ((double *)x)[2 * i + 1] = size * sin(angle);
        return;
    default: /* little-endian: odd numbers, whose products do not become 0 */
        ((uint8_t *)x)[(size_t)i * vf_dtype_bytes(type)] |= 1;
        return;
    }
}

/* Elements whose reduction is not trivial: for and, all bits are set but eight in all, and the inverse for or. */
static inline void *elements_for(vf_reduction reduction, vf_dtype type, int64_t n)
{
    unsigned char *x = random_elements(type, n);
    const int64_t bits = 8 * n * (int64_t)vf_dtype_bytes(type);
    for (int64_t i = 0; reduction == VF_REDUCE_PRODUCT && i < n; i++)
        set_factor(type, x, i);
    if (reduction != VF_REDUCE_AND && reduction != VF_REDUCE_OR)
        return x;
    memset(x, reduction == VF_REDUCE_AND ? 0xff : 0, (size_t)bits / 8);
    for (int b = 0; n > 0 && b < 8; b++) {
        const int64_t bit = integer_between(0, bits - 1);
        x[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    return x;
}

#endif
