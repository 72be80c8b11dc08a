/* Voxfield - the surface of a molecule of spheres, as a level: the signed distance of the points of a grid from it.
 *
 *   van der Waals       the union of the atoms' spheres
 *   solvent-accessible  the same with radii larger by the probe's: where the centre of a spherical solvent can be
 *   solvent-excluded    all that the probe cannot touch: the union's morphological closing by the probe. Lee and Richards,
 *                       J. Mol. Biol. 55 (1971) 379; Connolly, J. Appl. Cryst. 16 (1983) 548
 *
 * Levels are negative inside. Outside, all three are the exact distance. Inside, that of the solvent-excluded surface is
 * p - d(r), where p is the probe's radius and d the distance from the accessible surface: the exact distance, too. If the deepest sphere's
 * surface is bare in the direction of r, d is the depth; otherwise the nearest point is on an edge, and comes from points of edges
 * ("seeds": arcs where two spheres meet, corners where three do) that are at most s / 2 apart: d is too large by at most s^2 (1 / d + 1 / rho) / 32 on an edge of radius rho, and s / 40.
 * Inside of the other two it is the depth in the deepest sphere.
 */
#ifndef VOXFIELD_MOLECULAR_SURFACE_H
#define VOXFIELD_MOLECULAR_SURFACE_H

#include "voxfield/device.h"
#include "voxfield/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* VF_SURFACE_SMOOTH is no surface of its own: solvent.h smooths the permittivity across another. vf_surface_create refuses it. */
typedef enum vf_surface_kind {
    VF_SURFACE_VAN_DER_WAALS,
    VF_SURFACE_ACCESSIBLE,
    VF_SURFACE_EXCLUDED,
    VF_SURFACE_SMOOTH
} vf_surface_kind;

/* Spheres: [count] each, host memory, in the grid's length unit. Radii >= 0, of which 0 is
 * no sphere; at most VF_SURFACE_LARGEST in magnitude. */
typedef struct vf_spheres {
    int64_t count; /* >= 0 */
    const double *x, *y, *z, *radius;
} vf_spheres;
#define VF_SURFACE_LARGEST 1e6

typedef struct vf_surface_options {
    vf_surface_kind kind;
    double probe;   /* radius of the solvent; > 0, or 0 for van der Waals */
    double reach;   /* levels are cut off at +- reach; > 0, and for an excluded surface < probe */
    double spacing; /* s; > 0 */
} vf_surface_options;

typedef struct vf_surface vf_surface;

/* Makes a plan with the context's threads: copies the spheres, and makes the seeds. Blocking. Errors: VF_ERR_ARGUMENT (NaN, out of
 * range), VF_ERR_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_surface_create(vf_context *ctx, const vf_spheres *spheres, const vf_surface_options *options,
                                          vf_surface **out);
/* The same in the cell of a grid, if it has one: the spheres' images that matter to levels on this grid count, too.
 * Errors also: VF_ERR_ARGUMENT (a grid that is not valid). */
VF_MUST_CHECK vf_status vf_surface_create_on(vf_context *ctx, const vf_grid *grid, const vf_spheres *spheres,
                                             const vf_surface_options *options, vf_surface **out);
void vf_surface_destroy(vf_surface *plan); /* NULL is allowed */

/* level: [z][y][x] of the box, host memory; values in [-reach, reach]. The bits depend neither on threads nor on the box. A grid with a
 * cell is the one that the plan was made for. Errors: VF_ERR_ARGUMENT (box, grid, or one with a cell, if the plan has none),
 * VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_surface_levels(const vf_surface *plan, const vf_grid *grid, const vf_box *box, float *level);

/* Where the surface cuts the grid's edges: the part of an edge from its lower end, in [0, 1], to 1e-5 of the edge's length in level.
 * level: of all points of the grid, from vf_surface_levels; an edge is cut if one end is below 0 and the other is not. cut[a]: along
 * axis a, one more than the grid's points, or as many if it has a cell, as vf_stencil_options.faces: element n is of the edge from point
 * n - 1 to n, or from its image, in a cell that the grid covers once (vf_grid_shear). Only the elements of cut edges are written. Host memory. Errors: as vf_surface_levels. */
VF_MUST_CHECK vf_status vf_surface_cuts(const vf_surface *plan, const vf_grid *grid, const float *level,
                                        float *const cut[3]);

/* The number of seeds, and the plan's memory. */
int64_t vf_surface_seeds(const vf_surface *plan);
int64_t vf_surface_bytes(const vf_surface *plan);

/* The definition at one point, by projections on spheres, circles and corners: count^4 operations, for tests. */
double vf_surface_level_ref(const vf_spheres *spheres, const vf_surface_options *options, const double r[3]);

#ifdef __cplusplus
}
#endif
#endif
