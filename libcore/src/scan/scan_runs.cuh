/* The three-kernel scan: it reduces the runs of the Row skeleton, scans their sums, and scans the runs. Elements are
 * read twice. After Brown, PhD thesis, University of North Carolina (2015). Not installed. */
#ifndef VOXFIELD_SCAN_RUNS_CUH
#define VOXFIELD_SCAN_RUNS_CUH

#include "reduce/reduce.cuh"
#include "scan_piece.cuh"

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

/* Kernel 2, one thread block: replaces each run's sum with what comes before the run. */
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
    const State inclusive = vf_warp_scan<Work>(mine);
    const State before_warp = vf_block_before<Shape::warps, Work>(vf_shuffle_from(inclusive, VF_WARP - 1), sums, &all);
    State before = Work::combine(before_warp, vf_warp_before<Work>(inclusive));
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
    const Work &work;
    const vf_range range;
    State (*sums)[Shape::warps]; /* two, used in turn */
    int turn;
    State before; /* what comes before the data block */

    template <bool is_whole>
    __device__ void scan(int64_t first)
    {
        vf_scan_piece<Shape, Work> of;
        if (is_whole)
            of.piece.load_whole(work, first);
        else
            of.piece.load_part(work, first, range);
        State all;
        const State before_warp = vf_block_before<Shape::warps, Work>(of.scan(), sums[turn], &all);
        of.store(work, range, first, is_whole, Work::combine(before, before_warp));
        before = Work::combine(before, all);
        turn ^= 1;
    }
    __device__ void middle(int64_t first)
    {
        scan<true>(first);
    }
    __device__ void edge(int64_t first)
    {
        scan<false>(first);
    }
};

template <typename Tuning, typename Work>
__global__ void __launch_bounds__(VF_TUNED_THREADS(Tuning), vf_tuned_blocks<Tuning>::count)
    vf_scan_rows(const Work work, const vf_range range, const typename Work::State *before_runs)
{
    typedef vf_shape_of<Tuning> Shape;
    __shared__ typename Work::State sums[2][Shape::warps];
    vf_scan_row_body<Shape, Work> body = {work, range, sums, 0, before_runs[blockIdx.x]};
    vf_skeleton_row<Shape>(range, body);
}

/* ---- launching; n > 0 ---- */

/* The minimum scratch memory. */
template <typename Work>
inline size_t vf_scan_runs_bytes(const vf_launch &launch)
{
    return launch.most_blocks * sizeof(typename Work::State);
}

template <typename Tuning, typename Work>
inline cudaError_t vf_find_three_kernel(vf_launch *launch)
{
    return vf_find_launch<Tuning>(vf_scan_rows<Tuning, Work>, true, launch);
}

template <typename Tuning, typename Work>
inline cudaError_t vf_scan_three_kernel(const vf_launch &launch, cudaStream_t stream, const Work &work, vf_range range,
                                        vf_scan_scratch *scratch)
{
    typedef typename Work::State State;
    const unsigned runs = vf_count_thread_blocks(launch, range);
    State *run_sums = static_cast<State *>(scratch->memory);
    vf_scan_runs<Tuning, Work><<<runs, launch.threads, 0, stream>>>(work, range, run_sums);
    vf_scan_run_sums<Tuning, Work><<<1, launch.threads, 0, stream>>>(run_sums, (int)runs);
    vf_scan_rows<Tuning, Work><<<runs, launch.threads, 0, stream>>>(work, range, run_sums);
    return cudaGetLastError();
}

#endif
