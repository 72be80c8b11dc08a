/* Voxfield - coil maps from smooth images of the coils (Walsh's method), and functions to make such images. Arrays are
 * in host memory, [coil][z][y][x] or [coil][sample], complex numbers of single precision, interleaved. For ESPIRiT see
 * espirit.h, for joint estimation nlinv.h.
 */
#ifndef VOXFIELD_COIL_MAPS_H
#define VOXFIELD_COIL_MAPS_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adaptive combination (Walsh, Gmitro and Marcellin, Magn. Reson. Med. 43 (2000) 682): the maps are the dominant
 * eigenvector of the local covariance of `images`, which are made from the centre of k-space. `maps` may be `images`.
 * The sum over coils of |s|^2 is 1 where the signal is at least a thousandth of the strongest, else 0. The phase is
 * relative to the coil with most signal. Errors: VF_ERR_MEMORY, VF_ERR_INPUT (images that are not finite),
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_coil_maps_walsh(vf_context *ctx, const int64_t matrix[3], int coils, const void *images,
                                           void *maps);

/* Weights samples by a Hann window of |k| / k_cut, which is 0 from 1 on; axes with k_cut <= 0 do not count. `k`
 * [samples][3]; `data` [coils][samples]; `out` may be `data`. */
void vf_taper_centre(int64_t samples, const float *k, const double k_cut[3], int coils, const void *data, void *out);

/* sqrt(sum over coils |x|^2), as a complex image of phase 0; `out` may be `images`. */
void vf_root_sum_of_squares(int coils, int64_t voxels, const void *images, void *out);

#ifdef __cplusplus
}
#endif
#endif
