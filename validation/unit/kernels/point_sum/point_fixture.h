/* Charges in a box, points between them, and potentials and fields there: by the sum under test and by the reference. */
#ifndef POINT_FIXTURE_H
#define POINT_FIXTURE_H

#include <math.h>

#include "kernels/ewald_sum/ewald_fixture.h"
#include "point_sum.h"

static const double u = 0x1p-53, pi = 3.14159265358979323846;

typedef struct result {
    int64_t count;
    double *values, *fields;
} result;

static inline result make_result(int64_t count)
{
    result r = {count, calloc((size_t)count + 1, sizeof(double)), calloc(3 * (size_t)count + 1, sizeof(double))};
    assert_true(r.values && r.fields);
    for (int64_t n = 0; n < count; n++)
        r.values[n] = r.fields[3 * n] = r.fields[3 * n + 1] = r.fields[3 * n + 2] = NAN;
    return r;
}

static inline void free_result(result *r)
{
    free(r->values);
    free(r->fields);
}

static inline result sum_at(const cloud *c, const vf_point_options *o, const vf_point_list *list, bool *fast)
{
    const vf_coulomb_atoms charges = charges_of(c);
    result r = make_result(list->count);
    vf_point_sum *plan = NULL;
    vf_point_info info;
    /* as for many more points, so that the direct sum is not cheaper */
    need(vf_point_sum_create(ctx, &charges, o, list, 100 * (double)list->count, &plan));
    need(vf_point_sum_execute(plan, list, r.values, o->fields ? r.fields : NULL));
    vf_point_sum_get_info(plan, &info);
    if (fast)
        *fast = info.fast;
    vf_point_sum_destroy(plan);
    return r;
}

static inline result reference_at(const cloud *c, const vf_point_options *o, const vf_point_list *list)
{
    const vf_coulomb_atoms charges = charges_of(c);
    result r = make_result(list->count);
    vf_point_sum_reference(&charges, o, list, r.values, r.fields);
    return r;
}

static inline cloud box_of(int64_t count, const double edge[3])
{
    cloud c = make_cloud(count);
    for (int64_t i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++)
            c.data[a * count + i] = edge[a] * uniform();
        c.data[3 * count + i] = 2 * uniform() - 1;
    }
    return c;
}

static inline double *points_in(int64_t count, const double lo[3], const double hi[3])
{
    double *p = malloc((size_t)count * 3 * sizeof *p + 8);
    assert_non_null(p);
    for (int64_t n = 0; n < 3 * count; n++)
        p[n] = uniform_between(lo[n % 3], hi[n % 3]);
    return p;
}

/* Each charge without itself. *first and *excluded: [n + 1], [n]. */
static inline void exclude_selves(int64_t n, int64_t **first, int64_t **excluded)
{
    *first = malloc((size_t)(n + 1) * sizeof **first);
    *excluded = malloc((size_t)(n + 1) * sizeof **excluded);
    assert_non_null(*first);
    assert_non_null(*excluded);
    for (int64_t i = 0; i <= n; i++)
        (*first)[i] = (*excluded)[i] = i;
}

static inline double *places(const cloud *c)
{
    double *p = malloc((size_t)c->count * 3 * sizeof *p);
    assert_non_null(p);
    for (int64_t n = 0; n < 3 * c->count; n++)
        p[n] = c->data[n % 3 * c->count + n / 3];
    return p;
}

#endif
