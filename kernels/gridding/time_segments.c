/* Time segments of an off-resonance phase: their times, their number, and their coefficients by least squares.
 *
 * The frequencies are reduced to some hundred points. Their range is divided into equal bins. Each bin with values is
 * represented by Gauss-Legendre nodes over the range of its values, which is accurate for smooth functions of f. The
 * columns exp(i 2 pi t_l f) are orthogonalised (Gram-Schmidt, twice). This avoids squaring the condition number, so
 * tolerances near rounding are possible. The coefficients are smooth in t: they are solved for at Chebyshev nodes and
 * interpolated to the samples' times.
 *
 * Where the phase turns often, the smallest number of segments would have huge coefficients that cancel. They would
 * amplify the rounding errors of each segment's transform (10^6 at 50 turns). So |e - sum b_l e_l|^2 + delta^2 sum
 * |b_l|^2 is minimised, and the root of the minimum must be at most the tolerance (Tikhonov). delta is a fraction of
 * the tolerance, so sum |b_l|^2 is at most 1 / KEPT_SMALL^2.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

enum { NODES = 6, MOST_BINS = 512, LEAST_BINS = 64, MOST_SEGMENTS = 256, MOST_CHEBYSHEV = 96 };
static const double KEPT_SMALL = 0.3; /* delta, relative to the tolerance */

static const double pi = 3.14159265358979323846;

typedef struct point_set {
    int count;
    double *f, *weight; /* sum of squared weights: 1; f is relative to `centre` */
    double centre, half_range, field_range;
} point_set;

/* The least and largest value of a bin, and how much it holds. */
typedef struct bin {
    double low, high, amount;
} bin;

static void put(bin *bins, int count, double low, double range, double from, double to, double amount)
{
    int b = range > 0 ? (int)((0.5 * (from + to) - low) / range * count) : 0;
    b = b < 0 ? 0 : b < count ? b : count - 1;
    if (bins[b].amount == 0 || from < bins[b].low)
        bins[b].low = from;
    if (bins[b].amount == 0 || to > bins[b].high)
        bins[b].high = to;
    bins[b].amount += amount;
}

static vf_status make_points(vf_context *ctx, const bin *bins, int count, point_set *set)
{
    static const double node[NODES] = {-0.93246951420315203, -0.66120938646626451, -0.23861918608319691,
                                       0.23861918608319691,  0.66120938646626451,  0.93246951420315203};
    static const double weight[NODES] = {0.085662246189585173, 0.18038078652406930, 0.23395696728634552,
                                         0.23395696728634552,  0.18038078652406930, 0.085662246189585173};
    double total = 0;
    for (int b = 0; b < count; b++)
        total += bins[b].amount;
    set->f = malloc((size_t)(count * NODES) * sizeof *set->f);
    set->weight = malloc((size_t)(count * NODES) * sizeof *set->weight);
    if (!set->f || !set->weight)
        return vf_fail(ctx, VF_ERR_MEMORY, "time segments: not enough memory");
    set->count = 0;
    for (int b = 0; b < count; b++) {
        double middle = 0.5 * (bins[b].low + bins[b].high), half = 0.5 * (bins[b].high - bins[b].low);
        int nodes = bins[b].amount == 0 ? 0 : half > 0 ? NODES : 1;
        for (int i = 0; i < nodes; i++) {
            set->f[set->count] = middle - set->centre + (nodes > 1 ? half * node[i] : 0);
            set->weight[set->count++] = sqrt(bins[b].amount / total * (nodes > 1 ? weight[i] : 1));
        }
    }
    return VF_OK;
}

/* The range of values, or 0 to 0 if there are none. *bad: the index of a value that is not finite, or -1. */
static vf_status range_of(vf_context *ctx, int64_t count, const float *values, double *low, double *high, int64_t *bad)
{
    vf_reduced least, greatest = {0};
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_MIN, VF_F32, count, values, NULL, &least);
    VF_TRY(status, vf_host_reduce(ctx, VF_REDUCE_MAX, VF_F32, count, values, NULL, &greatest));
    *low = least.re;
    *high = greatest.re;
    *bad = !isfinite(least.re) ? least.index : !isfinite(greatest.re) ? greatest.index : -1;
    return status;
}

/* The points that represent the field's values, or all differences of two of them. `times` is the range of t. */
static vf_status reduce_field(vf_context *ctx, int64_t voxels, const float *field, bool symmetric, double times,
                              point_set *set)
{
    double low, high;
    int64_t bad;
    vf_status status = range_of(ctx, voxels, field, &low, &high, &bad);
    if (status == VF_OK && bad >= 0)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "the field map is %g at voxel %lld; it must be finite",
                         (double)field[bad], (long long)bad + 1);
    if (status != VF_OK)
        return status;
    double range = high - low, turns = 8 * range * times;
    int count = turns < LEAST_BINS ? LEAST_BINS : turns < MOST_BINS ? (int)turns : MOST_BINS;
    bin *bins = calloc((size_t)(2 * count), sizeof *bins), *differences = bins + count;
    if (!bins)
        return vf_fail(ctx, VF_ERR_MEMORY, "time segments: not enough memory");
    for (int64_t n = 0; n < voxels; n++)
        put(bins, count, low, range, field[n], field[n], 1);
    if (voxels == 0)
        put(bins, count, 0, 0, 0, 0, 1);
    set->centre = symmetric ? 0 : 0.5 * (low + high);
    set->half_range = symmetric ? range : 0.5 * range;
    set->field_range = range;
    for (int i = 0; symmetric && i < count; i++)
        for (int j = 0; j < count; j++)
            if (bins[i].amount > 0 && bins[j].amount > 0)
                put(differences, count, -range, 2 * range, bins[i].low - bins[j].high, bins[i].high - bins[j].low,
                    bins[i].amount * bins[j].amount);
    status = make_points(ctx, symmetric ? differences : bins, count, set);
    free(bins);
    return status;
}

/* Orthonormal columns of the weighted exp(i 2 pi t_l f), extended by rows with delta e_l, and the triangular factor:
 * column l of the matrix is sum_k triangle[k][l] q_k. Complex numbers are {re, im}. */
typedef struct basis {
    int count, rows;  /* rows: points + count */
    double *time;     /* [count], relative to the middle */
    double *q;        /* [count][2][rows]: real, then imaginary parts */
    double *triangle; /* [count][count][2] */
} basis;

/* The weighted exp(i 2 pi t f), extended by zeros. */
static void exponential(const point_set *set, int rows, double t, double *column)
{
    memset(column, 0, 2 * (size_t)rows * sizeof *column);
    for (int i = 0; i < set->count; i++) {
        double angle = 2 * pi * t * set->f[i];
        column[i] = set->weight[i] * cos(angle);
        column[rows + i] = set->weight[i] * sin(angle);
    }
}

/* product = q^H column; column -= product q. */
static void project_out(int rows, const double *q, double *column, double product[2])
{
    double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
    for (int i = 0; i < rows; i++) {
        re += q[i] * column[i] + q[rows + i] * column[rows + i];
        im += q[i] * column[rows + i] - q[rows + i] * column[i];
    }
    for (int i = 0; i < rows; i++) {
        column[i] -= re * q[i] - im * q[rows + i];
        column[rows + i] -= re * q[rows + i] + im * q[i];
    }
    product[0] = re;
    product[1] = im;
}

static double norm(int rows, const double *column)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < 2 * rows; i++)
        sum += column[i] * column[i];
    return sqrt(sum);
}

static void basis_free(basis *b)
{
    free(b->time);
    free(b->q);
    free(b->triangle);
    *b = (basis){0};
}

static vf_status check_cancelled(vf_context *ctx)
{
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* Times of segments: Chebyshev nodes (best if the phase changes little), or equally spaced with some beyond the
 * samples' times (best if it turns often). */
static double segment_time(int count, int l, int beyond, double half)
{
    if (count == 1)
        return 0;
    return beyond > 0 ? half * (2.0 * l - (count - 1)) / (count - 1 - 2 * beyond) : -half * cos(pi * (l + 0.5) / count);
}

static vf_status make_basis(vf_context *ctx, const point_set *set, int count, int beyond, double half, double delta,
                            basis *b)
{
    size_t n = (size_t)count, rows = (size_t)set->count + n;
    *b = (basis){.count = count,
                 .rows = (int)rows,
                 .time = malloc(n * sizeof(double)),
                 .q = malloc(n * 2 * rows * sizeof(double)),
                 .triangle = calloc(n * n * 2, sizeof(double))};
    if (!b->time || !b->q || !b->triangle) {
        basis_free(b);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %d time segments", count);
    }
    for (int l = 0; l < count && !vf_cancelled(ctx); l++) {
        double *column = b->q + (size_t)l * 2 * rows;
        b->time[l] = segment_time(count, l, beyond, half);
        exponential(set, b->rows, b->time[l], column);
        column[set->count + l] = delta;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < l; k++) {
                double product[2];
                project_out(b->rows, b->q + (size_t)k * 2 * rows, column, product);
                b->triangle[2 * ((size_t)k * n + (size_t)l)] += product[0];
                b->triangle[2 * ((size_t)k * n + (size_t)l) + 1] += product[1];
            }
        double length = norm(b->rows, column);
        /* The column depends on the others to within rounding: its coefficient will be 0. */
        length = length > 1e-14 ? length : 0;
        b->triangle[2 * ((size_t)l * n + (size_t)l)] = length;
        for (size_t i = 0; i < 2 * rows; i++)
            column[i] = length > 0 ? column[i] / length : 0;
    }
    return check_cancelled(ctx);
}

/* The coefficients [count] {re, im} for time t, relative to the middle. Returns the root of the minimum. `column`:
 * working memory for 2 * rows numbers. */
static double solve(const basis *b, const point_set *set, double t, double *column, double *coefficient)
{
    int n = b->count;
    exponential(set, b->rows, t, column);
    for (int k = 0; k < n; k++)
        project_out(b->rows, b->q + (size_t)k * 2 * (size_t)b->rows, column, &coefficient[2 * k]);
    double residual = norm(b->rows, column);
    for (int k = n - 1; k >= 0; k--) {
        double re = coefficient[2 * k], im = coefficient[2 * k + 1];
        for (int l = k + 1; l < n; l++) {
            const double *r = b->triangle + 2 * ((size_t)k * (size_t)n + (size_t)l);
            re -= r[0] * coefficient[2 * l] - r[1] * coefficient[2 * l + 1];
            im -= r[0] * coefficient[2 * l + 1] + r[1] * coefficient[2 * l];
        }
        double own = b->triangle[2 * ((size_t)k * (size_t)n + (size_t)k)];
        coefficient[2 * k] = own > 0 ? re / own : 0;
        coefficient[2 * k + 1] = own > 0 ? im / own : 0;
    }
    return residual;
}

/* The coefficients at Chebyshev nodes of the range of times, for interpolation. */
typedef struct table {
    int nodes, count;
    double *time, *weight; /* [nodes] for the barycentric formula */
    double *between;       /* [nodes + 1] times between the nodes, and both ends */
    double *value;         /* [nodes][count][2] */
    double *column;        /* working memory for `solve`, for MOST_SEGMENTS */
    double *unused;        /* coefficients between nodes, not used */
} table;

static void table_free(table *t)
{
    free(t->time);
    free(t->value);
    free(t->column);
    *t = (table){0};
}

static vf_status refuse_range(vf_context *ctx, const point_set *set, double half)
{
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "times over %g s and a field over %g Hz need more than %d segments: is the time in seconds and the "
                   "field in Hz?",
                   2 * half, set->field_range, MOST_SEGMENTS);
}

/* Turns of the phase over all times and frequencies: a lower bound for the number of segments. */
static double turns_of(const point_set *set, double half)
{
    return 2 * set->half_range * 2 * half;
}

static vf_status table_create(vf_context *ctx, const point_set *set, double half, table *t)
{
    if (!(turns_of(set, half) < MOST_SEGMENTS))
        return refuse_range(ctx, set, half);
    double angle = 2 * pi * set->half_range * half;
    /* exp(i x t), |x t| <= angle, has Chebyshev coefficients J_n(angle), which are below rounding for n beyond this. */
    t->nodes = (int)(angle + 12 * cbrt(angle)) + 24;
    t->time = malloc((3 * (size_t)t->nodes + 1) * sizeof(double));
    t->weight = t->time + t->nodes;
    t->between = t->weight + t->nodes;
    t->column = malloc(2 * ((size_t)set->count + 2 * MOST_SEGMENTS) * sizeof(double));
    t->unused = t->column + 2 * ((size_t)set->count + MOST_SEGMENTS);
    if (!t->time || !t->column)
        return vf_fail(ctx, VF_ERR_MEMORY, "time segments: not enough memory");
    for (int i = 0; i < t->nodes; i++) {
        double node = pi * (i + 0.5) / t->nodes;
        t->time[i] = half * cos(node);
        t->weight[i] = (i % 2 ? -1 : 1) * sin(node);
    }
    for (int i = 0; i <= t->nodes; i++)
        t->between[i] = half * cos(pi * i / t->nodes);
    return VF_OK;
}

/* Fills the table for a basis. *residual: the largest residual at the nodes and between them, as it rises and falls
 * about once per segment. Stops as soon as it exceeds `allowed`. It exceeds first at the ends of the range, so the
 * nodes begin there. */
static vf_status table_fill(vf_context *ctx, const basis *b, const point_set *set, double allowed, table *t,
                            double *residual)
{
    double *value = realloc(t->value, (size_t)t->nodes * (size_t)b->count * 2 * sizeof *value);
    if (!value)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %d time segments", b->count);
    t->value = value;
    t->count = b->count;
    *residual = 0;
    for (int i = 0; i < t->nodes && *residual <= allowed && !vf_cancelled(ctx); i++)
        *residual = fmax(*residual, solve(b, set, t->time[i], t->column, value + (size_t)i * (size_t)b->count * 2));
    for (int i = 0; i <= t->nodes && *residual <= allowed && !vf_cancelled(ctx); i++)
        *residual = fmax(*residual, solve(b, set, t->between[i], t->column, t->unused));
    return check_cancelled(ctx);
}

/* Tries `count` segments. If *residual <= allowed, their times are in `b` and their coefficients in `t`. */
static vf_status try_segments(vf_context *ctx, const point_set *set, double half, double allowed, int count, basis *b,
                              table *t, double *residual)
{
    static const int beyond[] = {0, 3, 5};
    vf_status status = VF_OK;
    *residual = INFINITY;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond && status == VF_OK && !(*residual <= allowed); i++) {
        if (count < 4 * beyond[i])
            break;
        if (count > MOST_CHEBYSHEV && beyond[i] == 0)
            continue;
        basis_free(b);
        status = make_basis(ctx, set, count, beyond[i], half, KEPT_SMALL * allowed, b);
        VF_TRY(status, table_fill(ctx, b, set, allowed, t, residual));
    }
    return status;
}

/* Finds about the smallest number of segments that keep the tolerance: in growing steps until there are enough, then by
 * bisection of the last step. */
static vf_status find_segments(vf_context *ctx, const point_set *set, double half, double tolerance, basis *b, table *t)
{
    /* At least one segment per turn of the phase. Tolerances below rounding error become 4e-14. */
    const double allowed = fmax(tolerance, 4e-14);
    const int turns = (int)turns_of(set, half), most = 2 * turns + 64 < MOST_SEGMENTS ? 2 * turns + 64 : MOST_SEGMENTS;
    int few = turns < 1 ? 0 : turns - 1, enough = 0, tried = 0;
    double residual = 1;
    vf_status status = VF_OK;
    while (status == VF_OK && few < most && (enough == 0 || enough - few > 1)) {
        const int step = 1 + few / 16, next = few + step < most ? few + step : most;
        tried = enough ? (few + enough) / 2 : next;
        status = try_segments(ctx, set, half, allowed, tried, b, t, &residual);
        if (residual <= allowed)
            enough = tried;
        else
            few = tried;
    }
    if (status == VF_OK && enough == 0 && most >= MOST_SEGMENTS)
        return refuse_range(ctx, set, half);
    if (status == VF_OK && enough == 0)
        return vf_fail(ctx, VF_ERR_INTERNAL, "%d time segments leave an error of %g, more than %g", most, residual,
                       allowed);
    return status == VF_OK && tried != enough ? try_segments(ctx, set, half, allowed, enough, b, t, &residual) : status;
}

/* The coefficients for one time, interpolated from the table: [count] {re, im}. */
static void interpolate_table(const table *t, double time, double *out)
{
    double total = 0;
    memset(out, 0, (size_t)t->count * 2 * sizeof *out);
    for (int i = 0; i < t->nodes; i++) {
        double difference = time - t->time[i], w = difference != 0 ? t->weight[i] / difference : 1;
        const double *value = t->value + (size_t)i * (size_t)t->count * 2;
        if (difference == 0) {
            memcpy(out, value, (size_t)t->count * 2 * sizeof *out);
            return;
        }
        for (int l = 0; l < 2 * t->count; l++)
            out[l] += w * value[l];
        total += w;
    }
    for (int l = 0; l < 2 * t->count; l++)
        out[l] /= total;
}

static vf_status fill_coefficients(vf_context *ctx, const basis *b, const table *t, double middle, double centre,
                                   bool symmetric, int64_t samples, const float *time, vf_segments *out)
{
    const int threads = vf_threads_for(ctx, 20 * samples * b->count);
    size_t count = (size_t)b->count;
    out->time = malloc((count + 1) * sizeof *out->time);
    out->coefficient = malloc(((size_t)samples + 1) * (count + 1) * 2 * sizeof *out->coefficient);
    double *rows = malloc((size_t)threads * (count + 1) * 2 * sizeof *rows);
    if (!out->time || !out->coefficient || !rows) {
        free(rows);
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %d time segments of %lld samples", b->count,
                       (long long)samples);
    }
    out->count = b->count;
    for (size_t l = 0; l < count; l++)
        out->time[l] = middle + b->time[l];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < threads; part++) {
        double *row = rows + (size_t)part * count * 2;
        for (int64_t m = samples * part / threads; m < samples * (part + 1) / threads; m++) {
            double at = (double)time[m] - middle;
            interpolate_table(t, at, row);
            for (size_t l = 0; l < count; l++) {
                /* Restores the centre of the frequencies, which the points leave out. */
                double angle = 2 * pi * (at - b->time[l]) * centre, c = cos(angle), s = sin(angle);
                double *to = out->coefficient + 2 * (l * (size_t)samples + (size_t)m);
                to[0] = row[2 * l] * c - row[2 * l + 1] * s;
                to[1] = symmetric ? 0 : row[2 * l] * s + row[2 * l + 1] * c;
            }
        }
    }
    free(rows);
    return VF_OK;
}

vf_status vf_segments_create(vf_context *ctx, int64_t samples, const float *time, int64_t voxels, const float *field,
                             bool symmetric, double tolerance, vf_segments *out)
{
    point_set set = {0};
    basis b = {0};
    table t = {0};
    *out = (vf_segments){0};
    if (!(tolerance > 0) || !(tolerance < 1) || samples < 0 || voxels < 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "time segments: tolerance %g or a size is out of range", tolerance);
    double first, last;
    int64_t bad;
    vf_status status = range_of(ctx, samples, time, &first, &last, &bad);
    if (status == VF_OK && bad >= 0)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "the time of sample %lld is %g; it must be finite", (long long)bad + 1,
                         (double)time[bad]);
    if (status != VF_OK)
        return status;
    double half = 0.5 * (last - first), middle = 0.5 * (first + last);
    status = reduce_field(ctx, voxels, field, symmetric, last - first, &set);
    VF_TRY(status, table_create(ctx, &set, half, &t));
    VF_TRY(status, find_segments(ctx, &set, half, tolerance, &b, &t));
    VF_TRY(status, fill_coefficients(ctx, &b, &t, middle, set.centre, symmetric, samples, time, out));
    if (status != VF_OK)
        vf_segments_free(out);
    free(set.f);
    free(set.weight);
    basis_free(&b);
    table_free(&t);
    return status;
}

void vf_segments_free(vf_segments *segments)
{
    free(segments->time);
    free(segments->coefficient);
    *segments = (vf_segments){0};
}
