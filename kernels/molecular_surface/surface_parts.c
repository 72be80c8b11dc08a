#include "surface_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALONG = 256 };

static int64_t bin_along(const surface_bins *b, int axis, double at)
{
    const double bin = floor((at - b->lo[axis]) / b->edge), last = (double)(b->along[axis] - 1);
    return (int64_t)(bin > 0 ? fmin(bin, last) : 0);
}

static int64_t bin_of(const surface_bins *b, const double at[3])
{
    return (bin_along(b, 2, at[2]) * b->along[1] + bin_along(b, 1, at[1])) * b->along[0] + bin_along(b, 0, at[0]);
}

static void lay_out(int64_t count, const surface_place *places, double edge, surface_bins *b)
{
    double hi[3] = {0};
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; a < 3; a++) {
            b->lo[a] = i ? fmin(b->lo[a], places[i].at[a]) : places[i].at[a];
            hi[a] = i ? fmax(hi[a], places[i].at[a]) : places[i].at[a];
        }
    b->edge = edge;
    for (int a = 0; a < 3; a++) /* far places make larger cubes, not more */
        b->edge = fmax(b->edge, (hi[a] - b->lo[a]) / MOST_ALONG);
    for (int a = 0; a < 3; a++)
        b->along[a] = (int64_t)floor((hi[a] - b->lo[a]) / b->edge) + 1;
}

bool surface_bins_make(int64_t count, const surface_place *places, const double *radius, double edge, surface_bins *out)
{
    *out = (surface_bins){.count = count};
    lay_out(count, places, edge, out);
    const int64_t cubes = out->along[0] * out->along[1] * out->along[2], room = count + (count == 0);
    out->first = calloc((size_t)cubes + 2, sizeof *out->first);
    out->place = malloc((size_t)room * sizeof *out->place);
    out->radius = radius ? malloc((size_t)room * sizeof *out->radius) : NULL;
    if (!out->first || !out->place || (radius && !out->radius))
        return false;
    int64_t *next = out->first + 1; /* counts, then where each cube begins; after the second loop, first is right */
    for (int64_t i = 0; i < count; i++)
        next[bin_of(out, places[i].at) + 1]++;
    for (int64_t c = 0; c < cubes; c++)
        next[c + 1] += next[c];
    for (int64_t i = 0; i < count; i++) {
        const int64_t to = next[bin_of(out, places[i].at)]++;
        out->place[to] = places[i];
        if (radius)
            out->radius[to] = radius[i];
    }
    return true;
}

typedef struct sphere_list {
    int64_t count, room;
    surface_place *place;
    double *radius;
    double next; /* radius of the next one */
    bool failed; /* for want of memory */
} sphere_list;

static void add_sphere(void *user, const double at[3])
{
    sphere_list *l = user;
    if (l->count == l->room) {
        l->room = 2 * l->room + 256;
        surface_place *place = realloc(l->place, (size_t)l->room * sizeof *place);
        l->place = place ? place : l->place;
        double *radius = realloc(l->radius, (size_t)l->room * sizeof *radius);
        l->radius = radius ? radius : l->radius;
        l->failed = l->failed || !place || !radius;
    }
    if (l->failed)
        return;
    l->place[l->count] = (surface_place){{at[0], at[1], at[2]}};
    l->radius[l->count++] = l->next;
}

static void add_images(const vf_grid *grid, const double at[3], double far, sphere_list *list)
{
    double lo[3], hi[3];
    for (int a = 0; a < 3; a++) {
        lo[a] = grid->origin[a] - far;
        hi[a] = grid->origin[a] + grid->spacing[a] * (double)grid->counts[a] + far;
    }
    vf_cell_images(&grid->cell, at, lo, hi, add_sphere, list);
}

bool surface_spheres_make(const vf_spheres *spheres, double probe, const vf_grid *periodic, double far,
                          surface_bins *out, double *largest)
{
    sphere_list l = {0};
    *largest = 0;
    for (int64_t i = 0; i < spheres->count; i++)
        *largest = spheres->radius[i] > 0 ? fmax(*largest, spheres->radius[i] + probe) : *largest;
    for (int64_t i = 0; i < spheres->count; i++) {
        const double at[3] = {spheres->x[i], spheres->y[i], spheres->z[i]};
        l.next = spheres->radius[i] + probe;
        if (spheres->radius[i] > 0 && periodic)
            add_images(periodic, at, far + *largest, &l);
        else if (spheres->radius[i] > 0)
            add_sphere(&l, at);
    }
    const bool room = !l.failed && surface_bins_make(l.count, l.place, l.radius, fmax(*largest, 1e-6), out);
    free(l.place);
    free(l.radius);
    return room;
}

void surface_bins_free(surface_bins *bins)
{
    free(bins->first);
    free(bins->place);
    free(bins->radius);
    *bins = (surface_bins){0};
}

void surface_bins_range(const surface_bins *bins, const double at[3], double distance, int64_t lo[3], int64_t hi[3])
{
    for (int a = 0; a < 3; a++) {
        lo[a] = bin_along(bins, a, at[a] - distance);
        hi[a] = bin_along(bins, a, at[a] + distance) + 1;
    }
}

bool surface_circle_of(const double a[3], double radius_a, const double b[3], double radius_b, surface_circle *out)
{
    const double square = surface_square(a, b), d = sqrt(square);
    if (!(d < radius_a + radius_b && d > fabs(radius_a - radius_b)))
        return false;
    const double along = (square + radius_a * radius_a - radius_b * radius_b) / (2 * d);
    double w[3];
    int least = 0;
    for (int i = 0; i < 3; i++) {
        w[i] = (b[i] - a[i]) / d;
        out->centre[i] = a[i] + along * w[i];
        least = fabs(w[i]) < fabs(w[least]) ? i : least;
    }
    out->radius = sqrt(fmax(radius_a * radius_a - along * along, 0));
    double length = 0;
    for (int i = 0; i < 3; i++) { /* the axis that w is least along, made perpendicular */
        out->u[i] = (i == least) - w[least] * w[i];
        length += out->u[i] * out->u[i];
    }
    for (int i = 0; i < 3; i++)
        out->u[i] /= sqrt(length);
    for (int i = 0; i < 3; i++)
        out->v[i] = w[(i + 1) % 3] * out->u[(i + 2) % 3] - w[(i + 2) % 3] * out->u[(i + 1) % 3];
    return true;
}

void surface_circle_at(const surface_circle *circle, double angle, double out[3])
{
    const double c = circle->radius * cos(angle), s = circle->radius * sin(angle);
    for (int i = 0; i < 3; i++)
        out[i] = circle->centre[i] + c * circle->u[i] + s * circle->v[i];
}
