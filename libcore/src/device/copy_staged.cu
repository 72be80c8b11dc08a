#include "copy_staged.cuh"

#include <mutex>

#include "backend/cuda_check.cuh"
#include "context_internal.h"
#include "host_copy.h"

namespace
{

const size_t LARGE = 8 << 20, BUFFER = 4 << 20;

/* A device's buffers, made by its first large copy and kept. `done`: the GPU has read or written the buffer. */
struct staging {
    std::mutex lock;
    void *buffer[2];
    cudaEvent_t done[2];
};
staging stagings[VF_MAX_DEVICES]; /* by ordinal */

enum copy_kind { OTHER, UPLOAD, DOWNLOAD };

copy_kind kind_of(int ordinal, const void *to, const void *from)
{
    cudaPointerAttributes target = {}, source = {};
    const bool known =
        cudaPointerGetAttributes(&target, to) == cudaSuccess && cudaPointerGetAttributes(&source, from) == cudaSuccess;
    (void)cudaGetLastError();
    if (!known)
        return OTHER;
    if (target.type == cudaMemoryTypeDevice && target.device == ordinal && source.type == cudaMemoryTypeUnregistered)
        return UPLOAD;
    return source.type == cudaMemoryTypeDevice && source.device == ordinal && target.type == cudaMemoryTypeUnregistered
               ? DOWNLOAD
               : OTHER;
}

bool has_buffers(staging *s)
{
    for (int b = 0; b < 2; b++) {
        if (!s->done[b] && cudaEventCreateWithFlags(&s->done[b], cudaEventDisableTiming) != cudaSuccess)
            s->done[b] = NULL;
        if (!s->buffer[b] && cudaHostAlloc(&s->buffer[b], BUFFER, cudaHostAllocDefault) != cudaSuccess)
            s->buffer[b] = NULL;
    }
    (void)cudaGetLastError();
    return s->done[0] && s->done[1] && s->buffer[0] && s->buffer[1];
}

cudaError_t upload(staging *s, int threads, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    cudaError_t error = cudaSuccess;
    for (size_t at = 0, piece = 0; at < bytes && error == cudaSuccess; at += BUFFER, piece++) {
        const size_t b = piece % 2, count = bytes - at < BUFFER ? bytes - at : BUFFER;
        error = cudaEventSynchronize(s->done[b]);
        if (error == cudaSuccess) {
            vf_host_copy(threads, s->buffer[b], static_cast<const char *>(from) + at, count);
            error = cudaMemcpyAsync(static_cast<char *>(to) + at, s->buffer[b], count, cudaMemcpyHostToDevice, stream);
        }
        if (error == cudaSuccess)
            error = cudaEventRecord(s->done[b], stream);
    }
    return error;
}

/* While the GPU writes one buffer, the other is copied. */
cudaError_t download(staging *s, int threads, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    const size_t pieces = (bytes + BUFFER - 1) / BUFFER;
    cudaError_t error = cudaSuccess;
    for (size_t piece = 0; piece <= pieces && error == cudaSuccess; piece++) {
        if (piece < pieces) {
            const size_t at = piece * BUFFER, count = bytes - at < BUFFER ? bytes - at : BUFFER;
            error = cudaMemcpyAsync(s->buffer[piece % 2], static_cast<const char *>(from) + at, count,
                                    cudaMemcpyDeviceToHost, stream);
            if (error == cudaSuccess)
                error = cudaEventRecord(s->done[piece % 2], stream);
        }
        if (piece > 0 && error == cudaSuccess)
            error = cudaEventSynchronize(s->done[(piece - 1) % 2]);
        if (piece > 0 && error == cudaSuccess) {
            const size_t at = (piece - 1) * BUFFER, count = bytes - at < BUFFER ? bytes - at : BUFFER;
            vf_host_copy(threads, static_cast<char *>(to) + at, s->buffer[(piece - 1) % 2], count);
        }
    }
    return error;
}

} // namespace

bool vf_copy_staged(vf_device *device, cudaStream_t stream, void *to, const void *from, size_t bytes, vf_status *status)
{
    const int MOST_THREADS = 4, ordinal = vf_device_ordinal(device),
              all = vf_context_threads(vf_device_context(device)), threads = all < MOST_THREADS ? all : MOST_THREADS;
    if (bytes < LARGE || threads < 2 || ordinal >= VF_MAX_DEVICES)
        return false;
    const copy_kind kind = kind_of(ordinal, to, from);
    if (kind == OTHER)
        return false;
    staging *s = &stagings[ordinal];
    std::unique_lock<std::mutex> hold(s->lock, std::try_to_lock);
    if (!hold.owns_lock() || !has_buffers(s))
        return false;
    *status = vf_cuda_check(device,
                            kind == UPLOAD ? upload(s, threads, stream, to, from, bytes)
                                           : download(s, threads, stream, to, from, bytes),
                            "copying");
    return true;
}
