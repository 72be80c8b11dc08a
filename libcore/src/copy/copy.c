#include "voxfield/copy.h"

#include <stdbool.h>

#include "backend/registry.h"
#include "copy_internal.h"
#include "device/arguments.h"

static const vf_backend backends[] = {
    {&vf_cpu_only, &vf_copy_cpu},
    {&vf_cuda_only, &vf_copy_cuda},
    {&vf_opencl_only, &vf_copy_opencl},
    {0},
};

static const vf_copy_ops *ops_for(const vf_queue *queue)
{
    return vf_backend_table(backends, vf_queue_device(queue));
}

static vf_context *context_of(const vf_queue *queue)
{
    return vf_device_context(vf_queue_device(queue));
}

vf_status vf_copy(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y)
{
    vf_status status = VF_CHECK_ARRAYS(context_of(queue), "a copy", type, n, {"x", x}, {"y", y});
    return status != VF_OK || n == 0 ? status : ops_for(queue)->copy(queue, (size_t)n * vf_dtype_bytes(type), x, y);
}

vf_status vf_fill(vf_queue *queue, vf_dtype type, int64_t n, const void *value, void *y)
{
    vf_status status = VF_CHECK_ARRAYS(context_of(queue), "a fill", type, n, {"value", value}, {"y", y});
    return status != VF_OK || n == 0 ? status : ops_for(queue)->fill(queue, vf_dtype_bytes(type), n, value, y);
}

vf_status vf_gather(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x, void *y)
{
    vf_status status = VF_CHECK_ARRAYS(context_of(queue), "a gather", type, n, {"index", index}, {"x", x}, {"y", y});
    return status != VF_OK || n == 0 ? status : ops_for(queue)->gather(queue, vf_dtype_bytes(type), n, index, x, y);
}

vf_status vf_scatter(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x, void *y)
{
    vf_status status = VF_CHECK_ARRAYS(context_of(queue), "a scatter", type, n, {"index", index}, {"x", x}, {"y", y});
    return status != VF_OK || n == 0 ? status : ops_for(queue)->scatter(queue, vf_dtype_bytes(type), n, index, x, y);
}

/* Rejects rows of `name` that may overlap. The smaller of the two steps must be at least a row long, the larger one at
 * least the extent of all rows along the smaller. No count may be 0. Steps of counts of 1, which are never taken,
 * become 0. */
static vf_status check_rows(vf_context *ctx, const char *what, const char *name, vf_dtype type, const int64_t counts[3],
                            vf_pitch *pitch)
{
    const int64_t most = VF_MOST_BYTES / (int64_t)vf_dtype_bytes(type);
    const vf_pitch given = *pitch;
    if (counts[1] == 1)
        pitch->row = 0;
    if (counts[2] == 1)
        pitch->plane = 0;
    const bool row_first = pitch->row <= pitch->plane;
    const int64_t step[2] = {row_first ? pitch->row : pitch->plane, row_first ? pitch->plane : pitch->row};
    const int64_t steps[2] = {counts[row_first ? 1 : 2] - 1, counts[row_first ? 2 : 1] - 1};
    int64_t reached = counts[0];
    for (int i = 0; i < 2; i++) {
        int64_t way;
        if (steps[i] > 0 && step[i] < reached)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "%s: rows of %s overlap: %lld x %lld rows of %lld elements, (%lld, %lld) apart", what, name,
                           (long long)counts[2], (long long)counts[1], (long long)counts[0], (long long)given.row,
                           (long long)given.plane);
        if (__builtin_mul_overflow(step[i], steps[i], &way) || __builtin_add_overflow(reached, way, &reached) ||
            reached > most)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "%s: %lld x %lld rows of %lld elements, (%lld, %lld) apart, exceed any memory", what,
                           (long long)counts[2], (long long)counts[1], (long long)counts[0], (long long)given.row,
                           (long long)given.plane);
    }
    return VF_OK;
}

/* Checks the type, the counts and, unless there is nothing to do, the pointers and the length along the first count. */
static vf_status check_counts(vf_context *ctx, const char *what, vf_dtype type, const int64_t counts[3], const void *x,
                              const void *y, bool *empty)
{
    *empty = counts[0] == 0 || counts[1] == 0 || counts[2] == 0;
    if (counts[0] < 0 || counts[1] < 0 || counts[2] < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the counts {%lld, %lld, %lld}; a length must be at least 0", what,
                       (long long)counts[0], (long long)counts[1], (long long)counts[2]);
    return VF_CHECK_ARRAYS(ctx, what, type, *empty ? 0 : counts[0], {"x", x}, {"y", y});
}

/* Merges two dimensions that have no gap between them in either array. */
static void merge(int64_t counts[3], vf_pitch *x, vf_pitch *y)
{
    if (counts[1] == 1) { /* use the planes as rows */
        counts[1] = counts[2];
        counts[2] = 1;
        *x = (vf_pitch){x->plane, x->plane};
        *y = (vf_pitch){y->plane, y->plane};
    }
    if (counts[1] == 1 || (x->row == counts[0] && y->row == counts[0])) {
        counts[0] *= counts[1];
        counts[1] = counts[2];
        counts[2] = 1;
        *x = (vf_pitch){x->plane, x->plane};
        *y = (vf_pitch){y->plane, y->plane};
    } else if (counts[2] > 1 && x->plane == counts[1] * x->row && y->plane == counts[1] * y->row) {
        counts[1] *= counts[2];
        counts[2] = 1;
    }
}

static vf_status check_both(vf_context *ctx, const char *what, vf_dtype type, const int64_t x_counts[3],
                            vf_pitch *x_pitch, const int64_t y_counts[3], vf_pitch *y_pitch)
{
    vf_status status = check_rows(ctx, what, "x", type, x_counts, x_pitch);
    return status == VF_OK ? check_rows(ctx, what, "y", type, y_counts, y_pitch) : status;
}

vf_status vf_copy_box(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                      vf_pitch y_pitch)
{
    vf_context *ctx = context_of(queue);
    const int64_t size = (int64_t)vf_dtype_bytes(type);
    bool empty;
    vf_status status = check_counts(ctx, "a box", type, counts, x, y, &empty);
    if (status != VF_OK || empty)
        return status;
    status = check_both(ctx, "a box", type, counts, &x_pitch, counts, &y_pitch);
    if (status != VF_OK)
        return status;
    int64_t bytes[3] = {counts[0] * size, counts[1], counts[2]};
    vf_pitch from = {x_pitch.row * size, x_pitch.plane * size}, to = {y_pitch.row * size, y_pitch.plane * size};
    merge(bytes, &from, &to);
    merge(bytes, &from, &to); /* the former planes may merge as rows now */
    if (bytes[1] == 1)
        return ops_for(queue)->copy(queue, (size_t)bytes[0], x, y);
    return ops_for(queue)->box(queue, bytes, x, from, y, to);
}

vf_status vf_transpose(vf_queue *queue, vf_dtype type, int64_t batch, int64_t rows, int64_t columns, const void *x,
                       vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    vf_context *ctx = context_of(queue);
    const int64_t x_counts[3] = {columns, rows, batch}, y_counts[3] = {rows, columns, batch};
    bool empty;
    vf_status status = check_counts(ctx, "a transpose", type, x_counts, x, y, &empty);
    if (status != VF_OK || empty)
        return status;
    status = check_both(ctx, "a transpose", type, x_counts, &x_pitch, y_counts, &y_pitch);
    if (status != VF_OK)
        return status;
    return ops_for(queue)->transpose(queue, vf_dtype_bytes(type), batch, rows, columns, x, x_pitch, y, y_pitch);
}
