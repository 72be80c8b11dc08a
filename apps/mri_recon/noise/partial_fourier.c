/* Scans with one side of k-space missing: partial Fourier and asymmetric echoes. The phase of an image is smooth, so
 * the part of k-space that was sampled on both sides determines it. Without its phase the image is real, so its
 * frequencies k and -k are conjugate (Margosian, Schmitt and Purdy, Health Care Instrum. 1 (1986) 195; Noll, Nishimura
 * and Macovski, IEEE Trans. Med. Imaging 10 (1991) 154). Here this is not a hard constraint but part of the prior
 * (prior.h). Its strength depends on how well a first image agrees with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partial_fourier.h"
#include "regularise.h"
#include "solve/prior_table.h"
#include "solve/transfer.h"
#include "voxfield/team_size.h"

/* A side is missing if it reaches less far than this share of the other. */
static const double ONE_SIDED = 0.9;
/* The imaginary part's share of the power. It is at least LEAST_IMAGINARY, since the phase is not known exactly. From
 * MOST_IMAGINARY on, the phase is not used, since it would gain nothing. */
static const double LEAST_IMAGINARY = 0.05, MOST_IMAGINARY = 0.5;
/* Relative to the image's root mean square: only voxels brighter than BRIGHT count for the share, and voxels darker
 * than DARK get the mean phase. */
static const double BRIGHT = 0.5, DARK = 0.1;

/* How far samples reach along an axis below and above 0: the largest -k and k. */
typedef struct two_sides {
    float low, high;
} two_sides;

enum { LANES = 48 }; /* for three axes and vectors */

/* Widens low[i % LANES] and high[i % LANES] to -k[i] and k[i]. */
static void widen(const float *k, int64_t count, float low[LANES], float high[LANES])
{
    for (int64_t first = 0; first < count; first += LANES) {
        const int lanes = count - first < LANES ? (int)(count - first) : LANES;
        for (int i = 0; i < lanes; i++) {
            const float here = k[first + i];
            low[i] = -here > low[i] ? -here : low[i];
            high[i] = here > high[i] ? here : high[i];
        }
    }
}

/* Of the samples that count, along all axes. */
static void reach_of_all(const vf_context *ctx, const scan_trajectory *at, two_sides out[3])
{
    enum { BLOCK = 128 * LANES };
    const int64_t count = 3 * at->samples;
    float low[LANES] = {0}, high[LANES] = {0};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, count / 4)) reduction(max : low, high)
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t values = count - first < BLOCK ? count - first : BLOCK;
        float used[BLOCK];
        for (int64_t i = 0; i < values && at->weights; i++)
            used[i] = at->weights[(first + i) / 3] > 0 ? at->k[first + i] : 0;
        widen(at->weights ? used : at->k + first, values, low, high);
    }
    for (int i = 0; i < LANES; i++) {
        two_sides *of = &out[i % 3];
        *of = i < 3 ? (two_sides){0} : *of;
        *of = (two_sides){fmaxf(of->low, low[i]), fmaxf(of->high, high[i])};
    }
}

/* How far samples reach along axis a to each side without those from `below` on. */
static two_sides reach_below(const vf_context *ctx, const scan_trajectory *at, int a, float below)
{
    float low = 0, high = 0;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, at->samples)) reduction(max : low, high)
    for (int64_t m = 0; m < at->samples; m++) {
        const float k = at->weights && !(at->weights[m] > 0) ? 0 : at->k[3 * m + a];
        low = -k > low && -k < below ? -k : low;
        high = k > high && k < below ? k : high;
    }
    return (two_sides){low, high};
}

/* The reach of the shorter side along axis a, and of the longer. A lattice of every Rth line ends up to R lines earlier on
 * one side, and an even matrix one line: the last step of the longer side counts for the shorter one, too. */
static void sides(const vf_context *ctx, const scan_trajectory *at, int a, two_sides all, double *less, double *more)
{
    *less = (double)fminf(all.low, all.high) + 1;
    *more = (double)fmaxf(all.low, all.high);
    if (!(*less < ONE_SIDED * *more))
        return;
    const two_sides inner = reach_below(ctx, at, a, (float)(*more - 0.5));
    *less += fmax(*more - (double)(all.high > all.low ? inner.high : inner.low) - 1, 0);
}

bool partial_fourier(const vf_context *ctx, const noise_settings *noise, const solve_settings *solve,
                     const coil_settings *coils, const mri_scan *raw, int trajectory, double reach[3])
{
    const scan_trajectory *at = &raw->trajectory[trajectory];
    two_sides all[3];
    double share = 1;
    reach_of_all(ctx, at, all);
    for (int a = 0; a < 3; a++) {
        const double half = 0.5 * (double)raw->matrix[a];
        double less, more;
        sides(ctx, at, a, half > 1 ? all[a] : (two_sides){0}, &less, &more);
        if (half > 1 && less < ONE_SIDED * more)
            share = fmin(share, less / half);
    }
    for (int a = 0; a < 3; a++)
        reach[a] = 0.5 * (double)raw->matrix[a] * share;
    const bool one_image = raw->coils == 1 || coils->how != RECON_COILS_RSS;
    return share < 1 && one_image && quadratic_prior_of(solve)->of_spectrum && noise->partial_fourier &&
           regularise_by_noise(solve);
}

bool partial_fourier_any(const vf_context *ctx, const noise_settings *noise, const solve_settings *solve,
                         const coil_settings *coils, const mri_scan *raw)
{
    double reach[3];
    for (int t = 0; t < raw->trajectories; t++)
        if (partial_fourier(ctx, noise, solve, coils, raw, t, reach))
            return true;
    return false;
}

/* A Hann window over all axes, at the frequency of a voxel of k-space; it is 0 from width * reach on. */
static double window(const int64_t n[3], const double reach[3], double width, int64_t voxel)
{
    const int64_t at[3] = {voxel % n[0], voxel / n[0] % n[1], voxel / n[0] / n[1]};
    double product = 1;
    for (int a = 0; a < 3; a++) {
        const double t = n[a] > 1 ? fabs((double)(at[a] - n[a] / 2)) / (width * reach[a]) : 0;
        product *= t < 1 ? pow(cos(M_PI / 2 * t), 2) : 0;
    }
    return product;
}

/* Filters the image by two windows: `wide` gets the whole band, `narrow` half of it. Overwrites the circulant matrix
 * VF_PRIOR_INVERSE_DATA, which must be set again. */
static vf_status low_images(const crew *c, const char *image, const double reach[3], float complex *wide,
                            float complex *narrow)
{
    const recon_job *j = c->job;
    device_solver *s = c->solver;
    vf_queue *queue = s->queue;
    double *values = malloc((size_t)j->voxels * sizeof *values);
    vf_status status =
        values ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a window of %lld voxels", (long long)j->voxels);
    for (int pass = 0; pass < 2 && status == VF_OK; pass++) {
        for (int64_t i = 0; i < j->voxels; i++)
            values[i] = window(j->scan->matrix, reach, pass ? 0.5 : 1, i);
        status = vf_circulant_set(s->known.circulant, queue, VF_PRIOR_INVERSE_DATA, values);
        VF_TRY(status, vf_queue_copy(queue, s->b.data, image, (size_t)j->voxels * vf_dtype_bytes(j->type)));
        VF_TRY(status,
               vf_circulant_apply(s->known.circulant, queue, VF_PRIOR_INVERSE_DATA, 1, s->b.data, 0, s->x.data));
        VF_TRY(status, download(queue, &s->x, j->voxels, pass ? narrow : wide));
    }
    free(values);
    return status;
}

/* exp(i phi) for the phase phi of z */
static float complex turn(float complex z)
{
    const float size = cabsf(z);
    return size > 0 ? z / size : 1;
}

/* How well the phase of low frequencies predicts higher ones: in the difference of the wide and the narrow image, the
 * power out of phase with the narrow image over the power in phase; 1 if useless. `noise`: E|n|^2 of a voxel of that
 * difference. */
static double imaginary_share(const recon_job *j, const float complex *wide, const float complex *narrow, double noise)
{
    double mean = 0, real = 0, imaginary = 0;
    for (int64_t n = 0; n < j->voxels; n++)
        mean += pow(cabs(wide[n]), 2) / (double)j->voxels;
    for (int64_t n = 0; n < j->voxels; n++) {
        if (!(cabs(wide[n]) > BRIGHT * sqrt(mean)))
            continue;
        const float complex rest = (wide[n] - narrow[n]) * conjf(turn(narrow[n]));
        real += pow((double)crealf(rest), 2) - noise / 2;
        imaginary += pow((double)cimagf(rest), 2) - noise / 2;
    }
    const double share = fmax(imaginary, 0) / real;
    return real > 0 && share < 1 ? fmax(share, LEAST_IMAGINARY) : 1;
}

/* Replaces each voxel by its exp(i phi). In dark voxels the phase is noise, which is not smooth and would slow the
 * solver down, so the mean phase replaces it gradually. */
static void turns_of(const recon_job *j, float complex *image)
{
    double complex sum = 0;
    double squares = 0;
    for (int64_t n = 0; n < j->voxels; n++) {
        sum += image[n];
        squares += pow(cabs(image[n]), 2);
    }
    const double dark = DARK * sqrt(squares / (double)j->voxels);
    for (int64_t n = 0; n < j->voxels; n++) {
        const double share = dark > 0 ? 1 / (1 + pow(cabs(image[n]) / dark, 2)) : 1;
        image[n] = turn(image[n] + (float complex)(share * dark * (double complex)turn((float complex)sum)));
    }
}

/* Copies factor * exp(i angle phi) to the device; `angle` is -1, 1 or 2. */
static vf_status put_turn(const recon_job *j, vf_queue *queue, const float complex *phase, int angle, float factor,
                          float complex *room, vf_array *to)
{
    vf_status status = VF_OK;
    for (int64_t n = 0; n < j->voxels; n++)
        room[n] = factor * (angle == 2 ? phase[n] * phase[n] : angle == 1 ? phase[n] : conjf(phase[n]));
    if (!to->data)
        status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, j->type, j->voxels, to);
    return status == VF_OK ? upload(queue, room, j->voxels, to) : status;
}

static vf_status give_phase(const recon_job *j, device_solver *s, const frame_phase *phase)
{
    vf_device *device = vf_queue_device(s->queue);
    vf_array *const room[2] = {&s->known.part, &s->known.rest};
    float complex *turned = malloc((size_t)j->voxels * sizeof *turned);
    vf_status status =
        turned ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the phase of %lld voxels", (long long)j->voxels);
    for (int i = 0; i < 2 && status == VF_OK; i++)
        if (!room[i]->data)
            status = vf_array_create(device, VF_SPACE_DEVICE, j->type, j->voxels, room[i]);
    VF_TRY(status, put_turn(j, s->queue, phase->turn, 2, 0.5F, turned, &s->known.half_turn));
    VF_TRY(status, put_turn(j, s->queue, phase->turn, 1, 1, turned, &s->known.turn));
    VF_TRY(status, put_turn(j, s->queue, phase->turn, -1, 1, turned, &s->known.turn_back));
    s->known.imaginary = phase->imaginary;
    free(turned);
    return status;
}

/* Finds the phase, and how far it can be trusted, from an image that was solved for without it. */
static vf_status find_phase(crew *c, const scan_frame *frame, double power, const double reach[3], const char *image,
                            frame_phase *out)
{
    const recon_job *j = c->job;
    float complex *narrow = malloc((size_t)j->voxels * sizeof *narrow);
    double *filter = malloc((size_t)j->voxels * sizeof *filter), noise = 0;
    if (!out->turn)
        out->turn = malloc((size_t)j->voxels * sizeof *out->turn);
    vf_status status =
        narrow && filter && out->turn
            ? low_images(c, image, reach, out->turn, narrow)
            : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the phase of %lld voxels", (long long)j->voxels);
    for (int64_t i = 0; status == VF_OK && i < j->voxels; i++)
        filter[i] = window(j->scan->matrix, reach, 1, i) - window(j->scan->matrix, reach, 0.5, i);
    VF_TRY(status, regularise_filtered_noise(c, frame, power, filter, &noise));
    if (status == VF_OK)
        out->imaginary = imaginary_share(j, out->turn, narrow, noise);
    if (status == VF_OK)
        turns_of(j, out->turn);
    free(narrow);
    free(filter);
    return status;
}

vf_status constrain_phase(crew *c, const scan_frame *frame, double power, const double reach[3], const char *image)
{
    const recon_job *j = c->job;
    frame_place *place = &j->place[frame->place];
    frame_phase own = {0}, *phase = frame->replica || (j->noise->map && frame == place->first) ? &place->phase : &own;
    vf_status status = frame->replica ? VF_OK : find_phase(c, frame, power, reach, image, phase);
    const bool known = phase->imaginary < MOST_IMAGINARY;
    if (status == VF_OK && known)
        status = give_phase(j, c->solver, phase);
    if (!frame->replica)
        snprintf(c->summary.last.phase, sizeof c->summary.last.phase,
                 known ? "one side of k-space is missing; the phase of low frequencies compensates for it"
                       : "one side of k-space is missing; the phase is not smooth enough to compensate for it");
    VF_TRY(status, regularise_parts(c, frame, power, c->solver->known.imaginary));
    if (phase == &own)
        free(own.turn);
    return status;
}
