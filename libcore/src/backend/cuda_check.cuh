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

/* Scratch memory of a plan: bytes of the device's memory, all 0, for use on any queue at once. */
static inline vf_status vf_create_cleared(vf_device *device, size_t bytes, vf_array *array)
{
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, array);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemset(array->data, 0, bytes));
    if (status == VF_OK) /* queues do not wait for the stream that this has gone into */
        status = VF_CUDA(device, cudaStreamSynchronize(NULL));
    return status;
}

#endif
