/* The OpenCL backend of gradients, thresholds and norms. */
#include <stdlib.h>

#include "backend/opencl_sums.h"
#include "differences_backend.h"

extern const char vf_text_differences[];

enum { MOST_SUMS = 4096 };

/* As in differences.cl, where numbers are doubles, or floats on devices without doubles. */
typedef struct wide_field {
    int64_t groups, n;
    double threshold, weights[VF_MOST_GROUPS];
} wide_field;
typedef struct narrow_field {
    int64_t groups, n;
    float threshold, weights[VF_MOST_GROUPS];
} narrow_field;

static vf_opencl_kernel kernel_for(vf_dtype type, const char *name, int64_t threads)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_opencl_sums, vf_text_differences, NULL};
    return (vf_opencl_kernel){texts, name, vf_dtype_real(type), .words = "-DOUTPUTS=10 -DTERMS=8 -DMOST_GROUPS=16",
                              .threads = {threads}};
}
_Static_assert(STENCIL_OUTPUTS == 10 && STENCIL_TERMS == 8 && VF_MOST_GROUPS == 16, "the words above");

static vf_status apply(vf_queue *queue, vf_dtype type, const stencil *s, const void *in, void *out)
{
    const vf_opencl_kernel kernel = kernel_for(type, "apply_stencil", s->voxels);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(*s), VF_CL_ARRAY(in), VF_CL_ARRAY(out));
}

/* The field as the device's kernels take it. */
typedef struct field_argument {
    wide_field wide;
    narrow_field narrow;
    vf_opencl_argument argument;
} field_argument;

static void describe(vf_queue *queue, const group_field *f, double threshold, field_argument *a)
{
    a->wide = (wide_field){f->groups, f->n, threshold, {0}};
    a->narrow = (narrow_field){f->groups, f->n, (float)threshold, {0}};
    for (int g = 0; g < f->groups; g++) {
        a->wide.weights[g] = f->weights[g];
        a->narrow.weights[g] = (float)f->weights[g];
    }
    a->argument = (vf_opencl_argument)VF_CL_VALUE(a->wide);
    if (!vf_opencl_facts_of(vf_queue_device(queue)).has_double)
        a->argument = (vf_opencl_argument)VF_CL_VALUE(a->narrow);
}

static vf_status soft(vf_queue *queue, vf_dtype type, const group_field *f, double threshold, const void *v, void *z)
{
    const vf_opencl_kernel kernel = kernel_for(type, "soften", f->n);
    field_argument field;
    describe(queue, f, threshold, &field);
    return VF_OPENCL_LAUNCH(queue, &kernel, field.argument, VF_CL_ARRAY(v), VF_CL_ARRAY(z));
}

/* The number of threads depends on n alone, and the host adds their sums in order. */
static vf_status norm(vf_queue *queue, vf_dtype type, const group_field *f, const void *v, double *sum)
{
    vf_device *device = vf_queue_device(queue);
    const int64_t threads = f->n < MOST_SUMS ? f->n : MOST_SUMS;
    const vf_opencl_kernel kernel = kernel_for(type, "sum_lengths", threads);
    field_argument field;
    vf_array sums = {0};
    describe(queue, f, 0, &field);
    void *host = malloc((size_t)threads * VF_OPENCL_SUM_BYTES);
    vf_status status =
        host ? VF_OK : vf_fail(vf_device_context(device), VF_ERR_MEMORY, "gradient: not enough memory for sums");
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_U8, threads * VF_OPENCL_SUM_BYTES, &sums));
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &kernel, field.argument, VF_CL_INT(threads), VF_CL_ARRAY(v),
                                    VF_CL_ARRAY(sums.data)));
    VF_TRY(status, vf_queue_copy(queue, host, sums.data, (size_t)sums.count));
    VF_TRY(status, vf_queue_sync(queue));
    if (status == VF_OK)
        *sum = vf_opencl_total(vf_dtype_real(type), host, threads, 1);
    vf_array_free(&sums);
    free(host);
    return status;
}

const vf_gradient_backend vf_gradient_opencl = {VF_DEVICE_OPENCL, apply, soft, norm};
