#include <math.h>

#include "mri_recon.h"

vf_status compare_images(vf_context *ctx, int64_t voxels, const float complex *image, const float *truth,
                         image_error *out)
{
    double squares = 0, energy = 0, largest = -INFINITY;
    *out = (image_error){0};
    if (voxels < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the comparison with the truth: there are no voxels to compare");
    for (int64_t i = 0; i < voxels; i++) {
        const double re = (double)crealf(image[i]), im = (double)cimagf(image[i]), expected = (double)truth[i];
        const double error = sqrt(re * re + im * im) - expected;
        squares += error * error;
        energy += expected * expected;
        largest = fmax(largest, expected);
    }
    if (!isfinite(energy))
        return vf_fail(ctx, VF_ERR_INPUT, "the comparison with the truth: the truth has values that are not finite");
    if (!isfinite(squares))
        return vf_fail(ctx, VF_ERR_INPUT, "the comparison with the truth: the image has values that are not finite");
    if (!(energy > 0) || !(largest > 0))
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "the comparison with the truth: the truth is nowhere above zero, so no error can be relative to it");
    const double rms = sqrt(energy / (double)voxels);
    out->mse = squares / (double)voxels;
    out->psnr = 20 * log10(largest / sqrt(out->mse));
    out->snr = 20 * log10(rms / sqrt(out->mse));
    out->percent = 100 * sqrt(out->mse) / rms;
    return VF_OK;
}
