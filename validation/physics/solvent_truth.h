/* Reaction potentials in a solvent that are known: of charges in one sphere, and of charges on the axis of two spheres. In charges over
 * lengths, relative to a medium of eps_m everywhere. */
#ifndef SOLVENT_TRUTH_H
#define SOLVENT_TRUTH_H

enum { TRUTH_CHARGES = 8 };

/* Charges in a sphere at 0. Ions keep `stern` from it. */
typedef struct truth_sphere {
    double radius, eps_m, eps_s, kappa, stern;
    int charges;
    double at[TRUTH_CHARGES][3], charge[TRUTH_CHARGES];
} truth_sphere;

/* sum q u / 2. Kirkwood, J. Chem. Phys. 2 (1934) 351, with the layer without ions. */
double truth_sphere_energy(const truth_sphere *s);

/* Sphere 0 at z = 0, sphere 1 at z = distance > the sum of their radii; each has one charge on the axis, `offset` from its centre towards
 * the other sphere. Ions reach the spheres' surfaces. */
typedef struct truth_pair {
    double radius[2], charge[2], offset[2], distance, eps_m, eps_s, kappa;
} truth_pair;

/* sum q u / 2: multipoles of both spheres, the field of one expanded about the other by quadrature on its surface. */
double truth_pair_energy(const truth_pair *p);

#endif
