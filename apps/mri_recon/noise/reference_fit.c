#include "reference_fit.h"

#include <math.h>
#include <stdlib.h>

#include "first_differences.h"
#include "voxfield/append.h"
#include "voxfield/team_size.h"

/* Sharper than the prior's usual weights, so that the weak edges of a reference count. */
static const double SHARPNESS = 0.3;
/* A warning appears below this agreement, or if a mirrored reference's is so much larger and more. */
static const double LEAST_AGREEMENT = 0.2, LARGER = 1.15, MORE = 0.05;

/* Copies a place's references and where they are known, mirrored about the centre voxel along the axes of the bits. */
static void mirror(const recon_job *j, int place, unsigned axes, float *to, unsigned char *known)
{
    const mri_scan *raw = j->scan;
    const int64_t *n = raw->matrix;
    const float *from = raw->reference + place * raw->references * j->voxels;
    const unsigned char *was = raw->reference_known ? raw->reference_known + place * j->voxels : NULL;
    for (int64_t i = 0; i < j->voxels; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        int64_t other = 0;
        for (int a = 2; a >= 0; a--)
            other = other * n[a] + (axes >> a & 1 ? (2 * (n[a] / 2) - at[a]) % n[a] : at[a]);
        for (int r = 0; r < raw->references; r++)
            to[r * j->voxels + i] = from[r * j->voxels + other];
        known[i] = was ? was[other] : 1;
    }
}

/* The energies of the images' differences from the voxels of a row along x, of known voxels: plain, weighted, and the sums of
 * weights and of differences. */
static void add_row(const recon_job *j, const char *images, int64_t count, const float *weights,
                    const unsigned char *known, int64_t row, double out[4])
{
    const int64_t *n = j->scan->matrix, steps[3] = {1, n[0], n[0] * n[1]};
    for (int i = 0; i < 4; i++)
        out[i] = 0;
    for (int a = 0; a < 3; a++) {
        const bool before = a == 0 || (a == 1 ? row % n[1] : row / n[1]) > 0;
        for (int64_t x = a == 0; before && x < n[0]; x++) {
            const int64_t at = row * n[0] + x;
            double energy = 0;
            if (!known[at] || !known[at - steps[a]])
                continue;
            for (int64_t i = 0; i < count; i++) {
                const int64_t v = i * j->voxels + at;
                const double complex d =
                    j->type == VF_C128
                        ? ((const double complex *)(const void *)images)[v] -
                              ((const double complex *)(const void *)images)[v - steps[a]]
                        : (double complex)((const float complex *)(const void *)images)[v] -
                              (double complex)((const float complex *)(const void *)images)[v - steps[a]];
                energy += creal(d) * creal(d) + cimag(d) * cimag(d);
            }
            const double w = (double)weights[a * j->voxels + at];
            out[0] += energy;
            out[1] += w * energy;
            out[2] += w;
            out[3] += 1;
        }
    }
}

static vf_status agreement(const recon_job *j, const char *images, int64_t count, const float *reference,
                           const unsigned char *known, float *weights, double *of_row, double *out)
{
    const int64_t *n = j->scan->matrix, rows = n[1] * n[2];
    double sum[4] = {0};
    const vf_status status =
        vf_first_differences_weights(j->ctx, n, j->scan->references, reference, known, SHARPNESS, weights);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 20 * count * j->voxels))
    for (int64_t row = 0; row < (status == VF_OK ? rows : 0); row++)
        add_row(j, images, count, weights, known, row, of_row + 4 * row);
    for (int64_t row = 0; row < rows; row++) /* in order, so the bits do not depend on the number of threads */
        for (int i = 0; i < 4; i++)
            sum[i] += status == VF_OK ? of_row[4 * row + i] : 0;
    *out = sum[0] > 0 && sum[2] > 0 ? 1 - sum[1] / sum[2] / (sum[0] / sum[3]) : 0;
    return status;
}

vf_status reference_fit_measure(const recon_job *j, int place, const char *images, int64_t count, reference_fit *out)
{
    const int64_t *n = j->scan->matrix;
    float *reference = malloc((size_t)(j->scan->references * j->voxels) * sizeof *reference);
    float *weights = malloc(3 * (size_t)j->voxels * sizeof *weights);
    unsigned char *known = malloc((size_t)j->voxels);
    double *of_row = malloc(4 * (size_t)(n[1] * n[2]) * sizeof *of_row);
    vf_status status = VF_OK;
    if (!reference || !weights || !known || !of_row)
        status = vf_fail(j->ctx, VF_ERR_MEMORY, "no memory to compare references with an image");
    out->mirrored = -INFINITY;
    for (unsigned axes = 0; axes < 8 && status == VF_OK; axes++) {
        bool same = false;
        double found;
        for (int a = 0; a < 3; a++)
            same = same || (axes >> a & 1 && n[a] < 3);
        if (same)
            continue;
        mirror(j, place, axes, reference, known);
        status = agreement(j, images, count, reference, known, weights, of_row, &found);
        if (axes == 0)
            out->agreement = found;
        else if (status == VF_OK && found > out->mirrored) {
            out->mirrored = found;
            out->mirrored_axes = axes;
        }
    }
    out->known = status == VF_OK;
    free(reference);
    free(weights);
    free(known);
    free(of_row);
    return status;
}

void reference_fit_warn(vf_context *ctx, const char *name, const reference_fit *fit)
{
    if (!fit->known)
        return;
    if (fit->mirrored > LARGER * fit->agreement && fit->mirrored > fit->agreement + MORE) {
        char axes[16] = "";
        size_t used = 0;
        for (int a = 0; a < 3; a++)
            if (fit->mirrored_axes >> a & 1)
                used += vf_append(axes, sizeof axes, "%s%c", used ? ", " : "", "xyz"[a]);
        vf_warn(ctx,
                "%s: mirrored along %s, the reference would fit the image better (agreement %.2f, now %.2f); check its "
                "orientation",
                name, axes, fit->mirrored, fit->agreement);
    } else if (fit->agreement < LEAST_AGREEMENT)
        vf_warn(ctx,
                "%s: the edges of the reference are hardly those of the image (agreement %.2f; 0: none, 1: all); check "
                "that it shows the same object at the same place",
                name, fit->agreement);
}
