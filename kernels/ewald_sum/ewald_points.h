/* The inner loop of ewald_points.c for one instruction set. Private. */
#ifndef VOXFIELD_EWALD_POINTS_H
#define VOXFIELD_EWALD_POINTS_H

#include <stdint.h>

/* Adds the four products of a + i b and c + i d over `count` elements to out: ac, bd, ad, bc; for `waves`, 1 or 2, of c, d and
 * out. */
typedef void ewald_products(int64_t count, const double *a, const double *b, int waves, const double *const c[2],
                            const double *const d[2], double *out);
extern ewald_products ewald_products_baseline, ewald_products_avx2, ewald_products_avx512;

#endif
