/* The division of Ewald's sum at points: the cutoff, the images within it, and the waves. */
#include "ewald_division.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
static const double pair_seconds = 20e-9, image_seconds = 2e-9;

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

void ewald_division_set_cell(const vf_cell *cell, ewald_division *s)
{
    s->volume = vf_cell_volume(cell);
    for (int i = 0; i < 3; i++) {
        const double *b = cell->vectors[(i + 1) % 3], *c = cell->vectors[(i + 2) % 3];
        for (int a = 0; a < 3; a++) {
            s->vectors[i][a] = cell->vectors[i][a];
            s->inverse[i][a] = (b[(a + 1) % 3] * c[(a + 2) % 3] - b[(a + 2) % 3] * c[(a + 1) % 3]) / s->volume;
        }
    }
}

void ewald_division_translate(const ewald_division *s, const double turns[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = turns[0] * s->vectors[0][a] + turns[1] * s->vectors[1][a] + turns[2] * s->vectors[2][a];
}

/* Images to either side that may come within a cutoff of a distance whose fractions are between -1/2 and 1/2. */
static int64_t images_along(const ewald_division *s, int axis, double cutoff)
{
    return (int64_t)floor(cutoff * length(s->inverse[axis]) + 0.5);
}

/* The cutoff with the least work for `points`: the images are a step function, so just below its steps are candidates.
 */
void ewald_division_choose_cutoff(double s2, double points, double r_min, ewald_division *s)
{
    const double edge = cbrt(s->volume);
    double least = INFINITY, width = INFINITY;
    for (int i = 0; i < 3; i++)
        width = fmin(width, 1 / length(s->inverse[i]));
    for (int tenths = 1; tenths < 30; tenths++) {
        const double cutoff = fmax(0.09999 * tenths * width, r_min),
                     waves = 2 * pi / 3 * pow(s2 * edge / (pi * cutoff), 3);
        double near = 1;
        for (int i = 0; i < 3; i++)
            near *= 2 * (double)images_along(s, i, cutoff) + 1;
        const double pairs = 4 * pi / 3 * pow(cutoff / edge, 3);
        const double seconds =
            waves * EWALD_WAVE_SECONDS + points * (pairs * pair_seconds + (near + 2) * image_seconds);
        if (seconds < least) {
            least = seconds;
            s->cutoff = cutoff;
        }
    }
    s->alpha = sqrt(s2) / s->cutoff;
    if (s->own > 0 && s->own <= s->alpha) {
        s->alpha = s->own;
        s->cutoff = 0;
    }
    s->most = 2 * sqrt(s2) * s->alpha;
}

bool ewald_division_list_images(ewald_division *s)
{
    int64_t most[3], room = 1;
    for (int i = 0; i < 3; i++) {
        most[i] = images_along(s, i, s->cutoff);
        room *= 2 * most[i] + 1;
    }
    s->images.shift = malloc((size_t)room * sizeof *s->images.shift);
    for (int64_t n = 0; s->images.shift && n < room; n++) {
        const int64_t w0 = 2 * most[0] + 1, w1 = 2 * most[1] + 1;
        const double turns[3] = {(double)(n % w0 - most[0]), (double)(n / w0 % w1 - most[1]),
                                 (double)(n / w0 / w1 - most[2])};
        ewald_division_translate(s, turns, s->images.shift[s->images.count++]);
    }
    return s->images.shift != NULL;
}

/* 4 pi / V exp(-k^2 / 4 a^2) / k^2, twice for the other half of the space; 0 beyond the last wave. */
static double weight_of(const ewald_division *s, int n, int m, int l)
{
    double k[3], k2 = 0;
    for (int a = 0; a < 3; a++) {
        k[a] = 2 * pi * (n * s->inverse[0][a] + m * s->inverse[1][a] + l * s->inverse[2][a]);
        k2 += k[a] * k[a];
    }
    const bool half = n > 0 || (n == 0 && (m > 0 || (m == 0 && l > 0)));
    return half && k2 < s->most * s->most ? 8 * pi / s->volume * exp(-k2 / (4 * s->alpha * s->alpha)) / k2 : 0;
}

bool ewald_division_list_waves(ewald_division *s)
{
    for (int i = 0; i < 3; i++)
        s->reach[i] = (int)floor(s->most * length(s->vectors[i]) / (2 * pi));
    const int64_t room = (int64_t)(s->reach[0] + 1) * (2 * s->reach[1] + 1) * (s->reach[2] + 1);
    s->wave = calloc((size_t)room, sizeof *s->wave);
    for (int n = 0; s->wave && n <= s->reach[0]; n++)
        for (int m = -s->reach[1]; m <= s->reach[1]; m++)
            for (int l = 0; l <= s->reach[2]; l++) {
                const ewald_wave w = {n, m, l, {weight_of(s, n, m, l), l > 0 ? weight_of(s, n, m, -l) : 0}};
                if (w.weight[0] > 0 || w.weight[1] > 0)
                    s->wave[s->waves++] = w;
            }
    s->sums = s->wave ? calloc((size_t)(EWALD_PARTS * s->waves + 1), 4 * sizeof *s->sums) : NULL;
    return s->sums != NULL;
}

void ewald_division_free(ewald_division *s)
{
    free(s->images.shift);
    free(s->wave);
    free(s->sums);
}
