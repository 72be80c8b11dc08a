/* The GPU's peers: what the CUDA Toolkit has for the same work. */
#include "bench_peers.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

static cudaError_t call(bench_peer peer, cudaStream_t stream, void *scratch, size_t *scratch_bytes, int64_t n,
                        bench_peer_input input, void *output)
{
    const float *in = static_cast<const float *>(input.data);
    float *out = static_cast<float *>(output);
    unsigned long long *counts = static_cast<unsigned long long *>(output);
    const size_t bytes = (size_t)n * sizeof *out;
    switch (peer) {
    case PEER_COPY:
        *scratch_bytes = 1;
        return scratch ? cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream) : cudaSuccess;
    case PEER_SET:
        *scratch_bytes = 1;
        return scratch ? cudaMemsetAsync(out, 0, bytes, stream) : cudaSuccess;
    case PEER_SUM:
        return cub::DeviceReduce::Sum(scratch, *scratch_bytes, in, out, n, stream);
    case PEER_SCAN:
        return cub::DeviceScan::InclusiveSum(scratch, *scratch_bytes, in, out, n, stream);
    case PEER_BYTES:
        return cub::DeviceHistogram::HistogramEven(scratch, *scratch_bytes, static_cast<const uint8_t *>(input.data),
                                                   counts, 257, 0, 256, 4 * n, stream);
    case PEER_EDGES:
        return cub::DeviceHistogram::HistogramRange(scratch, *scratch_bytes, in, counts, input.bins + 1, input.edges, n,
                                                    stream);
    case PEER_SORT: {
        uint32_t *keys_out = static_cast<uint32_t *>(output);
        return cub::DeviceRadixSort::SortPairs(scratch, *scratch_bytes, static_cast<const uint32_t *>(input.data),
                                               keys_out, static_cast<const uint32_t *>(input.values), keys_out + n, n,
                                               0, 32, stream);
    }
    default:
        return cudaErrorInvalidValue;
    }
}

extern "C" const char *bench_peer_name(bench_peer peer)
{
    static const char *const names[PEERS] = {"cudaMemcpyAsync",
                                             "cudaMemsetAsync",
                                             "cub::DeviceReduce::Sum",
                                             "cub::DeviceScan::InclusiveSum",
                                             "cub::DeviceHistogram::HistogramEven",
                                             "cub::DeviceHistogram::HistogramRange",
                                             "cub::DeviceRadixSort::SortPairs"};
    return names[peer];
}

extern "C" size_t bench_peer_scratch(bench_peer peer, int64_t n)
{
    size_t bytes = 0;
    return call(peer, nullptr, nullptr, &bytes, n, {nullptr, 1024, nullptr, nullptr}, nullptr) == cudaSuccess
               ? bytes
               : SIZE_MAX;
}

extern "C" int bench_peer_run(bench_peer peer, void *stream, void *scratch, size_t scratch_bytes, int64_t n,
                              bench_peer_input in, void *out)
{
    return call(peer, (cudaStream_t)stream, scratch, &scratch_bytes, n, in, out) == cudaSuccess;
}

extern "C" double bench_gpu_seconds(void *stream, void (*put)(void *user), void *user)
{
    cudaEvent_t began = nullptr, ended = nullptr;
    float milliseconds = -1e3f;
    if (cudaEventCreate(&began) == cudaSuccess && cudaEventCreate(&ended) == cudaSuccess &&
        cudaEventRecord(began, (cudaStream_t)stream) == cudaSuccess) {
        put(user);
        if (cudaEventRecord(ended, (cudaStream_t)stream) != cudaSuccess || cudaEventSynchronize(ended) != cudaSuccess ||
            cudaEventElapsedTime(&milliseconds, began, ended) != cudaSuccess)
            milliseconds = -1e3f;
    }
    (void)cudaEventDestroy(began);
    (void)cudaEventDestroy(ended);
    return 1e-3 * milliseconds;
}
