/* The reference of point_sum.h: plain double precision on one thread. Never tuned. */
#include <math.h>

#include "ewald_sum.h"
#include "point_sum.h"

/* g(d). */
static double law(const vf_point_options *o, double d)
{
    if (o->sigma > 0)
        return d > 0 ? erf(d / (sqrt(2) * o->sigma)) / d : sqrt(2 / 3.14159265358979323846) / o->sigma;
    const double r = fmax(d, o->r_min);
    return o->distance_dielectric ? 1 / (r * r) : 1 / r;
}

/* -g'(d) / d. Of a Gaussian near its centre, by the first terms of the series of erf. */
static double pull(const vf_point_options *o, double d)
{
    const double root_pi = sqrt(3.14159265358979323846);
    if (o->sigma > 0) {
        const double b = 1 / (sqrt(2) * o->sigma), z = b * d;
        if (z < 0.01)
            return 4 * b * b * b / root_pi * (1.0 / 3 - z * z / 5 + z * z * z * z / 14);
        return (erf(z) / d - 2 * b / root_pi * exp(-z * z)) / (d * d);
    }
    if (d < o->r_min)
        return 0;
    return o->distance_dielectric ? 2 / (d * d * d * d) : 1 / (d * d * d);
}

static double distance(const double r[3])
{
    return sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
}

static void from_charge(const vf_coulomb_atoms *charges, int64_t i, const double r[3], double out[3])
{
    out[0] = r[0] - charges->x[i];
    out[1] = r[1] - charges->y[i];
    out[2] = r[2] - charges->z[i];
}

/* d to its image nearest to 0: within a cell of it, then by trying all that its vectors may reach. Enough for cells whose skew
 * is up to 8 edges. */
static void nearest(const vf_cell *cell, double d[3])
{
    enum { REACH = 9, SIDE = 2 * REACH + 1 };
    double best[3] = {d[0], d[1], d[2]};
    for (int i = 2; cell->kind != VF_CELL_NONE && i >= 0; i--) {
        const double turns = floor(d[i] / cell->vectors[i][i]);
        for (int a = 0; a < 3; a++)
            best[a] = d[a] -= turns * cell->vectors[i][a];
    }
    for (int n = 0; cell->kind != VF_CELL_NONE && n < SIDE * SIDE * SIDE; n++) {
        const int turns[3] = {n % SIDE - REACH, n / SIDE % SIDE - REACH, n / (SIDE * SIDE) - REACH};
        double other[3];
        for (int a = 0; a < 3; a++)
            other[a] =
                d[a] + turns[0] * cell->vectors[0][a] + turns[1] * cell->vectors[1][a] + turns[2] * cell->vectors[2][a];
        if (distance(other) < distance(best))
            for (int a = 0; a < 3; a++)
                best[a] = other[a];
    }
    for (int a = 0; a < 3; a++)
        d[a] = best[a];
}

static void add_term(const vf_point_options *o, double charge, const double d[3], double *value, double *field)
{
    const double r = distance(d);
    *value += charge * law(o, r);
    for (int a = 0; field && a < 3; a++)
        field[a] += charge * pull(o, r) * d[a];
}

/* In a cell: differences of fourth order, over 1e-3 of the cell's edge. */
static void in_cell(const vf_coulomb_atoms *charges, const vf_point_options *o, const double r[3], double *value,
                    double *field)
{
    const double step = 1e-3 * cbrt(vf_cell_volume(&o->cell));
    vf_ewald_reference(&o->cell, charges, 1, o->r_min, o->vacuum, 1, r, value);
    for (int a = 0; field && a < 3; a++) {
        static const double weight[4] = {1, -8, 8, -1}, at[4] = {-2, -1, 1, 2};
        for (int n = 0; n < 4; n++) {
            double moved[3] = {r[0], r[1], r[2]}, there;
            moved[a] += at[n] * step;
            vf_ewald_reference(&o->cell, charges, 1, o->r_min, o->vacuum, 1, moved, &there);
            field[a] -= weight[n] * there / (12 * step);
        }
    }
}

void vf_point_sum_reference(const vf_coulomb_atoms *charges, const vf_point_options *o, const vf_point_list *list,
                            double *values, double *fields)
{
    for (int64_t n = 0; n < list->count; n++) {
        const double *r = list->points + 3 * n;
        double value = 0, field[3] = {0}, d[3];
        for (int64_t i = 0; o->cell.kind == VF_CELL_NONE && i < charges->count; i++) {
            from_charge(charges, i, r, d);
            add_term(o, charges->charge[i], d, &value, field);
        }
        if (o->cell.kind != VF_CELL_NONE)
            in_cell(charges, o, r, &value, fields ? field : NULL);
        for (int64_t e = list->first ? list->first[n] : 0; list->first && e < list->first[n + 1]; e++) {
            from_charge(charges, list->excluded[e], r, d);
            nearest(&o->cell, d);
            add_term(o, -charges->charge[list->excluded[e]], d, &value, field);
        }
        values[n] = o->scale * value;
        for (int a = 0; fields && a < 3; a++)
            fields[3 * n + a] = o->scale * field[a];
    }
}
