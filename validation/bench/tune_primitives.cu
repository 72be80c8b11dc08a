#include "tune_primitives.h"

#include <stdlib.h>

#include "copy/copy.cuh"
#include "copy/copy_tuning.cuh"
#include "reduce/reduce_tuning.cuh"
#include "reduce/reduce_works.cuh"
#include "scan/scan_runs.cuh"
#include "scan/scan_tiles.cuh"
#include "scan/scan_tuning.cuh"

namespace
{

struct launcher {
    tuned_shape shape;
    cudaError_t (*find)(vf_launch *launch);
    size_t (*scratch)(const vf_launch &launch, int64_t n);
    cudaError_t (*run)(const vf_launch &launch, cudaStream_t stream, vf_scan_scratch *scratch, int64_t bytes,
                       const void *x, const void *y, void *out);
};

/* ---- copies ---- */

cudaError_t no_launch(vf_launch *launch)
{
    *launch = {};
    return cudaSuccess;
}

size_t no_scratch(const vf_launch &, int64_t)
{
    return 16;
}

template <typename Tuning, typename Word>
cudaError_t run_copy(const vf_launch &, cudaStream_t stream, vf_scan_scratch *, int64_t bytes, const void *x,
                     const void *, void *out)
{
    const vf_move_ends ends = {static_cast<const vf_byte *>(x), static_cast<vf_byte *>(out), bytes, 0, 0, {}};
    return vf_copy_words<Tuning, Word>(stream, ends);
}

template <typename Word>
struct copies {
    template <int warps, int work, int blocks>
    static constexpr launcher at()
    {
        return {{warps, work, 0}, no_launch, no_scratch, run_copy<vf_fixed_tuning<warps, work, 0>, Word>};
    }
};

/* ---- reductions ---- */

template <typename Tuning, typename Work>
cudaError_t find_columns(vf_launch *launch)
{
    return vf_find_columns<Tuning, Work>(launch);
}

template <typename Work>
size_t columns_scratch(const vf_launch &launch, int64_t)
{
    return vf_partials_bytes<typename Work::State>(launch);
}

template <typename Tuning, typename Work>
cudaError_t run_columns(const vf_launch &launch, cudaStream_t stream, vf_scan_scratch *scratch, int64_t bytes,
                        const void *x, const void *y, void *out)
{
    typedef typename Work::Element Element;
    const int64_t n = bytes / (int64_t)sizeof(Element);
    const vf_range range = vf_range_from_0(n);
    Work work;
    work.x = static_cast<const Element *>(x);
    work.y = static_cast<const Element *>(y);
    work.result = static_cast<vf_reduced *>(out);
    work.aligned = true;
    vf_reduce_columns<Tuning, Work><<<vf_count_thread_blocks(launch, range), launch.threads, 0, stream>>>(
        work, range, vf_partials_in<typename Work::State>(scratch->memory, launch));
    return cudaGetLastError();
}

template <typename Work>
struct columns {
    template <int warps, int work, int blocks>
    static constexpr launcher at()
    {
        typedef vf_fixed_tuning<warps, work, blocks> Tuning;
        return {{warps, work, blocks}, find_columns<Tuning, Work>, columns_scratch<Work>, run_columns<Tuning, Work>};
    }
};

/* ---- scans ---- */

/* The inclusive sum (scan_cuda.cu). */
template <typename T>
struct scan_work {
    typedef T State, Element, Out;
    static constexpr bool EXCLUSIVE = false, SEGMENTED = false, COMMUTES = true;
    const T *x;
    const uint8_t *head;
    T *y;
    bool aligned;

    static constexpr int vector(int nWork)
    {
        return vf_vector_of<T>(nWork);
    }
    __device__ static T identity()
    {
        return 0;
    }
    __device__ static T blank()
    {
        return 0;
    }
    __device__ static T combine(T a, T b)
    {
        return a + b;
    }
    __device__ static T start(T value, bool)
    {
        return value;
    }
    __device__ static T value(T s)
    {
        return s;
    }
    __device__ static T value_before(T before, bool)
    {
        return before;
    }
};

template <typename Tuning, typename T, bool three>
cudaError_t find_scan(vf_launch *launch)
{
    if constexpr (three)
        return vf_find_three_kernel<Tuning, scan_work<T>>(launch);
    else
        return vf_find_single_pass<Tuning, scan_work<T>>(launch);
}

template <typename T, bool three>
size_t scan_scratch(const vf_launch &launch, int64_t n)
{
    return three ? vf_scan_runs_bytes<scan_work<T>>(launch)
                 : vf_scan_tiles_bytes<scan_work<T>>(launch, vf_range_from_0(n));
}

template <typename Tuning, typename T, bool three>
cudaError_t run_scan(const vf_launch &launch, cudaStream_t stream, vf_scan_scratch *scratch, int64_t bytes,
                     const void *x, const void *, void *out)
{
    const vf_range range = vf_range_from_0(bytes / (int64_t)sizeof(T));
    const scan_work<T> work = {static_cast<const T *>(x), NULL, static_cast<T *>(out), true};
    if constexpr (three)
        return vf_scan_three_kernel<Tuning>(launch, stream, work, range, scratch);
    else
        return vf_scan_single_pass<Tuning>(launch, stream, work, range, scratch);
}

template <typename T, bool three>
struct scans {
    template <int warps, int work, int blocks>
    static constexpr launcher at()
    {
        typedef vf_fixed_tuning<warps, work, blocks> Tuning;
        return {{warps, work, blocks}, find_scan<Tuning, T, three>, scan_scratch<T, three>, run_scan<Tuning, T, three>};
    }
};

/* ---- the shapes that are compiled ---- */

enum { COPY_SHAPES = 12, COLUMN_SHAPES = 24, TILE_SHAPES = 15, RUN_SHAPES = 9 };
typedef vf_element<float, 1> f32;
typedef vf_element<double, 1> f64;
typedef vf_element<double, 2> c128;

template <typename Of>
constexpr void copy_shapes(launcher *out)
{
    const launcher all[COPY_SHAPES] = {
        Of::template at<4, 1, 0>(),  Of::template at<4, 2, 0>(),  Of::template at<4, 4, 0>(),
        Of::template at<4, 8, 0>(),  Of::template at<8, 1, 0>(),  Of::template at<8, 2, 0>(),
        Of::template at<8, 4, 0>(),  Of::template at<8, 8, 0>(),  Of::template at<16, 1, 0>(),
        Of::template at<16, 2, 0>(), Of::template at<16, 4, 0>(), Of::template at<16, 8, 0>()};
    for (int i = 0; i < COPY_SHAPES; i++)
        out[i] = all[i];
}

/* `u`: elements of 16 bytes, of all arrays together. */
template <typename Of, int u, int warps>
constexpr void column_shapes_of(launcher *out)
{
    const launcher all[COLUMN_SHAPES / 3] = {
        Of::template at<warps, u, 64 / warps>(),      Of::template at<warps, 2 * u, 64 / warps>(),
        Of::template at<warps, 2 * u, 128 / warps>(), Of::template at<warps, 4 * u, 32 / warps>(),
        Of::template at<warps, 4 * u, 48 / warps>(),  Of::template at<warps, 4 * u, 64 / warps>(),
        Of::template at<warps, 4 * u, 128 / warps>(), Of::template at<warps, 8 * u, 32 / warps>()};
    for (int i = 0; i < COLUMN_SHAPES / 3; i++)
        out[i] = all[i];
}

template <typename Of, int u>
constexpr void column_shapes(launcher *out)
{
    column_shapes_of<Of, u, 4>(out);
    column_shapes_of<Of, u, 8>(out + COLUMN_SHAPES / 3);
    column_shapes_of<Of, u, 16>(out + 2 * COLUMN_SHAPES / 3);
}

/* `u`: elements of 16 bytes. The thread blocks bound the registers, and of single passes the shared memory. */
template <typename Of, int u>
constexpr void tile_shapes(launcher *out)
{
    const launcher all[TILE_SHAPES] = {
        Of::template at<4, 8 * u, 2>(),  Of::template at<8, 3 * u, 2>(),  Of::template at<8, 4 * u, 1>(),
        Of::template at<8, 4 * u, 2>(),  Of::template at<8, 6 * u, 1>(),  Of::template at<8, 6 * u, 2>(),
        Of::template at<8, 8 * u, 1>(),  Of::template at<12, 4 * u, 2>(), Of::template at<12, 8 * u, 1>(),
        Of::template at<16, 4 * u, 1>(), Of::template at<16, 6 * u, 1>(), Of::template at<16, 8 * u, 1>(),
        Of::template at<24, 2 * u, 1>(), Of::template at<24, 4 * u, 1>(), Of::template at<24, 6 * u, 1>()};
    for (int i = 0; i < TILE_SHAPES; i++)
        out[i] = all[i];
}

template <typename Of, int u>
constexpr void run_shapes(launcher *out)
{
    const launcher all[RUN_SHAPES] = {
        Of::template at<4, 2 * u, 8>(), Of::template at<4, 4 * u, 6>(), Of::template at<4, 6 * u, 5>(),
        Of::template at<8, 2 * u, 4>(), Of::template at<8, 3 * u, 3>(), Of::template at<8, 4 * u, 3>(),
        Of::template at<8, 4 * u, 4>(), Of::template at<8, 6 * u, 2>(), Of::template at<16, 8 * u, 1>()};
    for (int i = 0; i < RUN_SHAPES; i++)
        out[i] = all[i];
}

struct launchers {
    int count[TUNED_KERNELS];
    launcher of[TUNED_KERNELS][COLUMN_SHAPES];
};

launchers make_launchers()
{
    launchers l = {{COPY_SHAPES, COPY_SHAPES, COLUMN_SHAPES, COLUMN_SHAPES, COLUMN_SHAPES, COLUMN_SHAPES, COLUMN_SHAPES,
                    TILE_SHAPES, TILE_SHAPES, RUN_SHAPES, RUN_SHAPES},
                   {}};
    copy_shapes<copies<uint32_t>>(l.of[TUNE_COPY_4]);
    copy_shapes<copies<uint4>>(l.of[TUNE_COPY_16]);
    column_shapes<columns<vf_integer_work<uint8_t>>, 16>(l.of[TUNE_SUM_1]);
    column_shapes<columns<vf_sum_work<f32>>, 4>(l.of[TUNE_SUM_4]);
    column_shapes<columns<vf_dot_work<f32>>, 2>(l.of[TUNE_DOT_8]);
    column_shapes<columns<vf_dot_work<f64>>, 1>(l.of[TUNE_DOT_16]);
    column_shapes<columns<vf_dot_work<c128>>, 1>(l.of[TUNE_DOT_32]);
    tile_shapes<scans<float, false>, 4>(l.of[TUNE_SCAN_4]);
    tile_shapes<scans<double, false>, 2>(l.of[TUNE_SCAN_8]);
    run_shapes<scans<float, true>, 4>(l.of[TUNE_THREE_4]);
    run_shapes<scans<double, true>, 2>(l.of[TUNE_THREE_8]);
    return l;
}

const launchers compiled = make_launchers();
/* By tune_scratch, so that launches need not look. */
vf_launch found[TUNED_KERNELS][COLUMN_SHAPES];
vf_scan_scratch scratches[TUNED_KERNELS][COLUMN_SHAPES];

vf_tuning in_table(tuned_kernel kernel, int arch)
{
    static const int bytes[TUNED_KERNELS] = {4, 16, 1, 4, 8, 16, 32, 4, 8, 4, 8};
    return kernel <= TUNE_COPY_16  ? vf_find_tuning(vf_copy_tunings, arch, bytes[kernel])
           : kernel <= TUNE_DOT_32 ? vf_find_tuning(vf_reduce_tunings, arch, bytes[kernel])
           : kernel <= TUNE_SCAN_8 ? vf_find_tuning(vf_scan_tile_tunings, arch, bytes[kernel])
                                   : vf_find_tuning(vf_scan_run_tunings, arch, bytes[kernel]);
}

} // namespace

extern "C" int tune_shapes(tuned_kernel kernel)
{
    return compiled.count[kernel];
}

extern "C" tuned_shape tune_shape(tuned_kernel kernel, int shape)
{
    return compiled.of[kernel][shape].shape;
}

extern "C" tuned_shape tune_table(tuned_kernel kernel, int *arch)
{
    int device = 0, major = 0, minor = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    *arch = 10 * major + minor;
    const vf_tuning t = in_table(kernel, *arch);
    return {t.warps, t.work, t.blocks};
}

extern "C" size_t tune_scratch(tuned_kernel kernel, int shape, int64_t n)
{
    const launcher &l = compiled.of[kernel][shape];
    vf_launch *launch = &found[kernel][shape];
    if (l.find(launch) != cudaSuccess) {
        (void)cudaGetLastError();
        return SIZE_MAX;
    }
    const size_t bytes = l.scratch(*launch, n);
    scratches[kernel][shape] = {NULL, bytes, 0, 0};
    return bytes;
}

extern "C" int tune_launch(tuned_kernel kernel, int shape, void *stream, void *scratch, int64_t bytes, const void *x,
                           const void *y, void *out)
{
    vf_scan_scratch *mine = &scratches[kernel][shape];
    mine->memory = scratch;
    return compiled.of[kernel][shape].run(found[kernel][shape], static_cast<cudaStream_t>(stream), mine, bytes, x, y,
                                          out);
}
