/* The potential of a Gaussian charge, and its slope. Not installed. */
#ifndef VOXFIELD_EWALD_GAUSSIAN_H
#define VOXFIELD_EWALD_GAUSSIAN_H

#include <math.h>

/* erf(b r) / r; its limit at 0. */
static inline double ewald_erf_value(double b, double r)
{
    return b * r < 1e-9 ? 1.1283791670955126 * b : erf(b * r) / r;
}

/* The derivative of erf(b r) / r by r, divided by r. Near 0, where the difference of its two terms loses digits, a
 * series: 2 b^3 / sqrt(pi) sum_m (-1)^(m + 1) 2 z^2m / (m! (2 m + 3)), z = b r. */
static inline double ewald_erf_slope(double b, double r)
{
    const double z = b * r, two_over_root_pi = 1.1283791670955126;
    if (z > 0.7)
        return (two_over_root_pi * b * exp(-z * z) - erf(z) / r) / (r * r);
    double sum = 0, term = -2;
    for (int m = 0; m < 14; m++) {
        sum += term / (2 * m + 3);
        term *= -z * z / (m + 1);
    }
    return two_over_root_pi * b * b * b * sum;
}

#endif
