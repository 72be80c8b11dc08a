/* Voxfield - reordering of arrays over a grid. */
#ifndef VOXFIELD_TRANSPOSE_H
#define VOXFIELD_TRANSPOSE_H

#include <stdint.h>

#include "voxfield/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Turns [z][y][x] (x fastest) into [x][y][z] (z fastest). `src` and `dst`: nx * ny * nz elements of `type` (VF_F32
 * or VF_F64) in host memory, not overlapping. Uses the context's threads; blocking. Its own inverse with nx and nz
 * exchanged. */
void vf_swap_xz(const vf_context *ctx, vf_dtype type, int64_t nx, int64_t ny, int64_t nz, const void *src, void *dst);

#ifdef __cplusplus
}
#endif
#endif
