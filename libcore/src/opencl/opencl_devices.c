/* Loads OpenCL, and finds its devices. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "opencl_functions.h"

enum { MOST_PLATFORMS = 16 };

vf_opencl_functions vf_cl;

static struct {
    pthread_once_t once;
    int count;
    const char *why;
    vf_opencl_state of[VF_MAX_DEVICES];
} found = {.once = PTHREAD_ONCE_INIT};

static bool load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        found.why = "libOpenCL.so.1 is not installed (package ocl-icd-libopencl1, and your device's driver)";
        return false;
    }
    bool complete = true;
#define FIND(name)                                                                                                     \
    *(void **)&vf_cl.name = dlsym(library, "cl" #name);                                                                \
    complete = complete && vf_cl.name;
    VF_OPENCL_FUNCTIONS(FIND)
#undef FIND
    if (!complete)
        found.why = "libOpenCL.so.1 is older than OpenCL 1.2";
    return complete;
}

static bool is_known(cl_device_id id)
{
    for (int d = 0; d < found.count; d++)
        if (found.of[d].id == id)
            return true;
    return false;
}

static void add_devices(cl_platform_id platform, cl_device_type type)
{
    cl_device_id ids[VF_MAX_DEVICES];
    cl_uint count = 0;
    if (vf_cl.GetDeviceIDs(platform, type, VF_MAX_DEVICES, ids, &count) != CL_SUCCESS)
        return;
    for (cl_uint d = 0; d < count && d < VF_MAX_DEVICES && found.count < VF_MAX_DEVICES; d++) {
        if (is_known(ids[d])) /* a device may be of several types */
            continue;
        vf_opencl_state *s = &found.of[found.count++];
        *s = (vf_opencl_state){.id = ids[d], .type = type};
        pthread_mutex_init(&s->lock, NULL);
    }
}

static void find(void)
{
    static const cl_device_type order[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    if (!load())
        return;
    if (vf_cl.GetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (int t = 0; t < 3; t++)
        for (cl_uint p = 0; p < count && p < MOST_PLATFORMS; p++)
            add_devices(platforms[p], order[t]);
    if (found.count == 0)
        found.why = "libOpenCL.so.1 knows no device: install your device's OpenCL driver";
}

vf_opencl_state *vf_opencl_devices(int *count, const char **why)
{
    pthread_once(&found.once, find);
    vf_context_keep_signals();
    *count = found.count;
    if (why)
        *why = found.why ? found.why : "";
    return found.of;
}

vf_opencl_state *vf_opencl_state_of(const vf_device *device)
{
    return &found.of[device->ordinal];
}

int vf_opencl_device_count(const char **reason)
{
    int count;
    vf_opencl_devices(&count, reason);
    return count;
}

vf_status vf_opencl_check(vf_device *device, cl_int error, const char *doing)
{
    static const struct {
        cl_int error;
        const char *name;
    } names[] = {{CL_INVALID_MEM_OBJECT, "an address is not of this device's memory"},
                 {CL_MEM_OBJECT_ALLOCATION_FAILURE, "no memory for an array"},
                 {CL_OUT_OF_RESOURCES, "out of resources"},
                 {CL_OUT_OF_HOST_MEMORY, "out of host memory"},
                 {CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
                 {CL_COMPILER_NOT_AVAILABLE, "the driver has no compiler"},
                 {CL_INVALID_WORK_GROUP_SIZE, "too many threads in a group"}};
    if (error == CL_SUCCESS)
        return VF_OK;
    const char *name = NULL;
    for (size_t i = 0; !name && i < sizeof names / sizeof *names; i++)
        name = names[i].error == error ? names[i].name : NULL;
    return vf_fail(device->ctx, error == CL_MEM_OBJECT_ALLOCATION_FAILURE ? VF_ERR_DEVICE_MEMORY : VF_ERR_DEVICE,
                   "%s (%s): %s failed: error %d%s%s", device->spec, device->name, doing, (int)error, name ? ", " : "",
                   name ? name : "");
}
