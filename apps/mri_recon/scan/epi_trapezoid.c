/* k of samples under a trapezoidal gradient. */
#include <math.h>

#include "epi_readout.h"

double epi_area(const epi_trapezoid *g, double t)
{
    const double end = g->up + g->flat + g->down;
    t = t < 0 ? 0 : t > end ? end : t;
    if (t < g->up)
        return t * t / (2 * g->up);
    if (t <= g->up + g->flat)
        return g->up / 2 + (t - g->up);
    const double left = end - t;
    return g->up / 2 + g->flat + g->down / 2 - left * left / (2 * g->down);
}

/* The distance between samples: that of the description, or that of the readouts' own headers, whichever fits under the
 * gradient first. 0: neither does. */
static double choose_dwell(const ismrmrd_epi *epi, int samples, double sample_us, double length)
{
    const double most = 1.001 * length / samples;
    if (epi->dwell > 0 && epi->dwell <= most)
        return epi->dwell;
    return sample_us > 0 && sample_us <= most ? sample_us : 0;
}

/* When the readout begins. As a rule its middle is that of the gradient; the delay counts if the echo agrees with it. */
static double choose_begin(const ismrmrd_epi *epi, int samples, int center, double dwell, double length)
{
    const double balanced = (length - samples * dwell) / 2, echo = length / 2;
    const bool stated = epi->delay > 0 && epi->delay + samples * dwell <= length + dwell;
    if (!stated || fabs(epi->delay - balanced) <= dwell)
        return balanced;
    const double off = fabs((echo - epi->delay) / dwell - center),
                 off_balanced = fabs((echo - balanced) / dwell - center);
    return off <= off_balanced ? epi->delay : balanced;
}

bool epi_trapezoid_find(const ismrmrd_epi *epi, int samples, double sample_us, int center, int64_t matrix,
                        epi_trapezoid *out, const char **why)
{
    const double length = epi->ramp_up + epi->flat_top + epi->ramp_down;
    *why = "";
    if (!(epi->ramp_up > 0 || epi->ramp_down > 0 || epi->flat_top > 0))
        return false;
    *why = "the times of its gradient are not complete";
    if (!(epi->ramp_up >= 0 && epi->ramp_down >= 0 && epi->flat_top >= 0) || !(epi->ramp_up > 0 && epi->ramp_down > 0))
        return false;
    *why = "its number of samples is another";
    if (epi->samples > 0 && epi->samples != samples)
        return false;
    const double dwell = choose_dwell(epi, samples, sample_us, length);
    *why = "its readout is longer than its gradient";
    if (!(dwell > 0) || samples < 2 || matrix < 2)
        return false;
    *out = (epi_trapezoid){.up = epi->ramp_up, .flat = epi->flat_top, .down = epi->ramp_down, .dwell = dwell};
    const double begin = choose_begin(epi, samples, center, dwell, length);
    out->first = begin + dwell / 2;
    out->scale = (double)matrix / (epi_area(out, begin + samples * dwell) - epi_area(out, begin));
    *why = "";
    return isfinite(out->scale) && out->scale > 0;
}

bool epi_on_ramps(const epi_trapezoid *g, int samples)
{
    return g->first < g->up || g->first + (samples - 1) * g->dwell > g->up + g->flat;
}

double epi_k(const epi_trapezoid *g, int sample, int zero)
{
    return g->scale * (epi_area(g, g->first + sample * g->dwell) - epi_area(g, g->first + zero * g->dwell));
}
