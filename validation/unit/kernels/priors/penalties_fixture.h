/* Sparse and low-rank priors of images on random grids, their results (between guards), and the allowed errors.
 *
 * The bounds. u is the unit roundoff of the precision, U = 2^-53, |.| is the l2 norm of all numbers of a vector.
 *   wavelet    see wavelet_fixture.h: at most 12 passes of 8 taps in each direction, and 8 u for threshold and
 *              rounding: 2 x 12 x 9 sqrt(8) u + 8 u < 620 u, relative to |v|.
 *   tv, tgv, temporal   less than that, because the factor of a group is computed in double precision.
 *   llr, nuclear   see low_rank.h: c U s^2 / (2 t) for a threshold t, and rounding. c is the longer side of a block
 *              plus 100 times the shorter one, and s <= |v|.
 * So the error of a proximal map is at most E(v) = 620 u |v| + c U |v|^2 / (2 t). Only low-rank penalties have the
 * second term.
 *   values     g is the sum of at most m magnitudes (coefficients, differences, singular values) of numbers with a
 *              total error of 620 u |v|. So the error of g is at most weight sqrt(m) 620 u |v|, where m is at most the
 *              number of elements of v. For low-rank penalties (test_low_rank.c) the error of a singular value is at
 *              most sqrt(D), D = (L + 60 k + 100) U |v|^2 < c U |v|^2. So the error is at most V(v) = weight sqrt(m)
 *              (620 u + sqrt(c U)) |v|; only low-rank penalties have the second term. weight sqrt(m) is also the
 *              Lipschitz constant of g. */
#ifndef PENALTIES_FIXTURE_H
#define PENALTIES_FIXTURE_H

#include "penalties.h"

#include "kernels/toeplitz/toeplitz_fixture.h"
#include "queue_fixture.h"

enum { TERMS = 16 };

typedef struct subject {
    vf_penalties *p;
    vf_penalties_options o;
    const vf_penalty *list;
    int terms, dimensions;
    int64_t numbers, whole; /* of an image series; of all unknowns */
    int prior[TERMS];
    double share[TERMS], tie[TERMS], lambda[VF_MOST_PRIORS], rho[VF_MOST_PRIORS];
} subject;

static inline const char *text_of(const subject *s)
{
    static char text[200];
    snprintf(text, sizeof text, "%s%s%s, %lld x %lld x %lld, %lld frames, %s, moments %d, shifts %d",
             vf_penalty_name(s->o.kind[0]), s->o.priors > 1 ? "+" : "",
             s->o.priors > 1 ? vf_penalty_name(s->o.kind[1]) : "", (long long)s->o.counts[0], (long long)s->o.counts[1],
             (long long)s->o.counts[2], (long long)s->o.counts[3], vf_dtype_name(s->o.precision), s->o.moments,
             s->o.shifts);
    return text;
}

/* The rule of the header for the number of terms. */
static inline int terms_of(const vf_penalties_options *o, vf_penalty_kind kind, int dimensions)
{
    const int most = 1 << dimensions, shifts = o->shifts ? o->shifts : most < 4 ? most : 4;
    return kind == VF_PENALTY_WAVELET ? shifts * (o->moments ? 1 : 2)
           : kind == VF_PENALTY_LLR   ? shifts
           : kind == VF_PENALTY_TGV   ? 2
                                      : 1;
}

static inline subject make(const vf_penalties_options *o)
{
    subject s = {.o = *o, .numbers = o->counts[0] * o->counts[1] * o->counts[2] * o->counts[3]};
    int next = 0;
    for (int a = 0; a < 3; a++)
        s.dimensions += o->counts[a] > 1;
    need(vf_penalties_create(device, o, &s.p));
    for (int i = 0; i < o->priors; i++) {
        s.lambda[i] = 0.1 + uniform();
        s.rho[i] = 0.1 + uniform();
        vf_penalties_set(s.p, i, s.lambda[i], s.rho[i]);
        const int terms = terms_of(o, o->kind[i], s.dimensions);
        for (int t = 0; t < terms && next < TERMS; t++, next++) {
            const bool tgv = o->kind[i] == VF_PENALTY_TGV; /* 2 sum |E w|; in ADMM its weight is ten times as large */
            s.prior[next] = i;
            s.share[next] = tgv ? 1 + t : 1.0 / terms;
            s.tie[next] = tgv ? 1 + 9 * t : 1.0 / terms;
        }
    }
    s.list = vf_penalties_list(s.p, &s.terms);
    s.whole = s.numbers * (1 + vf_penalties_extra(s.p));
    if (s.terms != next)
        fail_msg("%d terms, not %d: %s", s.terms, next, text_of(&s));
    return s;
}

/* Uses the kinds in turn, alone and in pairs. Grids have one to three dimensions, and most lengths are odd. */
static inline vf_penalties_options random_options(int i)
{
    static const int64_t grids[][3] = {{1, 1, 37}, {9, 1, 1}, {21, 13, 1}, {5, 1, 18}, {7, 11, 10}, {2, 2, 3}};
    enum { GRIDS = sizeof grids / sizeof *grids };
    vf_penalties_options o = {.priors = 1 + i / VF_PENALTY_KINDS % 2,
                              .kind = {(vf_penalty_kind)(i % VF_PENALTY_KINDS)},
                              .precision = uniform() < 0.5 ? VF_F32 : VF_F64,
                              .seed = (uint64_t)integer_below(1 << 30),
                              .moments = (int)integer_below(5),
                              .shifts = (int)integer_below(5)};
    o.kind[1] = (vf_penalty_kind)((i + 1 + integer_below(VF_PENALTY_KINDS - 1)) % VF_PENALTY_KINDS);
    for (int a = 0; a < 3; a++)
        o.counts[a] = uniform() < 0.7 ? grids[i / 3 % GRIDS][a] : 2 + integer_below(15);
    o.counts[3] = 2 + integer_below(4);
    return o;
}

enum { CASES = 36 };

static inline double unit_of(const subject *s)
{
    return s->o.precision == VF_F64 ? 0x1p-53 : 0x1p-24;
}

static inline int64_t codomain(const subject *s, int term)
{
    const vf_operator *t = s->list[term].transform;
    return t ? vf_operator_codomain(t).count : s->numbers;
}

static inline double complex *random_numbers(int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = rounded(VF_F32, random_complex()); /* exact in both precisions */
    return v;
}

/* ---- results of the penalties, between guards ---- */

static inline void map(const subject *s, int term, double step, const double complex *v, double complex *z)
{
    const int64_t count = codomain(s, term);
    const vf_proximal *g = s->list[term].function;
    guarded in = upload(queue, s->o.precision, count, v), out = upload(queue, s->o.precision, count, NULL);
    need(g->map(g->state, queue, step, in.data, out.data));
    download(queue, &out, z);
    need(g->map(g->state, queue, step, in.data, in.data)); /* in place: the same bits */
    double complex *same = room(count, sizeof *same);
    download(queue, &in, same);
    for (int64_t n = 0; n < count; n++)
        if (memcmp(&same[n], &z[n], sizeof *z) != 0 && !(isnan(creal(same[n])) && isnan(creal(z[n]))))
            fail_msg("number %lld in place: %s", (long long)n, text_of(s));
    free(same);
}

static inline double value(const subject *s, int term, const double complex *v)
{
    double sum = NAN;
    const vf_proximal *g = s->list[term].function;
    guarded in = upload(queue, s->o.precision, codomain(s, term), v);
    need(g->value(g->state, queue, in.data, &sum));
    download(queue, &in, NULL);
    return sum;
}

/* y = T x */
static inline void transform(const subject *s, int term, const double complex *x, double complex *y)
{
    vf_operator *t = s->list[term].transform;
    guarded in = upload(queue, s->o.precision, s->whole, x);
    if (!t) {
        download(queue, &in, y);
        return;
    }
    guarded out = upload(queue, s->o.precision, codomain(s, term), NULL);
    need(vf_operator_forward(t, queue, in.data, out.data));
    download(queue, &in, NULL);
    download(queue, &out, y);
}

/* x = T^H y */
static inline void adjoint(const subject *s, int term, const double complex *y, double complex *x)
{
    guarded in = upload(queue, s->o.precision, codomain(s, term), y);
    guarded out = upload(queue, s->o.precision, s->whole, NULL);
    need(vf_operator_adjoint(s->list[term].transform, queue, in.data, out.data));
    download(queue, &in, NULL);
    download(queue, &out, x);
}

/* y += rho T^H T x */
static inline void add_normal(const subject *s, int term, const double complex *x, double complex *y)
{
    vf_operator *t = s->list[term].transform;
    double complex *got = room(s->whole, sizeof *got);
    guarded in = upload(queue, s->o.precision, s->whole, x), out = upload(queue, s->o.precision, s->whole, NULL);
    if (t)
        need(vf_operator_normal(t, queue, in.data, out.data));
    download(queue, &out, t ? got : NULL);
    download(queue, &in, t ? NULL : got);
    for (int64_t n = 0; n < s->whole; n++)
        y[n] += s->list[term].weight * got[n];
    free(got);
}

/* Forward and adjoint must give the same; here only quadratic forms of T^H T are used. */
static inline double transformed_power(const subject *s, int term, const double complex *x)
{
    const int64_t count = codomain(s, term);
    double complex *y = room(count, sizeof *y);
    transform(s, term, x, y);
    const double sum = creal(inner(count, y, y));
    free(y);
    return sum;
}

/* ---- bounds ---- */

static inline bool low_rank(const subject *s, int term)
{
    return s->o.kind[s->prior[term]] == VF_PENALTY_LLR || s->o.kind[s->prior[term]] == VF_PENALTY_NUCLEAR;
}

static inline double weight_of(const subject *s, int term)
{
    return s->lambda[s->prior[term]] * s->share[term];
}

static inline double sides(const subject *s)
{
    const double frames = (double)s->o.counts[3], voxels = (double)s->numbers / frames;
    return fmax(frames, voxels) + 100 * fmin(frames, voxels);
}

/* E(v), for a map with this step. */
static inline double map_error(const subject *s, int term, double step, double size)
{
    return 620 * unit_of(s) * size +
           (low_rank(s, term) ? sides(s) * 0x1p-53 * size * size / (2 * step * weight_of(s, term)) : 0);
}

static inline double lipschitz(const subject *s, int term)
{
    return weight_of(s, term) * sqrt((double)codomain(s, term));
}

/* V(v) */
static inline double value_error(const subject *s, int term, double size)
{
    return lipschitz(s, term) * (620 * unit_of(s) + (low_rank(s, term) ? sqrt(sides(s) * 0x1p-53) : 0)) * size;
}

static inline void at_most(const subject *s, int term, const char *what, double is, double allowed)
{
    if (!(is <= allowed))
        fail_msg("%s is %g, allowed %g, term %d of %s", what, is, allowed, term, text_of(s));
}

/* The sum of the terms of a prior for T x. x has all unknowns. */
static inline double value_of_image(const subject *s, int prior, const double complex *x)
{
    double values[VF_MOST_PENALTIES] = {0};
    for (int t = 0; t < s->terms; t++) {
        double complex *tx = room(codomain(s, t), sizeof *tx);
        transform(s, t, x, tx);
        values[t] = value(s, t, tx);
        free(tx);
    }
    return vf_penalties_value(s->p, prior, values);
}

/* lambda sum sqrt(sum_a |D_a x|^2), by the definition: over the axes 0 to 2, or only axis 3. */
static inline double variation(const subject *s, const double complex *x, bool of_frames)
{
    const int64_t *n = s->o.counts;
    double sum = 0;
    for (int64_t i = 0; i < s->numbers; i++) {
        const int64_t at[4] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1] % n[2], i / n[0] / n[1] / n[2]};
        int64_t stride = 1;
        double square = 0;
        for (int a = 0; a < 4; stride *= n[a++])
            if ((a == 3) == of_frames && at[a] + 1 < n[a])
                square += creal((x[i + stride] - x[i]) * conj(x[i + stride] - x[i]));
        sum += sqrt(square);
    }
    return sum;
}

/* The matrix E w at a point, by the definition of differences.h: element (k, l) is (B_l w_k + B_k w_l) / 2; w_k is the
 * component of the k-th axis in use. Returns its norm. */
static inline double bending(const subject *s, const double complex *w, int64_t i)
{
    const int64_t *n = s->o.counts, at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1] % n[2]};
    int64_t stride[3], axis[3], step = 1;
    int axes = 0;
    double square = 0;
    for (int a = 0; a < 3; step *= n[a++])
        if (n[a] > 1) {
            stride[axes] = step;
            axis[axes++] = a;
        }
    for (int k = 0; k < axes; k++)
        for (int l = 0; l < axes; l++) {
            const double complex *of_k = w + k * s->numbers, *of_l = w + l * s->numbers;
            double complex sum = 0;
            if (at[axis[l]] > 0)
                sum += of_k[i] - of_k[i - stride[l]];
            if (at[axis[k]] > 0)
                sum += of_l[i] - of_l[i - stride[k]];
            square += creal(sum * conj(sum)) / 4;
        }
    return sqrt(square);
}

/* The value of tgv for lambda = 1, for x and a field w, stored as [x, w] in v: sum |D x - w| + 2 sum |E w|. */
static inline double generalised_variation(const subject *s, const double complex *v)
{
    const int64_t *n = s->o.counts;
    double sum = 0;
    for (int64_t i = 0; i < s->numbers; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1] % n[2]};
        int64_t stride = 1, next = 1;
        double square = 0;
        for (int a = 0; a < 3; stride *= n[a++]) {
            if (n[a] == 1)
                continue;
            const double complex rest = (at[a] + 1 < n[a] ? v[i + stride] - v[i] : 0) - v[next++ * s->numbers + i];
            square += creal(rest * conj(rest));
        }
        sum += sqrt(square) + 2 * bending(s, v + s->numbers, i);
    }
    return sum;
}

#endif
