/* Programs in OpenCL C: compiled when they are first used, and launched. */
#include "opencl_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 8, OPTIONS = 512, MOST_NAME = 64, GROUP = 64 };

typedef struct kernel_node {
    struct kernel_node *next;
    char name[MOST_NAME];
    cl_kernel kernel;
} kernel_node;

struct vf_opencl_program {
    struct vf_opencl_program *next;
    const char *const *texts;
    char options[OPTIONS];
    cl_program program;
    kernel_node *kernels;
};

/* Contraction to fused operations is off: each device rounds alike, and sums that compensate their errors stay right. Kernels
 * write fma() where they want it. */
static vf_status options_of(vf_device *device, const vf_opencl_kernel *kernel, char options[OPTIONS])
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    const bool twice = kernel->real == VF_F64;
    const int length = snprintf(options, OPTIONS, "-cl-std=CL1.2 -w -DREAL=%s%s%s %s",
                                twice ? "double -DREAL_IS_DOUBLE=1" : "float", s->has_double ? " -DHAVE_DOUBLE=1" : "",
                                s->exact_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                                kernel->words ? kernel->words : "");
    if (twice && !s->has_double)
        return vf_fail(device->ctx, VF_ERR_UNSUPPORTED,
                       "%s (%s) has no double precision; use --precision single or another device", device->spec,
                       device->name);
    return length < OPTIONS ? VF_OK : vf_fail(device->ctx, VF_ERR_INTERNAL, "%s: too many options", kernel->name);
}

static vf_status compile(vf_device *device, const vf_opencl_kernel *kernel, const char *options, cl_program *out)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    cl_uint count = 0;
    cl_int error;
    *out = vf_opencl_cache_find(s, kernel, options);
    if (*out)
        return VF_OK;
    while (kernel->texts[count])
        count++;
    cl_program program = vf_cl.CreateProgramWithSource(s->context, count, (const char **)kernel->texts, NULL, &error);
    vf_status status = vf_opencl_check(device, error, "clCreateProgramWithSource");
    if (status != VF_OK)
        return status;
    error = vf_cl.BuildProgram(program, 1, &s->id, options, NULL, NULL);
    vf_context_keep_signals();
    if (error == CL_SUCCESS) {
        vf_opencl_cache_keep(device, kernel, options, program);
        *out = program;
        return VF_OK;
    }
    size_t bytes = 0;
    (void)vf_cl.GetProgramBuildInfo(program, s->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *log = calloc(1, bytes + 1);
    if (log)
        (void)vf_cl.GetProgramBuildInfo(program, s->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    status = vf_fail(device->ctx, VF_ERR_DEVICE, "%s (%s): its compiler failed (error %d) on the program of %s: %.600s",
                     device->spec, device->name, (int)error, kernel->name, log ? log : "");
    free(log);
    (void)vf_cl.ReleaseProgram(program);
    return status;
}

static vf_status find_program(vf_device *device, const vf_opencl_kernel *kernel, vf_opencl_program **out)
{
    vf_opencl_state *s = vf_opencl_state_of(device);
    char options[OPTIONS];
    vf_status status = options_of(device, kernel, options);
    if (status != VF_OK)
        return status;
    for (*out = s->programs; *out; *out = (*out)->next)
        if ((*out)->texts == kernel->texts && strcmp((*out)->options, options) == 0)
            return VF_OK;
    vf_opencl_program *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory for a program");
    status = compile(device, kernel, options, &p->program);
    if (status != VF_OK) {
        free(p);
        return status;
    }
    p->texts = kernel->texts;
    memcpy(p->options, options, sizeof options);
    p->next = s->programs;
    s->programs = *out = p;
    return VF_OK;
}

static vf_status find_kernel(vf_device *device, const vf_opencl_kernel *kernel, cl_kernel *out)
{
    vf_opencl_program *program;
    vf_status status = find_program(device, kernel, &program);
    if (status != VF_OK)
        return status;
    for (const kernel_node *k = program->kernels; k; k = k->next)
        if (strcmp(k->name, kernel->name) == 0) {
            *out = k->kernel;
            return VF_OK;
        }
    kernel_node *k = calloc(1, sizeof *k);
    if (!k)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory for a kernel");
    cl_int error;
    snprintf(k->name, sizeof k->name, "%s", kernel->name);
    k->kernel = vf_cl.CreateKernel(program->program, kernel->name, &error);
    if (error != CL_SUCCESS) {
        free(k);
        return vf_opencl_check(device, error, kernel->name);
    }
    k->next = program->kernels;
    program->kernels = k;
    *out = k->kernel;
    return VF_OK;
}

/* Sets argument number *at, and the next for an array's second word. */
static cl_int set_argument(cl_kernel kernel, vf_dtype real, const vf_opencl_argument *a, cl_uint *at)
{
    size_t first = 0;
    cl_mem buffer = NULL;
    cl_long number;
    const float once = (float)a->real;
    const cl_uint n = (*at)++;
    cl_int error;
    switch (a->kind) {
    case VF_CL_IS_ARRAY:
        buffer = a->pointer ? vf_opencl_find(a->pointer, &first) : NULL;
        if (a->pointer && !buffer)
            return CL_INVALID_MEM_OBJECT;
        error = vf_cl.SetKernelArg(kernel, n, sizeof buffer, buffer ? &buffer : NULL);
        number = (cl_long)first;
        return error != CL_SUCCESS ? error : vf_cl.SetKernelArg(kernel, (*at)++, sizeof number, &number);
    case VF_CL_IS_INT:
        number = a->integer;
        return vf_cl.SetKernelArg(kernel, n, sizeof number, &number);
    case VF_CL_IS_REAL:
        return real == VF_F64 ? vf_cl.SetKernelArg(kernel, n, sizeof a->real, &a->real)
                              : vf_cl.SetKernelArg(kernel, n, sizeof once, &once);
    case VF_CL_IS_VALUE:
        return vf_cl.SetKernelArg(kernel, n, a->bytes, a->pointer);
    case VF_CL_IS_LOCAL:
        break;
    }
    return vf_cl.SetKernelArg(kernel, n, a->bytes, NULL);
}

/* Rounds the threads up to whole groups. Returns whether there are any. */
static bool shape(const vf_opencl_kernel *kernel, size_t threads[3], size_t group[3])
{
    const bool given = kernel->group[0] > 0;
    for (int a = 0; a < 3; a++) {
        const size_t wanted = kernel->threads[a] > 0             ? (size_t)kernel->threads[a]
                              : a > 0 && kernel->threads[a] == 0 ? 1
                                                                 : 0;
        group[a] = given ? kernel->group[a] + (kernel->group[a] == 0) : a == 0 ? GROUP : 1;
        threads[a] = (wanted + group[a] - 1) / group[a] * group[a];
    }
    return threads[0] > 0 && threads[1] > 0 && threads[2] > 0;
}

static vf_status fits(vf_device *device, const vf_opencl_kernel *kernel, cl_kernel compiled, const size_t group[3])
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    const size_t wanted = group[0] * group[1] * group[2];
    size_t most = s->most_in_group;
    cl_ulong local_bytes = 0;
    (void)vf_cl.GetKernelWorkGroupInfo(compiled, s->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    (void)vf_cl.GetKernelWorkGroupInfo(compiled, s->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes,
                                       NULL);
    if (wanted > most || local_bytes > s->local_bytes)
        return vf_fail(device->ctx, VF_ERR_UNSUPPORTED,
                       "%s (%s): %s needs groups of %zu threads with %llu bytes of local memory; there are %zu and "
                       "%llu; use another "
                       "device",
                       device->spec, device->name, kernel->name, wanted, (unsigned long long)local_bytes, most,
                       (unsigned long long)s->local_bytes);
    return VF_OK;
}

/* A kernel's arguments are its own: no other thread may set them before it is in its queue. */
vf_status vf_opencl_launch(vf_queue *queue, const vf_opencl_kernel *kernel, int count,
                           const vf_opencl_argument *arguments)
{
    vf_device *device = vf_queue_device(queue);
    vf_opencl_state *s = vf_opencl_state_of(device);
    size_t threads[3], group[3];
    cl_kernel compiled = NULL;
    cl_uint at = 0;
    if (!shape(kernel, threads, group))
        return VF_OK;
    pthread_mutex_lock(&s->lock);
    vf_status status = find_kernel(device, kernel, &compiled);
    for (int i = 0; status == VF_OK && i < count; i++)
        status = vf_opencl_check(device, set_argument(compiled, kernel->real, &arguments[i], &at), kernel->name);
    VF_TRY(status, fits(device, kernel, compiled, group));
    if (status == VF_OK)
        status = vf_opencl_check(
            device,
            vf_cl.EnqueueNDRangeKernel(vf_queue_native(queue), compiled, 3, NULL, threads, group, 0, NULL, NULL),
            kernel->name);
    pthread_mutex_unlock(&s->lock);
    VF_TRY(status, VF_OPENCL(device, vf_cl.Flush(vf_queue_native(queue))));
    return status;
}
