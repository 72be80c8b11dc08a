/* The fast sum at points: one mesh for the smooth part, and bins for near charges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cutoff_sum_backend.h"
#include "ewald_charges.h"
#include "ewald_cpu.h"
#include "point_sum_internal.h"

static const double pi = 3.14159265358979323846;

/* Seconds of one thread for a pair of a near charge and a point, for a point, for a charge in bins, for a pair of the
 * direct sum. */
static const double pair_seconds = 4e-9, point_seconds = 2e-6, bin_seconds = 8e-8, direct_seconds = 7e-10;

struct point_fast {
    vf_cell cell;
    double lo[3], hi[3]; /* in free space: bounds of the points */
    double slope[3];     /* of the vacuum boundary's term */
    ewald_level level;
    point_near near;
};

/* ---- the charges ---- */

/* Bounds of the charges' and the points' centres. */
static void find_bounds(const vf_coulomb_atoms *charges, const vf_point_list *list, double lo[3], double hi[3])
{
    const double *const place[3] = {charges->x, charges->y, charges->z};
    for (int a = 0; a < 3; a++) {
        lo[a] = INFINITY;
        hi[a] = -INFINITY;
        for (int64_t i = 0; i < charges->count; i++) {
            lo[a] = fmin(lo[a], place[a][i]);
            hi[a] = fmax(hi[a], place[a][i]);
        }
        for (int64_t n = 0; list && n < list->count; n++) {
            lo[a] = fmin(lo[a], list->points[3 * n + a]);
            hi[a] = fmax(hi[a], list->points[3 * n + a]);
        }
    }
}

static double root_mean(int64_t n, const double *values)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sqrt(sum / (double)n);
}

_Static_assert(POINT_SAMPLES == EWALD_SAMPLES * EWALD_SAMPLES * EWALD_SAMPLES, "as many as ewald_rms_of_samples takes");

/* In free space: the rms potential and the rms field over the points, from some of them, without the scale. The points
 * nearest to charges do not count (ewald_rms_of_samples). */
static vf_status sample(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *options,
                        const vf_point_list *list, double *rms, double *rms_field)
{
    const int64_t n = list->count < POINT_SAMPLES ? list->count : POINT_SAMPLES;
    double *points = calloc((size_t)POINT_SAMPLES * 7, sizeof *points);
    if (!points)
        return vf_fail(ctx, VF_ERR_MEMORY, "sum at points: not enough memory");
    double *values = points + 3 * POINT_SAMPLES, *fields = values + POINT_SAMPLES;
    vf_point_options one = *options;
    one.scale = 1;
    for (int64_t i = 0; i < n; i++)
        memcpy(points + 3 * i, list->points + 3 * (i * list->count / n), 3 * sizeof *points);
    vf_status status = point_sum_exactly(ctx, charges, &one, n, points, values, fields);
    for (int64_t i = 0; status == VF_OK && i < n; i++) {
        double *e = fields + 3 * i;
        point_sum_exclude(charges, &one, list, i * list->count / n, &values[i], e);
        e[0] = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        fields[i] = e[0]; /* i <= 3 i: earlier ones are done */
    }
    if (status == VF_OK && n == POINT_SAMPLES) {
        *rms = ewald_rms_of_samples(values);
        *rms_field = ewald_rms_of_samples(fields);
    } else if (status == VF_OK) {
        *rms = root_mean(n, values);
        *rms_field = root_mean(n, fields);
    }
    free(points);
    return status;
}

/* In a cell: about the rms field, without the scale. Of points, wave numbers up to the inverse of a neighbour's distance d
 * count: 2 pi / d times the potential. Of Gaussians: that of independent charges beyond k = 2 pi / d, the integral
 * 8 / V sum q^2 of exp(-sigma^2 k^2) dk; or that of the longest wave alone, for no field is less than its wave number
 * times the potential. */
static double field_in_cell(const vf_cell *cell, double sigma, const ewald_summary *s)
{
    double lengths[3], angles[3];
    const double k = 2 * pi / cbrt(s->volume / fmax((double)s->count, 1));
    vf_cell_shape(cell, lengths, angles);
    if (!(sigma > 0))
        return s->rms * k;
    const double rest = 4 * sqrt(pi) / sigma * erfc(sigma * k) * s->squares / s->volume;
    return fmax(sqrt(rest), s->rms * 2 * pi / fmax(lengths[0], fmax(lengths[1], lengths[2])));
}

/* What the choice needs of the charges. In free space, errors spread over the charges' box and a neighbour's distance
 * around it. */
static vf_status summarise(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *o,
                           const vf_point_list *list, ewald_summary *s, double *rms_field)
{
    double lo[3], hi[3], extent[3], longest = 0;
    *s = (ewald_summary){.count = charges->count};
    for (int64_t i = 0; i < charges->count; i++) {
        s->squares += charges->charge[i] * charges->charge[i];
        s->largest = fmax(s->largest, fabs(charges->charge[i]));
    }
    if (o->cell.kind != VF_CELL_NONE) {
        s->volume = vf_cell_volume(&o->cell);
        s->rms = ewald_rms_in_cell(&o->cell, charges, o->sigma, s);
        *rms_field = field_in_cell(&o->cell, o->sigma, s);
        return VF_OK;
    }
    find_bounds(charges, NULL, lo, hi);
    for (int a = 0; a < 3; a++) {
        extent[a] = hi[a] - lo[a];
        longest = fmax(longest, extent[a]);
    }
    const double margin = longest / cbrt((double)charges->count);
    s->volume = 1;
    for (int a = 0; a < 3; a++)
        s->volume *= extent[a] + margin;
    return sample(ctx, charges, o, list, &s->rms, rms_field);
}

/* ---- the choice ---- */

enum { SPACINGS = 40 }; /* of meshes that are compared: from a third of the longest edge to about 1 / 2000 of it */

/* The mesh with the least cost; *seconds: INFINITY if there is none. */
static void choose(const vf_point_options *o, const double lo[3], const double hi[3], const ewald_summary *s,
                   double rms_field, double expected, ewald_points_layout *best, double *seconds)
{
    const bool periodic = o->cell.kind != VF_CELL_NONE;
    const double density = (double)s->count / s->volume;
    double longest = periodic ? cbrt(s->volume) : 0;
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, periodic ? 0 : hi[a] - lo[a]);
    *seconds = INFINITY;
    for (int n = 0; n < SPACINGS; n++) {
        const double h = longest / 3 * pow(0.85, n);
        ewald_points_layout one;
        ewald_summary wanted = *s;
        if (o->fields) /* the window's derivative: up to pi / H times the error */
            wanted.rms = fmin(s->rms, rms_field * h / 4);
        if (!ewald_layout_for_points(&o->cell, lo, hi, &wanted, o->tolerance, o->sigma, h, &one))
            break;
        const double rc = fmax(one.mesh.cutoff, one.correction), ball = 4 * pi / 3;
        const double pairs = fmin(ball * density * (pow(one.mesh.cutoff, 3) + pow(one.correction, 3)),
                                  periodic ? INFINITY : 2.0 * (double)s->count);
        const double images = (double)s->count * (periodic ? pow(1 + 2 * rc / cbrt(s->volume), 3) : 1);
        const double all = one.seconds + images * bin_seconds + expected * (point_seconds + pairs * pair_seconds);
        if (!(o->sigma > 0) && one.mesh.cutoff < o->r_min) /* beyond the cutoff, nothing would bound 1 / r */
            continue;
        if (!(all < *seconds))
            continue;
        *seconds = all;
        *best = one;
    }
}

/* ---- plans ---- */

/* The rows of a periodic mesh continue, so that windows need no modulo along x. */
static void continue_rows(const ewald_level *level)
{
    const int64_t n = level->at.mesh[0], rows = level->at.mesh[1] * level->at.mesh[2];
    for (int64_t r = 0; r < rows; r++) {
        double *row = (double *)level->mesh.data + r * level->pitch;
        for (int64_t i = 0; i < EWALD_PADDED; i++)
            row[n + i] = level->at.periodic ? row[i] : 0;
    }
}

static vf_status make_mesh(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *o,
                           const ewald_layout *layout, ewald_level *level)
{
    uint64_t bytes;
    vf_status status = ewald_level_create(vf_context_host(ctx), layout, VF_F64, level);
    ewald_kernel_job job = {.level = level, .divisions = 2, .volume = layout->periodic ? vf_cell_volume(&o->cell) : 0};
    VF_TRY(status, ewald_solve(level, charges, o->scale, &job, !layout->periodic, &bytes));
    if (status == VF_OK)
        continue_rows(level);
    return status;
}

/* Of Gaussians, the 1 / r of both laws cancels. It is bounded where both laws hold, so that it cancels there, too; the
 * correction reaches to 2 sigma at least. */
static void set_laws(const vf_point_options *o, const ewald_points_layout *layout, const ewald_level *level,
                     point_near *near)
{
    const double r_min = o->sigma > 0 ? fmin(o->sigma, layout->mesh.cutoff) : o->r_min;
    near->laws = layout->correction > 0 ? 2 : 1;
    near->law[0] = (point_law){.cutoff = layout->mesh.cutoff, .r_min = r_min, .factor = o->scale};
    vf_cutoff_fit_law(&level->psi, layout->mesh.cutoff, 0, 0x1p-53, &near->law[0].smooth);
    if (near->laws == 1)
        return;
    near->law[1] = (point_law){.cutoff = layout->correction, .r_min = r_min, .factor = -o->scale};
    vf_cutoff_fit_law(NULL, layout->correction, o->sigma, 0x1p-53, &near->law[1].smooth);
}

/* Bounds of the cell's own points, from 0 to its far corner. */
static void cell_bounds(const vf_cell *cell, double lo[3], double hi[3])
{
    for (int a = 0; a < 3; a++) {
        lo[a] = hi[a] = 0;
        for (int i = 0; i < 3; i++) {
            lo[a] += fmin(cell->vectors[i][a], 0);
            hi[a] += fmax(cell->vectors[i][a], 0);
        }
    }
}

static void set_slope(const vf_coulomb_atoms *charges, const vf_point_options *o, double slope[3])
{
    const double factor = o->vacuum ? o->scale * 4 * pi / (3 * vf_cell_volume(&o->cell)) : 0;
    for (int64_t i = 0; o->vacuum && i < charges->count; i++) {
        slope[0] += factor * charges->charge[i] * charges->x[i];
        slope[1] += factor * charges->charge[i] * charges->y[i];
        slope[2] += factor * charges->charge[i] * charges->z[i];
    }
}

vf_status point_fast_create(vf_context *ctx, const vf_coulomb_atoms *charges, const vf_point_options *o,
                            const vf_point_list *typical, double expected, point_fast **out)
{
    const bool periodic = o->cell.kind != VF_CELL_NONE;
    const double direct =
        periodic ? INFINITY : (double)charges->count * expected * direct_seconds * (o->sigma > 0 ? 20 : 1);
    ewald_points_layout layout = {0};
    ewald_summary s;
    double lo[3], hi[3], rms_field = 0, seconds;
    *out = NULL;
    if (direct < 5e-3 || charges->count == 0)
        return VF_OK;
    vf_status status = summarise(ctx, charges, o, typical, &s, &rms_field);
    if (status != VF_OK)
        return status;
    find_bounds(charges, typical, lo, hi);
    choose(o, lo, hi, &s, rms_field, expected, &layout, &seconds);
    if (direct <= seconds && !periodic)
        return VF_OK;
    if (!(seconds < INFINITY))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "sum at points: no mesh suits this cell, tolerance %g and minimal distance %g", o->tolerance,
                       o->r_min);
    point_fast *fast = calloc(1, sizeof *fast);
    if (!fast)
        return vf_fail(ctx, VF_ERR_MEMORY, "sum at points: not enough memory");
    fast->cell = o->cell;
    set_slope(charges, o, fast->slope);
    if (periodic)
        cell_bounds(&o->cell, fast->lo, fast->hi);
    else
        find_bounds(&(vf_coulomb_atoms){0}, typical, fast->lo, fast->hi);
    status = make_mesh(ctx, charges, o, &layout.mesh, &fast->level);
    if (status == VF_OK) {
        set_laws(o, &layout, &fast->level, &fast->near);
        status = point_near_make(ctx, &o->cell, charges, fast->lo, fast->hi, &fast->near);
    }
    if (status == VF_OK)
        *out = fast;
    else
        point_fast_destroy(fast);
    return status;
}

void point_fast_destroy(point_fast *fast)
{
    if (!fast)
        return;
    vf_array_free(&fast->level.mesh);
    point_near_free(&fast->near);
    free(fast);
}

void point_fast_info(const point_fast *fast, vf_point_info *info)
{
    const ewald_layout *mesh = &fast->level.at;
    *info = (vf_point_info){.fast = true, .width = mesh->width, .bandwidth = mesh->bandwidth, .cutoff = mesh->cutoff};
    for (int a = 0; a < 3; a++) {
        info->mesh[a] = mesh->mesh[a];
        info->spacing = fmax(info->spacing, mesh->step[a]);
    }
    info->bytes = ewald_mesh_bytes(mesh, VF_F64) + (uint64_t)fast->near.count * 32 +
                  (uint64_t)(fast->near.bins[0] * fast->near.bins[1] * fast->near.bins[2]) * 8;
}

/* ---- points ---- */

/* r moved into the cell. */
static void wrap(const point_fast *fast, double r[3])
{
    const ewald_layout *mesh = &fast->level.at;
    for (int i = 2; i >= 0; i--) {
        double u = 0;
        for (int a = 0; a < 3; a++)
            u += mesh->inverse[i][a] * r[a];
        const double turns = floor(u / (double)mesh->mesh[i]);
        for (int a = 0; a < 3; a++)
            r[a] -= turns * fast->cell.vectors[i][a];
    }
}

bool point_fast_at(const point_fast *fast, const double r[3], bool fields, double out[4])
{
    const ewald_layout *at = &fast->level.at;
    const point_mesh mesh = {.values = fast->level.mesh.data,
                             .pitch = fast->level.pitch,
                             .mesh_y = at->mesh[1],
                             .mesh_z = at->mesh[2],
                             .width = at->width,
                             .window = &fast->level.window_powers};
    int64_t start[3];
    double offset[3], inside[3] = {r[0], r[1], r[2]}, slopes[4] = {0};
    if (at->periodic)
        wrap(fast, inside);
    for (int a = 0; a < 3 && !at->periodic; a++)
        if (r[a] < fast->lo[a] || r[a] > fast->hi[a])
            return false;
    ewald_locate(at, inside, start, offset);
    fast->near.simd->interpolate(&mesh, start, offset, fields, slopes);
    out[0] = slopes[0];
    for (int a = 0; a < 3; a++) {
        out[0] += fast->slope[a] * r[a];
        out[1 + a] = -fast->slope[a];
        for (int i = 0; i < 3; i++)
            out[1 + a] -= slopes[1 + i] * at->inverse[i][a];
    }
    point_near_add(&fast->near, inside, fields, out);
    return true;
}
