/* The OpenCL backend of scans: three kernels, simple and right. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/opencl_launch.h"
#include "scan_plan.h"

extern const char vf_text_scan[];

/* Runs, at most, whatever the device: so the order of a sum depends on n alone. Bytes of a run's state, at most. */
enum { MOST_RUNS = 4096, STATE_BYTES = 16 };

typedef struct opencl_state {
    vf_array states, begins;
    char words[160];
} opencl_state;

static void destroy(vf_scan *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->states);
    vf_array_free(&s->begins);
    free(s);
}

/* Integers wrap, so sums and products are unsigned. */
static void write_words(const vf_scan_options *o, char *words, size_t size)
{
    static const char *const names[] = {
        [VF_F32] = "float", [VF_F64] = "double", [VF_I32] = "int", [VF_I64] = "long", [VF_U8] = "uchar"};
    const bool real = o->type <= VF_F64, wide = o->type == VF_U8 || o->wide || o->type == VF_I64,
               wraps = o->op <= VF_SCAN_PRODUCT;
    const char *identity = o->op == VF_SCAN_SUM || o->op == VF_SCAN_OR ? "0"
                           : o->op == VF_SCAN_PRODUCT                  ? "1"
                           : o->op == VF_SCAN_AND                      ? "-1"
                           : o->op == VF_SCAN_MIN                      ? (real   ? "INFINITY"
                                                                          : wide ? "LONG_MAX"
                                                                                 : "INT_MAX")
                                                                       : (real   ? "-INFINITY"
                                                                          : wide ? "LONG_MIN"
                                                                                 : "INT_MIN");
    (void)snprintf(words, size, "-DIN=%s -DOUT=%s -DSUM=%s -DOP=%d -DIDENTITY=%s%s", names[o->type],
                   names[vf_scan_result(o)],
                   real   ? names[o->type]
                   : wide ? (wraps ? "ulong" : "long")
                          : (wraps ? "uint" : "int"),
                   (int)o->op, identity, real ? " -DREALS=1" : "");
}

static vf_status create(vf_scan *plan)
{
    vf_context *ctx = vf_device_context(plan->device);
    opencl_state *s = plan->state = calloc(1, sizeof *s);
    vf_status status = s ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the plan of a scan");
    if (s && plan->options.type == VF_F64 && !vf_opencl_facts_of(plan->device).has_double)
        status = vf_fail(ctx, VF_ERR_UNSUPPORTED, "a scan of VF_F64 elements: %s (%s) has no double precision",
                         vf_device_spec(plan->device), vf_device_name(plan->device));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, MOST_RUNS * STATE_BYTES, &s->states));
    VF_TRY(status, vf_array_create(plan->device, VF_SPACE_DEVICE, VF_I32, MOST_RUNS, &s->begins));
    if (status == VF_OK)
        write_words(&plan->options, s->words, sizeof s->words);
    else if (s)
        destroy(plan);
    return status;
}

static vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_scan, NULL};
    const opencl_state *s = plan->state;
    const int64_t length = (n + MOST_RUNS - 1) / MOST_RUNS, runs = (n + length - 1) / length;
    const vf_dtype real = plan->options.type == VF_F64 ? VF_F64 : VF_F32;
    const vf_opencl_kernel first = {texts, "sum_runs", real, s->words, .threads = {runs}},
                           middle = {texts, "scan_runs", real, s->words, .threads = {1}},
                           last = {texts, "finish_runs", real, s->words, .threads = {runs}};
    vf_status status = VF_OPENCL_LAUNCH(queue, &first, VF_CL_INT(n), VF_CL_INT(length), VF_CL_ARRAY(x),
                                        VF_CL_ARRAY(head), VF_CL_ARRAY(s->states.data), VF_CL_ARRAY(s->begins.data));
    VF_TRY(status,
           VF_OPENCL_LAUNCH(queue, &middle, VF_CL_INT(runs), VF_CL_ARRAY(s->states.data), VF_CL_ARRAY(s->begins.data)));
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &last, VF_CL_INT(n), VF_CL_INT(length), VF_CL_INT(plan->options.exclusive),
                                    VF_CL_ARRAY(x), VF_CL_ARRAY(head), VF_CL_ARRAY(s->states.data), VF_CL_ARRAY(y)));
    return status;
}

static const char *const variants[] = {"three-kernel", NULL};
const vf_scan_ops vf_scan_ops_opencl = {{VF_DEVICE_OPENCL, variants}, create, destroy, execute};
