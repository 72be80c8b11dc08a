/* Reductions of segments on a GPU, in three kernels. Thread blocks take tiles of elements, whatever the segments, so that
 * neither long nor many segments keep one of them busy for longer than others.
 *
 *   find    the segment that each tile begins in; empty segments get the identity
 *   tiles   reduces the segments within a tile. Of those that are not, a tile has the end of one, its lead, and the
 *           beginning or middle of one, its trail.
 *   join    combines the trails and the lead of each segment of several tiles, in order
 *
 * What is combined, and how it is grouped, depends only on n and the offsets. */
#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "reduce_works.cuh"
#include "segments_internal.h"

namespace
{

enum { WARPS = 8, THREADS = WARPS * VF_WARP, WORK = 8, TILE = THREADS * WORK, SHORT = 8 };

/* A State, and whether a segment begins among its elements: then what comes before them is another segment's. */
template <typename Work>
struct parted {
    struct State {
        typename Work::State of;
        unsigned begins, unused; /* padding: no byte stays unwritten */
    };
    __device__ static State make(const typename Work::State &of, bool begins)
    {
        State s = {};
        s.of = of;
        s.begins = begins;
        return s;
    }
    __device__ static State identity()
    {
        return make(Work::identity(), false);
    }
    __device__ static State combine(const State &a, const State &b)
    {
        return b.begins ? b : make(Work::combine(a.of, b.of), a.begins);
    }
};

/* Scratch memory: for each tile, and one more of `first`. */
template <typename State>
struct tile_notes {
    State *lead, *trail;
    int64_t *lead_of; /* segment whose end is the lead; -1: none */
    int64_t *first;   /* segment of the tile's first element */

    static size_t bytes(int64_t tiles)
    {
        return (size_t)tiles * (2 * sizeof(State) + sizeof(int64_t)) + (size_t)(tiles + 1) * sizeof(int64_t);
    }
    static tile_notes in(void *memory, int64_t tiles)
    {
        State *lead = static_cast<State *>(memory);
        int64_t *lead_of = reinterpret_cast<int64_t *>(lead + 2 * tiles);
        return {lead, lead + tiles, lead_of, lead_of + tiles};
    }
};

struct segment_list {
    int64_t n, tiles, count;
    const int64_t *offsets;
};

template <typename Work>
__device__ void finish(const Work &work, int64_t segment, const typename Work::State &s)
{
    Work of = work;
    of.result += segment;
    of.finish(s);
}

template <typename Work>
__global__ void __launch_bounds__(THREADS) find(const Work work, const segment_list list, int64_t *first)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i <= list.tiles)
        first[i] = vf_segment_with(list.offsets, i < list.tiles ? i * TILE : list.n, 0, list.count);
    if (i < list.count && list.offsets[i] == list.offsets[i + 1])
        finish(work, i, Work::identity());
}

/* A tile that is part of one segment: its total, in thread 0. */
template <typename Work>
__device__ typename Work::State reduce_whole(const Work &work, int64_t begin, int64_t end, typename Work::State *sums)
{
    constexpr int V = Work::vector(WORK);
    typename Work::State s = Work::identity();
    typename Work::template Items<V> items[WORK / V];
    if (end - begin == TILE && work.aligned) {
#pragma unroll
        for (int k = 0; k < WORK / V; k++)
            items[k] = work.template fetch<V, true>(begin + ((int64_t)k * THREADS + threadIdx.x) * V);
#pragma unroll
        for (int k = 0; k < WORK / V; k++)
            work.template take<V>(s, items[k], begin + ((int64_t)k * THREADS + threadIdx.x) * V);
    } else /* the same elements, in the same order: bits do not depend on the address */
        for (int k = 0; k < WORK / V; k++)
            for (int j = 0; j < V; j++) {
                const int64_t i = begin + ((int64_t)k * THREADS + threadIdx.x) * V + j;
                if (i < end)
                    work.template take<1>(s, work.template fetch<1, false>(i), i);
            }
    return vf_block_reduce<WARPS, Work>(s, sums);
}

/* What a thread finds in its elements of a tile with several segments: the end of a segment that began before them, and
 * what follows the last end. */
template <typename Work>
struct thread_part {
    typename Work::State ended;
    int64_t ended_of; /* -1: none */
    typename parted<Work>::State rest;

    /* Elements [at, end). */
    __device__ void walk(const Work &work, const int64_t *offsets, int64_t at, int64_t end, int64_t low, int64_t high)
    {
        ended_of = -1;
        rest = parted<Work>::identity();
        if (at >= end)
            return;
        int64_t s = vf_segment_with(offsets, at, low, high), next = offsets[s + 1];
        typename Work::State state = Work::identity();
        bool begins = offsets[s] == at;
        for (int64_t i = at; i < end; i++) {
            work.template take<1>(state, work.template fetch<1, false>(i), i);
            if (i + 1 != next)
                continue;
            if (begins)
                finish(work, s, state);
            else {
                ended = state;
                ended_of = s;
            }
            begins = true;
            state = Work::identity();
            if (i + 1 < end) {
                next = offsets[++s + 1];
                if (next <= i + 1) { /* empty ones, perhaps many */
                    s = vf_segment_with(offsets, i + 1, s, high);
                    next = offsets[s + 1];
                }
            }
        }
        rest = parted<Work>::make(state, begins);
    }
};

template <typename Work>
__global__ void __launch_bounds__(THREADS)
    reduce_tiles(const Work work, const segment_list list, const tile_notes<typename parted<Work>::State> notes)
{
    typedef parted<Work> Parted;
    typedef typename Parted::State State;
    __shared__ State sums[WARPS];
    __shared__ typename Work::State whole_sums[WARPS];
    const int64_t t = blockIdx.x, begin = t * TILE, end = list.n - begin < TILE ? list.n : begin + TILE;
    const int64_t first = notes.first[t];
    if (threadIdx.x == 0)
        notes.lead_of[t] = -1;
    if (list.offsets[first + 1] >= end) {
        const typename Work::State s = reduce_whole(work, begin, end, whole_sums);
        const bool begins = list.offsets[first] == begin, ends = list.offsets[first + 1] == end;
        if (threadIdx.x != 0)
            return;
        notes.trail[t] = Parted::make(s, begins);
        if (ends && begins)
            finish(work, first, s);
        else if (ends) {
            notes.lead[t] = Parted::make(s, false);
            notes.lead_of[t] = first;
        }
        return;
    }
    thread_part<Work> mine;
    const int64_t at = begin + (int64_t)threadIdx.x * WORK, last = notes.first[t + 1];
    mine.walk(work, list.offsets, at, at + WORK < end ? at + WORK : end, first,
              last < list.count ? last : list.count - 1);
    const State inclusive = vf_warp_scan<Parted>(mine.rest);
    State all;
    const State before_warp = vf_block_before<WARPS, Parted>(vf_shuffle_from(inclusive, VF_WARP - 1), sums, &all);
    const State before = Parted::combine(before_warp, vf_warp_before<Parted>(inclusive));
    if (mine.ended_of >= 0) {
        const typename Work::State s = Work::combine(before.of, mine.ended);
        if (before.begins)
            finish(work, mine.ended_of, s);
        else {
            notes.lead[t] = Parted::make(s, false);
            notes.lead_of[t] = mine.ended_of;
        }
    }
    if (threadIdx.x == 0)
        notes.trail[t] = all;
}

/* A thread for each tile. Segments of more than SHORT tiles are left to all threads of the block. */
template <typename Work>
__global__ void __launch_bounds__(THREADS)
    join(const Work work, const segment_list list, const tile_notes<typename parted<Work>::State> notes)
{
    typedef typename Work::State State;
    __shared__ State sums[2][WARPS];
    __shared__ int64_t long_ones[THREADS];
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t segment = t < list.tiles ? notes.lead_of[t] : -1;
    const int64_t from = segment >= 0 ? list.offsets[segment] / TILE : t;
    const bool is_long = t - from > SHORT;
    long_ones[threadIdx.x] = is_long ? t : -1;
    if (segment >= 0 && !is_long) {
        State s = notes.trail[from].of;
        for (int64_t i = from + 1; i < t; i++)
            s = Work::combine(s, notes.trail[i].of);
        finish(work, segment, Work::combine(s, notes.lead[t].of));
    }
    int turn = 0;
    __syncthreads();
    for (int k = 0; k < THREADS; k++) {
        const int64_t tile = long_ones[k];
        if (tile < 0)
            continue;
        const int64_t of = notes.lead_of[tile], start = list.offsets[of] / TILE;
        State s = Work::identity();
        for (int64_t i = start + vf_run_begin(tile - start, threadIdx.x, THREADS),
                     to = start + vf_run_begin(tile - start, (int64_t)threadIdx.x + 1, THREADS);
             i < to; i++)
            s = Work::combine(s, notes.trail[i].of);
        s = vf_block_reduce<WARPS, Work>(s, sums[turn]);
        turn ^= 1;
        if (threadIdx.x == 0)
            finish(work, of, Work::combine(s, notes.lead[tile].of));
    }
}

/* ---- plans ---- */

struct segments_entry {
    size_t (*bytes)(int64_t tiles);
    cudaError_t (*launch)(cudaStream_t stream, void *memory, int64_t n, const void *x, int64_t segments,
                          const int64_t *offsets, vf_reduced *results);
};

int64_t tiles_of(int64_t n)
{
    return (n + TILE - 1) / TILE;
}

template <typename Work>
cudaError_t launch(cudaStream_t stream, void *memory, int64_t n, const void *x, int64_t segments,
                   const int64_t *offsets, vf_reduced *results)
{
    typedef typename Work::Element Element;
    Work work;
    work.x = static_cast<const Element *>(x);
    work.y = NULL;
    work.result = results;
    work.aligned = vf_is_aligned(work.x, vf_range_from_0(n), Work::vector(WORK));
    const segment_list list = {n, tiles_of(n), segments, offsets};
    const auto notes = tile_notes<typename parted<Work>::State>::in(memory, list.tiles);
    find<Work><<<vf_blocks_for(list.tiles + 1 > segments ? list.tiles + 1 : segments, THREADS), THREADS, 0, stream>>>(
        work, list, notes.first);
    if (n > 0) {
        reduce_tiles<Work><<<vf_blocks_for(list.tiles, 1), THREADS, 0, stream>>>(work, list, notes);
        join<Work><<<vf_blocks_for(list.tiles, THREADS), THREADS, 0, stream>>>(work, list, notes);
    }
    return cudaGetLastError();
}

template <typename Work>
constexpr segments_entry entry()
{
    return {tile_notes<typename parted<Work>::State>::bytes, launch<Work>};
}

typedef vf_element<float, 1> f32;
typedef vf_element<double, 1> f64;

const segments_entry *entry_of(const vf_reduce_segments *plan)
{
    static const segments_entry sums[] = {entry<vf_sum_work<f32>>(), entry<vf_sum_work<f64>>(),
                                          entry<vf_integer_work<int32_t>>(), entry<vf_integer_work<int64_t>>()},
                                products[] = {entry<vf_product_work<f32>>(), entry<vf_product_work<f64>>(),
                                              entry<vf_integer_product_work<int32_t>>(),
                                              entry<vf_integer_product_work<int64_t>>()},
                                least[] = {entry<vf_extreme_work<float, true>>(),
                                           entry<vf_extreme_work<double, true>>(),
                                           entry<vf_extreme_work<int32_t, true>>(),
                                           entry<vf_extreme_work<int64_t, true>>()},
                                greatest[] = {
                                    entry<vf_extreme_work<float, false>>(), entry<vf_extreme_work<double, false>>(),
                                    entry<vf_extreme_work<int32_t, false>>(), entry<vf_extreme_work<int64_t, false>>()};
    const segments_entry *const of = plan->reduction == VF_REDUCE_SUM       ? sums
                                     : plan->reduction == VF_REDUCE_PRODUCT ? products
                                     : plan->reduction == VF_REDUCE_MIN     ? least
                                                                            : greatest;
    return of + (plan->type == VF_F32 ? 0 : plan->type == VF_F64 ? 1 : plan->type == VF_I32 ? 2 : 3);
}

void destroy(vf_reduce_segments *plan)
{
    vf_array *memory = static_cast<vf_array *>(plan->state);
    vf_array_free(memory);
    free(memory);
    plan->state = NULL;
}

vf_status create(vf_reduce_segments *plan)
{
    vf_array *memory = static_cast<vf_array *>(calloc(1, sizeof *memory));
    if (!memory)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                       "no memory for the plan of a reduction of segments");
    plan->state = memory;
    const size_t bytes = entry_of(plan)->bytes(tiles_of(plan->most));
    const vf_status status = vf_array_create(plan->device, VF_SPACE_DEVICE, VF_U8, (int64_t)bytes, memory);
    if (status != VF_OK)
        destroy(plan);
    return status;
}

vf_status execute(const vf_reduce_segments *plan, vf_queue *queue, int64_t n, const void *x, int64_t segments,
                  const int64_t *offsets, vf_reduced *results)
{
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = VF_CUDA(plan->device, entry_of(plan)->launch(static_cast<cudaStream_t>(vf_queue_native(queue)),
                                                              static_cast<vf_array *>(plan->state)->data, n, x,
                                                              segments, offsets, results));
    return status;
}

} // namespace

extern "C" const vf_reduce_segments_ops vf_reduce_segments_cuda = {create, destroy, execute};
