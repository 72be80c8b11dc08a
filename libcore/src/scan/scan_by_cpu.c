/* Scans by C functions of the caller, on the CPU: chunks are reduced, their states are scanned in order, and then the chunks
 * are scanned. */
#include <string.h>

#include "device/arguments.h"
#include "reduce/monoid_internal.h"
#include "voxfield/scan.h"
#include "voxfield/team_size.h"

static void scan_chunk(const vf_monoid *op, bool exclusive, int64_t count, const char *x, char *y,
                       const vf_monoid_state *before)
{
    vf_monoid_state state = *before, next;
    for (int64_t i = 0; i < count; i++) {
        char *to = y + (size_t)i * op->state_bytes;
        if (exclusive)
            memcpy(to, state.bytes, op->state_bytes);
        op->start(op->user, x + (size_t)i * op->element_bytes, next.bytes);
        op->combine(op->user, state.bytes, next.bytes);
        if (!exclusive)
            memcpy(to, state.bytes, op->state_bytes);
    }
}

/* Replaces each state by what comes before it. */
static void scan_states(const vf_monoid *op, int chunks, vf_monoid_state *states)
{
    vf_monoid_state before;
    op->identity(op->user, before.bytes);
    for (int c = 0; c < chunks; c++) {
        const vf_monoid_state own = states[c];
        states[c] = before;
        op->combine(op->user, before.bytes, own.bytes);
    }
}

vf_status vf_scan_by(vf_queue *queue, const vf_monoid *op, bool exclusive, int64_t n, const void *x, void *y)
{
    static const char what[] = "a scan with a vf_monoid";
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    vf_status status = vf_monoid_check(what, queue, op, n, x);
    if (status != VF_OK || n == 0)
        return status;
    status = VF_CHECK_POINTERS(ctx, what, {"y", y});
    if (status != VF_OK)
        return status;
    vf_monoid_state states[VF_MOST_CHUNKS];
    const int64_t length = vf_reduce_chunk_length(n);
    const int chunks = vf_monoid_chunks(queue, op, n, x, states);
    scan_states(op, chunks, states);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, n))
    for (int c = 0; c < chunks; c++) {
        const int64_t at = c * length;
        scan_chunk(op, exclusive, n - at < length ? n - at : length, (const char *)x + (size_t)at * op->element_bytes,
                   (char *)y + (size_t)at * op->state_bytes, &states[c]);
    }
    return VF_OK;
}
