/* Large copies from ordinary host memory to a GPU. Not installed.
 *
 * The driver copies such memory with one thread into pinned memory, from which the GPU reads it, at 8 GB/s on the
 * machine with an H100 where this was measured by hand. Four threads of ours, with two buffers by turns, reach 20. */
#ifndef VOXFIELD_UPLOAD_STAGED_CUH
#define VOXFIELD_UPLOAD_STAGED_CUH

#include <cuda_runtime.h>

#include "voxfield/device.h"

/* Puts the copy into the stream of the current device, `device`. Returns when the host memory may be used again. False: it
 * is not a large copy from ordinary memory to this device, or the buffers are in use or cannot be had; nothing was
 * done. */
bool vf_upload_staged(vf_device *device, cudaStream_t stream, void *to, const void *from, size_t bytes,
                      vf_status *status);

#endif
