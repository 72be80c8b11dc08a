/* Wavelet transforms of images on random grids, the library's results (between guards), and the allowed errors.
 *
 * The bound, in the l2 norm. One level along one axis computes each number as a sum of `taps` products with rounded
 * coefficients. Its error is at most (taps + 1) u sum |h_k v_k|, where u is the unit roundoff (2^-24 or 2^-53). The
 * matrix of absolute values |h_k| has row and column sums of at most sqrt(taps), because a filter has the norm 1, so
 * its norm is at most sqrt(taps). All further levels are unitary. With a transform of `passes` levels and axes in
 * total,
 *
 *     |error| <= passes (taps + 1) sqrt(taps) u |v| = E |v|,
 *
 * plus 1 % for second-order terms, and 4 u |c| for a threshold and the rounding of a result. The error of every
 * single number is at most that, too. */
#ifndef WAVELET_FIXTURE_H
#define WAVELET_FIXTURE_H

#include "kernels/toeplitz/toeplitz_fixture.h"
#include "queue_fixture.h"
#include "wavelet.h"

/* ---- a plan under test ---- */

typedef struct subject {
    vf_wavelet *plan;
    vf_wavelet_options options;
    int64_t padded[3], coarse[3], numbers, voxels, shift[3];
    int levels[3];
    double error; /* E */
} subject;

static inline subject open_plan(const vf_wavelet_options *options)
{
    subject s = {.options = *options, .numbers = 1, .voxels = 1};
    int passes = 0;
    need(vf_wavelet_create(device, options, &s.plan));
    vf_wavelet_padded(s.plan, s.padded);
    vf_wavelet_coarse(s.plan, s.coarse);
    vf_wavelet_levels(s.plan, s.levels);
    for (int a = 0; a < 3; a++) {
        s.numbers *= s.padded[a];
        s.voxels *= options->counts[a];
        s.shift[a] = integer_below(4 * s.padded[a]) - 2 * s.padded[a];
        passes += s.levels[a];
    }
    const double taps = 2.0 * options->moments;
    s.error = 1.01 * passes * (taps + 1) * sqrt(taps) * roundoff(options->precision);
    return s;
}

static vf_wavelet_options random_options(int i)
{
    /* Sizes near the block sizes of the backends, then random ones. */
    static const int64_t grids[][3] = {{1, 1, 1},    {1, 300, 1},  {1, 1, 90},  {257, 1, 1},  {2, 3, 1},
                                       {20, 150, 1}, {9, 140, 70}, {70, 9, 67}, {130, 67, 1}, {31, 33, 16}};
    enum { GRIDS = sizeof grids / sizeof *grids };
    vf_wavelet_options o = {.precision = uniform() < 0.5 || !has_precision(VF_F64) ? VF_F32 : VF_F64,
                            .moments = 1 + (int)integer_below(4),
                            .levels = (int)integer_below(7)};
    for (int a = 0; a < 3; a++)
        o.counts[a] = i < GRIDS ? grids[i][a] : 1 + integer_below(uniform() < 0.3 ? 6 : 45);
    return o;
}

static const char *text_of(const subject *s)
{
    static char text[200];
    snprintf(text, sizeof text, "%s, %lld x %lld x %lld, %d moments, %d levels, %s",
             s->options.variant ? s->options.variant : "default", (long long)s->options.counts[0],
             (long long)s->options.counts[1], (long long)s->options.counts[2], s->options.moments, s->options.levels,
             vf_dtype_name(s->options.precision));
    return text;
}

static inline double complex *random_image(int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++) {
        v[n] = rounded(VF_F32, random_complex()); /* exact in both precisions */
    }
    return v;
}

typedef enum action { PAD, CROP, FORWARD, ADJOINT, THRESHOLD, THRESHOLD_IN_PLACE } action;

/* The library's result for `from`, between guards. */
static inline void carry_out(const subject *s, action what, double threshold, const double complex *from,
                             double complex *to)
{
    const int64_t inputs = what == PAD ? s->voxels : s->numbers, outputs = what == CROP ? s->voxels : s->numbers;
    guarded in = upload(queue, s->options.precision, inputs, from),
            out = upload(queue, s->options.precision, outputs, NULL);
    double complex *same = room(inputs, sizeof *same);
    if (what == PAD)
        need(vf_wavelet_pad(s->plan, queue, in.data, out.data));
    else if (what == CROP)
        need(vf_wavelet_crop(s->plan, queue, in.data, out.data));
    else if (what == FORWARD)
        need(vf_wavelet_forward(s->plan, queue, s->shift, in.data, out.data));
    else if (what == ADJOINT)
        need(vf_wavelet_adjoint(s->plan, queue, s->shift, in.data, out.data));
    else if (what == THRESHOLD)
        need(vf_wavelet_threshold(s->plan, queue, s->shift, threshold, in.data, out.data));
    else
        need(vf_wavelet_threshold(s->plan, queue, s->shift, threshold, in.data, in.data));
    download(queue, &in, what == THRESHOLD_IN_PLACE ? to : same);
    if (what != THRESHOLD_IN_PLACE && memcmp(same, from, (size_t)inputs * sizeof *same) != 0)
        fail_msg("the input was written to: %s", text_of(s));
    download(queue, &out, what == THRESHOLD_IN_PLACE ? NULL : to);
    free(same);
}

static inline void close_to(const subject *s, const char *what, double off, double allowed)
{
    if (!(off <= allowed))
        fail_msg("%s is off by %g, allowed %g: %s", what, off, allowed, text_of(s));
}

static inline bool is_coarse(const subject *s, int64_t n)
{
    return n % s->padded[0] < s->coarse[0] && n / s->padded[0] % s->padded[1] < s->coarse[1] &&
           n / s->padded[0] / s->padded[1] < s->coarse[2];
}

static inline double sum_of(const subject *s, const double complex *v)
{
    double sum = NAN;
    guarded in = upload(queue, s->options.precision, s->numbers, v);
    need(vf_wavelet_norm(s->plan, queue, s->shift, in.data, &sum));
    download(queue, &in, NULL);
    return sum;
}

#endif
