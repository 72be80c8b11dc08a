#include "prior_table.h"
#include "recon_choices.h"

#include <math.h>

#include "voxfield/team_size.h"

prior_shape prior_shape_of(const solve_settings *s, const mri_scan *raw, double frames)
{
    prior_shape shape = {.padded = 1, .wavelets = s->moments ? 1 : 2, .frames = frames};
    for (int a = 0; a < 3; a++)
        if (raw->matrix[a] > 1) { /* up to 16 voxels longer (wavelet.h: 4 levels) */
            shape.padded *= ceil((double)raw->matrix[a] / 16) * 16 / (double)raw->matrix[a];
            shape.axes++;
        }
    shape.shifts = s->shifts ? s->shifts : fmin(4, exp2(shape.axes));
    shape.volume = shape.axes > 2;
    return shape;
}

/* ---- memory: the terms' vectors in ADMM ---- */

static prior_memory of_wavelets(const prior_shape *p)
{
    return (prior_memory){p->wavelets * (p->shifts + 3) * p->padded, p->padded, 0};
}

static prior_memory of_gradient(const prior_shape *p)
{
    return (prior_memory){p->axes, p->axes, 0};
}

/* A field of a component an axis beside the image; the components of E w are a term, and the operator's own. */
static prior_memory of_fields(const prior_shape *p)
{
    const double matrix = p->axes * (p->axes + 1) / 2;
    return (prior_memory){p->axes + 2 * matrix, fmax(1 + p->axes, matrix), p->axes};
}

static prior_memory of_frames(const prior_shape *p)
{
    (void)p;
    return (prior_memory){1, 1, 0};
}

static prior_memory of_blocks(const prior_shape *p)
{
    return (prior_memory){p->shifts, 1, 0};
}

/* ---- time ---- */

static prior_time for_wavelets(const prior_shape *p)
{
    const double maps = p->wavelets * p->shifts / 8;
    return (prior_time){(p->volume ? 105 : 65) * maps, 57 * maps * p->frames};
}

static prior_time for_gradients(const prior_shape *p)
{
    (void)p;
    return (prior_time){40, 57};
}

static prior_time for_fields(const prior_shape *p)
{
    return (prior_time){p->volume ? 300 : 120, 120};
}

static prior_time for_blocks(const prior_shape *p)
{
    return (prior_time){10 * p->shifts * p->frames, 57};
}

static prior_time for_the_whole(const prior_shape *p)
{
    return (prior_time){5 * p->frames, 57};
}

/* ---- eigenvalues ---- */

static void ones(const vf_context *ctx, const prior_model *f)
{
    const int64_t *n = f->space.matrix, voxels = n[0] * n[1] * n[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, voxels))
    for (int64_t i = 0; i < voxels; i++)
        f->p[i] = 1;
}

/* Of first differences, sum_a 4 sin^2(pi k_a / N_a). Differences weighted by references are close. */
static void of_differences(const vf_context *ctx, const prior_model *f)
{
    const int64_t *n = f->space.matrix, voxels = n[0] * n[1] * n[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 20 * voxels))
    for (int64_t i = 0; i < voxels; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        f->p[i] = 0;
        for (int a = 0; a < 3; a++)
            f->p[i] += 4 * pow(sin(M_PI * (double)(at[a] - n[a] / 2) / (double)n[a]), 2);
    }
}

static void of_wiener(const vf_context *ctx, const prior_model *f)
{
    const int64_t *n = f->space.matrix, voxels = n[0] * n[1] * n[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 3 * voxels))
    for (int64_t i = 0; i < voxels; i++)
        f->p[i] = fmax(f->variance * (double)voxels / f->s[i], f->least);
}

/* ---- the table ---- */

const option_choice prior_table[] = {
    {"auto", RECON_PRIOR_AUTO,
     "wavelet if the scan is undersampled, wavelet+temporal if it is a series of undersampled frames, else spectrum"},
    {"spectrum", RECON_SPECTRUM,
     "the power of the scan itself at each spatial frequency, above the noise, and in each region its brightness"},
    {"identity", RECON_IDENTITY, "small values"},
    {"differences", RECON_DIFFERENCES,
     "small differences of neighbouring voxels along each axis, whatever the voxel size; none across the faces"},
    {"reference", RECON_REFERENCE,
     "the same, but smaller weights across the edges of anatomical images (--reference); with --lambda auto, beside "
     "the spectrum, as strongly as the data ask for"},
    {"wavelet", RECON_SPARSE + VF_PENALTY_WAVELET,
     "few large wavelet coefficients (Haar and Daubechies), for undersampled scans"},
    {"temporal", RECON_SPARSE + VF_PENALTY_TEMPORAL, "few changes from frame to frame; frames are solved together"},
    {"llr", RECON_SPARSE + VF_PENALTY_LLR,
     "blocks of the image whose changes over the frames are combinations of a few (locally low rank)"},
    {"nuclear", RECON_SPARSE + VF_PENALTY_NUCLEAR, "the same for the whole image (nuclear norm)"},
    {"tv", RECON_SPARSE + VF_PENALTY_TV, "total variation: flat regions with sharp borders, for undersampled scans"},
    {"tgv", RECON_SPARSE + VF_PENALTY_TGV, "total generalised variation: the same, but regions may be shaded"},
    {0}};

/* What the program knows of the quadratic ones. */
static const quadratic_prior quadratic[RECON_PRIOR_AUTO + 1] = {
    [RECON_IDENTITY] = {.eigenvalues = ones},
    [RECON_DIFFERENCES] = {.across_faces = true, .eigenvalues = of_differences},
    [RECON_REFERENCE] = {.across_faces = true, .needs_reference = true, .eigenvalues = of_differences},
    [RECON_SPECTRUM] = {.of_spectrum = true, .eigenvalues = of_wiener}};

/* References whose strength is found, beside the spectrum. */
static const quadratic_prior beside_spectrum = {
    .of_spectrum = true, .across_faces = true, .needs_reference = true, .eigenvalues = of_wiener};

const quadratic_prior *quadratic_prior_of(const solve_settings *settings)
{
    return finds_reference_strength(settings) ? &beside_spectrum : &quadratic[settings->prior];
}

/* And of the sparse ones. Beside differences between frames, the best value for wavelets falls with the number of frames, from
 * 0.4 for 4 to 0.1 for 48 of a still head, and grows with the noise. */
static const sparse_prior known[VF_PENALTY_KINDS] = {
    [VF_PENALTY_WAVELET] = {.moments = true,
                            .shifts = true,
                            .factor = 0.93,
                            .beside = 0.22,
                            .factor_power = 0.85,
                            .rho = 1.2,
                            .rho_power = 1,
                            .iterations = 1,
                            .memory = of_wavelets,
                            .time = for_wavelets},
    [VF_PENALTY_TV] = {.factor = 0.61,
                       .factor_power = 1.1,
                       .rho = 1,
                       .rho_power = 1.5,
                       .iterations = 1.9,
                       .memory = of_gradient,
                       .time = for_gradients},
    [VF_PENALTY_TGV] = {.factor = 0.61,
                        .factor_power = 1.1,
                        .rho = 0.6,
                        .rho_power = 1.5,
                        .iterations = 2.2,
                        .memory = of_fields,
                        .time = for_fields},
    [VF_PENALTY_TEMPORAL] = {.couples = true,
                             .takes_noise = true,
                             .factor = 2.9,
                             .rho = 6,
                             .iterations = 3.4,
                             .memory = of_frames,
                             .time = for_gradients},
    [VF_PENALTY_LLR] = {.couples = true,
                        .shifts = true,
                        .factor = 0.72,
                        .rho = 0.3,
                        .iterations = 2.4,
                        .memory = of_blocks,
                        .time = for_blocks},
    [VF_PENALTY_NUCLEAR] = {
        .couples = true, .factor = 0.72, .rho = 0.3, .iterations = 2, .memory = of_frames, .time = for_the_whole}};

const sparse_prior *sparse_prior_of(const solve_settings *settings, int i)
{
    return &known[settings->sparse_prior[i]];
}
