/* Combines the coils into fewer virtual ones: how many, by which components, and the mixing of data and maps. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coil_covariance.h"
#include "coil_stages.h"
#include "geometric_coils.h"
#include "virtual_coils.h"
#include "voxfield/dense.h"

/* Geometric components count if they are fewer than this share of the principal ones, and if there are so many lines for each
 * coil: from fewer, the components of a position are not known well, and the scan is small. Of very many coils they would take
 * long to find, and a square matrix of them for each position much memory. */
static const double FEWER = 0.75;
/* So many, at least, for each voxel that an undersampled scan folds together. Noise can hide more of them: what is left out is less
 * than the noise of the samples then, but the solution, with few coils, has more of that noise. */
static const double COILS_FOR_R = 2;
enum { LINES_FOR_COIL = 8, MOST_COILS = 128 };

/* The components of the coils, and how they are chosen. */
typedef struct components {
    coil_covariance covariance;
    double *values;          /* [coil] energies, largest first */
    double complex *vectors; /* [component][coil] */
    bool geometric;          /* `of_positions` is used instead */
    geometric_coils of_positions;
} components;

/* Mixes one frame's data, or one set of maps. d_i = sum_k v_ki z_k with orthonormal v: z_k = sum_i conj(v_ki) d_i. */
static vf_status mix(vf_context *ctx, const mri_scan *raw, const components *of, int keep, const scan_frame *frame,
                     float complex *map)
{
    if (of->geometric)
        return frame ? geometric_mix_frame(ctx, &of->of_positions, raw, frame)
                     : geometric_mix_map(ctx, &of->of_positions, raw, map);
    return frame
               ? vf_mix_rows(ctx, keep, raw->coils, of->vectors, scan_stride(raw, frame), frame->data)
               : vf_mix_rows(ctx, keep, raw->coils, of->vectors, raw->matrix[0] * raw->matrix[1] * raw->matrix[2], map);
}

/* Mixes the maps of each place and set, and moves the result up so that no gaps remain. */
static vf_status project_maps(vf_context *ctx, const mri_scan *raw, const components *of, int keep)
{
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    const int sets = raw->maps_compressed ? 0 : scan_all_map_sets(raw);
    vf_status status = VF_OK;
    for (int p = 0; p < sets && status == VF_OK; p++) {
        float complex *from = raw->sensitivity + p * raw->coils * voxels;
        status = mix(ctx, raw, of, keep, NULL, from);
        memmove(raw->sensitivity + p * keep * voxels, from, (size_t)(keep * voxels) * sizeof *from);
    }
    return status;
}

static vf_status project(vf_context *ctx, mri_scan *raw, components *of, int keep)
{
    vf_status status = VF_OK;
    if (of->geometric)
        status = geometric_align(ctx, keep, &of->of_positions);
    for (int e = 0; e < keep * raw->coils && !of->geometric; e++)
        of->vectors[e] = conj(of->vectors[e]);
    for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++)
        if (raw->frame[f].data)
            status = mix(ctx, raw, of, keep, &raw->frame[f], NULL);
    return status == VF_OK ? project_maps(ctx, raw, of, keep) : status;
}

/* Whether components of the positions come into question: by the method, and by the readouts and their number. */
static vf_status find_positions(vf_context *ctx, const mri_scan *raw, int keep, compress_method by, components *of,
                                bool *there)
{
    vf_status status = VF_OK;
    *there = false;
    if (by == COMPRESS_PRINCIPAL || (by == COMPRESS_BEST && keep != COMPRESS_AUTO))
        return VF_OK;
    for (int t = 0; t < raw->trajectories + raw->calibrations; t++)
        if (raw->field_map && raw->trajectory[t].time)
            return by == COMPRESS_BEST ? VF_OK
                                       : vf_fail(ctx, VF_ERR_ARGUMENT,
                                                 "--compress-method geometric: not with a field map, which changes "
                                                 "along a readout; use --compress-method principal");
    status = geometric_find(ctx, raw, &of->of_positions, there);
    if (status == VF_OK && !*there && by == COMPRESS_GEOMETRIC)
        status =
            vf_fail(ctx, VF_ERR_ARGUMENT,
                    "--compress-method geometric: the scan has other samples than complete Cartesian readouts; use "
                    "--compress-method principal");
    if (by == COMPRESS_BEST &&
        (raw->coils > MOST_COILS || of->of_positions.count < LINES_FOR_COIL * (int64_t)raw->coils))
        *there = false;
    return status;
}

/* Where each mixture of coils is used: "" for one everywhere. */
static const char *where(const components *of)
{
    static const char *const along[3] = {" at each position along x", " at each position along y",
                                         " at each position along z"};
    return of->geometric ? along[of->of_positions.lines.axis] : "";
}

/* What is said of a number that was chosen from the noise. */
static void say_chosen(const mri_scan *raw, const components *of, const coil_noise *noise, coil_choice *out)
{
    if (!(noise->variance > 0))
        snprintf(out->text, sizeof out->text, "all %d are used (--compress auto): %s", raw->coils, noise->from);
    else if (out->to == raw->coils)
        snprintf(out->text, sizeof out->text, "all %d are used (--compress auto): each has signal above the noise",
                 raw->coils);
    else
        snprintf(out->text, sizeof out->text,
                 "%d combined into %d%s (--compress auto), which leaves out signal of %.2g of the noise; the noise is "
                 "that of %s",
                 raw->coils, out->to, where(of), out->loss, noise->from);
}

/* Measures the components of the positions, and takes as many of them as the noise asks for, if that pays. `number` is that of
 * principal components, and then that of those chosen. */
static vf_status try_positions(vf_context *ctx, mri_scan *raw, compress_method by, double variance, components *of,
                               int *number)
{
    scan_sampling sampling;
    vf_status status = scan_measure_sampling(ctx, raw, &sampling);
    if (status != VF_OK)
        return status;
    const double least = fmin(raw->coils, ceil(COILS_FOR_R * sampling.edge));
    const double most = by == COMPRESS_GEOMETRIC ? raw->coils : FEWER * *number;
    if (least > most)
        return VF_OK;
    status = geometric_measure(ctx, raw, &of->of_positions);
    if (status != VF_OK)
        return status;
    const int fewer = choose_virtual_coils(&of->covariance, of->of_positions.values, variance);
    of->geometric = fewer <= most;
    if (of->geometric)
        *number = fewer < least ? (int)least : fewer;
    return VF_OK;
}

/* As many coils as the noise asks for, of the principal components or of those of each position. */
static vf_status choose_number(vf_context *ctx, mri_scan *raw, compress_method by, bool positions, components *of,
                               coil_choice *out)
{
    coil_noise noise;
    vf_status status = find_coil_noise(ctx, raw, &of->covariance, of->values, &noise);
    if (status != VF_OK)
        return status;
    out->to = choose_virtual_coils(&of->covariance, of->values, noise.variance);
    if (positions && noise.variance > 0)
        status = try_positions(ctx, raw, by, noise.variance, of, &out->to);
    const double *values = of->geometric ? of->of_positions.values : of->values;
    out->loss = out->to < raw->coils ? loss_of_coils(&of->covariance, values, noise.variance, out->to) : 0;
    say_chosen(raw, of, &noise, out);
    return status;
}

/* How many coils to keep, and what is said of it. */
static vf_status choose(vf_context *ctx, mri_scan *raw, int keep, compress_method by, components *of, coil_choice *out)
{
    static const char *const axes[3] = {"x", "y", "z"};
    double total = 0, first = 0;
    bool positions = false;
    vf_status status = find_positions(ctx, raw, keep, by, of, &positions);
    out->to = keep;
    of->geometric = positions && keep != COMPRESS_AUTO;
    if (status == VF_OK && of->geometric)
        status = geometric_measure(ctx, raw, &of->of_positions);
    if (status == VF_OK && keep == COMPRESS_AUTO)
        status = choose_number(ctx, raw, by, positions, of, out);
    if (status != VF_OK)
        return status;
    const double *values = of->geometric ? of->of_positions.values : of->values;
    out->along = of->geometric && out->to < raw->coils ? axes[of->of_positions.lines.axis] : NULL;
    for (int c = 0; c < raw->coils; c++) {
        total += values[c] > 0 ? values[c] : 0; /* rounding can make a 0 negative */
        first += c < out->to && values[c] > 0 ? values[c] : 0;
    }
    out->kept = total > 0 ? first / total : 1;
    if (keep != COMPRESS_AUTO)
        snprintf(out->text, sizeof out->text, "%d combined into %d%s (--compress), which keep %.4g %% of the energy",
                 raw->coils, keep, where(of), 100 * out->kept);
    return VF_OK;
}

/* Frees the memory after the first `keep` rows. */
static void shrink(float complex **data, int keep, int64_t count)
{
    float complex *smaller = realloc(*data, (size_t)keep * (size_t)count * sizeof *smaller);
    if (smaller)
        *data = smaller;
}

static vf_status keep_rows(vf_context *ctx, mri_scan *raw, int keep, components *of)
{
    const int coils = raw->coils, along = of->geometric ? of->of_positions.lines.axis + 1 : 0;
    if (raw->maps_compressed && raw->compressed_along != along)
        return vf_fail(
            ctx, VF_ERR_INPUT,
            "the coil maps are for coils that were combined along another axis of the scan, or in another way; use "
            "them with the scan and the --compress-method that they were saved with");
    vf_status status = project(ctx, raw, of, keep);
    if (status != VF_OK)
        return status;
    raw->coils = keep;
    raw->compressed_from = coils;
    raw->compressed_along = along;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        if (raw->frame[f].data)
            shrink(&raw->frame[f].data, keep, scan_stride(raw, &raw->frame[f]));
    if (raw->sensitivity)
        shrink(&raw->sensitivity, keep, raw->matrix[0] * raw->matrix[1] * raw->matrix[2] * scan_all_map_sets(raw));
    return VF_OK;
}

vf_status compress_coils(vf_context *ctx, mri_scan *raw, int keep, compress_method by, coil_choice *out)
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
    components of = {.vectors = malloc(elements * sizeof *of.vectors),
                     .values = malloc((size_t)coils * sizeof *of.values)};
    vf_status status = of.vectors && of.values
                           ? VF_OK
                           : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: not enough memory for %d coils", coils);
    VF_TRY(status, coil_covariance_make(ctx, raw, &of.covariance));
    if (status == VF_OK)
        vf_hermitian_eigen(coils, of.covariance.sum, of.values, of.vectors);
    VF_TRY(status, choose(ctx, raw, keep, by, &of, out));
    if (status == VF_OK && out->to < coils)
        status = keep_rows(ctx, raw, out->to, &of);
    coil_covariance_free(&of.covariance);
    geometric_free(&of.of_positions);
    free(of.values);
    free(of.vectors);
    return status;
}
