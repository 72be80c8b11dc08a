#include <math.h>
#include <stdio.h>

#include "recon_image.h"
#include "voxfield/statistics.h"

/* Error measures from `squares` = sum (I - I0)^2, as published. */
static image_error figures(int64_t voxels, double squares, double energy, double largest)
{
    const double mse = squares / (double)voxels, rms = sqrt(energy / (double)voxels);
    return (image_error){.mse = mse,
                         .psnr = 20 * log10(largest / sqrt(mse)),
                         .snr = 20 * log10(rms / sqrt(mse)),
                         .percent = 100 * sqrt(mse) / rms};
}

static double magnitude(float complex value)
{
    const double re = (double)crealf(value), im = (double)cimagf(value);
    return sqrt(re * re + im * im);
}

static double sum_of_squares(int64_t voxels, const float complex *image, const float *truth, double scale)
{
    double squares = 0;
    for (int64_t i = 0; i < voxels; i++) {
        const double error = scale * magnitude(image[i]) - (double)truth[i];
        squares += error * error;
    }
    return squares;
}

static double product(int64_t voxels, const float complex *image, const float *truth)
{
    double sum = 0;
    for (int64_t i = 0; i < voxels; i++)
        sum += magnitude(image[i]) * (double)truth[i];
    return sum;
}

vf_status compare_images(vf_context *ctx, const char *name, int64_t voxels, const float complex *image,
                         const float *truth, image_comparison *out)
{
    vf_reduced energy, own, largest;
    *out = (image_comparison){.scale = 1};
    if (voxels < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: no voxels to compare", name);
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_SQUARES, VF_F32, voxels, truth, NULL, &energy);
    VF_TRY(status, vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, voxels, truth, NULL, &largest));
    VF_TRY(status, vf_host_reduce(ctx, VF_REDUCE_SQUARES, VF_C64, voxels, image, NULL, &own));
    if (status != VF_OK)
        return status;
    if (!isfinite(energy.re))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the truth has NaN or infinite values", name);
    if (!isfinite(own.re))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the image has NaN or infinite values", name);
    if (!(energy.re > 0) || !(largest.re > 0))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the truth has no positive values, so relative errors are undefined",
                       name);
    if (own.re > 0)
        out->scale = product(voxels, image, truth) / own.re;
    out->error = figures(voxels, sum_of_squares(voxels, image, truth, 1), energy.re, largest.re);
    out->scaled = figures(voxels, sum_of_squares(voxels, image, truth, out->scale), energy.re, largest.re);
    return VF_OK;
}

bool comparison_scale_matters(const image_comparison *c)
{
    return !(fabs(c->scale - 1) <= 0.05);
}

int comparison_worst(const image_comparison *all, int count)
{
    int worst = 0;
    for (int i = 1; i < count; i++)
        if (all[i].error.percent > all[worst].error.percent)
            worst = i;
    return worst;
}

static void add_share(image_error *mean, const image_error *one, int count)
{
    mean->mse += one->mse / count;
    mean->psnr += one->psnr / count;
    mean->snr += one->snr / count;
    mean->percent += one->percent / count;
}

image_comparison comparison_mean(const image_comparison *all, int count)
{
    image_comparison mean = {0};
    for (int i = 0; i < count; i++) {
        add_share(&mean.error, &all[i].error, count);
        add_share(&mean.scaled, &all[i].scaled, count);
        mean.scale += all[i].scale / count;
    }
    return mean;
}

/* ---- the report ---- */

static void report_figures(vf_report *report, const image_error *e)
{
    vf_report_number(report, "mse", e->mse);
    vf_report_number(report, "psnr_db", e->psnr);
    vf_report_number(report, "snr_db", e->snr);
    vf_report_number(report, "percent", e->percent);
}

static void report_one(vf_report *report, const char *key, const image_comparison *c)
{
    vf_report_begin(report, key);
    report_figures(report, &c->error);
    vf_report_number(report, "scale", c->scale);
    vf_report_begin(report, "scaled");
    report_figures(report, &c->scaled);
    vf_report_end(report);
    vf_report_end(report);
}

void comparison_report(vf_report *report, const image_comparison *all, int count)
{
    char key[24];
    if (count < 1)
        return;
    report_one(report, "error", &all[0]);
    if (count == 1)
        return;
    const image_comparison mean = comparison_mean(all, count);
    report_one(report, "error_mean", &mean);
    vf_report_begin(report, "error_of_volumes");
    for (int i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        report_one(report, key, &all[i]);
    }
    vf_report_end(report);
}
