/* The OpenCL backend of the cutoff sum. The host sorts charges into bins, as for the CPU. */
#include <stdlib.h>

#include "backend/opencl_launch.h"
#include "cutoff_sum_simd.h"

extern const char vf_text_cutoff_sum[];

enum { GROUP_X = 8, GROUP_Y = 8, GROUP_Z = 4, LAW_HEAD = 7 }; /* as in cutoff_sum.cl */

typedef struct opencl_state {
    cutoff_bins in; /* without its arrays, which the device has */
    vf_array law, charges, first;
} opencl_state;

typedef struct task_of {
    int64_t counts[3], bins[3], bin[3], reach[3], lo[3], hi[3], tile[3], tiles[3], degree, windowed, add;
} task_of;

static vf_status upload_law(const vf_cutoff *plan, opencl_state *s)
{
    const double rc = plan->options.cutoff, r_min = plan->options.r_min;
    const vf_cutoff_window *w = &plan->window;
    double law[LAW_HEAD + VF_PROLATE_POWERS] = {rc * rc, r_min * r_min, 2 / (rc * rc), 1 / (rc * rc),
                                                w->on,   w->a,          w->b};
    for (int k = 0; k < VF_PROLATE_POWERS; k++)
        law[LAW_HEAD + k] = s->in.law.coefficient[k];
    return vf_opencl_reals_of(plan->device, plan->options.precision, LAW_HEAD + VF_PROLATE_POWERS, law, &s->law);
}

static vf_status create(vf_cutoff *plan)
{
    opencl_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a plan");
    plan->state = s;
    vf_status status = cutoff_bins_make(plan, &s->in);
    const int64_t bins = s->in.bins[0] * s->in.bins[1] * s->in.bins[2],
                  bytes = plan->count * (int64_t)cutoff_charge_bytes(plan);
    VF_TRY(status, upload_law(plan, s));
    VF_TRY(status, vf_opencl_array_of(plan->device, VF_U8, bytes, s->in.charges, &s->charges));
    VF_TRY(status,
           vf_opencl_array_of(plan->device, VF_U8, (bins + 1) * (int64_t)sizeof *s->in.first, s->in.first, &s->first));
    cutoff_bins_free(&s->in);
    s->in.first = s->in.charges = NULL;
    return status;
}

static vf_status execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_cutoff_sum, NULL};
    static const int64_t sizes[] = {GROUP_X, GROUP_Y, GROUP_Z}, bin[] = {BIN_X, BIN_Y, BIN_Z};
    const opencl_state *s = plan->state;
    const double *h = plan->grid.spacing;
    task_of task = {.degree = s->in.law.degree, .windowed = plan->window.used, .add = add};
    int64_t groups = 1;
    for (int a = 0; a < 3; a++) {
        task.counts[a] = plan->grid.counts[a];
        task.bins[a] = s->in.bins[a];
        task.bin[a] = bin[a];
        task.reach[a] = s->in.reach[a];
        task.lo[a] = box->lo[a];
        task.hi[a] = box->hi[a];
        task.tile[a] = box->lo[a] / sizes[a]; /* on a lattice fixed to the grid */
        task.tiles[a] = (box->hi[a] - 1) / sizes[a] + 1 - task.tile[a];
        groups *= task.tiles[a];
    }
    const vf_opencl_kernel kernel = {texts, "sum_near", plan->options.precision,
                                     .threads = {GROUP_X * GROUP_Y * groups}};
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(task), VF_CL_REAL(h[0]), VF_CL_REAL(h[1]), VF_CL_REAL(h[2]),
                            VF_CL_ARRAY(s->law.data), VF_CL_ARRAY(s->charges.data), VF_CL_ARRAY(s->first.data),
                            VF_CL_ARRAY(out));
}

static void destroy(vf_cutoff *plan)
{
    opencl_state *s = plan->state;
    vf_array_free(&s->law);
    vf_array_free(&s->charges);
    vf_array_free(&s->first);
    free(s);
}

static const char *const variants[] = {"bins", NULL};
const vf_cutoff_backend vf_cutoff_opencl = {
    .variants = {VF_DEVICE_OPENCL, variants}, .create = create, .execute = execute, .destroy = destroy};
