/* Large copies between ordinary host memory and a GPU. Not installed.
 *
 * The driver copies such memory with one thread by way of pinned memory: to a GPU at 8 GB/s on the machine with an H100 where this
 * was measured by hand, from one at 3 GB/s on a machine with an H200. Four threads of ours, with two buffers by turns, reach 20 to
 * the H100. */
#ifndef VOXFIELD_COPY_STAGED_CUH
#define VOXFIELD_COPY_STAGED_CUH

#include <cuda_runtime.h>

#include "voxfield/device.h"

/* Puts the copy into the stream of the current device, `device`. Returns when the host memory may be used again, and of a copy to the
 * host has all bytes. False: it is not a large copy between ordinary memory and this device, or the buffers are in use or cannot be
 * had; nothing was done. */
bool vf_copy_staged(vf_device *device, cudaStream_t stream, void *to, const void *from, size_t bytes,
                    vf_status *status);

#endif
