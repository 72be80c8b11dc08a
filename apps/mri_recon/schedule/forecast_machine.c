/* The sizes of a scan and the speed of the machine, for forecasts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coils/choose_maps.h"
#include "forecast_internal.h"
#include "solve/choose_operator.h"
#include "solve/equations.h"
#include "toeplitz.h"
#include "voxfield/copy.h"
#include "voxfield/fft_axis.h"
#include "voxfield/machine_speed.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"
#include "windows.h"

/* The speed of short runs, for which none is measured. */
static const double USUAL_SPEED = 0.72;
/* What the measured speed may be. */
static const double LEAST_SPEED = 0.3, MOST_SPEED = 8;

static const double ns = 1e-9;

/* ---- sizes ---- */

bool forecast_on_grid(const solve_settings *solve, const mri_scan *raw)
{
    bool on_grid = raw->trajectories > 0;
    for (int t = 0; t < raw->trajectories && on_grid; t++)
        on_grid = encoding_choose_for(solve, raw, &raw->trajectory[t]) == VF_ENCODE_CARTESIAN;
    return on_grid;
}

double forecast_transform_points(const solve_settings *solve, const mri_scan *raw)
{
    const bool on_grid = forecast_on_grid(solve, raw);
    double points = 1;
    for (int a = 0; a < 3; a++)
        points *= (double)(raw->matrix[a] > 1 && !on_grid ? 2 * raw->matrix[a] : raw->matrix[a]);
    return points;
}

/* The longest time between two samples of a trajectory. */
static double longest_time(const mri_scan *raw)
{
    double longest = 0;
    for (int t = 0; t < raw->trajectories; t++) {
        const scan_trajectory *at = &raw->trajectory[t];
        double first = INFINITY, last = -INFINITY;
        for (int64_t m = 0; at->time && m < at->samples; m++) {
            first = fmin(first, at->time[m]);
            last = fmax(last, at->time[m]);
        }
        longest = fmax(longest, last - first);
    }
    return longest;
}

/* Above what time_segments.c finds for even spreads of 0.01 to 66 turns of the phase and tolerances of 1e-3 to 1e-12, by up to
 * 7 below three turns, else by up to 1.6 times. It never takes more than 256. */
double forecast_segments(const solve_settings *solve, const mri_scan *raw)
{
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    double low = INFINITY, high = -INFINITY;
    if (!raw->field_map)
        return 1;
    for (int64_t n = 0; n < voxels; n++) {
        low = fmin(low, raw->field_map[n]);
        high = fmax(high, raw->field_map[n]);
    }
    const double turns = (high - low) * longest_time(raw);
    return turns > 0 ? fmin(256, 2 - log10(solve->accuracy) + 3.5 * turns) : 1;
}

/* How much slower transforms of a length are than those of powers of two: 0: not; 1: factors 3 and 5; 2: others. */
static double roughness(int64_t n)
{
    while (n > 1 && n % 2 == 0)
        n /= 2;
    const double odd = n > 1 ? 1 : 0;
    while (n > 1 && (n % 3 == 0 || n % 5 == 0))
        n /= n % 3 == 0 ? 3 : 5;
    return n > 1 ? 2 : odd;
}

forecast_sizes forecast_sizes_of(const solve_settings *solve, const coil_settings *coils,
                                 const schedule_settings *schedule, const mri_scan *raw)
{
    const double frame_bytes = series_frame_bytes(coils, solve->precision, raw);
    forecast_sizes z = {.coils = raw->coils,
                        .frames = raw->frames,
                        .trajectories = raw->trajectories,
                        .volume = raw->matrix[0] > 1 && raw->matrix[1] > 1 && raw->matrix[2] > 1,
                        .on_grid = forecast_on_grid(solve, raw),
                        .wide = solve->precision == VF_F64 ? 2 : 1,
                        .maps = combines_by_maps(coils, raw),
                        .series = solves_series(solve)};
    const double axes = (raw->matrix[0] > 1) + (raw->matrix[1] > 1) + (raw->matrix[2] > 1);
    double longest = 1;
    for (int a = 0; a < 3; a++) {
        z.rough += roughness(raw->matrix[a]) / fmax(1, axes);
        longest = fmax(longest, (double)raw->matrix[a]);
    }
    z.voxels = (double)raw->matrix[0] * (double)raw->matrix[1] * (double)raw->matrix[2];
    z.lines = z.voxels / longest;
    z.points = forecast_transform_points(solve, raw);
    z.grid = z.on_grid ? z.voxels : z.points;
    z.voxel_work = z.voxels * log2(z.voxels + 1);
    z.point_work = z.points * log2(z.points + 1);
    z.samples = (double)scan_samples(raw) / raw->frames;
    z.direct = encoding_choose_for(solve, raw, &raw->trajectory[raw->frame[0].trajectory]) == VF_ENCODE_DIRECT;
    z.segments = forecast_segments(solve, raw);
    z.systems = z.maps ? z.coils : 1;
    z.sets = z.maps && coils->sets == RECON_SETS_TWO ? most_map_sets(coils, solve, raw) : 1;
    z.together = z.series ? windows_of_scan(schedule, raw, frame_bytes).frames : 1;
    z.solutions = z.series ? windows_up_to(schedule, raw, frame_bytes, raw->frames) : raw->frames;
    return z;
}

/* ---- the machine ---- */

/* As toeplitz_cpu.c, fft_axis.c and vector_cpu.c cut an image. */
double forecast_pieces_of_product(const forecast_sizes *z)
{
    return z->voxels / 4096;
}
double forecast_pieces_of_transform(const forecast_sizes *z)
{
    return ceil(z->lines / VF_FFT_LINES);
}
double forecast_pieces_of_vector(const forecast_sizes *z)
{
    return ceil(z->together * z->voxels / 16384);
}

/* As toeplitz_cpu.c works through batches of coils and segments: two for each batch, and one. */
double forecast_regions_of_product(const forecast_sizes *z)
{
    const double most = 16, bytes = 8388608, turns = z->systems * z->segments;
    const double batch = fmax(1, fmin(most, floor(bytes / (8 * z->wide * z->points))));
    return (2 * ceil(turns / batch) + 1) / turns;
}

double forecast_gain(const forecast_machine *m, double pieces)
{
    return vf_team_gain(fmax(1, fmin(m->threads, pieces)));
}

double forecast_seconds(const forecast_machine *m, double parallel, double pieces, double regions)
{
    const double seconds = m->speed * parallel, each = seconds / fmax(1, regions);
    if (vf_threads_for(m->ctx, (int64_t)fmin(each / ns, 1e15)) == 1)
        return seconds;
    return seconds / forecast_gain(m, pieces) + regions * m->region;
}

/* A product by F^H W F, of one coil and one time segment, on one thread. */
double forecast_product_seconds(const forecast_sizes *z)
{
    const double big = fmin(1, z->voxels / 65536);
    const double doubled = z->volume ? 0.24 : 0.27 + 0.06 * big, alone = 0.46 + (z->volume ? 0.16 : 0.1) * big;
    const double rough = 1 + (z->volume ? 0.7 : 0.25) * z->rough;
    return (z->on_grid ? alone : doubled) * rough * ns * z->point_work * z->wide;
}

/* Seconds of a region in which threads have nothing to do, if nothing is measured. */
static double usual_region(int threads)
{
    return threads > 1 ? 1e-6 + 1e-7 * threads : 0;
}

/* What regions of a solver take besides, in which threads do work: each reads what others have written just before, and waits for
 * the last. Of scans of one to eight coils of 128^2 to 32^3 with 16 threads. */
static double handing_over(int threads)
{
    return threads > 1 ? 8e-7 * threads : 0;
}

/* The median of some rounds. */
double forecast_measure_region(const forecast_machine *m)
{
    enum { ROUNDS = 5, REGIONS = 16 };
    static const double most = 4; /* times the usual: longer ones are those of a moment in which other programs run */
    double seconds[ROUNDS];
    for (int round = -1; round < ROUNDS; round++) { /* the first round begins the threads */
        const double begin = vf_now();
        for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(m->ctx, INT64_MAX))
            for (int t = 0; t < m->threads; t++) {
                volatile int done = t; /* so that there is something to do */
                (void)done;
            }
        }
        if (round >= 0)
            seconds[round] = (vf_now() - begin) / REGIONS;
    }
    vf_host_sort(ROUNDS, seconds);
    return fmin(seconds[ROUNDS / 2], most * usual_region(m->threads)) + handing_over(m->threads);
}

/* A smaller image of the same kind, whose product takes `seconds` of one thread or less at the reference's speed. Axes are
 * halved, so that their lengths keep their odd factors. */
static forecast_sizes part_of(const forecast_sizes *z, const mri_scan *raw, double seconds, int64_t matrix[3])
{
    enum { LEAST = 16 };
    forecast_sizes part = *z;
    memcpy(matrix, raw->matrix, sizeof raw->matrix);
    for (bool fits = false; !fits;) {
        int longest = 0;
        part.voxels = part.points = 1;
        for (int a = 0; a < 3; a++) {
            longest = matrix[a] > matrix[longest] ? a : longest;
            part.voxels *= (double)matrix[a];
            part.points *= (double)(matrix[a] > 1 && !z->on_grid ? 2 * matrix[a] : matrix[a]);
        }
        part.point_work = part.points * log2(part.points + 1);
        fits = forecast_product_seconds(&part) <= seconds || matrix[longest] < 2 * LEAST;
        if (!fits)
            matrix[longest] /= 2;
    }
    return part;
}

/* By a matrix of zeros. A median: a forecast is for the machine as it is, not for its best moment. The smaller one of two, because
 * another program that runs for some milliseconds makes one too large. */
double forecast_measure_speed(vf_context *ctx, const forecast_machine *m, const forecast_sizes *z, const mri_scan *raw,
                              double seconds)
{
    enum { ROUNDS = 3 };
    double taken[2 * ROUNDS];
    vf_device *device = vf_context_host(ctx);
    vf_toeplitz *plan = NULL;
    vf_queue *queue = NULL;
    vf_array x = {0}, y = {0};
    int64_t matrix[3];
    const forecast_sizes part = part_of(z, raw, seconds, matrix);
    const vf_toeplitz_options options = {
        .precision = z->wide > 1 ? VF_F64 : VF_F32, .segments = 1, .circulant = z->on_grid};
    const vf_dtype type = vf_dtype_complex(options.precision);
    vf_status status = vf_queue_create(device, &queue);
    VF_TRY(status, vf_toeplitz_create(device, matrix, &options, &plan));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, type, (int64_t)part.voxels, &x));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, type, (int64_t)part.voxels, &y));
    if (status == VF_OK)
        status = vf_fill(queue, type, x.count, (const double[2]){1, 0}, x.data);
    for (int round = -1; round < 2 * ROUNDS && status == VF_OK; round++) {
        const double begin = vf_now();
        status = vf_toeplitz_apply(plan, queue, 1, x.data, x.data, y.data);
        if (round >= 0)
            taken[round] = vf_now() - begin;
    }
    vf_array_free(&x);
    vf_array_free(&y);
    vf_toeplitz_destroy(plan);
    vf_queue_destroy(queue);
    if (status != VF_OK) {
        vf_context_clear_error(ctx); /* the run itself will tell */
        return 0;
    }
    vf_host_sort(ROUNDS, taken);
    vf_host_sort(ROUNDS, taken + ROUNDS);
    const double speed = fmin(taken[ROUNDS / 2], taken[ROUNDS + ROUNDS / 2]) /
                         (forecast_product_seconds(&part) / forecast_gain(m, forecast_pieces_of_product(&part)));
    return fmin(fmax(speed, LEAST_SPEED), MOST_SPEED);
}

forecast_machine forecast_usual_machine(const vf_context *ctx)
{
    const int threads = vf_context_threads(ctx);
    return (forecast_machine){.ctx = ctx,
                              .threads = threads,
                              .speed = USUAL_SPEED,
                              .core = 1,
                              .region = usual_region(threads) + handing_over(threads)};
}
