/* Spheres and points in bins, and where spheres meet; not installed. */
#ifndef VOXFIELD_SURFACE_PARTS_H
#define VOXFIELD_SURFACE_PARTS_H

#include "molecular_surface.h"

typedef struct surface_place {
    double at[3];
} surface_place;

/* Places in cubes, sorted by cube, x fastest. */
typedef struct surface_bins {
    double lo[3], edge;
    int64_t along[3], count;
    int64_t *first; /* [cubes + 1] */
    surface_place *place;
    double *radius; /* of each place; NULL: points */
} surface_bins;

/* `radius` may be NULL. Returns false if memory is short; surface_bins_free frees what is there. */
bool surface_bins_make(int64_t count, const surface_place *places, const double *radius, double edge,
                       surface_bins *out);
void surface_bins_free(surface_bins *bins);

/* The cubes within `distance` of a place: [lo, hi) along each axis. */
void surface_bins_range(const surface_bins *bins, const double at[3], double distance, int64_t lo[3], int64_t hi[3]);

/* The spheres, larger by the probe's radius, and the largest radius; in the cell of a grid (not NULL) their images, too, that are no farther
 * from it than `far` and this. A level depends on the surface within reach, of an excluded one within probe + reach, and that on the spheres
 * that hold it. Returns false as surface_bins_make. */
bool surface_spheres_make(const vf_spheres *spheres, double probe, const vf_grid *periodic, double far,
                          surface_bins *out, double *largest);

/* The circle where two spheres meet: its centre, radius and two directions across. Returns false if there is none. */
typedef struct surface_circle {
    double centre[3], radius, u[3], v[3];
} surface_circle;
bool surface_circle_of(const double a[3], double radius_a, const double b[3], double radius_b, surface_circle *out);
void surface_circle_at(const surface_circle *circle, double angle, double out[3]);

static inline double surface_square(const double a[3], const double b[3])
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* Whether a point is inside a sphere, not on it: to some roundings. */
static inline bool surface_hides(const double centre[3], double radius, const double r[3])
{
    return surface_square(centre, r) < radius * radius * (1 - 1e-11);
}

/* The seeds of spheres in bins: points of their edges, at most half of `spacing` apart (add_arc); in the spheres' order. Errors: VF_ERR_MEMORY,
 * VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status surface_seeds_make(vf_context *ctx, const surface_bins *spheres, double largest, double spacing,
                                           int64_t *count, surface_place **out);

/* What is near a tile, relative to its middle: [count] of each. Spheres have radii. */
typedef struct surface_near {
    int64_t count, room;
    float *x, *y, *z, *radius;
} surface_near;

/* depth: the least of `most` and the distances of r from the spheres, less their radii. nearest_square: the least of `most` and the
 * squares of the distances of r from the seeds. deepest: the number of the sphere that this depth of
 * r is of. is_hidden: whether a point is inside of a sphere, to some roundings. All are finite. */
typedef struct surface_loops {
    float (*depth)(const surface_near *spheres, const float r[3], float most);
    float (*nearest_square)(const surface_near *seeds, const float r[3], float most);
    int64_t (*deepest)(const surface_near *spheres, const float r[3], float depth);
    bool (*is_hidden)(const surface_near *spheres, const float r[3]);
} surface_loops;
extern const surface_loops surface_nearest_baseline, surface_nearest_avx2, surface_nearest_avx512;

#endif
