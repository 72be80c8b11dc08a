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

enum { BLOCK = 128 }; /* charges whose waves along an axis are in the fastest cache */
typedef ewald_division division;
typedef ewald_wave wave;

/* ---- waves ---- */

/* exp(2 pi i n u) of `count` places, u their fraction of the cell along an axis, for n from -reach to reach. A row holds one n of
 * all places, `row` numbers: the real parts [2 reach + 1][row], then the imaginary parts. */
static void make_powers(const division *s, int axis, int64_t count, int64_t row, const double *const place[3],
                        double *out)
{
    const int reach = s->reach[axis];
    double *const re = out + reach * row, *const im = re + (2 * reach + 1) * row, cosine[BLOCK], sine[BLOCK];
    for (int64_t i = 0; i < count; i++) {
        const double u =
            s->inverse[axis][0] * place[0][i] + s->inverse[axis][1] * place[1][i] + s->inverse[axis][2] * place[2][i];
        const double phase = 2 * pi * (u - floor(u));
        cosine[i] = cos(phase);
        sine[i] = sin(phase);
        re[i] = 1;
        im[i] = 0;
    }
    for (int n = 1; n <= reach; n++) {
        const double *a = re + (n - 1) * row, *b = im + (n - 1) * row;
        double *c = re + n * row, *d = im + n * row, *e = re - n * row, *f = im - n * row;
        for (int64_t i = 0; i < count; i++) {
            c[i] = e[i] = a[i] * cosine[i] - b[i] * sine[i];
            d[i] = a[i] * sine[i] + b[i] * cosine[i];
            f[i] = -d[i];
        }
    }
}

/* The powers of all axes: re[axis] and im[axis] are the rows of n = 0. `powers`: powers_size(s, row) numbers. */
typedef struct axis_powers {
    const double *re[3], *im[3];
} axis_powers;

static size_t powers_size(const division *s, int64_t row)
{
    return (size_t)(2 * (2 * (s->reach[0] + s->reach[1] + s->reach[2]) + 3)) * (size_t)row;
}

static axis_powers make_all_powers(const division *s, int64_t count, int64_t row, const double *const place[3],
                                   double *powers)
{
    axis_powers p;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t rows = 2 * s->reach[axis] + 1;
        make_powers(s, axis, count, row, place, powers);
        p.re[axis] = powers + s->reach[axis] * row;
        p.im[axis] = p.re[axis] + rows * row;
        powers += 2 * rows * row;
    }
    return p;
}

/* The first wave of its n and m. */
static bool is_first(const division *s, int64_t w)
{
    return w == 0 || s->wave[w].n != s->wave[w - 1].n || s->wave[w].m != s->wave[w - 1].m;
}

static void multiply(int64_t count, const double *charge, const double *x, const double *y, const double *u,
                     const double *v, double *a, double *b)
{
    for (int64_t i = 0; i < count; i++) {
        a[i] = charge[i] * (x[i] * u[i] - y[i] * v[i]);
        b[i] = charge[i] * (x[i] * v[i] + y[i] * u[i]);
    }
}

/* Adds charges [first, first + count), at most BLOCK, to sums [waves][4]. Two waves at a time: the sums of one wait for each other. */
static void add_block(const division *s, const vf_coulomb_atoms *charges, int64_t first, int64_t count, double *powers,
                      double *sums)
{
    static ewald_products *const sets[] = {ewald_products_baseline, ewald_products_avx2, ewald_products_avx512};
    ewald_products *const add = sets[vf_cpu_isa()];
    const double *const place[3] = {charges->x + first, charges->y + first, charges->z + first};
    const axis_powers p = make_all_powers(s, count, BLOCK, place, powers);
    double a[BLOCK], b[BLOCK];
    for (int64_t w = 0; w < s->waves;) {
        const wave *k = &s->wave[w];
        const int64_t x = k->n * BLOCK, y = k->m * BLOCK, z = k->l * BLOCK;
        if (is_first(s, w))
            multiply(count, charges->charge + first, p.re[0] + x, p.im[0] + x, p.re[1] + y, p.im[1] + y, a, b);
        const bool two = w + 1 < s->waves && !is_first(s, w + 1);
        const int64_t other = two ? k[1].l * BLOCK : z;
        const double *const c[2] = {p.re[2] + z, p.re[2] + other}, *const d[2] = {p.im[2] + z, p.im[2] + other};
        add(count, a, b, two ? 2 : 1, c, d, sums + 4 * w);
        w += two ? 2 : 1;
    }
}

/* S(k) of all waves, in the first part. Parts do not depend on the number of threads, and are added in order. */
static vf_status sum_waves(vf_context *ctx, division *s, const vf_coulomb_atoms *charges)
{
    const int64_t blocks = (charges->count + BLOCK - 1) / BLOCK;
    const int parts = (int)(blocks < EWALD_PARTS ? blocks : EWALD_PARTS);
    const int64_t work = charges->count * s->waves;
    bool failed = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(ctx, work)) reduction(| : failed)
    for (int p = 0; p < parts; p++) {
        double *powers = malloc(powers_size(s, BLOCK) * sizeof *powers);
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

/* `gradient`: is increased; NULL: not wanted. `powers`: room for powers_size(s, 1). */
static double over_waves(const division *s, const double r[3], double *powers, double gradient[3])
{
    const axis_powers p = make_all_powers(s, 1, 1, (const double *const[3]){r, r + 1, r + 2}, powers);
    double sum = 0, along[3] = {0}, a = 0, b = 0; /* along: derivatives by turns */
    for (int64_t w = 0; w < s->waves; w++) {
        const wave *k = &s->wave[w];
        const double *q = s->sums + 4 * w; /* of a + i b = S without l, and c + i d = that of l */
        if (is_first(s, w)) {
            a = p.re[0][k->n] * p.re[1][k->m] - p.im[0][k->n] * p.im[1][k->m];
            b = p.re[0][k->n] * p.im[1][k->m] + p.im[0][k->n] * p.re[1][k->m];
        }
        const double x = p.re[2][k->l], y = p.im[2][k->l];
        const double c = a * x - b * y, d = b * x + a * y, e = a * x + b * y, f = b * x - a * y; /* of l and -l */
        sum += k->weight[0] * (c * (q[0] - q[1]) + d * (q[2] + q[3]));
        sum += k->weight[1] * (e * (q[0] + q[1]) + f * (q[3] - q[2]));
        if (!gradient)
            continue;
        const double up = k->weight[0] * (c * (q[2] + q[3]) - d * (q[0] - q[1])),
                     down = k->weight[1] * (e * (q[3] - q[2]) - f * (q[0] + q[1]));
        along[0] += k->n * (up + down);
        along[1] += k->m * (up + down);
        along[2] += k->l * (up - down);
    }
    for (int axis = 0; gradient && axis < 3; axis++)
        gradient[axis] +=
            2 * pi * (along[0] * s->inverse[0][axis] + along[1] * s->inverse[1][axis] + along[2] * s->inverse[2][axis]);
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
    VF_TRY(status, make_room(f, charges->count + 1));
    VF_TRY(status, sum_waves(ctx, s, charges));
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
    double *powers = status == VF_OK ? malloc(powers_size(&f->division, BLOCK) * sizeof *powers) : NULL;
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

static void field_at(const vf_ewald_field *f, const double r[3], double *powers, double *value, double *electric)
{
    const division *s = &f->division;
    const vf_coulomb_atoms charges = charges_of(f);
    double gradient[3] = {f->moment[0], f->moment[1], f->moment[2]}, *wanted = electric ? gradient : NULL;
    *value = f->scale * (over_images(s, &charges, r, f->r_min, wanted) + over_waves(s, r, powers, wanted) -
                         f->background * f->total + f->moment[0] * r[0] + f->moment[1] * r[1] + f->moment[2] * r[2]);
    for (int a = 0; electric && a < 3; a++)
        electric[a] = -f->scale * gradient[a];
}

vf_status vf_ewald_field_electric(const vf_ewald_field *f, int64_t count, const double *points, double *values,
                                  double *electric)
{
    bool failed = false;
#pragma omp parallel num_threads(vf_threads_for(f->ctx, 20 * count * (f->count + f->division.waves)))                  \
    reduction(|                                                                                                        \
              : failed)
    {
        double *powers = malloc(powers_size(&f->division, 1) * sizeof *powers);
        failed |= !powers;
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < count; p++)
            if (powers && !vf_cancelled(f->ctx))
                field_at(f, points + 3 * p, powers, &values[p], electric ? electric + 3 * p : NULL);
        free(powers);
    }
    if (failed)
        return vf_fail(f->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for waves");
    return vf_cancelled(f->ctx) ? vf_fail(f->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
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

/* The sum of weight cos(k.d). `powers`: as in over_waves. */
static double pair_over_waves(const division *s, const double d[3], double *powers)
{
    const axis_powers p = make_all_powers(s, 1, 1, (const double *const[3]){d, d + 1, d + 2}, powers);
    double a = 0, b = 0, sum = 0;
    for (int64_t w = 0; w < s->waves; w++) {
        const wave *k = &s->wave[w];
        if (is_first(s, w)) {
            a = p.re[0][k->n] * p.re[1][k->m] - p.im[0][k->n] * p.im[1][k->m];
            b = p.re[0][k->n] * p.im[1][k->m] + p.im[0][k->n] * p.re[1][k->m];
        }
        sum += a * p.re[2][k->l] * (k->weight[0] + k->weight[1]) - b * p.im[2][k->l] * (k->weight[0] - k->weight[1]);
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
        double *powers = malloc(powers_size(s, 1) * sizeof *powers);
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
