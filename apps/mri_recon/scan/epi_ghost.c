/* The phase of reversed readouts from the image itself: without ghosts, an image has the least sum of magnitudes.
 *
 * The image f + r exp(-i phase(x)) has the power P + 2 Re(exp(-i phase) C), P = |f|^2 + |r|^2 and C = r conj(f), each
 * summed over the coils. So after the transforms of f and r, no trial needs another one. Phases of all lines by half a
 * turn more swap image and ghost where lines alternate: of these, the smaller one is taken. */
#include <math.h>

#include "epi_readout.h"

enum { TURNS = 24, SHIFTS = 12, GRID = 2 * SHIFTS + 1 }; /* trials in half a turn, and of shifts to either side */
static const double SHIFT_STEP = 0.25;                   /* cycles per field of view */

/* The image must differ by so much between the best and the worst phase to say anything about it. */
static const double LEAST_CONTRAST = 0.02;
/* The gain must be so much of that. Where ghosts and object do not overlap, a phase of t makes ghosts of tan(t / 2) of the
 * object, and the worst are 1: 0.02 of the worst sum's 0.41 are ghosts of 1 %. If every line is there; if not, copies of the
 * object overlap, which moves the best phase by several degrees. */
static const double LEAST_GAIN[2] = {0.02, 0.1};
/* No other phase may be nearly as good: the sum with it is so much farther from the least, as a part of the worst. In
 * trials with ellipses, the wrong phase won with up to 0.16, and with up to 0.28 if every second line was missing. */
static const double LEAST_SECOND[2] = {0.25, 0.3};
/* Half the columns must give the same phase as the other half, to this share of it. */
static const double MOST_SPREAD = 0.25;

/* The sum of magnitudes over the columns from `first` on, every `step`. */
static double magnitudes(const epi_halves *h, int first, int step, const epi_phase *f)
{
    double sum = 0;
    for (int i = h->first + first; i < h->end; i += step) {
        const double phase = f->turn + 2 * M_PI * f->shift * (i - h->nx / 2) / h->nx;
        const float re = (float)(2 * cos(phase)), im = (float)(2 * sin(phase));
        const float *power = h->power + (int64_t)i * h->ny;
        const float *cross = (const float *)(h->cross + (int64_t)i * h->ny);
        float column = 0;
#pragma omp simd reduction(+ : column)
        for (int j = 0; j < h->ny; j++) {
            const float now = power[j] + re * cross[2 * j] + im * cross[2 * j + 1];
            column += sqrtf(now > 0 ? now : 0);
        }
        sum += (double)column;
    }
    return sum;
}

double epi_magnitudes(const epi_halves *h, const epi_phase *f)
{
    return magnitudes(h, 0, 1, f);
}

/* The rms of a phase over the object. */
static double rms_phase(const epi_halves *h, double turn, double shift)
{
    double sum = 0, weight = 0;
    for (int i = h->first; i < h->end; i++) {
        const double phase = turn + 2 * M_PI * shift * (i - h->nx / 2) / h->nx;
        double power = 0;
        for (int j = 0; j < h->ny; j++)
            power += (double)h->power[(int64_t)i * h->ny + j];
        sum += power * phase * phase;
        weight += power;
    }
    return weight > 0 ? sqrt(sum / weight) : 0;
}

static epi_phase on_grid(int s, int t)
{
    return (epi_phase){.turn = M_PI * ((t + 0.5) / TURNS - 0.5), .shift = SHIFT_STEP * (s - SHIFTS)};
}

/* Whether a trial is better than its neighbours. Turns go round: with half a turn more, image and ghost swap. */
static bool is_least(double sum[GRID][TURNS], int s, int t)
{
    for (int a = s - 1; a <= s + 1; a++)
        for (int b = t - 1; b <= t + 1; b++)
            if (a >= 0 && a < GRID && sum[a][(b + TURNS) % TURNS] < sum[s][t])
                return false;
    return true;
}

/* The best phase on a grid. `second`: the sum of the next best one that is better than its neighbours; NULL: not needed. */
static double search(const epi_halves *h, int first, int step, epi_phase *best, double *second)
{
    double sum[GRID][TURNS], least = INFINITY;
    int at[2] = {0, 0};
    for (int s = 0; s < GRID; s++)
        for (int t = 0; t < TURNS; t++) {
            const epi_phase trial = on_grid(s, t);
            sum[s][t] = magnitudes(h, first, step, &trial);
            if (sum[s][t] < least) {
                least = sum[s][t];
                at[0] = s;
                at[1] = t;
            }
        }
    *best = on_grid(at[0], at[1]);
    if (second)
        *second = INFINITY;
    for (int s = 0; second && s < GRID; s++)
        for (int t = 0; t < TURNS; t++)
            if ((s != at[0] || t != at[1]) && sum[s][t] < *second && is_least(sum, s, t))
                *second = sum[s][t];
    return least;
}

/* The best phase on a grid, then by steps that become smaller. */
static double minimise(const epi_halves *h, int first, int step, epi_phase *best, double *second)
{
    double least = search(h, first, step, best, second);
    double turn = M_PI / TURNS / 2, shift = SHIFT_STEP / 2;
    while (turn > 1e-4) {
        bool better = false;
        for (int d = 0; d < 8; d++) {
            static const int to[8][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}};
            const epi_phase trial = {.turn = best->turn + turn * to[d][0], .shift = best->shift + shift * to[d][1]};
            const double sum = magnitudes(h, first, step, &trial);
            if (!(sum < least))
                continue;
            least = sum;
            *best = trial;
            better = true;
        }
        turn = better ? turn : turn / 2;
        shift = better ? shift : shift / 2;
    }
    best->turn = remainder(best->turn, M_PI);
    return least;
}

void epi_find_ghost(const epi_halves *h, epi_ghost *out)
{
    const epi_phase none = {0};
    epi_phase half[2];
    *out = (epi_ghost){.worst = 0};
    const double least = minimise(h, 0, 1, &out->phase, &out->second);
    for (int t = 0; t < 2 * TURNS; t++) {
        const epi_phase trial = {.turn = M_PI * t / TURNS, .shift = out->phase.shift};
        out->worst = fmax(out->worst, magnitudes(h, 0, 1, &trial));
    }
    out->worst = least > 0 ? out->worst / least : 1;
    for (int i = 0; i < 2; i++)
        minimise(h, i, 2, &half[i], NULL);
    out->second = least > 0 ? fmin(out->second / least, out->worst) : 1;
    out->spread = rms_phase(h, remainder(half[0].turn - half[1].turn, M_PI), half[0].shift - half[1].shift);
    out->phase.coherence = 1;
    out->before = least > 0 ? magnitudes(h, 0, 1, &none) / least : 1;
    out->after = 1;
}

epi_verdict epi_judge(const epi_halves *h, const epi_ghost *g, bool complete)
{
    const double depth = g->worst - g->after;
    const bool gains = g->before - g->after >= LEAST_GAIN[!complete] * depth;
    const bool single = depth >= LEAST_CONTRAST && g->second - g->after >= LEAST_SECOND[!complete] * depth;
    if (!gains && (single || g->before - g->after < LEAST_GAIN[0] * depth))
        return EPI_NONE_NEEDED;
    if (gains && single && g->spread <= MOST_SPREAD * rms_phase(h, g->phase.turn, g->phase.shift))
        return EPI_CLEAR;
    return EPI_UNCLEAR;
}

double epi_sharpness(const epi_halves *h)
{
    double second = 0, fourth = 0;
    for (int i = h->first; i + 1 < h->end; i++)
        for (int j = 0; j < h->ny; j++) {
            const float *at = h->power + (int64_t)i * h->ny + j;
            const double step = sqrt((double)at[h->ny]) - sqrt((double)at[0]), square = step * step;
            second += square;
            fourth += square * square;
        }
    return second > 0 ? fourth / (second * second) : 0;
}
