/* How fast transforms of lines side by side are (fft_lanes.h), beside FFTW's of as many contiguous rows, on one thread. Both
 * forward and back, in place, in the cache; frequencies are compared before anything is timed.
 *
 * usage: bench_fft_lanes cpu [REPORT.json]
 *
 * Operations: 5 n log2 n for each transform of n points, as is usual; radices 4 and 8 need about 4.2. The ceiling is that of
 * multiply-adds in registers, two operations each. */
#include <math.h>

#include "backend/fft_lanes.h"
#include "bench_ceilings.h"
#include "bench_device.h"
#include "voxfield/fft.h"

enum { ROUNDS = 15, POINTS = 1 << 22 }; /* of all transforms of a round */

static const int64_t lengths[] = {48, 64, 90, 96, 100, 128, 160, 192, 216, 256, 320, 512, 1024, 2048};

typedef struct lines {
    vf_dtype precision;
    int64_t n;
    int lanes;
    fft_lanes *side;
    vf_fft_rows *rows;
    void *a, *b; /* [n][re, im][lanes]; [lanes][n] */
} lines;

static void put(const lines *l, void *to, int64_t at, double value)
{
    if (l->precision == VF_F64)
        ((double *)to)[at] = value;
    else
        ((float *)to)[at] = (float)value;
}

static double get(const lines *l, const void *from, int64_t at)
{
    return l->precision == VF_F64 ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

static void transform(const lines *l, bool side, vf_fft_direction direction)
{
    if (!side)
        vf_fft_rows_execute(l->rows, direction, l->b);
    else if (direction == VF_FFT_FORWARD)
        fft_lanes_forward(l->side, l->a);
    else
        fft_lanes_backward(l->side, l->a);
}

static void fill_both(const lines *l)
{
    for (int64_t p = 0; p < l->n; p++)
        for (int part = 0; part < 2; part++)
            for (int lane = 0; lane < l->lanes; lane++) {
                const double value = 2 * uniform() - 1;
                put(l, l->a, (2 * p + part) * l->lanes + lane, value);
                put(l, l->b, 2 * (lane * l->n + p) + part, value);
            }
}

/* The largest difference of a frequency, relative to their root mean square, sqrt(2 n / 3). */
static double difference(const lines *l)
{
    double most = 0;
    for (int64_t p = 0; p < l->n; p++)
        for (int part = 0; part < 2; part++)
            for (int lane = 0; lane < l->lanes; lane++) {
                const double d = get(l, l->a, (2 * p + part) * l->lanes + lane) -
                                 get(l, l->b, 2 * (lane * l->n + l->side->order[p]) + part);
                most = fabs(d) <= most ? most : fabs(d); /* a NaN stays */
            }
    return most / sqrt(2 * (double)l->n / 3);
}

/* Seconds of a transform of all lines: the median of rounds, each of pairs there and back. */
static double seconds_of(const lines *l, bool side)
{
    const int64_t pairs = POINTS / (l->n * l->lanes);
    const double scale = 1 / (double)l->n;
    double seconds[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        const double began = vf_now();
        for (int64_t i = 0; i < pairs; i++) {
            transform(l, side, VF_FFT_FORWARD);
            transform(l, side, VF_FFT_BACKWARD);
            for (int64_t k = 0; i % 8 == 7 && k < 2 * l->n * l->lanes;
                 k++) /* numbers stay finite: a few per cent of the time */
                put(l, side ? l->a : l->b, k, get(l, side ? l->a : l->b, k) * pow(scale, 8));
        }
        seconds[r] = (vf_now() - began) / (double)(2 * pairs);
    }
    return median(seconds, ROUNDS);
}

static void run_case(vf_dtype precision, int64_t n, double ceiling)
{
    lines l = {.precision = precision, .n = n};
    const double eps = precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    need(fft_lanes_create(ctx, precision, n, &l.side));
    l.lanes = l.side->simd->lanes;
    need(vf_fft_rows_create(ctx, vf_dtype_complex(precision), n, l.lanes, &l.rows));
    const size_t bytes = ((size_t)(2 * n * l.lanes) * vf_dtype_bytes(precision) + 63) / 64 * 64;
    l.a = aligned_alloc(64, bytes);
    l.b = aligned_alloc(64, bytes);
    if (!l.a || !l.b)
        exit(1);
    fill_both(&l);
    transform(&l, true, VF_FFT_FORWARD);
    transform(&l, false, VF_FFT_FORWARD);
    /* Two transforms, each within about log2 n eps of the root mean square, at 8 of these. */
    const double error = difference(&l), allowed = 16 * log2((double)n) * eps;
    fill_both(&l);
    const double side = seconds_of(&l, true), rows = seconds_of(&l, false);
    const double operations = 5 * (double)n * log2((double)n) * l.lanes;
    const bool wrong = !(error <= allowed);
    failures += wrong;
    printf("%5lld %s  side by side %6.1f GFLOP/s (%4.1f %%)  FFTW's rows %6.1f GFLOP/s  %.2f times as fast  error "
           "%.1e%s\n",
           (long long)n, precision == VF_F64 ? "double" : "single", 1e-9 * operations / side,
           50 * operations / side / ceiling, 1e-9 * operations / rows, rows / side, error, wrong ? "  WRONG" : "");
    char key[64];
    snprintf(key, sizeof key, "%lld, %s", (long long)n, precision == VF_F64 ? "double" : "single");
    vf_report_begin(report, key);
    vf_report_number(report, "operations_per_second", operations / side);
    vf_report_number(report, "share_of_multiply_add_ceiling", operations / side / ceiling / 2);
    vf_report_number(report, "operations_per_second_of_rows", operations / rows);
    vf_report_number(report, "relative_error", error);
    vf_report_end(report);
    free(l.a);
    free(l.b);
    fft_lanes_destroy(l.side);
    vf_fft_rows_destroy(l.rows);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: bench_fft_lanes cpu [REPORT.json]\n");
        return 2;
    }
    const int ended = begin("bench_fft_lanes", argv[1], argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    const double ceiling = bench_ceiling_fma(1);
    printf("%s, one thread, %.1f G multiply-adds/s in single precision\n", vf_device_name(device), 1e-9 * ceiling);
    vf_report_begin(report, "cases");
    for (int precision = 0; precision < 2; precision++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            run_case(precision ? VF_F64 : VF_F32, lengths[i], precision ? ceiling / 2 : ceiling);
    return end();
}
