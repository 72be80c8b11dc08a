/* How fast multiplication by a Toeplitz matrix is: time per application, and the shares of the device's ceilings,
 * measured in the same run. Every result is checked at all voxels before it is timed.
 *
 * usage: bench_toeplitz DEVICE [REPORT.json [CASE]]     (CASE: a part of the names of cases; "-" for no report)
 *
 * Operations, counting only the transforms: 5 n log2 n for one of length n, forward and back, for each coil and
 * segment. H = 2 along an axis of more than one voxel, else 1. Two axes lie along x and z.
 *     CPU (toeplitz_cpu.c)
 *           2 (H_z nx ny  5 nz log2 nz  +  H_z nz H_x ny  5 nx log2 nx  +  H_z nz H_x nx H_y  5 ny log2 ny)
 *     GPU (toeplitz_axes.cu, toeplitz_flow.cu)
 *           2 (ny nz  5 H_x nx log2 (H_x nx)  +  H_x nx nz  5 H_y ny log2 (H_y ny)
 *              +  H_x nx H_y ny  5 H_z nz log2 (H_z nz))
 * The ceiling counts a multiply-add as two.
 *
 * Bytes, in units of an image (voxels of 8 or 16 bytes), for each coil and segment, with H = H_x H_y H_z:
 *     CPU   x read, y written (and read first, like every cache line that is written): 3; the map, twice: 2; the
 *           spectrum, 2 images, read and written by enter, read and written by multiply, read by leave: 10; the
 *           kernel: H / 2
 *     GPU   x read, y written, the map twice: 4; the array doubled along x, written and read twice: 4 H_x; in three
 *           dimensions the array doubled along y as well: 4 H_x H_y; the kernel: H / 2. Padding beyond twice the
 *           length (toeplitz_flow.cu) counts as if it were not there. "By" is the design that ran.
 * If caches hold part of that, the share of the copy ceiling may exceed 100 %. */
#include <complex.h>
#include <math.h>

#include "bench_ceilings.h"
#include "bench_device.h"
#include "free_all.h"
#include "toeplitz_backend.h"

enum { SAMPLES = 2, PART = 1024, MOST_RUNS = 201 };

static double flops_ceiling, copy_ceiling; /* operations, bytes per second; 0: unknown */

typedef struct bench_case {
    const char *name;
    int64_t matrix[3];
    int coils, segments;
    vf_dtype precision;
} bench_case;

static const bench_case cases[] = {
    {"128^3, 1 coil", {128, 128, 128}, 1, 1, VF_F32},
    {"128^3, 8 coils", {128, 128, 128}, 8, 1, VF_F32},
    {"128^3, 1 coil, 6 segments", {128, 128, 128}, 1, 6, VF_F32},
    {"128^3, 1 coil, double", {128, 128, 128}, 1, 1, VF_F64},
    {"100x90x96, 4 coils", {100, 90, 96}, 4, 1, VF_F32},
    {"96^3, 8 coils", {96, 96, 96}, 8, 1, VF_F32},
    {"96^3, 2 coils, double", {96, 96, 96}, 2, 1, VF_F64},
    {"80^3, 8 coils", {80, 80, 80}, 8, 1, VF_F32},
    {"160^3, 4 coils", {160, 160, 160}, 4, 1, VF_F32},
    {"192^2, 8 coils", {192, 192, 1}, 8, 1, VF_F32},
    {"110x90x96, 1 coil, double", {110, 90, 96}, 1, 1, VF_F64},
    {"64^3, 8 coils", {64, 64, 64}, 8, 1, VF_F32},
    {"256^2, 8 coils", {256, 256, 1}, 8, 1, VF_F32},
    {"256^2, 1 coil", {256, 256, 1}, 1, 1, VF_F32},
};

/* ---- a problem whose answer is known: Q of a few samples ---- */

typedef struct problem {
    const bench_case *c;
    int64_t doubled[3], voxels, points;
    double k[SAMPLES][3], weight[SAMPLES], time[16];
    float *field;
    double complex *maps, *x, *y; /* y: the answer */
} problem;

/* exp(i 2 pi k.(n - origin) / N) at all points of a grid, as a product of three tables. */
static void wave(const problem *p, int sample, const int64_t counts[3], const int64_t origin[3], double complex *out)
{
    double complex *table[3];
    for (int a = 0; a < 3; a++) {
        table[a] = room((size_t)counts[a], sizeof **table);
        for (int64_t n = 0; n < counts[a]; n++) {
            /* k has few digits: the product and its remainder are exact. */
            double size = (double)p->c->matrix[a], turns = fmod(p->k[sample][a] * (double)(n - origin[a]), size) / size;
            table[a][n] = cexp(I * (2 * M_PI * turns));
        }
    }
    for (int64_t n = 0, z = 0; z < counts[2]; z++)
        for (int64_t y = 0; y < counts[1]; y++)
            for (int64_t x = 0; x < counts[0]; x++, n++)
                out[n] = table[0][x] * table[1][y] * table[2][z];
    for (int a = 0; a < 3; a++)
        free(table[a]);
}

static void make_kernel(const problem *p, double complex *q)
{
    int64_t origin[3];
    double complex *one = room((size_t)p->points, sizeof *one);
    for (int a = 0; a < 3; a++)
        origin[a] = p->c->matrix[a] > 1 ? p->c->matrix[a] : 0;
    memset(q, 0, (size_t)p->points * sizeof *q);
    for (int m = 0; m < SAMPLES; m++) {
        wave(p, m, p->doubled, origin, one);
        for (int64_t n = 0; n < p->points; n++)
            q[n] += p->weight[m] * one[n];
    }
    free(one);
}

static double complex seen(const problem *p, int coil, int segment, int64_t n)
{
    double complex s = p->maps[coil * p->voxels + n];
    return p->field ? s * cexp(-I * (2 * M_PI * p->time[segment] * (double)p->field[n])) : s;
}

/* y = sum conj(s e) sum_m w_m wave_m (wave_m . (s e x)); every segment has the same Q. Summed in parts, so the error
 * of the expected result is below the bar in double precision. */
static void make_answer(const problem *p)
{
    const int64_t origin[3] = {0, 0, 0};
    double complex *one = room((size_t)p->voxels, sizeof *one);
    memset(p->y, 0, (size_t)p->voxels * sizeof *p->y);
    for (int m = 0; m < SAMPLES; m++) {
        wave(p, m, p->c->matrix, origin, one);
        for (int c = 0; c < p->c->coils; c++)
            for (int l = 0; l < p->c->segments; l++) {
                double complex sum = 0;
                for (int64_t first = 0; first < p->voxels; first += PART) {
                    double complex part = 0;
                    for (int64_t n = first; n < first + PART && n < p->voxels; n++)
                        part += conj(one[n]) * seen(p, c, l, n) * p->x[n];
                    sum += part;
                }
                sum *= p->weight[m];
                for (int64_t n = 0; n < p->voxels; n++)
                    p->y[n] += sum * one[n] * conj(seen(p, c, l, n));
            }
    }
    free(one);
}

static double complex *random_vector(int64_t count)
{
    double complex *v = room((size_t)count, sizeof *v);
    for (int64_t n = 0; n < count; n++) {
        double re = uniform_between(-0.5, 0.5);
        v[n] = re + I * uniform_between(-0.5, 0.5);
    }
    return v;
}

static problem make_problem(const bench_case *c)
{
    problem p = {.c = c, .voxels = 1, .points = 1};
    seed_random();
    for (int a = 0; a < 3; a++) {
        p.doubled[a] = c->matrix[a] > 1 ? 2 * c->matrix[a] : 1;
        p.voxels *= c->matrix[a];
        p.points *= p.doubled[a];
    }
    for (int m = 0; m < SAMPLES; m++) {
        p.weight[m] = 1 + uniform_between(-0.5, 0.5);
        for (int a = 0; a < 3; a++)
            p.k[m][a] = rint(1024 * uniform_between(-0.5, 0.5) * (double)c->matrix[a]) / 1024;
    }
    for (int l = 0; l < c->segments; l++)
        p.time[l] = 0.005 * l;
    p.field = c->segments > 1 ? room((size_t)p.voxels, sizeof *p.field) : NULL;
    for (int64_t n = 0; p.field && n < p.voxels; n++)
        p.field[n] = (float)(200 * uniform_between(-0.5, 0.5));
    p.maps = random_vector(c->coils * p.voxels);
    p.x = random_vector(p.voxels);
    p.y = room((size_t)p.voxels, sizeof *p.y);
    make_answer(&p);
    return p;
}

static void free_problem(problem *p)
{
    FREE_ALL(p->field, p->maps, p->x, p->y);
}

/* ---- the device's side ---- */

static vf_array upload(vf_dtype precision, int64_t count, const double complex *values)
{
    vf_array host, there;
    need(vf_array_create(device, VF_SPACE_PINNED, vf_dtype_complex(precision), count, &host));
    need(vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(precision), count, &there));
    for (int64_t n = 0; n < count; n++)
        if (precision == VF_F64)
            ((double complex *)host.data)[n] = values[n];
        else
            ((float complex *)host.data)[n] = (float complex)values[n];
    need(vf_array_copy(queue, &there, &host, count));
    need(vf_queue_sync(queue));
    vf_array_free(&host);
    return there;
}

/* |y - answer| / |answer| */
static double relative_error(const problem *p, const vf_array *y)
{
    vf_array host;
    double wrong = 0, size = 0;
    need(vf_array_create(device, VF_SPACE_PINNED, y->type, y->count, &host));
    need(vf_array_copy(queue, &host, y, y->count));
    need(vf_queue_sync(queue));
    for (int64_t n = 0; n < p->voxels; n++) {
        double complex v =
            y->type == VF_C128 ? ((double complex *)host.data)[n] : (double complex)((float complex *)host.data)[n];
        double off = cabs(v - p->y[n]), is = cabs(p->y[n]);
        wrong += off * off;
        size += is * is;
    }
    vf_array_free(&host);
    return sqrt(wrong / size);
}

static double transforms(double count, int64_t n)
{
    return count * 5 * (double)n * log2((double)n);
}

/* See the head of the file. */
static double operations(const bench_case *c)
{
    bool flat = c->matrix[2] == 1;
    int64_t nx = c->matrix[0], ny = flat ? 1 : c->matrix[1], nz = c->matrix[flat ? 1 : 2];
    double hx = nx > 1 ? 2 : 1, hy = ny > 1 ? 2 : 1, hz = nz > 1 ? 2 : 1, x = (double)nx, y = (double)ny,
           z = (double)nz;
    double sum = transforms(hz * x * y, nz) + transforms(hz * z * hx * y, nx) + transforms(hz * z * hx * x * hy, ny);
    if (!vf_device_is_host(device))
        sum = transforms(y * z, 2 * nx) + transforms(hx * x * z, (int64_t)hy * ny) +
              transforms(hx * x * hy * y, (int64_t)hz * nz);
    return 2 * sum * c->coils * c->segments;
}

static double bytes_moved(const bench_case *c)
{
    bool flat = c->matrix[2] == 1;
    double image = (double)(c->matrix[0] * c->matrix[1] * c->matrix[2]) * (c->precision == VF_F64 ? 16 : 8);
    double h = flat ? 4 : 8;
    double units = vf_device_is_host(device) ? 5 + 2 * 5 + h / 2 : 4 + 4 * 2 + (flat ? 0 : 4 * 4) + h / 2;
    return units * image * c->coils * c->segments;
}

static void note(const bench_case *c, double took, int runs, double error, const vf_toeplitz *plan)
{
    const int64_t memory = vf_toeplitz_bytes(plan);
    bool wrong = !(error <= (c->precision == VF_F64 ? 2e-14 : 3e-6));
    double flops = operations(c) / took, bytes = bytes_moved(c) / took;
    failures += wrong;
    bool known = flops_ceiling > 0 && c->precision == VF_F32;
    printf("%-26s %6s %10.3f ms  %8.1f GFLOP/s", c->name, c->precision == VF_F64 ? "double" : "single", 1e3 * took,
           1e-9 * flops);
    if (known)
        printf(" (%4.1f %%)", 100 * flops / flops_ceiling);
    printf("  %7.1f GB/s (%4.1f %%)  %6.1f MB  error %.1e%s%s%s\n", 1e-9 * bytes, 100 * bytes / copy_ceiling,
           1e-6 * (double)memory, error, plan->design ? "  by " : "", plan->design ? plan->design : "",
           wrong ? "  WRONG" : "");
    vf_report_begin(report, c->name);
    vf_report_text(report, "precision", c->precision == VF_F64 ? "double" : "single");
    vf_report_integers(report, "matrix", c->matrix, 3);
    vf_report_integer(report, "coils", c->coils);
    vf_report_integer(report, "segments", c->segments);
    vf_report_number(report, "seconds", took);
    if (plan->design)
        vf_report_text(report, "design", plan->design);
    vf_report_integer(report, "runs", runs);
    vf_report_number(report, "operations_per_second", flops);
    if (known)
        vf_report_number(report, "share_of_multiply_add_ceiling", flops / flops_ceiling);
    vf_report_number(report, "bytes_per_second", bytes);
    vf_report_number(report, "share_of_copy_ceiling", bytes / copy_ceiling);
    vf_report_integer(report, "plan_bytes", memory);
    vf_report_number(report, "relative_error", error);
    vf_report_end(report);
}

static void run_case(const bench_case *c)
{
    double seconds[MOST_RUNS];
    problem p = make_problem(c);
    vf_toeplitz_options options = {
        .precision = c->precision, .segments = c->segments, .time = p.field ? p.time : NULL, .field = p.field};
    vf_toeplitz *plan;
    need(vf_toeplitz_create(device, c->matrix, &options, &plan));
    double complex *kernel = room((size_t)p.points, sizeof *kernel);
    make_kernel(&p, kernel);
    for (int l = 0; l < c->segments; l++) {
        vf_array q = upload(c->precision, p.points, kernel);
        need(vf_toeplitz_set(plan, queue, l, q.data));
        need(vf_queue_sync(queue));
        vf_array_free(&q);
    }
    free(kernel);
    vf_array maps = upload(c->precision, c->coils * p.voxels, p.maps), x = upload(c->precision, p.voxels, p.x);
    vf_array y = upload(c->precision, p.voxels, p.x);
    need(vf_toeplitz_apply(plan, queue, c->coils, maps.data, x.data, y.data));
    double error = relative_error(&p, &y);
    int runs = 0;
    for (double spent = 0; (runs < 5 || spent < 1) && runs < MOST_RUNS; runs++) {
        double began = vf_now();
        need(vf_toeplitz_apply(plan, queue, c->coils, maps.data, x.data, y.data));
        need(vf_queue_sync(queue));
        seconds[runs] = vf_now() - began;
        spent += seconds[runs];
    }
    note(c, median(seconds, runs), runs, error, plan);
    vf_array_free(&maps);
    vf_array_free(&x);
    vf_array_free(&y);
    vf_toeplitz_destroy(plan);
    free_problem(&p);
}

int main(int argc, char **argv)
{
    int ended =
        begin("bench_toeplitz", argc > 1 ? argv[1] : "cpu", argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    copy_ceiling = copy_speed();
    printf("%s: %s, copy %.1f GB/s", vf_device_spec(device), vf_device_name(device), 1e-9 * copy_ceiling);
    if (vf_device_is_host(device)) {
        flops_ceiling = 2 * bench_ceiling_fma(vf_context_threads(ctx));
        vf_report_integer(report, "threads", vf_context_threads(ctx));
        vf_report_number(report, "multiply_adds_per_second", flops_ceiling / 2);
        printf(", %d threads, %s, %.1f G multiply-adds/s", vf_context_threads(ctx), vf_isa_name(vf_cpu_isa()),
               0.5e-9 * flops_ceiling);
    }
    printf("\n");
    vf_report_number(report, "copy_bytes_per_second", copy_ceiling);
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        if (argc < 4 || strstr(cases[c].name, argv[3]))
            run_case(&cases[c]);
    return end();
}
