/* Ewald's own sum with Gaussians at a few points: the truth that maps are measured against, where the reference would
 * take too long. The same formula as in ewald_sum_ref.c, divided otherwise:
 *
 *     V(r) = sum_i q_i sum_(|d + n| < rc) erfc(a |d + n|) / |d + n|
 *            + 4 pi / V sum_(0 < |k| < K) exp(-k^2 / 4 a^2) / k^2 Re(exp(i k.r) conj S(k)) - pi sum_i q_i / (a^2 V)
 *
 * with S(k) = sum_i q_i exp(i k.r_i), which serves all points. a = s / rc and K = 2 s a leave out terms below
 * exp(-s^2). rc is chosen by cost. Gaussian charges have erf(b r) / r instead of 1 / r, b = 1 / (sqrt(2) sigma), and
 * 1 / a^2 - 1 / b^2 in the last term; with a = b, waves are all. */
#include "ewald_points.h"

#include <math.h>
#include <stdlib.h>

#include "backend/variants.h"
#include "ewald_division.h"
#include "ewald_gaussian.h"
#include "ewald_sum.h"
#include "voxfield/team_size.h"

static const double pi = 3.14159265358979323846;

enum { BLOCK = 256 }; /* charges whose waves are in the cache */
typedef ewald_division division;
typedef ewald_wave wave;

/* ---- waves ---- */

/* exp(2 pi i n u) of a block for n from -reach to reach: real parts [2 reach + 1][BLOCK], then imaginary parts. */
static void make_powers(const division *s, int axis, int64_t count, const double place[3][BLOCK], double *out)
{
    const int reach = s->reach[axis];
    double *const re = out, *const im = out + (2 * reach + 1) * BLOCK;
    for (int64_t i = 0; i < count; i++) {
        const double u =
            s->inverse[axis][0] * place[0][i] + s->inverse[axis][1] * place[1][i] + s->inverse[axis][2] * place[2][i];
        const double phase = 2 * pi * (u - floor(u)), c = cos(phase), d = sin(phase);
        double a = 1, b = 0;
        for (int n = 0; n <= reach; n++) {
            re[(reach + n) * BLOCK + i] = re[(reach - n) * BLOCK + i] = a;
            im[(reach + n) * BLOCK + i] = b;
            im[(reach - n) * BLOCK + i] = -b;
            const double next = a * c - b * d;
            b = a * d + b * c;
            a = next;
        }
    }
}

static void multiply(int64_t count, const double *charge, const double *x, const double *y, const double *u,
                     const double *v, double *a, double *b)
{
    for (int64_t i = 0; i < count; i++) {
        a[i] = charge[i] * (x[i] * u[i] - y[i] * v[i]);
        b[i] = charge[i] * (x[i] * v[i] + y[i] * u[i]);
    }
}

static size_t powers_size(const division *s)
{
    return (size_t)(2 * (2 * (s->reach[0] + s->reach[1] + s->reach[2]) + 3)) * BLOCK;
}

/* Adds charges [first, first + count), at most BLOCK, to sums [waves][4]. */
static void add_block(const division *s, const vf_coulomb_atoms *charges, int64_t first, int64_t count, double *powers,
                      double *sums)
{
    static ewald_products *const sets[] = {ewald_products_baseline, ewald_products_avx2, ewald_products_avx512};
    ewald_products *const add = sets[vf_cpu_isa()];
    double place[3][BLOCK], a[BLOCK], b[BLOCK], *at[3], *next = powers;
    for (int64_t i = 0; i < count; i++) {
        place[0][i] = charges->x[first + i];
        place[1][i] = charges->y[first + i];
        place[2][i] = charges->z[first + i];
    }
    for (int axis = 0; axis < 3; axis++) {
        at[axis] = next + s->reach[axis] * BLOCK; /* of n = 0 */
        make_powers(s, axis, count, place, next);
        next += 2 * (2 * s->reach[axis] + 1) * BLOCK;
    }
    for (int64_t w = 0; w < s->waves; w++) {
        const wave *k = &s->wave[w];
        const double *x = at[0] + k->n * BLOCK, *y = at[1] + k->m * BLOCK, *z = at[2] + k->l * BLOCK;
        if (w == 0 || k->n != k[-1].n || k->m != k[-1].m)
            multiply(count, charges->charge + first, x, x + (2 * s->reach[0] + 1) * BLOCK, y,
                     y + (2 * s->reach[1] + 1) * BLOCK, a, b);
        add(count, a, b, z, z + (2 * s->reach[2] + 1) * BLOCK, sums + 4 * w);
    }
}

/* S(k) of all waves, in the first part. Parts do not depend on the number of threads, and are added in order. */
static vf_status sum_waves(vf_context *ctx, division *s, const vf_coulomb_atoms *charges)
{
    const int64_t blocks = (charges->count + BLOCK - 1) / BLOCK;
    const int parts = (int)(blocks < EWALD_PARTS ? blocks : EWALD_PARTS);
    const int64_t work = charges->count * s->waves;
    (void)work; /* a linter does not see its use by OpenMP */
    bool failed = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, work)) reduction(| : failed)
    for (int p = 0; p < parts; p++) {
        double *powers = malloc(powers_size(s) * sizeof *powers);
        failed |= !powers;
        for (int64_t n = blocks * p / parts; powers && n < blocks * (p + 1) / parts && !vf_cancelled(ctx); n++) {
            const int64_t left = charges->count - n * BLOCK;
            add_block(s, charges, n * BLOCK, left < BLOCK ? left : BLOCK, powers, s->sums + 4 * s->waves * p);
        }
        free(powers);
    }
    for (int p = 1; p < parts; p++)
        for (int64_t i = 0; i < 4 * s->waves; i++)
            s->sums[i] += s->sums[4 * s->waves * p + i];
    return failed ? vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves") : VF_OK;
}

/* ---- one point ---- */

/* `gradient`: is increased; NULL: not wanted. */
static double over_waves(const division *s, const double r[3], double gradient[3])
{
    double sum = 0, turns[3], along[3] = {0}; /* along: derivatives by turns */
    for (int i = 0; i < 3; i++)
        turns[i] = 2 * pi * (s->inverse[i][0] * r[0] + s->inverse[i][1] * r[1] + s->inverse[i][2] * r[2]);
    for (int64_t w = 0; w < s->waves; w++) {
        const wave *k = &s->wave[w];
        const double *p = s->sums + 4 * w; /* of a + i b = S without l, and c + i d = that of l */
        const double both = k->n * turns[0] + k->m * turns[1], l = k->l * turns[2];
        const double c = cos(both + l), d = sin(both + l), e = cos(both - l), f = sin(both - l);
        sum += k->weight[0] * (c * (p[0] - p[1]) + d * (p[2] + p[3]));
        sum += k->weight[1] * (e * (p[0] + p[1]) + f * (p[3] - p[2]));
        if (!gradient)
            continue;
        const double up = k->weight[0] * (c * (p[2] + p[3]) - d * (p[0] - p[1])),
                     down = k->weight[1] * (e * (p[3] - p[2]) - f * (p[0] + p[1]));
        along[0] += k->n * (up + down);
        along[1] += k->m * (up + down);
        along[2] += k->l * (up - down);
    }
    for (int a = 0; gradient && a < 3; a++)
        gradient[a] +=
            2 * pi * (along[0] * s->inverse[0][a] + along[1] * s->inverse[1][a] + along[2] * s->inverse[2][a]);
    return sum;
}

static double near_value(const division *s, double distance, double r_min)
{
    const double spread = s->alpha * distance, at_zero = 2 / sqrt(pi);
    if (s->own > 0)
        return distance > 0 ? (erf(s->own * distance) - erf(spread)) / distance : at_zero * (s->own - s->alpha);
    if (distance >= r_min)
        return erfc(spread) / distance;
    /* 1 / r_min, and what the waves have is taken away */
    return 1 / r_min - (distance > 0 ? erf(spread) / distance : at_zero * s->alpha);
}

/* The derivative of near_value, divided by the distance. */
static double near_slope(const division *s, double distance, double r_min)
{
    if (s->own > 0)
        return ewald_erf_slope(s->own, distance) - ewald_erf_slope(s->alpha, distance);
    if (distance < r_min)
        return -ewald_erf_slope(s->alpha, distance);
    const double spread = s->alpha * distance;
    return -(erfc(spread) / distance + 2 / sqrt(pi) * s->alpha * exp(-spread * spread)) / (distance * distance);
}

/* `gradient`: is increased; NULL: not wanted. */
static double over_images(const division *s, const vf_coulomb_atoms *charges, const double r[3], double r_min,
                          double gradient[3])
{
    const double most = s->cutoff * s->cutoff;
    double sum = 0;
    for (int64_t i = 0; i < charges->count && most > 0; i++) {
        double d[3] = {r[0] - charges->x[i], r[1] - charges->y[i], r[2] - charges->z[i]}, turns[3], back[3];
        for (int a = 0; a < 3; a++)
            turns[a] = -nearbyint(s->inverse[a][0] * d[0] + s->inverse[a][1] * d[1] + s->inverse[a][2] * d[2]);
        ewald_division_translate(s, turns, back);
        for (int a = 0; a < 3; a++)
            d[a] += back[a];
        for (int64_t n = 0; n < s->images.count; n++) {
            const double *t = s->images.shift[n], x = d[0] + t[0], y = d[1] + t[1], z = d[2] + t[2];
            const double squared = x * x + y * y + z * z;
            if (squared >= most)
                continue;
            sum += charges->charge[i] * near_value(s, sqrt(squared), r_min);
            if (!gradient)
                continue;
            const double slope = charges->charge[i] * near_slope(s, sqrt(squared), r_min);
            gradient[0] += slope * x;
            gradient[1] += slope * y;
            gradient[2] += slope * z;
        }
    }
    return sum;
}

/* ---- fields ---- */

struct vf_ewald_field {
    vf_context *ctx;
    division division;
    int64_t count, capacity;
    double *x, *y, *z, *charge;
    double scale, r_min, total, moment[3]; /* of the charges; moment: 0 unless in vacuum */
    double background;                     /* potential of that of a unit charge */
    double dipole;                         /* 4 pi / 3 V; 0 unless in vacuum */
};

static bool grow(double **array, int64_t capacity)
{
    double *larger = realloc(*array, (size_t)capacity * sizeof *larger);
    if (larger)
        *array = larger;
    return larger != NULL;
}

static vf_status make_room(vf_ewald_field *f, int64_t capacity)
{
    if (!grow(&f->x, capacity) || !grow(&f->y, capacity) || !grow(&f->z, capacity) || !grow(&f->charge, capacity))
        return vf_fail(f->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for %lld charges", (long long)capacity);
    f->capacity = capacity;
    return VF_OK;
}

static void put_charge(vf_ewald_field *f, const double place[3], double charge)
{
    const int64_t i = f->count++;
    f->x[i] = place[0];
    f->y[i] = place[1];
    f->z[i] = place[2];
    f->charge[i] = charge;
    f->total += charge;
    for (int a = 0; a < 3; a++)
        f->moment[a] += f->dipole * charge * place[a];
}

static vf_coulomb_atoms charges_of(const vf_ewald_field *f)
{
    return (vf_coulomb_atoms){.count = f->count, .x = f->x, .y = f->y, .z = f->z, .charge = f->charge};
}

vf_status vf_ewald_field_create(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges,
                                const vf_ewald_options *options, int64_t expected, vf_ewald_field **out)
{
    *out = NULL;
    vf_ewald_field *f = calloc(1, sizeof *f);
    if (!f)
        return vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory");
    division *s = &f->division;
    f->ctx = ctx;
    f->scale = options->scale;
    f->r_min = options->r_min;
    s->own = options->sigma > 0 ? 1 / (sqrt(2) * options->sigma) : 0;
    ewald_division_set_cell(cell, s);
    /* A thousandth, so that a hundredth is left where neutral groups make the potential smaller than its parts. */
    ewald_division_choose_cutoff(log(1000 / options->tolerance), (double)expected, s->own > 0 ? 0 : options->r_min, s);
    f->dipole = options->vacuum ? 4 * pi / (3 * s->volume) : 0;
    f->background = pi / s->volume * (1 / (s->alpha * s->alpha) - (s->own > 0 ? 1 / (s->own * s->own) : 0));
    vf_status status = ewald_division_list_images(s) && ewald_division_list_waves(s)
                           ? VF_OK
                           : vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves and images");
    if (status == VF_OK)
        status = make_room(f, charges->count + 1);
    if (status == VF_OK)
        status = sum_waves(ctx, s, charges);
    for (int64_t i = 0; status == VF_OK && i < charges->count; i++)
        put_charge(f, (double[3]){charges->x[i], charges->y[i], charges->z[i]}, charges->charge[i]);
    if (status == VF_OK && vf_cancelled(ctx))
        status = vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    if (status == VF_OK)
        *out = f;
    else
        vf_ewald_field_destroy(f);
    return status;
}

void vf_ewald_field_destroy(vf_ewald_field *f)
{
    if (!f)
        return;
    ewald_division_free(&f->division);
    free(f->x);
    free(f->y);
    free(f->z);
    free(f->charge);
    free(f);
}

vf_status vf_ewald_field_add(vf_ewald_field *f, const double place[3], double charge)
{
    vf_status status = f->count < f->capacity ? VF_OK : make_room(f, 2 * f->capacity);
    double *powers = status == VF_OK ? malloc(powers_size(&f->division) * sizeof *powers) : NULL;
    if (status == VF_OK && !powers)
        status = vf_fail(f->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves");
    if (status == VF_OK) {
        put_charge(f, place, charge);
        const vf_coulomb_atoms charges = charges_of(f);
        add_block(&f->division, &charges, f->count - 1, 1, powers, f->division.sums);
    }
    free(powers);
    return status;
}

vf_status vf_ewald_field_values(const vf_ewald_field *f, int64_t count, const double *points, double *values)
{
    return vf_ewald_field_electric(f, count, points, values, NULL);
}

vf_status vf_ewald_field_electric(const vf_ewald_field *f, int64_t count, const double *points, double *values,
                                  double *electric)
{
    const division *s = &f->division;
    const vf_coulomb_atoms charges = charges_of(f);
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_for(f->ctx, 20 * count * (charges.count + s->waves)))
    for (int64_t p = 0; p < count; p++) {
        const double *r = points + 3 * p;
        double gradient[3] = {f->moment[0], f->moment[1], f->moment[2]}, *wanted = electric ? gradient : NULL;
        if (vf_cancelled(f->ctx))
            continue;
        values[p] =
            f->scale * (over_images(s, &charges, r, f->r_min, wanted) + over_waves(s, r, wanted) -
                        f->background * f->total + f->moment[0] * r[0] + f->moment[1] * r[1] + f->moment[2] * r[2]);
        for (int a = 0; electric && a < 3; a++)
            electric[3 * p + a] = -f->scale * gradient[a];
    }
    return vf_cancelled(f->ctx) ? vf_fail(f->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

vf_status vf_ewald_points(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges,
                          const vf_ewald_options *options, int64_t count, const double *points, double *values)
{
    vf_ewald_field *field;
    vf_status status = vf_ewald_field_create(ctx, cell, charges, options, count, &field);
    if (status == VF_OK)
        status = vf_ewald_field_values(field, count, points, values);
    vf_ewald_field_destroy(field);
    return status;
}

/* ---- one charge ---- */

struct vf_ewald_pair {
    division division;
    double r_min, background;
};

vf_status vf_ewald_pair_create(vf_context *ctx, const vf_cell *cell, double r_min, double tolerance,
                               vf_ewald_pair **out)
{
    static const double wave_of_pair_seconds = 1e-9; /* a wave at a point, in pair_over_waves */
    vf_ewald_pair *pair = *out = calloc(1, sizeof *pair);
    if (!pair)
        return vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory");
    division *s = &pair->division;
    pair->r_min = r_min;
    ewald_division_set_cell(cell, s);
    ewald_division_choose_cutoff(log(1000 / tolerance), EWALD_WAVE_SECONDS / wave_of_pair_seconds, r_min, s);
    pair->background = pi / (s->volume * s->alpha * s->alpha);
    if (ewald_division_list_images(s) && ewald_division_list_waves(s))
        return VF_OK;
    vf_ewald_pair_destroy(pair);
    *out = NULL;
    return vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves and images");
}

void vf_ewald_pair_destroy(vf_ewald_pair *pair)
{
    if (!pair)
        return;
    ewald_division_free(&pair->division);
    free(pair);
}

/* The sum of weight cos(k.d). powers: of one point, as make_powers has them in the first place of a block. */
static double pair_over_waves(const division *s, const double d[3], double *powers)
{
    double place[3][BLOCK], a = 0, b = 0, sum = 0, *re[3], *im[3];
    for (int axis = 0; axis < 3; axis++)
        place[axis][0] = d[axis];
    for (int axis = 0; axis < 3; axis++) {
        make_powers(s, axis, 1, place, powers);
        re[axis] = powers + s->reach[axis] * BLOCK; /* of n = 0 */
        im[axis] = re[axis] + (2 * s->reach[axis] + 1) * BLOCK;
        powers += 2 * (2 * s->reach[axis] + 1) * BLOCK;
    }
    for (int64_t w = 0; w < s->waves; w++) {
        const wave *k = &s->wave[w];
        const int64_t x = k->n * BLOCK, y = k->m * BLOCK, z = k->l * BLOCK;
        if (w == 0 || k->n != k[-1].n || k->m != k[-1].m) {
            a = re[0][x] * re[1][y] - im[0][x] * im[1][y];
            b = re[0][x] * im[1][y] + im[0][x] * re[1][y];
        }
        sum += a * re[2][z] * (k->weight[0] + k->weight[1]) - b * im[2][z] * (k->weight[0] - k->weight[1]);
    }
    return sum;
}

vf_status vf_ewald_pair_add(vf_context *ctx, const vf_ewald_pair *pair, const double place[3], double factor,
                            int64_t count, const double *points, double *values)
{
    const division *s = &pair->division;
    const double zero = 0, one = 1;
    const vf_coulomb_atoms unit = {.count = 1, .x = &zero, .y = &zero, .z = &zero, .charge = &one};
    bool failed = false;
#pragma omp parallel num_threads(vf_threads_for(ctx, 5 * count * s->waves)) reduction(| : failed)
    {
        double *powers = malloc(powers_size(s) * sizeof *powers);
        failed |= !powers;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < count; p++) {
            const double d[3] = {points[3 * p] - place[0], points[3 * p + 1] - place[1], points[3 * p + 2] - place[2]};
            if (powers)
                values[p] += factor * (over_images(s, &unit, d, pair->r_min, NULL) + pair_over_waves(s, d, powers) -
                                       pair->background);
        }
        free(powers);
    }
    return failed ? vf_fail(ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves") : VF_OK;
}
