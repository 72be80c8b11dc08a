/* How many iterations the solver will take. They depend on how samples are spread, on the coils and on the noise, in ways
 * that no formula tells: the tables below are fits to scans of mri_phantom, of 32 to 224 voxels along an axis, with one to
 * eight coils and noise of 1 to 5 % of the data. validation/bench/forecast.py prints these numbers beside those of runs. */
#include <math.h>
#include <stdlib.h>

#include "forecast_internal.h"
#include "solve/prior_table.h"
#include "solve/recon_choices.h"
#include "voxfield/dense.h"
#include "voxfield/statistics.h"

/* How a scan samples k-space. */
typedef enum sampled {
    GRID_FULL,      /* all of the Cartesian grid */
    GRID_REGULAR,   /* each R-th line: aliases are sharp */
    GRID_IRREGULAR, /* such as a Poisson disc */
    LINES_FULL,     /* radial, spiral, stacks of these */
    LINES,          /* the same, undersampled */
    BALL_FULL,      /* off the grid along all three axes */
    BALL,
    SAMPLED
} sampled;

/* count = base (N / 128)^size R^rate (q / USUAL_NOISE)^noise (8 / C)^coils, and factors: N is the longest axis, R the
 * undersampling at the edge of k-space, q the noise of scan_look, C the coils, of more than 8: 8. */
typedef struct law {
    double base, size, rate, noise;
    double volume; /* in 3D */
    double even;   /* with maps that do not fade where the coils see little */
    double coils;
} law;

static const double USUAL_NOISE = 3e-3, LEAST_NOISE = 0.05, MOST_NOISE = 10; /* the bounds relative to the first */

/* [0]: of one channel; [1]: with coil maps. Iterations for an image to first_tolerance. */
static const law first_law[2][SAMPLED] = {{[GRID_FULL] = {19, 0.2, 0, 0, 2, 1, 0},
                                           [GRID_REGULAR] = {135, 0.65, -0.64, 0, 1.6, 1, 0},
                                           [GRID_IRREGULAR] = {48, 0, 0, 0, 1, 1, 0},
                                           [LINES_FULL] = {11.3, 0, 0, 0, 1, 1, 0},
                                           [LINES] = {10.4, 0, 0, 0, 2, 1, 0},
                                           [BALL_FULL] = {6.3, 0, 0, 0, 1, 1, 0},
                                           [BALL] = {7, 0, 0, 0, 1, 1, 0}},
                                          {[GRID_FULL] = {13.5, 0, 0, 0, 2.3, 1, 0.75},
                                           [GRID_REGULAR] = {13, 0.35, 1.3, 0, 1.6, 0.55, 0.3},
                                           [GRID_IRREGULAR] = {50, 0, 0, 0, 1, 0.4, 0},
                                           [LINES_FULL] = {28, 0.5, 0, 0, 1, 0.72, 0},
                                           [LINES] = {10, 0, 0.5, 0, 3.9, 1, 1},
                                           [BALL_FULL] = {16, 0, 0, 0, 1, 0.85, 0},
                                           [BALL] = {12, 0, 0.4, 0, 1, 0.6, 0}}};
/* Iterations of conjugate gradients where the scan is complete, applications of ADMM where it is not. */
static const law last_law[2][SAMPLED] = {{[GRID_FULL] = {38, 0.25, 0, 0, 2.2, 1, 0},
                                          [GRID_REGULAR] = {23, 0, 0, -0.45, 1, 1, 0},
                                          [GRID_IRREGULAR] = {20, 0, 0, -0.45, 1, 1, 0},
                                          [LINES_FULL] = {38, 0.6, 0, -0.17, 1, 1, 0},
                                          [LINES] = {14.5, 0, 0, 0, 1, 1, 0},
                                          [BALL_FULL] = {75, 0.6, 0, 0, 1, 1, 0},
                                          [BALL] = {170, 1, 0.33, 0, 1, 1, 0}},
                                         {[GRID_FULL] = {20, 0, 0, -0.2, 1.8, 1.3, 0},
                                          [GRID_REGULAR] = {1.9, 0, 1.6, 0, 0.8, 1, 0},
                                          [GRID_IRREGULAR] = {15, 0, 0, -0.2, 1, 1.6, 0},
                                          [LINES_FULL] = {42, 0.2, 3, -0.12, 1, 0.75, 0},
                                          [LINES] = {4.4, 0.7, 0.6, -0.27, 2.5, 0.9, 0},
                                          [BALL_FULL] = {80, 0.4, 0, 0, 1, 0.65, 0},
                                          [BALL] = {26, 0.5, 0, 0, 1, 0.95, 0}}};
/* First images end where noise hides the rest (frame_noise.c): a share of those iterations, at USUAL_NOISE. Off the grid single
 * channels take all. */
static const law hidden_law[SAMPLED] = {[GRID_FULL] = {0.36, 0, 0, -0.1, 0.9, 1, 0},
                                        [GRID_REGULAR] = {0.45, 0, 0, -0.1, 1.1, 1, 0},
                                        [GRID_IRREGULAR] = {0.41, 0, 0, -0.1, 1, 1, 0},
                                        [LINES_FULL] = {1, 0, 0, -0.1, 1, 1, 0},
                                        [LINES] = {0.75, 0, 0, -0.1, 0.75, 1, 0},
                                        [BALL_FULL] = {1, 0, 0, 0, 1, 1, 0},
                                        [BALL] = {1, 0, 0, 0, 1, 1, 0}};
/* Linear images of incomplete scans, over those to first_tolerance: as many more as the tolerance is smaller, but for regular lines
 * with maps, and for one channel off the grid. */
static const law linear_law = {0.85, 0, 0, 0.2, 1, 1, 1};
static const double of_linear_lines = 4.4;
/* The priors identity and differences converge alike for all scans: iterations of each first image and of the last. */
static const double simple_first = 5, simple_last[2] = {16, 39};
/* ADMM's applications of F^H W F an iteration. */
static const double steps[2][SAMPLED] = {{1.05, 1.05, 1.05, 1.05, 1.05, 2.5, 2.5},
                                         {1.05, 1.05, 1.05, 1.1, 1.1, 1.75, 1.75}};
/* First images. With maps, each pass finds less noise than the one before, up to PASSES, if there is signal in what counts as
 * noise (frame_noise.c): the share of it from which on there is a second image, and all. [0]: on the grid; [1]: off it. */
static const double without_maps = 1.15, most_images = 3, some_signal[2] = {0.3, 0.25}, all_signal[2] = {0.75, 0.55};
/* Each starts from the one before, and takes this share of the iterations to first_tolerance: on the grid, off it. */
static const double later_share[2] = {0.85, 0.45};
/* Iterations of a series, of samples on a grid and off it: two applications each (solve_sparse.c). */
static const double of_series[2] = {6, 12}, series_steps = 2;
/* If the user sets lambda there is no preconditioner. Solvers other than ADMM; their power iteration. */
static const double typical_plain = 35, typical_fista = 45, typical_primal_dual = 130, power_steps = 20;
static const double sure_solutions = 16;
/* The same for the strength of references; they are less exact than a frame's own. */
static const double strength_solutions = 30;
/* What a missing side of k-space multiplies iterations by: of one channel, with maps. */
static const double of_one_side[2] = {1.5, 1.3};
/* What a second set of maps multiplies a first image's iterations by: on the grid. */
static const double of_more_sets = 1.3;
/* Of conjugate gradients: the default, and for first images at most. */
static const double usual_tolerance = 1e-5, first_tolerance = 1e-3;

/* What the samples of the first frame tell. */
typedef struct scan_look {
    sampled kind;
    double noise;  /* q: the variance of the outermost samples over the mean power of all */
    double signal; /* the share of signal in them, with several coils */
    bool even;     /* the maps do not fade */
} scan_look;

static bool is_incomplete(sampled kind)
{
    return kind == GRID_REGULAR || kind == GRID_IRREGULAR || kind == LINES || kind == BALL;
}

static double longest(const mri_scan *raw)
{
    return fmax((double)raw->matrix[0], fmax((double)raw->matrix[1], (double)raw->matrix[2]));
}

/* ---- how the samples are spread ---- */

enum { LOOKED_AT = 4096, COILS_LOOKED_AT = 8, MOST_FACTOR = 8 };

/* Number i of samples that are spread evenly, but not in step with readouts: the golden ratio. */
static int64_t looked_at(int64_t samples, int i)
{
    const double golden = 0.6180339887498949, at = (i + 0.5) * golden;
    const int64_t m = (int64_t)((at - floor(at)) * (double)samples);
    return m < samples ? m : samples - 1;
}

/* Axes along which samples lie off the grid. */
static int axes_off_grid(const mri_scan *raw, const scan_trajectory *at)
{
    const double near_grid = 1e-3;
    int axes = 0;
    for (int a = 0; a < 3; a++) {
        double farthest = 0;
        for (int i = 0; i < LOOKED_AT && raw->matrix[a] > 1; i++) {
            const double k = at->k[3 * looked_at(at->samples, i) + a];
            farthest = fmax(farthest, fabs(k - rint(k)));
        }
        axes += farthest > near_grid;
    }
    return axes;
}

/* The largest value of the point spread function of an axis at 1/2 to 1/8 of the field of view, relative to its value at 0.
 * `count` [n]: the samples of each line. */
static double sharpest_alias(int64_t n, const int64_t *count, double samples)
{
    double largest = 0;
    for (int part = 2; part <= MOST_FACTOR; part++) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < n; i++) {
            const double phase = 2 * M_PI * (double)(i % part) / part;
            re += (double)count[i] * cos(phase);
            im += (double)count[i] * sin(phase);
        }
        largest = fmax(largest, hypot(re, im) / samples);
    }
    return largest;
}

/* Whether each R-th line of the grid is sampled: aliases are sharp. False if memory runs out. */
static bool is_regular(const mri_scan *raw, const scan_trajectory *at)
{
    static const double sharp = 0.15;
    double largest = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t n = raw->matrix[a];
        int64_t *count = n > 1 ? calloc((size_t)n, sizeof *count) : NULL;
        for (int64_t m = 0; count && m < at->samples; m++) {
            const int64_t i = llrintf(at->k[3 * m + a]) + n / 2;
            count[i < 0 ? 0 : i < n ? i : n - 1]++;
        }
        if (count)
            largest = fmax(largest, sharpest_alias(n, count, (double)at->samples));
        free(count);
    }
    return largest > sharp;
}

static sampled kind_of(const mri_scan *raw, const scan_trajectory *at, const scan_sampling *sampling)
{
    static const double incomplete = 1.25;
    const bool full = !(sampling->edge >= incomplete);
    const int off = axes_off_grid(raw, at);
    if (off == 3)
        return full ? BALL_FULL : BALL;
    if (off > 0)
        return full ? LINES_FULL : LINES;
    return full ? GRID_FULL : is_regular(raw, at) ? GRID_REGULAR : GRID_IRREGULAR;
}

/* ---- noise ---- */

typedef struct radius_power {
    double radius;
    int64_t sample;
} radius_power;

static int by_radius(const void *a, const void *b)
{
    const radius_power *x = a, *y = b;
    return (x->radius > y->radius) - (x->radius < y->radius);
}

static double power_of(const mri_scan *raw, const scan_frame *frame, int coil, int64_t m)
{
    const float complex d = scan_coil(raw, frame, coil)[m];
    return (double)crealf(d) * crealf(d) + (double)cimagf(d) * cimagf(d);
}

/* The variance of samples by their medians, the mean over coils. */
static double variance_of(const mri_scan *raw, const scan_frame *frame, int coils, const radius_power *r, int count)
{
    double sum = 0, values[LOOKED_AT];
    for (int c = 0; c < coils; c++) {
        for (int i = 0; i < count; i++)
            values[i] = power_of(raw, frame, c, r[i].sample);
        vf_host_sort(count, values);
        sum += values[count / 2] / log(2) / coils;
    }
    return sum;
}

/* The share of signal: coils have the same signal, but noise of their own, which has the least eigenvalue of their
 * correlation. */
static double signal_of(const mri_scan *raw, const scan_frame *frame, int coils, const radius_power *r, int count)
{
    double complex a[COILS_LOOKED_AT * COILS_LOOKED_AT], vectors[COILS_LOOKED_AT * COILS_LOOKED_AT];
    double values[COILS_LOOKED_AT];
    for (int i = 0; i < coils; i++)
        for (int j = 0; j < coils; j++) {
            a[i * coils + j] = 0;
            for (int m = 0; m < count; m++)
                a[i * coils + j] +=
                    scan_coil(raw, frame, i)[r[m].sample] * conjf(scan_coil(raw, frame, j)[r[m].sample]);
        }
    for (int i = 0; i < coils; i++)
        values[i] = creal(a[i * coils + i]);
    for (int i = 0; i < coils; i++)
        for (int j = 0; j < coils; j++) {
            const double length = sqrt(values[i] * values[j]);
            a[i * coils + j] = length > 0 ? a[i * coils + j] / length : i == j;
        }
    vf_hermitian_eigen(coils, a, values, vectors);
    return 1 - values[coils - 1];
}

/* Looks at the outermost samples, as noise_level.c will. */
static void look_at_noise(const mri_scan *raw, const scan_frame *frame, scan_look *look)
{
    static const double inner = 0.85;
    const scan_trajectory *at = &raw->trajectory[frame->trajectory];
    const int count = (int)(at->samples < LOOKED_AT ? at->samples : LOOKED_AT), begin = (int)(inner * count);
    const int coils = raw->coils < COILS_LOOKED_AT ? raw->coils : COILS_LOOKED_AT;
    radius_power r[LOOKED_AT];
    double mean = 0;
    for (int i = 0; i < count; i++) {
        r[i] = (radius_power){.sample = looked_at(at->samples, i)};
        for (int a = 0; a < 3; a++)
            r[i].radius += raw->matrix[a] > 1 ? pow((double)at->k[3 * r[i].sample + a] / raw->fov[a], 2) : 0;
        for (int c = 0; c < coils; c++)
            mean += power_of(raw, frame, c, r[i].sample) / coils / count;
    }
    qsort(r, (size_t)count, sizeof *r, by_radius);
    if (mean > 0)
        look->noise = variance_of(raw, frame, coils, r + begin, count - begin) / mean;
    if (coils > 1)
        look->signal = signal_of(raw, frame, coils, r + begin, count - begin);
}

static scan_look look_at(const mri_scan *raw, const scan_sampling *sampling)
{
    const scan_frame *frame = &raw->frame[0];
    scan_look look = {.noise = USUAL_NOISE};
    look.kind = kind_of(raw, &raw->trajectory[frame->trajectory], sampling);
    look_at_noise(raw, frame, &look);
    return look;
}

/* ---- counts ---- */

static double count_of(const law *l, const mri_scan *raw, const scan_sampling *sampling, const scan_look *look)
{
    const bool volume = raw->matrix[0] > 1 && raw->matrix[1] > 1 && raw->matrix[2] > 1;
    const double noise = fmin(fmax(look->noise / USUAL_NOISE, LEAST_NOISE), MOST_NOISE);
    const double rate = sampling->edge >= 1 ? sampling->edge : 1;
    return l->base * pow(longest(raw) / 128, l->size) * pow(rate, l->rate) * pow(noise, l->noise) *
           (volume ? l->volume : 1) * (look->even ? l->even : 1) * pow(8 / fmin(raw->coils, 8), l->coils);
}

static bool is_simple(const solve_settings *s)
{
    return !s->sparse && (s->prior == RECON_IDENTITY || s->prior == RECON_DIFFERENCES);
}

static double images_of(const mri_scan *raw, const scan_look *look, bool maps)
{
    const int off_grid = look->kind > GRID_IRREGULAR;
    const double share = (look->signal - some_signal[off_grid]) / (all_signal[off_grid] - some_signal[off_grid]);
    if (raw->whitened && !raw->noise_estimated) /* the noise is known */
        return 1;
    return maps ? 1 + (most_images - 1) * fmin(fmax(share, 0), 1) : without_maps;
}

/* The share of the iterations to first_tolerance that the first image takes. */
static double share_of_first(const scan_look *look, const mri_scan *raw, const scan_sampling *sampling, bool maps)
{
    const bool all = !maps && look->kind > GRID_IRREGULAR;
    return all ? 1 : fmin(count_of(&hidden_law[look->kind], raw, sampling, look), 1);
}

/* A solver gains the same number of digits in each iteration. `usual`: the tolerance of the tables. */
static double of_tolerance(const solve_settings *s, double count, double usual)
{
    if (!(s->tolerance > 0))
        return s->iterations;
    return fmin(s->iterations, fmax(1, count * log(s->tolerance) / log(usual)));
}

/* Of one channel of one frame, or of a series. */
static void count_last(const solve_settings *s, double last, double step, bool on_grid, forecast_counts *out)
{
    const double usual_plain = 1e-4, usual_sparse = 3e-3;
    const bool series = solves_series(s), slow = s->solver != RECON_ADMM;
    double slower = INFINITY; /* a prior beside another converges as fast as that */
    for (int i = 0; i < s->sparse; i++)
        slower = fmin(slower, sparse_prior_of(s, i)->iterations);
    if (!s->sparse) {
        out->iterations =
            s->lambda_auto ? of_tolerance(s, last, usual_tolerance) : of_tolerance(s, typical_plain, usual_plain);
        out->applications = 0;
        return;
    }
    const double typical = s->solver == RECON_FISTA ? typical_fista : typical_primal_dual;
    const double count = slow ? typical : series ? of_series[on_grid ? 0 : 1] : last / step;
    out->iterations = of_tolerance(s, (slow ? 1 : slower) * count, usual_sparse);
    out->applications = out->iterations * (slow ? 1 : series ? series_steps : step) + (slow ? power_steps : 0);
}

/* Iterations of a first image, and of conjugate gradients or ADMM's applications for the last. */
static void count_images(const forecast_sizes *z, const solve_settings *s, const mri_scan *raw,
                         const scan_sampling *sampling, const scan_look *look, double *first, double *last)
{
    const int table = z->maps && raw->coils > 1 ? 1 : 0;
    const double usual = count_of(&first_law[table][look->kind], raw, sampling, look);
    *first = usual * (z->one_sided ? of_one_side[table] : 1) * (z->sets > 1 && z->on_grid ? of_more_sets : 1);
    if (s->sparse || !is_incomplete(look->kind))
        *last = count_of(&last_law[table][look->kind], raw, sampling, look);
    else if (table == 1 && look->kind == GRID_REGULAR)
        *last = usual * count_of(&linear_law, raw, sampling, look);
    else
        *last =
            usual * (table == 0 && look->kind == LINES ? of_linear_lines : log(usual_tolerance) / log(first_tolerance));
    if (is_simple(s)) {
        *first = simple_first;
        *last = simple_last[table];
    }
}

forecast_counts forecast_count(const forecast_sizes *z, const solve_settings *s, const noise_settings *noise,
                               const mri_scan *raw, const scan_sampling *sampling)
{
    forecast_counts out = {0};
    const int table = z->maps && raw->coils > 1 ? 1 : 0;
    const double channels = z->maps ? 1 : raw->coils;
    if (s->method != RECON_CG)
        return out;
    scan_look look = look_at(raw, sampling);
    look.even = z->even_maps;
    double first, last;
    count_images(z, s, raw, sampling, &look, &first, &last);
    count_last(s, last, steps[table][look.kind], look.kind <= GRID_IRREGULAR, &out);
    const double solutions = channels * z->solutions;
    out.iterations *= solutions;
    out.applications *= solutions;
    if (regularise_by_noise(s) || noise->map) {
        out.first_images = images_of(raw, &look, table > 0);
        const double once = is_simple(s) ? 1 : share_of_first(&look, raw, sampling, table > 0);
        const double later = is_simple(s) ? 1 : later_share[look.kind > GRID_IRREGULAR];
        out.first_iterations = (once + later * (out.first_images - 1)) * channels * first;
    }
    out.phase_iterations = z->one_sided && !s->sparse ? raw->frames * channels * first : 0;
    out.sure_solutions = s->lambda_sure ? sure_solutions : finds_reference_strength(s) ? strength_solutions : 0;
    out.replicas = noise->map ? (double)noise->replicas * raw->places : 0;
    return out;
}
