/* The inner loop of ewald_points.c for one instruction set. Private. */
#ifndef VOXFIELD_EWALD_POINTS_H
#define VOXFIELD_EWALD_POINTS_H

#include <stdint.h>

/* Adds the four products of a + i b and c + i d over `count` elements to out: ac, bd, ad, bc. */
typedef void ewald_products(int64_t count, const double *a, const double *b, const double *c, const double *d,
                            double out[4]);
extern ewald_products ewald_products_baseline, ewald_products_avx2, ewald_products_avx512;

#endif
