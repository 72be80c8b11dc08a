/* Scans of all variants, types and operators, and their results beside the definition's, for the tests of scans. */
#ifndef SCAN_CASES_H
#define SCAN_CASES_H

#include "libcore/reduce/reduction_fixture.h"

#include "scan/scan_plan.h"

static const struct {
    vf_dtype type;
    vf_scan_operator op;
    bool wide;
} subjects[] = {{VF_F32, VF_SCAN_SUM, false},     {VF_F64, VF_SCAN_SUM, false},     {VF_I32, VF_SCAN_SUM, false},
                {VF_I64, VF_SCAN_SUM, false},     {VF_U8, VF_SCAN_SUM, false},      {VF_I32, VF_SCAN_SUM, true},
                {VF_F32, VF_SCAN_PRODUCT, false}, {VF_F64, VF_SCAN_PRODUCT, false}, {VF_I32, VF_SCAN_PRODUCT, false},
                {VF_I64, VF_SCAN_PRODUCT, false}, {VF_F32, VF_SCAN_MIN, false},     {VF_F64, VF_SCAN_MIN, false},
                {VF_I32, VF_SCAN_MIN, false},     {VF_I64, VF_SCAN_MIN, false},     {VF_F32, VF_SCAN_MAX, false},
                {VF_F64, VF_SCAN_MAX, false},     {VF_I32, VF_SCAN_MAX, false},     {VF_I64, VF_SCAN_MAX, false},
                {VF_I32, VF_SCAN_AND, false},     {VF_I64, VF_SCAN_AND, false},     {VF_I32, VF_SCAN_OR, false},
                {VF_I64, VF_SCAN_OR, false}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static inline const char *name_of(const vf_scan_options *o)
{
    static const char *const operators[] = {"sum", "product", "min", "max", "and", "or"};
    static char name[96];
    snprintf(name, sizeof name, "%s %s%s%s scan (%s) of %s", o->variant ? o->variant : "default",
             o->exclusive ? "exclusive" : "inclusive", o->segmented ? " segmented" : "", o->wide ? " wide" : "",
             operators[o->op], type_name(o->type));
    return name;
}

static inline size_t result_bytes(const vf_scan_options *options)
{
    return vf_dtype_bytes(vf_scan_result(options));
}

static inline bool is_real(const vf_scan_options *options)
{
    return options->type == VF_F32 || options->type == VF_F64;
}

/* Elements whose scan is not trivial: extremes change all the time, half a step up and down around a slope. */
static inline void *elements(const vf_scan_options *o, int64_t n)
{
    static const vf_reduction alike[] = {VF_REDUCE_SUM, VF_REDUCE_PRODUCT, VF_REDUCE_SUM,
                                         VF_REDUCE_SUM, VF_REDUCE_AND,     VF_REDUCE_OR};
    void *x = elements_for(alike[o->op], o->type, n);
    for (int64_t i = 0; (o->op == VF_SCAN_MIN || o->op == VF_SCAN_MAX) && i < n; i++) {
        const double value = (o->op == VF_SCAN_MIN ? -1000.0 : 1000.0) * ((double)i + 20 * uniform() - 10);
        if (o->type == VF_F32)
            ((float *)x)[i] = (float)value;
        else if (o->type == VF_F64)
            ((double *)x)[i] = value;
        else if (o->type == VF_I32)
            ((int32_t *)x)[i] = (int32_t)(value / 4);
        else
            ((int64_t *)x)[i] = (int64_t)(value * 1e9);
    }
    return x;
}

static inline vf_scan *make_scan(const vf_scan_options *options, int64_t most)
{
    vf_scan *plan = NULL;
    need(vf_scan_create(device, options, most, &plan));
    assert_non_null(plan);
    return plan;
}

/* The scan of x in new host memory, by the definition. `magnitudes`: of |x|. */
static inline void *defined(const vf_scan_options *options, int64_t n, const void *x, const uint8_t *head,
                            bool magnitudes)
{
    const vf_scan plan = {.options = *options};
    const size_t size = vf_dtype_bytes(options->type);
    void *y = allocate_host((size_t)n * 8), *of = (void *)(uintptr_t)x;
    if (magnitudes) {
        of = allocate_host((size_t)n * size);
        for (int64_t i = 0; i < n; i++)
            if (options->type == VF_F32)
                ((float *)of)[i] = fabsf(((const float *)x)[i]);
            else
                ((double *)of)[i] = fabs(((const double *)x)[i]);
    }
    need(vf_scan_ops_ref.execute(&plan, queue, n, of, head, y));
    if (magnitudes)
        free(of);
    return y;
}

static inline double number(vf_dtype type, const void *x, int64_t i)
{
    return type == VF_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Everything else is exact: sums of integers, extremes, bits. The error of a floating-point sum is at most k u times the sum of the terms'
 * magnitudes, where k is the most roundings of a term (Higham, Accuracy and Stability, 4.2). The CPU adds in double
 * precision, and rounds to the type last: a run of 1,024, then all runs one after the other. A GPU adds in the type:
 * at most nWork = 32 numbers serially (twice: for the block's sum and the results), lanes, warps and three levels of
 * look-back with 5 each, and one supergroup after the other; or, with three kernels, data blocks and runs. In all,
 * fewer than n / 1024 + 64. On OpenCL devices a float's sum
 * is two floats, of which the second collects the roundings of the first: so it is off by (k u)^2, where k are the elements of a run
 * and 4,096 runs. A product of n numbers has n - 1 multiplications, however it is grouped, each with a relative
 * error of u. The definition's result is rounded to the type, too: so a rounding of each result is allowed. */
static inline double bound_of_scan(const vf_scan_options *o, int64_t n, double magnitude)
{
    const vf_dtype type = o->type;
    const bool gpu = vf_device_get_kind(device) != VF_DEVICE_CPU,
               opencl = vf_device_get_kind(device) == VF_DEVICE_OPENCL;
    const double results = 2 * (type == VF_F32 ? 0x1p-24 : 0x1p-53);
    if (o->op != VF_SCAN_SUM && o->op != VF_SCAN_PRODUCT)
        return 0;
    if (o->op == VF_SCAN_PRODUCT)
        return ((gpu && type == VF_F32 ? 0x1p-24 : 0x1p-53) * ((double)n + 1) + results) * 1.01 * fabs(magnitude);
    const double runs = (double)n / 1024 + (gpu ? 160 : 1040), pairs = ((double)n / 4096 + 4096) * 0x1p-24;
    if (opencl && type == VF_F32)
        return (fmin(pairs * pairs, (double)n * 0x1p-24) + results) * 1.01 * magnitude;
    const double inner = (gpu && type == VF_F32 ? 0x1p-24 : 0x1p-53) * fmin(runs, 2 * (double)n + 2);
    return (inner + results) * 1.01 * magnitude;
}

static inline void assert_scan(const vf_scan_options *options, int64_t n, const void *x, const uint8_t *head,
                               const void *got)
{
    const bool real = is_real(options);
    const size_t size = result_bytes(options);
    unsigned char *want = defined(options, n, x, head, false);
    void *magnitudes = real && options->op <= VF_SCAN_PRODUCT ? defined(options, n, x, head, true) : NULL;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *g = (const unsigned char *)got + (size_t)i * size, *w = want + (size_t)i * size;
        if (memcmp(g, w, size) == 0)
            continue;
        if (real) {
            const double a = number(options->type, got, i), b = number(options->type, want, i);
            const double m = magnitudes ? number(options->type, magnitudes, i) : 0;
            const double bound = bound_of_scan(options, n, m);
            if ((isnan(a) && isnan(b)) || (bound > 0 && a == b) || fabs(a - b) < bound)
                continue;
            fail_msg("%s, %lld elements: y[%lld] is %.17g instead of %.17g within %g", name_of(options), (long long)n,
                     (long long)i, a, b, bound);
        }
        fail_msg("%s, %lld elements: y[%lld] is wrong", name_of(options), (long long)n, (long long)i);
    }
    free(want);
    free(magnitudes);
}

/* Flags, a share `often` of them set, with any nonzero value; NULL without segments. */
static inline uint8_t *random_heads(const vf_scan_options *options, int64_t n, double often)
{
    if (!options->segmented)
        return NULL;
    uint8_t *head = allocate_host((size_t)n);
    for (int64_t i = 0; i < n; i++)
        head[i] = uniform() < often ? (uint8_t)(1 + uniform() * 255) : 0;
    return head;
}

/* The scan on the device, in new host memory; offsets of x, head and y. In place if y's is negative. */
static inline void *scan_at(const vf_scan *plan, int64_t n, const void *x, const uint8_t *head,
                            const int64_t offsets[3])
{
    const vf_dtype type = plan->options.type;
    placed px = place(type, n, offsets[0], x), ph = {0}, py = {0};
    if (head)
        ph = place(VF_U8, n, offsets[1], head);
    if (offsets[2] >= 0)
        py = place(vf_scan_result(&plan->options), n, offsets[2], NULL);
    need(vf_scan_execute(plan, queue, n, px.data, ph.data, offsets[2] < 0 ? px.data : py.data));
    void *y = take_back(offsets[2] < 0 ? &px : &py);
    if (offsets[2] >= 0) { /* x is unchanged */
        void *still = take_back(&px);
        assert_memory_equal(still, x, (size_t)n * vf_dtype_bytes(type));
        free(still);
    }
    if (head)
        free(take_back(&ph));
    return y;
}

/* Calls `test` for each variant, subject and kind. */
static inline void for_all(void (*test)(const vf_scan_options *))
{
    const char *variant;
    for (int v = 0; (variant = vf_scan_variant_name(vf_device_get_kind(device), v)); v++)
        for (int s = 0; s < SUBJECTS; s++)
            for (int kind = 0; kind < (has_precision(subjects[s].type) ? 4 : 0); kind++)
                test(&(vf_scan_options){.type = subjects[s].type,
                                        .exclusive = kind % 2 != 0,
                                        .segmented = kind / 2 != 0,
                                        .variant = variant,
                                        .op = subjects[s].op,
                                        .wide = subjects[s].wide});
}

#endif
