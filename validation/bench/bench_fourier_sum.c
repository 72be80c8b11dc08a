/* How fast the Fourier sum is: pairs of a sample and a voxel per second (times coils), and the share of the device's
 * ceiling, measured in the same run. Every result is checked against the formula at some points before it is timed.
 *
 * usage: bench_fourier_sum DEVICE [REPORT.json]
 *
 * The ceilings, and the cost of a pair (fourier_sum_adjoint.inc, fourier_sum_pairs.inc, fourier_sum_lattice.cu):
 *   CPU, a grid: 2 multiply-adds per pair, since two voxels share 4; two operations per clock and core. The ceiling
 *     is half the multiply-add rate.
 *   CPU, off-resonance or positions: a vector of 16 pairs in single precision takes 23 operations on the
 *     multiply-add pipes: 8 for the phases (in double precision, two vectors), 11 for sine and cosine, 4 for the
 *     sum.
 *   GPU: sines and cosines of the special function units, one of each per pair. A grid's kernels take one of each
 *     for eight pairs and may exceed this ceiling. The kernels for groups (fourier_sum_groups.cu) take one of each
 *     per pair, or compute them by multiply-adds: 25 instructions per pair in all, while the ceiling has 16.
 */
#include <math.h>

#include "bench_ceilings.h"
#include "bench_device.h"
#include "bench_plain_fourier.h"
#include "fourier_sum.h"
#include "free_all.h"

static bool gpu;
static double ceiling; /* GPU: sines and cosines; CPU: multiply-adds per second */
static double plain;   /* CPU: pairs per second of the plain kernel */
static double grid_rate,
    pairs_rate; /* CPU, single precision, adjoint: for a grid, and with a sine and a cosine per pair */

enum { GRID, FIELD, NOISE, POSITIONS }; /* FIELD, POSITIONS: a smooth field map; NOISE: a random one */
enum { GRID_BAR = 4 };

typedef struct bench_case {
    const char *name, *variant;
    int samples, counts[3], coils, kind;
    vf_dtype precision;
    vf_trig trig;
    bool forward;
    double bar; /* least share of the ceiling; 0: none */
} bench_case;

static float *random_numbers(int64_t count, double half_width)
{
    float *v = room((size_t)count, sizeof *v);
    for (int64_t i = 0; i < count; i++)
        v[i] = (float)(half_width * (2 * uniform() - 1));
    return v;
}

typedef struct bench_data {
    int64_t voxels;
    vf_grid grid;
    float *k, *time, *field, *in; /* input of the direction, [coils][...][2] */
    double *positions;
} bench_data;

static double coordinate(const bench_data *d, int64_t n, int axis)
{
    const int64_t *counts = d->grid.counts,
                  at[3] = {n % counts[0], n / counts[0] % counts[1], n / counts[0] / counts[1]};
    return d->positions ? d->positions[3 * n + axis] : d->grid.origin[axis] + d->grid.spacing[axis] * (double)at[axis];
}

static bench_data make_data(const bench_case *c)
{
    bench_data d = {.voxels = (int64_t)c->counts[0] * c->counts[1] * c->counts[2]};
    seed_random();
    for (int a = 0; a < 3; a++) {
        d.grid.counts[a] = c->counts[a];
        d.grid.spacing[a] = 1.0 / c->counts[a];
        d.grid.origin[a] = -0.5;
    }
    d.k = random_numbers(3 * (int64_t)c->samples, 64);
    d.in = random_numbers(2 * c->coils * (c->forward ? d.voxels : c->samples), 1);
    if (c->kind != GRID) {
        d.time = random_numbers(c->samples, 0.02);
        d.field = random_numbers(d.voxels, 200);
    }
    if (c->kind == POSITIONS) {
        d.positions = room((size_t)d.voxels * 3, sizeof *d.positions);
        for (int64_t i = 0; i < 3 * d.voxels; i++)
            d.positions[i] = uniform() - 0.5;
    }
    for (int64_t n = 0; d.field && c->kind != NOISE && n < d.voxels; n++)
        d.field[n] = (float)(200 * sin(5 * coordinate(&d, n, 0) + 1) * cos(4 * coordinate(&d, n, 1)));
    return d;
}

static void free_data(bench_data *d)
{
    FREE_ALL(d->k, d->time, d->field, d->in, d->positions);
}

/* The phase between sample m and voxel n in turns. */
static double turns(const bench_data *d, int64_t m, int64_t n)
{
    double sum = d->field ? (double)d->time[m] * (double)d->field[n] : 0;
    for (int a = 0; a < 3; a++)
        sum += (double)d->k[3 * m + a] * coordinate(d, n, a);
    return sum;
}

/* The deviation from the formula at some points, relative to the root of the terms' sum of squares, for the last
 * coil. */
static double largest_error(const bench_case *c, const bench_data *d, const vf_array *values)
{
    double largest = 0;
    int64_t points = c->forward ? c->samples : d->voxels, terms = c->forward ? d->voxels : c->samples;
    for (int trial = 0; trial < 8; trial++) {
        int64_t to = (int64_t)(uniform() * (double)(points - 1));
        const float *in = d->in + 2 * (c->coils - 1) * terms;
        double re = 0, im = 0, size = 0;
        for (int64_t t = 0; t < terms; t++) {
            double p = c->forward ? -turns(d, to, t) : turns(d, t, to);
            double co = cos(2 * M_PI * (p - rint(p))), si = sin(2 * M_PI * (p - rint(p)));
            double a = (double)in[2 * t], b = (double)in[2 * t + 1];
            re += a * co - b * si;
            im += a * si + b * co;
            size += a * a + b * b;
        }
        int64_t at = 2 * ((c->coils - 1) * points + to);
        bool f64 = c->precision == VF_F64;
        double x = f64 ? ((double *)values->data)[at] : (double)((float *)values->data)[at];
        double y = f64 ? ((double *)values->data)[at + 1] : (double)((float *)values->data)[at + 1];
        double error = hypot(x - re, y - im) / sqrt(size);
        if (!(error <= largest))
            largest = error;
    }
    return largest;
}

/* Queues the sum and waits for it; returns seconds. */
static double execute(const bench_case *c, const bench_data *d, vf_fourier *plan, const vf_array *in,
                      const vf_array *out)
{
    double began = vf_now();
    need(c->forward ? vf_fourier_forward(plan, queue, c->coils, in->data, out->data)
                    : vf_fourier_adjoint(plan, queue, c->coils, in->data, 0, d->voxels, out->data));
    need(vf_queue_sync(queue));
    return vf_now() - began;
}

/* The device's upper limit in pairs per second; see the head of the file. */
static double case_ceiling(const bench_case *c)
{
    if (gpu)
        return ceiling;
    return c->kind == GRID ? ceiling / 2 : ceiling / 23;
}

/* Whether it is one of the GPU's published steps, which do not reduce phases. */
static bool has_plain_phases(const bench_case *c)
{
    return c->variant && (strcmp(c->variant, "naive") == 0 || strcmp(c->variant, "registers") == 0 ||
                          strstr(c->variant, "arrays") || strstr(c->variant, "structs"));
}

/* The bound of largest_error. Single precision uses short sums, except for the GPU's steps, which add all terms in the
 * plan's precision. Errors, in units of the roundoff u and relative to the root of the terms' sum of
 * squares, add up as squares (test_large_k of test_fourier_sum.c): 43 for factors and products, 46 for hardware
 * trigonometry, and n / 6 for n additions, two per term, to partial sums of root mean square sqrt(m / 2) after m
 * terms. A phase that is not reduced is off by six roundings of u A at most, A = sum |k_a r_a| turns, with hardware
 * trigonometry by three more (fourier_fixture.h). Spread evenly, they are (2 pi A)^2 6 / 3 together, and 3^2 for the
 * three, which have one sign. For |k_a| < 64 and |r_a| < 1/2, spread evenly, A has a root mean square of 27. That is the
 * root mean square; the largest of a few may be three times as much. */
static double allowed_error(const bench_case *c)
{
    bool hardware = c->trig == VF_TRIG_HARDWARE;
    double tight = c->precision == VF_F64 ? 1e-13 : hardware ? 3e-6 : 2e-6;
    if (!gpu || !c->variant || strcmp(c->variant, "phasors") == 0 || strcmp(c->variant, "pairs") == 0 || c->forward)
        return tight;
    double u = c->precision == VF_F64 ? 0x1p-53 : 0x1p-24, n = 2.0 * c->samples;
    double plain_phase = has_plain_phases(c) ? pow(2 * M_PI * 27, 2) * (hardware ? 11 : 2) : 0;
    return fmax(tight, 3 * u * sqrt(43 + (hardware ? 46 : 0) + n / 6 + plain_phase));
}

static void report_case(const bench_case *c, const char *variant, double rate, double error, int runs)
{
    if (!gpu && !c->variant && c->coils == 1 && c->precision == VF_F32 && !c->forward && c->kind != FIELD &&
        c->kind != NOISE) {
        double *best = c->kind == GRID ? &grid_rate : &pairs_rate;
        *best = fmax(*best, rate);
    }
    double share = case_ceiling(c) > 0 ? rate / case_ceiling(c) : 0;
    bool counts = c->precision == VF_F32 && c->coils == 1 && (gpu || !c->variant);
    bool wrong = !(error <= allowed_error(c));
    bool short_of_bar = c->bar > 0 && !(share >= c->bar);
    failures += wrong;
    printf("%-44s %-9s %9.2f G/s", c->name, variant, 1e-9 * rate);
    if (counts)
        printf("  %5.1f %% of ceiling", 100 * share);
    if (plain > 0)
        printf("  %6.2f x plain kernel", rate / plain);
    printf("  error %.1e%s%s\n", error, wrong ? "  WRONG" : "", short_of_bar ? "  BELOW THE BAR" : "");
    static const char *const kinds[] = {"grid", "grid, off-resonance", "grid, off-resonance like noise",
                                        "positions, off-resonance"};
    int64_t matrix[3] = {c->counts[0], c->counts[1], c->counts[2]};
    vf_report_begin(report, c->name);
    vf_report_text(report, "variant", variant);
    vf_report_text(report, "precision", c->precision == VF_F64 ? "double" : "single");
    vf_report_text(report, "trigonometry", c->trig == VF_TRIG_HARDWARE ? "hardware" : "accurate");
    vf_report_text(report, "direction", c->forward ? "forward" : "adjoint");
    vf_report_text(report, "voxels", kinds[c->kind]);
    vf_report_integer(report, "samples", c->samples);
    vf_report_integers(report, "matrix", matrix, 3);
    vf_report_integer(report, "coils", c->coils);
    vf_report_number(report, "pairs_per_second", rate);
    vf_report_integer(report, "runs", runs);
    if (counts)
        vf_report_number(report, "share_of_ceiling", share);
    if (plain > 0)
        vf_report_number(report, "times_plain_kernel", rate / plain);
    if (c->bar > 0) {
        vf_report_number(report, "bar_share_of_ceiling", c->bar);
        vf_report_bool(report, "bar_reached", !short_of_bar);
    }
    vf_report_number(report, "largest_error", error);
    vf_report_number(report, "allowed_error", allowed_error(c));
    vf_report_end(report);
}

static void run_case(const bench_case *c)
{
    enum { MOST_RUNS = 101 };
    double seconds[MOST_RUNS];
    bench_data d = make_data(c);
    vf_fourier_samples samples = {c->samples, d.k, d.time};
    vf_fourier_voxels voxels = {d.positions ? NULL : &d.grid, d.voxels, d.positions, d.field};
    vf_fourier_options options = {.precision = c->precision, .trig = c->trig, .variant = c->variant};
    int64_t ins = 2 * c->coils * (c->forward ? d.voxels : c->samples);
    int64_t outs = 2 * c->coils * (c->forward ? c->samples : d.voxels);
    vf_array in = {0}, out = {0}, host = {0};
    vf_fourier *plan;
    need(vf_fourier_create(device, &samples, &voxels, c->coils, &options, &plan));
    need(vf_array_create(device, VF_SPACE_DEVICE, c->precision, ins, &in));
    need(vf_array_create(device, VF_SPACE_DEVICE, c->precision, outs, &out));
    need(vf_array_create(device, VF_SPACE_PINNED, c->precision, ins > outs ? ins : outs, &host));
    for (int64_t i = 0; i < ins; i++)
        if (c->precision == VF_F64)
            ((double *)host.data)[i] = (double)d.in[i];
        else
            ((float *)host.data)[i] = d.in[i];
    need(vf_array_copy(queue, &in, &host, ins));
    need(vf_queue_sync(queue));
    memset(host.data, 0xff, (size_t)outs * vf_dtype_bytes(c->precision));
    (void)execute(c, &d, plan, &in, &out);
    need(vf_array_copy(queue, &host, &out, outs));
    need(vf_queue_sync(queue));
    double error = largest_error(c, &d, &host);
    int runs = 0;
    for (double spent = 0; (runs < 3 || spent < 0.5) && runs < MOST_RUNS; runs++)
        spent += seconds[runs] = execute(c, &d, plan, &in, &out);
    /* Matrix products exist for the adjoint only. */
    const char *variant = vf_fourier_variant(plan);
    if (c->forward && strcmp(variant, "products") == 0)
        variant = "phasors";
    report_case(c, variant, (double)c->samples * (double)d.voxels * c->coils / median(seconds, runs), error, runs);
    vf_array_free(&in);
    vf_array_free(&out);
    vf_array_free(&host);
    vf_fourier_destroy(plan);
    free_data(&d);
}

/* Times the plain kernel on a small piece of the first case; its speed does not depend on the size. */
static void time_plain(void)
{
    enum { SAMPLES = 16384, VOXELS = 4096, RUNS = 5 };
    const int counts[3] = {128, 128, 128};
    float *numbers = random_numbers(5 * SAMPLES, 64), *out = random_numbers(2 * VOXELS, 1);
    const float *k[3] = {numbers, numbers + SAMPLES, numbers + 2 * SAMPLES};
    const float *c[2] = {numbers + 3 * SAMPLES, numbers + 4 * SAMPLES};
    float *y[2] = {out, out + VOXELS};
    double seconds[RUNS];
    for (int r = 0; r < RUNS; r++) {
        double began = vf_now();
        bench_plain_fourier(k, c, SAMPLES, counts, VOXELS, y, vf_context_threads(ctx));
        seconds[r] = vf_now() - began;
    }
    plain = (double)SAMPLES * VOXELS / median(seconds, RUNS);
    vf_report_number(report, "plain_kernel_pairs_per_second", plain);
    printf("plain kernel: %.2f G/s\n", 1e-9 * plain);
    free(numbers);
    free(out);
}

#define A VF_TRIG_ACCURATE
#define H VF_TRIG_HARDWARE

static const bench_case cpu_cases[] = {
    {"16384 samples, 128x128x64", NULL, 16384, {128, 128, 64}, 1, GRID, VF_F32, A, false, 0},
    {"16384 samples, 128x128x64, forward", NULL, 16384, {128, 128, 64}, 1, GRID, VF_F32, A, true, 0},
    {"16384 samples, 128x128x16, 8 coils", NULL, 16384, {128, 128, 16}, 8, GRID, VF_F32, A, false, 0},
    {"20000 samples, 256x256", NULL, 20000, {256, 256, 1}, 1, GRID, VF_F32, A, false, 0},
    {"4096 samples, 128x128x32, double", NULL, 4096, {128, 128, 32}, 1, GRID, VF_F64, A, false, 0},
    {"4096 samples, 128x128x16, avx2", "avx2", 4096, {128, 128, 16}, 1, GRID, VF_F32, A, false, 0},
    {"4096 samples, 128x128x16, baseline", "baseline", 4096, {128, 128, 16}, 1, GRID, VF_F32, A, false, 0},
    {"4096 samples, 128x128x8, off-resonance", NULL, 4096, {128, 128, 8}, 1, FIELD, VF_F32, A, false, 0},
    {"4096 samples, 131072 positions", NULL, 4096, {128, 128, 8}, 1, POSITIONS, VF_F32, A, false, 0},
    {"4096 samples, 131072 positions, forward", NULL, 4096, {128, 128, 8}, 1, POSITIONS, VF_F32, A, true, 0},
    {"4096 samples, 128x128x4, off-resonance, double", NULL, 4096, {128, 128, 4}, 1, FIELD, VF_F64, A, false, 0},
};

static const bench_case gpu_cases[] = {
    {"tuned, accurate", NULL, 65536, {128, 128, 128}, 1, GRID, VF_F32, A, false, 8},
    {"phasors, accurate", "phasors", 65536, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0.95},
    {"phasors, hardware", "phasors", 65536, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0.95},
    {"tuned, accurate, 96x100x40", NULL, 65536, {96, 100, 40}, 1, GRID, VF_F32, A, false, 0},
    {"tuned, accurate, 256x256x256", NULL, 65536, {256, 256, 256}, 1, GRID, VF_F32, A, false, 0},
    {"tuned, accurate, forward", NULL, 65536, {128, 128, 128}, 1, GRID, VF_F32, A, true, 0},
    {"tuned, accurate, 8 coils", NULL, 65536, {128, 128, 128}, 8, GRID, VF_F32, A, false, 0},
    {"tuned, accurate, 8 coils, forward", NULL, 65536, {128, 128, 128}, 8, GRID, VF_F32, A, true, 0},
    {"tuned, double", NULL, 16384, {128, 128, 128}, 1, GRID, VF_F64, A, false, 0},
    {"tuned, accurate, 20000 samples, 256x256", NULL, 20000, {256, 256, 1}, 1, GRID, VF_F32, A, false, 0},
    {"off-resonance, hardware", NULL, 16384, {128, 128, 128}, 1, FIELD, VF_F32, H, false, 0},
    {"off-resonance, accurate", NULL, 16384, {128, 128, 128}, 1, FIELD, VF_F32, A, false, 0},
    {"off-resonance, hardware, forward", NULL, 16384, {128, 128, 128}, 1, FIELD, VF_F32, H, true, 0},
    {"off-resonance, hardware, 8 coils", NULL, 16384, {128, 128, 128}, 8, FIELD, VF_F32, H, false, 0},
    {"off-resonance like noise, hardware", NULL, 16384, {128, 128, 128}, 1, NOISE, VF_F32, H, false, 0},
    {"off-resonance, pairs, hardware", "pairs", 16384, {128, 128, 128}, 1, FIELD, VF_F32, H, false, 0},
    {"positions, hardware", NULL, 16384, {128, 128, 128}, 1, POSITIONS, VF_F32, H, false, 0},
    {"positions, accurate", NULL, 16384, {128, 128, 128}, 1, POSITIONS, VF_F32, A, false, 0},
    {"positions, pairs, accurate", "pairs", 16384, {128, 128, 128}, 1, POSITIONS, VF_F32, A, false, 0},
    {"naive, accurate", "naive", 4096, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"naive, hardware", "naive", 4096, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"registers, accurate", "registers", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"registers, hardware", "registers", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"constant-arrays, accurate", "constant-arrays", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"constant-arrays, hardware", "constant-arrays", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"constant-structs, accurate", "constant-structs", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"constant-structs, hardware", "constant-structs", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"tuned-structs, accurate", "tuned-structs", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"tuned-structs, hardware", "tuned-structs", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"bank, accurate", "bank", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"bank, hardware", "bank", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0},
    {"bank-4, accurate", "bank-4", 16384, {128, 128, 128}, 1, GRID, VF_F32, A, false, 0},
    {"bank-4, hardware", "bank-4", 16384, {128, 128, 128}, 1, GRID, VF_F32, H, false, 0.92},
};

int main(int argc, char **argv)
{
    int ended = begin("bench_fourier_sum", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    printf("%s: %s", vf_device_spec(device), vf_device_name(device));
    if (gpu) {
        ceiling = bench_ceiling_sincos(vf_device_ordinal(device));
        vf_report_number(report, "sines_and_cosines_per_second", ceiling);
        printf("; ceiling %.3f T sines and cosines/s\n", 1e-12 * ceiling);
    } else {
        ceiling = bench_ceiling_fma(vf_context_threads(ctx));
        vf_report_integer(report, "threads", vf_context_threads(ctx));
        vf_report_number(report, "multiply_adds_per_second", ceiling);
        printf(", %d threads, %s; ceiling %.1f G multiply-adds/s / 2 (grid) or / 23\n", vf_context_threads(ctx),
               vf_isa_name(vf_cpu_isa()), 1e-9 * ceiling);
        time_plain();
    }
    const bench_case *cases = gpu ? gpu_cases : cpu_cases;
    size_t count = gpu ? sizeof gpu_cases / sizeof *gpu_cases : sizeof cpu_cases / sizeof *cpu_cases;
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < count; c++)
        if (runs_here(cases[c].variant))
            run_case(&cases[c]);
    vf_report_end(report);
    if (pairs_rate > 0) {
        bool reached = grid_rate >= GRID_BAR * pairs_rate;
        printf("a grid: %.1f times the kernel with a sine and a cosine a pair (bar %d)%s\n", grid_rate / pairs_rate,
               GRID_BAR, reached ? "" : "  BELOW THE BAR");
        vf_report_begin(report, "grid against a sine and a cosine a pair");
        vf_report_number(report, "times", grid_rate / pairs_rate);
        vf_report_integer(report, "bar", GRID_BAR);
        vf_report_bool(report, "bar_reached", reached);
        vf_report_end(report);
    }
    return end();
}
