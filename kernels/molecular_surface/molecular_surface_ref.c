/* The definition, at one point. The nearest point of the accessible surface is the projection on a sphere, or on a circle where two
 * spheres meet, or a corner where three do: the nearest of those that no other sphere hides. */
#include <math.h>

#include "surface_parts.h"

typedef struct problem {
    const vf_spheres *s;
    double probe;
    double r[3], least;
} problem;

static void sphere_of(const problem *p, int64_t i, double centre[3], double *radius)
{
    centre[0] = p->s->x[i];
    centre[1] = p->s->y[i];
    centre[2] = p->s->z[i];
    *radius = p->s->radius[i] + p->probe;
}

/* Counts a point that lies on spheres i, j and k (which may be the same) if no other hides it. */
static void consider(problem *p, const double at[3], int64_t i, int64_t j, int64_t k)
{
    for (int64_t n = 0; n < p->s->count; n++) {
        double centre[3], radius;
        sphere_of(p, n, centre, &radius);
        if (n != i && n != j && n != k && surface_hides(centre, radius, at))
            return;
    }
    p->least = fmin(p->least, sqrt(surface_square(at, p->r)));
}

/* The circle's point nearest to r. */
static void nearest_on(const surface_circle *c, const double r[3], double out[3])
{
    double along_u = 0, along_v = 0;
    for (int a = 0; a < 3; a++) {
        along_u += (r[a] - c->centre[a]) * c->u[a];
        along_v += (r[a] - c->centre[a]) * c->v[a];
    }
    surface_circle_at(c, atan2(along_v, along_u), out);
}

/* Where the circle of spheres i and j crosses sphere k: |centre + rho (cos t u + sin t v) - c_k| = R_k. */
static void consider_corners(problem *p, const surface_circle *c, int64_t i, int64_t j, int64_t k)
{
    double centre[3], radius, along_u = 0, along_v = 0, square = 0, at[3];
    sphere_of(p, k, centre, &radius);
    for (int a = 0; a < 3; a++) {
        const double d = centre[a] - c->centre[a];
        along_u += d * c->u[a];
        along_v += d * c->v[a];
        square += d * d;
    }
    const double across = hypot(along_u, along_v);
    const double cosine = (square + c->radius * c->radius - radius * radius) / (2 * c->radius * across);
    if (!(fabs(cosine) <= 1))
        return;
    for (int sign = -1; sign <= 1; sign += 2) {
        surface_circle_at(c, atan2(along_v, along_u) + sign * acos(cosine), at);
        consider(p, at, i, j, k);
    }
}

static double distance_from_accessible(problem *p)
{
    p->least = INFINITY;
    for (int64_t i = 0; i < p->s->count; i++) {
        double a[3], radius_a, at[3];
        sphere_of(p, i, a, &radius_a);
        const double d = sqrt(surface_square(a, p->r));
        for (int n = 0; n < 3; n++) /* from the centre all directions are the same */
            at[n] = a[n] + radius_a * (d > 0 ? (p->r[n] - a[n]) / d : n == 0);
        consider(p, at, i, i, i);
        for (int64_t j = i + 1; j < p->s->count; j++) {
            double b[3], radius_b;
            surface_circle circle;
            sphere_of(p, j, b, &radius_b);
            if (!surface_circle_of(a, radius_a, b, radius_b, &circle))
                continue;
            nearest_on(&circle, p->r, at);
            consider(p, at, i, j, j);
            for (int64_t k = j + 1; k < p->s->count; k++)
                consider_corners(p, &circle, i, j, k);
        }
    }
    return p->least;
}

double vf_surface_level_ref(const vf_spheres *spheres, const vf_surface_options *options, const double r[3])
{
    problem p = {spheres, options->probe, {r[0], r[1], r[2]}, INFINITY};
    double depth = INFINITY;
    for (int64_t i = 0; i < spheres->count; i++) {
        double centre[3], radius;
        sphere_of(&p, i, centre, &radius);
        depth = fmin(depth, sqrt(surface_square(centre, r)) - radius);
    }
    const bool excluded = options->kind == VF_SURFACE_EXCLUDED;
    const double level = !excluded    ? depth
                         : depth >= 0 ? depth + options->probe
                                      : options->probe - distance_from_accessible(&p);
    return fmax(-options->reach, fmin(level, options->reach));
}
