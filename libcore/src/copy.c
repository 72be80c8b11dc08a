#include "voxfield/copy.h"

#include <stdbool.h>

#include "copy_internal.h"

static const vf_copy_ops *ops_for(const vf_queue *queue)
{
#ifdef VF_HAVE_CUDA
    if (vf_device_get_kind(vf_queue_device(queue)) == VF_DEVICE_CUDA)
        return &vf_copy_cuda;
#endif
    (void)queue;
    return &vf_copy_cpu;
}

static vf_status refuse(const vf_queue *queue, const char *what, int64_t n)
{
    return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT, "%s of %lld elements", what,
                   (long long)n);
}

vf_status vf_copy(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y)
{
    if (n < 0)
        return refuse(queue, "a copy", n);
    return n == 0 ? VF_OK : ops_for(queue)->copy(queue, (size_t)n * vf_dtype_bytes(type), x, y);
}

vf_status vf_fill(vf_queue *queue, vf_dtype type, int64_t n, const void *value, void *y)
{
    if (n < 0)
        return refuse(queue, "a fill", n);
    return n == 0 ? VF_OK : ops_for(queue)->fill(queue, vf_dtype_bytes(type), n, value, y);
}

vf_status vf_gather(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x, void *y)
{
    if (n < 0)
        return refuse(queue, "a gather", n);
    return n == 0 ? VF_OK : ops_for(queue)->gather(queue, vf_dtype_bytes(type), n, index, x, y);
}

/* A step from row to row, and from plane to plane, leads out of a row of counts[0]. */
static bool rows_fit(const int64_t counts[3], vf_pitch pitch)
{
    return (counts[1] <= 1 || pitch.row >= counts[0]) && (counts[2] <= 1 || pitch.plane >= counts[0]);
}

/* Two dimensions that follow each other without a gap in both arrays become one. */
static void merge(int64_t counts[3], vf_pitch *x, vf_pitch *y)
{
    if (counts[1] == 1) { /* planes take the place of rows */
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

vf_status vf_copy_box(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                      vf_pitch y_pitch)
{
    const int64_t size = (int64_t)vf_dtype_bytes(type);
    for (int a = 0; a < 3; a++)
        if (counts[a] < 0)
            return refuse(queue, "a box", counts[a]);
    if (counts[0] == 0 || counts[1] == 0 || counts[2] == 0)
        return VF_OK;
    if (!rows_fit(counts, x_pitch) || !rows_fit(counts, y_pitch))
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                       "a box with rows of %lld elements in arrays whose rows are (%lld, %lld) and (%lld, %lld) apart",
                       (long long)counts[0], (long long)x_pitch.row, (long long)x_pitch.plane, (long long)y_pitch.row,
                       (long long)y_pitch.plane);
    int64_t bytes[3] = {counts[0] * size, counts[1], counts[2]};
    vf_pitch from = {x_pitch.row * size, x_pitch.plane * size}, to = {y_pitch.row * size, y_pitch.plane * size};
    merge(bytes, &from, &to);
    merge(bytes, &from, &to); /* what were planes may be rows now */
    if (bytes[1] == 1)
        return ops_for(queue)->copy(queue, (size_t)bytes[0], x, y);
    return ops_for(queue)->box(queue, bytes, x, from, y, to);
}

vf_status vf_transpose(vf_queue *queue, vf_dtype type, int64_t batch, int64_t rows, int64_t columns, const void *x,
                       vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    if (batch < 0 || rows < 0 || columns < 0)
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                       "the transpose of %lld matrices of %lld x %lld elements", (long long)batch, (long long)rows,
                       (long long)columns);
    if (batch == 0 || rows == 0 || columns == 0)
        return VF_OK;
    const int64_t x_counts[3] = {columns, rows, batch}, y_counts[3] = {rows, columns, batch};
    if (!rows_fit(x_counts, x_pitch) || !rows_fit(y_counts, y_pitch))
        return vf_fail(vf_device_context(vf_queue_device(queue)), VF_ERR_ARGUMENT,
                       "the transpose of %lld x %lld elements in arrays whose rows are (%lld, %lld) and (%lld, %lld) "
                       "apart",
                       (long long)rows, (long long)columns, (long long)x_pitch.row, (long long)x_pitch.plane,
                       (long long)y_pitch.row, (long long)y_pitch.plane);
    return ops_for(queue)->transpose(queue, vf_dtype_bytes(type), batch, rows, columns, x, x_pitch, y, y_pitch);
}
