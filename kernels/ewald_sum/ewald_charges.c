/* The numbers that the choice of a shape needs of the charges: bounds, and an estimate of the rms potential. */
#include "ewald_charges.h"

#include "voxfield/team_size.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

enum { SAMPLES = EWALD_SAMPLES, ALL_SAMPLES = SAMPLES * SAMPLES * SAMPLES, CUT_SAMPLES = 8 };

void ewald_invert(const double e[3][3], double u[3][3])
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            u[a][b] = a == b ? 1 / e[a][a] : 0;
    u[1][2] = -e[2][1] * u[1][1] * u[2][2];
    u[0][1] = -e[1][0] * u[0][0] * u[1][1];
    u[0][2] = -(e[2][0] * u[2][2] + e[1][0] * u[1][2]) * u[0][0];
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (fabs(x) > fabs(y)) - (fabs(x) < fabs(y));
}

double ewald_rms_of_samples(double values[ALL_SAMPLES])
{
    double sum = 0;
    qsort(values, ALL_SAMPLES, sizeof *values, by_size);
    for (int i = 0; i < ALL_SAMPLES; i++) {
        const double value = values[i < ALL_SAMPLES - CUT_SAMPLES ? i : ALL_SAMPLES - CUT_SAMPLES - 1];
        sum += value * value;
    }
    return sqrt(sum / ALL_SAMPLES);
}

static vf_status refuse_charge(vf_context *ctx, const vf_coulomb_atoms *charges, int64_t i)
{
    return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: charge %lld at (%g, %g, %g) with charge %g is out of range",
                   (long long)i + 1, charges->x[i], charges->y[i], charges->z[i], charges->charge[i]);
}

static void add_charge(ewald_summary *s, const vf_grid *grid, const double r[3], double q)
{
    for (int a = 0; a < 3; a++) {
        s->lo[a] = fmin(s->lo[a], r[a]);
        s->hi[a] = fmax(s->hi[a], r[a]);
    }
    s->squares += q * q;
    s->largest = fmax(s->largest, fabs(q));
    s->within[ewald_distance_class(grid, r)]++;
}

/* The rms potential over the grid, from a coarse grid of some of its points. */
static vf_status sample_potential(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges, double r_min,
                                  double *rms)
{
    vf_grid coarse = {.counts = {SAMPLES, SAMPLES, SAMPLES}};
    const vf_coulomb_options options = {.scale = 1, .r_min = r_min, .precision = VF_F32};
    float values[ALL_SAMPLES];
    double doubles[ALL_SAMPLES];
    vf_coulomb *plan = NULL;
    vf_queue *queue = NULL;
    for (int a = 0; a < 3; a++) {
        coarse.spacing[a] = grid->spacing[a] * (double)grid->counts[a] / SAMPLES;
        coarse.origin[a] = ewald_sample(grid, a, 0);
    }
    const vf_box all = vf_grid_box(&coarse);
    vf_status status = vf_coulomb_create(device, &coarse, charges, &options, &plan);
    VF_TRY(status, vf_queue_create(device, &queue));
    VF_TRY(status, vf_coulomb_execute(plan, queue, &all, values));
    for (int i = 0; status == VF_OK && i < ALL_SAMPLES; i++)
        doubles[i] = (double)values[i];
    *rms = status == VF_OK ? ewald_rms_of_samples(doubles) : 0;
    vf_queue_destroy(queue);
    vf_coulomb_destroy(plan);
    return status;
}

/* ---- Gaussian charges in a cell ---- */

/* Structure factors sum_i q_i exp(-i 2 pi n . u_i), u the charges' fractional coordinates, for n from 0 to WAVES - 1
 * along x, and from -WAVES + 1 to WAVES - 1 along y and z. */
enum { WAVES = 4, BOTH_WAYS = 2 * WAVES - 1, FACTORS = WAVES * BOTH_WAYS * BOTH_WAYS };
typedef struct factors {
    double re[FACTORS], im[FACTORS];
} factors;

/* exp(-i 2 pi n u) for n from -WAVES + 1 to WAVES - 1. */
static void make_powers(double u, double re[BOTH_WAYS], double im[BOTH_WAYS])
{
    const double c = cos(2 * pi * u), s = -sin(2 * pi * u);
    re[WAVES - 1] = 1;
    im[WAVES - 1] = 0;
    for (int n = WAVES; n < BOTH_WAYS; n++) {
        re[n] = re[BOTH_WAYS - 1 - n] = re[n - 1] * c - im[n - 1] * s;
        im[n] = re[n - 1] * s + im[n - 1] * c;
        im[BOTH_WAYS - 1 - n] = -im[n];
    }
}

static void add_factors(const double u[3], double q, factors *f)
{
    double re[3][BOTH_WAYS], im[3][BOTH_WAYS];
    for (int a = 0; a < 3; a++)
        make_powers(u[a], re[a], im[a]);
    for (int x = 0, n = 0; x < WAVES; x++)
        for (int y = 0; y < BOTH_WAYS; y++) {
            const double c = q * (re[0][WAVES - 1 + x] * re[1][y] - im[0][WAVES - 1 + x] * im[1][y]);
            const double s = q * (re[0][WAVES - 1 + x] * im[1][y] + im[0][WAVES - 1 + x] * re[1][y]);
            for (int z = 0; z < BOTH_WAYS; z++, n++) {
                f->re[n] += c * re[2][z] - s * im[2][z];
                f->im[n] += c * im[2][z] + s * re[2][z];
            }
        }
}

/* The rms potential of Gaussian charges in a cell, at least: that of the longest waves, by Parseval's theorem. */
static double long_waves(const vf_cell *cell, const vf_coulomb_atoms *charges, double sigma)
{
    double inverse[3][3], sum = 0;
    const double volume = vf_cell_volume(cell);
    factors f = {{0}, {0}};
    ewald_invert(cell->vectors, inverse);
    for (int64_t i = 0; i < charges->count; i++) {
        double u[3] = {0};
        const double r[3] = {charges->x[i], charges->y[i], charges->z[i]};
        for (int a = 0; a < 3; a++)
            for (int b = a; b < 3; b++)
                u[a] += inverse[a][b] * r[b];
        add_factors(u, charges->charge[i], &f);
    }
    for (int n = 0; n < FACTORS; n++) {
        const int x = n / (BOTH_WAYS * BOTH_WAYS), y = n / BOTH_WAYS % BOTH_WAYS - WAVES + 1,
                  z = n % BOTH_WAYS - WAVES + 1;
        double k2 = 0;
        for (int a = 0; a < 3; a++)
            k2 += pow(2 * pi * (x * inverse[0][a] + y * inverse[1][a] + z * inverse[2][a]), 2);
        if (k2 > 0)
            sum += (x > 0 ? 2 : 1) * (f.re[n] * f.re[n] + f.im[n] * f.im[n]) *
                   pow(4 * pi / (k2 * volume) * exp(-0.5 * sigma * sigma * k2), 2);
    }
    return sqrt(sum);
}

/* ---- all ---- */

/* In a cell: the potential of independent charges, without wave lengths beyond their mean distance. Real ones are
 * larger. The integral of (4 pi / k^2)^2 exp(-sigma^2 k^2) over wave numbers beyond k is
 * (2 pi)^3 8 (exp(-x^2) / k - sqrt(pi) sigma erfc(x)), x = sigma k. */
double ewald_rms_in_cell(const vf_cell *cell, const vf_coulomb_atoms *charges, double sigma, const ewald_summary *s)
{
    const double k = 6.3 / cbrt(s->volume / fmax((double)s->count, 1)), x = sigma * k;
    const double waves = 8 / k * (exp(-x * x) - sqrt(pi) * x * erfc(x));
    const double rms = sqrt(fmax(waves, 0) * s->squares / s->volume);
    return sigma > 0 ? fmax(rms, long_waves(cell, charges, sigma)) : rms;
}

/* Of charges begin <= i < end; s->wrong ends it. */
static void summarise_block(const vf_grid *grid, const vf_coulomb_atoms *charges, double scale, int64_t begin,
                            int64_t end, ewald_summary *s)
{
    *s = (ewald_summary){.wrong = -1};
    for (int a = 0; a < 3; a++) {
        s->lo[a] = grid->origin[a];
        s->hi[a] = ewald_far_end(grid, a);
    }
    for (int64_t i = begin; i < end; i++) {
        const double r[3] = {charges->x[i], charges->y[i], charges->z[i]};
        if (!ewald_in_range(r, charges->charge[i] * scale)) {
            s->wrong = i;
            return;
        }
        add_charge(s, grid, r, charges->charge[i]);
    }
}

static void join(ewald_summary *s, const ewald_summary *more)
{
    for (int a = 0; a < 3; a++) {
        s->lo[a] = fmin(s->lo[a], more->lo[a]);
        s->hi[a] = fmax(s->hi[a], more->hi[a]);
    }
    s->squares += more->squares;
    s->largest = fmax(s->largest, more->largest);
    s->wrong = s->wrong >= 0 ? s->wrong : more->wrong;
    for (int n = 0; n < EWALD_DISTANCES; n++)
        s->within[n] += more->within[n];
}

/* In blocks of a fixed size, so that the sum of squares does not depend on the number of threads. */
static vf_status summarise_on_host(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *charges,
                                   const vf_ewald_options *o, ewald_summary *s)
{
    enum { BLOCK = 1 << 15 };
    vf_context *ctx = vf_device_context(device);
    const int64_t blocks = charges->count / BLOCK + 1;
    ewald_summary *parts = malloc((size_t)blocks * sizeof *parts);
    if (!parts)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a plan");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, charges->count))
    for (int64_t b = 0; b < blocks; b++)
        summarise_block(grid, charges, o->scale, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : charges->count,
                        &parts[b]);
    for (int a = 0; a < 3; a++) {
        s->lo[a] = parts[0].lo[a];
        s->hi[a] = parts[0].hi[a];
    }
    for (int64_t b = 0; b < blocks; b++)
        join(s, &parts[b]);
    free(parts);
    if (s->wrong >= 0)
        return VF_OK;
    /* The potential of a Gaussian charge is at most 0.8 / sigma. */
    const double r_min = fmax(o->r_min, 1.25 * o->sigma);
    return grid->cell.kind == VF_CELL_NONE ? sample_potential(vf_context_host(ctx), grid, charges, r_min, &s->rms)
                                           : VF_OK;
}

vf_status ewald_summarise(vf_device *device, const vf_ewald_backend *backend, const vf_grid *grid,
                          const vf_coulomb_atoms *charges, ewald_loaded *loaded, const vf_ewald_options *o,
                          ewald_summary *s)
{
    *s = (ewald_summary){.count = charges->count, .wrong = -1, .volume = vf_cell_volume(&grid->cell)};
    const vf_status status =
        backend->summarise ? backend->summarise(loaded, grid, o, s) : summarise_on_host(device, grid, charges, o, s);
    if (status != VF_OK || s->wrong >= 0)
        return status == VF_OK ? refuse_charge(vf_device_context(device), charges, s->wrong) : status;
    for (int n = 1; n < EWALD_DISTANCES; n++)
        s->within[n] += s->within[n - 1];
    if (grid->cell.kind == VF_CELL_NONE) {
        s->volume = 1;
        for (int a = 0; a < 3; a++)
            s->volume *= grid->spacing[a] * (double)grid->counts[a];
        return VF_OK;
    }
    s->rms = ewald_rms_in_cell(&grid->cell, charges, o->sigma, s);
    return VF_OK;
}
