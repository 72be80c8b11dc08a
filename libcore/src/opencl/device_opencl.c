/* Devices of kind VF_DEVICE_OPENCL behind libcore's table of device operations. A device has one context in the process, whatever
 * the number of vf_context; each vf_queue is a command queue in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/opencl_launch.h"
#include "opencl_functions.h"

static vf_status opencl_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    const uint64_t used = __atomic_load_n(&s->used, __ATOMIC_RELAXED);
    uint64_t host_free, host_total;
    *total_bytes = s->total;
    *free_bytes = used < s->total ? s->total - used : 0;
    vf_host_memory(&host_free, &host_total);
    if (s->type == CL_DEVICE_TYPE_CPU && host_free < *free_bytes)
        *free_bytes = host_free;
    return VF_OK;
}

static vf_status opencl_allocate(vf_device *device, vf_space space, size_t bytes, void **out)
{
    *out = NULL;
    if (space == VF_SPACE_DEVICE)
        return vf_opencl_reserve(device, bytes, out);
    if (posix_memalign(out, 4096, bytes) == 0)
        return VF_OK;
    *out = NULL;
    return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough host memory: %.3g GiB asked for", (double)bytes / 0x1p30);
}

static void opencl_release(vf_device *device, vf_space space, void *data)
{
    if (space == VF_SPACE_DEVICE)
        vf_opencl_free(device, data);
    else
        free(data);
}

static vf_status opencl_queue_create(vf_device *device, void **native)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    cl_int error;
    *native = vf_cl.CreateCommandQueue(s->context, s->id, 0, &error);
    return vf_opencl_check(device, error, "clCreateCommandQueue");
}

static void opencl_queue_destroy(vf_device *device, void *native)
{
    (void)device;
    (void)vf_cl.Finish(native);
    (void)vf_cl.ReleaseCommandQueue(native);
}

/* Drivers compile when a kernel first runs, too. */
static vf_status opencl_queue_sync(vf_device *device, void *native)
{
    const vf_status status = VF_OPENCL(device, vf_cl.Finish(native));
    vf_context_keep_signals();
    return status;
}

static vf_status opencl_queue_after(vf_device *device, void *native, void *before)
{
    cl_event reached = NULL;
    vf_status status = VF_OPENCL(device, vf_cl.EnqueueMarkerWithWaitList(before, 0, NULL, &reached));
    VF_TRY(status, VF_OPENCL(device, vf_cl.Flush(before)));
    VF_TRY(status, VF_OPENCL(device, vf_cl.EnqueueBarrierWithWaitList(native, 1, &reached, NULL)));
    if (reached)
        (void)vf_cl.ReleaseEvent(reached);
    return status;
}

/* Copies from and to the host wait: host memory can be used again at once, as without pinned memory. */
static vf_status opencl_copy(vf_device *device, void *native, void *dst, const void *src, size_t bytes)
{
    vf_context_keep_signals();
    size_t to_at = 0, from_at = 0;
    cl_mem to = vf_opencl_find(dst, &to_at), from = vf_opencl_find(src, &from_at);
    if (to && from)
        return VF_OPENCL(device, vf_cl.EnqueueCopyBuffer(native, from, to, from_at, to_at, bytes, 0, NULL, NULL));
    if (to)
        return VF_OPENCL(device, vf_cl.EnqueueWriteBuffer(native, to, CL_TRUE, to_at, bytes, src, 0, NULL, NULL));
    if (from)
        return VF_OPENCL(device, vf_cl.EnqueueReadBuffer(native, from, CL_TRUE, from_at, bytes, dst, 0, NULL, NULL));
    memcpy(dst, src, bytes);
    return VF_OK;
}

/* Through the host: the devices may be of different vendors. */
static vf_status opencl_copy_peer(vf_device *device, void *native, void *dst, const void *src, size_t bytes,
                                  vf_device *peer, bool to_peer)
{
    void *between = malloc(bytes);
    if (!between)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough host memory to copy between devices");
    vf_status status =
        to_peer ? opencl_copy(device, native, between, src, bytes) : vf_opencl_download(peer, between, src, bytes);
    VF_TRY(status,
           to_peer ? vf_opencl_upload(peer, dst, between, bytes) : opencl_copy(device, native, dst, between, bytes));
    free(between);
    return status;
}

static const vf_device_ops opencl_ops = {
    opencl_memory,     opencl_allocate,    opencl_release, opencl_queue_create, opencl_queue_destroy,
    opencl_queue_sync, opencl_queue_after, opencl_copy,    opencl_copy_peer,
};

vf_status vf_opencl_upload(vf_device *device, void *to, const void *from, size_t bytes)
{
    return opencl_copy(device, vf_opencl_state_of(device)->own, to, from, bytes);
}

vf_status vf_opencl_download(vf_device *device, void *to, const void *from, size_t bytes)
{
    return opencl_copy(device, vf_opencl_state_of(device)->own, to, from, bytes);
}

vf_status vf_opencl_array_of(vf_device *device, vf_dtype type, int64_t count, const void *from, vf_array *out)
{
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, out);
    if (count > 0)
        VF_TRY(status, vf_opencl_upload(device, out->data, from, (size_t)count * vf_dtype_bytes(type)));
    if (status != VF_OK)
        vf_array_free(out);
    return status;
}

vf_status vf_opencl_reals_of(vf_device *device, vf_dtype type, int64_t count, const double *from, vf_array *out)
{
    const int64_t numbers = type == VF_C64 ? 2 * count : count;
    if (vf_dtype_real(type) == VF_F64)
        return vf_opencl_array_of(device, type, count, from, out);
    float *once = malloc((size_t)(numbers + 1) * sizeof *once);
    if (!once)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory for %lld numbers", (long long)numbers);
    for (int64_t i = 0; i < numbers; i++)
        once[i] = (float)from[i];
    const vf_status status = vf_opencl_array_of(device, type, count, once, out);
    free(once);
    return status;
}

vf_opencl_facts vf_opencl_facts_of(const vf_device *device)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    return (vf_opencl_facts){s->has_double, s->local_bytes, s->most_in_group, s->units};
}

/* ---- beginning ---- */

static bool ask(const vf_opencl_state *s, cl_device_info what, size_t bytes, void *value)
{
    return vf_cl.GetDeviceInfo(s->id, what, bytes, value, NULL) == CL_SUCCESS;
}

static void read_facts(vf_opencl_state *s)
{
    cl_device_fp_config twice = 0, once = 0;
    cl_ulong total = 0, most = 0, local_bytes = 0;
    cl_uint units = 1;
    (void)(ask(s, CL_DEVICE_NAME, sizeof s->name - 1, s->name) &&
           ask(s, CL_DRIVER_VERSION, sizeof s->driver - 1, s->driver));
    (void)ask(s, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof twice, &twice);
    (void)ask(s, CL_DEVICE_SINGLE_FP_CONFIG, sizeof once, &once);
    (void)ask(s, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total);
    (void)ask(s, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most);
    (void)ask(s, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes);
    (void)ask(s, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof s->most_in_group, &s->most_in_group);
    (void)ask(s, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units);
    s->has_double = twice != 0 && !getenv("VOXFIELD_OPENCL_NO_DOUBLE"); /* for tests */
    s->exact_division = once & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    s->total = total;
    s->most_in_array = most;
    s->local_bytes = local_bytes;
    s->units = (int)units;
}

/* 10 times the major number and the minor one of "OpenCL 1.2 and what the vendor adds"; 0 for another text. */
static long version_of(const char *text)
{
    static const char begin[] = "OpenCL ";
    char *end;
    if (strncmp(text, begin, sizeof begin - 1) != 0)
        return 0;
    const long major = strtol(text + sizeof begin - 1, &end, 10);
    return 10 * major + (*end == '.' ? strtol(end + 1, NULL, 10) : 0);
}

static vf_status can_be_used(vf_device *device, const vf_opencl_state *s)
{
    char version[256] = "";
    cl_bool little = CL_FALSE, compiler = CL_FALSE;
    (void)(ask(s, CL_DEVICE_VERSION, sizeof version - 1, version) &&
           ask(s, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little) &&
           ask(s, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler));
    const char *why = version_of(version) < 12 ? "OpenCL 1.2 is needed"
                      : !little                ? "its numbers are big-endian"
                      : !compiler              ? "its driver has no compiler"
                                               : NULL;
    return why ? vf_fail(device->ctx, VF_ERR_DEVICE, "%s (%s, %s): %s; use --device cpu", device->spec, device->name,
                         version, why)
               : VF_OK;
}

static vf_status begin(vf_device *device, vf_opencl_state *s)
{
    cl_int error;
    cl_context context = vf_cl.CreateContext(NULL, 1, &s->id, NULL, NULL, &error);
    vf_status status = vf_opencl_check(device, error, "clCreateContext");
    if (status == VF_OK) {
        s->own = vf_cl.CreateCommandQueue(context, s->id, 0, &error);
        status = vf_opencl_check(device, error, "clCreateCommandQueue");
    }
    if (status == VF_OK)
        s->context = context;
    return status;
}

vf_status vf_device_init_opencl(vf_device *device, int ordinal)
{
    const char *why;
    int count;
    vf_opencl_state *all = vf_opencl_devices(&count, &why);
    if (count == 0)
        return vf_fail(device->ctx, VF_ERR_DEVICE, "opencl:%d: no device: %s; use --device cpu", ordinal, why);
    if (ordinal >= count)
        return vf_fail(device->ctx, VF_ERR_DEVICE, "opencl:%d: there %s only opencl:0%s%.0d", ordinal,
                       count == 1 ? "is" : "are", count == 1 ? "" : " to opencl:", count == 1 ? 0 : count - 1);
    vf_opencl_state *s = &all[ordinal];
    device->ops = &opencl_ops;
    device->kind = VF_DEVICE_OPENCL;
    device->ordinal = ordinal;
    snprintf(device->spec, sizeof device->spec, "opencl:%d", ordinal);
    pthread_mutex_lock(&s->lock);
    if (!s->context)
        read_facts(s);
    snprintf(device->name, sizeof device->name, "%s", s->name);
    snprintf(device->traits, sizeof device->traits, "OpenCL %s, driver %.60s, %d compute units, %s",
             s->type == CL_DEVICE_TYPE_GPU   ? "GPU"
             : s->type == CL_DEVICE_TYPE_CPU ? "CPU"
                                             : "accelerator",
             s->driver, s->units, s->has_double ? "double precision" : "no double precision");
    vf_status status = VF_OK;
    if (!s->context) {
        status = can_be_used(device, s);
        VF_TRY(status, begin(device, s));
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}
