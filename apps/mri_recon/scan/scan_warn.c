/* Warnings of input that is allowed but rarely intended. */
#include <math.h>

#include "scan_units.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

/* A trajectory that covers less of the matrix's k-space gives a blurred image. Often the units are wrong. */
static const double LEAST_COVERED = 0.25;
/* A trajectory in radians per voxel reaches pi, or 5 % more with gradient delays. */
static const double MOST_RADIANS = 1.05 * M_PI;
/* Limits that suggest other units: a field of view in mm, the time of all readouts in s. */
static const double LEAST_FOV = 2, LONGEST = 1;

/* The outer and the inner quarter of an axis, and how much stronger samples are out there than noise ever is. */
static const double EDGE = 0.75, STRONGER = 2;

static void warn_of_extent(vf_context *ctx, const char *name, const mri_scan *raw)
{
    double most[3];
    static const char axes[] = "xyz";
    scan_extent_of_all(ctx, raw, most);
    for (int a = 0; a < 3; a++) {
        const double edge = (double)raw->matrix[a] / 2;
        if (raw->matrix[a] > 1 && most[a] == 0)
            vf_warn(ctx, "%s: k%c is 0 at all samples, but the matrix is %lld along %c; use 1 for a plane", name,
                    axes[a], (long long)raw->matrix[a], axes[a]);
        else if (raw->matrix[a] > 1 && most[a] < LEAST_COVERED * edge)
            vf_warn(ctx,
                    "%s: the trajectory reaches only |k%c| = %.3g of the %g cycles per field of view that the matrix "
                    "resolves; the "
                    "image will be blurred. Check the units.%s",
                    name, axes[a], most[a], edge,
                    most[a] > 0.5 && most[a] <= MOST_RADIANS
                        ? " If they are radians per voxel, give --trajectory-units radians"
                        : "");
        else if (raw->matrix[a] == 1 && most[a] > 1)
            vf_warn(ctx,
                    "%s: the trajectory reaches |k%c| = %.6g, but the matrix is 1 along %c, so k%c has no effect; for "
                    "a volume, use a larger matrix",
                    name, axes[a], most[a], axes[a], axes[a]);
    }
}

/* Marks the axes on which no sample that counts lies within `near` cycles of the middle. */
static bool misses_centre(const mri_scan *raw, const scan_trajectory *t, bool missed[3])
{
    bool any = false;
    for (int a = 0; a < 3; a++) {
        const float near = fmaxf(2, (float)raw->matrix[a] / 32);
        bool found = raw->matrix[a] == 1;
        for (int64_t m = 0; m < t->samples && !found; m++)
            found = fabsf(t->k[3 * m + a]) <= near && !(t->weights && t->weights[m] == 0);
        missed[a] = missed[a] || !found;
        any = any || !found;
    }
    return any;
}

void scan_warn_of_centre(vf_context *ctx, const char *name, bool cut, const mri_scan *raw)
{
    bool missed[3] = {false, false, false}, without = false;
    int frames = 0;
    for (int f = 0; f < raw->frames; f++) {
        const int own = raw->frame[f].trajectory;
        if (f == 0 || own != raw->frame[f - 1].trajectory)
            without = misses_centre(raw, &raw->trajectory[own], missed);
        frames += without;
    }
    if (frames > 0)
        vf_warn(ctx,
                "%s: %d of %d image%s %s no sample near the centre of k-space along%s%s%s, so what is shown is only "
                "edges; %s",
                name, frames, raw->frames, vf_plural(raw->frames), frames == 1 ? "has" : "have", missed[0] ? " x" : "",
                missed[1] ? " y" : "", missed[2] ? " z" : "",
                cut ? "use more --spokes-per-frame, so that each frame has readouts near the centre"
                    : "was the scan stopped, or is the centre elsewhere than the file says?");
}

/* Whether to look at a block of samples: of a large scan some tell, in no pattern that lines and partitions may have. */
static bool takes_block(int64_t block, int64_t blocks)
{
    enum { MOST_BLOCKS = 4096 };
    const uint64_t step = (uint64_t)blocks / MOST_BLOCKS + 1;
    return ((uint64_t)block * 0x9e3779b97f4a7c15u >> 32) % step == 0; /* Fibonacci hashing, Knuth */
}

enum { BLOCK = 512 }; /* samples */

/* Strengths of samples, and their number, near the centre [0] and the edge [1] of each axis. */
typedef struct strengths {
    double sum[3][2];
    int64_t count[3][2];
} strengths;

/* Adds a block of a frame's samples. A few coils tell. */
static void add_block(const mri_scan *raw, const scan_frame *f, int64_t block, strengths *out)
{
    enum { MOST_COILS = 4 };
    const scan_trajectory *t = &raw->trajectory[f->trajectory];
    const int step = (raw->coils + MOST_COILS - 1) / MOST_COILS;
    const int64_t end = (block + 1) * BLOCK < t->samples ? (block + 1) * BLOCK : t->samples;
    for (int64_t m = block * BLOCK; m < end; m++) {
        double strength = 0;
        if (t->weights && t->weights[m] == 0)
            continue;
        for (int c = 0; c < raw->coils; c += step) {
            const float complex value = f->data[c * t->samples + m];
            strength += fabsf(crealf(value)) + fabsf(cimagf(value));
        }
        for (int a = 0; a < 3; a++) {
            const double part = fabs((double)t->k[3 * m + a]) / ((double)raw->matrix[a] / 2);
            const int where = part > EDGE;
            if (part > EDGE || part < 1 - EDGE) {
                out->sum[a][where] += strength;
                out->count[a][where]++;
            }
        }
    }
}

/* Adds a frame's samples. The parts are always as many, and added in order, so the bits do not depend on the number of
 * threads. */
static void add_strength(const vf_context *ctx, const mri_scan *raw, const scan_frame *f, strengths *to)
{
    enum { PARTS = 64, MOST_TAKEN = 1 << 21, NANOSECONDS = 10 };
    const int64_t samples = raw->trajectory[f->trajectory].samples, blocks = (samples + BLOCK - 1) / BLOCK;
    strengths part[PARTS] = {0};
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(vf_threads_for(ctx, NANOSECONDS *(samples < MOST_TAKEN ? samples : MOST_TAKEN)))
    for (int p = 0; p < PARTS; p++)
        for (int64_t block = blocks * p / PARTS; block < blocks * (p + 1) / PARTS; block++)
            if (takes_block(block, samples / BLOCK))
                add_block(raw, f, block, &part[p]);
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < 6; i++) {
            to->sum[i / 2][i % 2] += part[p].sum[i / 2][i % 2];
            to->count[i / 2][i % 2] += part[p].count[i / 2][i % 2];
        }
}

/* An image has most of its energy near k = 0. Strengths, and not their squares, so that a spike does not count much. */
static void warn_of_edges(vf_context *ctx, const char *name, const mri_scan *raw)
{
    enum { MOST_FRAMES = 16, LEAST_MATRIX = 16, LEAST_SAMPLES = 32 };
    strengths s = {0};
    bool wrong[3] = {false, false, false};
    const int step = raw->frames / MOST_FRAMES + 1;
    for (int f = 0; f < raw->frames; f += step)
        if (raw->frame[f].data)
            add_strength(ctx, raw, &raw->frame[f], &s);
    for (int a = 0; a < 3; a++)
        wrong[a] = raw->matrix[a] >= LEAST_MATRIX && s.count[a][0] >= LEAST_SAMPLES && s.count[a][1] >= LEAST_SAMPLES &&
                   s.sum[a][1] / (double)s.count[a][1] > STRONGER * s.sum[a][0] / (double)s.count[a][0];
    if (wrong[0] || wrong[1] || wrong[2])
        vf_warn(ctx,
                "%s: samples at the edge of k-space are stronger than those at its centre along%s%s%s; k = 0 belongs "
                "in the middle of an axis (numpy.fft.fftshift, bart fftshift), and a trajectory must have the order of "
                "the samples",
                name, wrong[0] ? " x" : "", wrong[1] ? " y" : "", wrong[2] ? " z" : "");
}

static void warn_of_units(vf_context *ctx, const char *name, const mri_scan *raw)
{
    double fov = 0, first = INFINITY, last = -INFINITY;
    for (int a = 0; a < 3; a++)
        fov = fmax(fov, raw->matrix[a] > 1 ? raw->fov[a] : 0);
    if (fov > 0 && fov < LEAST_FOV)
        vf_warn(ctx,
                "%s: the field of view is only %.3g mm; check the unit, which also affects voxels and positions in the "
                "output",
                name, fov);
    for (int t = 0; raw->field_map && t < raw->trajectories; t++)
        for (int64_t m = 0; raw->trajectory[t].time && m < raw->trajectory[t].samples; m++) {
            first = fmin(first, (double)raw->trajectory[t].time[m]);
            last = fmax(last, (double)raw->trajectory[t].time[m]);
        }
    if (last - first > LONGEST)
        vf_warn(ctx, "%s: the samples' times span %.3g s; check that they are in seconds", name, last - first);
}

void scan_warn(vf_context *ctx, const char *name, const mri_scan *raw)
{
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    warn_of_extent(ctx, name, raw);
    warn_of_edges(ctx, name, raw);
    warn_of_units(ctx, name, raw);
    for (int c = 0; raw->sensitivity && c < raw->coils; c++)
        if (scan_all_zero((const float *)(raw->sensitivity + c * voxels), 2 * voxels))
            vf_warn(ctx, "%s: the map of coil %d (counted from 0) is 0 everywhere; its data are ignored", name, c);
}
