/* The power of an image by radius in k-space, from the samples of its coils; and the density of samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coil_sums_chunk.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"
#include "wiener.h"

enum { CHUNK = 4096 };                     /* samples per unit of work */
static const double BIN_CYCLES = 2;        /* width of a bin, in cycles over the widest field of view */
static const double VARIANCE_KNOWN = 0.05; /* relative uncertainty of the noise's variance: it may be too low */
static const double FLATTEST = -1;         /* the smallest exponent assumed: no image's power falls off more slowly */
static const double UNKNOWN = -3;          /* exponent if only one bin is known: that of edges */

typedef struct vf_spectrum_bin bin_sums;

typedef struct bins {
    const vf_wiener_space *space;
    const vf_wiener_samples *samples;
    int count;
    double width; /* 1/mm */
} bins;

static void choose_bins(bins *b)
{
    double most = 0, fov = 0;
    for (int a = 0; a < 3; a++)
        if (b->space->matrix[a] > 1) {
            most += pow((double)b->space->matrix[a] / 2 / b->space->fov[a], 2);
            fov = fmax(fov, b->space->fov[a]);
        }
    most = sqrt(most);
    const double wanted = fov > 0 ? most * fov / BIN_CYCLES : 1;
    b->count = wanted < 2 ? 2 : wanted > VF_SPECTRUM_BINS - 1 ? VF_SPECTRUM_BINS - 1 : (int)ceil(wanted);
    b->width = most > 0 ? most / b->count : 1;
    b->count++; /* for samples beyond the corners */
}

static void add_chunk(const bins *b, int64_t first, int64_t count, bin_sums *sums)
{
    const vf_wiener_samples *s = b->samples;
    const int64_t stride = s->stride ? s->stride : s->count;
    double power[CHUNK] = {0}, square[CHUNK];
    for (int c = 0; c < s->coils; c++) {
        const float *data = s->data + 2 * (c * stride + first);
        for (int64_t m = 0; m < count; m++)
            power[m] += (double)data[2 * m] * data[2 * m] + (double)data[2 * m + 1] * data[2 * m + 1];
    }
    coil_sums_chunk_of_cpu()->squares(b->space, s->k + 3 * first, count, square);
    for (int64_t m = 0; m < count; m++) {
        const double radius = sqrt(square[m]);
        const double at = radius / b->width;
        const int bin = at < b->count - 1 ? (int)at : b->count - 1;
        if ((s->weights && !(s->weights[first + m] > 0)) || power[m] == 0)
            continue; /* exact zeros were not acquired; weight 0 is ignored */
        sums[bin].power += power[m];
        sums[bin].radius += radius;
        sums[bin].noise += s->weights ? 1 / s->weights[first + m] : 1;
        sums[bin].count++;
    }
}

/* Chunk sums are added in order, so the bits do not depend on the number of threads. */
static vf_status add_samples(vf_context *ctx, const bins *b, bin_sums *sums)
{
    const int64_t samples = b->samples->count, chunks = (samples + CHUNK - 1) / CHUNK;
    bin_sums *part = calloc((size_t)(chunks * b->count) + 1, sizeof *part);
    if (!part)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the spectrum of %lld samples", (long long)samples);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * samples * b->samples->coils))
    for (int64_t i = 0; i < chunks; i++)
        add_chunk(b, i * CHUNK, samples - i * CHUNK < CHUNK ? samples - i * CHUNK : CHUNK, part + i * b->count);
    for (int64_t i = 0; i < chunks; i++)
        for (int bin = 0; bin < b->count; bin++) {
            sums[bin].power += part[i * b->count + bin].power;
            sums[bin].radius += part[i * b->count + bin].radius;
            sums[bin].noise += part[i * b->count + bin].noise;
            sums[bin].count += part[i * b->count + bin].count;
        }
    free(part);
    return VF_OK;
}

/* The slope of a least-squares line through the outer half of the bins. */
static double outer_slope(const vf_spectrum *s)
{
    const int first = s->bins / 2 < s->bins - 2 ? s->bins / 2 : s->bins - 2;
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    if (s->bins < 2)
        return UNKNOWN;
    for (int i = first; i < s->bins; i++) {
        n++;
        x += s->log_radius[i];
        y += s->log_power[i];
        xx += s->log_radius[i] * s->log_radius[i];
        xy += s->log_radius[i] * s->log_power[i];
    }
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    return slope < FLATTEST ? slope : isnan(slope) ? UNKNOWN : FLATTEST;
}

/* The expected power, given a measurement with an error and that power is not negative: the mean of the positive part
 * of a normal distribution. If the measurement is several errors, it is the measurement. If only noise was measured, it
 * is a fraction of the error. */
static double expected_power(double measured, double error)
{
    const double z = measured / error;
    if (!(error > 0))
        return measured;
    if (z < -10) /* approximates the quotient below to 1 % */
        return -error / z;
    return measured + error * sqrt(2 / M_PI) * exp(-z * z / 2) / erfc(-z / sqrt(2));
}

vf_status vf_spectrum_add_up(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                             vf_spectrum_sums *out)
{
    bins b = {.space = space, .samples = samples};
    const double received = samples->received > 0 ? (double)samples->received / samples->coils : 1;
    *out = (vf_spectrum_sums){.coils = samples->coils, .known = VARIANCE_KNOWN * received};
    choose_bins(&b);
    return add_samples(ctx, &b, out->bin);
}

vf_status vf_spectrum_estimate(vf_context *ctx, const vf_wiener_space *space, const vf_wiener_samples *samples,
                               double variance, double power, vf_spectrum *out)
{
    vf_spectrum_sums sums;
    const vf_status status = vf_spectrum_add_up(ctx, space, samples, &sums);
    if (status == VF_OK)
        vf_spectrum_of_sums(space, &sums, variance, power, out);
    return status;
}

void vf_spectrum_of_sums(const vf_wiener_space *space, const vf_spectrum_sums *of, double variance, double power,
                         vf_spectrum *out)
{
    bins b = {.space = space};
    const bin_sums *sums = of->bin;
    *out = (vf_spectrum){.slope = UNKNOWN};
    choose_bins(&b);
    for (int bin = 0; bin < b.count; bin++) {
        if (sums[bin].count == 0)
            continue;
        const double noise = of->coils * variance * sums[bin].noise / sums[bin].count;
        const double error = noise * sqrt(1 / (sums[bin].count * of->coils) + of->known * of->known);
        const double signal = expected_power(sums[bin].power / sums[bin].count - noise, error);
        if (!(signal > 0))
            continue;
        out->log_radius[out->bins] = log(fmax(sums[bin].radius / sums[bin].count, b.width / 4));
        out->log_power[out->bins] = log(signal / power);
        out->bins++;
    }
    if (out->bins == 0) /* only noise: assume an image far below it */
        *out = (vf_spectrum){
            .bins = 1, .log_radius = {log(b.width)}, .log_power = {variance > 0 ? log(1e-3 * variance / power) : 0}};
    out->slope = outer_slope(out);
}

double vf_spectrum_at(const vf_spectrum *s, double radius)
{
    const double x = radius > 0 ? log(radius) : -INFINITY;
    int i = s->bins - 1;
    if (!(x > s->log_radius[0]))
        return exp(s->log_power[0]);
    if (x >= s->log_radius[i])
        return exp(s->log_power[i] + s->slope * (x - s->log_radius[i]));
    while (x < s->log_radius[i])
        i--;
    const double share = (x - s->log_radius[i]) / (s->log_radius[i + 1] - s->log_radius[i]);
    return exp(s->log_power[i] + share * (s->log_power[i + 1] - s->log_power[i]));
}

/* The index of -|k|, where index i is k = i - n / 2. */
static int64_t below_zero(int64_t i, int64_t n)
{
    return i > n / 2 ? n / 2 * 2 - i : i;
}

/* It depends on |k| along each axis: an eighth is computed, the rest are copies. */
void vf_spectrum_fill(vf_context *ctx, const vf_wiener_space *space, const vf_spectrum *spectrum, double *out)
{
    const int64_t *n = space->matrix, ny = n[1] / 2 + 1, nz = n[2] / 2 + 1;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 20 * n[0] * ny * nz))
    for (int64_t i = 0; i < ny * nz; i++) {
        const int64_t y = i % ny, z = i / ny;
        double *row = out + (z * n[1] + y) * n[0];
        for (int64_t x = 0; x <= n[0] / 2; x++) {
            const double k[3] = {(double)(x - n[0] / 2), (double)(y - n[1] / 2), (double)(z - n[2] / 2)};
            row[x] = vf_spectrum_at(spectrum, vf_wiener_radius(space, k));
        }
        for (int64_t x = n[0] / 2 + 1; x < n[0]; x++)
            row[x] = row[below_zero(x, n[0])];
    }
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, n[0] * n[1] * n[2]))
    for (int64_t i = 0; i < n[1] * n[2]; i++) {
        const int64_t y = i % n[1], z = i / n[1], from = below_zero(z, n[2]) * n[1] + below_zero(y, n[1]);
        if (from != i)
            memcpy(out + i * n[0], out + from * n[0], (size_t)n[0] * sizeof *out);
    }
}

/* ---- density ---- */

/* A place on a grid that repeats. Nearly all samples lie on the grid itself, and need none of the slow divisions. */
static int64_t on_grid(int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    return i % n < 0 ? i % n + n : i % n;
}

/* The two grid points around a sample along an axis, and their shares. */
static inline void neighbours(float k, int64_t n, int64_t at[2], double share[2])
{
    const double place = (double)k + (double)(n / 2);
    const int64_t whole = (int64_t)place; /* floor() is a call of a function */
    const double below = (double)(whole - ((double)whole > place));
    at[0] = n > 1 ? on_grid((int64_t)below, n) : 0;
    at[1] = n > 1 ? on_grid(at[0] + 1, n) : 0;
    share[1] = n > 1 ? place - below : 0;
    share[0] = 1 - share[1];
}

enum { WIDE = 8 }; /* lines side by side: a cache line */

/* Smooths a line of adjacent values twice, as below. `room`: for 2 count. */
static void smooth_line(double *values, int64_t count, double *room)
{
    const double *from = values;
    for (int pass = 0; pass < 2; pass++) {
        double *to = pass == 0 ? room : values;
        for (int64_t j = 1; j < count - 1; j++)
            to[j] = (from[j - 1] + 2 * from[j] + from[j + 1]) / 4;
        to[0] = (from[count - 1] + 2 * from[0] + from[1]) / 4;
        to[count - 1] = (from[count - 2] + 2 * from[count - 1] + from[0]) / 4;
        from = room;
    }
}

/* Smooths WIDE lines of `count` values, or fewer, twice by 1/4, 1/2, 1/4; the first value follows the last. A line begins
 * at values + i, and its values are `step` apart. `room`: for 2 count WIDE. */
static void smooth_lines(double *values, int lines, int64_t count, int64_t step, double *room)
{
    double *line = room, *next = room + count * WIDE;
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < WIDE; i++)
            line[j * WIDE + i] = i < lines ? values[j * step + i] : 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < count; j++) {
            const double *before = line + (j > 0 ? j - 1 : count - 1) * WIDE, *here = line + j * WIDE,
                         *after = line + (j + 1 < count ? j + 1 : 0) * WIDE;
            for (int i = 0; i < WIDE; i++)
                next[j * WIDE + i] = (before[i] + 2 * here[i] + after[i]) / 4;
        }
        double *other = line;
        line = next;
        next = other;
    }
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < lines; i++)
            values[j * step + i] = line[j * WIDE + i];
}

/* Along x the values of one line are adjacent, so lines are smoothed one by one; otherwise those of adjacent x together.
 * `room`: for 2 WIDE of the longest lines for each thread. */
static void smooth_axis(const int64_t n[3], int axis, int threads, double *values, double *room)
{
    const int64_t step = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1], length = n[axis];
    const int64_t most = axis == 0 ? 1 : WIDE, groups = (step + most - 1) / most; /* of the lines of one plane */
    const int64_t pieces = n[0] * n[1] * n[2] / length / step * groups;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++)
        for (int64_t i = pieces * t / threads; i < pieces * (t + 1) / threads; i++) {
            const int64_t first = i % groups * most, left = step - first;
            double *from = values + i / groups * step * length + first, *own = room + 2 * WIDE * t * length;
            if (step == 1)
                smooth_line(from, length, own);
            else
                smooth_lines(from, (int)(left < most ? left : most), length, step, own);
        }
}

/* Samples by the first of their two planes of an axis, each plane's in their order. */
typedef struct sample_planes {
    const int64_t *n;
    int axis;
    int64_t count;
    const float *k;
    const double *weights;
    int64_t *begin; /* [planes + 1] places in `sample` */
    int64_t *sample;
} sample_planes;

static int64_t first_plane(const sample_planes *s, int64_t m)
{
    int64_t at[2];
    double share[2];
    neighbours(s->k[3 * m + s->axis], s->n[s->axis], at, share);
    return at[0];
}

/* Counts the samples of each chunk and plane, then puts them where all before them end. `room` [chunks][planes]. */
static void sort_by_plane(sample_planes *s, int64_t chunks, int threads, int64_t *room)
{
    const int64_t planes = s->n[s->axis];
    int64_t place = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t c = 0; c < chunks; c++) {
        memset(room + c * planes, 0, (size_t)planes * sizeof *room);
        for (int64_t m = s->count * c / chunks; m < s->count * (c + 1) / chunks; m++)
            room[c * planes + first_plane(s, m)]++;
    }
    for (int64_t p = 0; p < planes; p++) {
        s->begin[p] = place;
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t own = room[c * planes + p];
            room[c * planes + p] = place;
            place += own;
        }
    }
    s->begin[planes] = place;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t c = 0; c < chunks; c++)
        for (int64_t m = s->count * c / chunks; m < s->count * (c + 1) / chunks; m++)
            s->sample[room[c * planes + first_plane(s, m)]++] = m;
}

enum { AHEAD = 16 }; /* samples of a plane are far apart in memory, and asked for before their turn */

/* Adds to a plane what those samples give to it that have it as their first or `second` plane. */
static void add_to_plane(const sample_planes *s, int64_t plane, bool second, double *out)
{
    const int64_t *n = s->n, from = second ? (plane > 0 ? plane : n[s->axis]) - 1 : plane;
    const double voxels = (double)(n[0] * n[1] * n[2]);
    int first[3] = {0, 0, 0}, last[3] = {1, 1, 1}; /* of the two planes around a sample, along each axis */
    first[s->axis] = last[s->axis] = second;
    for (int64_t i = s->begin[from]; i < s->begin[from + 1]; i++) {
        const int64_t m = s->sample[i], ahead = s->sample[i + AHEAD < s->count ? i + AHEAD : i];
        int64_t at[3][2];
        double share[3][2];
        __builtin_prefetch(s->k + 3 * ahead);
        if (s->weights)
            __builtin_prefetch(s->weights + ahead);
        const double w = (s->weights ? s->weights[m] : 1) * voxels;
        for (int a = 0; a < 3; a++)
            neighbours(s->k[3 * m + a], n[a], at[a], share[a]);
        for (int z = first[2]; z <= last[2]; z++)
            for (int y = first[1]; y <= last[1]; y++)
                for (int x = first[0]; x <= last[0]; x++) {
                    const double part = share[0][x] * share[1][y] * share[2][z];
                    if (part > 0)
                        out[(at[2][z] * n[1] + at[1][y]) * n[0] + at[0][x]] += w * part;
                }
    }
}

vf_status vf_sampling_density(vf_context *ctx, const vf_wiener_space *space, int64_t count, const float *k,
                              const double *weights, double *out)
{
    enum { OF_CHUNK = 1 << 15, MOST_CHUNKS = 256 };
    const int64_t *n = space->matrix;
    const int threads = vf_threads_for(ctx, 5 * (count + n[0] * n[1] * n[2])), axis = n[2] > 1 ? 2 : n[1] > 1 ? 1 : 0;
    const int64_t longest = n[0] > n[1] ? (n[0] > n[2] ? n[0] : n[2]) : n[1] > n[2] ? n[1] : n[2], planes = n[axis];
    const int64_t chunks = count / OF_CHUNK < MOST_CHUNKS ? count / OF_CHUNK + 1 : MOST_CHUNKS;
    const int64_t of_plane = n[0] * n[1] * n[2] / planes;
    sample_planes samples = {.n = n, .axis = axis, .count = count, .k = k, .weights = weights};
    double *room = malloc(2 * WIDE * (size_t)threads * (size_t)longest * sizeof *room);
    int64_t *counts = malloc((size_t)(chunks * planes) * sizeof *counts);
    samples.begin = malloc((size_t)(planes + 1) * sizeof *samples.begin);
    samples.sample = malloc((size_t)count * sizeof *samples.sample + 1);
    vf_large_pages(samples.sample, (size_t)count * sizeof *samples.sample);
    const bool enough = room && counts && samples.begin && samples.sample;
    if (enough) {
        sort_by_plane(&samples, chunks, threads, counts);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t p = 0; p < planes; p++) { /* of adjacent voxels, since axes behind `axis` have one */
            memset(out + p * of_plane, 0, (size_t)of_plane * sizeof *out);
            add_to_plane(&samples, p, false, out);
            if (planes > 1)
                add_to_plane(&samples, p, true, out);
        }
    }
    for (int a = 0; a < 3 && enough; a++)
        if (n[a] > 1)
            smooth_axis(n, a, threads, out, room);
    free(room);
    free(counts);
    free(samples.begin);
    free(samples.sample);
    return enough ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the sampling density");
}
