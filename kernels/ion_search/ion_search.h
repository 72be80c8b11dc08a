/* Voxfield - the search for ions' places: the free grid point where an ion's energy is lowest, one ion after another.
 *
 * The energy of an ion of charge z at r is z V(r), where the potential
 *
 *     V(r) = C sum_i q_i g(r - r_i)        C g: a vf_pair_potential (potential.h)
 *
 * over the solute's atoms and the ions added so far. Points nearer to an atom or ion than a given distance are
 * excluded. Each ion goes to the free point where its energy is lowest. Then its own potential is added and the points
 * around it are excluded. This is the greedy placement of VMD's cionize (Stone et al., J. Comput. Chem. 28 (2007)
 * 2618).
 *
 * The result depends neither on the device nor on the number of threads, because energies are compared as sums in
 * double precision. Energies that differ by at most 2^-40 of |z| C sum |q_i g(r - r_i)| count as equal: a symmetric
 * molecule has points whose energies differ only by rounding. Of equal points, the first in the order [z][y][x] is
 * taken.
 *
 * Not all points are summed in double precision. A map of the atoms' potential, usually in single precision, shows
 * which cells of the grid can contain the lowest energy. Only these are summed again, and get the potential of ions
 * when they need it. The error of a single-precision map is assumed to be at most (7 + 110 h/d) u C sum |q_i|/r_i,
 * where u = 2^-24, h is the largest spacing and d the smallest allowed distance; this is 16 u by default. The largest
 * measured errors are 7 u. Rounding of the positions in a block of points can change a distance by 110 h u
 * (docs/accuracy.md). If the error were larger somewhere, the energy found would be the lowest to within that error.
 *
 * Variants: on the CPU "cells" (the default) and "ref" (plain C, every point in double precision); on GPUs, by CUDA or OpenCL,
 * "field", which needs 8 bytes of GPU memory per point, and 5 or 9 more at the beginning. "cells" and "field" bound energies by
 * Coulomb's law, with a constant or a distance-dependent dielectric. A function as the pair potential (VF_PAIR_FUNCTION) and a screened
 * one (VF_PAIR_SCREENED) have "totals" as their default on the CPU, which keeps the potential of all points in double precision, 8
 * bytes each, and adds an ion's to all; and "ref".
 *
 * Periodic cells: with VF_PAIR_PERIODIC, all distances are those of the nearest images, and an ion's potential includes
 * its images. The variants are "images" (CPU, the default), on grids that cover the cell once and with map_is_exact,
 * and "ref". "images" keeps the potential of all points in double precision, and adds an ion's from a table of g at the
 * grid's displacements, which an Ewald sum makes to 1e-9 of its rms, or the pair potential's function exactly. It takes 8 bytes a point, and 2 more for the table
 * in an orthorhombic cell, 16 more in a triclinic one. Energies that differ by at most 1e-8 of |z| C sum |q| over ions,
 * divided by the edge of a cube of the cell's volume, count as equal.
 */
#ifndef VOXFIELD_ION_SEARCH_H
#define VOXFIELD_ION_SEARCH_H

#include "potential.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_ion_search vf_ion_search;

typedef struct vf_ion_search_options {
    vf_pair_potential pair; /* of the atoms and the ions, as defined by the map's method (vf_potential_method.pair) */
    vf_dtype precision;     /* of the map */
    bool map_is_exact;      /* the map is the atoms' potential; the atoms' charges are ignored */
    const char *variant;    /* NULL: the default */
} vf_ion_search_options;

/* Whether a device searches with a law: the CPU always, others with Coulomb's if they have double precision. */
bool vf_ion_search_supports(const vf_device *device, vf_pair_law law);

/* Makes a search. `map`: [z][y][x] of the grid, options->precision, host memory. It is the atoms' potential, without
 * ions; all values must be finite, and it must outlive the search. The atoms are copied. Errors: as vf_coulomb_create;
 * VF_ERR_UNSUPPORTED if the variant, or every variant of the device, does not support the pair potential;
 * VF_ERR_ARGUMENT for a malformed VOXFIELD_SIMULATE_FAILURE (docs/division.md). */
VF_MUST_CHECK vf_status vf_ion_search_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *atoms,
                                             const void *map, const vf_ion_search_options *options,
                                             vf_ion_search **out);
void vf_ion_search_destroy(vf_ion_search *search); /* NULL is allowed */

/* Excludes the points nearer to atom i than distance[i]: [atoms], host memory, >= 0, in the grid's length unit. Call it
 * once, before the first ion. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_ion_search_exclude(vf_ion_search *search, const double *distance);

/* Also excludes the points nearer to these positions than their distances, for example for atoms at other times.
 * position[3], distance: [count], host memory, read only during the call. Call it any number of times, before the first
 * ion. Errors: as vf_ion_search_exclude. */
VF_MUST_CHECK vf_status vf_ion_search_exclude_about(vf_ion_search *search, int64_t count, double *const position[3],
                                                    double *distance);

/* The number of free points. */
int64_t vf_ion_search_free(const vf_ion_search *search);

/* The potential of atoms and ions so far at all points, [z][y][x], owned by the search, if the variant keeps it ("totals", "images");
 * otherwise NULL. */
const double *vf_ion_search_totals(const vf_ion_search *search);

/* Why points are excluded: [z][y][x] of the grid, host memory owned by the search. SOLUTE takes precedence over ION. */
enum { VF_ION_FREE = 0, VF_ION_SOLUTE = 1, VF_ION_ION = 2 };
const uint8_t *vf_ion_search_mask(const vf_ion_search *search);

typedef struct vf_ion_place {
    int64_t index;      /* of the point in [z][y][x]; -1: no point is free */
    double position[3]; /* in the grid's length unit */
} vf_ion_place;

/* The free point of lowest energy for an ion of this charge (finite; 0: all points are equal). Blocking. Errors:
 * VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_ion_search_find(vf_ion_search *search, double charge, vf_ion_place *out);

/* Moves a place off the grid to a local minimum of the energy. It takes steps along the axes and diagonals, halved down
 * to 1/64 of the spacing. The place stays within one spacing of the point and inside the grid's bounds, and never comes
 * nearer to an atom or ion than the given distances. (Coulomb's potential has no minimum where there is no charge, so
 * the minimum lies on the edge of the allowed region.) In a periodic cell it may leave the box of the grid, and the energies are those of
 * the atoms and ions by an Ewald sum, which the first call prepares. (With
 * a function as the pair potential, all sources are summed each time.) Errors: VF_ERR_ARGUMENT if options->map_is_exact and
 * the pair potential is neither periodic nor a function; VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_ion_search_refine(vf_ion_search *search, double charge, vf_ion_place *place);

/* Adds an ion: adds its potential, and excludes the points nearer than `distance`, and always its own grid point, if
 * any. `energy` (may be NULL) is set to z V at the position, without the ion, in double precision; a GPU continues
 * meanwhile. Errors: VF_ERR_ARGUMENT, VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status vf_ion_search_add(vf_ion_search *search, const double position[3], double charge,
                                          double distance, double *energy);

#ifdef __cplusplus
}
#endif
#endif
