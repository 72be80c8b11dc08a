/* The covariance of the coils' noise from samples of noise alone. */
#include "scan_internal.h"

void scan_noise_add(int coils, int64_t samples, const double complex *noise, double complex *product)
{
    for (int a = 0; a < coils; a++)
        for (int b = 0; b <= a; b++) {
            const double complex *x = noise + a * samples, *y = noise + b * samples;
            double re = 0, im = 0;
            for (int64_t m = 0; m < samples; m++) {
                re += creal(x[m]) * creal(y[m]) + cimag(x[m]) * cimag(y[m]);
                im += cimag(x[m]) * creal(y[m]) - creal(x[m]) * cimag(y[m]);
            }
            product[a * coils + b] += re + im * I;
        }
}

void scan_noise_finish(int coils, double scale, double complex *product)
{
    for (int a = 0; a < coils; a++)
        for (int b = 0; b <= a; b++) {
            double complex value = product[a * coils + b] * scale;
            product[a * coils + b] = value;
            product[b * coils + a] = conj(value);
        }
}
