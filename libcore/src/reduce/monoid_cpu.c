/* Reductions by C functions of the caller, on the CPU: chunks in order. */
#include "monoid_internal.h"

#include <string.h>

#include "device/arguments.h"
#include "voxfield/team_size.h"

vf_status vf_monoid_check(const char *what, vf_queue *queue, const vf_monoid *op, int64_t n, const void *x)
{
    const vf_device *device = vf_queue_device(queue);
    vf_context *ctx = vf_device_context(device);
    vf_status status = VF_CHECK_POINTERS(ctx, what, {"op", op});
    if (status != VF_OK)
        return status;
    if (!vf_device_is_host(device))
        return vf_fail(
            ctx, VF_ERR_UNSUPPORTED,
            "%s runs C functions, which %s cannot: use the CPU, or write a kernel with the operator as a type, "
            "from the templates of libcore/src/reduce/reduce.cuh",
            what, vf_device_spec(device));
    if (!op->identity || !op->start || !op->combine)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: op->%s is NULL", what,
                       !op->identity ? "identity"
                       : !op->start  ? "start"
                                     : "combine");
    if (op->element_bytes < 1 || op->element_bytes > (size_t)VF_MOST_BYTES || op->state_bytes < 1 ||
        op->state_bytes > VF_MOST_STATE)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: elements of %zu bytes and states of %zu; states have 1 to %d bytes",
                       what, op->element_bytes, op->state_bytes, (int)VF_MOST_STATE);
    const size_t most = op->element_bytes > op->state_bytes ? op->element_bytes : op->state_bytes;
    if (n < 0 || n > VF_MOST_BYTES / (int64_t)most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %lld elements of %zu bytes", what, (long long)n, most);
    if (n > 0)
        return VF_CHECK_POINTERS(ctx, what, {"x", x});
    return VF_OK;
}

static void reduce_chunk(const vf_monoid *op, int64_t count, const char *x, vf_monoid_state *state)
{
    vf_monoid_state next;
    op->start(op->user, x, state->bytes);
    for (int64_t i = 1; i < count; i++) {
        op->start(op->user, x + (size_t)i * op->element_bytes, next.bytes);
        op->combine(op->user, state->bytes, next.bytes);
    }
}

int vf_monoid_chunks(vf_queue *queue, const vf_monoid *op, int64_t n, const void *x,
                     vf_monoid_state states[VF_MOST_CHUNKS])
{
    const int64_t length = vf_reduce_chunk_length(n);
    const int chunks = (int)((n + length - 1) / length);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(vf_device_context(vf_queue_device(queue)), n))
    for (int c = 0; c < chunks; c++) {
        const int64_t at = c * length;
        reduce_chunk(op, n - at < length ? n - at : length, (const char *)x + (size_t)at * op->element_bytes,
                     &states[c]);
    }
    return chunks;
}

vf_status vf_reduce_by(vf_queue *queue, const vf_monoid *op, int64_t n, const void *x, void *state)
{
    static const char what[] = "a reduction with a vf_monoid";
    vf_status status = vf_monoid_check(what, queue, op, n, x);
    VF_TRY(status, VF_CHECK_POINTERS(vf_device_context(vf_queue_device(queue)), what, {"state", state}));
    if (status != VF_OK)
        return status;
    vf_monoid_state states[VF_MOST_CHUNKS], all;
    const int chunks = vf_monoid_chunks(queue, op, n, x, states);
    op->identity(op->user, all.bytes);
    for (int c = 0; c < chunks; c++)
        op->combine(op->user, all.bytes, states[c].bytes);
    memcpy(state, all.bytes, op->state_bytes);
    return VF_OK;
}
