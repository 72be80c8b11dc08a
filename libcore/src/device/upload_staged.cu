#include "upload_staged.cuh"

#include <mutex>

#include "backend/cuda_check.cuh"
#include "context_internal.h"
#include "host_copy.h"

namespace
{

const size_t LARGE = 8 << 20, BUFFER = 4 << 20;

/* A device's buffers, made by its first large copy and kept. `read`: the GPU has read the buffer. */
struct staging {
    std::mutex lock;
    void *buffer[2];
    cudaEvent_t read[2];
};
staging stagings[VF_MAX_DEVICES]; /* by ordinal */

bool is_upload(int ordinal, const void *to, const void *from)
{
    cudaPointerAttributes target = {}, source = {};
    const bool known =
        cudaPointerGetAttributes(&target, to) == cudaSuccess && cudaPointerGetAttributes(&source, from) == cudaSuccess;
    (void)cudaGetLastError();
    return known && target.type == cudaMemoryTypeDevice && target.device == ordinal &&
           source.type == cudaMemoryTypeUnregistered;
}

bool has_buffers(staging *s)
{
    for (int b = 0; b < 2; b++) {
        if (!s->read[b] && cudaEventCreateWithFlags(&s->read[b], cudaEventDisableTiming) != cudaSuccess)
            s->read[b] = NULL;
        if (!s->buffer[b] && cudaHostAlloc(&s->buffer[b], BUFFER, cudaHostAllocDefault) != cudaSuccess)
            s->buffer[b] = NULL;
    }
    (void)cudaGetLastError();
    return s->read[0] && s->read[1] && s->buffer[0] && s->buffer[1];
}

cudaError_t upload(staging *s, int threads, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    cudaError_t error = cudaSuccess;
    for (size_t at = 0, piece = 0; at < bytes && error == cudaSuccess; at += BUFFER, piece++) {
        const size_t b = piece % 2, count = bytes - at < BUFFER ? bytes - at : BUFFER;
        error = cudaEventSynchronize(s->read[b]);
        if (error == cudaSuccess) {
            vf_host_copy(threads, s->buffer[b], static_cast<const char *>(from) + at, count);
            error = cudaMemcpyAsync(static_cast<char *>(to) + at, s->buffer[b], count, cudaMemcpyHostToDevice, stream);
        }
        if (error == cudaSuccess)
            error = cudaEventRecord(s->read[b], stream);
    }
    return error;
}

} // namespace

bool vf_upload_staged(vf_device *device, cudaStream_t stream, void *to, const void *from, size_t bytes,
                      vf_status *status)
{
    const int MOST_THREADS = 4, ordinal = vf_device_ordinal(device),
              threads = vf_context_threads(vf_device_context(device));
    if (bytes < LARGE || threads < 2 || ordinal >= VF_MAX_DEVICES || !is_upload(ordinal, to, from))
        return false;
    staging *s = &stagings[ordinal];
    std::unique_lock<std::mutex> hold(s->lock, std::try_to_lock);
    if (!hold.owns_lock())
        return false;
    const bool done = has_buffers(s);
    if (done)
        *status = vf_cuda_check(
            device, upload(s, threads < MOST_THREADS ? threads : MOST_THREADS, stream, to, from, bytes), "copying");
    return done;
}
