/* What the tests of operators and solvers share: every operator there is, on small random problems; vectors on the
 * device. */
#ifndef OPERATOR_FIXTURE_H
#define OPERATOR_FIXTURE_H

#include "first_differences.h"
#include "kernel_operators.h"
#include "toeplitz_fixture.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

enum { COILS_HERE = 3, MOST_ARRAYS = 8, MOST_PARTS = 4, SAMPLES_HERE = 40 };
static const double NUFFT_ACCURACY = 1e-6;

/* An operator, and what it is made of. */
typedef struct subject {
    vf_dtype precision;
    vf_queue *queue;
    vf_operator *a, *part[MOST_PARTS];
    int64_t matrix[3], voxels;
    float k[3 * SAMPLES_HERE];
    vf_array array[MOST_ARRAYS];
    int arrays;
    vf_fourier *fourier;
    vf_nufft *nufft;
    vf_cartesian *cartesian, *circulant_normal;
    vf_toeplitz *toeplitz;
    vf_circulant *circulant;
    vf_encoding *encoding, *doubled;
    double normal_error; /* of its normal, relative to ||A||^2, besides rounding */
} subject;

static inline double roundoff(vf_dtype precision)
{
    return precision == VF_F64 ? 0x1p-53 : 0x1p-24;
}

/* ---- vectors on the device ---- */

static inline vf_array *put_numbers(subject *s, vf_dtype type, int64_t count, const double *values)
{
    vf_array *array = &s->array[s->arrays++], host = {0};
    const int64_t numbers = type == VF_C64 || type == VF_C128 ? 2 * count : count;
    assert_true(s->arrays <= MOST_ARRAYS);
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, array));
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    for (int64_t i = 0; i < numbers; i++)
        if (vf_dtype_real(type) == VF_F64)
            ((double *)host.data)[i] = values[i];
        else
            ((float *)host.data)[i] = (float)values[i];
    need(vf_array_copy(s->queue, array, &host, count));
    need(vf_queue_sync(s->queue));
    vf_array_free(&host);
    return array;
}

static inline vf_array *put_random(subject *s, vf_dtype type, int64_t count, double lowest)
{
    double *values = room(2 * count, sizeof *values);
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = lowest + (1 - lowest) * uniform();
    vf_array *array = put_numbers(s, type, count, values);
    free(values);
    return array;
}

typedef vf_status operation(vf_operator *a, vf_queue *queue, const void *x, void *y);

/* y = what the operation makes of x, between guards; x is kept. */
static inline void carry_out(const subject *s, operation *apply_to, vf_operator *a, int64_t from, int64_t to,
                             const double complex *x, double complex *y)
{
    guarded in = upload(s->queue, s->precision, from, x), out = upload(s->queue, s->precision, to, NULL);
    need(apply_to(a, s->queue, in.data, out.data));
    double complex *same = room(from, sizeof *same);
    download(s->queue, &in, same);
    if (memcmp(same, x, (size_t)from * sizeof *x) != 0)
        fail_msg("%s wrote to its input", vf_operator_name(a));
    download(s->queue, &out, y);
    free(same);
}

static inline double complex *random_numbers(const subject *s, int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = rounded(s->precision, random_complex());
    return v;
}

static inline double complex inner(int64_t count, const double complex *x, const double complex *y)
{
    double complex sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += conj(x[n]) * y[n];
    return sum;
}

static inline double size_of(int64_t count, const double complex *x)
{
    return sqrt(creal(inner(count, x, x)));
}

static inline double distance(int64_t count, const double complex *x, const double complex *y)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += creal((x[n] - y[n]) * conj(x[n] - y[n]));
    return sqrt(sum);
}

/* ---- the subjects ---- */

static inline vf_sum_shape shape_of(const subject *s, int batch)
{
    return (vf_sum_shape){device, s->precision, s->voxels, SAMPLES_HERE, batch};
}

static inline vf_vector_space image_space(const subject *s)
{
    return (vf_vector_space){vf_dtype_complex(s->precision), s->voxels};
}

static inline void make_fourier(subject *s)
{
    vf_grid grid = {.counts = {s->matrix[0], s->matrix[1], s->matrix[2]}};
    for (int a = 0; a < 3; a++) {
        grid.spacing[a] = 1 / (double)s->matrix[a];
        grid.origin[a] = -(double)(s->matrix[a] / 2) / (double)s->matrix[a];
    }
    const vf_fourier_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_fourier_voxels voxels = {.grid = &grid};
    const vf_fourier_options options = {.precision = s->precision};
    const vf_sum_shape shape = shape_of(s, 2);
    need(vf_fourier_create(device, &samples, &voxels, 2, &options, &s->fourier));
    need(vf_fourier_operator(&shape, s->fourier, &s->a));
}

static inline void make_nufft(subject *s)
{
    const vf_nufft_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_nufft_options options = {.tolerance = NUFFT_ACCURACY, .precision = s->precision};
    const vf_sum_shape shape = shape_of(s, 2);
    need(vf_nufft_create(device, s->matrix, &samples, 2, &options, &s->nufft));
    need(vf_nufft_operator(&shape, s->nufft, &s->a));
}

static inline void round_samples(subject *s)
{
    for (int i = 0; i < 3 * SAMPLES_HERE; i++)
        s->k[i] = roundf(s->k[i]);
}

static inline void make_cartesian(subject *s)
{
    round_samples(s);
    const vf_cartesian_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_sum_shape shape = shape_of(s, 2);
    need(vf_cartesian_create(device, s->matrix, &samples, s->precision, &s->cartesian));
    need(vf_cartesian_operator(&shape, s->cartesian, &s->a));
}

static inline void make_cartesian_normal(subject *s)
{
    round_samples(s);
    const vf_cartesian_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    need(vf_cartesian_normal_create(device, s->matrix, &samples, s->precision, &s->circulant_normal));
    need(vf_cartesian_normal_operator(device, s->precision, s->voxels, s->circulant_normal, COILS_HERE, maps, &s->a));
}

static inline void make_plan(const subject *s, vf_encode_by by, int extent, const int64_t matrix[3], int batch,
                             vf_encoding **out)
{
    const vf_encoding_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_encoding_options options = {
        .by = by, .precision = s->precision, .accuracy = NUFFT_ACCURACY, .most_batch = batch, .extent = extent};
    need(vf_encoding_create(device, matrix, &samples, &options, out));
}

/* Of the weights w^2, Q by a direct sum on the doubled grid. */
static inline void make_q(subject *s, const double *w)
{
    const vf_toeplitz_options options = {.precision = s->precision, .segments = 1};
    const vf_dtype type = vf_dtype_complex(s->precision);
    int64_t doubled[3];
    double weights[2 * SAMPLES_HERE] = {0};
    need(vf_toeplitz_create(device, s->matrix, &options, &s->toeplitz));
    vf_toeplitz_doubled(s->toeplitz, doubled);
    make_plan(s, VF_ENCODE_DIRECT, 2, doubled, 1, &s->doubled);
    for (int m = 0; m < SAMPLES_HERE; m++)
        weights[2 * m] = w ? w[m] * w[m] : 1;
    const vf_array *c = put_numbers(s, type, SAMPLES_HERE, weights);
    vf_array *q = &s->array[s->arrays++];
    need(vf_array_create(device, VF_SPACE_DEVICE, type, doubled[0] * doubled[1] * doubled[2], q));
    need(vf_encoding_adjoint(s->doubled, s->queue, 1, c, q));
    need(vf_toeplitz_set(s->toeplitz, s->queue, 0, q->data));
}

static inline void make_toeplitz(subject *s)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    make_q(s, NULL);
    need(vf_toeplitz_operator(device, s->precision, s->voxels, s->toeplitz, COILS_HERE, maps, &s->a));
}

static inline void make_circulant(subject *s)
{
    double *m = room(s->voxels, sizeof *m);
    for (int64_t i = 0; i < s->voxels; i++)
        m[i] = uniform();
    need(vf_circulant_create(device, s->matrix, s->precision, 2, &s->circulant));
    need(vf_circulant_set(s->circulant, s->queue, 1, m));
    need(vf_circulant_operator(device, s->precision, s->voxels, s->circulant, 1, &s->a));
    free(m);
}

static inline void make_differences(subject *s)
{
    const void *weights = uniform() < 0.5 ? put_random(s, s->precision, 3 * s->voxels, 0)->data : NULL;
    need(vf_first_differences_operator(device, s->precision, s->matrix, weights, &s->a));
}

static inline void make_coils(subject *s)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    need(vf_coil_operator(device, s->precision, s->voxels, COILS_HERE, maps, &s->a));
}

static inline void make_scan(subject *s, vf_encode_by by, bool with_normal)
{
    double w[COILS_HERE * SAMPLES_HERE];
    for (int m = 0; m < COILS_HERE * SAMPLES_HERE; m++)
        w[m] = m < SAMPLES_HERE ? rounded(s->precision, uniform()) : w[m - SAMPLES_HERE];
    if (by == VF_ENCODE_CARTESIAN)
        round_samples(s);
    make_plan(s, by, 1, s->matrix, COILS_HERE, &s->encoding);
    vf_scan_operator of = {.shape = shape_of(s, 1), .encoding = s->encoding, .coils = COILS_HERE};
    of.maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    of.weights = put_numbers(s, s->precision, COILS_HERE * SAMPLES_HERE, w)->data;
    if (with_normal && by == VF_ENCODE_CARTESIAN) {
        double squares[SAMPLES_HERE];
        for (int m = 0; m < SAMPLES_HERE; m++)
            squares[m] = w[m] * w[m];
        const vf_cartesian_samples samples = {.count = SAMPLES_HERE, .k = s->k, .weights = squares};
        need(vf_cartesian_normal_create(device, s->matrix, &samples, s->precision, &s->circulant_normal));
        of.circulant = s->circulant_normal;
    } else if (with_normal) {
        make_q(s, w);
        of.toeplitz = s->toeplitz;
    }
    /* Each of F and F^H is off by the accuracy, relative to sqrt(samples voxels), which may be sqrt(voxels) ||F||. */
    s->normal_error = by == VF_ENCODE_NUFFT && with_normal ? 2 * NUFFT_ACCURACY * sqrt((double)s->voxels) : 0;
    need(vf_scan_operator_create(&of, &s->a));
}

static inline void make_scan_directly(subject *s)
{
    make_scan(s, VF_ENCODE_DIRECT, false);
}

static inline void make_scan_with_q(subject *s)
{
    make_scan(s, VF_ENCODE_NUFFT, true);
}

static inline void make_scan_on_grid(subject *s)
{
    make_scan(s, VF_ENCODE_CARTESIAN, true);
}

static inline void make_identity(subject *s)
{
    need(vf_operator_identity(device, image_space(s), &s->a));
}

static inline void make_weights(subject *s)
{
    need(vf_operator_weights(device, image_space(s), put_random(s, s->precision, s->voxels, -1)->data, &s->a));
}

static inline vf_status conjugate_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const subject *s = state;
    return vf_vector_conjugate(queue, vf_dtype_complex(s->precision), s->voxels, x, y);
}

/* Real-linear, and self-adjoint as such. */
static inline void make_conjugation(subject *s)
{
    static const vf_operator_methods methods = {.name = "conjugation", .forward = conjugate_forward};
    need(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT | VF_OPERATOR_REAL_LINEAR, image_space(s),
                            image_space(s), s, &s->a));
}

/* What has been made so far becomes a part of what comes next. */
static inline void set_aside(subject *s, int number)
{
    s->part[number] = s->a;
    s->a = NULL;
}

static inline void make_chain(subject *s)
{
    make_weights(s);
    set_aside(s, 0);
    make_coils(s);
    set_aside(s, 1);
    vf_sum_shape shape = shape_of(s, COILS_HERE);
    make_plan(s, VF_ENCODE_DIRECT, 1, s->matrix, COILS_HERE, &s->encoding);
    need(vf_encoding_operator(&shape, s->encoding, &s->part[2]));
    need(vf_operator_chain(3, s->part, &s->a));
}

static inline void make_chain_of_one(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_chain(1, s->part, &s->a));
}

static inline void make_sum(subject *s)
{
    make_differences(s);
    set_aside(s, 0);
    make_weights(s);
    set_aside(s, 1);
    make_circulant(s);
    set_aside(s, 2);
    need(vf_operator_sum(3, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_SELF_ADJOINT);
}

static inline void make_real_linear_sum(subject *s)
{
    make_conjugation(s);
    set_aside(s, 0);
    make_weights(s);
    set_aside(s, 1);
    need(vf_operator_sum(2, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_SELF_ADJOINT | VF_OPERATOR_REAL_LINEAR);
}

static inline void make_sum_of_sums(subject *s)
{
    vf_sum_shape shape = shape_of(s, 1);
    make_plan(s, VF_ENCODE_DIRECT, 1, s->matrix, 1, &s->encoding);
    make_plan(s, VF_ENCODE_NUFFT, 1, s->matrix, 1, &s->doubled);
    need(vf_encoding_operator(&shape, s->encoding, &s->part[0]));
    need(vf_encoding_operator(&shape, s->doubled, &s->part[1]));
    need(vf_operator_sum(2, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), 0);
}

static inline void make_stack(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    make_weights(s);
    set_aside(s, 1);
    make_differences(s);
    set_aside(s, 2);
    need(vf_operator_stack(3, s->part, &s->a));
    assert_int_equal(vf_operator_codomain(s->a).count, (COILS_HERE + 2) * s->voxels);
}

static inline void make_multiple(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_scale(-2.5, s->part[0], &s->a));
}

static inline void make_normal(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_normal_of(s->part[0], &s->a));
}

static inline void make_adjoint(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_adjoint_of(s->part[0], &s->a));
}

static void (*const makers[])(subject *s) = {
    make_fourier,      make_nufft,    make_cartesian,   make_cartesian_normal, make_toeplitz,
    make_circulant,    make_coils,    make_differences, make_scan_directly,    make_scan_with_q,
    make_scan_on_grid, make_identity, make_weights,     make_conjugation,      make_chain,
    make_chain_of_one, make_sum,      make_sum_of_sums, make_real_linear_sum,  make_stack,
    make_multiple,     make_normal,   make_adjoint};
enum { MAKERS = sizeof makers / sizeof *makers };

static inline subject *open_subject(int maker, vf_dtype precision)
{
    subject *s = room(1, sizeof *s);
    s->precision = precision;
    s->voxels = 1;
    for (int a = 0; a < 3; a++) {
        s->matrix[a] = 1 + (int64_t)(uniform() * 7);
        s->voxels *= s->matrix[a];
    }
    for (int i = 0; i < 3 * SAMPLES_HERE; i++)
        s->k[i] = (float)((uniform() - 0.5) * (double)s->matrix[i % 3]);
    need(vf_queue_create(device, &s->queue));
    makers[maker](s);
    for (int i = 0; i < MOST_PARTS; i++) { /* combinations keep them */
        vf_operator_free(s->part[i]);
        s->part[i] = NULL;
    }
    return s;
}

static inline void close_subject(subject *s)
{
    need(vf_queue_sync(s->queue));
    vf_operator_free(s->a);
    vf_fourier_destroy(s->fourier);
    vf_nufft_destroy(s->nufft);
    vf_cartesian_destroy(s->cartesian);
    vf_cartesian_destroy(s->circulant_normal);
    vf_toeplitz_destroy(s->toeplitz);
    vf_circulant_destroy(s->circulant);
    vf_encoding_destroy(s->encoding);
    vf_encoding_destroy(s->doubled);
    for (int i = 0; i < s->arrays; i++)
        vf_array_free(&s->array[i]);
    vf_queue_destroy(s->queue);
    free(s);
}

static inline void refused(vf_status status, const char *word)
{
    assert_int_equal(status, VF_ERR_ARGUMENT);
    if (!strstr(vf_context_message(ctx), word))
        fail_msg("\"%s\" does not say \"%s\"", vf_context_message(ctx), word);
    vf_context_clear_error(ctx);
}

#endif
