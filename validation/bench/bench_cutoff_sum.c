/* The variants of the cutoff sum beside each other: seconds for a plan and for a whole map, and the charges that bins
 * of a fixed capacity leave to the CPU. Each map is checked at random points before it is timed.
 *
 * usage: bench_cutoff_sum DEVICE [REPORT.json [MOST_CHARGES]]     (cases of more charges are left out)
 *
 * The cutoff and the bandwidth are those of the Ewald sum to 1e-6 of the same charges (bench_ewald.c). Charges fill the
 * map's cube evenly, 0.1 in a cubic angstrom, as atoms of proteins do; or a fifth of them is in a ball that is ten
 * times as dense, which bins of a fixed capacity do not like. On the CPU, only the default variant. */
#include <math.h>

#include "bench_device.h"
#include "cutoff_sum.h"
#include "ewald_sum.h"
#include "prolate.h"

typedef struct bench_case {
    const char *name;
    int64_t charges, points; /* along each axis */
    bool crowded;
} bench_case;

static const bench_case cases[] = {{"16000 charges, 129^3", 16000, 129, false},
                                   {"200000 charges, 293^3", 200000, 293, false},
                                   {"200000 charges, a fifth crowded", 200000, 293, true},
                                   {"1000000 charges, 512^3", 1000000, 512, false}};

static const double spacing = 0.5, density = 0.1, r_min = 0.1;

static double *random_charges(const bench_case *c)
{
    double *data = room((size_t)c->charges * 4, sizeof *data);
    const double edge = cbrt((double)c->charges / density), first = 0.5 * (spacing * (double)(c->points - 1) - edge),
                 crowd = cbrt(0.2 * (double)c->charges / (10 * density));
    for (int64_t i = 0; i < c->charges; i++) {
        const double size = c->crowded && i % 5 == 0 ? crowd : edge;
        for (int a = 0; a < 3; a++)
            data[a * c->charges + i] = first + 0.5 * (edge - size) + size * uniform();
        data[3 * c->charges + i] = 2 * uniform() - 1;
    }
    return data;
}

/* The sum at a point; *size: that of the terms' parts without their signs. */
static double exact(const vf_coulomb_atoms *charges, const vf_cutoff_options *o, const vf_prolate *psi,
                    const double r[3], double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < charges->count; i++) {
        const double x = r[0] - charges->x[i], y = r[1] - charges->y[i], z = r[2] - charges->z[i];
        const double d = sqrt(x * x + y * y + z * z), root = 1 / fmax(d, o->r_min);
        if (d >= o->cutoff)
            continue;
        sum += charges->charge[i] * (root - vf_prolate_slope(psi, d / o->cutoff) / o->cutoff);
        *size += fabs(charges->charge[i]) * (root + 1 / (psi->area * o->cutoff));
    }
    return sum;
}

/* The largest error at random points, in units of the terms' sizes there. The unit test derives the bound, some 50
 * roundings of single precision; and of positions that the published kernels count from the origin, up to 250 angstrom
 * away. A wrong sum is far beyond. */
static const double most_error = 64 * 0x1p-24, most_error_from_origin = 1024 * 0x1p-24;
static double find_error(const vf_grid *grid, const vf_coulomb_atoms *charges, const vf_cutoff_options *o,
                         const float *values)
{
    enum { SAMPLES = 200 };
    double most = 0;
    vf_prolate psi;
    vf_prolate_make(o->bandwidth, &psi);
    for (int n = 0; n < SAMPLES; n++) {
        int64_t index = 0;
        double r[3], size;
        for (int a = 2; a >= 0; a--) {
            const int64_t at = integer_below(grid->counts[a]);
            index = index * grid->counts[a] + at;
            r[a] = grid->origin[a] + grid->spacing[a] * (double)at;
        }
        const double error = fabs((double)values[index] - exact(charges, o, &psi, r, &size));
        if (!(error <= most * size) && error > 0)
            most = error / size;
        if (isnan(error))
            return NAN;
    }
    return most;
}

static void run_variant(const bench_case *c, const vf_grid *grid, const vf_coulomb_atoms *charges,
                        const vf_cutoff_options *o, vf_array *values, vf_array *host)
{
    enum { MOST_RUNS = 21 };
    double making[MOST_RUNS], using[MOST_RUNS], spent = 0, error = NAN;
    const vf_box all = vf_grid_box(grid);
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    int64_t overflow = 0;
    int runs = 0;
    for (int run = -1; run < MOST_RUNS && (run < 3 || spent < 1); run++) {
        vf_cutoff *plan;
        const double began = vf_now();
        need(vf_cutoff_create(device, grid, charges, o, &plan));
        const double made = vf_now();
        need(vf_cutoff_execute(plan, queue, &all, false, values->data));
        need(vf_queue_sync(queue));
        const double ended = vf_now();
        if (run < 0) {
            memset(host->data, 0xff, (size_t)host->count * sizeof(float));
            need(vf_array_copy(queue, host, values, host->count));
            need(vf_queue_sync(queue));
            error = find_error(grid, charges, o, host->data);
            overflow = vf_cutoff_overflow(plan);
        } else {
            making[run] = made - began;
            using[run] = ended - made;
            spent += ended - began;
            runs = run + 1;
        }
        vf_cutoff_destroy(plan);
    }
    const double plan_seconds = median(making, runs), map_seconds = median(using, runs);
    const bool wrong = !(error <= (strstr(o->variant, "-bin") ? most_error_from_origin : most_error));
    failures += wrong;
    printf("%-32s %-17s  plan %8.2f ms  map %8.2f ms  on the CPU %6.2f %%  error %.1e%s\n", c->name, o->variant,
           1e3 * plan_seconds, 1e3 * map_seconds, 100 * (double)overflow / (double)c->charges, error,
           wrong ? "  WRONG" : "");
    vf_report_begin(report, o->variant);
    vf_report_integer(report, "runs", runs);
    vf_report_number(report, "plan_seconds", plan_seconds);
    vf_report_number(report, "map_seconds", map_seconds);
    if (gpu)
        vf_report_integer(report, "overflow", overflow);
    vf_report_number(report, "largest_error", error);
    vf_report_end(report);
}

static void run_case(const bench_case *c)
{
    double *data = random_charges(c), seconds[2];
    const vf_grid grid = {.spacing = {spacing, spacing, spacing}, .counts = {c->points, c->points, c->points}};
    const vf_coulomb_atoms charges = {.count = c->charges,
                                      .x = data,
                                      .y = data + c->charges,
                                      .z = data + 2 * c->charges,
                                      .charge = data + 3 * c->charges};
    const vf_ewald_options whole = {.scale = 1, .r_min = r_min, .tolerance = 1e-6, .precision = VF_F32};
    const vf_device_kind kind = vf_device_get_kind(device);
    vf_ewald_info info;
    vf_array values = {0}, host = {0};
    need(vf_ewald_plan_costs(device, &grid, &charges, &whole, &info, &seconds[0], &seconds[1]));
    vf_cutoff_options o = {
        .scale = 1, .r_min = r_min, .cutoff = info.cutoff, .bandwidth = info.bandwidth, .precision = VF_F32};
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, vf_grid_points(&grid), &values));
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, values.count, &host));
    vf_report_begin(report, c->name);
    vf_report_integer(report, "charges", c->charges);
    vf_report_integers(report, "grid", grid.counts, 3);
    vf_report_number(report, "cutoff", o.cutoff);
    vf_report_number(report, "near_pairs", info.pairs);
    for (int v = 0; (o.variant = vf_cutoff_variant_name(kind, v)) && (v == 0 || kind == VF_DEVICE_CUDA); v++)
        run_variant(c, &grid, &charges, &o, &values, &host);
    vf_report_end(report);
    vf_array_free(&values);
    vf_array_free(&host);
    free(data);
}

int main(int argc, char **argv)
{
    const int64_t most = argc > 3 ? whole_number(argv[3], INT64_MAX) : INT64_MAX;
    if (argc < 2 || argc > 4 || !most) {
        fprintf(stderr, "usage: bench_cutoff_sum DEVICE [REPORT.json [MOST_CHARGES]]\n");
        return 2;
    }
    const int ended = begin("bench_cutoff_sum", argv[1], argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s, %d threads\n", vf_device_name(device), vf_context_threads(ctx));
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        if (cases[c].charges <= most)
            run_case(&cases[c]);
    return end();
}
