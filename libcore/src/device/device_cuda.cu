/* Devices of kind VF_DEVICE_CUDA: the CUDA runtime behind libcore's table of device operations. */
#include <atomic>
#include <cstdio>
#include <cstring>

#include "backend/stream_memory.cuh"
#include "context_internal.h"
#include "copy_staged.cuh"

static vf_status use(vf_device *device)
{
    return VF_CUDA(device, cudaSetDevice(device->ordinal));
}

static vf_status cuda_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    size_t free_now = 0, total = 0;
    vf_status status = use(device);
    if (status == VF_OK)
        vf_stream_memory_trim(device->ordinal);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaMemGetInfo(&free_now, &total));
    *free_bytes = free_now;
    *total_bytes = total;
    return status;
}

static vf_status cuda_allocate(vf_device *device, vf_space space, size_t bytes, void **out)
{
    *out = NULL;
    vf_status status = use(device);
    if (status != VF_OK)
        return status;
    if (space == VF_SPACE_HOST)
        return vf_fail(device->ctx, VF_ERR_INTERNAL, "a GPU does not hand out plain host memory: use VF_SPACE_PINNED");
    cudaError_t error =
        space == VF_SPACE_DEVICE ? cudaMalloc(out, bytes) : cudaHostAlloc(out, bytes, cudaHostAllocPortable);
    if (space == VF_SPACE_DEVICE && error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        vf_stream_memory_trim(device->ordinal);
        error = cudaMalloc(out, bytes);
    }
    if (error != cudaErrorMemoryAllocation)
        return VF_CUDA(device, error);
    (void)cudaGetLastError();
    size_t free_now = 0, total = 0;
    (void)cudaMemGetInfo(&free_now, &total);
    if (space == VF_SPACE_PINNED)
        return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough host memory to pin: %.3g GiB asked for",
                       (double)bytes / 0x1p30);
    return vf_fail(device->ctx, VF_ERR_DEVICE_MEMORY,
                   "%s (%s): not enough GPU memory: %.3g GiB asked for, %.3g of %.3g GiB free", device->spec,
                   device->name, (double)bytes / 0x1p30, (double)free_now / 0x1p30, (double)total / 0x1p30);
}

static void cuda_release(vf_device *device, vf_space space, void *data)
{
    (void)cudaSetDevice(device->ordinal);
    (void)(space == VF_SPACE_DEVICE ? cudaFree(data) : cudaFreeHost(data));
    (void)cudaGetLastError(); /* clear it: other devices' launches must not report the failure of this one */
}

static vf_status cuda_queue_create(vf_device *device, void **native)
{
    cudaStream_t stream = NULL;
    vf_status status = use(device);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    *native = stream;
    return status;
}

static void cuda_queue_destroy(vf_device *device, void *native)
{
    (void)cudaSetDevice(device->ordinal);
    (void)cudaStreamSynchronize((cudaStream_t)native);
    (void)cudaStreamDestroy((cudaStream_t)native);
    (void)cudaGetLastError(); /* as above */
}

static vf_status cuda_queue_sync(vf_device *device, void *native)
{
    vf_status status = use(device);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaStreamSynchronize((cudaStream_t)native));
    return status;
}

/* CUDA keeps a destroyed event alive until it is reached. */
static vf_status cuda_queue_after(vf_device *device, void *native, void *before)
{
    cudaEvent_t reached = NULL;
    vf_status status = use(device);
    if (status == VF_OK)
        status = VF_CUDA(device, cudaEventCreateWithFlags(&reached, cudaEventDisableTiming));
    if (status != VF_OK)
        return status;
    status = VF_CUDA(device, cudaEventRecord(reached, (cudaStream_t)before));
    if (status == VF_OK)
        status = VF_CUDA(device, cudaStreamWaitEvent((cudaStream_t)native, reached, 0));
    (void)cudaEventDestroy(reached);
    return status;
}

static vf_status cuda_copy(vf_device *device, void *native, void *dst, const void *src, size_t bytes)
{
    vf_status status = use(device);
    if (status == VF_OK && !vf_copy_staged(device, (cudaStream_t)native, dst, src, bytes, &status))
        status = VF_CUDA(device, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)native));
    return status;
}

/* Lets the thread's current device read and write a peer's memory; done once per pair. If this is not possible, the
 * driver passes copies through the host. */
static void reach(const vf_device *device, const vf_device *peer)
{
    static std::atomic<uint64_t> reached[VF_MAX_DEVICES]; /* by ordinal; one bit per peer */
    int possible = 0;
    if (device->ordinal >= VF_MAX_DEVICES || peer->ordinal >= VF_MAX_DEVICES ||
        (reached[device->ordinal].fetch_or(UINT64_C(1) << peer->ordinal) >> peer->ordinal & 1))
        return;
    if (cudaDeviceCanAccessPeer(&possible, device->ordinal, peer->ordinal) == cudaSuccess && possible)
        (void)cudaDeviceEnablePeerAccess(peer->ordinal, 0);
    (void)cudaGetLastError();
}

static vf_status cuda_copy_peer(vf_device *device, void *native, void *dst, const void *src, size_t bytes,
                                vf_device *peer, bool to_peer)
{
    vf_status status = use(device);
    if (status != VF_OK)
        return status;
    reach(device, peer);
    return VF_CUDA(device, cudaMemcpyPeerAsync(dst, (to_peer ? peer : device)->ordinal, src,
                                               (to_peer ? device : peer)->ordinal, bytes, (cudaStream_t)native));
}

static const vf_device_ops cuda_ops = {
    cuda_memory,     cuda_allocate,    cuda_release, cuda_queue_create, cuda_queue_destroy,
    cuda_queue_sync, cuda_queue_after, cuda_copy,    cuda_copy_peer,
};

extern "C" bool vf_built_with_cuda(void)
{
    return true;
}

extern "C" int vf_cuda_device_count(const char **reason)
{
    int count = 0, driver = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        count = 0;
    /* Without any driver the runtime reports one that is too old. */
    bool no_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
    (void)cudaGetLastError();
    if (reason)
        *reason = no_driver              ? "no NVIDIA driver could be loaded"
                  : error != cudaSuccess ? cudaGetErrorString(error)
                                         : "";
    return count;
}

extern "C" bool vf_cuda_start(int ordinal)
{
    const bool started = cudaSetDevice(ordinal) == cudaSuccess && cudaFree(NULL) == cudaSuccess;
    (void)cudaGetLastError();
    return started;
}

/* Every source file is compiled for the same generations, so if this kernel has code for a GPU, all have. */
static __global__ void nothing()
{
}

/* Whether this program has code for the current device. Code that only tests the compiler is slow, so it does not count. */
static vf_status find_code(vf_device *device, int major, int minor)
{
    cudaFuncAttributes attributes;
    const cudaError_t error =
        VOXFIELD_CUDA_IS_A_TEST ? cudaErrorNoKernelImageForDevice : cudaFuncGetAttributes(&attributes, nothing);
    if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction)
        return VF_CUDA(device, error);
    (void)cudaGetLastError();
    return vf_fail(device->ctx, VF_ERR_DEVICE,
                   "%s (%s): this program has no code for compute capability %d.%d, only for %s; build it with "
                   "-DVOXFIELD_CUDA=ALL, or use --device cpu",
                   device->spec, device->name, major, minor, VOXFIELD_GENERATIONS);
}

extern "C" vf_status vf_device_init_cuda(vf_device *device, int ordinal)
{
    const char *reason = NULL;
    int count = vf_cuda_device_count(&reason);
    if (count == 0)
        return vf_fail(device->ctx, VF_ERR_DEVICE, "cuda:%d: no GPU: %s; use --device cpu", ordinal, reason);
    if (ordinal >= count)
        return vf_fail(device->ctx, VF_ERR_DEVICE, "cuda:%d: there %s only cuda:0%s%.0d", ordinal,
                       count == 1 ? "is" : "are", count == 1 ? "" : " to cuda:", count == 1 ? 0 : count - 1);
    cudaDeviceProp properties;
    device->ops = &cuda_ops;
    device->kind = VF_DEVICE_CUDA;
    device->ordinal = ordinal;
    snprintf(device->spec, sizeof device->spec, "cuda:%d", ordinal);
    snprintf(device->name, sizeof device->name, "GPU %d", ordinal);
    vf_status status = VF_CUDA(device, cudaGetDeviceProperties(&properties, ordinal));
    int watched = 0, ratio = 0;
    if (status == VF_OK)
        status = VF_CUDA(device, cudaDeviceGetAttribute(&watched, cudaDevAttrKernelExecTimeout, ordinal));
    if (status == VF_OK)
        status = VF_CUDA(device, cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, ordinal));
    device->watched = watched != 0;
    if (status == VF_OK) {
        snprintf(device->name, sizeof device->name, "%s", properties.name);
        snprintf(device->traits, sizeof device->traits,
                 "compute capability %d.%d, double precision at 1/%d of the speed of single%s", properties.major,
                 properties.minor, ratio, watched ? "; shows a display" : "");
    }
    if (status == VF_OK && 10 * properties.major + properties.minor < 75)
        status = vf_fail(device->ctx, VF_ERR_DEVICE,
                         "%s (%s): compute capability %d.%d; 7.5 (Turing) or later is needed; use --device cpu",
                         device->spec, device->name, properties.major, properties.minor);
    if (status == VF_OK)
        status = use(device);
    if (status == VF_OK)
        status = find_code(device, properties.major, properties.minor);
    return status;
}
