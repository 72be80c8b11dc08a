/* How fast Ewald sums are: seconds for a whole map to a tolerance, from the charges to the values in the device's
 * memory, in free space. Each result is checked against the exact sum at random points before it is timed.
 *
 * usage: bench_ewald DEVICE [REPORT.json [MOST_ATOMS]]     (cases of more atoms are left out)
 *        bench_ewald DEVICE REPORT.json ATOMS:POINTS:TOLERANCE:single|double...     (these cases, without bars)
 *
 * Atoms fill a cube evenly, 0.1 in a cubic angstrom as in proteins, with a margin to the map's edges; the map's spacing
 * is half an angstrom. The last map is streamed: computed slab by slab, each overwriting the one before. Shares of
 * ceilings count the least work that the method has to do, with the mesh it chose:
 *   multiply-adds  for a near pair, the polynomial, r^2 and the sum, and 5 in place of the reciprocal root; P^3 for
 *                  spreading a charge; 5/4 N log2 N for the transform of N real numbers, to and fro, each; P for a
 *                  point of the map, if it is interpolated
 *   bytes          the mesh written, transformed to and fro along three axes, and read; the map written
 */
#include <math.h>
#include <sys/resource.h>

#include "bench_ceilings.h"
#include "bench_device.h"
#include "bench_plain_coulomb.h"
#include "ewald_sum.h"
#include "prolate.h"

static double multiply_adds, bytes_moved; /* the device's, in a second */

typedef struct bench_case {
    const char *name;
    int64_t atoms, points; /* along each axis */
    double tolerance;
    vf_dtype precision;
    double bars[2]; /* most seconds, indexed by vf_device_kind, for two cores and for an H200; 0: none */
    int64_t planes; /* held at a time; 0: all */
    double bytes;   /* the bar of the process's memory so far, on the CPU; 0: none */
} bench_case;

static const bench_case cases[] = {
    {"16000 atoms, 129^3", 16000, 129, 1e-6, VF_F32, {0.25, 1e-3}, 0, 0},
    {"16000 atoms, 129^3, 1e-10", 16000, 129, 1e-10, VF_F64, {1.5, 0}, 0, 0},
    {"200000 atoms, 293^3", 200000, 293, 1e-6, VF_F32, {1.2, 5e-3}, 0, 0},
    {"1000000 atoms, 512^3", 1000000, 512, 1e-6, VF_F32, {4, 20e-3}, 0, 0},
    {"10000000 atoms, 1024^3", 10000000, 1024, 1e-6, VF_F32, {30, 150e-3}, 32, 2.5e9},
};

static const double spacing = 0.5, density = 0.1, r_min = 0.1;

/* x, y, z and charges; in the middle of the map. Charges of -1 to 1. */
static double *random_atoms(const bench_case *c)
{
    double *data = room((size_t)c->atoms * 4, sizeof *data);
    const double edge = cbrt((double)c->atoms / density), first = 0.5 * (spacing * (double)(c->points - 1) - edge);
    seed_random();
    for (int64_t i = 0; i < 4 * c->atoms; i++) {
        const double at = uniform();
        data[i] = i < 3 * c->atoms ? first + edge * at : 2 * at - 1;
    }
    return data;
}

static double exact(const vf_coulomb_atoms *atoms, const double r[3])
{
    double sum = 0;
    for (int64_t i = 0; i < atoms->count; i++) {
        const double x = r[0] - atoms->x[i], y = r[1] - atoms->y[i], z = r[2] - atoms->z[i];
        sum += atoms->charge[i] / fmax(sqrt(x * x + y * y + z * z), r_min);
    }
    return sum;
}

/* Random points of the grid; what was computed there. */
enum { SAMPLES = 300 };
typedef struct sample {
    int64_t at[3];
    double got;
} sample;

static void choose_samples(const vf_grid *grid, sample *samples)
{
    for (int n = 0; n < SAMPLES; n++) {
        samples[n].got = NAN;
        for (int a = 0; a < 3; a++)
            samples[n].at[a] = integer_below(grid->counts[a]);
    }
}

static void take_samples(const vf_grid *grid, const vf_box *box, const vf_array *values, sample *samples)
{
    for (int n = 0; n < SAMPLES; n++) {
        const int64_t *at = samples[n].at, z = at[2] - box->lo[2];
        const int64_t i = (z * grid->counts[1] + at[1]) * grid->counts[0] + at[0];
        if (z >= 0 && at[2] < box->hi[2])
            samples[n].got =
                values->type == VF_F64 ? ((const double *)values->data)[i] : (double)((const float *)values->data)[i];
    }
}

/* The rms error and the largest at the samples, relative to the rms potential there. */
static void find_errors(const vf_grid *grid, const vf_coulomb_atoms *atoms, const sample *samples, double *rms,
                        double *largest)
{
    double errors = 0, squares = 0, most = 0;
    for (int n = 0; n < SAMPLES; n++) {
        double r[3];
        for (int a = 0; a < 3; a++)
            r[a] = grid->origin[a] + grid->spacing[a] * (double)samples[n].at[a];
        const double expected = exact(atoms, r), error = fabs(samples[n].got - expected);
        errors += error * error;
        squares += expected * expected;
        if (!(error <= most))
            most = error;
    }
    *rms = sqrt(errors / squares);
    *largest = most / sqrt(squares / SAMPLES);
}

/* The share of the rates that the least work would take of `seconds`. */
static void find_shares(const bench_case *c, const vf_ewald_info *info, double seconds, double *arithmetic,
                        double *memory)
{
    vf_prolate psi;
    vf_prolate_powers law;
    const bool twice = c->precision == VF_F64;
    vf_prolate_make(info->bandwidth, &psi);
    vf_prolate_fit(&psi, vf_prolate_slopes, twice ? 0x1p-53 : 0x1p-25, &law);
    const double mesh = (double)info->mesh[0] * (double)info->mesh[1] * (double)info->mesh[2],
                 map = pow((double)c->points, 3), element = (double)vf_dtype_bytes(c->precision);
    const double terms = info->pairs * (law.degree + 10) + (double)c->atoms * pow(info->width, 3) +
                         2.5 * mesh * log2(mesh) + (info->interpolates ? map * info->width : 0);
    *arithmetic = terms / (multiply_adds / (twice ? 2 : 1)) / seconds;
    *memory = (14 * mesh + map) * element / bytes_moved / seconds;
}

typedef struct bench_result {
    vf_ewald_info info;
    int runs;
    double making, using, whole;            /* median seconds */
    double expected_making, expected_using; /* of one thread, by the model that chooses meshes */
    double rms, largest;
    double bytes; /* of the process, so far */
} bench_result;

static void note(const bench_case *c, const bench_result *r)
{
    const bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    const double bar = c->bars[gpu];
    /* 300 points scatter about the rms error by some percent; that it is kept everywhere is for the unit tests. */
    const bool wrong = !(r->rms <= 1.5 * c->tolerance) || !(r->largest <= 10 * c->tolerance);
    double arithmetic, memory;
    find_shares(c, &r->info, r->whole, &arithmetic, &memory);
    failures += wrong;
    printf("%-28s mesh %4lld  P %2d  rc %5.2f  plan %8.2f ms  map %8.2f ms  whole %8.2f ms  %5.1f %% of multiply-adds "
           "%5.1f %% of memory  error %.1e, at most %.1e%s%s\n",
           c->name, (long long)r->info.mesh[0], r->info.width, r->info.cutoff, 1e3 * r->making, 1e3 * r->using,
           1e3 * r->whole, 100 * arithmetic, 100 * memory, r->rms, r->largest, wrong ? "  WRONG" : "",
           bar > 0 && !(r->whole <= bar) ? "  BELOW THE BAR" : "");
    if (c->bytes > 0 && !gpu)
        printf("  %.2f GB of memory%s\n", 1e-9 * r->bytes, r->bytes <= c->bytes ? "" : "  ABOVE THE BAR");
    vf_report_begin(report, c->name);
    vf_report_integer(report, "atoms", c->atoms);
    vf_report_integers(report, "grid", (const int64_t[3]){c->points, c->points, c->points}, 3);
    vf_report_number(report, "tolerance", c->tolerance);
    vf_report_text(report, "precision", c->precision == VF_F64 ? "double" : "single");
    vf_report_integers(report, "mesh", r->info.mesh, 3);
    vf_report_integer(report, "width", r->info.width);
    vf_report_number(report, "cutoff", r->info.cutoff);
    vf_report_number(report, "near_pairs", r->info.pairs);
    vf_report_integer(report, "plan_bytes", (int64_t)r->info.bytes);
    vf_report_integer(report, "most_plan_bytes", (int64_t)r->info.most_bytes);
    vf_report_integer(report, "planes_at_a_time", c->planes ? c->planes : c->points);
    if (c->bytes > 0 && !gpu) {
        vf_report_number(report, "process_bytes", r->bytes);
        vf_report_number(report, "bar_bytes", c->bytes);
    }
    vf_report_integer(report, "runs", r->runs);
    vf_report_number(report, "plan_seconds", r->making);
    vf_report_number(report, "map_seconds", r->using);
    vf_report_number(report, "seconds", r->whole);
    vf_report_number(report, "expected_plan_seconds", r->expected_making);
    vf_report_number(report, "expected_map_seconds", r->expected_using);
    vf_report_number(report, "share_of_multiply_adds", arithmetic);
    vf_report_number(report, "share_of_copy_speed", memory);
    vf_report_number(report, "relative_error", r->rms);
    vf_report_number(report, "largest_error", r->largest);
    if (bar > 0) {
        vf_report_number(report, "bar_seconds", bar);
        vf_report_bool(report, "bar_reached", r->whole <= bar);
    }
    vf_report_end(report);
}

/* The whole map, slab by slab. With `samples`, slabs are copied to the host. */
static void execute(const vf_ewald *plan, const vf_grid *grid, int64_t planes, const vf_array *values, vf_array *host,
                    sample *samples)
{
    vf_box box = vf_grid_box(grid);
    for (int64_t z = 0; z < grid->counts[2]; z += planes) {
        box.lo[2] = z;
        box.hi[2] = z + planes < grid->counts[2] ? z + planes : grid->counts[2];
        need(vf_ewald_execute(plan, queue, &box, values->data));
        if (!samples)
            continue;
        need(vf_array_copy(queue, host, values, vf_box_points(&box)));
        need(vf_queue_sync(queue));
        take_samples(grid, &box, host, samples);
    }
    need(vf_queue_sync(queue));
}

static double process_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : NAN;
}

/* A case of the command line. */
static bool parse_case(const char *text, bench_case *c)
{
    char *end;
    c->name = text;
    c->atoms = strtoll(text, &end, 10);
    c->points = *end == ':' ? strtoll(end + 1, &end, 10) : 0;
    c->tolerance = *end == ':' ? strtod(end + 1, &end) : 0;
    c->precision = strcmp(end, ":double") == 0 ? VF_F64 : VF_F32;
    return c->atoms > 0 && c->atoms < 1 << 28 && c->points > 0 && c->points < 4000 && c->tolerance > 0 &&
           (c->precision == VF_F64 || strcmp(end, ":single") == 0);
}

static void run_case(const bench_case *c)
{
    enum { MOST_RUNS = 21 };
    double making[MOST_RUNS], using[MOST_RUNS], whole[MOST_RUNS], spent = 0;
    double *data = random_atoms(c);
    const int64_t planes = c->planes ? c->planes : c->points;
    const vf_grid grid = {.spacing = {spacing, spacing, spacing}, .counts = {c->points, c->points, c->points}};
    const vf_coulomb_atoms atoms = {
        .count = c->atoms, .x = data, .y = data + c->atoms, .z = data + 2 * c->atoms, .charge = data + 3 * c->atoms};
    const vf_ewald_options options = {.scale = 1, .r_min = r_min, .tolerance = c->tolerance, .precision = c->precision};
    sample samples[SAMPLES];
    bench_result r = {0};
    vf_array values = {0}, host = {0};
    choose_samples(&grid, samples);
    need(vf_array_create(device, VF_SPACE_DEVICE, c->precision, c->points * c->points * planes, &values));
    need(vf_array_create(device, VF_SPACE_PINNED, c->precision, values.count, &host));
    memset(host.data, 0xff, (size_t)host.count * vf_dtype_bytes(host.type));
    need(vf_array_copy(queue, &values, &host, values.count));
    need(vf_ewald_plan_costs(device, &grid, &atoms, &options, &r.info, &r.expected_making, &r.expected_using));
    for (int run = -1; run < MOST_RUNS && ((run < 3 && spent < 20) || spent < 2); run++) {
        vf_ewald *plan;
        const double began = vf_now();
        need(vf_ewald_create(device, &grid, &atoms, &options, &plan));
        const double made = vf_now();
        execute(plan, &grid, planes, &values, &host, run < 0 ? samples : NULL);
        const double ended = vf_now();
        if (run < 0) {
            vf_ewald_get_info(plan, &r.info);
            find_errors(&grid, &atoms, samples, &r.rms, &r.largest);
        } else {
            making[run] = made - began;
            using[run] = ended - made;
            whole[run] = ended - began;
            spent += whole[run];
            r.runs = run + 1;
        }
        vf_ewald_destroy(plan);
    }
    r.making = median(making, r.runs);
    r.using = median(using, r.runs);
    r.whole = median(whole, r.runs);
    r.bytes = process_bytes();
    note(c, &r);
    vf_array_free(&values);
    vf_array_free(&host);
    free(data);
}

int main(int argc, char **argv)
{
    const bool own = argc > 3 && strchr(argv[3], ':');
    const int64_t most = argc > 3 && !own ? whole_number(argv[3], INT64_MAX) : INT64_MAX;
    bool right = argc > 1 && (own || argc <= 4) && most;
    for (int i = 3; own && i < argc; i++)
        right &= parse_case(argv[i], &(bench_case){0});
    if (!right) {
        fprintf(stderr, "usage: bench_ewald DEVICE [REPORT.json [MOST_ATOMS]], or\n"
                        "       bench_ewald DEVICE REPORT.json ATOMS:POINTS:TOLERANCE:single|double...\n");
        return 2;
    }
    const int ended = begin("bench_ewald", argv[1], argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    setvbuf(stdout, NULL, _IOLBF, 0);
    multiply_adds = vf_device_get_kind(device) == VF_DEVICE_CUDA ? bench_ceiling_gpu_fma(vf_device_ordinal(device))
                                                                 : bench_ceiling_fma(vf_context_threads(ctx));
    bytes_moved = copy_speed();
    printf("%s, %d threads; ceilings %.4g G multiply-adds/s, %.4g GB/s\n", vf_device_name(device),
           vf_context_threads(ctx), 1e-9 * multiply_adds, 1e-9 * bytes_moved);
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_number(report, "multiply_adds_per_second", multiply_adds);
    vf_report_number(report, "copied_bytes_per_second", bytes_moved);
    vf_report_begin(report, "cases");
    for (size_t c = 0; !own && c < sizeof cases / sizeof *cases; c++)
        if (cases[c].atoms <= most)
            run_case(&cases[c]);
    for (int i = 3; own && i < argc; i++) {
        bench_case c = {0};
        if (parse_case(argv[i], &c))
            run_case(&c);
    }
    return end();
}
