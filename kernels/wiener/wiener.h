/* Voxfield - noise and signal of a scan, and the regularisation weights that follow from them.
 *
 * An image is modelled as a realisation of a stationary random field: frequency k of its unnormalised discrete
 * transform X has the variance S(|k|). With noise of variance sigma^2 per sample, the estimate with the least mean
 * square error is Wiener's, the solution of
 *
 *     (F^H W F + lambda P) x = F^H W d,     lambda = 1, P circulant with the eigenvalues p(k) = sigma^2 N / S(|k|)
 *
 * S follows from the data: if the squares of the coil maps add up to `power`, the variance of samples d_c(k), summed
 * over coils, is power S(|k|) |phi|^2 + coils sigma^2. F^H W F is close to a circulant matrix. Its eigenvalues c(k) are
 * the number of samples around k (vf_sampling_density), times N and the power. This gives forecasts of noise and bias,
 * the best weight of any circulant prior, and a preconditioner, all without solving the system.
 *
 * Wiener, Extrapolation, Interpolation and Smoothing of Stationary Time Series (1949); Chan, SIAM J. Sci. Stat. Comput.
 * 9 (1988) 766. docs/image_accuracy.md has the measurements. All arrays are in host memory, [z][y][x] with x fastest;
 * index n of an axis is frequency k = n - N/2 (integer division).
 */
#ifndef VOXFIELD_WIENER_H
#define VOXFIELD_WIENER_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The frequencies of an image: voxels along x, y, z, and the field of view in mm. An axis of one voxel is ignored. */
typedef struct vf_wiener_space {
    int64_t matrix[3];
    double fov[3];
} vf_wiener_space;

/* Samples of all coils. */
typedef struct vf_wiener_samples {
    int64_t count;
    const float *k; /* [count][3] cycles per field of view */
    /* [count] in the sum of squares, or NULL for 1. The noise of a sample has the variance sigma^2 / weight; samples of
     * weight 0 are ignored */
    const float *weights;
    int coils;
    const float *data; /* [coils][count] complex, interleaved */
    int64_t stride;    /* complex numbers from a coil to the next; 0: count */
    int received; /* coils that these were combined from: what is not known of the noise's variance counts for all of
                   * them, so that combining coils does not change weights that follow from the spectrum; 0: coils */
} vf_wiener_samples;

/* |k| in cycles/mm of a frequency or sample k in cycles per field of view. */
double vf_wiener_radius(const vf_wiener_space *space, const double k[3]);

/* The radius in cycles/mm beyond which a share `share` of all used samples lies. With the context's threads. */
double vf_outer_radius(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                       double share);
/* The same for several shares at once, in about the time of one. */
void vf_outer_radii(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples, int shares,
                    const double *share, double *radius);

/* of[m] is how many of the `radii` sample m is not within: 0 if its radius is below all of them. With the context's
 * threads. */
void vf_rings_of(const vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples, int radii,
                 const double *radius, unsigned char *of);

/* Of the used samples at `radius` or beyond, *count, evenly spaced ones in order, at most `most`: the first of each *count / most + 1.
 * Their places: *index [*taken], which the caller frees. With the context's threads. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_outer_samples(vf_context *ctx, const vf_wiener_space *space,
                                         const vf_wiener_samples *samples, double radius, int64_t most, int64_t **index,
                                         int64_t *taken, int64_t *count);

/* Estimates the variance of the noise, sigma^2 = E|n|^2 for one coil's sample of weight 1, from the samples beyond
 * `radius`, which should contain only noise: the mean over coils of median w |d|^2 / ln 2. Signal there makes it too
 * large. Samples that are exactly 0 in a coil count as not acquired. The result is 0 if no samples are left. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_outer_variance(vf_context *ctx, const vf_wiener_space *space,
                                          const vf_wiener_samples *samples, double radius, double *variance);

enum { VF_SPECTRUM_BINS = 128 };

/* S by radius: linear interpolation of log S over log radius between bins, a power of the radius beyond the last
 * bin. */
typedef struct vf_spectrum {
    int bins;
    double log_radius[VF_SPECTRUM_BINS], log_power[VF_SPECTRUM_BINS];
    double slope; /* of log S over log radius, beyond the last bin */
} vf_spectrum;

/* Sums over the samples of each bin of radii: of sum_c |d_c|^2, of the radius, of 1 / weight; and how many there are. */
typedef struct vf_spectrum_sums {
    struct vf_spectrum_bin {
        double power, radius, noise, count;
    } bin[VF_SPECTRUM_BINS];
    int coils;
    double known; /* relative uncertainty of the noise's variance */
} vf_spectrum_sums;

/* What vf_spectrum_estimate needs of the samples, for several variances. The bits do not depend on the number of threads. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_spectrum_add_up(vf_context *ctx, const vf_wiener_space *space,
                                           const vf_wiener_samples *samples, vf_spectrum_sums *out);
/* vf_spectrum_estimate, from the sums of its samples. */
void vf_spectrum_of_sums(const vf_wiener_space *space, const vf_spectrum_sums *sums, double variance, double power,
                         vf_spectrum *out);

/* Estimates S from samples with noise of `variance`. `power`: the sum of the maps' squares where the object is. S of
 * each bin is the expectation given the bin's mean, the uncertainty of the mean, and that power is not negative. A scan
 * of zeros has S = 1. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_spectrum_estimate(vf_context *ctx, const vf_wiener_space *space,
                                             const vf_wiener_samples *samples, double variance, double power,
                                             vf_spectrum *out);
double vf_spectrum_at(const vf_spectrum *spectrum, double radius); /* > 0 */

/* Fills [z][y][x] with S at all frequencies of the space, with the context's threads. */
void vf_spectrum_fill(vf_context *ctx, const vf_wiener_space *space, const vf_spectrum *spectrum, double *out);

/* out[z][y][x] = N sum_m w_m b(k_m - k): the number of samples per frequency, spread by a kernel b about as wide as the
 * spectrum of coil maps (a triangle, twice smoothed by 1/4, 1/2, 1/4). The mean over frequencies is sum_m w_m.
 * `weights` (NULL: 1) are w |phi|^2. With the context's threads; the bits do not depend on their number. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_sampling_density(vf_context *ctx, const vf_wiener_space *space, int64_t count,
                                            const float *k, const double *weights, double *out);

/* A forecast for the solution of (C + w P) x = C x0 + noise. C and P are circulant with eigenvalues c and p (p NULL:
 * 1), and x0 has the spectrum S. Values are root mean squares over voxels. */
typedef struct vf_forecast {
    double signal;  /* of the image */
    double noise;   /* of the solution */
    double bias;    /* of the signal that the prior removes */
    double freedom; /* trace of C (C + w P)^-1: the number of complex numbers determined by the data */
    double outer;   /* the part of it from frequencies beyond `radius` */
} vf_forecast;
/* With the context's threads; the bits do not depend on their number. */
void vf_wiener_forecast(vf_context *ctx, const vf_wiener_space *space, double variance, const double *c,
                        const double *s, const double *p, double w, double radius, vf_forecast *out);

/* The w with the smallest noise^2 + bias^2, to 2 %. `near` > 0: an initial guess. */
double vf_wiener_best_weight(vf_context *ctx, const vf_wiener_space *space, double variance, const double *c,
                             const double *s, const double *p, double near);

#ifdef __cplusplus
}
#endif
#endif
