/* Voxfield - noise and signal of a scan, and the regularisation weights that follow from them.
 *
 * An image is modelled as one draw from a stationary random field: frequency k of its unnormalised discrete transform X
 * has the variance S(|k|). With noise of variance sigma^2 a sample, the estimate of least mean square error is
 * Wiener's, the image that solves
 *
 *     (F^H W F + lambda P) x = F^H W d,     lambda = 1, P circulant with the eigenvalues p(k) = sigma^2 N / S(|k|)
 *
 * S follows from the data: if the squares of the coil maps add up to `power`, samples d_c(k) have the variance
 * power S(|k|) |phi|^2 + coils sigma^2, summed over coils. F^H W F is close to a circulant matrix, whose eigenvalues
 * c(k) are the number of samples around k (vf_sampling_density), times N and the power. This gives forecasts of noise
 * and bias, the best weight of any circulant prior, and a preconditioner, all without solving the system.
 *
 * Wiener, Extrapolation, Interpolation and Smoothing of Stationary Time Series (1949); Chan, SIAM J. Sci. Stat. Comput.
 * 9 (1988) 766. docs/image_accuracy.md has the measurements. All arrays in host memory; [z][y][x] with x fastest, index
 * n of an axis being frequency k = n - N/2 (integer division).
 */
#ifndef VOXFIELD_WIENER_H
#define VOXFIELD_WIENER_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The image space of the frequencies: voxels along x, y, z, and the field of view in mm. An axis of one voxel is
 * ignored. */
typedef struct vf_wiener_space {
    int64_t matrix[3];
    double fov[3];
} vf_wiener_space;

/* Samples of all coils. */
typedef struct vf_wiener_samples {
    int64_t count;
    const float *k;       /* [count][3] cycles per field of view */
    const float *weights; /* [count] in the sum of squares, or NULL for 1: a sample of weight w has noise of variance
                           * sigma^2 / w; those of weight 0 are left out */
    int coils;
    const float *data; /* [coils][count] complex, interleaved */
} vf_wiener_samples;

/* |k| in cycles/mm of frequency or sample k, cycles per field of view. */
double vf_wiener_radius(const vf_wiener_space *space, const double k[3]);

/* The radius in cycles/mm beyond which `share` of all used samples lie. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_outer_radius(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                                        double share, double *radius);

/* The variance of the noise, sigma^2 = E|n|^2 of one coil's sample of weight 1, if samples from `radius` on are noise
 * alone: the mean over coils of median w |d|^2 / ln 2. Signal there makes it too large. Samples that are exactly 0 in a
 * coil count as not acquired. 0 if no samples are left. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_outer_variance(vf_context *ctx, const vf_wiener_space *space,
                                          const vf_wiener_samples *samples, double radius, double *variance);

enum { VF_SPECTRUM_BINS = 128 };

/* S by radius: a line through log S over log radius from bin to bin, a power of the radius beyond the last. */
typedef struct vf_spectrum {
    int bins;
    double log_radius[VF_SPECTRUM_BINS], log_power[VF_SPECTRUM_BINS];
    double slope; /* of log S over log radius, beyond the last bin */
} vf_spectrum;

/* S from samples with noise of `variance`; `power`: the sum of the maps' squares where the object is. Each
 * bin has its expected value, given that power is not negative, the bin's mean, and the uncertainty of the mean. A scan
 * of zeros has S = 1. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_spectrum_estimate(vf_context *ctx, const vf_wiener_space *space,
                                             const vf_wiener_samples *samples, double variance, double power,
                                             vf_spectrum *out);
double vf_spectrum_at(const vf_spectrum *spectrum, double radius); /* > 0 */

/* S of all frequencies of the space: [z][y][x]. With the context's threads. */
void vf_spectrum_fill(vf_context *ctx, const vf_wiener_space *space, const vf_spectrum *spectrum, double *out);

/* out[z][y][x] = N sum_m w_m b(k_m - k): samples a frequency, spread by a kernel about as wide as the spectrum of coil
 * maps (a triangle, twice smoothed by 1/4, 1/2, 1/4); its mean over frequencies is sum_m w_m. `weights` (NULL: 1) are
 * w |phi|^2. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_sampling_density(vf_context *ctx, const vf_wiener_space *space, int64_t count,
                                            const float *k, const double *weights, double *out);

/* The forecast for the solution of (C + w P) x = C x0 + noise, with C and P circulant of eigenvalues c and p (p NULL:
 * 1) and x0 of spectrum S: root mean squares over voxels. */
typedef struct vf_forecast {
    double signal;  /* of the image itself */
    double noise;   /* of the noise in the solution */
    double bias;    /* of the part that the prior removes from the image */
    double freedom; /* trace of C (C + w P)^-1: number of complex numbers taken from the data */
    double outer;   /* the part of it at frequencies from `radius` on */
} vf_forecast;
void vf_wiener_forecast(const vf_wiener_space *space, double variance, const double *c, const double *s,
                        const double *p, double w, double radius, vf_forecast *out);

/* The w with the smallest noise^2 + bias^2, to 2 %; `near` > 0: the initial guess. */
double vf_wiener_best_weight(const vf_wiener_space *space, double variance, const double *c, const double *s,
                             const double *p, double near);

#ifdef __cplusplus
}
#endif
#endif
