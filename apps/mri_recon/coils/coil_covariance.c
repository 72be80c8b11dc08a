#include "coil_covariance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel_noise.h"
#include "voxfield/team_size.h"
#include "wiener.h"

/* The samples are always cut into PARTS parts, and the parts' sums are added in order. So the bits do not depend on the
 * number of threads. */
enum { PARTS = 64, BLOCK = 256 };

/* What a part sums. */
typedef struct part_sums {
    double cells, noise, left, squares;
} part_sums;

/* The covariance of a scan while it is summed. */
typedef struct summing {
    const mri_scan *raw;
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
        const int64_t i = (llrint((double)k[a]) + n[a] / 2) % n[a];
        at[a] = n[a] > 1 ? i + (i < 0 ? n[a] : 0) : 0;
    }
    return (at[2] * n[1] + at[1]) * n[0] + at[0];
}

/* v of all samples of a trajectory. */
static vf_status find_shares(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at, double *share)
{
    const vf_wiener_space space = wiener_space_of(raw);
    const int64_t *n = raw->matrix, voxels = n[0] * n[1] * n[2];
    double *density = malloc((size_t)voxels * sizeof *density);
    double *weights = malloc((size_t)at->samples * sizeof *weights + 1);
    vf_status status = density && weights ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory");
    const int64_t samples = status == VF_OK ? at->samples : 0;
    const int threads = vf_threads_for(ctx, 5 * samples);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < samples; m++)
        weights[m] = weight_of(at, m);
    VF_TRY(status, vf_sampling_density(ctx, &space, samples, at->k, weights, density));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < samples; m++) { /* the density is `voxels` times the weights */
        const double there = density[cell_of(n, at->k + 3 * m)] / (double)voxels;
        share[m] = weights[m] > 0 ? fmin(1, weights[m] / there) : 0;
    }
    free(density);
    free(weights);
    return status;
}

/* Samples [first, last) of all coils, times the roots of their shares: planes re, im of each coil, [coils][2][BLOCK].
 * Counts those that are not 0 everywhere. */
static void take_block(const summing *s, const scan_frame *frame, int64_t first, int64_t last, double *to,
                       part_sums *sums)
{
    const scan_trajectory *at = &s->raw->trajectory[frame->trajectory];
    const int64_t stride = scan_stride(s->raw, frame);
    double root[BLOCK], energy[BLOCK] = {0};
    for (int64_t m = first; m < last; m++)
        root[m - first] = sqrt(s->share[m]);
    for (int c = 0; c < s->raw->coils; c++) {
        const float *d = (const float *)(frame->data + c * stride + first);
        double *re = to + (int64_t)2 * BLOCK * c, *im = re + BLOCK;
        for (int64_t m = 0; m < last - first; m++) {
            re[m] = root[m] * (double)d[2 * m];
            im[m] = root[m] * (double)d[2 * m + 1];
            energy[m] += fabs((double)d[2 * m]) + fabs((double)d[2 * m + 1]);
        }
    }
    for (int64_t m = first; m < last; m++) {
        const double v = s->share[m], w = weight_of(at, m);
        if (!(v > 0) || energy[m - first] == 0)
            continue;
        sums->cells += v;
        sums->noise += v / w;
        sums->left += v * v / w;
        sums->squares += v * v;
    }
}

/* sum[i][j] += sum over a block of d_i conj(d_j), for j <= i. */
static void add_block(int coils, int64_t count, const double *block, double complex *sum)
{
    for (int i = 0; i < coils; i++)
        for (int j = 0; j <= i; j++) {
            const double *a = block + (int64_t)2 * BLOCK * i, *c = block + (int64_t)2 * BLOCK * j;
            double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
            for (int64_t m = 0; m < count; m++) {
                re += a[m] * c[m] + a[BLOCK + m] * c[BLOCK + m];
                im += a[BLOCK + m] * c[m] - a[m] * c[BLOCK + m];
            }
            sum[i * coils + j] += re + im * I;
        }
}

/* Adds one frame's part p of the samples. */
static void add_frame_part(summing *s, const scan_frame *frame, int p, double *block)
{
    const int64_t samples = scan_stride(s->raw, frame), end = samples * (p + 1) / PARTS;
    const int coils = s->raw->coils;
    for (int64_t first = samples * p / PARTS; first < end; first += BLOCK) {
        const int64_t last = first + BLOCK < end ? first + BLOCK : end;
        take_block(s, frame, first, last, block, &s->part[p]);
        add_block(coils, last - first, block, s->sum + (int64_t)p * coils * coils);
    }
}

/* Adds all frames of a trajectory that have data; parts share those of another frame. */
static vf_status add_trajectory(vf_context *ctx, summing *s, int trajectory)
{
    const mri_scan *raw = s->raw;
    const int64_t coils = raw->coils;
    int frames = 0;
    for (int f = 0; f < raw->frames + raw->calibrations; f++)
        frames += raw->frame[f].trajectory == trajectory && raw->frame[f].data;
    if (frames == 0)
        return VF_OK;
    const int threads = vf_threads_for(ctx, raw->trajectory[trajectory].samples * frames * coils * coils / 2);
    double *blocks = malloc((size_t)threads * (size_t)coils * 2 * BLOCK * sizeof *blocks);
    vf_status status =
        blocks ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", raw->coils);
    VF_TRY(status, find_shares(ctx, raw, &raw->trajectory[trajectory], s->share));
    if (status == VF_OK) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (int t = 0; t < threads; t++) /* each has its own block */
            for (int p = t; p < PARTS; p += threads)
                for (int f = 0; f < raw->frames + raw->calibrations && !vf_cancelled(ctx); f++)
                    if (raw->frame[f].trajectory == trajectory && raw->frame[f].data)
                        add_frame_part(s, &raw->frame[f], p, blocks + t * coils * 2 * BLOCK);
    }
    free(blocks);
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

vf_status coil_covariance_make(vf_context *ctx, const mri_scan *raw, coil_covariance *out)
{
    const size_t elements = (size_t)raw->coils * (size_t)raw->coils;
    const int trajectories = raw->trajectories + raw->calibrations;
    summing s = {.raw = raw};
    int64_t longest = 1;
    for (int t = 0; t < trajectories; t++)
        longest = raw->trajectory[t].samples > longest ? raw->trajectory[t].samples : longest;
    *out = (coil_covariance){.coils = raw->coils, .sum = calloc(elements, sizeof *out->sum)};
    s.share = malloc((size_t)longest * sizeof *s.share);
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
