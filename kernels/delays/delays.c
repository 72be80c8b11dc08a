/* Estimates gradient delays: a search on a grid of delays, with few samples; then Gauss-Newton steps with all. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "delays_internal.h"
#include "voxfield/dense.h"

enum { STEPS = 30, STARTS = 4 };
static const double ENOUGH = 1e-4;     /* samples: a smaller step ends the search */
static const double SIGNIFICANT = 20;  /* least gain over the noise of a sample; chance exceeds it once in 10^6 scans */
static const double UNEXPLAINED = 0.5; /* a larger misfit is noise, of which chance makes anything */
static const double LARGEST = 1.1;     /* cycles per field of view: larger delays are other minima of the misfit */
static const double SMALL = 0.5;       /* cycles per field of view: delays beyond it must explain ... */
static const double EXPLAINED = 0.25;  /* ... the misfit down to this share: other minima of the misfit do not */

/* S of the unknowns. */
static void unpack(const delay_problem *p, const double *delay, double s[3][3])
{
    memset(s, 0, 9 * sizeof(double));
    for (int u = 0; u < p->unknowns; u++) {
        s[p->element[u].row][p->element[u].column] = delay[u];
        s[p->element[u].column][p->element[u].row] = delay[u];
    }
}

double delays_reach(const delay_problem *p, const double *delay)
{
    double s[3][3], most = 0;
    unpack(p, delay, s);
    for (int i = 0; i < p->images; i++)
        for (int64_t m = 0; m < p->image[i].count; m++) {
            const double *step = p->image[i].step + 3 * m;
            double square = 0;
            for (int a = 0; a < 3; a++)
                square += pow(s[a][0] * step[0] + s[a][1] * step[1] + s[a][2] * step[2], 2);
            most = fmax(most, square);
        }
    return sqrt(most);
}

/* The inverse of the symmetric matrix `a` with its diagonal increased by the share `more`. False if it has none. */
static bool invert(int n, const double a[DELAYS_UNKNOWNS][DELAYS_UNKNOWNS], double more,
                   double inverse[DELAYS_UNKNOWNS][DELAYS_UNKNOWNS])
{
    const double least_own = 1e-10;
    double complex l[DELAYS_UNKNOWNS * DELAYS_UNKNOWNS];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            l[i * n + j] = a[i][j] * (i == j ? 1 + more : 1);
    if (vf_cholesky(n, l, least_own) >= 0)
        return false;
    vf_invert_lower(n, l);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            inverse[i][j] = 0;
            for (int k = i > j ? i : j; k < n; k++)
                inverse[i][j] += creal(l[k * n + i]) * creal(l[k * n + j]);
        }
    return true;
}

/* Gauss-Newton steps with Levenberg's damping, until a step is small. */
static vf_status refine(delay_problem *p, double *delay, delay_misfit *misfit, bool *ended)
{
    double damping = 1e-3, step = 0;
    vf_status status = delays_misfit(p, delay, true, misfit);
    *ended = false;
    for (int n = 0; status == VF_OK && n < STEPS && !*ended; n++) {
        double inverse[DELAYS_UNKNOWNS][DELAYS_UNKNOWNS], next[DELAYS_UNKNOWNS] = {0};
        delay_misfit there;
        if (!invert(p->unknowns, misfit->hessian, damping, inverse))
            return VF_OK;
        step = 0;
        for (int u = 0; u < p->unknowns; u++) {
            next[u] = delay[u];
            for (int w = 0; w < p->unknowns; w++)
                next[u] -= inverse[u][w] * misfit->gradient[w];
            step = fmax(step, fabs(next[u] - delay[u]));
        }
        there.value = INFINITY;
        if (delays_reach(p, next) <= p->reach)
            status = delays_misfit(p, next, true, &there);
        const bool better = status == VF_OK && there.value < misfit->value;
        damping = better ? damping / 10 : damping * 10;
        *ended = step < ENOUGH;
        if (better) {
            memcpy(delay, next, sizeof next);
            *misfit = there;
        }
    }
    return status;
}

/* Delays to start from. Large delays draw the spokes apart, where a coarse image explains them more easily, so starts
 * are compared by the likelihood of the samples, if those of the coarse image are Gaussian: n log f + log det (A^H A /
 * lambda + 1), for n samples of a misfit f. */
typedef struct start {
    double delay[DELAYS_UNKNOWNS], cost;
} start;

static double cost(const delay_problem *p, const delay_misfit *misfit)
{
    return (double)p->samples * log(misfit->value) + misfit->spread;
}

/* Keeps the starts with the smallest costs, in rising order. */
static void keep_best(start *best, start next)
{
    for (int i = 0; i < STARTS; i++)
        if (next.cost < best[i].cost) {
            const start before = best[i];
            best[i] = next;
            next = before;
        }
}

/* The best delays of a grid: 9 x 9 in 2D, 5 x 5 x 5 in 3D. */
static vf_status search_grid(delay_problem *p, start best[STARTS])
{
    const int side = p->dimensions == 2 ? 4 : 2, width = 2 * side + 1;
    const int count = width * width * (p->dimensions == 2 ? 1 : width);
    const double unit[DELAYS_UNKNOWNS] = {1, 1, p->dimensions == 3};
    const double spacing = 0.8 * p->reach / side / delays_reach(p, unit);
    vf_status status = VF_OK;
    for (int i = 0; i < STARTS; i++)
        best[i] = (start){.cost = INFINITY};
    for (int i = 0; status == VF_OK && i < count; i++) {
        const int index[3] = {i % width, i / width % width, i / width / width};
        delay_misfit misfit;
        start next = {{0}, 0};
        for (int a = 0; a < p->dimensions; a++)
            next.delay[a] = (index[a] - side) * spacing;
        if (delays_reach(p, next.delay) > p->reach)
            continue;
        status = delays_misfit(p, next.delay, false, &misfit);
        if (status == VF_OK) {
            next.cost = cost(p, &misfit);
            keep_best(best, next);
        }
    }
    return status;
}

/* Refines all starts and sorts them. */
static vf_status refine_starts(delay_problem *p, start best[STARTS])
{
    start found[STARTS];
    vf_status status = VF_OK;
    memcpy(found, best, sizeof found);
    for (int i = 0; i < STARTS; i++)
        best[i].cost = INFINITY;
    for (int i = 0; status == VF_OK && i < STARTS && found[i].cost < INFINITY; i++) {
        delay_misfit misfit;
        bool ended;
        status = refine(p, found[i].delay, &misfit, &ended);
        found[i].cost = cost(p, &misfit);
        if (status == VF_OK && isfinite(found[i].cost))
            keep_best(best, found[i]);
    }
    return status;
}

/* The best delays by few samples. */
static vf_status search(delay_problem *p, double *delay)
{
    start best[STARTS];
    vf_status status = search_grid(p, best);
    VF_TRY(status, refine_starts(p, best));
    if (status == VF_OK && best[0].cost < INFINITY)
        memcpy(delay, best[0].delay, sizeof best[0].delay);
    return status;
}

/* Refines the delays that the search found, and decides whether they are real. */
static vf_status decide(delay_problem *p, double *delay, vf_delays *out)
{
    const double none[DELAYS_UNKNOWNS] = {0};
    double inverse[DELAYS_UNKNOWNS][DELAYS_UNKNOWNS];
    delay_misfit before, after;
    bool ended = false;
    vf_status status = delays_misfit(p, none, true, &before);
    VF_TRY(status, refine(p, delay, &after, &ended));
    if (status != VF_OK)
        return status;
    out->radius = p->radius;
    out->samples = p->samples;
    out->misfit_before = out->misfit = sqrt(before.residual / p->energy);
    const double numbers = p->coils * ((double)p->samples - after.freedom);
    const double variance = numbers > 0 ? after.residual / numbers : 0;
    const double misfit = sqrt(after.residual / p->energy);
    if (!ended || !(numbers > 0) || !(misfit <= UNEXPLAINED) ||
        !(before.value - after.value > SIGNIFICANT * variance) || delays_reach(p, delay) > LARGEST ||
        (delays_reach(p, delay) > SMALL && misfit > EXPLAINED * out->misfit_before) ||
        !invert(p->unknowns, after.hessian, 0, inverse))
        return VF_OK;
    double error[DELAYS_UNKNOWNS];
    for (int u = 0; u < p->unknowns; u++)
        error[u] = sqrt(variance / 2 * inverse[u][u]); /* half of a complex number's variance is in its real part */
    out->found = true;
    out->misfit = misfit;
    unpack(p, delay, out->s);
    unpack(p, error, out->error);
    return VF_OK;
}

/* What no delays leave of the samples. */
static vf_status misfit_without(delay_problem *p, vf_delays *out)
{
    const double none[DELAYS_UNKNOWNS] = {0};
    delay_misfit before;
    const vf_status status = delays_misfit(p, none, true, &before);
    out->radius = p->radius;
    out->samples = p->samples;
    out->misfit_before = out->misfit = status == VF_OK ? sqrt(before.residual / p->energy) : 0;
    return status;
}

vf_status vf_delays_estimate(vf_context *ctx, int dimensions, int images, const vf_spokes *image, double least,
                             vf_delays *out)
{
    delay_problem coarse, whole = {0};
    double delay[DELAYS_UNKNOWNS] = {0};
    *out = (vf_delays){0};
    vf_status status = delays_select(ctx, dimensions, images, image, &delays_coarse, &coarse);
    bool wanted = status == VF_OK && coarse.points > 0 && coarse.energy > 0;
    if (wanted)
        status = delays_select(ctx, dimensions, images, image, &delays_whole, &whole);
    if (wanted && least > 0) {
        VF_TRY(status, misfit_without(&whole, out));
        wanted = out->misfit_before >= least;
    }
    if (wanted && status == VF_OK)
        status = search(&coarse, delay);
    delays_free(&coarse);
    if (wanted && status == VF_OK)
        status = decide(&whole, delay, out);
    delays_free(&whole);
    return status;
}
