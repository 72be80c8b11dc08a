/* What files of this folder share. */
#ifndef WIENER_INTERNAL_H
#define WIENER_INTERNAL_H

#include "wiener.h"

/* The least square whose root is not below a radius: comparing squares with it is comparing radii. */
double wiener_least_square(double radius);

#endif
