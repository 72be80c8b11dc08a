/* Voxfield - prefix sums of arrays in the memory of a device.
 *
 *     inclusive   y_i = x_0 + ... + x_i
 *     exclusive   y_i = 0 + x_0 + ... + x_(i-1)
 *
 * Segmented: sums begin anew at every i whose head[i] is not 0 (i = 0 always does). Memory, lengths, bits and sources
 * are as in reduce.h; the internal templates for GPUs (libcore/src/scan/scan_piece.cuh) take any associative operator
 * with an identity, not assumed commutative. Types: VF_F32, VF_F64, VF_I32, VF_I64; sums are in the type of x, but
 * those of VF_F32 are accumulated in double on a CPU (GPU: single, grouped), and VF_U8 is summed into VF_I64. Integers
 * wrap. y may be x where the types are equal; else they must not overlap.
 *
 * Variants on a GPU: "single-pass" (the default: each tile looks back at the sums of those before it, in an order that
 * is fixed; after Merrill and Garland, NVIDIA Technical Report NVR-2016-002) and "three-kernel" (reduce the runs, scan
 * their sums, scan the runs; Brown 2015). On the CPU: "chunks" (the default) and "ref", one thread and long double.
 */
#ifndef VOXFIELD_SCAN_H
#define VOXFIELD_SCAN_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_scan_options {
    vf_dtype type; /* of x */
    bool exclusive, segmented;
    const char *variant; /* NULL: the device's default */
} vf_scan_options;

typedef struct vf_scan vf_scan;

/* A plan for arrays of up to `most` elements. Errors: VF_ERR_ARGUMENT (a type that is not scanned; a length that is
 * negative or more than any memory holds), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_scan_create(vf_device *device, const vf_scan_options *options, int64_t most, vf_scan **out);
void vf_scan_destroy(vf_scan *plan); /* NULL is allowed; work in queues must be done */

/* Puts the scan of x [n] into y [n] into the queue; `head` [n] bytes, NULL unless segmented. One queue at a time may
 * use a plan. Errors: VF_ERR_ARGUMENT (n > most, a pointer is NULL, heads). */
VF_MUST_CHECK vf_status vf_scan_execute(const vf_scan *plan, vf_queue *queue, int64_t n, const void *x,
                                        const uint8_t *head, void *y);

/* The names a kind of device knows, the default first; NULL beyond the last. */
const char *vf_scan_variant_name(vf_device_kind kind, int index);

#ifdef __cplusplus
}
#endif
#endif
