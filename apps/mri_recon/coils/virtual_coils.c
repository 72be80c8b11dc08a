/* The rule of --compress auto.
 *
 * Let the noise of the coils be white, with the variance sigma^2 for a sample of weight 1. A unitary mixture of the
 * coils has white noise of the same variance, and the first K of its rows do, too. So the components that are left out
 * take signal away, and nothing else: the noise, lambda and SURE stay right, and the samples that are left are still
 * those that the mixed coil maps see.
 *
 * The covariance R = sum v d d^H has the eigenvalues r_j, and noise adds sigma^2 sum v / w to each. So the signal in
 * component j has the energy
 *
 *     e_j = r_j - sigma^2 sum v / w                      (sum over cells: each acquired cell of k-space counts once)
 *
 * Noise that is left in cells after averaging their samples has the energy sigma^2 sum v^2 / w in each coil, and C times
 * that in all C coils. The reconstruction is the same linear map for both, at the same places of k-space. So compression
 * changes the data by less than a tenth of what noise changes them, root mean square, if
 *
 *     sum_{j > K} e_j <= 0.1^2 C sigma^2 sum v^2 / w
 *
 * Two such errors of an image add up to sqrt(1 + 0.1^2) of one: 0.5 % more. That is an upper bound of sorts. Since the
 * maps are compressed, too, they explain what is left, and only the signal-to-noise ratio falls. Energies of noise
 * alone scatter about 0, and those below 0 must not hide a component: none that is left out may exceed the bound alone.
 */
#include "virtual_coils.h"

#include <math.h>
#include <stdlib.h>

#include "channel_noise.h"

static const double MOST_LOSS = 0.1; /* of the noise */
/* As for the noise of whole images: the share of samples that counts as outermost, and the most frames examined. */
static const double OUTER_SHARE = 0.15;
enum { MOST_FRAMES = 16 };
/* White noise of 32 coils and 2000 samples leaves a mean of 0.85 of its variance in the weaker half of the components.
 * Less than this is other noise. */
static const double LEAST_HALF = 0.8;
/* Noise of connected coils differs by less than these from its mean, in the weaker half of its components; signal falls
 * off faster from one to the next. */
static const double MOST_OF_MEAN = 2, LEAST_OF_MEAN = 1.0 / 3;

/* The energy of the signal in component j. Rounding can make an eigenvalue of 0 negative. */
static double signal_of(const coil_covariance *r, const double *values, double variance, int j)
{
    return (values[j] < 0 ? 0 : values[j]) - variance * r->noise;
}

double loss_of_coils(const coil_covariance *r, const double *values, double variance, int keep)
{
    double lost = 0;
    for (int j = keep; j < r->coils; j++)
        lost += signal_of(r, values, variance, j);
    return lost > 0 ? sqrt(lost / (r->coils * variance * r->left)) : 0;
}

int choose_virtual_coils(const coil_covariance *r, const double *values, double variance)
{
    const double most = MOST_LOSS * MOST_LOSS * r->coils * variance * r->left;
    double lost = 0;
    int keep = r->coils;
    if (!(variance > 0))
        return keep;
    for (int j = r->coils - 1; j >= 1; j--) { /* from the weakest: the first sum that is small enough is the last one */
        const double signal = signal_of(r, values, variance, j);
        lost += signal;
        if (isnan(signal))
            return r->coils;
        if (signal > most)
            break;
        keep = lost <= most ? j : keep;
    }
    return keep;
}

/* The least variance of the outermost samples of a few frames; 0: there are none. */
static vf_status outer_variance(vf_context *ctx, const mri_scan *raw, double *least)
{
    const int step = raw->frames > MOST_FRAMES ? raw->frames / MOST_FRAMES : 1;
    const vf_wiener_space space = wiener_space_of(raw);
    vf_status status = VF_OK;
    *least = 0;
    for (int f = 0; f < raw->frames && status == VF_OK; f += step) {
        const vf_wiener_samples samples = wiener_samples_of(raw, &raw->frame[f]);
        double variance = 0;
        if (raw->frame[f].replica > 0)
            continue;
        status =
            vf_outer_variance(ctx, &space, &samples, vf_outer_radius(ctx, &space, &samples, OUTER_SHARE), &variance);
        if (status == VF_OK && variance > 0 && (*least == 0 || variance < *least))
            *least = variance;
    }
    return status;
}

/* The mean of the weaker half of the components, over noise of variance 1. *flat: they are like noise. */
static double weaker_half(const coil_covariance *r, const double *values, bool *flat)
{
    const int first = r->coils - r->coils / 2;
    double mean = 0;
    for (int j = first; j < r->coils; j++)
        mean += fmax(values[j], 0) / (r->coils - first);
    *flat = values[first] <= MOST_OF_MEAN * mean && values[r->coils - 1] >= LEAST_OF_MEAN * mean;
    return mean / r->noise;
}

vf_status find_coil_noise(vf_context *ctx, const mri_scan *raw, const coil_covariance *r, const double *values,
                          coil_noise *out)
{
    const bool measured = raw->whitened && !raw->noise_estimated;
    bool flat = false;
    double outer = 0;
    const double half = weaker_half(r, values, &flat);
    vf_status status = VF_OK;
    *out = (coil_noise){.variance = 1, .from = "the noise scan"};
    if (!measured) {
        status = channel_outer_noise(ctx, raw, &outer);
        *out = (coil_noise){.from = "there is no noise scan, and the outermost samples have signal"};
        if (status == VF_OK && outer > 0 && flat) {
            out->from = "the outermost samples";
            status = outer_variance(ctx, raw, &out->variance);
        }
    }
    if (out->variance > 0 && half < LEAST_HALF * out->variance)
        *out = flat ? (coil_noise){half, "the weaker half of the components"}
                    : (coil_noise){0, "the noise scan has more noise than the samples"};
    return status;
}
