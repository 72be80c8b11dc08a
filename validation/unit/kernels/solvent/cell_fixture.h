/* Molecules in periodic cells in a solvent. */
#ifndef CELL_FIXTURE_H
#define CELL_FIXTURE_H

#include <math.h>

#include "ewald_sum.h"
#include "queue_fixture.h"
#include "solvent.h"

#define PI 3.14159265358979323846

typedef struct molecule_in {
    int64_t count;
    double x[8], y[8], z[8], charge[8], radius[8];
} molecule_in;

static inline vf_coulomb_atoms charges_of(const molecule_in *m)
{
    return (vf_coulomb_atoms){m->count, m->x, m->y, m->z, m->charge};
}

static inline vf_solvent *solved(const molecule_in *m, const vf_grid *grid, const vf_solvent_options *o)
{
    const vf_coulomb_atoms charges = charges_of(m);
    vf_solvent *plan;
    need(vf_solvent_create(device, grid, &charges, m->radius, o, &plan));
    return plan;
}

static inline vf_solvent_options options(double molecule, double solvent, double kappa)
{
    vf_solvent_options o = vf_solvent_defaults();
    o.molecule_dielectric = molecule;
    o.solvent_dielectric = solvent;
    o.kappa = kappa;
    return o;
}

/* Five overlapping atoms, of +1 e together, with places near the corner of a cell at the origin. */
static inline molecule_in molecule_at(double x, double y, double z)
{
    molecule_in m = {5,
                     {0.3, 1.5, -0.9, 0.2, 2.6},
                     {-0.2, 0.4, 0.8, -1.5, 0.1},
                     {0.1, -0.6, 0.7, -0.5, 0.9},
                     {0.9, -0.6, 0.5, 0.7, -0.5},
                     {1.7, 1.5, 1.2, 1.6, 1.4}};
    for (int i = 0; i < m.count; i++) {
        m.x[i] += x;
        m.y[i] += y;
        m.z[i] += z;
    }
    return m;
}

#endif
