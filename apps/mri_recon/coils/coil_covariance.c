#include "coil_covariance.h"

#include <math.h>
#include <stdlib.h>

#include "channel_noise.h"
#include "coil_sums.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"
#include "wiener.h"

/* The samples are always cut into PARTS parts, and the parts' sums are added in order. So the bits do not depend on the
 * number of threads. */
enum { PARTS = 64 };

/* What a part sums. */
typedef struct part_sums {
    double cells, noise, left, squares;
} part_sums;

/* The covariance of a scan while it is summed. */
typedef struct summing {
    mri_scan *raw;
    double *share;       /* [samples] v of the trajectory's samples */
    double complex *sum; /* [PARTS][coils][coils] */
    part_sums part[PARTS];
} summing;

static double weight_of(const scan_trajectory *at, int64_t m)
{
    return at->weights ? (double)at->weights[m] : 1;
}

/* The grid point nearest to a sample; k-space repeats. */
static int64_t cell_of(const int64_t n[3], const float k[3])
{
    int64_t at[3];
    for (int a = 0; a < 3; a++) {
        int64_t i = llrint((double)k[a]) + n[a] / 2;
        if (i < 0 || i >= n[a]) /* for nearly all samples there is no need of a division, which is slow */
            i = i % n[a] + (i % n[a] < 0 ? n[a] : 0);
        at[a] = n[a] > 1 ? i : 0;
    }
    return (at[2] * n[1] + at[1]) * n[0] + at[0];
}

vf_status coil_shares(vf_context *ctx, mri_scan *raw, int trajectory, double *share)
{
    const scan_trajectory *at = &raw->trajectory[trajectory];
    const vf_wiener_space space = wiener_space_of(raw);
    const int64_t *n = raw->matrix, voxels = n[0] * n[1] * n[2];
    const bool known = trajectory == 0 && raw->density;
    double *density = known ? raw->density : malloc((size_t)voxels * sizeof *density);
    double *weights = malloc((size_t)at->samples * sizeof *weights + 1);
    vf_status status = density && weights ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory");
    if (!known)
        vf_large_pages(density, (size_t)voxels * sizeof *density);
    vf_large_pages(weights, (size_t)at->samples * sizeof *weights);
    const int64_t samples = status == VF_OK ? at->samples : 0;
    const int threads = vf_threads_for(ctx, 5 * samples);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < samples; m++)
        weights[m] = weight_of(at, m);
    if (status == VF_OK && !known)
        status = vf_sampling_density(ctx, &space, samples, at->k, weights, density);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < samples; m++) { /* the density is `voxels` times the weights */
        const double there = density[cell_of(n, at->k + 3 * m)] / (double)voxels;
        share[m] = weights[m] > 0 ? fmin(1, weights[m] / there) : 0;
    }
    if (status == VF_OK && trajectory == 0)
        raw->density = density;
    else if (!known)
        free(density);
    free(weights);
    return status;
}

/* Adds samples [first, last) of a frame's coils to part p, and counts those that are not 0 everywhere. */
static void add_block(summing *s, const scan_frame *frame, int p, int64_t first, int64_t last, double *room)
{
    const scan_trajectory *at = &s->raw->trajectory[frame->trajectory];
    const int64_t coils = s->raw->coils;
    const vf_wiener_samples samples = {
        .coils = s->raw->coils, .stride = scan_stride(s->raw, frame), .data = (const float *)frame->data};
    part_sums *sums = &s->part[p];
    bool acquired[VF_COIL_BLOCK];
    vf_coil_products_add(&samples, s->share + first, first, last, room, acquired,
                         (double *)(s->sum + p * coils * coils));
    for (int64_t m = first; m < last; m++) {
        const double v = s->share[m], w = weight_of(at, m);
        if (!(v > 0) || !acquired[m - first])
            continue;
        sums->cells += v;
        sums->noise += v / w;
        sums->left += v * v / w;
        sums->squares += v * v;
    }
}

/* Adds one frame's part p of the samples. */
static void add_frame_part(summing *s, const scan_frame *frame, int p, double *room)
{
    const int64_t samples = scan_stride(s->raw, frame), end = samples * (p + 1) / PARTS;
    for (int64_t first = samples * p / PARTS; first < end; first += VF_COIL_BLOCK)
        add_block(s, frame, p, first, first + VF_COIL_BLOCK < end ? first + VF_COIL_BLOCK : end, room);
}

/* Adds all frames of a trajectory that have data; parts share those of another frame. */
static vf_status add_trajectory(vf_context *ctx, summing *s, int trajectory)
{
    mri_scan *raw = s->raw;
    const int64_t coils = raw->coils;
    int frames = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        frames += raw->frame[f].trajectory == trajectory && raw->frame[f].data;
    if (frames == 0)
        return VF_OK;
    const int threads = vf_threads_for(ctx, raw->trajectory[trajectory].samples * frames * coils * coils / 2);
    const size_t of_thread = vf_coil_block_room(raw->coils);
    double *room = malloc((size_t)threads * of_thread * sizeof *room);
    vf_status status =
        room ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", raw->coils);
    VF_TRY(status, coil_shares(ctx, raw, trajectory, s->share));
    if (status == VF_OK) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (int t = 0; t < threads; t++) /* each has its own room */
            for (int p = t; p < PARTS; p += threads)
                for (int f = 0; f < raw->frames + raw->calibrations && !vf_cancelled(ctx); f++)
                    if (raw->frame[f].trajectory == trajectory && raw->frame[f].data)
                        add_frame_part(s, &raw->frame[f], p, room + (size_t)t * of_thread);
    }
    free(room);
    return status;
}

/* Adds the parts, in order. */
static vf_status add_parts(vf_context *ctx, const summing *s, coil_covariance *out)
{
    const int64_t coils = out->coils, elements = coils * coils;
    double squares = 0, trace = 0;
    for (int p = 0; p < PARTS; p++) {
        for (int64_t e = 0; e < elements; e++)
            out->sum[e] += s->sum[p * elements + e];
        out->cells += s->part[p].cells;
        out->noise += s->part[p].noise;
        out->left += s->part[p].left;
        squares += s->part[p].squares;
    }
    out->samples = squares > 0 ? out->cells * out->cells / squares : 0;
    for (int64_t i = 0; i < coils; i++) {
        trace += creal(out->sum[i * coils + i]);
        for (int64_t j = i + 1; j < coils; j++)
            out->sum[i * coils + j] = conj(out->sum[j * coils + i]);
    }
    if (!isfinite(trace))
        return vf_fail(ctx, VF_ERR_INPUT, "coil compression: the coils' samples have NaN or infinite values");
    return VF_OK;
}

vf_status coil_covariance_make(vf_context *ctx, mri_scan *raw, coil_covariance *out)
{
    const size_t elements = (size_t)raw->coils * (size_t)raw->coils;
    const int trajectories = raw->trajectories + raw->calibrations;
    summing s = {.raw = raw};
    int64_t longest = 1;
    for (int t = 0; t < trajectories; t++)
        longest = raw->trajectory[t].samples > longest ? raw->trajectory[t].samples : longest;
    free(raw->density);
    raw->density = NULL;
    *out = (coil_covariance){.coils = raw->coils, .sum = calloc(elements, sizeof *out->sum)};
    s.share = malloc((size_t)longest * sizeof *s.share);
    vf_large_pages(s.share, (size_t)longest * sizeof *s.share);
    s.sum = calloc(PARTS * elements, sizeof *s.sum);
    vf_status status = VF_OK;
    if (!s.share || !s.sum || !out->sum)
        status = vf_fail(ctx, VF_ERR_MEMORY, "coil compression: not enough memory for the covariance of %d coils",
                         raw->coils);
    for (int t = 0; t < trajectories && status == VF_OK; t++)
        status = add_trajectory(ctx, &s, t);
    if (status == VF_OK && vf_cancelled(ctx))
        status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    VF_TRY(status, add_parts(ctx, &s, out));
    free(s.share);
    free(s.sum);
    return status;
}

void coil_covariance_free(coil_covariance *covariance)
{
    free(covariance->sum);
    *covariance = (coil_covariance){0};
}
