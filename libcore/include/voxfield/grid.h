/* Voxfield - regular grids and boxes of them.
 *
 * A grid point (i, j, k) lies at origin + (i, j, k) * spacing. Values are at the points. Arrays over a grid are in C
 * order with x fastest: [z][y][x]. Origin and spacing share one length unit, which the caller chooses.
 */
#ifndef VOXFIELD_GRID_H
#define VOXFIELD_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/status.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* The repeated box of a periodic field. Lengths are in the grid's unit. */
typedef enum vf_cell_kind { VF_CELL_NONE, VF_CELL_ORTHORHOMBIC, VF_CELL_TRICLINIC } vf_cell_kind;
typedef struct vf_cell {
    vf_cell_kind kind;    /* VF_CELL_NONE: the field is not periodic, and the vectors are ignored */
    double vectors[3][3]; /* a, b, c, each as x, y, z; orthorhombic: along x, y and z, lengths > 0 */
} vf_cell;

typedef struct vf_grid {
    double origin[3];  /* position of point (0,0,0): x, y, z */
    double spacing[3]; /* > 0 */
    int64_t counts[3]; /* points along x, y, z; >= 1 */
    vf_cell cell;      /* of the field on the grid; zero-initialised: none */
} vf_grid;

/* The points lo <= (i,j,k) < hi of a grid. */
typedef struct vf_box {
    int64_t lo[3], hi[3];
} vf_box;

/* Whether the vectors are finite, match the kind, and span a right-handed cell (volume > 0). A cell of kind none is
 * always valid. */
bool vf_cell_valid(const vf_cell *cell);

/* a . (b x c), in the cube of the grid's unit; 0 for kind none. */
double vf_cell_volume(const vf_cell *cell);

/* |a|, |b|, |c|, and alpha (between b and c), beta (c, a), gamma (a, b) in degrees; exactly 90 for perpendicular
 * vectors. For valid cells except kind none. */
void vf_cell_shape(const vf_cell *cell, double lengths[3], double angles[3]);

/* Calls `take` for each periodic image of r, r itself included, that lies inside the box lo < p < hi, in a fixed order.
 * Without a cell, r is its only image. */
void vf_cell_images(const vf_cell *cell, const double r[3], const double lo[3], const double hi[3],
                    void (*take)(void *user, const double image[3]), void *user);

/* How a grid that covers its periodic cell once goes on: beyond its last points along y there are the first ones, shear[0] steps along x
 * farther on, and beyond those along z the first ones, shear[1] steps along x and shear[2] along y. Returns false if the grid does not cover the
 * cell so: the diagonal of the vectors must be counts times spacing, what is below it whole steps (to 1e-6 of one), and what is above it 0. */
bool vf_grid_shear(const vf_grid *grid, int64_t shear[3]);

/* The point of such a grid that is the image of one beyond it. */
void vf_grid_wrap(const int64_t counts[3], const int64_t shear[3], int64_t index[3]);

/* Whether counts are positive, the number of points fits int64_t, every number is finite, and the cell is valid. */
bool vf_grid_valid(const vf_grid *grid);
int64_t vf_grid_points(const vf_grid *grid);
vf_box vf_grid_box(const vf_grid *grid); /* the whole grid */

/* Whether the box is not empty and lies inside the grid; its number of points; its extent along an axis. */
bool vf_box_inside(const vf_box *box, const vf_grid *grid);
int64_t vf_box_points(const vf_box *box);
static inline int64_t vf_box_extent(const vf_box *box, int axis)
{
    return box->hi[axis] - box->lo[axis];
}

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
