/* How fast the Coulomb sum is: pairs of an atom and a grid point per second, and the share of the device's ceiling,
 * measured in the same run. Every result is checked against the reference at sample points before it is timed.
 *
 * usage: bench_coulomb_sum DEVICE [REPORT.json]
 *
 * Counts per pair (coulomb_sum_simd.inc, coulomb_sum_cuda.cu):
 *   CPU, AVX-512   6 vector operations (and max, in rows near an atom): add, reciprocal root seed, and 4 on the
 *                  multiply-add pipes (y^2, 3 - s y^2, q y, sum). A core has two pipes, each with one operation per
 *                  clock: the ceiling is a quarter of the multiply-add rate. Intel's cores do all six on these two
 *                  pipes. Less than half of the ceiling can be reached there: a loop of the same operations that
 *                  used registers only was at 45 % (measured by hand).
 *   GPU            one reciprocal square root in the special function units: the ceiling is their rate.
 * Memory traffic does not count: an atom (16 bytes in shared memory or cache) serves 128 to 1,024 points.
 */
#include <math.h>

#include "bench_ceilings.h"
#include "bench_device.h"
#include "bench_plain_coulomb.h"
#include "coulomb_sum.h"

static double ceiling; /* pairs a second */

typedef struct bench_case {
    const char *name, *variant;
    int atoms, counts[3];
    vf_dtype precision;
    bool against_plain, against_ceiling;
    double bar; /* least pairs per second, or least share of the ceiling on a GPU; 0: none */
} bench_case;

static double *random_atoms(const bench_case *c)
{
    double *data = room((size_t)c->atoms * 4, sizeof *data);
    seed_random();
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < c->atoms; i++)
            data[a * c->atoms + i] = uniform() * (a < 3 ? 0.5 * c->counts[a] : 2) - (a < 3 ? 0 : 1);
    return data;
}

/* The largest deviation from the formula, relative to sum |q|/r, at sample points. */
static double largest_error(const bench_case *c, const double *atoms, const vf_array *values)
{
    double largest = 0;
    for (int n = 0; n < 50; n++) {
        int p[3] = {(int)integer_below(c->counts[0]), (int)integer_below(c->counts[1]),
                    (int)integer_below(c->counts[2])};
        double sum = 0, size = 0;
        for (int i = 0; i < c->atoms; i++) {
            double dx = 0.5 * p[0] - atoms[i], dy = 0.5 * p[1] - atoms[c->atoms + i],
                   dz = 0.5 * p[2] - atoms[2 * c->atoms + i];
            double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), 0.1), q = atoms[3 * c->atoms + i];
            sum += q / r;
            size += fabs(q) / r;
        }
        size_t at = ((size_t)p[2] * (size_t)c->counts[1] + (size_t)p[1]) * (size_t)c->counts[0] + (size_t)p[0];
        double value = c->precision == VF_F64 ? ((double *)values->data)[at] : (double)((float *)values->data)[at];
        double error = fabs(value - sum) / size;
        if (!(error <= largest))
            largest = error;
    }
    return largest;
}

/* Runs the plain kernel on the same work once; returns seconds. */
static double time_plain(const bench_case *c, const float *atoms, float *out)
{
    double began = vf_now();
    bench_plain_coulomb(atoms, atoms + c->atoms, atoms + 2 * c->atoms, atoms + 3 * c->atoms, c->atoms, c->counts, 0.5f,
                        out, vf_context_threads(ctx));
    return vf_now() - began;
}

static void run_case(const bench_case *c)
{
    enum { MOST_RUNS = 401 };
    double seconds[MOST_RUNS], plain[MOST_RUNS];
    double pairs = (double)c->atoms * c->counts[0] * c->counts[1] * c->counts[2];
    double *data = random_atoms(c);
    float *single = room((size_t)c->atoms * 4, sizeof *single);
    vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {c->counts[0], c->counts[1], c->counts[2]}};
    vf_box box = vf_grid_box(&grid);
    vf_coulomb_atoms atoms = {
        .count = c->atoms, .x = data, .y = data + c->atoms, .z = data + 2 * c->atoms, .charge = data + 3 * c->atoms};
    vf_coulomb_options options = {.scale = 1, .r_min = 0.1, .precision = c->precision, .variant = c->variant};
    vf_array values = {0}, host = {0};
    vf_coulomb *plan;
    need(vf_coulomb_create(device, &grid, &atoms, &options, &plan));
    need(vf_array_create(device, VF_SPACE_DEVICE, c->precision, vf_grid_points(&grid), &values));
    need(vf_array_create(device, VF_SPACE_PINNED, c->precision, vf_grid_points(&grid), &host));
    for (int i = 0; i < 4 * c->atoms; i++)
        single[i] = (float)data[i];
    memset(host.data, 0xff, (size_t)host.count * vf_dtype_bytes(host.type));
    need(vf_array_copy(queue, &values, &host, values.count));
    need(vf_coulomb_execute(plan, queue, &box, values.data));
    need(vf_array_copy(queue, &host, &values, values.count));
    need(vf_queue_sync(queue));
    double error = largest_error(c, data, &host);
    int runs = 0;
    for (double spent = 0; (runs < 5 || spent < 1) && runs < MOST_RUNS; runs++) {
        double began = vf_now();
        need(vf_coulomb_execute(plan, queue, &box, values.data));
        need(vf_queue_sync(queue));
        seconds[runs] = vf_now() - began;
        plain[runs] = c->against_plain ? time_plain(c, single, host.data) : 0;
        spent += seconds[runs] + plain[runs];
    }
    double took = median(seconds, runs), rate = pairs / took, share = ceiling > 0 ? rate / ceiling : 0;
    double faster = c->against_plain ? median(plain, runs) / took : 0;
    bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    bool wrong = !(error <= (c->precision == VF_F64 ? 1e-12 : 1e-5));
    bool short_of_bar = c->bar > 0 && !((gpu ? share : rate) >= c->bar);
    failures += wrong;
    printf("%-34s %-8s %6s %9.2f G/s", c->name, vf_coulomb_variant(plan), c->precision == VF_F64 ? "double" : "single",
           1e-9 * rate);
    if (c->against_ceiling)
        printf("  %5.1f %% of ceiling", 100 * share);
    if (c->against_plain)
        printf("  %5.2f x plain kernel", faster);
    printf("  error %.1e%s%s\n", error, wrong ? "  WRONG" : "", short_of_bar ? "  BELOW THE BAR" : "");
    vf_report_begin(report, c->name);
    vf_report_text(report, "variant", vf_coulomb_variant(plan));
    vf_report_text(report, "precision", c->precision == VF_F64 ? "double" : "single");
    vf_report_integer(report, "atoms", c->atoms);
    vf_report_integers(report, "grid", grid.counts, 3);
    vf_report_number(report, "pairs_per_second", rate);
    vf_report_integer(report, "runs", runs);
    if (c->against_ceiling)
        vf_report_number(report, "share_of_ceiling", share);
    if (c->against_plain)
        vf_report_number(report, "times_plain_kernel", faster);
    if (c->bar > 0) {
        vf_report_number(report, gpu ? "bar_share_of_ceiling" : "bar_pairs_per_second", c->bar);
        vf_report_bool(report, "bar_reached", !short_of_bar);
    }
    vf_report_number(report, "largest_error", error);
    vf_report_end(report);
    vf_array_free(&values);
    vf_array_free(&host);
    vf_coulomb_destroy(plan);
    free(data);
    free(single);
}

static const bench_case cpu_cases[] = {
    {"5943 atoms, 121^3", NULL, 5943, {121, 121, 121}, VF_F32, true, true, 18e9},
    {"100 atoms, 121^3", NULL, 100, {121, 121, 121}, VF_F32, true, false, 0},
    {"5943 atoms, 32^3", NULL, 5943, {32, 32, 32}, VF_F32, true, false, 0},
    {"5943 atoms, 17^3", NULL, 5943, {17, 17, 17}, VF_F32, true, false, 0},
    {"1000 atoms, 8^3", NULL, 1000, {8, 8, 8}, VF_F32, true, false, 0},
    {"100 atoms, 33^3", NULL, 100, {33, 33, 33}, VF_F32, true, false, 0},
    {"10 atoms, 64^3", NULL, 10, {64, 64, 64}, VF_F32, true, false, 0},
    {"2000 atoms, 96^3, double", NULL, 2000, {96, 96, 96}, VF_F64, false, false, 0},
    {"2000 atoms, 96^3, avx2", "avx2", 2000, {96, 96, 96}, VF_F32, false, false, 0},
    {"2000 atoms, 96^3, baseline", "baseline", 2000, {96, 96, 96}, VF_F32, false, false, 0},
};

static const bench_case gpu_cases[] = {
    {"16384 atoms, 512x512x64", NULL, 16384, {512, 512, 64}, VF_F32, false, true, 0.97},
    {"roots, 16384 atoms, 512x512x64", "roots", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"const1, 16384 atoms, 512x512x64", "const1", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"const4, 16384 atoms, 512x512x64", "const4", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"const8, 16384 atoms, 512x512x64", "const8", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"dcs1, 16384 atoms, 512x512x64", "dcs1", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"dcs2, 16384 atoms, 512x512x64", "dcs2", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"dcs3, 16384 atoms, 512x512x64", "dcs3", 16384, {512, 512, 64}, VF_F32, false, true, 0},
    {"100000 atoms, 256^3", NULL, 100000, {256, 256, 256}, VF_F32, false, true, 0.97},
    {"3129 atoms, 107x96x130", NULL, 3129, {107, 96, 130}, VF_F32, false, true, 0},
    {"4096 atoms, 256^3, double", NULL, 4096, {256, 256, 256}, VF_F64, false, false, 0},
};

int main(int argc, char **argv)
{
    int ended = begin("bench_coulomb_sum", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    bool gpu = vf_device_get_kind(device) == VF_DEVICE_CUDA;
    printf("%s: %s", vf_device_spec(device), vf_device_name(device));
    if (gpu) {
        ceiling = bench_ceiling_rsqrt(vf_device_ordinal(device));
        vf_report_number(report, "reciprocal_square_roots_per_second", ceiling);
        printf("; ceiling %.3f T reciprocal square roots/s\n", 1e-12 * ceiling);
    } else {
        ceiling = bench_ceiling_fma(vf_context_threads(ctx)) / 4;
        vf_report_integer(report, "threads", vf_context_threads(ctx));
        vf_report_number(report, "multiply_adds_per_second", 4 * ceiling);
        printf(", %d threads, %s; ceiling %.1f G multiply-adds/s / 4\n", vf_context_threads(ctx),
               vf_isa_name(vf_cpu_isa()), 4e-9 * ceiling);
    }
    const bench_case *cases = gpu ? gpu_cases : cpu_cases;
    size_t count = gpu ? sizeof gpu_cases / sizeof *gpu_cases : sizeof cpu_cases / sizeof *cpu_cases;
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < count; c++)
        if (runs_here(cases[c].variant))
            run_case(&cases[c]);
    return end();
}
