/* Reductions on a GPU, by any associative operator with an identity, in one launch. Each thread block reduces its data
 * blocks to a partial result; the last block to finish reduces the partial results, in the order of the blocks. Which
 * block is last differs from run to run, but what it computes does not, so neither does the result. Not installed.
 *
 *   vf_reduce_rows      in order: operators need not commute. The published stages: coalesced load, a serial reduction
 *                       in registers, the warp's by shuffles, the warps' sums.
 *   vf_reduce_columns   the fast path for operators that commute: a thread combines elements as it loads them.
 *
 * The grouping of elements depends on the range, the shape and the number of thread blocks. These depend on n, on the
 * GPU and, unless the range is vf_range_from_0, on where the array begins.
 *
 * After Brown, PhD thesis, University of North Carolina (2015): two kernels and the skeletons (access.cuh). The part of
 * the last block follows threadFenceReduction of the CUDA samples.
 */
#ifndef VOXFIELD_REDUCE_CUH
#define VOXFIELD_REDUCE_CUH

#include "backend/block_stages.cuh"
#include "backend/tuning.cuh"

/* Scratch memory for one reduction at a time. */
template <typename State>
struct vf_partials {
    State *of;        /* one per thread block */
    unsigned *ticket; /* 0 between launches */
};

/* Reduces the thread blocks' partial results; thread 0 of each has `mine`. One thread calls work.finish(State) with the
 * result. `sums`: shared memory for vf_block_reduce that is free after the next barrier. */
template <typename Shape, typename Work>
__device__ inline void vf_reduce_partials(const Work &work, const typename Work::State &mine,
                                          const vf_partials<typename Work::State> &partials, typename Work::State *sums)
{
    typedef typename Work::State State;
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partials.of[blockIdx.x] = mine;
        __threadfence();                                                      /* the partial result before the ticket */
        is_last = atomicInc(partials.ticket, gridDim.x - 1) == gridDim.x - 1; /* the last sets it to 0 */
    }
    __syncthreads();
    if (!is_last)
        return;
    __threadfence(); /* the ticket before the partial results */
    const int from = (int)vf_run_begin(gridDim.x, threadIdx.x, Shape::threads),
              to = (int)vf_run_begin(gridDim.x, (int64_t)threadIdx.x + 1, Shape::threads);
    State s = Work::identity();
    for (int i = from; i < to; i++)
        s = Work::combine(s, vf_read_global(partials.of + i));
    s = vf_block_reduce<Shape::warps, Work>(s, sums);
    if (threadIdx.x == 0)
        work.finish(s);
}

/* ---- operators that commute ----
 *
 * Work: an operator (block_stages.cuh), and
 *   static constexpr int bytes                  read per element, for the table of tunings
 *   static constexpr int vector(int nWork)      how many elements it fetches at once: divides nWork
 *   bool aligned                                whether these fetches are aligned to vectors
 *   Items<V>                                    V elements' data in registers
 *   Items<V> fetch<V, ALIGNED>(int64_t i)       elements [i, i + V)
 *   void take<V>(State &, const Items<V> &, i)  combines them into the State, one after the other
 *   void finish(State)                          stores the result
 * `take` may also store: it is called once for each element. A State gets its elements in ascending order. */
template <typename Shape, typename Work>
struct vf_column_body {
    static constexpr int V = Work::vector(Shape::work);
    const Work &work;
    const vf_range range;
    typename Work::State state;

    template <bool ALIGNED>
    __device__ void whole(int64_t first)
    {
        typename Work::template Items<V> items[Shape::steps(V)];
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            items[k] = work.template fetch<V, ALIGNED>(Shape::at(first, k, V));
#pragma unroll
        for (int k = 0; k < Shape::steps(V); k++)
            work.template take<V>(state, items[k], Shape::at(first, k, V));
    }

    __device__ void middle(int64_t first)
    {
        if (work.aligned)
            whole<true>(first);
        else
            whole<false>(first);
    }

    /* A thread takes the elements that it would take in a whole data block, so an element's place in the order of
     * additions depends only on its number. */
    __device__ void edge(int64_t first)
    {
        const vf_part part = vf_part_of<Shape>(range, first);
        for (int k = 0; k < Shape::steps(V); k++)
            for (int j = 0; j < V; j++) {
                const int64_t i = Shape::at(first, k, V) + j;
                if (part.has(Shape::in_block_at(k, V) + j))
                    work.template take<1>(state, work.template fetch<1, false>(i), i);
            }
    }
};

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_reduce_columns(const Work work, const vf_range range, const vf_partials<typename Work::State> partials)
{
    typedef vf_shape_of<Tuning> Shape;
    __shared__ typename Work::State sums[Shape::warps];
    vf_column_body<Shape, Work> body = {work, range, Work::identity()};
    vf_skeleton_column<Shape>(range, body);
    vf_reduce_partials<Shape>(work, vf_block_reduce<Shape::warps, Work>(body.state, sums), partials, sums);
}

/* ---- operators in order: Work as for vf_piece (block_stages.cuh), and void finish(State) ---- */

template <typename Shape, typename Work>
struct vf_row_body {
    typedef typename Work::State State;
    const Work &work;
    const vf_range range;
    State (*sums)[Shape::warps]; /* two, used in turn */
    int turn;
    State total; /* in thread 0 */

    __device__ void add(const vf_piece<Shape, Work> &piece)
    {
        const State s = vf_block_reduce_warps<Shape::warps, Work>(piece.reduce(), sums[turn]);
        if (threadIdx.x == 0)
            total = Work::combine(total, s);
        turn ^= 1;
    }

    __device__ void middle(int64_t first)
    {
        vf_piece<Shape, Work> piece;
        piece.load_whole(work, first);
        add(piece);
    }

    __device__ void edge(int64_t first)
    {
        vf_piece<Shape, Work> piece;
        piece.load_part(work, first, range);
        add(piece);
    }
};

/* The reduction of a thread block's run, in thread 0. `sums`: shared memory. *free_sums can be used after the next
 * barrier. */
template <typename Shape, typename Work>
__device__ inline typename Work::State vf_reduce_run(const Work &work, const vf_range &range,
                                                     typename Work::State (*sums)[Shape::warps],
                                                     typename Work::State **free_sums)
{
    typedef vf_row_body<Shape, Work> Body;
    Body body = {work, range, sums, 0, Work::identity()};
    vf_skeleton_row<Shape>(range, body);
    *free_sums = sums[body.turn];
    return body.total;
}

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning))
    vf_reduce_rows(const Work work, const vf_range range, const vf_partials<typename Work::State> partials)
{
    typedef vf_shape_of<Tuning> Shape;
    __shared__ typename Work::State sums[2][Shape::warps];
    typename Work::State *free_sums;
    const typename Work::State mine = vf_reduce_run<Shape>(work, range, sums, &free_sums);
    vf_reduce_partials<Shape>(work, mine, partials, free_sums);
}

/* ---- launching ---- */

/* More thread blocks than run at a time, so that multiprocessors that finish early take from what is left. */
template <typename Tuning, typename Work>
inline cudaError_t vf_find_columns(vf_launch *launch)
{
    return vf_find_launch<Tuning>(vf_reduce_columns<Tuning, Work>, false, launch);
}

template <typename Tuning, typename Work>
inline cudaError_t vf_find_rows(vf_launch *launch)
{
    return vf_find_launch<Tuning>(vf_reduce_rows<Tuning, Work>, false, launch);
}

/* Room for a launch's partial results, followed by its ticket. The memory must be aligned to 16 bytes and all 0 before
 * the first launch. */
template <typename State>
inline size_t vf_partials_bytes(const vf_launch &launch)
{
    return launch.most_blocks * sizeof(State) + sizeof(unsigned);
}

template <typename State>
inline vf_partials<State> vf_partials_in(void *scratch, const vf_launch &launch)
{
    State *of = static_cast<State *>(scratch);
    return {of, reinterpret_cast<unsigned *>(of + launch.most_blocks)};
}

#endif
