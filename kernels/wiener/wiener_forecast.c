/* Forecasts of a solution before solving. */
#include <math.h>

#include "wiener.h"

void vf_wiener_forecast(const vf_wiener_space *space, double variance, const double *c, const double *s,
                        const double *p, double w, double radius, vf_forecast *out)
{
    const int64_t *n = space->matrix;
    const double voxels = (double)n[0] * (double)n[1] * (double)n[2];
    double signal = 0, noise = 0, bias = 0;
    *out = (vf_forecast){0};
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const double k[3] = {(double)(i % n[0] - n[0] / 2), (double)(i / n[0] % n[1] - n[1] / 2),
                             (double)(i / n[0] / n[1] - n[2] / 2)};
        const double prior = w * (p ? p[i] : 1), sum = c[i] + prior;
        const double kept = sum > 0 ? c[i] / sum : 0, lost = 1 - kept;
        signal += s[i];
        bias += lost * lost * s[i];
        noise += sum > 0 ? kept / sum : 0;
        out->freedom += kept;
        if (vf_wiener_radius(space, k) >= radius)
            out->outer += kept;
    }
    out->signal = sqrt(signal) / voxels;
    out->bias = sqrt(bias) / voxels;
    out->noise = sqrt(variance * noise / voxels);
}

/* noise^2 + bias^2 */
static double error(const vf_wiener_space *space, double variance, const double *c, const double *s, const double *p,
                    double w)
{
    vf_forecast f;
    vf_wiener_forecast(space, variance, c, s, p, w, INFINITY, &f);
    return f.noise * f.noise + f.bias * f.bias;
}

double vf_wiener_best_weight(const vf_wiener_space *space, double variance, const double *c, const double *s,
                             const double *p, double near)
{
    enum { MOST_STEPS = 40, ROUNDS = 7 }; /* factors 4, 2, ... 1.02 */
    double factor = 4;
    double best = near, least = error(space, variance, c, s, p, near);
    /* Descends by factors that shrink. If S falls off, the error has one minimum. */
    for (int round = 0; round < ROUNDS; round++) {
        for (int direction = 0, steps = 0; direction < 2 && steps < MOST_STEPS; steps++) {
            const double next = direction ? best / factor : best * factor;
            const double found = error(space, variance, c, s, p, next);
            if (found < least) {
                best = next;
                least = found;
            } else {
                direction++;
            }
        }
        factor = sqrt(factor);
    }
    return best;
}
