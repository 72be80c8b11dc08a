/* The covariance of the coils' noise from noise samples. */
#include "scan_noise.h"

#include <math.h>

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

/* How far correlations are shrunk towards 0. The variance of a complex correlation is (1 - |r|^2)^2 / count. */
static double share_of_chance(int coils, double count, const double complex *c)
{
    double chance = 0, seen = 0;
    for (int a = 0; a < coils; a++)
        for (int b = 0; b < a; b++) {
            const double of_both = creal(c[a * coils + a]) * creal(c[b * coils + b]);
            const double r = of_both > 0 ? pow(cabs(c[a * coils + b]), 2) / of_both : 0;
            chance += pow(1 - fmin(r, 1), 2) / count;
            seen += r;
        }
    return seen > chance ? chance / seen : 1;
}

/* The median of the variances, by counting: there are few. */
static double middle_variance(int coils, const double complex *c)
{
    double sum = 0;
    for (int a = 0; a < coils; a++) {
        int below = 0;
        const double v = creal(c[a * coils + a]);
        for (int b = 0; b < coils; b++)
            below += creal(c[b * coils + b]) < v || (creal(c[b * coils + b]) == v && b < a);
        sum += (below == (coils - 1) / 2 ? v : 0) + (below == coils / 2 ? v : 0);
    }
    return sum / 2;
}

/* How far variances are shrunk towards their median. The variance of a variance v is v^2 / count. */
static double share_of_spread(int coils, double count, const double complex *c, double middle)
{
    double chance = 0, seen = 0;
    for (int a = 0; a < coils; a++) {
        const double v = creal(c[a * coils + a]);
        chance += v * v / count;
        seen += pow(v - middle, 2);
    }
    return seen > chance ? chance / seen : 1;
}

/* Few samples show correlations and differences that do not exist, and whitening by them would shade the image. See
 * Schaefer and Strimmer, Stat. Appl. Genet. Mol. Biol. 4 (2005) 32; Opgen-Rhein and Strimmer, ibid. 6 (2007) 9. A
 * dead coil stays dead. */
static void shrink(int coils, double count, double complex *c)
{
    const double middle = middle_variance(coils, c), even = share_of_spread(coils, count, c, middle);
    const double apart = 1 - share_of_chance(coils, count, c);
    for (int a = 0; a < coils; a++)
        for (int b = 0; b < coils; b++)
            if (a != b)
                c[a * coils + b] *= apart;
    for (int a = 0; a < coils; a++) {
        const double v = creal(c[a * coils + a]), next = even * middle + (1 - even) * v;
        if (!(v > 0) || !(next > 0))
            continue;
        for (int b = 0; b < coils; b++) { /* the correlations do not change */
            c[a * coils + b] *= sqrt(next / v);
            c[b * coils + a] *= sqrt(next / v);
        }
    }
}

void scan_noise_finish(int coils, double scale, double count, double complex *product)
{
    for (int a = 0; a < coils; a++)
        for (int b = 0; b <= a; b++) {
            double complex value = product[a * coils + b] * scale;
            product[a * coils + b] = value;
            product[b * coils + a] = conj(value);
        }
    shrink(coils, count, product);
}
