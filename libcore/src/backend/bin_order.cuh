/* Sorts items on a GPU by the bins that they are in, for kernels that gather bins. Not installed.
 *
 * A kernel of the user writes a key for each item, its bin, and numbers the items from 0. The order of items in a bin
 * is that of their numbers, so sums over bins are the same in every run. Queues of the current device. */
#ifndef VOXFIELD_BIN_ORDER_CUH
#define VOXFIELD_BIN_ORDER_CUH

#include "cuda_check.cuh"
#include "launch_blocks.h"
#include "stream_memory.cuh"
#include "voxfield/sort.h"

namespace vf_bin_order
{

enum { THREADS = 256 };

inline cudaStream_t stream_of(const vf_queue *queue)
{
    return static_cast<cudaStream_t>(vf_queue_native(queue));
}

template <typename T>
T *data_of(const vf_array &array)
{
    return static_cast<T *>(array.data);
}

/* Waits for the queue, even after an error, so that the memory its work uses can be freed. Keeps the first error. */
inline vf_status finish(vf_queue *queue, vf_status status)
{
    const vf_status waited = vf_queue_sync(queue);
    return status == VF_OK ? waited : status;
}

/* Keys and the numbers of the items they belong to, all uint32; then the same sorted. */
struct ordering {
    int64_t count;
    vf_array keys, numbers, sorted_keys, sorted_numbers;
};

inline vf_status take_ordering(vf_stream_memory *memory, int64_t count, ordering *order)
{
    vf_array *arrays[] = {&order->keys, &order->numbers, &order->sorted_keys, &order->sorted_numbers};
    vf_status status = VF_OK;
    *order = {count, {}, {}, {}, {}};
    for (int i = 0; i < 4 && status == VF_OK; i++)
        status = vf_stream_memory_take(memory, VF_I32, count, arrays[i]);
    return status;
}

/* Stable sort by keys, which are below `end`. */
inline vf_status sort_by_key(vf_queue *queue, int64_t end, const ordering *order)
{
    vf_sort *sort = NULL;
    vf_sort_options options = {VF_SORT_U32, sizeof(uint32_t), 0, 1, NULL};
    while (((int64_t)1 << options.high) < end)
        options.high++;
    if (order->count == 0)
        return VF_OK;
    vf_status status = vf_sort_create(vf_queue_device(queue), &options, order->count, &sort);
    if (status == VF_OK)
        status = vf_sort_execute(sort, queue, order->count, data_of<uint32_t>(order->keys),
                                 data_of<uint32_t>(order->numbers), data_of<uint32_t>(order->sorted_keys),
                                 data_of<uint32_t>(order->sorted_numbers));
    vf_sort_destroy(sort); /* it holds no memory that the queue's work uses */
    return status;
}

/* first[b], b <= bins: the number of keys below b times `step`. */
template <typename Index>
__global__ void find_first(const uint32_t *sorted_keys, int64_t count, int64_t bins, int64_t step, Index *first)
{
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b > bins)
        return;
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted_keys[middle] < b * step)
            low = middle + 1;
        else
            high = middle;
    }
    first[b] = (Index)low;
}

/* first [bins + 1]: where each bin, of `step` keys, begins among the sorted keys. */
inline vf_status make_first(vf_queue *queue, const ordering *order, int64_t bins, const vf_array *first,
                            int64_t step = 1)
{
    find_first<<<vf_blocks_for(bins + 1, THREADS), THREADS, 0, stream_of(queue)>>>(
        data_of<uint32_t>(order->sorted_keys), order->count, bins, step, data_of<uint32_t>(*first));
    return vf_cuda_check(vf_queue_device(queue), cudaGetLastError(), "finding where bins begin");
}

template <typename Item>
__global__ void reorder_items(const Item *items, const uint32_t *numbers, int64_t count, Item *sorted)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sorted[i] = items[numbers[i]];
}

/* Items in bins. */
struct binned {
    vf_array items; /* VF_U8; sorted by bin */
    vf_array first; /* [bins + 1] uint32 */
};

/* Frees what was made to be kept. All work on it must be done. */
inline void free_binned(binned *b)
{
    vf_lasting_free(NULL, &b->items);
    vf_lasting_free(NULL, &b->first);
}

/* Makes `count` items and sorts them into `bins` bins: `launch(items, keys, numbers)` puts the kernel into the queue's
 * stream that writes them. Items with the key `bins` are left out. `out` has arrays of its own if `keep`, which
 * free_binned frees, also after an error; otherwise of `memory`. */
template <typename Item, typename Launch>
vf_status sort_into_bins(vf_stream_memory *memory, int64_t count, int64_t bins, bool keep, const Launch &launch,
                         binned *out)
{
    vf_queue *queue = memory->queue;
    vf_device *device = vf_queue_device(queue);
    const int64_t bytes = count * (int64_t)sizeof(Item);
    vf_array unsorted;
    ordering order;
    *out = {};
    vf_status status = keep ? vf_lasting_create(queue, VF_U8, bytes, &out->items)
                            : vf_stream_memory_take(memory, VF_U8, bytes, &out->items);
    if (status == VF_OK)
        status = keep ? vf_lasting_create(queue, VF_I32, bins + 1, &out->first)
                      : vf_stream_memory_take(memory, VF_I32, bins + 1, &out->first);
    if (status == VF_OK)
        status = vf_stream_memory_take(memory, VF_U8, bytes, &unsorted);
    if (status == VF_OK)
        status = take_ordering(memory, count, &order);
    if (status == VF_OK && count > 0) {
        launch(data_of<Item>(unsorted), data_of<uint32_t>(order.keys), data_of<uint32_t>(order.numbers));
        status = vf_cuda_check(device, cudaGetLastError(), "finding items' bins");
    }
    if (status == VF_OK)
        status = sort_by_key(queue, bins + 1, &order);
    if (status == VF_OK)
        status = make_first(queue, &order, bins, &out->first);
    if (status != VF_OK || count == 0)
        return status;
    reorder_items<<<vf_blocks_for(count, THREADS), THREADS, 0, stream_of(queue)>>>(
        data_of<Item>(unsorted), data_of<uint32_t>(order.sorted_numbers), count, data_of<Item>(out->items));
    return vf_cuda_check(device, cudaGetLastError(), "sorting items");
}

} // namespace vf_bin_order

#endif
