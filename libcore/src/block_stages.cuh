/* Stages of reductions and scans inside a thread block, for any associative operator with an identity; operands are
 * regrouped and never reordered. Not installed.
 *
 * An operator is a type with
 *   State                            what is combined: plain data, a multiple of 4 bytes
 *   static State identity()
 *   static State combine(a, b)       a comes before b
 * all for the device. After Brown, PhD thesis, University of North Carolina (2015), with the warp intrinsics of today.
 */
#ifndef VOXFIELD_BLOCK_STAGES_CUH
#define VOXFIELD_BLOCK_STAGES_CUH

#include "access.cuh"

enum : unsigned { VF_ALL_LANES = 0xffffffffu };

/* ---- plain data, word by word ---- */

template <typename S>
struct vf_words {
    static_assert(sizeof(S) % 4 == 0, "a multiple of 4 bytes");
    static constexpr int count = (int)(sizeof(S) / 4);
    unsigned of[count];

    __device__ explicit vf_words(const S &s)
    {
        memcpy(of, &s, sizeof s);
    }
    __device__ vf_words()
    {
    }
    __device__ S value() const
    {
        S s;
        memcpy(&s, of, sizeof s);
        return s;
    }
};

/* The State of lane - by, lane + by; a lane's own where there is none. */
template <typename S>
__device__ inline S vf_shuffle_up(const S &s, int by)
{
    vf_words<S> w(s);
#pragma unroll
    for (int i = 0; i < w.count; i++)
        w.of[i] = __shfl_up_sync(VF_ALL_LANES, w.of[i], by);
    return w.value();
}

template <typename S>
__device__ inline S vf_shuffle_down(const S &s, int by)
{
    vf_words<S> w(s);
#pragma unroll
    for (int i = 0; i < w.count; i++)
        w.of[i] = __shfl_down_sync(VF_ALL_LANES, w.of[i], by);
    return w.value();
}

template <typename S>
__device__ inline S vf_shuffle_from(const S &s, int lane)
{
    vf_words<S> w(s);
#pragma unroll
    for (int i = 0; i < w.count; i++)
        w.of[i] = __shfl_sync(VF_ALL_LANES, w.of[i], lane);
    return w.value();
}

/* A State that another multiprocessor has written and this one has not read before: past the cache of its own. */
template <typename S>
__device__ inline S vf_read_global(const S *from)
{
    const unsigned *words = reinterpret_cast<const unsigned *>(from);
    vf_words<S> w;
#pragma unroll
    for (int i = 0; i < w.count; i++)
        w.of[i] = __ldcg(words + i);
    return w.value();
}

/* ---- a warp ---- */

/* All lanes' States in order; lane 0 has it. A lane that is a multiple of 2 by combines with one that is complete. */
template <typename Op>
__device__ inline typename Op::State vf_warp_reduce(typename Op::State s)
{
#pragma unroll
    for (int by = 1; by < VF_WARP; by *= 2)
        s = Op::combine(s, vf_shuffle_down(s, by));
    return s;
}

/* Each lane's States up to its own (Kogge and Stone). */
template <typename Op>
__device__ inline typename Op::State vf_warp_scan(typename Op::State s)
{
    const int lane = (int)threadIdx.x % VF_WARP;
#pragma unroll
    for (int by = 1; by < VF_WARP; by *= 2) {
        const typename Op::State before = vf_shuffle_up(s, by);
        if (lane >= by)
            s = Op::combine(before, s);
    }
    return s;
}

/* What comes before each lane, from an inclusive scan. */
template <typename Op>
__device__ inline typename Op::State vf_warp_before(const typename Op::State &inclusive)
{
    const typename Op::State before = vf_shuffle_up(inclusive, 1);
    return threadIdx.x % VF_WARP == 0 ? Op::identity() : before;
}

/* ---- a thread block: `sums` is shared memory for a State a warp ---- */

/* All threads' States in order; thread 0 has it. One barrier: the next call must be given other memory, the one after
 * it may have this again. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_block_reduce(typename Op::State s, typename Op::State *sums)
{
    const int warp = (int)threadIdx.x / VF_WARP, lane = (int)threadIdx.x % VF_WARP;
    s = vf_warp_reduce<Op>(s);
    if (nWarps == 1)
        return s;
    if (lane == 0)
        sums[warp] = s;
    __syncthreads();
    if (warp == 0)
        s = vf_warp_reduce<Op>(lane < nWarps ? sums[lane] : Op::identity());
    return s;
}

/* What comes before each thread, and in `all`, for every thread, the States of all threads. One barrier: as above. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_block_before(const typename Op::State &s, typename Op::State *sums,
                                                     typename Op::State *all)
{
    const int warp = (int)threadIdx.x / VF_WARP, lane = (int)threadIdx.x % VF_WARP;
    const typename Op::State inclusive = vf_warp_scan<Op>(s);
    const typename Op::State in_warp = vf_warp_before<Op>(inclusive);
    if (lane == VF_WARP - 1)
        sums[warp] = inclusive;
    __syncthreads();
    /* Each warp scans the warps' sums for itself: cheaper than one more barrier. */
    const typename Op::State warps = vf_warp_scan<Op>(lane < nWarps ? sums[lane] : Op::identity());
    *all = vf_shuffle_from(warps, nWarps - 1);
    const typename Op::State before = vf_shuffle_from(warps, warp > 0 ? warp - 1 : 0);
    return warp > 0 ? Op::combine(before, in_warp) : in_warp;
}

/* ---- a warp's piece of a data block: from coalesced steps to a contiguous run of nWork elements a lane, and back ----
 *
 * Through shared memory, a warp's own, without bank conflicts: 4 bytes, or an element, are left out after every 128
 * bytes, so that lanes whose runs begin in the same bank are one bank apart. */
template <typename T, int nWork>
struct vf_runs {
    static constexpr int every = VF_LINE / (int)sizeof(T), gap = sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1,
                         elements = VF_WARP * nWork, size = elements + (elements - 1) / every * gap;

    __device__ static int place(int i)
    {
        return i + i / every * gap;
    }

    /* Puts V elements of step k into a lane's warp's memory. */
    template <int V>
    __device__ static void put_step(T *memory, int k, const vf_pack<T, V> &pack)
    {
        const int lane = (int)threadIdx.x % VF_WARP;
#pragma unroll
        for (int j = 0; j < V; j++)
            memory[place((k * VF_WARP + lane) * V + j)] = pack.of[j];
    }

    template <int V>
    __device__ static vf_pack<T, V> get_step(const T *memory, int k)
    {
        const int lane = (int)threadIdx.x % VF_WARP;
        vf_pack<T, V> pack;
#pragma unroll
        for (int j = 0; j < V; j++)
            pack.of[j] = memory[place((k * VF_WARP + lane) * V + j)];
        return pack;
    }

    __device__ static T &in_run(T *memory, int j)
    {
        const int lane = (int)threadIdx.x % VF_WARP;
        return memory[place(lane * nWork + j)];
    }
};

#endif
