/* Voxfield - prefix sums of arrays in device memory, and scans with other operators.
 *
 *     inclusive   y_i = x_0 + ... + x_i
 *     exclusive   y_i = identity + x_0 + ... + x_(i-1)
 *
 * Segmented: sums restart at every i with nonzero head[i] (and at i = 0). Memory, lengths, bits and sources are as in
 * reduce.h. y may be x if the types are equal; otherwise they must not overlap.
 *
 * operator                    identity                          types of x
 * sum                         0                                 VF_F32, VF_F64, VF_I32, VF_I64; VF_U8 into VF_I64
 * product                     1                                 VF_F32, VF_F64, VF_I32, VF_I64
 * minimum, maximum            infinity, -infinity; the          VF_F32, VF_F64, VF_I32, VF_I64
 *                             greatest, the least integer
 * bitwise and, or             all bits set, 0                   VF_I32, VF_I64
 *
 * y has the type of x, except that VF_U8 is summed into VF_I64, and with `wide` VF_I32, too. Sums and products of VF_F32
 * are accumulated in double on a CPU (GPU: single, grouped); integers wrap. NaN stays until the segment ends. Of equal
 * extremes the first counts, so the signs of zeros are those of the elements.
 *
 * Operators of the caller's own: on a CPU, vf_scan_by; for GPUs the internal templates (libcore/src/scan/scan_piece.cuh)
 * take any associative operator with an identity, commutative or not.
 *
 * Variants on a GPU: "single-pass" (the default: each tile looks back at the sums of earlier tiles, in a fixed order;
 * after Merrill and Garland, NVIDIA Technical Report NVR-2016-002) and "three-kernel" (reduce the runs, scan
 * their sums, scan the runs; Brown 2015). On the CPU: "chunks" (the default) and "ref", one thread and long double.
 */
#ifndef VOXFIELD_SCAN_H
#define VOXFIELD_SCAN_H

#include <stdint.h>

#include "voxfield/device.h"
#include "voxfield/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef enum vf_scan_operator {
    VF_SCAN_SUM,
    VF_SCAN_PRODUCT,
    VF_SCAN_MIN,
    VF_SCAN_MAX,
    VF_SCAN_AND,
    VF_SCAN_OR
} vf_scan_operator;

typedef struct vf_scan_options {
    vf_dtype type; /* of x */
    bool exclusive, segmented;
    const char *variant; /* NULL: the device's default */
    vf_scan_operator op;
    bool wide; /* sums of VF_I32 are VF_I64 */
} vf_scan_options;

typedef struct vf_scan vf_scan;

/* A plan for arrays of up to `most` elements. Errors: VF_ERR_ARGUMENT (unsupported type or operator; a length that is negative or
 * exceeds any memory), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_scan_create(vf_device *device, const vf_scan_options *options, int64_t most, vf_scan **out);
void vf_scan_destroy(vf_scan *plan); /* NULL is allowed; work in queues must be done */

/* Puts the scan of x [n] into y [n] into the queue; `head` [n] bytes, NULL unless segmented. One queue at a time may
 * use a plan. Errors: VF_ERR_ARGUMENT (n > most, a pointer is NULL, heads). */
VF_MUST_CHECK vf_status vf_scan_execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x,
                                        const uint8_t *head, void *y);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_scan_variant_name(vf_device_kind kind, int index);

/* The scan of x [n] with an operator of the caller's own (reduce.h) into the states y [n], on a CPU; all as in vf_reduce_by.
 * y must not overlap x. */
VF_MUST_CHECK vf_status vf_scan_by(vf_queue *queue, const vf_monoid *op, bool exclusive, int64_t n, const void *x,
                                   void *y);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
