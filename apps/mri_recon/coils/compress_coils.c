#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "coil_stages.h"
#include "voxfield/dense.h"
#include "voxfield/team_size.h"

/* The samples are always cut into PARTS parts, and the parts' sums are added in order. So the bits do not depend on the
 * number of threads. */
enum { PARTS = 64, BLOCK = 256 };

/* sum[i][j] += sum over samples of d_i conj(d_j), for j <= i. */
static void add_products(int coils, int64_t samples, const float complex *data, int64_t begin, int64_t end,
                         double complex *sum)
{
    for (int64_t first = begin; first < end; first += BLOCK) {
        int64_t last = first + BLOCK < end ? first + BLOCK : end;
        for (int i = 0; i < coils; i++)
            for (int j = 0; j <= i; j++) {
                const float *x = (const float *)(data + i * samples), *y = (const float *)(data + j * samples);
                double re = 0, im = 0;
                for (int64_t m = first; m < last; m++) {
                    double a = x[2 * m], b = x[2 * m + 1], c = y[2 * m], d = y[2 * m + 1];
                    re += a * c + b * d;
                    im += b * c - a * d;
                }
                sum[i * coils + j] += re + im * I;
            }
    }
}

/* covariance[coils][coils] of the data over all frames, Hermitian. */
static vf_status data_covariance(vf_context *ctx, const mri_scan *raw, double complex *covariance)
{
    int coils = raw->coils;
    size_t elements = (size_t)coils * (size_t)coils;
    const int64_t work = scan_samples(raw) * coils * coils / 2;
    double complex *part = calloc(PARTS * elements, sizeof *part);
    if (!part)
        return vf_fail(ctx, VF_ERR_MEMORY, "coil compression: not enough memory for the covariance of %d coils", coils);
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, work))
    for (int p = 0; p < PARTS; p++)
        for (int f = 0; f < raw->frames + raw->calibrations && !vf_cancelled(ctx); f++) {
            int64_t samples = scan_stride(raw, &raw->frame[f]);
            if (raw->frame[f].data) /* parts share those of another frame */
                add_products(coils, samples, raw->frame[f].data, samples * p / PARTS, samples * (p + 1) / PARTS,
                             part + (size_t)p * elements);
        }
    memset(covariance, 0, elements * sizeof *covariance);
    for (int p = 0; p < PARTS; p++)
        for (size_t e = 0; e < elements; e++)
            covariance[e] += part[(size_t)p * elements + e];
    for (int i = 0; i < coils; i++)
        for (int j = i + 1; j < coils; j++)
            covariance[i * coils + j] = conj(covariance[j * coils + i]);
    free(part);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

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

vf_status compress_coils(vf_context *ctx, mri_scan *raw, int keep, double *kept)
{
    int coils = raw->coils;
    size_t elements = (size_t)coils * (size_t)coils;
    *kept = 1;
    if (keep < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "coil compression: cannot keep %d coils; keep at least 1", keep);
    if (raw->noise) /* the covariance would no longer fit, and strong noise would count as signal */
        return vf_fail(ctx, VF_ERR_INTERNAL, "coil compression before prewhitening");
    if (keep >= coils)
        return VF_OK;
    double complex *matrix = malloc(2 * elements * sizeof *matrix);
    double *values = malloc((size_t)coils * sizeof *values);
    vf_status status = VF_OK;
    if (!matrix || !values) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "coil compression: not enough memory for %d coils", coils);
        goto done;
    }
    status = data_covariance(ctx, raw, matrix);
    if (status != VF_OK)
        goto done;
    vf_hermitian_eigen(coils, matrix, values, matrix + elements);
    double total = 0, first = 0;
    for (int c = 0; c < coils; c++) {
        total += values[c] > 0 ? values[c] : 0; /* rounding can make a 0 negative */
        first += c < keep && values[c] > 0 ? values[c] : 0;
    }
    *kept = total > 0 ? first / total : 1;
    status = project(ctx, raw, keep, matrix + elements);
    if (status != VF_OK)
        goto done;
    raw->coils = keep;
    raw->compressed_from = coils;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        if (raw->frame[f].data)
            shrink(&raw->frame[f].data, keep, scan_stride(raw, &raw->frame[f]));
    if (raw->sensitivity)
        shrink(&raw->sensitivity, keep, raw->matrix[0] * raw->matrix[1] * raw->matrix[2] * scan_all_map_sets(raw));
done:
    free(values);
    free(matrix);
    return status;
}
