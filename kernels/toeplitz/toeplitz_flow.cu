/* Launches the kernels of toeplitz_flow.h. */
#include <vector>

#include "toeplitz_lines.cuh"

#include "toeplitz_items.cuh"

namespace vf_toeplitz_gpu
{
namespace
{

enum { PORTABLE_BYTES = 48 * 1024 }; /* of shared memory that a thread block may have without asking */

/* A launch may begin before the one before it in the queue has ended: what it reads is there after this. */
__device__ inline void wait_for_inputs()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The next launch may begin as soon as there is room for its thread blocks. */
__device__ inline void let_next_begin()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* CODE: a row_mode for kernels along rows, FAST or not for those along columns. blocks: of a multiprocessor, for which the compiler
 * leaves registers. With three, long lines would spill half a kilobyte, and `leave` a third of one. */
#define FLOW_KERNEL(blocks)                                                                                            \
    template <typename T, int LENGTH, int CODE>                                                                        \
    __global__ void __launch_bounds__((flow_limits<T>::THREADS), (blocks))

FLOW_KERNEL(3) flow_enter(const flow<T> f)
{
    let_next_begin();
    wait_for_inputs();
    enter_item<T, LENGTH, CODE>(f, (int)blockIdx.z, (int)blockIdx.y, (int)blockIdx.x);
}

FLOW_KERNEL(4) flow_there(const flow<T> f)
{
    let_next_begin();
    wait_for_inputs();
    there_item<T, LENGTH, CODE != 0>(f, (int)blockIdx.z, (int)blockIdx.y, (int)blockIdx.x);
}

/* The factors are read from memory, not from the cache: their way there begins before the data is waited for. */
template <typename T, int LENGTH>
__device__ inline void fetch_early(const flow<T> &f, int array, int tile, int part)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                         __cvta_generic_to_global(factors_for<T, LENGTH>(f, array, tile, part))),
                     "r"((unsigned)((LENGTH << f.shape.shift) * sizeof(T)))
                     : "memory");
#else
    (void)f, (void)array, (void)tile, (void)part;
#endif
}

FLOW_KERNEL(LENGTH > 320 ? 2 : 3) flow_turn(const flow<T> f)
{
    const int array = (int)blockIdx.z, tile = (int)blockIdx.y, part = (int)blockIdx.x;
    let_next_begin();
    fetch_early<T, LENGTH>(f, array, tile, part);
    wait_for_inputs();
    turn_item<T, LENGTH, CODE != 0>(f, array, tile, part);
}

FLOW_KERNEL(4) flow_back(const flow<T> f)
{
    let_next_begin();
    wait_for_inputs();
    back_item<T, LENGTH, CODE != 0>(f, (int)blockIdx.z, (int)blockIdx.y, (int)blockIdx.x);
}

FLOW_KERNEL(2) flow_leave(const flow<T> f)
{
    let_next_begin();
    wait_for_inputs();
    leave_item<T, LENGTH, CODE>(f, (int)blockIdx.y, (int)blockIdx.x);
}

/* Q, [2z][2y][2x] as in toeplitz.h, on the padded grid w.doubled, with r = 0 at its beginning and zeros between. */
template <typename T>
__global__ void __launch_bounds__(256) embed(const work<T> w, const number<T> *q, number<T> *grid)
{
    const int64_t n = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (n >= w.points)
        return;
    const int64_t at[3] = {n % w.doubled[0], n / w.doubled[0] % w.doubled[1], n / w.doubled[0] / w.doubled[1]};
    int64_t from = 0;
    bool is_zero = false;
    for (int a = 2; a >= 0; a--) {
        const int64_t i = padded_from(at[a], w.matrix[a], w.doubled[a]);
        is_zero = is_zero || i < 0;
        from = from * (w.matrix[a] > 1 ? 2 * w.matrix[a] : 1) + i;
    }
    grid[n] = is_zero ? number<T>{0, 0} : q[from];
}

/* The kernel: `scale` times the real part of the padded Q's transform [frequency of the last axis][frequency y][frequency x], in
 * the order of `turn`. */
template <typename T>
__global__ void __launch_bounds__(256) order_factors(const vf_flow_shape s, T scale, const number<T> *grid, T *factors)
{
    const int64_t n = (int64_t)blockIdx.x * 256 + threadIdx.x, count = ((int64_t)s.tiles * s.turns * s.lengths[2])
                                                                       << s.shift;
    if (n >= count)
        return;
    const int64_t column = n >> s.shift;
    const int last = (int)(column % s.lengths[2]), middle = (int)(column / s.lengths[2] % s.turns);
    const int x = (int)(column / s.lengths[2] / s.turns << s.shift) + (int)(n & (s.width - 1));
    factors[n] = x < s.lengths[0] ? scale * grid[((int64_t)last * s.turns + middle) * s.lengths[0] + x].re : 0;
}

/* ---- host side ---- */

template <typename T, typename Kernel>
cudaError_t start(Kernel kernel, const flow_plan *p, dim3 blocks, size_t bytes, cudaStream_t stream, const flow<T> &f)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3((unsigned)p->threads);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &overlap;
    config.numAttrs = 1;
    if (bytes > PORTABLE_BYTES) {
        const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
        if (error != cudaSuccess)
            return error;
    }
    return cudaLaunchKernelEx(&config, kernel, f);
}

/* Calls `call` with the code of a kernel along columns of `count` numbers: 1 is the FAST one. */
template <typename T, int LENGTH, typename Call>
void with_column_code(const vf_flow_shape &s, int count, const Call &call)
{
    if (s.shift == widest_shift<T, LENGTH>() && 2 * count == LENGTH)
        call(std::integral_constant<int, 1>());
    else
        call(std::integral_constant<int, 0>());
}

/* The same for a kernel along rows: row_mode. */
template <typename T, int LENGTH, typename Call>
void with_row_code(const flow<T> &f, const Call &call)
{
    if (f.w.time)
        call(std::integral_constant<int, TIMES>());
    else if (2 * f.shape.voxels[0] == LENGTH)
        call(std::integral_constant<int, FULL>());
    else
        call(std::integral_constant<int, ANY>());
}

/* Bytes of shared memory. */
size_t row_bytes(const flow_plan *p, const vf_flow_shape &s, size_t element)
{
    return element * (size_t)(s.row_lines * p->row_pitch);
}

size_t leave_bytes(const flow_plan *p, const vf_flow_shape &s, size_t element)
{
    return row_bytes(p, s, element) + element * (size_t)((s.row_lines + s.leave_rows) * s.voxels[0]);
}

vf_flow_shape shape_for(const flow_plan *p, int arrays)
{
    vf_flow_shape s = p->shape;
    s.arrays = arrays;
    vf_flow_complete(&s, p->most_lines);
    return s;
}

int64_t flow_rows(const vf_flow_shape &s)
{
    return ((int64_t)s.arrays * s.tiles * s.planes * s.voxels[1]) << s.shift;
}

template <typename T>
flow<T> flow_of(const flow_plan *p, const work<T> &w, const number<T> *x, number<T> *y)
{
    flow<T> f = {};
    f.shape = shape_for(p, w.count);
    f.w = w;
    f.x = x;
    f.y = y;
    f.rows = w.buffer;
    f.planes = w.buffer + flow_rows(f.shape);
    f.factors = w.kernels;
    for (int a = 0; a < 3; a++)
        f.roots[a] = static_cast<const number<T> *>(p->roots[a]);
    return f;
}

/* Padding along the last axis makes the kernel longer, and only that. */
template <typename T>
bool padded_lengths(const int64_t matrix[3], int64_t lengths[3])
{
    for (int a = 0; a < 3; a++) {
        const int64_t twice = 2 * matrix[a], most = a == (matrix[2] > 1 ? 2 : 1) ? 4 * twice : 5 * twice / 4;
        lengths[a] = matrix[a] > 1 ? flow_length<T>(twice) : a < 2 ? 0 : 1;
        if (lengths[a] == 0 || lengths[a] > most)
            return false;
    }
    return true;
}

/* The roots of unity of the three axes, to p->tables. */
template <typename T>
vf_status upload_roots(vf_device *device, flow_plan *p)
{
    std::vector<number<T>> all;
    int64_t first[3];
    for (int a = 0; a < 3; a++) {
        first[a] = (int64_t)all.size();
        with_factors<T>(p->shape.lengths[a], [&](auto n) {
            all.resize(all.size() + factors_of<n.value>::ROOTS);
            fill_roots<T, n.value>(&all[(size_t)first[a]]);
        });
    }
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(sizeof(T) == 8 ? VF_F64 : VF_F32),
                                       (int64_t)all.size(), &p->tables);
    if (status == VF_OK)
        status = VF_CUDA(device, vf_cuda_upload(p->tables.data, all.data(), all.size() * sizeof all[0]));
    for (int a = 0; a < 3; a++)
        p->roots[a] = static_cast<const number<T> *>(p->tables.data) + first[a];
    return status;
}

} // namespace

bool flow_lengths(vf_dtype precision, const int64_t matrix[3], int64_t lengths[3])
{
    return precision == VF_F64 ? padded_lengths<double>(matrix, lengths) : padded_lengths<float>(matrix, lengths);
}

int64_t flow_buffer(const flow_plan *p)
{
    const vf_flow_shape s = shape_for(p, p->shape.arrays);
    const int64_t grid = (int64_t)s.lengths[0] * s.turns * s.lengths[2],
                  planes = ((int64_t)s.arrays * s.tiles * s.planes * s.turns) << s.shift,
                  arrays = flow_rows(s) + (s.planes > 1 ? planes : 0);
    return arrays > grid ? arrays : grid;
}

int64_t flow_factors(const flow_plan *p)
{
    const vf_flow_shape s = shape_for(p, 1);
    return ((int64_t)s.tiles * s.turns * s.lengths[2]) << s.shift;
}

vf_status flow_create(vf_device *device, vf_dtype precision, const int64_t matrix[3], const axes *a, int most_bytes,
                      flow_plan *p)
{
    const bool flat = matrix[2] == 1, is_double = precision == VF_F64;
    const int last = flat ? 1 : 2;
    int column_threads = 0, row_threads = 1;
    *p = {};
    for (int i = 0; i < 3; i++) {
        p->shape.voxels[i] = (int)matrix[i];
        p->shape.lengths[i] = i == 1 && flat ? 1 : a->axis[i == 2 ? last : i].plan.length;
        with_factors<float>(p->shape.lengths[i], [&](auto n) {
            const int threads = factors_of<n.value>::THREADS;
            if (i > 0)
                column_threads = threads > column_threads ? threads : column_threads;
            else
                row_threads = factors_of<n.value>::ROW_THREADS, p->row_pitch = factors_of<n.value>::ROW_PITCH;
        });
    }
    p->threads = is_double ? (int)flow_limits<double>::THREADS : (int)flow_limits<float>::THREADS;
    p->shape.width = p->threads / column_threads;
    /* Three blocks of `leave` should fit on a multiprocessor. */
    const int line = (p->row_pitch + 2 * p->shape.voxels[0]) * (is_double ? 16 : 8),
              room = (most_bytes / 3 > PORTABLE_BYTES ? most_bytes / 3 : (int)PORTABLE_BYTES) / line;
    p->most_lines = p->threads / row_threads < room ? p->threads / row_threads : room;
    p->shape.arrays = vf_flow_arrays(p->shape.lengths[0] * matrix[1] * matrix[2]);
    return is_double ? upload_roots<double>(device, p) : upload_roots<float>(device, p);
}

template <typename T>
cudaError_t flow_set(const flow_plan *p, const axes *a, const work<T> &w, cudaStream_t stream, const number<T> *q,
                     T *factors)
{
    embed<<<vf_blocks_for(w.points, 256), 256, 0, stream>>>(w, q, w.buffer);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = axes_transform(a, w, stream, w.buffer);
    if (error != cudaSuccess)
        return error;
    order_factors<<<vf_blocks_for(flow_factors(p), 256), 256, 0, stream>>>(shape_for(p, 1), (T)(1 / (double)w.points),
                                                                           w.buffer, factors);
    return cudaGetLastError();
}

template <typename T>
cudaError_t flow_apply(const flow_plan *p, const work<T> &w, cudaStream_t stream, const number<T> *x, number<T> *y)
{
    const flow<T> f = flow_of(p, w, x, y);
    const vf_flow_shape &s = f.shape;
    const size_t element = sizeof *x, column = element << s.shift;
    const dim3 row_blocks(s.row_groups, s.planes, s.arrays), plane_blocks(s.planes, s.tiles, s.arrays);
    cudaError_t error = cudaSuccess;
    with_factors<T>(s.lengths[0], [&](auto n) {
        with_row_code<T, n.value>(f, [&](auto code) {
            error = start(flow_enter<T, n.value, code.value>, p, row_blocks, row_bytes(p, s, element), stream, f);
        });
    });
    if (error == cudaSuccess && s.planes > 1)
        with_factors<T>(s.lengths[1], [&](auto n) {
            with_column_code<T, n.value>(s, s.voxels[1], [&](auto code) {
                error = start(flow_there<T, n.value, code.value>, p, plane_blocks, column * n.value, stream, f);
            });
        });
    if (error == cudaSuccess)
        with_factors<T>(s.lengths[2], [&](auto n) {
            with_column_code<T, n.value>(s, s.last, [&](auto code) {
                error = start(flow_turn<T, n.value, code.value>, p, dim3(s.turns, s.tiles, s.arrays), column * n.value,
                              stream, f);
            });
        });
    if (error == cudaSuccess && s.planes > 1)
        with_factors<T>(s.lengths[1], [&](auto n) {
            with_column_code<T, n.value>(s, s.voxels[1], [&](auto code) {
                error = start(flow_back<T, n.value, code.value>, p, plane_blocks, column * n.value, stream, f);
            });
        });
    if (error == cudaSuccess)
        with_factors<T>(s.lengths[0], [&](auto n) {
            with_row_code<T, n.value>(f, [&](auto code) {
                error = start(flow_leave<T, n.value, code.value>, p, dim3(s.leave_groups, s.planes),
                              leave_bytes(p, s, element), stream, f);
            });
        });
    return error;
}

template cudaError_t flow_set(const flow_plan *, const axes *, const work<float> &, cudaStream_t, const number<float> *,
                              float *);
template cudaError_t flow_set(const flow_plan *, const axes *, const work<double> &, cudaStream_t,
                              const number<double> *, double *);
template cudaError_t flow_apply(const flow_plan *, const work<float> &, cudaStream_t, const number<float> *,
                                number<float> *);
template cudaError_t flow_apply(const flow_plan *, const work<double> &, cudaStream_t, const number<double> *,
                                number<double> *);

} // namespace vf_toeplitz_gpu
