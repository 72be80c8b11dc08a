/* What a device does for cosine matrices around its Fourier transforms; not installed.
 *
 * A cosine transform of length N is a Fourier transform of the same length (Makhoul, IEEE Trans. ASSP 28 (1980) 27). With v(n) = x(2n)
 * from the front and v(N - 1 - n) = x(2n + 1) from the back, V its Fourier transform, and w_k = exp(-i pi k / (2 N)),
 *
 *     X_k = sum_n x(n) cos(pi k (n + 1/2) / N) = (w_k V_k + conj(w_k) V_(N-k)) / 2,        V_k = conj(w_k) (X_k - i X_(N-k)),
 *
 * with V_N = V_0 and X_N = 0. Both hold for complex x, and for one axis after the other. So M x is: the order of v, a forward
 * transform, the eight numbers at +-k along each axis mixed to X, multiplied by m(k) over the number of voxels and mixed back, a
 * backward transform, and the order of x. */
#ifndef VOXFIELD_COSINE_BACKEND_H
#define VOXFIELD_COSINE_BACKEND_H

#include "backend/registry.h"
#include "voxfield/device.h"

typedef struct vf_cosine_backend {
    /* y = x in the order of v, or back. `counts`: [3] along x, y, z; complex numbers of `type`. */
    vf_status (*order)(vf_queue *queue, vf_dtype type, const int64_t counts[3], bool back, const void *x, void *y);
    /* Mixes, multiplies and mixes back, in place. `turns`: w_k for k = 0 to N_a / 2, of x, then y, then z. `eigenvalues`:
     * m(k), [z][y][x], real. */
    vf_status (*mix)(vf_queue *queue, vf_dtype type, const int64_t counts[3], const void *turns,
                     const void *eigenvalues, void *v);
} vf_cosine_backend;

#ifdef __cplusplus
extern "C" {
#endif
extern const vf_cosine_backend vf_cosine_cuda;
#ifdef __cplusplus
}
#endif

#endif
