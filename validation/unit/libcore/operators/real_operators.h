/* Operators under test without a kernel: one number per element, for complex or real images, and combinations of
 * them between real vectors, or between real and complex ones. */
#ifndef REAL_OPERATORS_H
#define REAL_OPERATORS_H

#include "operator_subject.h"
#include "voxfield/copy.h"

static inline vf_vector_space image_space(const subject *s)
{
    return (vf_vector_space){s->real ? s->precision : vf_dtype_complex(s->precision), s->voxels};
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
    return vf_vector_conjugate(queue, image_space(s).type, s->voxels, x, y);
}

/* Real-linear, and self-adjoint in that sense. */
static inline void make_conjugation(subject *s)
{
    static const vf_operator_methods methods = {.name = "conjugation", .forward = conjugate_forward};
    need(vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT | VF_OPERATOR_REAL_LINEAR, image_space(s),
                            image_space(s), s, &s->a));
}

/* Makes the operators so far a part of the next one. */
static inline void set_aside(subject *s, int number)
{
    s->part[number] = s->a;
    s->a = NULL;
}

/* ---- between real vectors ---- */

static inline void make_real_identity(subject *s)
{
    s->real = true;
    make_identity(s);
}

static inline void make_real_weights(subject *s)
{
    s->real = true;
    make_weights(s);
}

/* Periodic along y. Coefficients of either sign: it is symmetric, but not positive. */
static inline void make_real_stencil(subject *s)
{
    const int64_t *n = s->matrix, faces[3] = {(n[0] + 1) * n[1] * n[2], s->voxels, n[0] * n[1] * (n[2] + 1)};
    vf_stencil_options options = {.type = s->precision,
                                  .counts = {n[0], n[1], n[2]},
                                  .periodic = {false, true, false},
                                  .spacing = {1, 1.5, 0.75}};
    s->real = true;
    for (int a = 0; a < 3; a++)
        options.faces[a] = put_random(s, s->precision, faces[a], -1)->data;
    options.reaction = put_random(s, s->precision, s->voxels, -1)->data;
    need(vf_stencil_create(device, &options, &s->stencil));
    need(vf_stencil_operator_create(s->stencil, &s->a));
}

static inline void make_real_conjugation(subject *s)
{
    s->real = true;
    make_conjugation(s);
}

static inline void make_three_real(subject *s)
{
    make_real_weights(s);
    set_aside(s, 0);
    make_real_identity(s);
    set_aside(s, 1);
    make_real_weights(s);
    set_aside(s, 2);
}

static inline void make_real_sum(subject *s)
{
    make_three_real(s);
    need(vf_operator_sum(3, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_SELF_ADJOINT);
}

static inline void make_real_stack(subject *s)
{
    make_three_real(s);
    need(vf_operator_stack(3, s->part, &s->a));
    assert_int_equal(vf_operator_codomain(s->a).count, 3 * s->voxels);
    assert_int_equal(vf_operator_codomain(s->a).type, s->precision);
    assert_int_equal(vf_operator_properties(s->a), 0);
}

static inline void free_parts(subject *s) /* combinations keep them */
{
    for (int i = 0; i < MOST_PARTS; i++) {
        vf_operator_free(s->part[i]);
        s->part[i] = NULL;
    }
}

/* A stack as the only part. */
static inline void make_real_stack_part(subject *s)
{
    make_real_stack(s);
    free_parts(s);
    set_aside(s, 0);
}

static inline void make_real_multiple(subject *s)
{
    make_real_stack_part(s);
    need(vf_operator_scale(-2.5, s->part[0], &s->a));
}

static inline void make_real_normal(subject *s)
{
    make_real_stack_part(s);
    need(vf_operator_normal_of(s->part[0], &s->a));
}

static inline void make_real_adjoint(subject *s)
{
    make_real_stack_part(s);
    need(vf_operator_adjoint_of(s->part[0], &s->a));
}

static inline void make_real_chain(subject *s)
{
    make_real_stack_part(s);
    need(vf_operator_adjoint_of(s->part[0], &s->part[1]));
    make_real_weights(s);
    set_aside(s, 2);
    need(vf_operator_chain(3, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), 0);
}

/* ---- between complex and real vectors ---- */

static inline vf_status part_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const subject *s = state;
    const vf_pitch pairs = {2, 2 * s->voxels}, numbers = {1, s->voxels};
    return vf_copy_box(queue, s->precision, (const int64_t[3]){1, s->voxels, 1}, x, pairs, y, numbers);
}

static inline vf_status part_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const subject *s = state;
    const vf_pitch pairs = {2, 2 * s->voxels}, numbers = {1, s->voxels};
    const vf_status status = vf_fill(queue, vf_dtype_complex(s->precision), s->voxels, (const double[2]){0}, x);
    return status == VF_OK ? vf_copy_box(queue, s->precision, (const int64_t[3]){1, s->voxels, 1}, y, numbers, x, pairs)
                           : status;
}

static inline vf_status create_real_part(subject *s, unsigned properties, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "real part", .forward = part_forward, .adjoint = part_adjoint};
    const vf_vector_space from = {vf_dtype_complex(s->precision), s->voxels}, to = {s->precision, s->voxels};
    return vf_operator_create(device, &methods, properties, from, to, s, out);
}

static inline void make_real_part(subject *s)
{
    need(create_real_part(s, VF_OPERATOR_REAL_LINEAR, &s->a));
}

/* From complex to real and back. */
static inline void make_chain_by_real(subject *s)
{
    make_real_part(s);
    set_aside(s, 0);
    make_real_weights(s);
    set_aside(s, 1);
    need(vf_operator_adjoint_of(s->part[0], &s->part[2]));
    need(vf_operator_chain(3, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_REAL_LINEAR);
    assert_int_equal(vf_operator_codomain(s->a).type, vf_dtype_complex(s->precision));
}

/* From real to complex: two in sequence. */
static inline void make_stack_of_adjoints(subject *s)
{
    make_real_part(s);
    set_aside(s, 2);
    need(vf_operator_adjoint_of(s->part[2], &s->part[0]));
    need(vf_operator_scale(0.5, s->part[0], &s->part[1]));
    need(vf_operator_stack(2, s->part, &s->a));
    assert_int_equal(vf_operator_properties(s->a), VF_OPERATOR_REAL_LINEAR);
}

#endif
