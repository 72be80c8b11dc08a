/* How fast the NUFFT is: both directions for a koosh-ball scan, by tolerance. Each is checked against the exact sum
 * at some outputs before it is timed.
 *
 * usage: bench_gridding DEVICE [REPORT.json [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]]     (none, 2156, 132, 128)
 *
 * Counts: a sample's kernel covers width^3 grid points, with 4 floating-point operations each (a complex number
 * times a real weight, added), and fewer for its 3 width values. The transform takes 5 G log2(G) for G grid points;
 * the pruned passes on a CPU do about half of that. "rate" is samples per second of the whole operator.
 */
#include <math.h>

#include "bench_device.h"
#include "gridding.h"
#include "voxfield/append.h"

enum { RUNS = 7 };

typedef struct mri_scan {
    int64_t matrix[3], samples;
    float *k;
} mri_scan;

/* Spokes through the centre, with their ends on a spiral over the sphere. */
static mri_scan koosh_ball(int64_t spokes, int64_t a_spoke, int64_t matrix)
{
    mri_scan s = {.matrix = {matrix, matrix, matrix}, .samples = spokes * a_spoke};
    s.k = room((size_t)s.samples * 3, sizeof *s.k);
    for (int64_t i = 0; i < spokes; i++) {
        double z = 1 - (2 * (double)i + 1) / (double)spokes, angle = 2.399963229728653 * (double)i;
        double direction[3] = {sqrt(1 - z * z) * cos(angle), sqrt(1 - z * z) * sin(angle), z};
        for (int64_t j = 0; j < a_spoke; j++)
            for (int a = 0; a < 3; a++)
                s.k[3 * (i * a_spoke + j) + a] =
                    (float)(direction[a] * ((double)j / (double)a_spoke - 0.5) * (double)matrix);
    }
    return s;
}

typedef struct vectors {
    vf_array c, x, y, d; /* input and output of both directions, on the device */
    vf_array host_c, host_x, host_y, host_d;
} vectors;

static double part(const vf_array *a, int64_t i)
{
    return a->type == VF_C128 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

static void fill(vf_array *a)
{
    for (int64_t i = 0; i < 2 * a->count; i++) {
        float v = (float)uniform_between(-0.5, 0.5);
        if (a->type == VF_C128)
            ((double *)a->data)[i] = v;
        else
            ((float *)a->data)[i] = v;
    }
}

static vectors make_vectors(const mri_scan *s, vf_dtype type)
{
    vectors v = {0};
    int64_t voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    vf_array *all[] = {&v.c, &v.d, &v.x, &v.y, &v.host_c, &v.host_d, &v.host_x, &v.host_y};
    for (int i = 0; i < 8; i++)
        need(vf_array_create(device, i < 4 ? VF_SPACE_DEVICE : VF_SPACE_PINNED, type, i % 4 < 2 ? s->samples : voxels,
                             all[i]));
    fill(&v.host_c);
    fill(&v.host_x);
    need(vf_array_copy(queue, &v.c, &v.host_c, s->samples));
    need(vf_array_copy(queue, &v.x, &v.host_x, voxels));
    return v;
}

static void free_vectors(vectors *v)
{
    vf_array *all[] = {&v->c, &v->d, &v->x, &v->y, &v->host_c, &v->host_d, &v->host_x, &v->host_y};
    for (int i = 0; i < 8; i++)
        vf_array_free(all[i]);
}

/* One exact output: voxel n of the adjoint, or sample m of the forward sum. */
static void exact(const mri_scan *s, const vf_array *in, bool adjoint, int64_t output, double sum[2])
{
    int64_t terms = adjoint ? s->samples : s->matrix[0] * s->matrix[1] * s->matrix[2];
    sum[0] = sum[1] = 0;
    for (int64_t i = 0; i < terms; i++) {
        int64_t m = adjoint ? i : output, n = adjoint ? output : i;
        double turns = 0;
        for (int a = 0; a < 3; a++) {
            turns += (double)s->k[3 * m + a] * (double)(n % s->matrix[a] - s->matrix[a] / 2) / (double)s->matrix[a];
            n /= s->matrix[a];
        }
        double c = cos(2 * M_PI * turns), e = (adjoint ? 1 : -1) * sin(2 * M_PI * turns);
        sum[0] += part(in, 2 * i) * c - part(in, 2 * i + 1) * e;
        sum[1] += part(in, 2 * i) * e + part(in, 2 * i + 1) * c;
    }
}

/* Error relative to the outputs' root mean square, at some outputs. */
static double error_of(const mri_scan *s, const vf_array *in, const vf_array *out, bool adjoint)
{
    enum { OUTPUTS = 12 };
    double squares = 0, error = 0, sum[2];
    for (int64_t i = 0; i < 2 * out->count; i++)
        squares += part(out, i) * part(out, i) / (double)out->count;
    for (int i = 0; i < OUTPUTS; i++) {
        int64_t n = (int64_t)((double)out->count * (i + 0.37) / OUTPUTS);
        exact(s, in, adjoint, n, sum);
        error += (pow(part(out, 2 * n) - sum[0], 2) + pow(part(out, 2 * n + 1) - sum[1], 2)) / OUTPUTS;
    }
    return sqrt(error / squares);
}

static double median_seconds(vf_nufft *plan, const vectors *v, bool adjoint)
{
    double seconds[RUNS];
    for (int i = -1; i < RUNS; i++) {
        double start = vf_now();
        need(adjoint ? vf_nufft_adjoint(plan, queue, 1, v->c.data, v->y.data)
                     : vf_nufft_forward(plan, queue, 1, v->x.data, v->d.data));
        need(vf_queue_sync(queue));
        if (i >= 0)
            seconds[i] = vf_now() - start;
    }
    return median(seconds, RUNS);
}

typedef struct bench_case {
    double tolerance, oversampling; /* oversampling 0: the plan's choice */
    vf_dtype precision;
} bench_case;

static const bench_case cases[] = {
    {1e-2, 0, VF_F32}, {1e-3, 0, VF_F32},    {1e-4, 0, VF_F32}, {1e-5, 0, VF_F32},
    {1e-6, 0, VF_F32}, {1e-3, 1.25, VF_F32}, {1e-5, 2, VF_F32}, {1e-9, 0, VF_F64},
};

typedef struct bench_result {
    vf_nufft_info info;
    double plan_seconds, operations;
    double seconds[2], error[2]; /* adjoint, forward */
} bench_result;

/* Three times the tolerance would be wrong by any measure, even though twelve outputs scatter about the root mean
 * square. Rounding: test_gridding.c. */
static double allowed_error(const bench_case *c)
{
    return 3 * c->tolerance + (c->precision == VF_F64 ? 1e-13 : 4e-6);
}

static void report_direction(const mri_scan *s, const bench_case *c, const bench_result *r, int direction)
{
    const char *name = direction == 0 ? "adjoint" : "forward",
               *precision = c->precision == VF_F64 ? "double" : "single";
    char key[96];
    snprintf(key, sizeof key, "%g, %s, ", c->tolerance, precision);
    if (c->oversampling > 0)
        vf_append(key, sizeof key, "oversampling %g, ", c->oversampling);
    vf_append(key, sizeof key, "%s", name);
    vf_report_begin(report, key);
    vf_report_text(report, "direction", name);
    vf_report_text(report, "precision", precision);
    vf_report_number(report, "tolerance", c->tolerance);
    if (c->oversampling > 0)
        vf_report_number(report, "oversampling", c->oversampling);
    vf_report_integers(report, "grid", r->info.grid, 3);
    vf_report_integer(report, "width", r->info.width);
    vf_report_integer(report, "plan_bytes", r->info.bytes);
    vf_report_number(report, "plan_milliseconds", 1e3 * r->plan_seconds);
    vf_report_number(report, "milliseconds", 1e3 * r->seconds[direction]);
    vf_report_integer(report, "runs", RUNS);
    vf_report_number(report, "samples_per_second", (double)s->samples / r->seconds[direction]);
    vf_report_number(report, "gflop", 1e-9 * r->operations);
    vf_report_number(report, "gflop_per_second", 1e-9 * r->operations / r->seconds[direction]);
    vf_report_number(report, "relative_error", r->error[direction]);
    vf_report_number(report, "allowed_error", allowed_error(c));
    vf_report_end(report);
}

static void note(const mri_scan *s, const bench_case *c, const bench_result *r)
{
    bool wrong = !(r->error[0] <= allowed_error(c)) || !(r->error[1] <= allowed_error(c));
    failures += wrong;
    printf("%6g %s %5.2f  %4lld^3  %2d  plan %6.1f ms  adjoint %7.2f ms  forward %7.2f ms  %6.2f M samples/s  %6.1f "
           "GFLOP/s  %6.1f MB  error %.1e %.1e%s\n",
           c->tolerance, c->precision == VF_F64 ? "double" : "single", c->oversampling, (long long)r->info.grid[0],
           r->info.width, 1e3 * r->plan_seconds, 1e3 * r->seconds[0], 1e3 * r->seconds[1],
           (double)s->samples / r->seconds[0] / 1e6, r->operations / r->seconds[0] / 1e9, (double)r->info.bytes / 1e6,
           r->error[0], r->error[1], wrong ? "  WRONG" : "");
    report_direction(s, c, r, 0);
    report_direction(s, c, r, 1);
}

static void run_case(const mri_scan *s, const bench_case *c)
{
    bench_result r;
    vf_nufft *plan = NULL;
    vf_nufft_samples samples = {.count = s->samples, .k = s->k};
    vf_nufft_options options = {.tolerance = c->tolerance, .precision = c->precision, .oversampling = c->oversampling};
    vectors v = make_vectors(s, vf_dtype_complex(c->precision));
    double start = vf_now();
    need(vf_nufft_create(device, s->matrix, &samples, 1, &options, &plan));
    r.plan_seconds = vf_now() - start;
    vf_nufft_get_info(plan, &r.info);
    r.seconds[0] = median_seconds(plan, &v, true);
    r.seconds[1] = median_seconds(plan, &v, false);
    need(vf_array_copy(queue, &v.host_y, &v.y, v.y.count));
    need(vf_array_copy(queue, &v.host_d, &v.d, v.d.count));
    need(vf_queue_sync(queue));
    r.error[0] = error_of(s, &v.host_c, &v.host_y, true);
    r.error[1] = error_of(s, &v.host_x, &v.host_d, false);
    double points = (double)r.info.grid[0] * (double)r.info.grid[1] * (double)r.info.grid[2];
    r.operations = 4 * pow(r.info.width, 3) * (double)s->samples + 5 * points * log2(points);
    note(s, c, &r);
    vf_nufft_destroy(plan);
    free_vectors(&v);
}

int main(int argc, char **argv)
{
    int64_t spokes = argc > 3 ? whole_number(argv[3], 1000000) : 2156;
    int64_t a_spoke = argc > 4 ? whole_number(argv[4], 10000) : 132,
            matrix = argc > 5 ? whole_number(argv[5], 1024) : 128;
    if (argc < 2 || argc > 6 || !spokes || !a_spoke || matrix < 2) {
        fprintf(stderr, "usage: bench_gridding DEVICE [REPORT.json [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]]\n"
                        "SPOKES: 1 to 1000000, SAMPLES_A_SPOKE: 1 to 10000, MATRIX: 2 to 1024\n");
        return 2;
    }
    int ended = begin("bench_gridding", argv[1], argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    mri_scan s = koosh_ball(spokes, a_spoke, matrix);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s, %d threads; %lld samples, %lld^3 voxels\n", vf_device_name(device), vf_context_threads(ctx),
           (long long)s.samples, (long long)matrix);
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_integer(report, "samples", s.samples);
    vf_report_integers(report, "matrix", s.matrix, 3);
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        run_case(&s, &cases[c]);
    free(s.k);
    return end();
}
