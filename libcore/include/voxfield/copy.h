/* Voxfield - what moves elements and does not look at them: copy, fill, gather, boxes of arrays.
 *
 * All arrays are VF_SPACE_DEVICE memory of the queue's device, aligned to their elements at least; source and
 * destination must not overlap. Lengths are 64-bit, 0 is allowed. Operations go into the queue: asynchronous on a GPU,
 * at once with the context's threads on the CPU. `type` says how large an element is. Between host and device:
 * vf_queue_copy (device.h), and with computing beside it pipeline.h. Errors: VF_ERR_ARGUMENT (no such type, a length
 * that is negative or more than any memory holds, a pointer that is NULL though there are elements). Whether source and
 * destination overlap is not checked.
 */
#ifndef VOXFIELD_COPY_H
#define VOXFIELD_COPY_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y_i = x_i */
VF_MUST_CHECK vf_status vf_copy(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y);

/* y_i = *value, which is in host memory and may go afterwards */
VF_MUST_CHECK vf_status vf_fill(vf_queue *queue, vf_dtype type, int64_t n, const void *value, void *y);

/* y_i = x_(index_i), for i in [0, n). `index`: device memory; the caller vouches that it stays within x. */
VF_MUST_CHECK vf_status vf_gather(vf_queue *queue, vf_dtype type, int64_t n, const uint32_t *index, const void *x,
                                  void *y);

/* How an array of three dimensions lies in memory: element (i, j, k) is at i + row j + plane k elements. */
typedef struct vf_pitch {
    int64_t row, plane;
} vf_pitch;

/* Copies a box of counts[2] x counts[1] x counts[0] elements (z, y, x). Crop: x points to the first element that is
 * kept, with the larger array's pitch; pad: y points to where the first is to go, after vf_fill. In neither array may
 * rows overlap. What is checked: of the two steps, row and plane, the smaller one is at least a row long, the larger
 * one at least as long as all that the smaller one's rows reach over (so whole planes may lie in the gaps between
 * rows). The step of a count of 1 does not matter. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_copy_box(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *x,
                                    vf_pitch x_pitch, void *y, vf_pitch y_pitch);

/* The transpose of `batch` matrices: y[b][j][i] = x[b][i][j], i < rows, j < columns, where b is the third dimension:
 * {columns, rows * columns} and {rows, rows * columns} are the pitches of matrices one after the other. x and z of
 * [z][y][x] exchanged: batch ny, rows nz, columns nx, pitches {ny * nx, nx} and {ny * nz, nz}. Pitches are checked as
 * those of a box. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status vf_transpose(vf_queue *queue, vf_dtype type, int64_t batch, int64_t rows, int64_t columns,
                                     const void *x, vf_pitch x_pitch, void *y, vf_pitch y_pitch);

#ifdef __cplusplus
}
#endif
#endif
