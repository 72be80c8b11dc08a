/* In place of core_backends_cuda.c and device_cuda.cu where the library is built without CUDA. */
#include "device/context_internal.h"
#include "registry.h"

const vf_backend vf_core_backends_cuda[] = {{0}};

bool vf_built_with_cuda(void)
{
    return false;
}

int vf_cuda_device_count(const char **reason)
{
    if (reason)
        *reason = "this binary was built without CUDA";
    return 0;
}

bool vf_cuda_start(int ordinal)
{
    (void)ordinal;
    return false;
}

vf_status vf_device_init_cuda(vf_device *device, int ordinal)
{
    return vf_fail(
        device->ctx, VF_ERR_UNSUPPORTED,
        "cuda:%d: this binary was built without CUDA; use --device cpu, or build with the CUDA Toolkit installed",
        ordinal);
}
