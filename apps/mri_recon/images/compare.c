#include <math.h>
#include <stdio.h>

#include "recon_image.h"
#include "voxfield/append.h"
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

/* ---- what is told ---- */

static void list_figures(facts *f, const image_error *e)
{
    fact_number(f, "mse", e->mse);
    fact_number(f, "psnr_db", e->psnr);
    fact_number(f, "snr_db", e->snr);
    fact_number(f, "percent", e->percent);
}

/* `words`: for the terminal; "": none. */
static void list_one(facts *f, const char *key, const image_comparison *c, int line, const char *words)
{
    fact_begin(f, key);
    if (words[0])
        fact_say(f, line, "%s", words);
    list_figures(f, &c->error);
    fact_number(f, "scale", c->scale);
    fact_begin(f, "scaled");
    list_figures(f, &c->scaled);
    fact_end(f);
    fact_end(f);
}

enum { WORDS = 320, FEW = 8 }; /* FEW: as many volumes get a line each */

/* `scaled`: the start of the second line; "": no second line. */
static void put_words(char text[WORDS], const char *head, const char *volume, const image_comparison *c,
                      const char *remark, const char *scaled)
{
    (void)snprintf(text, WORDS, "%-10s %sMSE %.4g, PSNR %.2f dB, SNR %.2f dB, %.3g %%%s", head, volume, c->error.mse,
                   c->error.psnr, c->error.snr, c->error.percent, remark);
    if (scaled[0])
        (void)vf_append(text, WORDS, "\n%-10s %s: PSNR %.2f dB, SNR %.2f dB, %.3g %%", "", scaled, c->scaled.psnr,
                        c->scaled.snr, c->scaled.percent);
}

/* The words of one volume. If there are many, only the first and the worst have some. */
static void volume_words(char text[WORDS], const image_comparison *all, int count, int frames, int volume)
{
    const int worst = comparison_worst(all, count);
    const bool many = count > FEW;
    const image_comparison *c = &all[volume];
    char name[32] = "", scaled[64] = "";
    text[0] = '\0';
    if (many && volume != 0 && volume != worst)
        return;
    if (count > 1)
        (void)snprintf(name, sizeof name, "volume %d: ", volume);
    if (comparison_scale_matters(c))
        (void)snprintf(scaled, sizeof scaled, "with the image scaled by %.3g (best fit)", c->scale);
    put_words(text, volume == 0 ? "error" : "\n          ", name, c,
              count < frames            ? " (of the first volume)"
              : many && volume == worst ? " (the worst)"
                                        : "",
              scaled);
}

void comparison_facts(facts *f, int line, const image_comparison *all, int count, int frames)
{
    char key[40], words[WORDS];
    bool scaled = false;
    if (count < 1)
        return;
    volume_words(words, all, count, frames, 0);
    list_one(f, "error", &all[0], line, words);
    if (count == 1)
        return;
    for (int i = 0; i < count; i++)
        scaled = scaled || comparison_scale_matters(&all[i]);
    const image_comparison mean = comparison_mean(all, count);
    (void)snprintf(key, sizeof key, "mean of %d volumes: ", count);
    put_words(words, "", key, &mean, "", scaled ? "with each volume scaled (best fit)" : "");
    list_one(f, "error_mean", &mean, line + 1, count > FEW ? words : "");
    fact_begin(f, "error_of_volumes");
    for (int i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        volume_words(words, all, count, frames, i);
        list_one(f, key, &all[i], line, i > 0 ? words : "");
    }
    fact_end(f);
}
