/* Voxfield - copy, fill, gather, scatter, and boxes of arrays, on a device.
 *
 * All arrays are VF_SPACE_DEVICE memory of the queue's device, aligned at least to their elements. Source and
 * destination must not overlap (not checked). Lengths are 64-bit; 0 is allowed. Operations go into the queue:
 * asynchronous on a GPU, immediate with the context's threads on the CPU. `type` gives the size of an element. For
 * copies between host and device see vf_queue_copy (device.h), and pipeline.h for copies that overlap computation.
 * Errors: VF_ERR_ARGUMENT (invalid type; a length that is negative or exceeds any memory; NULL for a non-empty array).
 */
#ifndef VOXFIELD_COPY_H
#define VOXFIELD_COPY_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* y_i = x_i */
VF_MUST_CHECK vf_status vf_copy(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y);

/* y_i = *value, in host memory; may be freed after the call */
VF_MUST_CHECK vf_status vf_fill(vf_queue *queue, vf_dtype type, int64_t n, const void *value, void *y);

/* y_i = x_(index_i), for i in [0, n). `index`: device memory; not checked against the length of x. */
VF_MUST_CHECK vf_status vf_gather(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x,
                                  void *y);

/* y_(index_i) = x_i, for i in [0, n): the inverse of a gather. `index`: device memory; not checked against the length of
 * y. The indices must be distinct (not checked): of equal ones any x_i may be stored, or parts of several. Other
 * elements of y stay as they are. */
VF_MUST_CHECK vf_status vf_scatter(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x,
                                   void *y);

/* Memory layout of a 3D array: element (i, j, k) is at i + row j + plane k elements. */
typedef struct vf_pitch {
    int64_t row, plane;
} vf_pitch;

/* Copies a box of counts[2] x counts[1] x counts[0] elements (z, y, x). To crop, x points to the first element to keep,
 * with the larger array's pitch. To pad, call vf_fill first; y points to the destination of the first element. Rows
 * must not overlap in either array. This is checked: the smaller of the two steps, row and plane, must be at least the
 * length of a row. The larger must be at least the extent of all rows along the smaller one (so whole planes may lie in
 * the gaps between rows). If a count is 1, its step does not matter. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_copy_box(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x,
                                    vf_pitch x_pitch, void *y, vf_pitch y_pitch);

/* Transposes `batch` matrices: y[b][j][i] = x[b][i][j], i < rows, j < columns. b is the third dimension: the pitches of
 * consecutive matrices are {columns, rows * columns} and {rows, rows * columns}. To exchange x and z of [z][y][x]:
 * batch ny, rows nz, columns nx, pitches {ny * nx, nx} and {ny * nz, nz}. Pitches are checked as in vf_copy_box.
 * Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_transpose(vf_queue *queue, vf_dtype type, int64_t batch, int64_t rows, int64_t columns,
                                     const void *x, vf_pitch x_pitch, void *y, vf_pitch y_pitch);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
