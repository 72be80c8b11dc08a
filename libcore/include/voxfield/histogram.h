/* Voxfield - histograms of arrays in device memory.
 *
 *     counts_b = number of x_i in bin b
 *
 * Bins, by the type of x:
 *   VF_U8            256 bins, one for each value
 *   VF_F32, VF_F64   by edges: bin b is [edge_b, edge_(b+1)), the last one closed. An edge is compared with the exact
 *                    value of x, also in single precision
 *   VF_I32, VF_I64   of equal width: bin b is [first + b width, first + (b + 1) width)
 * Values outside all bins, and NaN, are not counted. Memory, lengths and queues as in reduce.h. Counts are exact, so all
 * variants on all devices give the same.
 *
 * Variants on a GPU: "tuned" (the default) and, for bytes only, "trish" (counters of a byte, private to threads, in shared
 * memory without atomics: Brown, PhD thesis, University of North Carolina (2015), chapter 8). On the CPU: "tables" (the
 * default: counts for each thread) and "ref" (the definition, one thread).
 */
#ifndef VOXFIELD_HISTOGRAM_H
#define VOXFIELD_HISTOGRAM_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

typedef struct vf_histogram_options {
    vf_dtype type;        /* of x */
    int bins;             /* 1 to 65,536; VF_U8: 256, or 0 for the same */
    const double *edges;  /* VF_F32, VF_F64: [bins + 1], host memory, ascending, finite; otherwise NULL */
    int64_t first, width; /* VF_I32, VF_I64: width at least 1, bins * width below 2^64; otherwise 0 */
    const char *variant;  /* NULL: the device's default */
} vf_histogram_options;

typedef struct vf_histogram vf_histogram;

/* A plan for arrays of up to `most` elements. Errors: VF_ERR_ARGUMENT (bins, edges, an unknown variant, a variant that
 * does not count this type), VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_histogram_create(vf_device *device, const vf_histogram_options *options, int64_t most,
                                            vf_histogram **out);
void vf_histogram_destroy(vf_histogram *plan); /* NULL is allowed; work in queues must be done */

/* Puts the histogram of x [n] into counts [bins], device memory, overwritten (256 for VF_U8). One queue at a time may use
 * a plan. Errors: VF_ERR_ARGUMENT (n > most, a pointer is NULL). */
VF_MUST_CHECK vf_status vf_histogram_execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x,
                                             uint64_t *counts);

/* The names of a device kind's variants, the default first; NULL beyond the last. */
const char *vf_histogram_variant_name(vf_device_kind kind, int index);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
