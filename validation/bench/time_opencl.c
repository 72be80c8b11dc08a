/* The seconds of the Coulomb, cutoff, Ewald and Fourier sums and of gridding on several devices, beside each other: how OpenCL compares
 * with CUDA on the same GPU. The results of all devices are compared first.
 *
 * usage: time_opencl REPORT.json SCALE DEVICE DEVICE...     SCALE: 1 for a GPU; 0.05 to see whether it works
 *
 * A case is in single precision. After a run that also compiles, the time is the median of 5 runs; plans are not in it. */
#include <math.h>

#include "bench_device.h"
#include "cutoff_sum.h"
#include "ewald_sum.h"
#include "fourier_sum.h"
#include "gridding.h"

enum { RUNS = 5, MOST_DEVICES = 8, COILS = 8 };

/* What a case works with: a molecule of `atoms` in a cube of points, or samples of a cube of voxels. */
typedef struct bench_case {
    const char *name, *variant;
    double allowed; /* the difference between two devices, of the largest value */
    int64_t points, edge;
    double *numbers;
    vf_array in, out;
    void *plan;
} bench_case;

typedef vf_status make_case(bench_case *c);
typedef vf_status run_case(bench_case *c);

static vf_coulomb_atoms atoms_of(const bench_case *c)
{
    const double *n = c->numbers;
    const int64_t count = c->points;
    return (vf_coulomb_atoms){count, n, n + count, n + 2 * count, n + 3 * count};
}

static vf_grid grid_of(const bench_case *c)
{
    return (vf_grid){.spacing = {0.5, 0.5, 0.5}, .counts = {c->edge, c->edge, c->edge}};
}

/* Random atoms of both signs in the grid's box, about one per 10 A^3. */
static vf_status make_atoms(bench_case *c)
{
    const double length = 0.5 * (double)c->edge;
    c->numbers = room((size_t)c->points * 4, sizeof *c->numbers);
    seed_random();
    for (int64_t i = 0; i < 4 * c->points; i++)
        c->numbers[i] = i < 3 * c->points ? uniform() * length : 2 * uniform() - 1;
    return vf_array_create(device, VF_SPACE_DEVICE, VF_F32, c->edge * c->edge * c->edge, &c->out);
}

static vf_status make_coulomb(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    vf_status status = make_atoms(c);
    const vf_coulomb_atoms atoms = atoms_of(c);
    const vf_coulomb_options options = {.scale = 1, .r_min = 0.1, .variant = c->variant};
    VF_TRY(status, vf_coulomb_create(device, &grid, &atoms, &options, (vf_coulomb **)&c->plan));
    return status;
}

static vf_status run_coulomb(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    const vf_box box = vf_grid_box(&grid);
    return vf_coulomb_execute(c->plan, queue, &box, c->out.data);
}

static vf_status make_cutoff(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    vf_status status = make_atoms(c);
    const vf_coulomb_atoms atoms = atoms_of(c);
    const vf_cutoff_options options = {.scale = 1, .r_min = 0.1, .cutoff = 12, .bandwidth = 10};
    VF_TRY(status, vf_cutoff_create(device, &grid, &atoms, &options, (vf_cutoff **)&c->plan));
    return status;
}

static vf_status run_cutoff(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    const vf_box box = vf_grid_box(&grid);
    return vf_cutoff_execute(c->plan, queue, &box, false, c->out.data);
}

static vf_status make_ewald(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    vf_status status = make_atoms(c);
    const vf_coulomb_atoms atoms = atoms_of(c);
    const vf_ewald_options options = {.scale = 1, .r_min = 0.1, .tolerance = 1e-4};
    VF_TRY(status, vf_ewald_create(device, &grid, &atoms, &options, (vf_ewald **)&c->plan));
    return status;
}

static vf_status run_ewald(bench_case *c)
{
    const vf_grid grid = grid_of(c);
    const vf_box box = vf_grid_box(&grid);
    return vf_ewald_execute(c->plan, queue, &box, c->out.data);
}

/* Random samples in k-space, their values, and room for images. */
static vf_status make_samples(bench_case *c, float *k)
{
    const int64_t count = COILS * c->points;
    float *values = room((size_t)count * 2, sizeof *values);
    seed_random();
    for (int64_t i = 0; i < 3 * c->points; i++)
        k[i] = (float)((uniform() - 0.5) * (double)c->edge);
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = (float)(uniform() - 0.5);
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, VF_C64, count, &c->in);
    VF_TRY(status, vf_queue_copy(queue, c->in.data, values, (size_t)count * sizeof(float) * 2));
    VF_TRY(status, vf_queue_sync(queue));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, COILS * c->edge * c->edge * c->edge, &c->out));
    free(values);
    return status;
}

static vf_status make_fourier(bench_case *c)
{
    const double n = (double)c->edge, first = -(double)(c->edge / 2) / n;
    const vf_grid grid = {
        .origin = {first, first, first}, .spacing = {1 / n, 1 / n, 1 / n}, .counts = {c->edge, c->edge, c->edge}};
    float *k = room((size_t)c->points * 3, sizeof *k);
    const vf_fourier_options options = {.precision = VF_F32};
    vf_status status = make_samples(c, k);
    VF_TRY(status, vf_fourier_create(device, &(vf_fourier_samples){.count = c->points, .k = k},
                                     &(vf_fourier_voxels){.grid = &grid}, COILS, &options, (vf_fourier **)&c->plan));
    free(k);
    return status;
}

static vf_status run_fourier(bench_case *c)
{
    return vf_fourier_adjoint(c->plan, queue, COILS, c->in.data, 0, c->edge * c->edge * c->edge, c->out.data);
}

static vf_status make_gridding(bench_case *c)
{
    const int64_t matrix[] = {c->edge, c->edge, c->edge};
    float *k = room((size_t)c->points * 3, sizeof *k);
    const vf_nufft_options options = {.tolerance = 1e-4, .precision = VF_F32};
    vf_status status = make_samples(c, k);
    VF_TRY(status, vf_nufft_create(device, matrix, &(vf_nufft_samples){.count = c->points, .k = k}, COILS, &options,
                                   (vf_nufft **)&c->plan));
    free(k);
    return status;
}

static vf_status run_gridding(bench_case *c)
{
    return vf_nufft_adjoint(c->plan, queue, COILS, c->in.data, c->out.data);
}

/* ---- */

static const struct {
    const char *name;
    double allowed;
    int64_t points, edge; /* on a GPU; SCALE shrinks the edge by its cube root, and the points by itself */
    make_case *make;
    run_case *run;
    void (*destroy)(void *plan);
} cases[] = {
    {"Coulomb sum", 1e-5, 20000, 128, make_coulomb, run_coulomb, (void (*)(void *))vf_coulomb_destroy},
    {"cutoff sum", 1e-4, 200000, 256, make_cutoff, run_cutoff, (void (*)(void *))vf_cutoff_destroy},
    {"Ewald sum", 1e-3, 200000, 256, make_ewald, run_ewald, (void (*)(void *))vf_ewald_destroy},
    {"Fourier sum, adjoint", 1e-4, 100000, 64, make_fourier, run_fourier, (void (*)(void *))vf_fourier_destroy},
    {"gridding, adjoint", 1e-3, 1000000, 128, make_gridding, run_gridding, (void (*)(void *))vf_nufft_destroy},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Seconds on the device, and the first numbers of the result. */
enum { SOME = 4096 };
static double time_case(int number, double scale, float *some)
{
    bench_case c = {.points = (int64_t)(scale * (double)cases[number].points) + 1,
                    .edge = (int64_t)(cbrt(scale) * (double)cases[number].edge) + 8};
    double seconds[RUNS];
    need(vf_queue_create(device, &queue));
    need(cases[number].make(&c));
    for (int run = -1; run < RUNS; run++) {
        const double began = vf_now();
        need(cases[number].run(&c));
        need(vf_queue_sync(queue));
        if (run >= 0)
            seconds[run] = vf_now() - began;
    }
    need(vf_queue_copy(queue, some, c.out.data, SOME * sizeof *some));
    need(vf_queue_sync(queue));
    cases[number].destroy(c.plan);
    vf_array_free(&c.in);
    vf_array_free(&c.out);
    free(c.numbers);
    vf_queue_destroy(queue);
    return median(seconds, RUNS);
}

static bool agree(const float *a, const float *b, double allowed)
{
    double largest = 0, error = 0;
    for (int i = 0; i < SOME; i++) {
        const double e = fabs((double)a[i] - (double)b[i]);
        largest = fmax(largest, fabs((double)b[i]));
        error = e <= error ? error : e; /* also NaN */
    }
    return error <= allowed * largest;
}

int main(int argc, char **argv)
{
    static float some[2][SOME];
    const double scale = argc > 3 ? strtod(argv[2], NULL) : 0;
    if (argc < 4 || argc > 3 + MOST_DEVICES || !(scale > 0 && scale <= 1)) {
        fprintf(stderr, "usage: time_opencl REPORT.json SCALE DEVICE DEVICE...\n");
        return 2;
    }
    const int ended = begin("time_opencl", argv[3], argv[1]);
    if (ended >= 0)
        return ended;
    vf_queue_destroy(queue);
    for (int number = 0; number < CASES; number++) {
        printf("%-22s", cases[number].name);
        vf_report_begin(report, cases[number].name);
        for (int d = 3; d < argc; d++) {
            need(vf_context_set_devices(ctx, argv[d]));
            device = vf_context_device(ctx, 0);
            const double seconds = time_case(number, scale, some[d > 3]);
            const bool right = d == 3 || agree(some[1], some[0], cases[number].allowed);
            failures += !right;
            vf_report_number(report, argv[d], seconds);
            printf("  %s %10.4f ms%s", argv[d], 1e3 * seconds, right ? "" : " WRONG");
            fflush(stdout);
        }
        printf("\n");
        vf_report_end(report);
    }
    queue = NULL;
    return end();
}
