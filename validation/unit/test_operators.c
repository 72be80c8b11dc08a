/* Every linear operator there is: its adjoint, its normal against adjoint of forward, linearity, and that it keeps its
 * input; and the solvers that take operators.
 *
 * usage: test_operators DEVICE [SEED] [test ...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound. An element that an operator makes is a sum of n products at most, n the elements of both spaces together;
 * however it is summed, its error is at most (n + 8) u sum |a_j x_j|, u the unit roundoff, with 8 for the factors'. In
 * the l2 norm that is (n + 8) u sqrt(n) ||A|| |x|, for the matrix of absolute values has at most sqrt(n) times the
 * norm.
 * ||A|| is taken as twice the root of what vf_largest_eigenvalue finds for A^H A, which approaches it from below. A
 * NUFFT's forward and adjoint are each other's exact transposes: its tolerance does not enter, but where F^H W F is
 * computed in another way than by both.
 */
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

static double roundoff(vf_dtype precision)
{
    return precision == VF_F64 ? 0x1p-53 : 0x1p-24;
}

/* ---- vectors on the device ---- */

static vf_array *put_numbers(subject *s, vf_dtype type, int64_t count, const double *values)
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

static vf_array *put_random(subject *s, vf_dtype type, int64_t count, double lowest)
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
static void carry_out(const subject *s, operation *apply_to, vf_operator *a, int64_t from, int64_t to,
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

static double complex *random_numbers(const subject *s, int64_t count)
{
    double complex *v = room(count, sizeof *v);
    for (int64_t n = 0; n < count; n++)
        v[n] = rounded(s->precision, random_complex());
    return v;
}

static double complex inner(int64_t count, const double complex *x, const double complex *y)
{
    double complex sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += conj(x[n]) * y[n];
    return sum;
}

static double size_of(int64_t count, const double complex *x)
{
    return sqrt(creal(inner(count, x, x)));
}

static double distance(int64_t count, const double complex *x, const double complex *y)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += creal((x[n] - y[n]) * conj(x[n] - y[n]));
    return sqrt(sum);
}

/* ---- the subjects ---- */

static vf_sum_shape shape_of(const subject *s, int batch)
{
    return (vf_sum_shape){device, s->precision, s->voxels, SAMPLES_HERE, batch};
}

static vf_vector_space image_space(const subject *s)
{
    return (vf_vector_space){vf_dtype_complex(s->precision), s->voxels};
}

static void make_fourier(subject *s)
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

static void make_nufft(subject *s)
{
    const vf_nufft_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_nufft_options options = {.tolerance = NUFFT_ACCURACY, .precision = s->precision};
    const vf_sum_shape shape = shape_of(s, 2);
    need(vf_nufft_create(device, s->matrix, &samples, 2, &options, &s->nufft));
    need(vf_nufft_operator(&shape, s->nufft, &s->a));
}

static void round_samples(subject *s)
{
    for (int i = 0; i < 3 * SAMPLES_HERE; i++)
        s->k[i] = roundf(s->k[i]);
}

static void make_cartesian(subject *s)
{
    round_samples(s);
    const vf_cartesian_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_sum_shape shape = shape_of(s, 2);
    need(vf_cartesian_create(device, s->matrix, &samples, s->precision, &s->cartesian));
    need(vf_cartesian_operator(&shape, s->cartesian, &s->a));
}

static void make_cartesian_normal(subject *s)
{
    round_samples(s);
    const vf_cartesian_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    need(vf_cartesian_normal_create(device, s->matrix, &samples, s->precision, &s->circulant_normal));
    need(vf_cartesian_normal_operator(device, s->precision, s->voxels, s->circulant_normal, COILS_HERE, maps, &s->a));
}

static void make_plan(const subject *s, vf_encode_by by, int extent, const int64_t matrix[3], int batch,
                      vf_encoding **out)
{
    const vf_encoding_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_encoding_options options = {
        .by = by, .precision = s->precision, .accuracy = NUFFT_ACCURACY, .most_batch = batch, .extent = extent};
    need(vf_encoding_create(device, matrix, &samples, &options, out));
}

/* Of the weights w^2, Q by a direct sum on the doubled grid. */
static void make_q(subject *s, const double *w)
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

static void make_toeplitz(subject *s)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    make_q(s, NULL);
    need(vf_toeplitz_operator(device, s->precision, s->voxels, s->toeplitz, COILS_HERE, maps, &s->a));
}

static void make_circulant(subject *s)
{
    double *m = room(s->voxels, sizeof *m);
    for (int64_t i = 0; i < s->voxels; i++)
        m[i] = uniform();
    need(vf_circulant_create(device, s->matrix, s->precision, 2, &s->circulant));
    need(vf_circulant_set(s->circulant, s->queue, 1, m));
    need(vf_circulant_operator(device, s->precision, s->voxels, s->circulant, 1, &s->a));
    free(m);
}

static void make_differences(subject *s)
{
    const void *weights = uniform() < 0.5 ? put_random(s, s->precision, 3 * s->voxels, 0)->data : NULL;
    need(vf_first_differences_operator(device, s->precision, s->matrix, weights, &s->a));
}

static void make_coils(subject *s)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    need(vf_coil_operator(device, s->precision, s->voxels, COILS_HERE, maps, &s->a));
}

static void make_scan(subject *s, vf_encode_by by, bool with_normal)
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

static void make_scan_directly(subject *s)
{
    make_scan(s, VF_ENCODE_DIRECT, false);
}

static void make_scan_with_q(subject *s)
{
    make_scan(s, VF_ENCODE_NUFFT, true);
}

static void make_scan_on_grid(subject *s)
{
    make_scan(s, VF_ENCODE_CARTESIAN, true);
}

static void make_identity(subject *s)
{
    need(vf_operator_identity(device, image_space(s), &s->a));
}

static void make_weights(subject *s)
{
    need(vf_operator_weights(device, image_space(s), put_random(s, s->precision, s->voxels, -1)->data, &s->a));
}

static vf_status conjugate_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const subject *s = state;
    return vf_vector_conjugate(queue, vf_dtype_complex(s->precision), s->voxels, x, y);
}

/* Real-linear, and self-adjoint as such. */
static void make_conjugation(subject *s)
{
    static const vf_operator_methods methods = {.name = "conjugation", .forward = conjugate_forward};
    need(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT | VF_OPERATOR_REAL_LINEAR, image_space(s),
                            image_space(s), s, &s->a));
}

/* What has been made so far becomes a part of what comes next. */
static void set_aside(subject *s, int number)
{
    s->part[number] = s->a;
    s->a = NULL;
}

static void make_chain(subject *s)
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

static void make_chain_of_one(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_chain(1, s->part, &s->a));
}

static void make_sum(subject *s)
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

static void make_real_linear_sum(subject *s)
{
    make_conjugation(s);
    set_aside(s, 0);
    make_weights(s);
    set_aside(s, 1);
    need(vf_operator_sum(2, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_SELF_ADJOINT | VF_OPERATOR_REAL_LINEAR);
}

static void make_sum_of_sums(subject *s)
{
    vf_sum_shape shape = shape_of(s, 1);
    make_plan(s, VF_ENCODE_DIRECT, 1, s->matrix, 1, &s->encoding);
    make_plan(s, VF_ENCODE_NUFFT, 1, s->matrix, 1, &s->doubled);
    need(vf_encoding_operator(&shape, s->encoding, &s->part[0]));
    need(vf_encoding_operator(&shape, s->doubled, &s->part[1]));
    need(vf_operator_sum(2, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), 0);
}

static void make_stack(subject *s)
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

static void make_multiple(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_scale(-2.5, s->part[0], &s->a));
}

static void make_normal(subject *s)
{
    make_coils(s);
    set_aside(s, 0);
    need(vf_operator_normal_of(s->part[0], &s->a));
}

static void make_adjoint(subject *s)
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

static subject *open_subject(int maker, vf_dtype precision)
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

static void close_subject(subject *s)
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

/* ||A||, at least, and how far what A makes of x may be off, relative to |x|. */
static double norm_of(const subject *s, double *error)
{
    vf_operator *normal;
    double eigenvalue;
    need(vf_operator_normal_of(s->a, &normal));
    need(vf_largest_eigenvalue(normal, s->queue, 30, 0.01, 7, &eigenvalue, NULL));
    vf_operator_free(normal);
    const double n = (double)(vf_operator_domain(s->a).count + vf_operator_codomain(s->a).count),
                 size = 2 * sqrt(eigenvalue);
    *error = (n + 8) * sqrt(n) * roundoff(s->precision) * size;
    return size;
}

static void check(const subject *s, const char *what, double off, double allowed)
{
    if (!(off <= allowed))
        fail_msg("%s: %s is off by %g, allowed %g (%s precision, %lld x %lld x %lld)", vf_operator_name(s->a), what,
                 off, allowed, s->precision == VF_F64 ? "double" : "single", (long long)s->matrix[0],
                 (long long)s->matrix[1], (long long)s->matrix[2]);
}

static void check_subject(const subject *s)
{
    const int64_t n = vf_operator_domain(s->a).count, m = vf_operator_codomain(s->a).count;
    const bool real = vf_operator_properties(s->a) & VF_OPERATOR_REAL_LINEAR;
    double error;
    const double size = norm_of(s, &error);
    double complex *x = random_numbers(s, n), *z = random_numbers(s, n), *y = random_numbers(s, m);
    double complex *ax = room(m, sizeof *ax), *az = room(m, sizeof *az), *ay = room(n, sizeof *ay);
    double complex *normal = room(n, sizeof *normal), *both = room(n, sizeof *both);
    carry_out(s, vf_operator_forward, s->a, n, m, x, ax);
    carry_out(s, vf_operator_forward, s->a, n, m, z, az);
    carry_out(s, vf_operator_adjoint, s->a, m, n, y, ay);
    /* <A x, y> = <x, A^H y> */
    const double complex apart = inner(m, ax, y) - inner(n, x, ay);
    check(s, "<A x, y> - <x, A^H y>", real ? fabs(creal(apart)) : cabs(apart),
          2 * error * size_of(n, x) * size_of(m, y));
    /* The normal, against the adjoint of what was made, rounded again on its way. */
    carry_out(s, vf_operator_normal, s->a, n, n, x, normal);
    carry_out(s, vf_operator_adjoint, s->a, m, n, ax, both);
    check(s, "A^H A x", distance(n, normal, both), (4 * error * size + s->normal_error * size * size) * size_of(n, x));
    /* A (a x + z) = a A x + A z; a power of two leaves a x exact, the sum is rounded once an element. */
    const double complex factor = real ? -0.5 : 0.25 * I;
    for (int64_t i = 0; i < n; i++)
        both[i] = rounded(s->precision, factor * x[i] + z[i]);
    carry_out(s, vf_operator_forward, s->a, n, m, both, y);
    for (int64_t i = 0; i < m; i++)
        ax[i] = factor * ax[i] + az[i];
    check(s, "A (a x + z) - a A x - A z", distance(m, y, ax), 3 * error * (size_of(n, x) + size_of(n, z)));
    assert_true(n == 0 || size_of(m, y) > 0); /* it does something */
    free(x);
    free(z);
    free(y);
    free(ax);
    free(az);
    free(ay);
    free(normal);
    free(both);
}

static void test_every_operator(void **state)
{
    (void)state;
    for (int i = 0; i < MAKERS * 2 * 3; i++) {
        subject *s = open_subject(i % MAKERS, i / MAKERS % 2 ? VF_F64 : VF_F32);
        check_subject(s);
        close_subject(s);
    }
}

/* ---- refusals ---- */

static void refused(vf_status status, const char *word)
{
    assert_int_equal(status, VF_ERR_ARGUMENT);
    if (!strstr(vf_context_message(ctx), word))
        fail_msg("\"%s\" does not say \"%s\"", vf_context_message(ctx), word);
    vf_context_clear_error(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    enum { COILS_MAKER = 6 };
    assert_ptr_equal(makers[COILS_MAKER], make_coils);
    subject *s = open_subject(COILS_MAKER, VF_F32), *t = open_subject(COILS_MAKER, VF_F64);
    vf_operator *out = s->a, *pair[2] = {s->a, s->a}, *mixed[2] = {s->a, t->a};
    vf_operator_methods none = {.name = "nothing"};
    double eigenvalue;
    vf_cg_result result;
    vf_cg_options options = {.iterations = 1};
    refused(vf_operator_chain(2, pair, &out), "do not fit");
    assert_null(out);
    refused(vf_operator_sum(2, mixed, &out), "do not fit");
    refused(vf_operator_stack(2, mixed, &out), "do not fit");
    refused(vf_operator_scale(NAN, s->a, &out), "factor");
    refused(vf_operator_create(device, &none, 0, image_space(s), image_space(s), NULL, &out), "missing method");
    refused(vf_operator_forward(s->a, s->queue, NULL, s->array[0].data), "missing");
    refused(vf_operator_forward(s->a, s->queue, s->array[0].data, s->array[0].data), "input is the output");
    refused(vf_largest_eigenvalue(s->a, s->queue, 1, 0, 1, &eigenvalue, NULL), "self-adjoint");
    refused(vf_cg(s->a, s->queue, &options, s->array[0].data, s->array[0].data, &result), "two spaces");
    refused(vf_operator_weights(device, image_space(s), NULL, &out), "weights");
    close_subject(s);
    close_subject(t);
}

/* ---- solvers ---- */

static bool stop_at_three(void *user, int iteration, double residual)
{
    assert_true(isfinite(residual));
    *(int *)user = iteration;
    return iteration == 3;
}

static void put_vector(const subject *s, const vf_array *to, const double complex *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, to->type, to->count, &host));
    for (int64_t n = 0; n < to->count; n++)
        put(&host, n, values[n]);
    vf_array target = *to;
    need(vf_array_copy(s->queue, &target, &host, to->count));
    need(vf_queue_sync(s->queue));
    vf_array_free(&host);
}

static void get_vector(const subject *s, const vf_array *from, double complex *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, from->type, from->count, &host));
    need(vf_array_copy(s->queue, &host, from, from->count));
    need(vf_queue_sync(s->queue));
    for (int64_t n = 0; n < from->count; n++)
        values[n] = get(&host, n);
    vf_array_free(&host);
}

/* (D + 1) x = b, D random between 0 and 1: as many iterations as D has values at most, the condition is 2. */
static void test_cg(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        subject *s = open_subject(MAKERS - 4, i % 2 ? VF_F64 : VF_F32); /* its own operator is not used */
        const int64_t n = s->voxels;
        const vf_dtype type = vf_dtype_complex(s->precision);
        vf_operator *parts[2], *a, *m, *minus;
        double *d = room(2 * n, sizeof *d), *inverse = room(2 * n, sizeof *d);
        double complex *right = random_numbers(s, n), *x = room(n, sizeof *x), *expected = room(n, sizeof *x);
        for (int64_t j = 0; j < n; j++) {
            d[j] = creal(rounded(s->precision, uniform()));
            inverse[j] = 1 / (d[j] + 1);
            expected[j] = right[j] / (d[j] + 1);
        }
        s->arrays = 4; /* behind those of the operator that is not used */
        need(vf_operator_identity(device, image_space(s), &parts[0]));
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &parts[1]));
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, inverse)->data, &m));
        need(vf_operator_sum(2, parts, &a));
        need(vf_operator_scale(-1, a, &minus));
        vf_array b = {0}, u = {0};
        need(vf_array_create(device, VF_SPACE_DEVICE, type, n, &b));
        need(vf_array_create(device, VF_SPACE_DEVICE, type, n, &u));
        /* A residual of t leaves an error of t |b| at most, for all eigenvalues are 1 and more; and as much for what
         * the recurrence's residual has drifted from the true one, some roundoffs. */
        const double tolerance = s->precision == VF_F64 ? 1e-12 : 1e-5;
        vf_cg_options options = {.iterations = 100, .tolerance = tolerance};
        vf_cg_result result;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_int_equal(result.end, VF_SOLVER_CONVERGED);
        assert_true(result.residual <= tolerance && (n < 3 || result.iterations > 1));
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        const int cold = result.iterations;
        /* From the solution on nothing is left to do; from near it, less. */
        options.warm = true;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations <= 1 && result.residual <= tolerance);
        get_vector(s, &u, x);
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        options.warm = false;
        /* The exact inverse as preconditioner: one iteration, two where it is rounded. */
        options.preconditioner = m;
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations <= 2 && result.iterations <= cold);
        assert_true(distance(n, x, expected) <= 2 * tolerance * size_of(n, right));
        options.preconditioner = NULL;
        /* Told to stop, out of iterations, not positive, not finite, nothing to do. */
        int last = 0;
        vf_cg_options few = {.iterations = 100, .tell = stop_at_three, .user = &last};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &few, b.data, u.data, &result));
        assert_true(n < 8 || (result.end == VF_SOLVER_STOPPED && result.iterations == 3 && last == 3));
        few = (vf_cg_options){.iterations = 2};
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &few, b.data, u.data, &result));
        assert_true(n < 8 || (result.end == VF_SOLVER_ITERATIONS && result.iterations == 2));
        put_vector(s, &b, right);
        need(vf_cg(minus, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_NOT_POSITIVE && result.iterations == 0);
        right[0] = number(NAN, 0);
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        assert_true(result.end == VF_SOLVER_OVERFLOW && !(result.residual <= tolerance && result.iterations));
        memset(right, 0, (size_t)n * sizeof *right);
        put_vector(s, &b, right);
        need(vf_cg(a, s->queue, &options, b.data, u.data, &result));
        get_vector(s, &u, x);
        assert_true(result.end == VF_SOLVER_CONVERGED && result.iterations == 0 && size_of(n, x) == 0);
        options.tolerance = NAN;
        refused(vf_cg(a, s->queue, &options, b.data, u.data, &result), "tolerance");
        vf_array_free(&b);
        vf_array_free(&u);
        vf_operator_free(parts[0]);
        vf_operator_free(parts[1]);
        vf_operator_free(a);
        vf_operator_free(m);
        vf_operator_free(minus);
        free(d);
        free(inverse);
        free(right);
        free(x);
        free(expected);
        close_subject(s);
    }
}

/* Of weights: the largest, which a power iteration approaches from below; one that stands out by half is found to
 * (2/3)^(2 iterations) of what separates them, times the number of elements. */
static void test_largest_eigenvalue(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        subject *s = open_subject(MAKERS - 4, i % 2 ? VF_F64 : VF_F32);
        const int64_t n = s->voxels;
        double *d = room(2 * n, sizeof *d), found;
        vf_operator *a;
        int used;
        for (int64_t j = 0; j < n; j++)
            d[j] = uniform();
        d[n / 2] = 1.5;
        s->arrays = 4;
        need(vf_operator_weights(device, image_space(s), put_numbers(s, s->precision, n, d)->data, &a));
        need(vf_largest_eigenvalue(a, s->queue, 60, 0, (uint64_t)i, &found, &used));
        assert_true(used <= 60 && found <= 1.5 * (1 + (double)(n + 8) * roundoff(s->precision)));
        /* A first share below 1e-6 of |v|^2 in one element of 343 at most is a chance in 3000; 60 iterations gain 21
         * decades on it. */
        assert_true(fabs(found - 1.5) <= 1e-4);
        vf_operator_free(a);
        free(d);
        close_subject(s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operator), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_cg), cmocka_unit_test(test_largest_eigenvalue)};
    return run_on_device(argc, argv, tests, NULL, NULL);
}
