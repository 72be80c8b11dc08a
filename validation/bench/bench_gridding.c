/* How fast the NUFFT is: both directions for a koosh-ball scan, by tolerance, each checked against the exact sum at
 * some outputs before it is timed.
 *
 * usage: bench_gridding DEVICE [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]     (2156, 132, 128)
 *
 * Counts: a sample's kernel covers width^3 grid points, 4 floating-point operations each (a complex number times a real
 * weight, added), and rather fewer for its 3 width values; the transform 5 G log2(G) for G grid points, of which the
 * pruned passes on a CPU do about half. "rate" is samples a second of the whole operator.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "voxfield/timer.h"

static vf_context *ctx;
static vf_device *device;
static vf_queue *queue;
static int failures;

static void die(void)
{
    fprintf(stderr, "bench_gridding: %s\n", vf_context_message(ctx));
    exit(1);
}

static void must(vf_status status)
{
    if (status != VF_OK)
        die();
}

typedef struct scan {
    int64_t matrix[3], samples;
    float *k;
} scan;

/* Spokes through the centre, their ends on a spiral over the sphere. */
static scan koosh_ball(int64_t spokes, int64_t a_spoke, int64_t matrix)
{
    scan s = {.matrix = {matrix, matrix, matrix}, .samples = spokes * a_spoke};
    s.k = malloc((size_t)s.samples * 3 * sizeof *s.k);
    if (!s.k)
        exit(1);
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
    vf_array c, x, y, d; /* input of both directions and their outputs, on the device */
    vf_array host_c, host_x, host_y, host_d;
} vectors;

static double part(const vf_array *a, int64_t i)
{
    return a->type == VF_C128 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

static void fill(vf_array *a)
{
    for (int64_t i = 0; i < 2 * a->count; i++) {
        float v = (float)rand() / (float)RAND_MAX - 0.5f;
        if (a->type == VF_C128)
            ((double *)a->data)[i] = v;
        else
            ((float *)a->data)[i] = v;
    }
}

static vectors make_vectors(const scan *s, vf_dtype type)
{
    vectors v = {0};
    int64_t voxels = s->matrix[0] * s->matrix[1] * s->matrix[2];
    vf_array *all[] = {&v.c, &v.d, &v.x, &v.y, &v.host_c, &v.host_d, &v.host_x, &v.host_y};
    for (int i = 0; i < 8; i++)
        must(vf_array_create(device, i < 4 ? VF_SPACE_DEVICE : VF_SPACE_PINNED, type, i % 4 < 2 ? s->samples : voxels,
                             all[i]));
    fill(&v.host_c);
    fill(&v.host_x);
    must(vf_array_copy(queue, &v.c, &v.host_c, s->samples));
    must(vf_array_copy(queue, &v.x, &v.host_x, voxels));
    return v;
}

static void free_vectors(vectors *v)
{
    vf_array *all[] = {&v->c, &v->d, &v->x, &v->y, &v->host_c, &v->host_d, &v->host_x, &v->host_y};
    for (int i = 0; i < 8; i++)
        vf_array_free(all[i]);
}

/* One exact output: voxel n of the adjoint, or sample m of the forward sum. */
static void exact(const scan *s, const vf_array *in, bool adjoint, int64_t output, double sum[2])
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

/* Relative to the outputs' root mean square, over some outputs. */
static double error_of(const scan *s, const vf_array *in, const vf_array *out, bool adjoint)
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

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_seconds(vf_nufft *plan, const vectors *v, bool adjoint)
{
    enum { RUNS = 7 };
    double seconds[RUNS];
    for (int i = -1; i < RUNS; i++) {
        double start = vf_now();
        must(adjoint ? vf_nufft_adjoint(plan, queue, 1, v->c.data, v->y.data)
                     : vf_nufft_forward(plan, queue, 1, v->x.data, v->d.data));
        must(vf_queue_sync(queue));
        if (i >= 0)
            seconds[i] = vf_now() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, by_size);
    return seconds[RUNS / 2];
}

static void bench(const scan *s, double tolerance, vf_dtype precision, double oversampling)
{
    vf_nufft *plan = NULL;
    vf_nufft_info info;
    vf_nufft_samples samples = {.count = s->samples, .k = s->k};
    vf_nufft_options options = {.tolerance = tolerance, .precision = precision, .oversampling = oversampling};
    vectors v = make_vectors(s, vf_dtype_complex(precision));
    double start = vf_now();
    must(vf_nufft_create(device, s->matrix, &samples, 1, &options, &plan));
    double plan_seconds = vf_now() - start;
    vf_nufft_get_info(plan, &info);
    double adjoint = median_seconds(plan, &v, true), forward = median_seconds(plan, &v, false);
    must(vf_array_copy(queue, &v.host_y, &v.y, v.y.count));
    must(vf_array_copy(queue, &v.host_d, &v.d, v.d.count));
    must(vf_queue_sync(queue));
    double back = error_of(s, &v.host_c, &v.host_y, true), forth = error_of(s, &v.host_x, &v.host_d, false);
    double points = (double)info.grid[0] * (double)info.grid[1] * (double)info.grid[2];
    double operations = 4 * pow(info.width, 3) * (double)s->samples + 5 * points * log2(points);
    printf("%6g %s %5.2f  %4lld^3  %2d  plan %6.1f ms  adjoint %7.2f ms  forward %7.2f ms  %6.2f M samples/s  %6.1f "
           "GFLOP/s  %6.1f MB  error %.1e %.1e\n",
           tolerance, precision == VF_F64 ? "double" : "single", oversampling, (long long)info.grid[0], info.width,
           1e3 * plan_seconds, 1e3 * adjoint, 1e3 * forward, (double)s->samples / adjoint / 1e6,
           operations / adjoint / 1e9, (double)info.bytes / 1e6, back, forth);
    /* Twelve outputs scatter about the root mean square: three times the tolerance is wrong by any measure. Rounding:
     * test_gridding.c. */
    double allowed = 3 * tolerance + (precision == VF_F64 ? 1e-13 : 4e-6);
    if (!(back <= allowed) || !(forth <= allowed)) {
        printf("FAIL: errors beyond %g\n", allowed);
        failures++;
    }
    vf_nufft_destroy(plan);
    free_vectors(&v);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_gridding DEVICE [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]\n");
        return 2;
    }
    must(vf_context_create(&ctx));
    if (vf_context_set_devices(ctx, argv[1]) != VF_OK) {
        printf("SKIP: %s\n", vf_context_message(ctx));
        vf_context_destroy(ctx);
        return 77;
    }
    device = vf_context_device(ctx, 0);
    must(vf_queue_create(device, &queue));
    int64_t spokes = argc > 2 ? atoll(argv[2]) : 2156, a_spoke = argc > 3 ? atoll(argv[3]) : 132;
    int64_t matrix = argc > 4 ? atoll(argv[4]) : 128;
    scan s = koosh_ball(spokes, a_spoke, matrix);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s, %d threads; %lld samples, %lld^3 voxels\n", vf_device_name(device), vf_context_threads(ctx),
           (long long)s.samples, (long long)matrix);
    for (int digits = 2; digits <= 6; digits++)
        bench(&s, pow(10, -digits), VF_F32, 0);
    bench(&s, 1e-3, VF_F32, 1.25);
    bench(&s, 1e-5, VF_F32, 2);
    bench(&s, 1e-9, VF_F64, 0);
    free(s.k);
    vf_queue_destroy(queue);
    vf_context_destroy(ctx);
    return failures ? 1 : 0;
}
