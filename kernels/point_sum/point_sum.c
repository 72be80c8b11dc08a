/* The front end: checks, exact sums, exclusions. */
#include "point_sum.h"

#include <math.h>
#include <stdlib.h>

#include "coulomb_points.h"
#include "ewald_gaussian.h"
#include "ewald_sum.h"
#include "point_sum_internal.h"
#include "voxfield/team_size.h"

struct vf_point_sum {
    vf_context *ctx;
    vf_coulomb_atoms charges;
    vf_point_options options;
    point_fast *fast;      /* NULL: exact */
    vf_ewald_field *field; /* exact, in a cell */
};

static const double exact_in_cells =
    1e-13; /* of vf_ewald_field; what it leaves out is less than rounding errors then */

/* ---- checks ---- */

static vf_status check_options(vf_context *ctx, const vf_point_options *o)
{
    const bool periodic = o->cell.kind != VF_CELL_NONE;
    if (!vf_cell_valid(&o->cell))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: the cell is invalid");
    if (!isfinite(o->scale))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: the scale, %g, is not finite", o->scale);
    if (!(o->r_min >= VF_COULOMB_MIN_R_MIN) || !(o->r_min <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: the smallest distance r_min, %g, is not between %g and %g",
                       o->r_min, VF_COULOMB_MIN_R_MIN, VF_COULOMB_MAX_COORDINATE);
    if (o->sigma != 0 && (!(o->sigma >= VF_EWALD_LEAST_SIGMA) || !(o->sigma <= VF_COULOMB_MAX_COORDINATE)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: sigma, %g, is not 0 or between %g and %g", o->sigma,
                       VF_EWALD_LEAST_SIGMA, VF_COULOMB_MAX_COORDINATE);
    if (o->tolerance != 0 && (!(o->tolerance >= 0.999999 * VF_EWALD_FINEST_F64) || !(o->tolerance <= 0.1)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: tolerance %g is not 0 or between %g and 0.1", o->tolerance,
                       VF_EWALD_FINEST_F64);
    if (!(o->exactness >= 0) || !(o->exactness <= 0.1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: exactness %g is out of range", o->exactness);
    if (o->distance_dielectric && (periodic || o->sigma > 0 || o->tolerance > 0))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "sum at points: a distance-dependent dielectric needs the exact sum of points in free space");
    if (o->vacuum && !periodic)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "sum at points: a vacuum boundary needs a periodic cell");
    return VF_OK;
}

static vf_status check_charges(vf_context *ctx, const vf_coulomb_atoms *c, const vf_point_options *o)
{
    const double most = VF_COULOMB_MAX_COORDINATE;
    for (int64_t i = 0; i < c->count; i++)
        if (!(fabs(c->x[i]) <= most) || !(fabs(c->y[i]) <= most) || !(fabs(c->z[i]) <= most) ||
            !isfinite(c->charge[i] * o->scale))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "sum at points: charge %lld at (%g, %g, %g) with charge %g is out of range",
                           (long long)i + 1, c->x[i], c->y[i], c->z[i], c->charge[i]);
    return o->cell.kind == VF_CELL_NONE ? VF_OK : vf_ewald_check_cell(ctx, &o->cell, o->vacuum ? c : NULL);
}

static vf_status check_list(const vf_point_sum *p, const vf_point_list *list)
{
    for (int64_t n = 0; n < list->count; n++)
        for (int a = 0; a < 3; a++)
            if (!(fabs(list->points[3 * n + a]) <= VF_COULOMB_MAX_COORDINATE))
                return vf_fail(p->ctx, VF_ERR_ARGUMENT, "sum at points: point %lld has the coordinate %g",
                               (long long)n + 1, list->points[3 * n + a]);
    for (int64_t e = 0; list->first && e < list->first[list->count]; e++)
        if (list->excluded[e] < 0 || list->excluded[e] >= p->charges.count)
            return vf_fail(p->ctx, VF_ERR_ARGUMENT, "sum at points: excluded charge %lld does not exist",
                           (long long)list->excluded[e]);
    return VF_OK;
}

/* ---- exact sums ---- */

static void add_gaussians(const vf_coulomb_atoms *charges, double b, const double r[3], double *value, double *field)
{
    for (int64_t i = 0; i < charges->count; i++) {
        const double d[3] = {r[0] - charges->x[i], r[1] - charges->y[i], r[2] - charges->z[i]};
        const double distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        *value += charges->charge[i] * ewald_erf_value(b, distance);
        const double pull = field ? -charges->charge[i] * ewald_erf_slope(b, distance) : 0;
        for (int a = 0; field && a < 3; a++)
            field[a] += pull * d[a];
    }
}

static vf_status sum_gaussians(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *o,
                               int64_t count, const double *points, double *values, double *fields)
{
    const double b = 1 / (sqrt(2) * o->sigma);
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, 20 * count * charges->count))
    for (int64_t n = 0; n < count; n++) {
        double value = 0, field[3] = {0};
        if (vf_cancelled(ctx))
            continue;
        add_gaussians(charges, b, points + 3 * n, &value, fields ? field : NULL);
        values[n] = o->scale * value;
        for (int a = 0; fields && a < 3; a++)
            fields[3 * n + a] = o->scale * field[a];
    }
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status point_sum_exactly(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *o, int64_t count,
                            const double *points, double *values, double *fields)
{
    const vf_coulomb_options direct = {
        .scale = o->scale, .r_min = o->r_min, .distance_dielectric = o->distance_dielectric};
    if (o->sigma > 0)
        return sum_gaussians(ctx, charges, o, count, points, values, fields);
    return vf_coulomb_points(ctx, charges, &direct, count, points, values, fields);
}

/* ---- exclusions ---- */

typedef struct nearest {
    double d[3], square;
} nearest;

static void take_nearer(void *user, const double image[3])
{
    nearest *n = user;
    const double square = image[0] * image[0] + image[1] * image[1] + image[2] * image[2];
    if (!(square < n->square))
        return;
    *n = (nearest){{image[0], image[1], image[2]}, square};
}

/* d to its image nearest to 0. Rounding along z, then y, then x leaves half an edge of the lower triangular cell along each axis;
 * a nearer image can only be in a box of that distance. */
static void to_nearest(const vf_cell *cell, double d[3])
{
    for (int i = 2; i >= 0; i--) {
        const double turns = nearbyint(d[i] / cell->vectors[i][i]);
        for (int a = 0; a < 3; a++)
            d[a] -= turns * cell->vectors[i][a];
    }
    if (cell->kind != VF_CELL_TRICLINIC)
        return;
    nearest best = {{d[0], d[1], d[2]}, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]};
    const double reach = sqrt(best.square), lo[3] = {-reach, -reach, -reach}, hi[3] = {reach, reach, reach};
    const double from[3] = {d[0], d[1], d[2]};
    vf_cell_images(cell, from, lo, hi, take_nearer, &best);
    for (int a = 0; a < 3; a++)
        d[a] = best.d[a];
}

/* g(r) and -g'(r) / r */
static void law_at(const vf_point_options *o, double r, double *value, double *pull)
{
    const double b = o->sigma > 0 ? 1 / (sqrt(2) * o->sigma) : 0, bounded = fmax(r, o->r_min);
    *value = o->sigma > 0 ? ewald_erf_value(b, r) : o->distance_dielectric ? 1 / (bounded * bounded) : 1 / bounded;
    *pull = o->sigma > 0             ? -ewald_erf_slope(b, r)
            : r < o->r_min           ? 0
            : o->distance_dielectric ? 2 * *value * *value
                                     : *value * *value * *value;
}

void point_sum_exclude(const vf_coulomb_atoms *charges, const vf_point_options *o, const vf_point_list *list, int64_t n,
                       double *value, double *field)
{
    for (int64_t e = list->first ? list->first[n] : 0; list->first && e < list->first[n + 1]; e++) {
        const int64_t i = list->excluded[e];
        double d[3] = {list->points[3 * n] - charges->x[i], list->points[3 * n + 1] - charges->y[i],
                       list->points[3 * n + 2] - charges->z[i]},
               term, pull;
        if (o->cell.kind != VF_CELL_NONE)
            to_nearest(&o->cell, d);
        law_at(o, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), &term, &pull);
        *value -= o->scale * charges->charge[i] * term;
        for (int a = 0; field && a < 3; a++)
            field[a] -= o->scale * charges->charge[i] * pull * d[a];
    }
}

/* ---- plans ---- */

static vf_status make_field(vf_point_sum *p, double expected)
{
    const vf_point_options *o = &p->options;
    const vf_ewald_options ewald = {.scale = o->scale,
                                    .r_min = o->r_min,
                                    .tolerance = o->exactness > 0 ? o->exactness : exact_in_cells,
                                    .sigma = o->sigma,
                                    .vacuum = o->vacuum};
    return vf_ewald_field_create(p->ctx, &o->cell, &p->charges, &ewald, (int64_t)fmin(fmax(expected, 1), 1e9),
                                 &p->field);
}

vf_status vf_point_sum_create(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *options,
                              const vf_point_list *typical, double expected, vf_point_sum **out)
{
    *out = NULL;
    vf_status status = check_options(ctx, options);
    VF_TRY(status, check_charges(ctx, charges, options));
    vf_point_sum *p = status == VF_OK ? calloc(1, sizeof *p) : NULL;
    if (status != VF_OK)
        return status;
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "sum at points: not enough memory");
    *p = (vf_point_sum){.ctx = ctx, .charges = *charges, .options = *options};
    status = check_list(p, typical);
    if (status == VF_OK && options->tolerance > 0 && typical->count > 0)
        status = point_fast_create(ctx, &p->charges, options, typical, expected, &p->fast);
    if (status == VF_OK && !p->fast && options->cell.kind != VF_CELL_NONE)
        status = make_field(p, expected);
    if (status == VF_OK)
        *out = p;
    else
        vf_point_sum_destroy(p);
    return status;
}

void vf_point_sum_destroy(vf_point_sum *p)
{
    if (!p)
        return;
    point_fast_destroy(p->fast);
    vf_ewald_field_destroy(p->field);
    free(p);
}

void vf_point_sum_get_info(const vf_point_sum *p, vf_point_info *info)
{
    *info = (vf_point_info){0};
    if (p->fast)
        point_fast_info(p->fast, info);
}

static vf_status sum_fast(const vf_point_sum *p, const vf_point_list *list, double *values, double *fields)
{
    enum { BLOCK = 64 };
    const int64_t blocks = (list->count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(p->ctx, 1000 * list->count))
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t n = b * BLOCK; n < list->count && n < (b + 1) * BLOCK && !vf_cancelled(p->ctx); n++) {
            const double *r = list->points + 3 * n;
            double out[4] = {0};
            if (!point_fast_at(p->fast, r, fields != NULL, out) &&
                point_sum_exactly(p->ctx, &p->charges, &p->options, 1, r, out, fields ? out + 1 : NULL) != VF_OK)
                continue; /* cancelled */
            values[n] = out[0];
            for (int a = 0; fields && a < 3; a++)
                fields[3 * n + a] = out[1 + a];
        }
    return vf_cancelled(p->ctx) ? vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static vf_status exclude_all(const vf_point_sum *p, const vf_point_list *list, double *values, double *fields)
{
    enum { BLOCK = 64 };
    const int64_t blocks = (list->count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(p->ctx, 1000 * list->count))
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t n = b * BLOCK; n < list->count && n < (b + 1) * BLOCK && !vf_cancelled(p->ctx); n++)
            point_sum_exclude(&p->charges, &p->options, list, n, &values[n], fields ? fields + 3 * n : NULL);
    return vf_cancelled(p->ctx) ? vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status vf_point_sum_execute(const vf_point_sum *p, const vf_point_list *list, double *values, double *fields)
{
    vf_status status = check_list(p, list);
    if (status == VF_OK && fields && !p->options.fields)
        status = vf_fail(p->ctx, VF_ERR_ARGUMENT, "sum at points: the plan was made without fields");
    if (status != VF_OK)
        return status;
    if (p->fast)
        status = sum_fast(p, list, values, fields);
    else if (p->field)
        status = vf_ewald_field_electric(p->field, list->count, list->points, values, fields);
    else
        status = point_sum_exactly(p->ctx, &p->charges, &p->options, list->count, list->points, values, fields);
    return status == VF_OK && list->first ? exclude_all(p, list, values, fields) : status;
}
