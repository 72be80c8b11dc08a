/* Every existing linear operator on small random problems, and vectors on the device. */
#ifndef OPERATOR_FIXTURE_H
#define OPERATOR_FIXTURE_H

#include "free_all.h"
#include "real_operators.h"

/* ---- the subjects ---- */

static inline vf_sum_shape shape_of(const subject *s, int batch)
{
    return (vf_sum_shape){device, s->precision, s->voxels, SAMPLES_HERE, batch};
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

static inline void make_plan(const subject *s, vf_encode_by by, int extent, const int64_t matrix[3], int batch,
                             vf_encoding **out)
{
    const vf_encoding_samples samples = {.count = SAMPLES_HERE, .k = s->k};
    const vf_encoding_options options = {
        .by = by, .precision = s->precision, .accuracy = NUFFT_ACCURACY, .most_batch = batch, .extent = extent};
    need(vf_encoding_create(device, matrix, &samples, &options, out));
}

/* F^H W F for samples off the grid, by a Q from a direct sum. */
static inline void make_normal_matrix(subject *s, vf_encode_by by, const double *weights)
{
    const vf_normal_task task = {.matrix = {s->matrix[0], s->matrix[1], s->matrix[2]},
                                 .samples = SAMPLES_HERE,
                                 .k = s->k,
                                 .weights = weights,
                                 .encoding = {.by = by, .precision = s->precision, .accuracy = NUFFT_ACCURACY}};
    need(vf_normal_create(device, &task, &s->normal));
}

static inline void make_normal_operator(subject *s, vf_encode_by by)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    make_normal_matrix(s, by, NULL);
    need(vf_normal_operator(device, s->precision, s->voxels, &s->normal, COILS_HERE, maps, &s->a));
}

static inline void make_toeplitz(subject *s)
{
    make_normal_operator(s, VF_ENCODE_DIRECT);
}

static inline void make_cartesian_normal(subject *s)
{
    round_samples(s);
    make_normal_operator(s, VF_ENCODE_CARTESIAN);
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

static inline void make_wavelets(subject *s)
{
    const vf_wavelet_options options = {.counts = {s->matrix[0], s->matrix[1], s->matrix[2]},
                                        .precision = s->precision,
                                        .moments = 1 + (int)(uniform() * 2)};
    const int64_t shift[3] = {(int64_t)(uniform() * 9) - 4, (int64_t)(uniform() * 9), 1};
    need(vf_wavelet_create(device, &options, &s->wavelet));
    need(vf_wavelet_operator(device, s->precision, shift, s->wavelet, &s->a));
}

/* A series of 2 to 4 frames. Frames are always among the axes, so that there are differences. */
static inline unsigned random_series(const subject *s, int64_t counts[4])
{
    for (int a = 0; a < 3; a++)
        counts[a] = s->matrix[a];
    counts[3] = 2 + (int64_t)(uniform() * 3);
    return 8 + (unsigned)(uniform() * 8);
}

static inline void make_gradient(subject *s)
{
    int64_t counts[4];
    const unsigned axes = random_series(s, counts);
    need(vf_differences_operator(device, s->precision, counts, axes, &s->a));
}

static inline void make_symmetric_gradient(subject *s)
{
    int64_t counts[4];
    const unsigned axes = random_series(s, counts);
    need(vf_symmetric_gradient_operator(device, s->precision, counts, axes, &s->a));
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
    vf_sense_operator of = {.shape = shape_of(s, 1), .encoding = s->encoding, .coils = COILS_HERE};
    of.maps = put_random(s, vf_dtype_complex(s->precision), COILS_HERE * s->voxels, -1)->data;
    of.weights = put_numbers(s, s->precision, COILS_HERE * SAMPLES_HERE, w)->data;
    if (with_normal) {
        double squares[SAMPLES_HERE];
        for (int m = 0; m < SAMPLES_HERE; m++)
            squares[m] = w[m] * w[m];
        make_normal_matrix(s, by == VF_ENCODE_CARTESIAN ? by : VF_ENCODE_DIRECT, squares);
        of.normal = &s->normal;
    }
    /* F and F^H each have errors of the accuracy, relative to sqrt(samples voxels), which may be sqrt(voxels) ||F||. */
    s->normal_error = by == VF_ENCODE_NUFFT && with_normal ? 2 * NUFFT_ACCURACY * sqrt((double)s->voxels) : 0;
    need(vf_sense_operator_create(&of, &s->a));
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

/* For both images of two sets. */
static inline void make_prior(subject *s, vf_prior_kind kind)
{
    const vf_prior_options options = {
        .kind = kind, .precision = s->precision, .counts = {s->matrix[0], s->matrix[1], s->matrix[2]}};
    need(vf_prior_create(s->queue, &options, &s->prior));
    s->prior.lambda = 0.5 + uniform();
    need(vf_prior_operator(&s->prior, device, s->precision, 2, &s->a));
}

static inline void make_identity_prior(subject *s)
{
    make_prior(s, VF_PRIOR_IDENTITY);
}

static inline void make_differences_prior(subject *s)
{
    make_prior(s, VF_PRIOR_DIFFERENCES);
}

/* Copies an array; the prior frees the copy. */
static inline vf_array copy_of(const subject *s, const vf_array *array)
{
    vf_array copy = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, array->type, array->count, &copy));
    need(vf_array_copy(s->queue, &copy, array, array->count));
    need(vf_queue_sync(s->queue));
    return copy;
}

/* With every feature of the spectrum's prior: an envelope, a support, the image's phase, random spectra. */
static inline void fill_spectrum(subject *s)
{
    const vf_dtype type = vf_dtype_complex(s->precision);
    const int64_t n = s->voxels;
    double odd[VF_PRIOR_INVERSE_DATA_IMAGINARY];
    double *m = room(n, sizeof *m), *turn = room(6 * n, sizeof *turn), *mask = room(2 * n, sizeof *mask);
    vf_array *const rooms[3] = {&s->prior.flat, &s->prior.part, &s->prior.rest};
    for (int which = 0; which < VF_PRIOR_MATRICES; which++) {
        const double a[3] = {uniform(), uniform(), uniform()};
        if (which < VF_PRIOR_INVERSE_DATA_IMAGINARY)
            odd[which] = which == VF_PRIOR_WEIGHTS ? 0 : uniform();
        const double b = odd[which < VF_PRIOR_INVERSE_DATA_IMAGINARY ? which : which - 2];
        for (int64_t i = 0; i < n; i++) { /* even in k, except for an odd part that is equal in both of a pair */
            const double x = (double)(i % s->matrix[0] - s->matrix[0] / 2),
                         y = (double)(i / s->matrix[0] % s->matrix[1] - s->matrix[1] / 2),
                         z = (double)(i / s->matrix[0] / s->matrix[1] - s->matrix[2] / 2);
            m[i] = 2 + a[0] * x * x + a[1] * fabs(y) + a[2] * z * z +
                   b * sin(6.283185307179586 * x / (double)s->matrix[0]);
        }
        need(vf_circulant_set(s->prior.circulant, s->queue, which, m));
    }
    for (int64_t i = 0; i < n; i++) {
        const double phi = 6.283 * uniform();
        for (int part = 0; part < 2; part++) {
            turn[2 * i + part] = 0.5 * (part ? sin(2 * phi) : cos(2 * phi));
            turn[2 * (n + i) + part] = part ? sin(phi) : cos(phi);
            turn[2 * (2 * n + i) + part] = part ? -sin(phi) : cos(phi);
        }
        mask[i] = mask[n + i] = i == 0 || uniform() < 0.8;
    }
    s->prior.imaginary = 0.1;
    s->prior.preconditioned = true;
    s->prior.half_turn = copy_of(s, put_numbers(s, type, n, turn));
    s->prior.turn = copy_of(s, put_numbers(s, type, n, turn + 2 * n));
    s->prior.turn_back = copy_of(s, put_numbers(s, type, n, turn + 4 * n));
    s->prior.support = copy_of(s, put_numbers(s, s->precision, 2 * n, mask));
    s->prior.flatten = copy_of(s, put_random(s, s->precision, n, 0.1));
    s->prior.balance = copy_of(s, put_random(s, s->precision, 2 * n, 0.1));
    s->prior.envelope = copy_of(s, put_random(s, s->precision, 2 * n, 0.1));
    for (int i = 0; i < 3; i++)
        need(vf_array_create(device, VF_SPACE_DEVICE, type, n, rooms[i]));
    FREE_ALL(m, turn, mask);
}

static inline void make_preconditioner(subject *s)
{
    make_prior(s, VF_PRIOR_SPECTRUM);
    fill_spectrum(s);
    vf_operator_free(s->a);
    need(vf_prior_inverse_operator(&s->prior, device, s->precision, 2, &s->a));
    assert_true(vf_operator_properties(s->a) & VF_OPERATOR_REAL_LINEAR);
}

/* It is self-adjoint only between images that are 0 outside the support, so here there is no support. */
static inline void make_spectrum_prior(subject *s)
{
    make_prior(s, VF_PRIOR_SPECTRUM);
    fill_spectrum(s);
    vf_array_free(&s->prior.support);
    vf_operator_free(s->a);
    need(vf_prior_operator(&s->prior, device, s->precision, 2, &s->a));
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
    make_plan(s, VF_ENCODE_NUFFT, 1, s->matrix, 1, &s->other);
    need(vf_encoding_operator(&shape, s->encoding, &s->part[0]));
    need(vf_encoding_operator(&shape, s->other, &s->part[1]));
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

/* F^H W F of two images with a set of maps each. */
static inline void make_normal_of_sets(subject *s)
{
    const void *maps = put_random(s, vf_dtype_complex(s->precision), 2 * COILS_HERE * s->voxels, -1)->data;
    make_normal_matrix(s, VF_ENCODE_DIRECT, NULL);
    need(vf_normal_sets_operator(device, s->precision, s->voxels, &s->normal, 2, COILS_HERE, maps, &s->a));
}

/* A + lambda P. The prior has the vectors of two images. */
static inline void make_regularized(subject *s)
{
    make_differences_prior(s);
    vf_operator_free(s->a);
    const vf_vector_space space = {vf_dtype_complex(s->precision), 2 * s->voxels};
    need(vf_operator_weights(device, space, put_random(s, s->precision, space.count, 0.1)->data, &s->lasting));
    need(vf_regularized_operator(s->lasting, &s->prior, &s->a));
}

/* Two ways to compute one sum, the second one in a queue of its own. */
static inline void make_sum_of_devices(subject *s)
{
    make_sum_of_sums(s);
    vf_operator_free(s->a);
    need(vf_queue_create(device, &s->away));
    const vf_operator_part part[2] = {{s->part[0], NULL}, {s->part[1], s->away}};
    need(vf_operator_sum_of_devices(2, part, &s->a));
}

/* Blocks that are not square, of which the second works in a queue of its own. */
static inline void make_blocks(subject *s)
{
    make_sum_of_sums(s);
    vf_operator_free(s->a);
    need(vf_queue_create(device, &s->away));
    const vf_operator_part part[3] = {{s->part[0], NULL}, {s->part[1], s->away}, {s->part[0], NULL}};
    need(vf_operator_blocks(3, part, &s->a));
}

static void (*const makers[])(subject *s) = {make_fourier,
                                             make_nufft,
                                             make_cartesian,
                                             make_cartesian_normal,
                                             make_toeplitz,
                                             make_circulant,
                                             make_coils,
                                             make_differences,
                                             make_wavelets,
                                             make_scan_directly,
                                             make_scan_with_q,
                                             make_scan_on_grid,
                                             make_identity,
                                             make_weights,
                                             make_conjugation,
                                             make_chain,
                                             make_chain_of_one,
                                             make_sum,
                                             make_sum_of_sums,
                                             make_real_linear_sum,
                                             make_stack,
                                             make_multiple,
                                             make_normal,
                                             make_adjoint,
                                             make_identity_prior,
                                             make_differences_prior,
                                             make_spectrum_prior,
                                             make_preconditioner,
                                             make_real_identity,
                                             make_real_weights,
                                             make_real_conjugation,
                                             make_real_stencil,
                                             make_real_sum,
                                             make_real_stack,
                                             make_real_multiple,
                                             make_real_normal,
                                             make_real_adjoint,
                                             make_real_chain,
                                             make_real_part,
                                             make_chain_by_real,
                                             make_stack_of_adjoints,
                                             make_gradient,
                                             make_symmetric_gradient,
                                             make_normal_of_sets,
                                             make_regularized,
                                             make_sum_of_devices,
                                             make_blocks};
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
    free_parts(s);
    return s;
}

static inline void close_subject(subject *s)
{
    need(vf_queue_sync(s->queue));
    vf_operator_free(s->a);
    vf_operator_free(s->lasting);
    vf_queue_destroy(s->away);
    vf_fourier_destroy(s->fourier);
    vf_nufft_destroy(s->nufft);
    vf_cartesian_destroy(s->cartesian);
    vf_normal_free(&s->normal);
    vf_circulant_destroy(s->circulant);
    vf_stencil_destroy(s->stencil);
    vf_wavelet_destroy(s->wavelet);
    vf_encoding_destroy(s->encoding);
    vf_encoding_destroy(s->other);
    vf_prior_free(&s->prior);
    for (int i = 0; i < s->arrays; i++)
        vf_array_free(&s->array[i]);
    vf_queue_destroy(s->queue);
    free(s);
}

#endif
