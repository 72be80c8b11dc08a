/* cionize: bonds that the faces of a periodic cell cut, as where a simulation's frame is wrapped atom by atom. */
#ifndef CIONIZE_TORN_BONDS_H
#define CIONIZE_TORN_BONDS_H

#include "molecule.h"
#include "voxfield/grid.h"

typedef struct torn_bonds {
    int64_t count;
    int64_t first, second; /* atoms of the first one */
    double apart;          /* their distance, angstrom */
} torn_bonds;

/* Counts pairs of atoms, near each other in the list, that are as far apart as the cell is wide, while an image is as near as a bond.
 * x, y, z: [m->atoms]. The cell's first vector is along x, its second in the plane of x and y. */
torn_bonds find_torn_bonds(const molecule *m, const double *x, const double *y, const double *z, const vf_cell *cell);

#endif
