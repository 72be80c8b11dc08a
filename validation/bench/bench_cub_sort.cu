/* CUB's radix sort, the peer of sorts on a GPU. */
#include <cstdint>

#include <cub/device/device_radix_sort.cuh>

#include "bench_sort_peers.h"

namespace
{

template <typename K, typename V>
cudaError_t sort_pairs(void *scratch, size_t *bytes, int64_t n, const void *const in[2], void *const out[2],
                       cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, static_cast<const K *>(in[0]), static_cast<K *>(out[0]),
                                           static_cast<const V *>(in[1]), static_cast<V *>(out[1]), n, 0,
                                           8 * (int)sizeof(K), stream);
}

template <typename K>
cudaError_t sort_keys(void *scratch, size_t *bytes, int64_t n, const void *const in[2], void *const out[2],
                      cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortKeys(scratch, *bytes, static_cast<const K *>(in[0]), static_cast<K *>(out[0]), n,
                                          0, 8 * (int)sizeof(K), stream);
}

} // namespace

extern "C" int bench_cub_sort(bench_sort_type type, void *stream, void *scratch, size_t *bytes, int64_t n,
                              const void *const in[2], void *const out[2])
{
    static const auto sorts = {sort_keys<uint32_t>, sort_keys<uint64_t>, sort_keys<float>,
                               sort_pairs<uint32_t, uint32_t>, sort_pairs<uint64_t, uint64_t>};
    return sorts.begin()[type](scratch, bytes, n, in, out, static_cast<cudaStream_t>(stream)) == cudaSuccess;
}
