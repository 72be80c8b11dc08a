/* Stages of reductions and scans inside a thread block, for any associative operator with an identity. Operands are
 * regrouped but never reordered. Not installed.
 *
 * An operator is a type with
 *   State                            what is combined: plain data, a multiple of 4 bytes
 *   static State identity()
 *   static State combine(a, b)       a comes before b
 * All functions are for the device. After Brown, PhD thesis, University of North Carolina (2015), with today's warp
 * intrinsics.
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

template <typename S, typename Function>
__device__ inline S vf_each_word(const S &s, Function function)
{
    vf_words<S> w(s);
#pragma unroll
    for (int i = 0; i < w.count; i++)
        w.of[i] = function(w.of[i]);
    return w.value();
}

/* The State of lane - by (up) or lane + by (down), or the lane's own if there is no such lane. */
template <typename S>
__device__ inline S vf_shuffle_up(const S &s, int by)
{
    return vf_each_word(s, [by](unsigned w) { return __shfl_up_sync(VF_ALL_LANES, w, by); });
}

template <typename S>
__device__ inline S vf_shuffle_down(const S &s, int by)
{
    return vf_each_word(s, [by](unsigned w) { return __shfl_down_sync(VF_ALL_LANES, w, by); });
}

template <typename S>
__device__ inline S vf_shuffle_from(const S &s, int lane)
{
    return vf_each_word(s, [lane](unsigned w) { return __shfl_sync(VF_ALL_LANES, w, lane); });
}

/* Reads a State that another multiprocessor has written and this one has not read before. Bypasses the L1 cache. */
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

/* Combines all lanes' States in order; lane 0 gets the result. In each step, lanes that are multiples of 2 by combine
 * with a lane that is complete. */
template <typename Op>
__device__ inline typename Op::State vf_warp_reduce(typename Op::State s)
{
#pragma unroll
    for (int by = 1; by < VF_WARP; by *= 2)
        s = Op::combine(s, vf_shuffle_down(s, by));
    return s;
}

/* Inclusive scan: each lane gets all States up to its own (Kogge and Stone). */
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

/* Turns an inclusive scan into an exclusive one: each lane gets what comes before it. */
template <typename Op>
__device__ inline typename Op::State vf_warp_before(const typename Op::State &inclusive)
{
    const typename Op::State before = vf_shuffle_up(inclusive, 1);
    return threadIdx.x % VF_WARP == 0 ? Op::identity() : before;
}

/* ---- a thread block: `sums` is shared memory with one State per warp ---- */

/* Combines all warps' States in order: each lane 0 has its warp's, and thread 0 gets the result. One barrier: the next
 * call needs other memory for `sums`; the call after that may reuse this one. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_block_reduce_warps(typename Op::State s, typename Op::State *sums)
{
    const int warp = (int)threadIdx.x / VF_WARP, lane = (int)threadIdx.x % VF_WARP;
    if (nWarps == 1)
        return s;
    if (lane == 0)
        sums[warp] = s;
    __syncthreads();
    if (warp == 0)
        s = vf_warp_reduce<Op>(lane < nWarps ? sums[lane] : Op::identity());
    return s;
}

/* Combines all threads' States in order; thread 0 gets the result. One barrier, as above. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_block_reduce(const typename Op::State &s, typename Op::State *sums)
{
    return vf_block_reduce_warps<nWarps, Op>(vf_warp_reduce<Op>(s), sums);
}

/* Lane w gets what comes before warp w of nWarps, from the warps' sums. *all: the total, in every lane. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_before_warps(const typename Op::State *sums, typename Op::State *all)
{
    const int lane = (int)threadIdx.x % VF_WARP;
    const typename Op::State inclusive = vf_warp_scan<Op>(lane < nWarps ? sums[lane] : Op::identity());
    *all = vf_shuffle_from(inclusive, nWarps - 1);
    return vf_warp_before<Op>(inclusive);
}

/* What comes before each warp, from its sum, which all its lanes have. *all: the total, in every thread. One barrier,
 * as above. Each warp scans the warps' sums itself, which is cheaper than one more barrier. */
template <int nWarps, typename Op>
__device__ inline typename Op::State vf_block_before(const typename Op::State &sum, typename Op::State *sums,
                                                     typename Op::State *all)
{
    const int warp = (int)threadIdx.x / VF_WARP;
    if (threadIdx.x % VF_WARP == 0)
        sums[warp] = sum;
    __syncthreads();
    return vf_shuffle_from(vf_before_warps<nWarps, Op>(sums, all), warp);
}

/* ---- a warp's piece of a data block, in registers: operators in order ----
 *
 * Work: an operator, and
 *   Element, const Element *x
 *   static constexpr int vector(int nWork)           how many elements a lane loads at once: divides nWork
 *   bool aligned                                     whether these loads are aligned to vectors
 *   static constexpr bool SEGMENTED                  if so, const uint8_t *head, a flag per element, aligned alike
 *   static State start(const Element &, bool head)   an element as a State
 *   static Element blank()                           an element whose State is the identity
 *   static constexpr bool COMMUTES                   if so, sums need fewer shuffles
 *
 * Step k of the Warp-by-Warp access gives each lane V contiguous elements, and the warp 32 V. A lane combines its own
 * elements, shuffles combine the lanes, and the sums of the steps are combined one after the other. The shuffles of
 * different steps are independent. Elements stay in the registers they were loaded into; none goes through shared
 * memory. */
template <typename Shape, typename Work>
struct vf_piece {
    typedef typename Work::Element Element;
    typedef typename Work::State State;
    static constexpr int V = Work::vector(Shape::work), steps = Shape::steps(V);
    vf_pack<Element, V> items[steps];
    vf_pack<uint8_t, V> flags[steps]; /* segmented */

    /* Loads from a whole data block. Does not wait for the elements. */
    __device__ void load_whole(const Work &work, int64_t first)
    {
        if (work.aligned)
            load_all<true>(work, first);
        else
            load_all<false>(work, first);
    }

    /* Loads from a partial data block. Missing elements become blank. */
    __device__ void load_part(const Work &work, int64_t first, const vf_range &range)
    {
        const vf_part part = vf_part_of<Shape>(range, first);
#pragma unroll
        for (int k = 0; k < steps; k++)
#pragma unroll
            for (int j = 0; j < V; j++) {
                const bool has = part.has(Shape::in_block_at(k, V) + j);
                const int64_t i = Shape::at(first, k, V) + j;
                items[k].of[j] = has ? work.x[i] : Work::blank();
                if constexpr (Work::SEGMENTED)
                    flags[k].of[j] = has ? work.head[i] : (uint8_t)0;
            }
    }

    /* Takes a whole piece from shared memory, where missing elements are blank already. */
    __device__ void take(const Element *elements, const uint8_t *heads)
    {
        const int lane = (int)threadIdx.x % VF_WARP;
#pragma unroll
        for (int k = 0; k < steps; k++)
            items[k] = vf_load<V, true>(elements + (k * VF_WARP + lane) * V);
        if constexpr (Work::SEGMENTED)
#pragma unroll
            for (int k = 0; k < steps; k++)
                flags[k] = vf_load<V, true>(heads + (k * VF_WARP + lane) * V);
    }

    __device__ bool is_head(int k, int j) const
    {
        if constexpr (Work::SEGMENTED)
            return flags[k].of[j] != 0;
        return false;
    }

    __device__ State state(int k, int j) const
    {
        return Work::start(items[k].of[j], is_head(k, j));
    }

    /* before[k]: what comes before the lane's elements of step k in the piece. Returns the piece's sum, in all
     * lanes. */
    __device__ State scan(State (&before)[steps]) const
    {
        State sum = Work::identity();
#pragma unroll
        for (int k = 0; k < steps; k++) {
            const State inclusive = vf_warp_scan<Work>(of_lane(k));
            before[k] = vf_warp_before<Work>(inclusive);
            if (k > 0)
                before[k] = Work::combine(sum, before[k]);
            const State of_step = vf_shuffle_from(inclusive, VF_WARP - 1);
            sum = k > 0 ? Work::combine(sum, of_step) : of_step;
        }
        return sum;
    }

    /* The piece's sum, in lane 0. */
    __device__ State reduce() const
    {
        if constexpr (Work::COMMUTES) {
            State s = of_lane(0);
#pragma unroll
            for (int k = 1; k < steps; k++)
                s = Work::combine(s, of_lane(k));
            return vf_warp_reduce<Work>(s);
        }
        State sum = vf_warp_reduce<Work>(of_lane(0));
#pragma unroll
        for (int k = 1; k < steps; k++)
            sum = Work::combine(sum, vf_warp_reduce<Work>(of_lane(k)));
        return sum;
    }

  private:
    template <bool ALIGNED>
    __device__ void load_all(const Work &work, int64_t first)
    {
#pragma unroll
        for (int k = 0; k < steps; k++)
            items[k] = vf_load<V, ALIGNED>(work.x + Shape::at(first, k, V));
        if constexpr (Work::SEGMENTED)
#pragma unroll
            for (int k = 0; k < steps; k++)
                flags[k] = vf_load<V, ALIGNED>(work.head + Shape::at(first, k, V));
    }

    __device__ State of_lane(int k) const
    {
        State s = state(k, 0);
#pragma unroll
        for (int j = 1; j < V; j++)
            s = Work::combine(s, state(k, j));
        return s;
    }
};

#endif
