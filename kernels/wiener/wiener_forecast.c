/* Forecasts of a solution before solving. */
#include <math.h>

#include "voxfield/team_size.h"
#include "wiener_internal.h"

/* Rows are summed in blocks, and blocks are added in order, so the bits do not depend on the number of threads. */
enum { BLOCKS = 128 };

typedef struct model {
    const vf_wiener_space *space;
    const double *c, *s, *p;
    double w, least; /* the square of the radius, or infinite */
} model;

typedef struct model_sums {
    double signal, noise, bias, freedom, outer;
} model_sums;

/* A term of the square of vf_wiener_radius. */
static double square_along(const vf_wiener_space *space, int axis, int64_t i)
{
    const double k = (double)(i - space->matrix[axis] / 2) / space->fov[axis];
    return space->matrix[axis] > 1 ? k * k : 0;
}

static void add_row(const model *m, int64_t row, model_sums *to)
{
    const int64_t *n = m->space->matrix, first = row * n[0];
    const double y = square_along(m->space, 1, row % n[1]), z = square_along(m->space, 2, row / n[1]);
    model_sums sums = *to; /* a copy, which the arrays cannot overlap */
    for (int64_t x = 0; x < n[0]; x++) {
        const int64_t i = first + x;
        const double prior = m->w * (m->p ? m->p[i] : 1), sum = m->c[i] + prior;
        const double kept = sum > 0 ? m->c[i] / sum : 0, lost = 1 - kept;
        sums.signal += m->s[i];
        sums.bias += lost * lost * m->s[i];
        sums.noise += sum > 0 ? kept / sum : 0;
        sums.freedom += kept;
        if (m->least < INFINITY)
            sums.outer += square_along(m->space, 0, x) + y + z >= m->least ? kept : 0;
    }
    *to = sums;
}

void vf_wiener_forecast(vf_context *ctx, const vf_wiener_space *space, double variance, const double *c,
                        const double *s, const double *p, double w, double radius, vf_forecast *out)
{
    const int64_t *n = space->matrix, rows = n[1] * n[2];
    const double voxels = (double)n[0] * (double)rows;
    const model m = {space, c, s, p, w, radius < INFINITY ? wiener_least_square(radius) : INFINITY};
    model_sums block[BLOCKS] = {{0}}, all = {0};
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 2 * rows * n[0]))
    for (int b = 0; b < BLOCKS; b++)
        for (int64_t row = rows * b / BLOCKS; row < rows * (b + 1) / BLOCKS; row++)
            add_row(&m, row, &block[b]);
    for (int b = 0; b < BLOCKS; b++) {
        all.signal += block[b].signal;
        all.noise += block[b].noise;
        all.bias += block[b].bias;
        all.freedom += block[b].freedom;
        all.outer += block[b].outer;
    }
    *out = (vf_forecast){.signal = sqrt(all.signal) / voxels,
                         .noise = sqrt(variance * all.noise / voxels),
                         .bias = sqrt(all.bias) / voxels,
                         .freedom = all.freedom,
                         .outer = all.outer};
}

/* noise^2 + bias^2 */
static double error(vf_context *ctx, const vf_wiener_space *space, double variance, const double *c, const double *s,
                    const double *p, double w)
{
    vf_forecast f;
    vf_wiener_forecast(ctx, space, variance, c, s, p, w, INFINITY, &f);
    return f.noise * f.noise + f.bias * f.bias;
}

double vf_wiener_best_weight(vf_context *ctx, const vf_wiener_space *space, double variance, const double *c,
                             const double *s, const double *p, double near)
{
    enum { MOST_STEPS = 40, ROUNDS = 7 }; /* factors 4, 2, ... 1.02 */
    double factor = 4;
    double best = near, least = error(ctx, space, variance, c, s, p, near);
    /* Descends by factors that shrink. If S falls off, the error has one minimum. */
    for (int round = 0; round < ROUNDS; round++) {
        for (int direction = 0, steps = 0; direction < 2 && steps < MOST_STEPS; steps++) {
            const double next = direction ? best / factor : best * factor;
            const double found = error(ctx, space, variance, c, s, p, next);
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
