/* The covariance of the coils' noise from noise samples. */
#ifndef SCAN_NOISE_H
#define SCAN_NOISE_H

#include <complex.h>
#include <stdint.h>

/* Adds the sums of n_a conj(n_b) over the samples [coil][sample] to product [coil][coil], for b <= a. */
void scan_noise_add(int coils, int64_t samples, const double complex *noise, double complex *product);
/* Makes the covariance from these sums of `count` samples: multiplies by `scale`, fills the other half, and shrinks it
 * towards equal and independent coils, as far as so few samples show differences and correlations by chance. */
void scan_noise_finish(int coils, double scale, double count, double complex *product);

#endif
