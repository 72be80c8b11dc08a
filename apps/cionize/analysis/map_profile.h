/* The mean potential of a map's layers along an axis, and in a periodic cell the double integral of the charge density, which it
 * must equal: a check of the map that does not use its method.
 *
 * In a cell whose planes across the axis are spanned by two of its vectors, the mean over a plane obeys Poisson's equation
 *
 *   d^2 phi / dz^2 = -(4 pi C / eps) (rho(z) - Q/V)
 *
 * where rho is the charge per length and area. With tin-foil around the crystal, phi is periodic and its mean is 0. So, for point
 * charges q at z_i, the area A of the cell's plane and its length L along z,
 *
 *   phi(z) = (4 pi C / eps A) sum q G(z - z_i),    G(u) = -|u|/2 + u^2/(2 L) + L/12  for |u| <= L.
 *
 * For Gaussian charges of standard deviation s, G is convolved with their profile (closed form in charge_integral.c).
 *
 * The map's mean is one over grid points. It differs from that over the plane by waves that the grid does not resolve: of a charge
 * at distance d from a layer, by about (4 C q h / eps A) exp(-2 pi d / h) for a spacing of h. */
#ifndef CIONIZE_MAP_PROFILE_H
#define CIONIZE_MAP_PROFILE_H

#include "analysis/map_layers.h"
#include "voxfield/context.h"

typedef struct map_profile {
    vf_grid grid;
    int axis;     /* 0 to 2: x, y, z */
    double *mean; /* [layers] of the values; sums until profile_end */
    bool has_check;
    const char *no_check;       /* why not; NULL */
    double *integral;           /* [layers] the double integral; NULL without check */
    double *density;            /* [layers] charge of the slab around a layer, e / angstrom^3; for all maps */
    double rms, rms_difference; /* of the profile; from the integral */
} map_profile;

/* Errors: VF_ERR_MEMORY. Free with profile_free. */
VF_MUST_CHECK vf_status profile_begin(vf_context *ctx, const vf_grid *grid, int axis, map_profile *out);
void profile_take(map_profile *p, const map_layers *layers);
void profile_end(map_profile *p); /* after all layers and charges */
void profile_free(map_profile *p);

/* ---- charge_integral.c ---- */

/* Whether the planes of constant x, y or z (axis) are spanned by two of the cell's vectors. */
bool plane_is_lattice(const vf_cell *cell, int axis);

/* Adds `share` times the double integral (scale: C / eps) of charges at `at` (angstrom along the axis) to p->integral, for
 * the layers of `grid`: the map's, or that of a frame with a cell of its own. */
VF_MUST_CHECK vf_status profile_add_integral(vf_context *ctx, map_profile *p, const vf_grid *grid, double share,
                                             double scale, double sigma, int64_t charges, const double *at,
                                             const double *charge);

/* Adds `share` times the charge density. Charges outside a grid without a cell are left out. */
void profile_add_density(map_profile *p, const vf_grid *grid, double share, int64_t charges, const double *at,
                         const double *charge);

#endif
