/* Turns CUDA's error codes into Voxfield's. For .cu files of libcore and kernels; not installed. */
#ifndef VOXFIELD_CUDA_CHECK_CUH
#define VOXFIELD_CUDA_CHECK_CUH

#include <cuda_runtime.h>

#include "voxfield/device.h"

/* Records a CUDA error and what was being done. Clears the runtime's last error, so that it is not reported twice. */
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

/* Makes the device the calling thread's current one. */
static inline vf_status vf_cuda_use(vf_device *device)
{
    return VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
}

static inline cudaStream_t vf_stream_of(const vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

/* Copies from host memory to the current device; any queue can use the data at once. Queues do not wait for
 * cudaMemcpy's stream, and cudaMemcpy may return before the copy has ended: as soon as the host memory can be
 * reused. */
static inline cudaError_t vf_cuda_upload(void *dst, const void *src, size_t bytes)
{
    const cudaError_t error = cudaMemcpy(dst, src, bytes, cudaMemcpyHostToDevice);
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

/* Allocates device memory for an array, all 0. Any queue can use it at once. */
static inline vf_status vf_create_cleared(vf_device *device, vf_dtype type, int64_t count, vf_array *array)
{
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, count, array);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemset(array->data, 0, (size_t)count * vf_dtype_bytes(type)));
    if (status == VF_OK) /* queues do not wait for cudaMemset's stream */
        status = VF_CUDA(device, cudaStreamSynchronize(NULL));
    return status;
}

#endif
