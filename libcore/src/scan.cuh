/* Scans on a GPU, by any associative operator with an identity, not assumed commutative. Not installed.
 *
 *   vf_scan_tiles    single-pass: an element is read once and written once. Thread blocks take tiles (data blocks) in
 *                    order, publish each tile's sum, and look back for what comes before it.
 *   vf_scan_runs, vf_scan_run_sums, vf_scan_rows
 *                    three-kernel: reduce the runs of the Row skeleton, scan their sums, scan the runs; elements are
 *                    read twice. After Brown, PhD thesis, University of North Carolina (2015).
 *
 * Looking back, and why the bits are the same each time. In Merrill and Garland's decoupled look-back (NVIDIA Technical
 * Report NVR-2016-002) a tile adds up the sums of those before it until it meets one that knows its whole prefix; how
 * many it adds itself is a matter of timing, and with floating-point numbers so is the result. Here the association is
 * fixed. Tiles form groups of 32, groups supergroups of 32. What comes before tile t is
 *
 *     S + (G + A),   A: the sums of the tiles before t in its group,
 *                    G: the sums of the groups before that one in its supergroup,
 *                    S: all before the supergroup,
 *
 * where A and G are each reduced over 32 lanes by the same tree of shuffles, lanes at and after t's place being the
 * identity. Each term is a value that one thread block makes and publishes once: a tile's sum by its thread block; a
 * group's sum by its last tile, A + its own sum; a supergroup's S by the last tile of the supergroup before,
 * S + (G + group's sum). So every y is an expression that is determined by n, the shape and the tile's number; time
 * only decides how long the wait is. One warp waits for 32 tiles and 32 groups at once, and the only chain, S, has one
 * link for 1,024 tiles, about as many as a GPU has at work.
 *
 * Progress: tiles are handed out by a counter, so the tiles before one's own are with thread blocks that run already,
 * and the first of all unfinished tiles waits for nothing that is not on its way.
 *
 * Publishing: each 32-bit word of a State travels in one 64-bit word with a flag. Such words are read and written as a
 * whole, so what is read with its flag is the value; no fence and no order between words is needed.
 */
#ifndef VOXFIELD_SCAN_CUH
#define VOXFIELD_SCAN_CUH

#include "reduce.cuh"

/* Work: as for vf_reduce_rows (reduce.cuh; `finish` is not called), `aligned` being of y too, and
 *   Out, Out *y
 *   static constexpr bool EXCLUSIVE
 *   static Out value(State)                          inclusive: what is stored of all up to an element
 *   static Out value_before(State before, bool head) exclusive: of all before it */
template <typename Shape, typename Work>
struct vf_scan_stages {
    typedef typename Work::State State;
    typedef typename Work::Out Out;
    typedef vf_run_loader<Shape, Work> Loader;
    typedef vf_runs<Out, Shape::work> OutRuns;
    static constexpr size_t out_bytes = OutRuns::size * sizeof(Out),
                            piece = ((out_bytes > Loader::bytes ? out_bytes : Loader::bytes) + 15) / 16 * 16;

    /* Stores the results of a run, before which comes `before`. */
    template <bool WHOLE, bool ALIGNED>
    __device__ static void store(const Work &work, int64_t first, const vf_part &part, void *memory,
                                 const State (&run)[Shape::work], unsigned heads, State before)
    {
        constexpr int V = vf_vector_of<Out>(Shape::work);
        Out *mine = static_cast<Out *>(memory);
#pragma unroll
        for (int j = 0; j < Shape::work; j++) {
            if constexpr (Work::EXCLUSIVE)
                OutRuns::in_run(mine, j) = Work::value_before(before, heads >> j & 1);
            before = Work::combine(before, run[j]);
            if constexpr (!Work::EXCLUSIVE)
                OutRuns::in_run(mine, j) = Work::value(before);
        }
        __syncwarp();
        if constexpr (WHOLE) {
#pragma unroll
            for (int k = 0; k < Shape::steps(V); k++)
                vf_store<V, ALIGNED>(work.y + Shape::at(first, k, V), OutRuns::template get_step<V>(mine, k));
        } else {
#pragma unroll 1
            for (int k = 0; k < Shape::work; k++)
                if (part.has(Shape::in_block_at(k, 1)))
                    vf_store<1, false>(work.y + Shape::at(first, k, 1), OutRuns::template get_step<1>(mine, k));
        }
        __syncwarp();
    }

    __device__ static void store_part(const Work &work, int64_t first, const vf_range &range, void *memory,
                                      const State (&run)[Shape::work], unsigned heads, const State &before)
    {
        store<false, false>(work, first, vf_part_of<Shape>(range, first), memory, run, heads, before);
    }

    __device__ static void store_whole(const Work &work, int64_t first, void *memory, const State (&run)[Shape::work],
                                       unsigned heads, const State &before)
    {
        if (work.aligned)
            store<true, true>(work, first, {}, memory, run, heads, before);
        else
            store<true, false>(work, first, {}, memory, run, heads, before);
    }
};

/* ---- single-pass ---- */

enum { VF_GROUP = VF_WARP }; /* tiles of a group, groups of a supergroup: a lane each */

/* A published State: words of 32 bits, each with its flag. */
template <typename State>
struct vf_cell {
    unsigned long long word[vf_words<State>::count];
};

template <typename State>
__device__ inline void vf_publish(vf_cell<State> *cell, const State &s)
{
    const vf_words<State> w(s);
#pragma unroll
    for (int i = 0; i < w.count; i++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(cell->word + i),
                     "l"((unsigned long long)1 << 32 | w.of[i])
                     : "memory");
}

template <typename State>
__device__ inline bool vf_is_published(const vf_cell<State> *cell, State *s)
{
    vf_words<State> w;
    bool all = true;
#pragma unroll
    for (int i = 0; i < w.count; i++) {
        unsigned long long word;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(cell->word + i) : "memory");
        w.of[i] = (unsigned)word;
        all = all && word >> 32 != 0;
    }
    if (all)
        *s = w.value();
    return all;
}

/* Scratch memory of one scan: all 0 before the launch. */
template <typename State>
struct vf_look_back {
    unsigned *next_tile;
    vf_cell<State> *tiles, *groups, *supergroups; /* sums; sums; all before the supergroup, of which [0] is not used */

    static size_t bytes(int64_t tiles)
    {
        const int64_t groups = tiles / VF_GROUP + 1, supergroups = groups / VF_GROUP + 2;
        return 16 + (size_t)(tiles + groups + supergroups) * sizeof(vf_cell<State>);
    }
    /* In memory that is aligned to 16 bytes. */
    static vf_look_back in(void *scratch, int64_t tiles)
    {
        vf_cell<State> *cells = reinterpret_cast<vf_cell<State> *>(static_cast<unsigned char *>(scratch) + 16);
        return {static_cast<unsigned *>(scratch), cells, cells + tiles, cells + tiles + tiles / VF_GROUP + 1};
    }
};

/* What all lanes' cells have, when they have it. A lane that is not `mine` has the identity. */
template <typename Op>
__device__ inline typename Op::State vf_await(const vf_cell<typename Op::State> *cell, bool mine)
{
    typename Op::State s = Op::identity();
    bool ready = !mine || vf_is_published(cell, &s);
    while (!__all_sync(VF_ALL_LANES, ready)) {
        __nanosleep(20);
        if (!ready)
            ready = vf_is_published(cell, &s);
    }
    return s;
}

/* What comes before a tile, in lane 0 of the one warp that calls; `sum`: the tile's own, which this publishes. */
template <typename Op>
__device__ inline typename Op::State vf_before_tile(const vf_look_back<typename Op::State> &cells, unsigned tile,
                                                    const typename Op::State &sum)
{
    typedef typename Op::State State;
    const unsigned lane = threadIdx.x % VF_WARP, group = tile / VF_GROUP, supergroup = group / VF_GROUP,
                   in_group = tile % VF_GROUP, in_supergroup = group % VF_GROUP;
    if (lane == 0)
        vf_publish(cells.tiles + tile, sum);
    const State tiles = vf_warp_reduce<Op>(vf_await<Op>(cells.tiles + group * VF_GROUP + lane, lane < in_group));
    const State group_sum = Op::combine(tiles, sum);
    if (lane == 0 && in_group == VF_GROUP - 1)
        vf_publish(cells.groups + group, group_sum);
    const State groups =
        vf_warp_reduce<Op>(vf_await<Op>(cells.groups + supergroup * VF_GROUP + lane, lane < in_supergroup));
    const State supergroups = vf_await<Op>(cells.supergroups + supergroup, lane == 0 && supergroup > 0);
    if (lane == 0 && in_group == VF_GROUP - 1 && in_supergroup == VF_GROUP - 1)
        vf_publish(cells.supergroups + supergroup + 1, Op::combine(supergroups, Op::combine(groups, group_sum)));
    return Op::combine(supergroups, Op::combine(groups, tiles));
}

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_scan_tiles(const Work work, const vf_range range, const vf_look_back<typename Work::State> cells)
{
    typedef vf_shape_of<Tuning> Shape;
    typedef typename Work::State State;
    typedef vf_scan_stages<Shape, Work> Stages;
    __shared__ __align__(16) unsigned char all_memory[Shape::warps * Stages::piece];
    __shared__ State sums[Shape::warps], before_tile;
    __shared__ unsigned shared_next;
    void *memory = all_memory + threadIdx.x / VF_WARP * Stages::piece;
    const int64_t tiles = vf_data_blocks<Shape>(range), from = vf_whole_from<Shape>(range),
                  to = vf_whole_to<Shape>(range);
    if (threadIdx.x == 0)
        shared_next = atomicAdd(cells.next_tile, 1);
    __syncthreads();
    unsigned tile = shared_next, next = 0;
    while (tile < tiles) {
        /* On its way while the tile is loaded. */
        if (threadIdx.x == 0)
            next = atomicAdd(cells.next_tile, 1);
        const int64_t first = vf_first_of<Shape>(range, tile);
        const bool is_whole = tile >= from && tile < to;
        State run[Shape::work], sum;
        unsigned heads;
        if (is_whole)
            Stages::Loader::whole(work, first, memory, run, &heads);
        else
            Stages::Loader::part(work, first, range, memory, run, &heads);
        const State in_tile = vf_block_before<Shape::warps, Work>(vf_serial_reduce<Work>(run), sums, &sum);
        if (threadIdx.x < VF_WARP) {
            const State before = vf_before_tile<Work>(cells, tile, sum);
            if (threadIdx.x == 0) {
                before_tile = before;
                shared_next = next;
            }
        }
        __syncthreads();
        const State before = Work::combine(before_tile, in_tile);
        tile = shared_next;
        if (is_whole)
            Stages::store_whole(work, first, memory, run, heads, before);
        else
            Stages::store_part(work, first, range, memory, run, heads, before);
    }
}

/* ---- three-kernel ---- */

/* Kernel 1: the sum of each thread block's run. */
template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_scan_runs(const Work work, const vf_range range, typename Work::State *run_sums)
{
    typedef vf_shape_of<Tuning> Shape;
    __shared__ typename Work::State sums[2][Shape::warps];
    typename Work::State *free_sums;
    const typename Work::State sum = vf_reduce_run<Shape>(work, range, sums, &free_sums);
    if (threadIdx.x == 0)
        run_sums[blockIdx.x] = sum;
}

/* Kernel 2: what comes before each run, in place, by one thread block. */
template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning)) vf_scan_run_sums(typename Work::State *run_sums, int runs)
{
    typedef vf_shape_of<Tuning> Shape;
    typedef typename Work::State State;
    __shared__ State sums[Shape::warps];
    const int from = (int)vf_run_begin(runs, threadIdx.x, Shape::threads),
              to = (int)vf_run_begin(runs, (int64_t)threadIdx.x + 1, Shape::threads);
    State mine = Work::identity(), all;
    for (int i = from; i < to; i++)
        mine = Work::combine(mine, run_sums[i]);
    State before = vf_block_before<Shape::warps, Work>(mine, sums, &all);
    for (int i = from; i < to; i++) {
        const State sum = run_sums[i];
        run_sums[i] = before;
        before = Work::combine(before, sum);
    }
}

/* Kernel 3: scans each run. */
template <typename Shape, typename Work>
struct vf_scan_row_body {
    typedef typename Work::State State;
    typedef vf_scan_stages<Shape, Work> Stages;
    const Work &work;
    const vf_range range;
    void *memory;                /* the warp's */
    State (*sums)[Shape::warps]; /* two, used in turn */
    int turn;
    State before; /* the data block */

    /* What comes before the thread's run; afterwards `before` is that of the next data block. */
    __device__ State advance(const State (&run)[Shape::work])
    {
        State all;
        const State in_block = vf_block_before<Shape::warps, Work>(vf_serial_reduce<Work>(run), sums[turn], &all);
        const State mine = Work::combine(before, in_block);
        before = Work::combine(before, all);
        turn ^= 1;
        return mine;
    }

    __device__ void middle(int64_t first)
    {
        State run[Shape::work];
        unsigned heads;
        Stages::Loader::whole(work, first, memory, run, &heads);
        Stages::store_whole(work, first, memory, run, heads, advance(run));
    }

    __device__ void edge(int64_t first)
    {
        State run[Shape::work];
        unsigned heads;
        Stages::Loader::part(work, first, range, memory, run, &heads);
        Stages::store_part(work, first, range, memory, run, heads, advance(run));
    }
};

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_scan_rows(const Work work, const vf_range range, const typename Work::State *before_runs)
{
    typedef vf_shape_of<Tuning> Shape;
    typedef vf_scan_row_body<Shape, Work> Body;
    __shared__ __align__(16) unsigned char memory[Shape::warps * Body::Stages::piece];
    __shared__ typename Work::State sums[2][Shape::warps];
    Body body = {work, range, memory + threadIdx.x / VF_WARP * Body::Stages::piece, sums, 0, before_runs[blockIdx.x]};
    vf_skeleton_row<Shape>(range, body);
}

/* ---- launching; n > 0 ---- */

/* The least scratch memory, aligned to 16 bytes, for a range of up to `tiles` data blocks. */
template <typename State>
inline size_t vf_scan_scratch_bytes(const vf_launch &launch, int64_t tiles)
{
    const size_t runs = launch.most_blocks * sizeof(State), cells = vf_look_back<State>::bytes(tiles);
    return runs > cells ? runs : cells;
}

inline int64_t vf_scan_count_tiles(const vf_launch &launch, vf_range r)
{
    return (r.n + r.lead - 1) / launch.in_block + 1;
}

template <typename Tuning, typename Work>
inline cudaError_t vf_scan_single_pass(const vf_launch &launch, cudaStream_t stream, const Work &work, vf_range range,
                                       void *scratch)
{
    typedef vf_look_back<typename Work::State> Cells;
    const int64_t tiles = vf_scan_count_tiles(launch, range);
    const cudaError_t error = cudaMemsetAsync(scratch, 0, Cells::bytes(tiles), stream);
    if (error != cudaSuccess)
        return error;
    vf_scan_tiles<Tuning, Work>
        <<<vf_reduce_blocks(launch, range), launch.threads, 0, stream>>>(work, range, Cells::in(scratch, tiles));
    return cudaGetLastError();
}

template <typename Tuning, typename Work>
inline cudaError_t vf_scan_three_kernel(const vf_launch &launch, cudaStream_t stream, const Work &work, vf_range range,
                                        void *scratch)
{
    typedef typename Work::State State;
    const unsigned runs = vf_reduce_blocks(launch, range);
    State *run_sums = static_cast<State *>(scratch);
    vf_scan_runs<Tuning, Work><<<runs, launch.threads, 0, stream>>>(work, range, run_sums);
    vf_scan_run_sums<Tuning, Work><<<1, launch.threads, 0, stream>>>(run_sums, (int)runs);
    vf_scan_rows<Tuning, Work><<<runs, launch.threads, 0, stream>>>(work, range, run_sums);
    return cudaGetLastError();
}

#endif
