/* The envelope of a frame's image: its brightness over the field of view, estimated before the solver runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "frames/frame_images.h"
#include "frames/frame_places.h"
#include "noise_settings.h"
#include "regularise.h"
#include "voxfield/team_size.h"

/* The least share of the field of view that an object fills. */
static const double LEAST_FILLED = 0.05;
/* The envelope is smoothed twice by a box that reaches 1 / ENVELOPE_SHARE of an axis to both sides. LEAST_ENVELOPE is
 * its least value, relative to the root mean square. */
enum { ENVELOPE_SHARE = 24 };
static const double LEAST_ENVELOPE = 0.15;
/* The image is made from the middle of k-space, with weights exp(-r^2 / LOW_PASS^2); r = 1 is a face of k-space. A
 * smaller value would blur rims, a larger one would add noise. */
static const double LOW_PASS = 0.5;
enum { BLOCKS = 128 }; /* of voxels that are summed */

enum { WIDE = 8 }; /* lines side by side: a cache line */

/* Replaces each of `count` values, `step` apart, by the mean over 2 reach + 1 of them, 0 beyond the ends. This for `lines` lines,
 * at most WIDE, `between` apart. `room` is scratch for WIDE lines. */
static void smooth_lines(double *values, int lines, int64_t between, int64_t count, int64_t step, int64_t reach,
                         double *room)
{
    static const double beyond[WIDE] = {0};
    double sum[WIDE] = {0};
    for (int64_t i = 0; i < count; i++)
        for (int l = 0; l < WIDE; l++)
            room[i * WIDE + l] = l < lines ? values[i * step + l * between] : 0;
    for (int64_t i = 0; i < reach && i < count; i++)
        for (int l = 0; l < WIDE; l++)
            sum[l] += room[i * WIDE + l];
    for (int64_t i = 0; i < count; i++) {
        const double *in = i + reach < count ? room + (i + reach) * WIDE : beyond;
        const double *out = i - reach >= 0 ? room + (i - reach) * WIDE : beyond;
        double mean[WIDE];
        for (int l = 0; l < WIDE; l++) {
            sum[l] += in[l];
            mean[l] = (sum[l] > 0 ? sum[l] : 0) / (double)(2 * reach + 1);
            sum[l] -= out[l];
        }
        for (int l = 0; l < lines; l++)
            values[i * step + l * between] = mean[l];
    }
}

int64_t envelope_smooth_room(const vf_context *ctx, const int64_t n[3])
{
    return WIDE * vf_context_threads(ctx) * (n[0] > n[1] ? (n[0] > n[2] ? n[0] : n[2]) : n[1] > n[2] ? n[1] : n[2]);
}

void envelope_smooth(const vf_context *ctx, const int64_t n[3], double *values, double *room)
{
    const int threads = vf_threads_for(ctx, 5 * n[0] * n[1] * n[2]);
    const int64_t steps[3] = {1, n[0], n[0] * n[1]};
    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < 3; a++) {
            const int64_t reach = n[a] / ENVELOPE_SHARE, step = steps[a], between = a > 0 ? 1 : n[0];
            /* Lines of a block are `between` apart: those of a plane, or of the whole array if they lie along x. */
            const int64_t of_block = a > 0 ? step : n[1] * n[2], groups = (of_block + WIDE - 1) / WIDE;
            const int64_t pieces = n[0] * n[1] * n[2] / n[a] / of_block * groups;
            if (reach < 1)
                continue;
#pragma omp parallel for schedule(static) num_threads(threads)
            for (int t = 0; t < threads; t++)
                for (int64_t i = pieces * t / threads; i < pieces * (t + 1) / threads; i++) {
                    const int64_t first = i % groups * WIDE, left = of_block - first;
                    smooth_lines(values + i / groups * of_block * n[a] + first * between,
                                 (int)(left < WIDE ? left : WIDE), between, n[a], step, reach, room + WIDE * t * n[a]);
                }
        }
}

/* Sum of |x|^2 over channels, or over the images of several sets. For maps that fade, the sum is of |s x|^2, the image
 * of even intensity, because x alone is brighter where the maps are faint. `power` [set][voxels] is of |s|^2; NULL: maps do not fade. */
static void add_energies(const recon_job *j, const scan_frame *frame, const char *image, const double *power,
                         double *energy)
{
    const int images = j->channels * frame_sets(j, frame);
    for (int i = 0; i < images; i++) {
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->voxels))
        for (int64_t v = 0; v < j->voxels; v++) {
            const int64_t at = i * j->voxels + v;
            const double complex x = image_value(j, image, at);
            const double of_one = (power ? power[at] : 1) * (creal(x) * creal(x) + cimag(x) * cimag(x));
            energy[v] = i > 0 ? energy[v] + of_one : of_one;
        }
    }
}

/* *sum of sqrt(energy) and *squares of energy over all voxels. Blocks are added in order, so the bits do not depend on the number of
 * threads. */
static void add_up(const recon_job *j, const double *energy, double *sum, double *squares)
{
    double part[BLOCKS][2] = {{0}};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 5 * j->voxels))
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t v = j->voxels * b / BLOCKS; v < j->voxels * (b + 1) / BLOCKS; v++) {
            part[b][0] += sqrt(energy[v]);
            part[b][1] += energy[v];
        }
    *sum = *squares = 0;
    for (int b = 0; b < BLOCKS; b++) {
        *sum += part[b][0];
        *squares += part[b][1];
    }
}

/* The envelope of an image, and the share of the field of view that the object fills: (sum |x|)^2 / (N sum |x|^2),
 * which is exact for an object of uniform brightness. Noise and folding make it larger. */
static vf_status smooth_energy(crew *c, const scan_frame *frame, const char *image, frame_envelope *out)
{
    const recon_job *j = c->job;
    const frame_place *place = &j->place[frame->place];
    const int64_t *n = j->scan->matrix;
    const double *power = NULL;
    double sum, squares;
    const size_t numbers = (size_t)(j->voxels + envelope_smooth_room(j->ctx, n));
    double *energy = malloc(numbers * sizeof *energy);
    vf_large_pages(energy, numbers * sizeof *energy);
    vf_status status =
        energy ? VF_OK
               : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the envelope of %lld voxels", (long long)j->voxels);
    if (status == VF_OK && j->has_maps && place->weighted)
        status = crew_map_powers(c, place, &power);
    if (status != VF_OK) {
        free(energy);
        return status;
    }
    add_energies(j, frame, image, power, energy);
    add_up(j, energy, &sum, &squares);
    const double share = sum * sum / (squares * (double)j->voxels), mean = squares / (double)j->voxels;
    const bool known = share > 0 && isfinite(mean); /* else all values are 0, or their squares overflow */
    out->filled = known ? fmin(fmax(share, LEAST_FILLED), 1) : 1;
    envelope_smooth(j->ctx, n, energy, energy + j->voxels);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 5 * j->voxels))
    for (int64_t v = 0; v < j->voxels; v++)
        out->values[v] = known ? (float)fmax(sqrt(energy[v] / mean), LEAST_ENVELOPE) : 1;
    free(energy);
    return VF_OK;
}

/* Sample weights for an image of low resolution: a Gaussian over the density, or over a Cartesian grid's density if
 * that is larger. So regions that are sampled more thinly, and folded, count less. */
static vf_status low_resolution(crew *c, const scan_frame *frame, float *weights)
{
    const recon_job *j = c->job;
    const int64_t *n = j->scan->matrix;
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    const vf_status status = regularise_density(c, frame->trajectory);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 20 * at->samples))
    for (int64_t m = 0; m < (status == VF_OK ? at->samples : 0); m++) {
        double radius = 0;
        int64_t cell = 0;
        for (int a = 2; a >= 0; a--) {
            const int64_t i = llroundf(at->k[3 * m + a]) + n[a] / 2;
            radius += n[a] > 1 ? pow((double)at->k[3 * m + a] / (0.5 * (double)n[a]), 2) : 0;
            cell = cell * n[a] + (i < 0 ? 0 : i < n[a] ? i : n[a] - 1);
        }
        weights[m] =
            (float)(exp(-radius / (LOW_PASS * LOW_PASS)) / fmax(c->density[cell], (double)j->voxels * c->mean_weight));
    }
    return status;
}

static frame_envelope *place_envelope(const recon_job *j, const scan_frame *frame)
{
    return &j->place[frame->place].envelope;
}

static vf_status copy_envelope(const recon_job *j, const frame_envelope *from, frame_envelope *to)
{
    if (!to->values)
        to->values = malloc((size_t)j->voxels * sizeof *to->values);
    if (!to->values)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the envelope of %lld voxels", (long long)j->voxels);
    memcpy(to->values, from->values, (size_t)j->voxels * sizeof *to->values);
    to->filled = from->filled;
    return VF_OK;
}

vf_status envelope_of_frame(crew *c, right_side *side, const scan_frame *frame, frame_envelope *out)
{
    const recon_job *j = c->job;
    const scan_trajectory *at = &j->scan->trajectory[frame->trajectory];
    if (frame->replica) /* a replica is solved like the frame it was made from */
        return copy_envelope(j, place_envelope(j, frame), out);
    float *weights = malloc((size_t)at->samples * sizeof *weights + 1);
    char *image = malloc(frame_bytes(j) + 1);
    vf_large_pages(weights, (size_t)at->samples * sizeof *weights);
    vf_large_pages(image, frame_bytes(j));
    if (!out->values)
        out->values = malloc((size_t)j->voxels * sizeof *out->values + 1);
    vf_status status = weights && image && out->values
                           ? low_resolution(c, frame, weights)
                           : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a frame's image of low resolution");
    right_side_weigh(side, weights);
    VF_TRY(status, crew_adjoint(c, side, frame, true, image));
    right_side_weigh(side, NULL);
    VF_TRY(status, smooth_energy(c, frame, image, out));
    if (status == VF_OK && j->noise->map && frame == j->place[frame->place].first)
        status = copy_envelope(j, out, place_envelope(j, frame));
    free(image);
    free(weights);
    return status;
}
