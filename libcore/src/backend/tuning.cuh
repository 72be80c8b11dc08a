/* Launch shapes of templates that are limited by memory bandwidth. A table, kept apart from the algorithm, gives the
 * (nWarps, nWork) that a kernel is compiled with for each compute capability. Not installed.
 *
 * A kernel is compiled once for each architecture, with that architecture's shape from the table. So all architectures
 * together have no more code than with a single shape. The host finds out which of them the driver runs.
 *
 * A tuning is a type with `static constexpr vf_tuning at(int arch)`: arch 90 is compute capability 9.0. In a kernel its
 * shape is vf_shape_of<Tuning>, and its __launch_bounds__ are VF_TUNED_THREADS(Tuning).
 */
#ifndef VOXFIELD_TUNING_CUH
#define VOXFIELD_TUNING_CUH

#include "access.cuh"

#ifdef __CUDA_ARCH__
#define VF_ARCH (__CUDA_ARCH__ / 10)
#else
#define VF_ARCH 0
#endif

/* A row of a table: for elements of up to `bytes`, on `arch` and later architectures without rows of their own. */
struct vf_tuning {
    int arch, bytes;
    int warps, work; /* nWarps, nWork */
    int blocks;      /* thread blocks per multiprocessor; for scans at most: all must run at a time */
};

/* The row for `arch`: among the rows with the latest arch that is not later than `arch`, the one with the fewest bytes
 * that are enough. Rows are sorted by arch, then bytes. The first rows are for arch 0; the last row of each arch also
 * serves all larger sizes. */
template <int rows>
constexpr vf_tuning vf_find_tuning(const vf_tuning (&table)[rows], int arch, int bytes)
{
    int chosen = 0;
    for (int i = 1; i < rows; i++)
        if (table[i].arch <= arch && (table[i].arch > table[chosen].arch || table[chosen].bytes < bytes))
            chosen = i;
    return table[chosen];
}

/* A fixed shape, for tests and searches. */
template <int nWarps, int nWork, int nBlocks = 4>
struct vf_fixed_tuning {
    static constexpr vf_tuning at(int)
    {
        return {0, 0, nWarps, nWork, nBlocks};
    }
};

/* The tuning for the architecture that is being compiled. */
template <typename Tuning>
struct vf_tuned {
    static constexpr vf_tuning here = Tuning::at(VF_ARCH);
    typedef vf_shape<here.warps, here.work> Shape;
};
template <typename Tuning>
using vf_shape_of = typename vf_tuned<Tuning>::Shape;
#define VF_TUNED_THREADS(...) (vf_tuned<__VA_ARGS__>::Shape::threads)

/* The second argument of a kernel's __launch_bounds__: the compiler leaves registers for the table's number of thread
 * blocks, or for as many as a multiprocessor has threads and places for. `more_warps`: warps in addition to the shape's. */
constexpr int vf_blocks_within(vf_tuning t, int more_warps, int arch)
{
    const int threads = arch == 75                                              ? 1024
                        : arch == 86 || arch == 87 || arch == 89 || arch >= 110 ? 1536
                                                                                : 2048,
              places = arch == 75 || arch == 86 || arch == 87 ? 16
                       : arch == 89 || arch >= 110            ? 24
                                                              : 32,
              by_threads = threads / (32 * (t.warps + more_warps)), most = by_threads < places ? by_threads : places;
    return most < 1 ? 1 : t.blocks < most ? t.blocks : most;
}
template <typename Tuning>
struct vf_tuned_blocks {
    static constexpr int count = vf_blocks_within(Tuning::at(VF_ARCH), 0, VF_ARCH);
};

/* A kernel's launch on the current device, with the table's number of thread blocks per multiprocessor. If all of them
 * must run at a time (`all_at_a_time`), there are no more than the multiprocessor can hold. */
struct vf_launch {
    int threads, work, in_block; /* per thread block; elements per thread of the shape, and per data block */
    unsigned most_blocks;
    size_t shared_bytes = 0;   /* dynamic, per thread block */
    unsigned first_claims = 0; /* per thread block of a single-pass scan (scan_tiles.cuh) */
};

template <typename Tuning, typename Kernel>
cudaError_t vf_find_launch(Kernel kernel, bool all_at_a_time, vf_launch *launch, int more_warps = 0)
{
    int device = 0, multiprocessors = 0, resident = 0;
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess)
        return error;
    const vf_tuning t = Tuning::at(attributes.ptxVersion);
    launch->threads = 32 * (t.warps + more_warps);
    launch->work = t.work;
    launch->in_block = 32 * t.warps * t.work;
    error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, launch->threads, launch->shared_bytes);
    const int blocks = all_at_a_time && resident < t.blocks ? resident : t.blocks;
    launch->most_blocks = (unsigned)(multiprocessors * (blocks > 1 ? blocks : 1));
    return error;
}

/* The number of data blocks of a range, at least 1. */
inline int64_t vf_count_data_blocks(const vf_launch &launch, vf_range r)
{
    return r.n > 0 ? (r.n + r.lead - 1) / launch.in_block + 1 : 1;
}

/* The number of thread blocks for a range. */
inline unsigned vf_count_thread_blocks(const vf_launch &launch, vf_range r)
{
    const int64_t blocks = vf_count_data_blocks(launch, r);
    return blocks < launch.most_blocks ? (unsigned)blocks : launch.most_blocks;
}

#endif
