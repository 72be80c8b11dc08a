/* Turns CUDA's error codes into Voxfield's. For .cu files of libcore and kernels; not installed. */
#ifndef VOXFIELD_CUDA_CHECK_CUH
#define VOXFIELD_CUDA_CHECK_CUH

#include <cuda_runtime.h>

#include "voxfield/device.h"

/* Records a CUDA error with what was being done, and clears the runtime's last error so that it is not reported twice.
 */
static inline vf_status vf_cuda_fail(vf_device *device, cudaError_t error, const char *doing)
{
    (void)cudaGetLastError();
    vf_status status = error == cudaErrorMemoryAllocation ? VF_ERR_DEVICE_MEMORY : VF_ERR_DEVICE;
    return vf_fail(vf_device_context(device), status, "%s (%s): %s failed: %s", vf_device_spec(device),
                   vf_device_name(device), doing, cudaGetErrorString(error));
}

/* `status = VF_CUDA(device, call)`: VF_OK, or the recorded failure. */
#define VF_CUDA(device, call) vf_cuda_check((device), (call), #call)
static inline vf_status vf_cuda_check(vf_device *device, cudaError_t error, const char *doing)
{
    return error == cudaSuccess ? VF_OK : vf_cuda_fail(device, error, doing);
}

#endif
