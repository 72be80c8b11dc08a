/* Spheres in salt: kernels/solvent on a grid, with the charge at the origin. */
#ifndef SPHERE_FIXTURE_H
#define SPHERE_FIXTURE_H

#include "queue_fixture.h"
#include "radial_fixture.h"

static const vf_solvent_ion one_one[] = {{1, 0.5}, {-1, 0.5}}, two_one[] = {{2, 0.2}, {-1, 0.4}};
static const double origin_shift[3] = {0.3, -0.1,
                                       0.2}; /* of the grid from the charge, in spacings: no symmetry helps */

static inline vf_solvent_options salted(const vf_solvent_ion ion[2], bool non_linear)
{
    vf_solvent_options o = vf_solvent_defaults();
    need(vf_solvent_set_salt(ctx, 2, ion, 298.15, &o));
    o.non_linear = non_linear;
    return o;
}

static inline vf_grid cube(double half, int64_t n)
{
    const double h = 2 * half / (double)(n - 1);
    vf_grid grid = {.spacing = {h, h, h}, .counts = {n, n, n}};
    for (int a = 0; a < 3; a++)
        grid.origin[a] = -half + origin_shift[a] * h;
    return grid;
}

static inline vf_status try_sphere(double charge, double radius, double half, int64_t n, const vf_solvent_options *o,
                                   vf_solvent **plan)
{
    const double zero = 0;
    const vf_coulomb_atoms atom = {1, &zero, &zero, &zero, &charge};
    const vf_grid grid = cube(half, n);
    return vf_solvent_create(device, &grid, &atom, &radius, o, plan);
}

static inline vf_solvent *sphere(double charge, double radius, double half, int64_t n, const vf_solvent_options *o)
{
    vf_solvent *plan;
    need(try_sphere(charge, radius, half, n, o, &plan));
    return plan;
}

static inline vf_solvent_energy energy_of(const vf_solvent *plan, double charge)
{
    const double zero = 0;
    const vf_coulomb_atoms atom = {1, &zero, &zero, &zero, &charge};
    vf_solvent_energy e;
    need(vf_solvent_energies(plan, &atom, &e, NULL));
    return e;
}

/* The same, and freed. */
static inline vf_solvent_energy sphere_energy(double charge, double radius, double half, int64_t n,
                                              const vf_solvent_options *o)
{
    vf_solvent *plan = sphere(charge, radius, half, n, o);
    const vf_solvent_energy e = energy_of(plan, charge);
    vf_solvent_destroy(plan);
    return e;
}

#endif
