/* What the choice of a shape needs to know of the charges; not installed. */
#ifndef VOXFIELD_EWALD_CHARGES_H
#define VOXFIELD_EWALD_CHARGES_H

#include "ewald_backend.h"

enum { DISTANCES = 64 };

typedef struct ewald_charges {
    int64_t count;
    double squares, largest;   /* sum q^2, max |q| */
    double lo[3], hi[3];       /* bounds */
    double rms;                /* of the potential over the grid, without the scale */
    double volume;             /* of the grid, or of the cell */
    int64_t within[DISTANCES]; /* charges at most 2^(n - 32) grid spacings outside of the grid */
} ewald_charges;

/* Errors: as vf_coulomb_create. */
VF_MUST_CHECK vf_status ewald_summarise(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                        const vf_ewald_options *options, ewald_charges *out);

/* The inverse of a triangular cell or mesh, vectors in rows: mesh coordinates u_i = inverse[i] . r. */
void ewald_invert(const double edge[3][3], double inverse[3][3]);

/* The position of the grid's last point along an axis. */
static inline double ewald_far_end(const vf_grid *grid, int axis)
{
    return grid->origin[axis] + grid->spacing[axis] * (double)(grid->counts[axis] - 1);
}

#endif
