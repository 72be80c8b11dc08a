/* Scans on a GPU: the sums that scan.h offers, a plan's scratch memory, and the choice of kernels for a plan. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "scan_plan.h"
#include "scan_runs.cuh"
#include "scan_tiles.cuh"
#include "scan_tuning.cuh"

namespace
{

/* ---- the operator, without and with segments ---- */

template <typename T, bool segmented>
struct summing {
    typedef T State;
    static constexpr bool SEGMENTED = false;

    __device__ static State identity()
    {
        return 0;
    }
    __device__ static State combine(State a, State b)
    {
        return a + b;
    }
    __device__ static State state(T value, bool)
    {
        return value;
    }
    __device__ static T value_of(const State &s)
    {
        return s;
    }
};

/* flag: whether a segment begins among the summed elements; value: the sum since the last one began. */
template <typename T>
struct flagged {
    T value;
    unsigned flag;
    unsigned unused[sizeof(T) / 4 - 1 + (sizeof(T) == 4)]; /* padding: no byte stays unwritten */
};

template <typename T>
struct summing<T, true> {
    typedef flagged<T> State;
    static constexpr bool SEGMENTED = true;

    __device__ static State state(T value, bool head)
    {
        State s = {};
        s.value = value;
        s.flag = head;
        return s;
    }
    __device__ static State identity()
    {
        return state(0, false);
    }
    __device__ static State combine(const State &a, const State &b)
    {
        return state(b.flag ? b.value : a.value + b.value, a.flag || b.flag);
    }
    __device__ static T value_of(const State &s)
    {
        return s.value;
    }
};

template <typename In, typename T, bool exclusive, bool segmented>
struct sum_work : summing<T, segmented> {
    typedef typename summing<T, segmented>::State State;
    typedef In Element;
    typedef T Out;
    static constexpr bool EXCLUSIVE = exclusive, COMMUTES = !segmented;
    static constexpr int bytes = (sizeof(In) > sizeof(T) ? sizeof(In) : sizeof(T)) + segmented;
    static constexpr int vector(int nWork)
    {
        return sizeof(In) > sizeof(T) ? vf_vector_of<In>(nWork) : vf_vector_of<T>(nWork);
    }
    const In *x;
    const uint8_t *head;
    T *y;
    bool aligned;

    __device__ static In blank()
    {
        return 0;
    }
    __device__ static State start(In value, bool head)
    {
        return summing<T, segmented>::state((T)value, head);
    }
    __device__ static T value(const State &s)
    {
        return summing<T, segmented>::value_of(s);
    }
    __device__ static T value_before(const State &before, bool head)
    {
        return head ? T(0) : summing<T, segmented>::value_of(before);
    }
};

/* ---- plans ---- */

struct cuda_state;

struct work_entry {
    cudaError_t (*prepare)(vf_launch *launch, bool three_kernel, int64_t most, size_t *scratch_bytes);
    cudaError_t (*launch)(cuda_state *state, cudaStream_t stream, int64_t n, const void *x, const uint8_t *head,
                          void *y);
};

struct cuda_state {
    const work_entry *entry;
    bool three_kernel;
    vf_launch launch;
    vf_array array;
    vf_scan_scratch scratch; /* in the array */
};

template <typename Work>
using tile_tuning = vf_scan_tile_tuning<Work::bytes>;
template <typename Work>
using run_tuning = vf_scan_run_tuning<Work::bytes>;

template <typename Work>
cudaError_t prepare(vf_launch *launch, bool three_kernel, int64_t most, size_t *scratch_bytes)
{
    const cudaError_t error = three_kernel ? vf_find_three_kernel<run_tuning<Work>, Work>(launch)
                                           : vf_find_single_pass<tile_tuning<Work>, Work>(launch);
    if (error == cudaSuccess) { /* an array that begins late in a memory line may have one more data block */
        const vf_range range = {most, VF_LINE};
        *scratch_bytes = three_kernel ? vf_scan_runs_bytes<Work>(*launch) : vf_scan_tiles_bytes<Work>(*launch, range);
    }
    return error;
}

template <typename Work>
cudaError_t launch(cuda_state *state, cudaStream_t stream, int64_t n, const void *x, const uint8_t *head, void *y)
{
    typedef typename Work::Element Element;
    typedef typename Work::Out Out;
    Work work;
    work.x = static_cast<const Element *>(x);
    work.head = head;
    work.y = static_cast<Out *>(y);
    /* Only sums of floating-point numbers depend on the grouping. */
    const bool exact = (Out)0.5 == (Out)0;
    const vf_range range = exact ? vf_range_at(work.x, n) : vf_range_from_0(n);
    const int V = Work::vector(state->launch.work);
    work.aligned =
        vf_is_aligned(work.x, range, V) && vf_is_aligned(work.y, range, V) && (!head || vf_is_aligned(head, range, V));
    return state->three_kernel
               ? vf_scan_three_kernel<run_tuning<Work>>(state->launch, stream, work, range, &state->scratch)
               : vf_scan_single_pass<tile_tuning<Work>>(state->launch, stream, work, range, &state->scratch);
}

template <typename Work>
constexpr work_entry entry()
{
    return {prepare<Work>, launch<Work>};
}

template <typename In, typename T>
const work_entry *entry_for(const vf_scan_options *o)
{
    static const work_entry entries[2][2] = {
        {entry<sum_work<In, T, false, false>>(), entry<sum_work<In, T, true, false>>()},
        {entry<sum_work<In, T, false, true>>(), entry<sum_work<In, T, true, true>>()}};
    return &entries[o->segmented][o->exclusive];
}

/* Integer sums wrap around, so they are computed as unsigned. */
const work_entry *find_entry(const vf_scan_options *o)
{
    switch (o->type) {
    case VF_F32:
        return entry_for<float, float>(o);
    case VF_F64:
        return entry_for<double, double>(o);
    case VF_I32:
        return entry_for<uint32_t, uint32_t>(o);
    case VF_I64:
        return entry_for<uint64_t, uint64_t>(o);
    default:
        return entry_for<uint8_t, uint64_t>(o);
    }
}

const char *const names[] = {"single-pass", "three-kernel", NULL};

void destroy(vf_scan *plan)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    if (!state)
        return;
    vf_array_free(&state->array);
    free(state);
    plan->state = NULL;
}

vf_status create(vf_scan *plan)
{
    vf_device *device = plan->device;
    size_t bytes = 0;
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the plan of a scan");
    plan->state = state;
    state->entry = find_entry(&plan->options);
    state->three_kernel = strcmp(plan->options.variant, names[1]) == 0;
    vf_status status = VF_CUDA(device, cudaSetDevice(vf_device_ordinal(device)));
    if (status == VF_OK)
        status = VF_CUDA(device, state->entry->prepare(&state->launch, state->three_kernel, plan->most, &bytes));
    if (status == VF_OK)
        status = vf_create_cleared(device, VF_U8, (int64_t)bytes, &state->array);
    state->scratch = {state->array.data, bytes, 0, 0};
    if (status != VF_OK)
        destroy(plan);
    return status;
}

vf_status execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x, const uint8_t *head, void *y)
{
    cuda_state *state = static_cast<cuda_state *>(plan->state);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = VF_CUDA(plan->device,
                         state->entry->launch(state, static_cast<cudaStream_t>(vf_queue_native(queue)), n, x, head, y));
    return status;
}

} // namespace

extern "C" const vf_scan_ops vf_scan_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
