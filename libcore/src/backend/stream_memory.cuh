/* Device memory whose life is ordered by a queue: taking it and giving it back are work in the queue, so neither waits,
 * and memory that was given back serves the queue's next work. For the temporary memory of a sequence of kernels. Not
 * installed.
 *
 * The driver keeps up to VF_STREAM_MEMORY_KEPT bytes for the next sequence. libcore gives them back before it reports
 * free memory, and before it gives up an allocation. */
#ifndef VOXFIELD_STREAM_MEMORY_CUH
#define VOXFIELD_STREAM_MEMORY_CUH

#include "cuda_check.cuh"

#define VF_STREAM_MEMORY_KEPT (UINT64_C(2) << 30)

/* Gives back what the driver keeps on the current device. */
static inline void vf_stream_memory_trim(int ordinal)
{
    cudaMemPool_t pool;
    if (cudaDeviceGetDefaultMemPool(&pool, ordinal) == cudaSuccess)
        (void)cudaMemPoolTrimTo(pool, 0);
    (void)cudaGetLastError();
}

/* Arrays that work in a queue needs until vf_stream_memory_free. The queue's device must be the current one. */
struct vf_stream_memory {
    enum { MOST = 24 };
    vf_queue *queue;
    vf_array arrays[MOST];
    int used;
};

static inline vf_status vf_stream_memory_begin(vf_queue *queue, vf_stream_memory *out)
{
    cudaMemPool_t pool;
    uint64_t kept = VF_STREAM_MEMORY_KEPT;
    vf_device *device = vf_queue_device(queue);
    *out = {};
    out->queue = queue;
    vf_status status = VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
    if (status == VF_OK)
        status = VF_CUDA(device, cudaDeviceGetDefaultMemPool(&pool, vf_device_ordinal(device)));
    return status == VF_OK ? VF_CUDA(device, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept))
                           : status;
}

/* An array of `count` >= 0 elements. *out is also in the list, and must not be freed by itself. */
static inline vf_status vf_stream_memory_take(vf_stream_memory *memory, vf_dtype type, int64_t count, vf_array *out)
{
    vf_device *device = vf_queue_device(memory->queue);
    const size_t bytes = (size_t)count * vf_dtype_bytes(type);
    *out = {NULL, count, type, VF_SPACE_DEVICE, device};
    if (memory->used == vf_stream_memory::MOST)
        return vf_fail(vf_device_context(device), VF_ERR_INTERNAL, "too many arrays at a time");
    if (bytes == 0)
        return VF_OK;
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(memory->queue));
    const cudaError_t error = cudaMallocAsync(&out->data, bytes, stream);
    if (error != cudaSuccess)
        return vf_cuda_fail(device, error, "allocating GPU memory");
    memory->arrays[memory->used++] = *out;
    return VF_OK;
}

static inline uint64_t vf_stream_memory_bytes(const vf_stream_memory *memory)
{
    uint64_t bytes = 0;
    for (int i = 0; i < memory->used; i++)
        bytes += (uint64_t)memory->arrays[i].count * vf_dtype_bytes(memory->arrays[i].type);
    return bytes;
}

/* An array that lasts longer than the sequence, from the same pool: neither this nor vf_lasting_free waits for the
 * device. Work on it in other queues must begin after what is now in `queue`. */
static inline vf_status vf_lasting_create(vf_queue *queue, vf_dtype type, int64_t count, vf_array *out)
{
    vf_stream_memory one;
    const vf_status status = vf_stream_memory_begin(queue, &one);
    return status == VF_OK ? vf_stream_memory_take(&one, type, count, out) : status;
}

/* Work on it must be done, unless it is in `queue`; NULL: all is done. */
static inline void vf_lasting_free(vf_queue *queue, vf_array *array)
{
    if (array->data) {
        (void)cudaSetDevice(vf_device_ordinal(array->device));
        (void)cudaFreeAsync(array->data, queue ? static_cast<cudaStream_t>(vf_queue_native(queue)) : NULL);
    }
    *array = {};
}

/* Gives all arrays back, in the queue. */
static inline void vf_stream_memory_free(vf_stream_memory *memory)
{
    while (memory->used > 0)
        (void)cudaFreeAsync(memory->arrays[--memory->used].data,
                            static_cast<cudaStream_t>(vf_queue_native(memory->queue)));
}

#endif
