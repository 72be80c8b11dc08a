#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coil_covariance.h"
#include "coil_stages.h"
#include "virtual_coils.h"
#include "voxfield/dense.h"

/* Projects the maps of each place and set, and moves the result up so that no gaps remain. */
static vf_status project_maps(vf_context *ctx, const mri_scan *raw, int keep, const double complex *vectors)
{
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    const int sets = raw->maps_compressed ? 0 : scan_all_map_sets(raw);
    vf_status status = VF_OK;
    for (int p = 0; p < sets && status == VF_OK; p++) {
        float complex *from = raw->sensitivity + p * raw->coils * voxels;
        status = vf_mix_rows(ctx, keep, raw->coils, vectors, voxels, from);
        memmove(raw->sensitivity + p * keep * voxels, from, (size_t)(keep * voxels) * sizeof *from);
    }
    return status;
}

/* d_i = sum_k v_ki z_k with orthonormal v: z_k = sum_i conj(v_ki) d_i. */
static vf_status project(vf_context *ctx, mri_scan *raw, int keep, double complex *vectors)
{
    int coils = raw->coils;
    vf_status status = VF_OK;
    for (int e = 0; e < keep * coils; e++)
        vectors[e] = conj(vectors[e]);
    for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++)
        if (raw->frame[f].data)
            status = vf_mix_rows(ctx, keep, coils, vectors, scan_stride(raw, &raw->frame[f]), raw->frame[f].data);
    return status == VF_OK ? project_maps(ctx, raw, keep, vectors) : status;
}

/* Frees the memory after the first `keep` rows. */
static void shrink(float complex **data, int keep, int64_t count)
{
    float complex *smaller = realloc(*data, (size_t)keep * (size_t)count * sizeof *smaller);
    if (smaller)
        *data = smaller;
}

/* How many coils to keep, and what is said of it. */
static vf_status choose(vf_context *ctx, const mri_scan *raw, const coil_covariance *covariance, const double *values,
                        int keep, coil_choice *out)
{
    double total = 0, first = 0;
    vf_status status = VF_OK;
    out->to = keep;
    if (keep == COMPRESS_AUTO) {
        coil_noise noise;
        status = find_coil_noise(ctx, raw, covariance, values, &noise);
        if (status != VF_OK)
            return status;
        out->to = choose_virtual_coils(covariance, values, noise.variance);
        out->loss = out->to < raw->coils ? loss_of_coils(covariance, values, noise.variance, out->to) : 0;
        if (!(noise.variance > 0))
            snprintf(out->text, sizeof out->text, "all %d are used (--compress auto): %s", raw->coils, noise.from);
        else if (out->to == raw->coils)
            snprintf(out->text, sizeof out->text, "all %d are used (--compress auto): each has signal above the noise",
                     raw->coils);
        else
            snprintf(
                out->text, sizeof out->text,
                "%d combined into %d (--compress auto), which leaves out signal of %.2g of the noise; the noise is "
                "that of %s",
                raw->coils, out->to, out->loss, noise.from);
    }
    for (int c = 0; c < raw->coils; c++) {
        total += values[c] > 0 ? values[c] : 0; /* rounding can make a 0 negative */
        first += c < out->to && values[c] > 0 ? values[c] : 0;
    }
    out->kept = total > 0 ? first / total : 1;
    if (keep != COMPRESS_AUTO)
        snprintf(out->text, sizeof out->text, "%d combined into %d (--compress), which keep %.4g %% of the energy",
                 raw->coils, keep, 100 * out->kept);
    return VF_OK;
}

static vf_status keep_rows(vf_context *ctx, mri_scan *raw, int keep, double complex *vectors)
{
    const int coils = raw->coils;
    vf_status status = project(ctx, raw, keep, vectors);
    if (status != VF_OK)
        return status;
    raw->coils = keep;
    raw->compressed_from = coils;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        if (raw->frame[f].data)
            shrink(&raw->frame[f].data, keep, scan_stride(raw, &raw->frame[f]));
    if (raw->sensitivity)
        shrink(&raw->sensitivity, keep, raw->matrix[0] * raw->matrix[1] * raw->matrix[2] * scan_all_map_sets(raw));
    return VF_OK;
}

vf_status compress_coils(vf_context *ctx, mri_scan *raw, int keep, coil_choice *out)
{
    const int coils = raw->coils;
    const size_t elements = (size_t)coils * (size_t)coils;
    *out = (coil_choice){.from = coils, .to = coils, .kept = 1, .loss = -1};
    if (keep < 1 && keep != COMPRESS_AUTO)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "coil compression: cannot keep %d coils; keep at least 1", keep);
    if (raw->noise) /* the covariance would no longer fit, and strong noise would count as signal */
        return vf_fail(ctx, VF_ERR_INTERNAL, "coil compression before prewhitening");
    if (keep >= coils || (keep == COMPRESS_AUTO && coils < COMPRESS_FROM))
        return VF_OK;
    coil_covariance covariance = {0};
    double complex *vectors = malloc(elements * sizeof *vectors);
    double *values = malloc((size_t)coils * sizeof *values);
    vf_status status = vectors && values
                           ? VF_OK
                           : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: not enough memory for %d coils", coils);
    VF_TRY(status, coil_covariance_make(ctx, raw, &covariance));
    if (status == VF_OK)
        vf_hermitian_eigen(coils, covariance.sum, values, vectors);
    VF_TRY(status, choose(ctx, raw, &covariance, values, keep, out));
    if (status == VF_OK && out->to < coils)
        status = keep_rows(ctx, raw, out->to, vectors);
    coil_covariance_free(&covariance);
    free(values);
    free(vectors);
    return status;
}
