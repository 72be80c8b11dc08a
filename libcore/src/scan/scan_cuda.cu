/* Scans on a GPU: sums, a plan's scratch memory, and the choice of kernels for a plan. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_check.cuh"
#include "scan_works.cuh"

namespace
{

template <typename In, typename T, int kind, bool segmented>
constexpr vf_scan_entry sum_entry()
{
    return vf_scan_entry_of<vf_scan_work<In, T, vf_scan_adding<T>, kind, segmented>>();
}

template <typename In, typename T>
const vf_scan_entry *entry_for(const vf_scan_options *o)
{
    static const vf_scan_entry entries[2][2] = {{sum_entry<In, T, 0, false>(), sum_entry<In, T, 1, false>()},
                                                {sum_entry<In, T, 0, true>(), sum_entry<In, T, 1, true>()}};
    return &entries[o->segmented][o->exclusive];
}

/* Integer sums wrap around, so they are computed as unsigned. */
const vf_scan_entry *find_entry(const vf_scan_options *o)
{
    static const vf_scan_entry wide[2] = {sum_entry<int32_t, uint64_t, VF_EITHER, false>(),
                                          sum_entry<int32_t, uint64_t, VF_EITHER, true>()};
    if (o->op != VF_SCAN_SUM)
        return vf_find_scan_operator(o);
    if (o->wide)
        return &wide[o->segmented];
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
    vf_scan_state *state = static_cast<vf_scan_state *>(plan->state);
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
    vf_scan_state *state = static_cast<vf_scan_state *>(calloc(1, sizeof *state));
    if (!state)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "no memory for the plan of a scan");
    plan->state = state;
    state->entry = find_entry(&plan->options);
    state->exclusive = plan->options.exclusive;
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
    vf_scan_state *state = static_cast<vf_scan_state *>(plan->state);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    if (status == VF_OK)
        status = VF_CUDA(plan->device,
                         state->entry->launch(state, static_cast<cudaStream_t>(vf_queue_native(queue)), n, x, head, y));
    return status;
}

} // namespace

extern "C" const vf_scan_ops vf_scan_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, execute};
