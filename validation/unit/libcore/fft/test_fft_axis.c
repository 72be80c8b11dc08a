/* Transforms along an axis (libcore), of lines of any layout and span, against explicit sums. Nothing else in the memory
 * changes. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/fft_axis.h"
#include "voxfield/team_size.h"

enum { LONGEST = 60, MOST_LINES = 40, OUTER = 2, ROOM = 3 * LONGEST * MOST_LINES };

/* Lines in memory of one precision, with a copy in double precision. */
typedef struct place {
    vf_fft_lines at;
    int64_t outer; /* between groups of lines */
    vf_dtype type;
    void *data;
    double complex copy[OUTER * ROOM];
    double scale[LONGEST];
    float scale_f32[LONGEST];
} place;

static void set(const place *p, int64_t i, double complex value)
{
    const double parts[2] = {creal(value), cimag(value)};
    for (int part = 0; part < 2; part++)
        if (p->type == VF_C128)
            ((double *)p->data)[2 * i + part] = parts[part];
        else
            ((float *)p->data)[2 * i + part] = (float)parts[part];
}

static double complex get(const place *p, int64_t i)
{
    const double *f64 = p->data;
    const float *f32 = p->data;
    return p->type == VF_C128 ? f64[2 * i] + f64[2 * i + 1] * I : f32[2 * i] + f32[2 * i + 1] * I;
}

static int64_t element(const place *p, int64_t o, int64_t l, int64_t i)
{
    return o * p->outer + l * p->at.line + i * p->at.point;
}

/* A span, and scales or none: half of the cases each. */
static void choose_points(place *p, int64_t n)
{
    p->at.span.count = uniform() < 0.3 ? n : (int64_t)(uniform() * (double)(n + 1));
    p->at.span.first = (int64_t)(uniform() * 2 * (double)n) - n;
    const bool scaled = uniform() < 0.5;
    for (int i = 0; i < LONGEST; i++) {
        p->scale_f32[i] = (float)(0.5 + uniform());
        p->scale[i] = scaled ? p->scale_f32[i] : 1;
    }
    p->at.scale = !scaled ? NULL : p->type == VF_C128 ? (const void *)p->scale : p->scale_f32;
}

/* Neighbouring lines, neighbouring points, or neither; `pitch` points or lines. */
static void choose_layout(place *p, int64_t lines, int64_t n)
{
    const int kind = (int)(uniform() * 3), gap = (int)(uniform() * 4);
    p->at.line = kind == 0 ? 1 : kind == 1 ? n + gap : 2;
    p->at.point = kind == 0 ? lines + gap : kind == 1 ? 1 : 2 * lines + 1;
    p->outer = ROOM;
}

static void fill(place *p)
{
    for (int64_t i = 0; i < OUTER * ROOM; i++) {
        set(p, i, 2 * uniform() - 1 + (2 * uniform() - 1) * I);
        p->copy[i] = get(p, i);
    }
}

static double complex explicit_sum(const place *src, int64_t o, int64_t l, int64_t k, int64_t n,
                                   vf_fft_direction direction)
{
    double complex sum = 0;
    for (int64_t i = 0; i < src->at.span.count; i++) {
        const int64_t turns = (k * (src->at.span.first + i) % n + n) % n;
        sum += src->scale[i] * src->copy[element(src, o, l, i)] *
               cexp((int)direction * 2 * M_PI * I * (double)turns / (double)n);
    }
    return sum;
}

static void check(const place *src, place *dst, int64_t lines, int64_t n, vf_fft_direction direction, double *largest)
{
    /* Rounding of a fast transform grows as log2(n) eps times the rms of the result; numbers are below
     * sqrt(2), scales below 1.5. The factor 10 covers 8 sigma and the constant of poor radices (Gentleman and Sande); one
     * more for the rounding of scaled numbers. */
    const double eps = dst->type == VF_C128 ? 0x1p-53 : 0x1p-24;
    const double bound = 10 * (log2((double)n) + 2) * eps * sqrt((double)n) * 1.5 * 1.5 * M_SQRT2;
    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t l = 0; l < lines; l++)
            for (int64_t k = 0; k < dst->at.span.count; k++) {
                const double complex want =
                    dst->scale[k] * explicit_sum(src, o, l, dst->at.span.first + k, n, direction);
                const double error = cabs(get(dst, element(dst, o, l, k)) - want);
                if (!(error <= bound))
                    fail_msg("n %lld, group %lld, line %lld, point %lld: the error is %g, the bound %g", (long long)n,
                             (long long)o, (long long)l, (long long)k, error, bound);
                *largest = fmax(*largest, error / bound);
            }
    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t l = 0; l < lines; l++)
            for (int64_t k = 0; k < dst->at.span.count; k++)
                set(dst, element(dst, o, l, k), dst->copy[element(dst, o, l, k)]);
    for (int64_t i = 0; i < OUTER * ROOM; i++)
        if (!(get(dst, i) == dst->copy[i]))
            fail_msg("element %lld changed", (long long)i);
}

/* Fills the plan's working memory with numbers, at every point. */
static void leave_numbers(const vf_fft_axis *axis, const place *src, int64_t lines, int64_t n)
{
    vf_fft_lines whole = src->at, to = src->at;
    whole.scale = to.scale = NULL;
    whole.span = to.span = (vf_fft_span){0, n};
    to.data = aligned_alloc(64, OUTER * ROOM * sizeof(double complex));
    assert_non_null(to.data);
    assert_int_equal(vf_fft_axis_pass(axis, VF_FFT_FORWARD, lines, OUTER, &whole, src->outer, &to, src->outer), VF_OK);
    free(to.data);
}

static void one_case(vf_context *ctx, vf_dtype type, double *largest)
{
    static place src, dst;
    const int64_t n = 1 + (int64_t)(uniform() * LONGEST), lines = (int64_t)(uniform() * (MOST_LINES + 1));
    const bool in_place = uniform() < 0.3;
    const vf_fft_direction direction = uniform() < 0.5 ? VF_FFT_FORWARD : VF_FFT_BACKWARD;
    src.type = dst.type = type;
    src.data = aligned_alloc(64, OUTER * ROOM * sizeof(double complex));
    dst.data = in_place ? src.data : aligned_alloc(64, OUTER * ROOM * sizeof(double complex));
    assert_non_null(src.data);
    assert_non_null(dst.data);
    choose_layout(&src, lines, n);
    choose_layout(&dst, lines, n);
    choose_points(&src, n);
    choose_points(&dst, n);
    fill(&src);
    if (in_place) {
        dst.at.line = src.at.line;
        dst.at.point = src.at.point;
        memcpy(dst.copy, src.copy, sizeof dst.copy);
    } else {
        fill(&dst);
    }
    src.at.data = src.data;
    dst.at.data = dst.data;
    vf_fft_axis *axis = NULL;
    assert_int_equal(vf_fft_axis_create(ctx, type, n, &axis), VF_OK);
    leave_numbers(axis, &src, lines, n);
    assert_int_equal(vf_fft_axis_pass(axis, direction, lines, OUTER, &src.at, src.outer, &dst.at, dst.outer), VF_OK);
    check(&src, &dst, lines, n, direction, largest);
    vf_fft_axis_destroy(axis);
    if (!in_place)
        free(dst.data);
    free(src.data);
}

static void test_layouts_and_spans(void **state)
{
    (void)state;
    vf_context *ctx;
    double largest = 0;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    for (int i = 0; i < 400; i++)
        one_case(ctx, i % 2 ? VF_C128 : VF_C64, &largest);
    printf("largest error: %.2g of the bound\n", largest);
    vf_context_destroy(ctx);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_layouts_and_spans))
