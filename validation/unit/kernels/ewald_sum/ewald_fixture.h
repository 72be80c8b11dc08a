/* Potentials by Ewald sums of point charges on grids, and their comparison with the truth.
 *
 * The bound is the contract of ewald_sum.h: rms error over the grid at most the tolerance times the rms potential, and
 * 10 times that at any point. Rounding errors of terms are independent: in single precision each term may be off by 2 u
 * of itself in the mean, so a point by 2 u s, s the root of sum (q / r)^2, and 4 u s at most, u = 2^-24; s is that of
 * the point and, for the mean, of the grid. */
#ifndef EWALD_FIXTURE_H
#define EWALD_FIXTURE_H

#include <math.h>

#include "ewald_sum.h"
#include "kernels/cloud_fixture.h"

static inline vf_ewald *make_plan(const vf_grid *g, const cloud *c, const vf_ewald_options *o)
{
    const vf_coulomb_atoms charges = charges_of(c);
    vf_ewald *plan = NULL;
    need(vf_ewald_create(device, g, &charges, o, &plan));
    return plan;
}

/* The potential over a box, as doubles. NaN beforehand shows unwritten points. */
static inline double *compute(const vf_grid *g, const cloud *c, const vf_ewald_options *o, const vf_box *box)
{
    const int64_t points = vf_box_points(box);
    double *out = malloc((size_t)points * sizeof *out);
    vf_array values = {0}, host = {0};
    vf_queue *queue = NULL;
    assert_non_null(out);
    vf_ewald *plan = make_plan(g, c, o);
    need(vf_queue_create(device, &queue));
    need(vf_array_create(device, VF_SPACE_DEVICE, o->precision, points, &values));
    need(vf_array_create(device, VF_SPACE_PINNED, o->precision, points, &host));
    memset(host.data, 0xff, (size_t)points * vf_dtype_bytes(o->precision));
    need(vf_array_copy(queue, &values, &host, points));
    need(vf_ewald_execute(plan, queue, box, values.data));
    need(vf_array_copy(queue, &host, &values, points));
    need(vf_queue_sync(queue));
    for (int64_t i = 0; i < points; i++)
        out[i] = o->precision == VF_F64 ? ((double *)host.data)[i] : (double)((float *)host.data)[i];
    vf_array_free(&values);
    vf_array_free(&host);
    vf_queue_destroy(queue);
    vf_ewald_destroy(plan);
    return out;
}

static inline double *compute_all(const vf_grid *g, const cloud *c, const vf_ewald_options *o)
{
    const vf_box all = vf_grid_box(g);
    return compute(g, c, o, &all);
}

/* `spread` may be NULL. */
static inline void assert_close(const char *what, const vf_ewald_options *o, const double *got, const double *expected,
                                const double *spread, int64_t points, double slack)
{
    const double u = o->precision == VF_F64 ? 0x1p-53 : 0x1p-24;
    double size = 0, squares = 0, spreads = 0;
    for (int64_t i = 0; i < points; i++) {
        size += expected[i] * expected[i];
        spreads += spread ? spread[i] * spread[i] : 0;
    }
    size = sqrt(size / (double)points);
    spreads = sqrt(spreads / (double)points);
    for (int64_t i = 0; i < points; i++) {
        const double error = fabs(got[i] - expected[i]);
        squares += error * error;
        if (!(error <= 10 * o->tolerance * size * slack + 4 * u * (spread ? spread[i] : 0))) /* NaN, too */
            fail_msg("%s, %s, tolerance %g, coarseness %g: point %lld of %lld: %.12g instead of %.12g, off by %.3g of "
                     "%.3g, spread %.3g",
                     what, vf_dtype_name(o->precision), o->tolerance, o->coarseness, (long long)i, (long long)points,
                     got[i], expected[i], error, size, spread ? spread[i] : 0);
    }
    if (!(sqrt(squares / (double)points) <= o->tolerance * size * slack + 2 * u * spreads))
        fail_msg("%s, %s, tolerance %g, coarseness %g: rms error %.3g of %.3g, spread %.3g", what,
                 vf_dtype_name(o->precision), o->tolerance, o->coarseness, sqrt(squares / (double)points), size,
                 spreads);
}

static inline vf_grid random_grid(int64_t least, int64_t more)
{
    vf_grid g = {.cell = {.kind = VF_CELL_NONE}};
    const double spacing = 0.3 + 0.5 * uniform();
    for (int a = 0; a < 3; a++) {
        g.counts[a] = least + (int64_t)((double)more * uniform());
        g.spacing[a] = spacing * (uniform() < 0.5 ? 1 : 0.5 + uniform());
        g.origin[a] = 200 * uniform() - 100;
    }
    return g;
}

/* Charges in the part of the grid's box from `lo` to `hi`, in fractions of it. */
static inline cloud charges_in(const vf_grid *g, int64_t count, double lo, double hi)
{
    cloud c = make_cloud(count);
    for (int64_t i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++)
            c.data[a * count + i] =
                g->origin[a] + g->spacing[a] * (double)(g->counts[a] - 1) * (lo + (hi - lo) * uniform());
        c.data[3 * count + i] = 2 * uniform() - 1;
    }
    return c;
}

/* Groups of three that are neutral, as water is: charges 2 i and 2 i + 1 beside each other. */
static inline void make_neutral(cloud *c)
{
    for (int64_t i = 0; i + 2 < c->count; i += 3)
        for (int64_t m = 0; m < 3; m++) {
            c->data[3 * c->count + i + m] = m ? 0.4 : -0.8;
            for (int a = 0; a < 3; a++)
                c->data[a * c->count + i + m] = c->data[a * c->count + i] + (m ? 1.1 * uniform() - 0.55 : 0);
        }
    c->count = c->count / 3 * 3;
}

static inline vf_grid cell_grid(vf_cell_kind kind, int64_t counts, double most_tilt)
{
    vf_grid g = {.cell = {.kind = kind}};
    for (int a = 0; a < 3; a++) {
        g.counts[a] = counts + (int64_t)(4 * uniform());
        g.spacing[a] = 0.4 + 0.4 * uniform();
        g.origin[a] = 40 * uniform() - 20;
        g.cell.vectors[a][a] = g.spacing[a] * (double)g.counts[a];
        for (int b = 0; kind == VF_CELL_TRICLINIC && b < a; b++)
            g.cell.vectors[a][b] = most_tilt * (2 * uniform() - 1) * g.cell.vectors[b][b];
    }
    return g;
}

#endif
