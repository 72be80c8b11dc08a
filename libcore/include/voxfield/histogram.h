/* Voxfield - histograms of arrays in device memory.
 *
 * Memory, lengths and queues as in reduce.h. GPUs use CUB (CUDA Toolkit), the CPU the context's threads. Counts are
 * exact, so results are the same on all devices.
 */
#ifndef VOXFIELD_HISTOGRAM_H
#define VOXFIELD_HISTOGRAM_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bins of a histogram: [edge_b, edge_(b+1)), the last one closed. */
typedef struct vf_histogram_bins {
    vf_dtype type;       /* VF_U8: 256 bins, a value each; VF_F32, VF_F64: by edges */
    int bins;            /* by edges: 1 to 65,536; VF_U8: 256, or 0 for the same */
    const double *edges; /* [bins + 1], host memory, ascending, finite; NULL for VF_U8 */
} vf_histogram_bins;

typedef struct vf_histogram vf_histogram;

/* Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_histogram_create(vf_device *device, const vf_histogram_bins *bins, int64_t most,
                                            vf_histogram **out);
void vf_histogram_destroy(vf_histogram *plan); /* NULL is allowed; work in queues must be done */

/* counts [bins], device memory, overwritten (256 for VF_U8). Values beyond the edges, and NaN, are not counted. Errors:
 * VF_ERR_ARGUMENT (n > most, a pointer is NULL). */
VF_MUST_CHECK vf_status vf_histogram_execute(const vf_histogram *plan, vf_queue *queue, int64_t n, const void *x,
                                             uint64_t *counts);

#ifdef __cplusplus
}
#endif
#endif
