/* Reductions on a GPU: a plan's scratch memory, and the work and tuning for each reduction and type. */
#include <stdlib.h>

#include "backend/cuda_check.cuh"
#include "reduce_internal.h"
#include "reduce_tuning.cuh"
#include "reduce_works.cuh"

namespace
{

struct cuda_state {
    vf_launch launch;
    vf_array scratch; /* partial results and ticket */
    vf_array pinned;  /* a result for the host */
};

struct work_entry {
    cudaError_t (*prepare)(vf_launch *launch, size_t *scratch_bytes);
    cudaError_t (*launch)(const cuda_state *state, cudaStream_t stream, int64_t n, const void *x, const void *y,
                          vf_reduced *result);
};

/* The rest of a work, if it has more members than all have. */
template <typename Work, bool is_or>
struct completed {
    static void set(Work *)
    {
    }
};
template <typename T, bool is_or>
struct completed<vf_bits_work<T>, is_or> {
    static void set(vf_bits_work<T> *work)
    {
        work->inverted = is_or ? ~(typename vf_bits_work<T>::State)0 : 0;
    }
};

template <typename Work>
using tuning_of = vf_reduce_tuning<Work::bytes>;

template <typename Work>
cudaError_t prepare(vf_launch *launch, size_t *scratch_bytes)
{
    const cudaError_t error = vf_find_columns<tuning_of<Work>, Work>(launch);
    *scratch_bytes = error == cudaSuccess ? vf_partials_bytes<typename Work::State>(*launch) : 0;
    return error;
}

template <typename Work, bool is_or>
cudaError_t launch(const cuda_state *state, cudaStream_t stream, int64_t n, const void *x, const void *y,
                   vf_reduced *result)
{
    typedef typename Work::Element Element;
    const vf_launch &shape = state->launch;
    Work work;
    work.x = static_cast<const Element *>(x);
    work.y = static_cast<const Element *>(y);
    work.result = result;
    completed<Work, is_or>::set(&work);
    const vf_range range = Work::EXACT ? vf_range_at(work.x, n) : vf_range_from_0(n);
    const int V = Work::vector(shape.work);
    work.aligned = vf_is_aligned(work.x, range, V) && (!y || vf_is_aligned(work.y, range, V));
    vf_reduce_columns<tuning_of<Work>, Work><<<vf_count_thread_blocks(shape, range), shape.threads, 0, stream>>>(
        work, range, vf_partials_in<typename Work::State>(state->scratch.data, shape));
    return cudaGetLastError();
}

template <typename Work, bool is_or = false>
constexpr work_entry entry()
{
    return {prepare<Work>, launch<Work, is_or>};
}

typedef vf_element<float, 1> f32;
typedef vf_element<double, 1> f64;
typedef vf_element<float, 2> c64;
typedef vf_element<double, 2> c128;

/* In the order of vf_dtype. */
const work_entry entries[VF_REDUCTION_COUNT][VF_DTYPE_COUNT] = {
    {entry<vf_sum_work<f32>>(), entry<vf_sum_work<f64>>(), entry<vf_sum_work<c64>>(), entry<vf_sum_work<c128>>(),
     entry<vf_integer_work<int32_t>>(), entry<vf_integer_work<int64_t>>(), entry<vf_integer_work<uint8_t>>()},
    {entry<vf_dot_work<f32>>(), entry<vf_dot_work<f64>>(), entry<vf_dot_work<c64>>(), entry<vf_dot_work<c128>>()},
    {entry<vf_squares_work<f32>>(), entry<vf_squares_work<f64>>(), entry<vf_squares_work<c64>>(),
     entry<vf_squares_work<c128>>()},
    {entry<vf_extreme_work<float, true>>(),
     entry<vf_extreme_work<double, true>>(),
     {},
     {},
     entry<vf_extreme_work<int32_t, true>>(),
     entry<vf_extreme_work<int64_t, true>>(),
     entry<vf_extreme_work<uint8_t, true>>()},
    {entry<vf_extreme_work<float, false>>(),
     entry<vf_extreme_work<double, false>>(),
     {},
     {},
     entry<vf_extreme_work<int32_t, false>>(),
     entry<vf_extreme_work<int64_t, false>>(),
     entry<vf_extreme_work<uint8_t, false>>()},
    {entry<vf_product_work<f32>>(), entry<vf_product_work<f64>>(), entry<vf_product_work<c64>>(),
     entry<vf_product_work<c128>>(), entry<vf_integer_product_work<int32_t>>(),
     entry<vf_integer_product_work<int64_t>>(), entry<vf_integer_product_work<uint8_t>>()},
    {{}, {}, {}, {}, entry<vf_bits_work<int32_t>>(), entry<vf_bits_work<int64_t>>(), entry<vf_bits_work<uint8_t>>()},
    {{},
     {},
     {},
     {},
     entry<vf_bits_work<int32_t>, true>(),
     entry<vf_bits_work<int64_t>, true>(),
     entry<vf_bits_work<uint8_t>, true>()},
};

const work_entry &entry_of(const vf_reduce *plan)
{
    return entries[plan->reduction][plan->type];
}

void destroy(vf_reduce *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    vf_array_free(&state->scratch);
    vf_array_free(&state->pinned);
    free(state);
    plan->state = NULL;
}

vf_status create(vf_reduce *plan)
{
    vf_device *device = plan->device;
    size_t bytes = 0;
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the plan of a reduction");
    plan->state = state;
    vf_status status = VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
    if (status == VF_OK)
        status = VF_CUDA(device, entry_of(plan).prepare(&state->launch, &bytes));
    if (status == VF_OK)
        status = vf_create_cleared(device, VF_U8, (int64_t)bytes, &state->scratch);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_PINNED, VF_U8, sizeof(vf_reduced), &state->pinned);
    if (status != VF_OK)
        destroy(plan);
    return status;
}

vf_status execute(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y, vf_reduced *result)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status =
            VF_CUDA(plan->device, entry_of(plan).launch(state, static_cast<cudaStream_t>(vf_queue_native(queue)), n, x,
                                                        plan->reduction == VF_REDUCE_DOT ? y : NULL, result));
    return status;
}

/* The kernel writes its result into pinned host memory. */
vf_status now(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y, vf_reduced *result)
{
    const cuda_state *state = static_cast<const cuda_state *>(plan->state);
    vf_reduced *pinned = static_cast<vf_reduced *>(state->pinned.data);
    vf_status status = execute(plan, queue, n, x, y, pinned);
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    if (status == VF_OK)
        *result = *pinned;
    return status;
}

} // namespace

extern "C" const vf_reduce_ops vf_reduce_ops_cuda = {create, destroy, execute, now};
