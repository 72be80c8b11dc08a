/* Voxfield - F, the Fourier encoding of one trajectory: direct sum, NUFFT, or FFT of the samples' grid, behind one
 * interface.
 *
 *     forward   c_m = sum_n x_n exp(-i 2 pi (k_m . r_n + t_m f_n))
 *     adjoint   y_n = sum_m c_m exp(+i 2 pi (k_m . r_n + t_m f_n))
 *
 * k_m in cycles per field of view, r_n = (n - N/2)/N (integer division) in fields of view along each axis, t_m in s,
 * f_n in Hz. Coil maps, weights and the factors phi_m are not part of it.
 */
#ifndef VOXFIELD_ENCODING_H
#define VOXFIELD_ENCODING_H

#include "fourier_sum.h"
#include "gridding.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* How F is computed. OFF_GRID: as AUTO, but never the FFT of the grid. */
typedef enum vf_encode_by {
    VF_ENCODE_AUTO,
    VF_ENCODE_DIRECT,
    VF_ENCODE_NUFFT,
    VF_ENCODE_CARTESIAN,
    VF_ENCODE_OFF_GRID
} vf_encode_by;

/* Host memory; plans copy what they need. */
typedef struct vf_encoding_samples {
    int64_t count;
    const float *k;     /* [count][3] kx, ky, kz */
    const float *time;  /* [count]; without both time and field there is no off-resonance */
    const float *field; /* [z][y][x] */
} vf_encoding_samples;

typedef struct vf_encoding_options {
    vf_encode_by by;
    vf_dtype precision;  /* VF_F32, VF_F64 */
    double accuracy;     /* of the NUFFT */
    int most_batch;      /* the most vectors per call, >= 1 */
    int extent;          /* fields of view that the matrix covers: 1 (or 0) for images, 2 for Q. With 2, r_n = (n - N/2)
                          * / (N/2) and k is unchanged; an axis of one voxel has r = 0 */
    vf_trig trig;        /* of the direct sum */
    const char *variant; /* of the direct sum; NULL: the device's default */
    vf_fourier_tuning tuning; /* of the direct sum; 0: the library's own */
    double piece_pairs; /* sample-voxel pairs of a direct sum between checks for progress and cancellation; 0: about a
                          * second of work */
} vf_encoding_options;

/* The choice for VF_ENCODE_AUTO and _OFF_GRID; other values are returned as they are. AUTO takes the FFT if all samples
 * lie on a grid and there is no off-resonance. Otherwise both take the direct sum for few pairs of samples and voxels,
 * else the NUFFT. */
vf_encode_by vf_encoding_choose(vf_encode_by wish, const int64_t matrix[3], int64_t samples, const float *k,
                                bool off_resonance);

/* As vf_cartesian_fits; also false, with *first = -1, if there are too many voxels or samples for it. */
bool vf_encoding_fits(const int64_t matrix[3], int64_t samples, const float *k, int64_t *first, double *distance);

typedef struct vf_encoding vf_encoding;

/* Errors: VF_ERR_ARGUMENT (options; times and field map too large together), those of vf_fourier_create,
 * vf_nufft_create and vf_cartesian_create; *out is NULL then. */
VF_MUST_CHECK vf_status vf_encoding_create(vf_device *device, const int64_t matrix[3],
                                           const vf_encoding_samples *samples, const vf_encoding_options *options,
                                           vf_encoding **out);
void vf_encoding_destroy(vf_encoding *e); /* NULL is allowed; work in the queue must be done */

/* Sets a progress callback: each adjoint of a vector adds 1 in all, a long one in parts. NULL removes it. */
typedef void vf_encoding_tell(void *user, double more);
void vf_encoding_watch(vf_encoding *e, vf_encoding_tell *tell, void *user);

/* Restricts adjoints from now on to voxels [first, first + count). Then y is [batch][count], and the progress is that
 * share of 1. The bits stay the same. Only for direct sums; else it does nothing. */
void vf_encoding_restrict(vf_encoding *e, int64_t first, int64_t count);

/* y = F^H c and c = F x. c is [batch][sample], x and y are [batch][z][y][x]: complex numbers of the plan's precision in
 * VF_SPACE_DEVICE memory. Asynchronous, but a long direct sum waits between its pieces. One queue at a time may use a
 * plan. Errors: VF_ERR_INTERNAL (arrays too small), VF_ERR_CANCELLED, those of the sums. */
VF_MUST_CHECK vf_status vf_encoding_adjoint(vf_encoding *e, vf_queue *queue, int batch, const vf_array *c, vf_array *y);
VF_MUST_CHECK vf_status vf_encoding_forward(vf_encoding *e, vf_queue *queue, int batch, const vf_array *x, vf_array *c);

/* A text such as "NUFFT to 1e-06, kernel of 7 points on 256 x 256 x 256". */
const char *vf_encoding_description(const vf_encoding *e);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
