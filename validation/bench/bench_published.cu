#include "bench_published.h"

#include "copy/copy.cuh"
#include "reduce/reduce_works.cuh"
#include "scan/scan_works.cuh"

namespace
{

typedef vf_fixed_tuning<1, 1, 32> Baseline; /* as many thread blocks as a multiprocessor runs at a time */
typedef vf_sum_work<vf_element<float, 1>> SumWork;
typedef vf_scan_work<float, float, vf_scan_adding<float>, 0, false> ScanWork;
vf_launch launches[BASELINES];

cudaError_t run(bench_baseline kernel, cudaStream_t stream, void *scratch, int64_t n, const float *x, void *out)
{
    const vf_range range = vf_range_from_0(n);
    const vf_launch &launch = launches[kernel];
    if (kernel == BASELINE_COPY) {
        const vf_move_ends ends = {reinterpret_cast<const vf_byte *>(x), static_cast<vf_byte *>(out), 4 * n, 0, 0, {}};
        return vf_copy_words<Baseline, uint32_t>(stream, ends);
    }
    if (kernel == BASELINE_SCAN) {
        ScanWork work = {};
        vf_scan_scratch memory = {scratch, 0, 0, 0};
        work.x = x;
        work.y = static_cast<float *>(out);
        work.aligned = true;
        return vf_scan_three_kernel<Baseline>(launch, stream, work, range, &memory);
    }
    SumWork work = {};
    work.x = reinterpret_cast<const vf_element<float, 1> *>(x);
    work.result = static_cast<vf_reduced *>(out);
    work.aligned = true;
    vf_reduce_columns<Baseline, SumWork><<<vf_count_thread_blocks(launch, range), launch.threads, 0, stream>>>(
        work, range, vf_partials_in<SumWork::State>(scratch, launch));
    return cudaGetLastError();
}

} // namespace

extern "C" double bench_peak(void)
{
    int device = 0, kilohertz = 0, bits = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device) != cudaSuccess)
        return 0;
    return 2e3 * kilohertz * bits / 8;
}

extern "C" size_t bench_baseline_scratch(bench_baseline kernel)
{
    vf_launch *launch = &launches[kernel];
    if (kernel == BASELINE_COPY)
        return 16;
    if (kernel == BASELINE_SUM)
        return vf_find_columns<Baseline, SumWork>(launch) == cudaSuccess ? vf_partials_bytes<SumWork::State>(*launch)
                                                                         : 0;
    return vf_find_three_kernel<Baseline, ScanWork>(launch) == cudaSuccess ? vf_scan_runs_bytes<ScanWork>(*launch) : 0;
}

extern "C" int bench_baseline_run(bench_baseline kernel, void *stream, void *scratch, int64_t n, const float *x,
                                  void *out)
{
    return run(kernel, static_cast<cudaStream_t>(stream), scratch, n, x, out) == cudaSuccess;
}
