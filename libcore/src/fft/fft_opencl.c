/* Our own transforms for OpenCL devices: passes over an axis with radices 8, 5, 4, 3 and 2, and with any other prime factor. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_launch.h"
#include "fft_internal.h"

extern const char vf_text_fft[];

/* The next pass's radix: the greatest unrolled one that divides the rest, or its least prime factor. */
static int64_t next_radix(int64_t rest)
{
    static const int64_t unrolled[] = {8, 5, 4, 3, 2};
    for (int i = 0; i < 5; i++)
        if (rest % unrolled[i] == 0)
            return unrolled[i];
    for (int64_t p = 7; p * p <= rest; p += 2)
        if (rest % p == 0)
            return p;
    return rest;
}

/* exp(-2 pi i t / n) for t < n, rounded from a higher precision. */
static vf_status make_table(vf_fft *plan, int d)
{
    const int64_t n = plan->dims[d];
    double *table = malloc((size_t)n * 2 * sizeof *table);
    if (!table)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    for (int64_t t = 0; t < n; t++) {
        const long double angle = -2 * 3.14159265358979323846264338327950288L * (long double)t / (long double)n;
        table[2 * t] = (double)cosl(angle);
        table[2 * t + 1] = (double)sinl(angle);
    }
    vf_status status = vf_opencl_reals_of(plan->device, plan->type, n, table, &plan->tables[d]);
    free(table);
    return status;
}

static vf_status create(vf_fft *plan)
{
    const int64_t *n = plan->dims, bytes = n[0] * n[1] * n[2] * plan->batch * (int64_t)vf_dtype_bytes(plan->type);
    vf_status status = VF_OK;
    if (plan->type == VF_C128 && !vf_opencl_facts_of(plan->device).has_double)
        return vf_fail(vf_device_context(plan->device), VF_ERR_UNSUPPORTED, "FFT: %s (%s) has no double precision",
                       vf_device_spec(plan->device), vf_device_name(plan->device));
    for (int d = 0; d < 3; d++) {
        if (n[d] > 1)
            VF_TRY(status, make_table(plan, d));
        if (n[d] > 8 || n[d] == 6 || n[d] == 7)
            plan->work_bytes = (bytes + 255) / 256 * 256;
    }
    if (plan->bare || plan->work_bytes == 0)
        return status;
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, plan->work_bytes, &plan->work));
    plan->memory = plan->work.data;
    return status;
}

static void destroy(vf_fft *plan)
{
    for (int d = 0; d < 3; d++)
        vf_array_free(&plan->tables[d]);
}

static vf_status lend(vf_fft *plan, void *memory)
{
    plan->memory = memory;
    return VF_OK;
}

/* One pass along axis d. */
static vf_status pass(const vf_fft *plan, vf_queue *queue, int d, int64_t radix, int64_t done, double sign,
                      const void *x, void *y)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_fft, NULL};
    static const char *const words[] = {
        [2] = "-DRADIX=2", [3] = "-DRADIX=3", [4] = "-DRADIX=4", [5] = "-DRADIX=5", [8] = "-DRADIX=8"};
    const int64_t *dims = plan->dims, inner = d == 2 ? 1 : d == 1 ? dims[2] : dims[1] * dims[2];
    const int64_t outer = plan->batch * (d > 0 ? dims[0] : 1) * (d > 1 ? dims[1] : 1);
    const bool unrolled = radix <= 8 && words[radix];
    const int32_t n = (int32_t)dims[d], before = (int32_t)done, prime = (int32_t)radix;
    const int64_t threads = unrolled ? n / radix : n;
    vf_opencl_kernel kernel = {texts, unrolled ? "fft_pass" : "fft_prime_pass", vf_dtype_real(plan->type),
                               .words = unrolled ? words[radix] : NULL};
    memcpy(kernel.threads, inner == 1 ? (int64_t[3]){threads, outer, 1} : (int64_t[3]){inner, threads, outer},
           sizeof kernel.threads);
    memcpy(kernel.group, kernel.threads[0] > 16 ? (size_t[3]){64, 1, 1} : (size_t[3]){8, 8, 1}, sizeof kernel.group);
    const vf_opencl_argument arguments[] = {VF_CL_INT(outer),    VF_CL_VALUE(n),   VF_CL_INT(inner),
                                            VF_CL_VALUE(before), VF_CL_REAL(sign), VF_CL_ARRAY(plan->tables[d].data),
                                            VF_CL_ARRAY(x),      VF_CL_ARRAY(y),   VF_CL_VALUE(prime)};
    return vf_opencl_launch(queue, &kernel, unrolled ? 8 : 9, arguments);
}

/* Passes go to and fro between the data and the working memory. */
static vf_status execute(vf_fft *plan, vf_queue *queue, vf_fft_direction direction, void *data)
{
    void *from = data, *to = plan->memory;
    vf_status status = VF_OK;
    for (int d = 2; d >= 0; d--)
        for (int64_t done = 1, radix; done < plan->dims[d] && status == VF_OK; done *= radix) {
            radix = next_radix(plan->dims[d] / done);
            if (radix == plan->dims[d] && radix <= 8 && radix != 7) { /* in place */
                status = pass(plan, queue, d, radix, done, (double)direction, from, from);
                continue;
            }
            status = pass(plan, queue, d, radix, done, (double)direction, from, to);
            void *const reached = to;
            to = from;
            from = reached;
        }
    if (from != data)
        VF_TRY(status, vf_queue_copy(queue, data, from,
                                     (size_t)(plan->dims[0] * plan->dims[1] * plan->dims[2] * plan->batch) *
                                         vf_dtype_bytes(plan->type)));
    return status;
}

const vf_fft_ops vf_fft_opencl = {create, destroy, execute, lend};
