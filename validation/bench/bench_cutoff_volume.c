/* Seconds of potential maps against their volume: the direct sum, whose work grows with the square of it, and sums with a
 * cutoff, whose work grows with it. The publication's figure 10.3 (Kirk and Hwu, Programming Massively Parallel Processors,
 * 2010, after Rodrigues et al., CF '08), with its five curves and ours.
 *
 * usage: bench_cutoff_volume DEVICE [REPORT.json [MOST_VOLUME [SECONDS]]]
 *
 * Volumes are cubes of 1,000 to 10^7 cubic angstrom, at most MOST_VOLUME, with 0.1 charges in each cubic angstrom and a point
 * every 0.5 angstrom; the plain law to 12 angstrom, single precision. The publication states none of these. Times are from
 * the charges in the host's memory to the map there: bins and transfers are included, pinned memory for the map is not. A
 * case whose time is expected to be above SECONDS (3) is left out, from what the volume before took.
 *
 *   direct     on a GPU version 3 of direct Coulomb summation ("dcs3"); on a CPU our direct sum, on all its threads
 *   large-bin, small-bin, small-bin-overlap      on a GPU
 *   bins       our kernel, on a GPU
 *   scatter    the published CPU code, on one thread; but with the vectors of this CPU
 *   simd       our CPU kernel, on all threads
 *
 * Each map is compared at random points with the sum by its definition, before it is timed. */
#include <math.h>

#include "bench_device.h"
#include "cutoff_sum.h"

static const double volumes[] = {1e3, 2e3, 4e3, 8e3, 1.6e4, 3.2e4, 6.4e4, 1.25e5, 2.5e5, 5e5, 1e6, 2e6, 4e6, 1e7};
enum { VOLUMES = sizeof volumes / sizeof *volumes, SAMPLES = 40, MOST_RUNS = 15 };
static const double spacing = 0.5, density = 0.1, cutoff = 12, r_min = 0.1;

/* A curve of the figure. */
typedef struct curve {
    const char *name, *variant;
    bool direct, on_cpu;  /* on_cpu: also beside a GPU */
    double seconds, size; /* of the last volume that was measured; 0: none */
} curve;

static curve gpu_curves[] = {{"direct", "dcs3", true, false, 0, 0},
                             {"large-bin", "large-bin", false, false, 0, 0},
                             {"small-bin", "small-bin", false, false, 0, 0},
                             {"small-bin-overlap", "small-bin-overlap", false, false, 0, 0},
                             {"bins", "bins", false, false, 0, 0},
                             {"scatter", "scatter", false, true, 0, 0},
                             {"simd", "simd", false, true, 0, 0},
                             {0}};
static curve cpu_curves[] = {{"direct", "simd", true, true, 0, 0},
                             {"scatter", "scatter", false, true, 0, 0},
                             {"simd", "simd", false, true, 0, 0},
                             {0}};

typedef struct matter {
    double volume;
    vf_grid grid;
    vf_coulomb_atoms charges;
    double *data;
    /* Grid points, their sums over the charges within the cutoff and over all, and the sizes of these: sum |q| / r. Where a
     * charge is at the cutoff, whether it counts is a matter of rounding: doubt. */
    int64_t sample[SAMPLES];
    double near[SAMPLES], whole[SAMPLES], near_size[SAMPLES], whole_size[SAMPLES], doubt[SAMPLES];
} matter;

static void sum_sample(matter *m, int n)
{
    const int64_t *counts = m->grid.counts;
    double r[3];
    int64_t rest = m->sample[n] = integer_below(vf_grid_points(&m->grid));
    /* Positions of single precision from the grid's origin are off by 2^-23 of its edge; twice that, in each axis. */
    const double moved = 4 * 0x1p-23 * spacing * (double)counts[0];
    for (int a = 0; a < 3; a++, rest /= counts[a - 1])
        r[a] = spacing * (double)(rest % counts[a]);
    for (int64_t i = 0; i < m->charges.count; i++) {
        const double x = r[0] - m->charges.x[i], y = r[1] - m->charges.y[i], z = r[2] - m->charges.z[i],
                     q = m->charges.charge[i], d = sqrt(x * x + y * y + z * z), term = 1 / fmax(d, r_min);
        m->whole[n] += q * term;
        m->whole_size[n] += fabs(q) * (term + moved / 0x1p-17 * term * term);
        if (fabs(d - cutoff) <= moved)
            m->doubt[n] += fabs(q) * term;
        if (d < cutoff) {
            m->near[n] += q * term;
            m->near_size[n] += fabs(q) * (term + moved / 0x1p-17 * term * term);
        }
    }
}

static matter *make_matter(double volume)
{
    matter *m = room(1, sizeof *m);
    const double edge = cbrt(volume);
    *m = (matter){.volume = volume};
    for (int a = 0; a < 3; a++) {
        m->grid.spacing[a] = spacing;
        m->grid.counts[a] = (int64_t)round(edge / spacing);
    }
    const int64_t count = (int64_t)round(density * volume);
    m->data = room((size_t)count * 4, sizeof *m->data);
    for (int64_t i = 0; i < 3 * count; i++)
        m->data[i] = edge * uniform() - 0.5 * spacing;
    for (int64_t i = 3 * count; i < 4 * count; i++)
        m->data[i] = 2 * uniform() - 1;
    m->charges = (vf_coulomb_atoms){
        .count = count, .x = m->data, .y = m->data + count, .z = m->data + 2 * count, .charge = m->data + 3 * count};
    for (int n = 0; n < SAMPLES; n++)
        sum_sample(m, n);
    return m;
}

/* The largest error at the samples, as a part of the terms' sizes, which contain the errors of positions; beyond what is in
 * doubt. NaN: not all are numbers. */
static double find_error(const matter *m, bool direct, const float *values)
{
    double most = 0;
    for (int n = 0; n < SAMPLES; n++) {
        const double value = (double)values[m->sample[n]], off = fabs(value - (direct ? m->whole[n] : m->near[n])),
                     error = (off - (direct ? 0 : m->doubt[n])) / (direct ? m->whole_size[n] : m->near_size[n]);
        if (isnan(value))
            return NAN;
        most = fmax(most, error);
    }
    return most;
}

/* Seconds for a map, and in *binning those of it before the kernel starts. */
static double make_map(const matter *m, const curve *c, vf_device *on, vf_queue *in, vf_array *values, vf_array *host,
                       double *binning, int64_t *overflow)
{
    const vf_box all = vf_grid_box(&m->grid);
    vf_cutoff *near = NULL;
    vf_coulomb *direct = NULL;
    const double began = vf_now();
    if (c->direct) {
        const vf_coulomb_options o = {.scale = 1, .r_min = r_min, .precision = VF_F32, .variant = c->variant};
        need(vf_coulomb_create(on, &m->grid, &m->charges, &o, &direct));
    } else {
        const vf_cutoff_options o = {.scale = 1,
                                     .r_min = r_min,
                                     .cutoff = cutoff,
                                     .law = VF_CUTOFF_PLAIN,
                                     .precision = VF_F32,
                                     .variant = c->variant};
        need(vf_cutoff_create(on, &m->grid, &m->charges, &o, &near));
    }
    *binning = vf_now() - began;
    need(c->direct ? vf_coulomb_execute(direct, in, &all, values->data)
                   : vf_cutoff_execute(near, in, &all, false, values->data));
    if (host->data)
        need(vf_array_copy(in, host, values, values->count));
    need(vf_queue_sync(in));
    const double seconds = vf_now() - began;
    *overflow = near ? vf_cutoff_overflow(near) : 0;
    vf_cutoff_destroy(near);
    vf_coulomb_destroy(direct);
    return seconds;
}

static void run_curve(const matter *m, curve *c, double limit)
{
    double seconds[MOST_RUNS], binning[MOST_RUNS], spent = 0;
    const double expected = c->seconds * (c->direct ? pow(m->volume / c->size, 2) : m->volume / c->size);
    int64_t overflow = 0;
    int runs = 0;
    if (c->size > 0 && expected > limit)
        return;
    vf_device *on = c->on_cpu ? vf_context_host(ctx) : device;
    vf_queue *in = NULL;
    vf_array values = {0}, host = {0};
    need(vf_queue_create(on, &in));
    need(vf_array_create(on, VF_SPACE_DEVICE, VF_F32, vf_grid_points(&m->grid), &values));
    if (!vf_device_is_host(on))
        need(vf_array_create(on, VF_SPACE_PINNED, VF_F32, values.count, &host));
    float *map = host.data ? host.data : values.data;
    if (host.data)
        memset(map, 0xff, (size_t)values.count * sizeof *map);
    /* The first run, which is checked, also loads the kernel; it counts if there is no time for another. */
    seconds[0] = make_map(m, c, on, in, &values, &host, &binning[0], &overflow);
    const double error = find_error(m, c->direct, map);
    for (bool first = true; runs < MOST_RUNS && (first ? seconds[0] < limit / 4 : runs < 3 || spent < limit / 10);
         first = false) {
        seconds[runs] = make_map(m, c, on, in, &values, &host, &binning[runs], &overflow);
        spent += seconds[runs++];
    }
    runs = runs > 0 ? runs : 1;
    c->seconds = median(seconds, runs);
    c->size = m->volume;
    /* sum of n terms in single precision, in any order, and a few roundings for each */
    const bool wrong = !(error <= 1000 * 0x1p-24);
    failures += wrong;
    printf("%10.0f A^3  %-18s %10.3f ms, of it bins %8.3f  overflow %5.2f %%  error %.1e%s\n", m->volume, c->name,
           1e3 * c->seconds, 1e3 * median(binning, runs), 100 * (double)overflow / (double)m->charges.count, error,
           wrong ? "  WRONG" : "");
    vf_report_begin(report, c->name);
    vf_report_number(report, "seconds", c->seconds);
    vf_report_number(report, "binning", median(binning, runs));
    vf_report_number(report, "overflow", (double)overflow / (double)m->charges.count);
    vf_report_number(report, "error", error);
    vf_report_end(report);
    vf_array_free(&values);
    vf_array_free(&host);
    vf_queue_destroy(in);
}

static void run_volume(double volume, curve *curves, double limit)
{
    char name[32];
    matter *m = make_matter(volume);
    double cut = 0, whole = 0;
    snprintf(name, sizeof name, "%.0f", volume);
    vf_report_begin(report, name);
    vf_report_integer(report, "charges", m->charges.count);
    vf_report_integer(report, "edge", m->grid.counts[0]);
    for (int n = 0; n < SAMPLES; n++) {
        cut += pow(m->near[n] - m->whole[n], 2);
        whole += pow(m->whole[n], 2);
    }
    vf_report_number(report, "difference", sqrt(cut / whole)); /* of the law from the full sum, rms */
    for (curve *c = curves; c->name; c++)
        run_curve(m, c, limit);
    vf_report_end(report);
    free(m->data);
    free(m);
}

int main(int argc, char **argv)
{
    const int64_t most = argc > 3 ? whole_number(argv[3], INT64_MAX) : INT64_MAX,
                  limit = argc > 4 ? whole_number(argv[4], 3600) : 3;
    if (argc < 2 || argc > 5 || !most || !limit) {
        fprintf(stderr, "usage: bench_cutoff_volume DEVICE [REPORT.json [MOST_VOLUME [SECONDS]]]\n");
        return 2;
    }
    const int ended = begin("bench_cutoff_volume", argv[1], argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    printf("%s, %d threads\n", vf_device_name(device), vf_context_threads(ctx));
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_text(report, "cpu", vf_device_name(vf_context_host(ctx)));
    vf_report_number(report, "cutoff", cutoff);
    vf_report_number(report, "spacing", spacing);
    vf_report_number(report, "density", density);
    vf_report_begin(report, "volumes");
    for (int v = 0; v < VOLUMES && volumes[v] <= (double)most; v++)
        run_volume(volumes[v], gpu ? gpu_curves : cpu_curves, (double)limit);
    vf_report_end(report);
    return end();
}
