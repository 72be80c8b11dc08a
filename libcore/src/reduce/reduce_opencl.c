#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_sums.h"
#include "reduce_internal.h"
#include "voxfield/vector.h"

extern const char vf_text_reduce[];

/* Threads, at most: each has a result, which the host combines with the others. */
enum { MOST_THREADS = 4096, RESULT = 2 * VF_OPENCL_SUM_BYTES };

typedef struct state {
    vf_array there;
    unsigned char here[MOST_THREADS * RESULT];
} state;

static void destroy(vf_reduce *plan)
{
    state *s = plan->state;
    if (s)
        vf_array_free(&s->there);
    free(s);
}

static vf_status create(vf_reduce *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    const bool real = plan->type < VF_I32;
    state *s = plan->state = calloc(1, sizeof *s);
    vf_status status = s ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the plan of a reduction");
    if (real && vf_dtype_real(plan->type) == VF_F64 && !vf_opencl_facts_of(plan->device).has_double)
        status = vf_fail(ctx, VF_ERR_UNSUPPORTED, "a reduction of %s elements: %s (%s) has no double precision",
                         vf_dtype_name(plan->type), vf_device_spec(plan->device), vf_device_name(plan->device));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, sizeof s->here, &s->there));
    if (status != VF_OK)
        destroy(plan);
    return status;
}

static vf_status launch(const vf_reduce *plan, vf_queue *queue, int64_t n, int64_t length, const void *x)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_opencl_sums, vf_text_reduce, NULL};
    static const char *const elements[] = {"REAL", "REAL", "REAL", "REAL", "int", "long", "uchar"};
    const bool real = plan->type < VF_I32;
    const bool pairs = plan->type == VF_C64 || plan->type == VF_C128;
    char words[96];
    (void)snprintf(words, sizeof words, "-DELEMENT=%s -DPARTS=%d -D%s -DREDUCTION=%d", elements[plan->type],
                   pairs ? 2 : 1, real ? "REALS" : "INTEGERS", (int)plan->reduction);
    const vf_opencl_kernel kernel = {texts, "reduce", real ? vf_dtype_real(plan->type) : VF_F32, words,
                                     .threads = {(n + length - 1) / length}};
    const state *s = plan->state;
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_INT(length), VF_CL_ARRAY(x),
                            VF_CL_ARRAY(s->there.data));
}

/* The result of a run that is not a sum. */
static vf_reduced run_of(const vf_reduce *plan, const unsigned char *result)
{
    vf_reduced r = {0};
    const size_t bytes = vf_dtype_bytes(plan->type);
    float once;
    uint8_t small;
    int32_t middle;
    const bool extreme = plan->reduction == VF_REDUCE_MIN || plan->reduction == VF_REDUCE_MAX;
    if (extreme)
        memcpy(&r.index, result + 8, 8);
    if (plan->type < VF_I32 && !extreme) {
        r.re = vf_opencl_product(vf_dtype_real(plan->type), result);
        r.im = plan->type >= VF_C64 ? vf_opencl_product(vf_dtype_real(plan->type), result + VF_OPENCL_SUM_BYTES) : 0;
    } else if (plan->type == VF_F32) {
        memcpy(&once, result, 4);
        r.re = (double)once;
    } else if (plan->type == VF_F64) {
        memcpy(&r.re, result, 8);
    } else if (!extreme || bytes == 8) {
        memcpy(&r.integer, result, 8);
    } else {
        memcpy(&small, result, 1);
        memcpy(&middle, result, 4);
        r.integer = bytes == 1 ? small : middle;
    }
    return r;
}

static vf_status now(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y, vf_reduced *out)
{
    state *s = plan->state;
    const int64_t length = (n + MOST_THREADS - 1) / MOST_THREADS, runs = n > 0 ? (n + length - 1) / length : 0;
    const vf_reduce_append append = vf_reduce_append_of(plan->reduction, plan->type);
    vf_reduced all = vf_reduce_identity(plan->reduction, plan->type);
    vf_status status = VF_OK;
    if (plan->reduction == VF_REDUCE_DOT || plan->reduction == VF_REDUCE_SQUARES) {
        double sum[2];
        status = vf_vector_dot(queue, plan->type, n, x, y ? y : x, sum);
        *out = (vf_reduced){.re = sum[0], .im = plan->reduction == VF_REDUCE_DOT ? sum[1] : 0};
        return status;
    }
    if (n > 0)
        status = launch(plan, queue, n, length, x);
    VF_TRY(status, vf_queue_copy(queue, s->here, s->there.data, (size_t)runs * RESULT));
    VF_TRY(status, vf_queue_sync(queue));
    if (status != VF_OK)
        return status;
    if (plan->reduction == VF_REDUCE_SUM && plan->type < VF_I32) {
        all.re = vf_opencl_total(vf_dtype_real(plan->type), s->here, 2 * runs, 2);
        all.im = vf_opencl_total(vf_dtype_real(plan->type), s->here + VF_OPENCL_SUM_BYTES, 2 * runs - 1, 2);
    }
    for (int64_t i = 0; (plan->reduction != VF_REDUCE_SUM || plan->type >= VF_I32) && i < runs; i++) {
        const vf_reduced next = run_of(plan, s->here + i * RESULT);
        append(&all, &next);
    }
    *out = all;
    return status;
}

/* Waits, as copies to the host do. */
static vf_status execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                         vf_reduced *result)
{
    vf_reduced here;
    vf_status status = now(plan, queue, n, x, y, &here);
    VF_TRY(status, vf_queue_copy(queue, result, &here, sizeof here));
    return status;
}

const vf_reduce_ops vf_reduce_ops_opencl = {create, destroy, execute, now};
