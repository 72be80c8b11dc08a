/* Stencils with random coefficients, their definition in long double, and runs of a variant on a device. */
#ifndef STENCIL_FIXTURE_H
#define STENCIL_FIXTURE_H

#include <math.h>

#include "queue_fixture.h"
#include "stencil/stencil_plan.h"

enum { GUARD = 40 }; /* elements on both sides of a result, which must stay */

/* An array on the host, and its copy on the device. */
typedef struct numbers {
    vf_dtype type;
    int64_t count;
    void *host;
    vf_array array;
} numbers;

static inline double get(const numbers *a, int64_t i)
{
    return a->type == VF_F32 ? (double)((const float *)a->host)[i] : ((const double *)a->host)[i];
}

static inline void put(numbers *a, int64_t i, double value)
{
    if (a->type == VF_F32)
        ((float *)a->host)[i] = (float)value;
    else
        ((double *)a->host)[i] = value;
}

static inline void upload(vf_queue *q, numbers *a)
{
    if (a->count > 0)
        assert_int_equal(vf_queue_copy(q, a->array.data, a->host, (size_t)a->count * vf_dtype_bytes(a->type)), VF_OK);
    assert_int_equal(vf_queue_sync(q), VF_OK);
}

static inline void download(vf_queue *q, numbers *a)
{
    if (a->count > 0)
        assert_int_equal(vf_queue_copy(q, a->host, a->array.data, (size_t)a->count * vf_dtype_bytes(a->type)), VF_OK);
    assert_int_equal(vf_queue_sync(q), VF_OK);
}

static inline numbers make_numbers(vf_queue *q, vf_dtype type, int64_t count, double from, double to)
{
    numbers a = {.type = type, .count = count, .host = malloc((size_t)(count + 1) * sizeof(double))};
    assert_non_null(a.host);
    assert_int_equal(vf_array_create(vf_queue_device(q), VF_SPACE_DEVICE, type, count, &a.array), VF_OK);
    for (int64_t i = 0; i < count; i++)
        put(&a, i, uniform_between(from, to));
    upload(q, &a);
    return a;
}

static inline void free_numbers(numbers *a)
{
    vf_array_free(&a->array);
    free(a->host);
}

typedef enum form { CONSTANT, VARIABLE, REACTION, FORMS } form;

typedef struct problem {
    vf_queue *queue;
    vf_stencil_options options;
    int64_t points;
    numbers faces[3], reaction, x, b; /* faces and reaction, unless constant */
} problem;

static inline int64_t faces_along(const vf_stencil_options *o, int axis, int family)
{
    return o->counts[axis] + (axis == family && !o->periodic[axis] ? 1 : 0);
}

static inline problem make_problem(vf_queue *q, vf_dtype type, form kind, const int64_t counts[3],
                                   const bool periodic[3])
{
    problem p = {.queue = q, .options = {.type = type, .centre = 7.3}};
    for (int a = 0; a < 3; a++) {
        p.options.counts[a] = counts[a];
        p.options.periodic[a] = periodic[a];
        p.options.axis[a] = uniform_between(-0.3, 0.3); /* so that A_pp is known to 6 u, if it is a sum */
        p.options.spacing[a] = uniform_between(0.5, 2);
    }
    p.points = counts[0] * counts[1] * counts[2];
    for (int a = 0; a < 3 && kind != CONSTANT; a++) {
        const int64_t count =
            faces_along(&p.options, 0, a) * faces_along(&p.options, 1, a) * faces_along(&p.options, 2, a);
        p.faces[a] = make_numbers(q, type, count, 0.5, 80);
        p.options.faces[a] = p.faces[a].array.data;
    }
    if (kind == REACTION) {
        p.reaction = make_numbers(q, type, p.points, 0, 3);
        p.options.reaction = p.reaction.array.data;
    }
    p.x = make_numbers(q, type, p.points, -1, 1);
    p.b = make_numbers(q, type, p.points, -1, 1);
    return p;
}

static inline void free_problem(problem *p)
{
    for (int a = 0; a < 3; a++)
        free_numbers(&p->faces[a]);
    free_numbers(&p->reaction);
    free_numbers(&p->x);
    free_numbers(&p->b);
}

/* A number rounded to the problem's type. */
static inline double rounded(const problem *p, double value)
{
    return p->options.type == VF_F32 ? (double)(float)value : value;
}

/* ---- the definition ---- */

/* (A x)_p of the header, the sum of the magnitudes of all its terms, and A_pp. */
typedef struct defined {
    long double value, magnitude, diagonal;
} defined;

static inline long double value_at(const problem *p, const numbers *x, const int64_t at[3])
{
    int64_t index = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t n = p->options.counts[a], i = p->options.periodic[a] ? (at[a] + n) % n : at[a];
        if (i < 0 || i >= n)
            return 0;
        index = index * n + i;
    }
    return get(x, index);
}

static inline long double face_at(const problem *p, int family, const int64_t at[3])
{
    int64_t index = 0;
    for (int a = 2; a >= 0; a--)
        index = index * faces_along(&p->options, a, family) + at[a] % faces_along(&p->options, a, family);
    return get(&p->faces[family], index);
}

static inline defined define(const problem *p, const numbers *x, const int64_t at[3], int64_t point)
{
    const bool variable = p->options.faces[0] != NULL;
    const long double here = value_at(p, x, at), centre = rounded(p, p->options.centre);
    defined d = {0};
    if (!variable)
        d = (defined){centre * here, fabsl(centre * here), centre};
    for (int a = 0; a < 3; a++) {
        int64_t below[3] = {at[0], at[1], at[2]}, above[3] = {at[0], at[1], at[2]};
        below[a]--;
        above[a]++;
        const long double low = value_at(p, x, below), high = value_at(p, x, above);
        const bool itself = p->options.periodic[a] && p->options.counts[a] == 1;
        if (variable) {
            const double h = p->options.spacing[a];
            const long double weight = rounded(p, 1 / (h * h)), c_low = face_at(p, a, at),
                              c_high = face_at(p, a, above);
            d.value += weight * (c_low * (here - low) + c_high * (here - high));
            d.magnitude += weight * (c_low * (fabsl(here) + fabsl(low)) + c_high * (fabsl(here) + fabsl(high)));
            d.diagonal += itself ? 0 : weight * (c_low + c_high);
        } else {
            const long double factor = rounded(p, p->options.axis[a]);
            d.value += factor * (low + high);
            d.magnitude += fabsl(factor) * (fabsl(low) + fabsl(high));
            d.diagonal += itself ? 2 * factor : 0;
        }
    }
    if (p->options.reaction) {
        const long double r = get(&p->reaction, point);
        d.value += r * here;
        d.magnitude += fabsl(r * here);
        d.diagonal += r;
    }
    return d;
}

/* ---- runs ---- */

typedef enum action { APPLY, SWEEP } action;
#define OMEGA 0.7

static inline vf_stencil *make_plan(const problem *p, const char *variant)
{
    vf_stencil *plan;
    vf_stencil_options options = p->options;
    options.variant = variant;
    assert_int_equal(vf_stencil_create(vf_queue_device(p->queue), &options, &plan), VF_OK);
    return plan;
}

/* The result of a variant; what is beside the result in memory must stay. */
static inline numbers run_with(problem *p, const char *variant, action what, bool wide_indices)
{
    vf_stencil *plan = make_plan(p, variant);
    plan->wide = wide_indices;
    numbers wide = make_numbers(p->queue, p->options.type, p->points + 2 * GUARD, 5, 6);
    numbers before = make_numbers(p->queue, p->options.type, p->points, 0, 0);
    void *y = vf_array_at(&wide.array, GUARD);
    const size_t size = vf_dtype_bytes(p->options.type);
    double guards[2 * GUARD];
    for (int g = 0; g < 2 * GUARD; g++)
        guards[g] = get(&wide, g < GUARD ? g : p->points + g);
    if (what == APPLY)
        assert_int_equal(vf_stencil_apply(plan, p->queue, p->x.array.data, y), VF_OK);
    else
        assert_int_equal(vf_stencil_jacobi(plan, p->queue, 1, OMEGA, p->b.array.data, p->x.array.data, y), VF_OK);
    download(p->queue, &wide);
    for (int g = 0; g < 2 * GUARD; g++)
        assert_true(guards[g] == get(&wide, g < GUARD ? g : p->points + g));
    memcpy(before.host, (const char *)wide.host + GUARD * size, (size_t)p->points * size);
    free_numbers(&wide);
    vf_stencil_destroy(plan);
    return before;
}

static inline numbers run_variant(problem *p, const char *variant, action what)
{
    return run_with(p, variant, what, false);
}

#endif
