/* The choice of c, P, rc and the mesh, from the tolerance, the grid and the charges.
 *
 * Errors. The charges' phases are taken as independent, and errors of each wave number add up in squares over the grid:
 *
 *     (rms error)^2 = (sum_i q_i^2 / V) H e^2,     e^2 = integral d^3k / (2 pi)^3 |error of the kernel at k|^2 / H
 *
 * with V the grid's volume and H the mesh's spacing. The kernel is cut off at k = pi / H = c / rc, and its rest beyond
 * gives e = 2.96 exp(-c): within 2 % for c from 4 to 30. The window's aliases, relative to each wave number's own
 * amplitude, weighted with the kernel, give the errors of the table below, for c = 1.5 P and the bandwidth that makes
 * them least; interpolation adds as much again. Near a single charge all wave numbers have the same phase: there the
 * error is at most sqrt(pi / 6) e / H, which is kept below 4 times the tolerance. Of n charges of independent signs
 * within one spacing H, it is typically sqrt(n) times that, so it stays below 10 for n up to 6. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_charges.h"
#include "voxfield/fft.h"

static const double pi = 3.14159265358979323846;

static const struct {
    double bandwidth; /* times 2 / (pi P) */
    double error;     /* e */
} windows[] = {
    {1.40, 8.9e-3}, {1.34, 2.0e-3},  {1.34, 4.3e-4},  {1.30, 8.8e-5},  {1.26, 1.8e-5},
    {1.22, 3.7e-6}, {1.18, 7.3e-7},  {1.16, 1.5e-7},  {1.12, 3.0e-8},  {1.10, 6.8e-9},
    {1.10, 1.7e-9}, {1.10, 4.0e-10}, {1.10, 8.8e-11}, {1.10, 2.0e-11}, {1.10, 4.5e-12},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

enum { MOST_POINTS = 4000 };

/* Where charges of one sign add up, the potential is large beside that of independent charges, and errors add up, too.
 * A wave number's own relative error was about e / 40 in one such system. So e is at most this many times the
 * tolerance. */
static const double COHERENT = 25;

static double smallest_spacing(const vf_grid *grid)
{
    return fmin(grid->spacing[0], fmin(grid->spacing[1], grid->spacing[2]));
}

/* ---- checks ---- */

static vf_status check_cell(vf_context *ctx, const vf_cell *cell)
{
    if (cell->kind != VF_CELL_TRICLINIC)
        return VF_OK;
    const double *a = cell->vectors[0], *b = cell->vectors[1], *c = cell->vectors[2];
    const double small = 1e-9 * cbrt(vf_cell_volume(cell));
    if (fabs(a[1]) > small || fabs(a[2]) > small || fabs(b[2]) > small || !(a[0] > 0) || !(b[1] > 0) || !(c[2] > 0))
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "Ewald sum: the cell's first vector must be along x, and its second in the plane of x and y");
    return VF_OK;
}

static vf_status check_vacuum(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges)
{
    double sum = 0, size = 0;
    if (cell->kind == VF_CELL_NONE)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: a vacuum boundary needs a periodic cell");
    for (int64_t i = 0; i < charges->count; i++) {
        sum += charges->charge[i];
        size += fabs(charges->charge[i]);
    }
    return fabs(sum) <= 1e-6 * size
               ? VF_OK
               : vf_fail(ctx, VF_ERR_ARGUMENT,
                         "a vacuum boundary needs neutral charges, but the total charge is %g e; use the tinfoil "
                         "boundary, or add counter-ions",
                         sum);
}

vf_status vf_ewald_check_cell(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *in_vacuum)
{
    const vf_status status = check_cell(ctx, cell);
    return status == VF_OK && in_vacuum ? check_vacuum(ctx, cell, in_vacuum) : status;
}

static vf_status check(vf_context *ctx, const vf_grid *grid, const vf_ewald_options *o)
{
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: the grid's counts, spacing or cell are invalid");
    if (o->precision != VF_F32 && o->precision != VF_F64)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: the precision must be VF_F32 or VF_F64");
    const double finest = o->precision == VF_F64 ? VF_EWALD_FINEST_F64 : VF_EWALD_FINEST_F32;
    if (!(o->tolerance >= 0.999999 * finest) || !(o->tolerance <= 0.1))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: tolerance %g is not between %g and 0.1", o->tolerance, finest);
    if (!isfinite(o->scale) || !(o->r_min >= VF_COULOMB_MIN_R_MIN) || !(o->r_min <= VF_COULOMB_MAX_COORDINATE) ||
        (o->coarseness != 0 && !(o->coarseness >= 1 && o->coarseness <= 16)))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "Ewald sum: scale %g, minimal distance %g or coarseness %g is out of range", o->scale, o->r_min,
                       o->coarseness);
    if (o->sigma != 0 && (!(o->sigma >= VF_EWALD_LEAST_SIGMA) || !(o->sigma <= VF_COULOMB_MAX_COORDINATE)))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "Ewald sum: sigma %g is not between %g and %g", o->sigma,
                       VF_EWALD_LEAST_SIGMA, VF_COULOMB_MAX_COORDINATE);
    return check_cell(ctx, &grid->cell);
}

/* The number of charges, and images, within rc of the grid's box, about. */
static double near_charges(const ewald_summary *s, const vf_grid *grid, double rc)
{
    if (grid->cell.kind == VF_CELL_NONE) {
        const int n = ilogb(rc / smallest_spacing(grid)) + 33;
        return (double)s->within[n < 0 ? 0 : n < EWALD_DISTANCES ? n : EWALD_DISTANCES - 1];
    }
    double volume = 1;
    for (int a = 0; a < 3; a++)
        volume *= grid->spacing[a] * (double)(grid->counts[a] - 1) + 2 * rc;
    return (double)s->count * volume / s->volume;
}

/* ---- shapes ---- */

/* The largest e that keeps the tolerance, for a mesh of spacing H: see the head of the file. Half of it is for what the
 * model leaves out. */
static double allowed_error(const ewald_summary *s, double tolerance, double h)
{
    if (!(s->squares > 0) || !(s->rms > 0))
        return s->squares > 0 ? 0 : 1;
    const double everywhere = tolerance * s->rms / sqrt(h * s->squares / s->volume);
    const double at_most = 10 * tolerance * s->rms / (sqrt(pi / 6) * s->largest / h);
    return 0.4 * fmin(fmin(everywhere, at_most), COHERENT * tolerance);
}

/* Sets c and P; the split and the window get 1 / sqrt(3) each, and interpolation. */
static void choose_window(double allowed, ewald_layout *out)
{
    const double each = allowed / sqrt(3);
    int w = 0;
    while (w < WINDOWS - 1 && windows[w].error > each)
        w++;
    out->width = EWALD_LEAST_WIDTH + w;
    out->window = windows[w].bandwidth * pi / 2 * out->width;
    out->bandwidth = fmin(fmax(log(2.96 / fmax(each, 1e-300)), 4), 1.5 * (EWALD_LEAST_WIDTH + WINDOWS - 1) + 2);
}

/* Where erfc(r / (sqrt(2) sigma)) / r is small enough to be left out. */
static double gaussian_reach(double sigma, double allowed)
{
    return sigma * sqrt(2 * fmax(log(10 / fmax(allowed, 1e-17)), 2));
}

/* A mesh of this spacing over the box from lo to hi, and `margin` points at each end. */
static bool lay_free(const double lo[3], const double hi[3], const double step[3], double margin, ewald_layout *out)
{
    for (int a = 0; a < 3; a++) {
        const double points = ceil((hi[a] - lo[a]) / step[a] + 2 * margin) + 1;
        if (!(points < MOST_POINTS))
            return false;
        out->mesh[a] = (int64_t)points;
        out->origin[a] = lo[a] - margin * step[a];
        out->step[a] = out->edge[a][a] = step[a];
        out->inverse[a][a] = 1 / step[a];
    }
    return true;
}

/* A mesh of these numbers of points over the cell. */
static void lay_cell(const vf_grid *grid, const int64_t mesh[3], ewald_layout *out)
{
    double lengths[3], angles[3];
    vf_cell_shape(&grid->cell, lengths, angles);
    for (int a = 0; a < 3; a++) {
        out->mesh[a] = out->length[a] = mesh[a];
        out->origin[a] = grid->origin[a];
        out->step[a] = lengths[a] / (double)mesh[a];
        for (int b = 0; b < 3; b++)
            out->edge[a][b] = b <= a ? grid->cell.vectors[a][b] / (double)mesh[a] : 0;
    }
    ewald_invert(out->edge, out->inverse);
}

static bool points_in_cell(const vf_grid *grid, double h, int width, int64_t mesh[3])
{
    double lengths[3], angles[3];
    vf_cell_shape(&grid->cell, lengths, angles);
    for (int a = 0; a < 3; a++) {
        const double points = fmax(ceil(lengths[a] / h) + 1, width);
        if (!(points < MOST_POINTS))
            return false;
        mesh[a] = vf_fft_good_length((int64_t)points);
    }
    return true;
}

/* rc, from the largest sphere of wave numbers that the mesh has; in cells, it ends before half the mesh's frequency. */
static void set_cutoff(ewald_layout *out)
{
    double most = INFINITY;
    for (int a = 0; a < 3; a++)
        most = fmin(most, pi / out->step[a] * (out->periodic ? 1 - 1 / (double)out->mesh[a] : 1));
    out->cutoff = out->bandwidth / most;
}

/* Whether the map's points can be those of the fine mesh. */
static bool can_be_direct(const vf_grid *grid, int width)
{
    for (int a = 0; a < 3; a++) {
        const double edge = grid->spacing[a] * (double)grid->counts[a];
        if (grid->cell.kind != VF_CELL_NONE && (grid->cell.kind == VF_CELL_TRICLINIC || grid->counts[a] < width ||
                                                fabs(edge - grid->cell.vectors[a][a]) > 1e-9 * edge ||
                                                vf_fft_good_length(grid->counts[a]) != grid->counts[a]))
            return false;
        if (grid->spacing[a] > 1.3 * smallest_spacing(grid))
            return false;
    }
    return true;
}

static bool lay_fine(const vf_grid *grid, const ewald_summary *s, double h, ewald_shape *out)
{
    ewald_layout *fine = &out->fine;
    int64_t mesh[3];
    if (fine->periodic) {
        if (!points_in_cell(grid, h, fine->width, mesh))
            return false;
        lay_cell(grid, out->interpolates ? mesh : grid->counts, fine);
        return true;
    }
    double lo[3], step[3];
    for (int a = 0; a < 3; a++) {
        step[a] = out->interpolates ? h : grid->spacing[a];
        lo[a] = out->interpolates ? s->lo[a] : /* the map's points are mesh points */
                    grid->origin[a] - ceil((grid->origin[a] - s->lo[a]) / step[a] - 1e-9) * step[a];
    }
    return lay_free(lo, s->hi, step, ceil(0.5 * fine->width) + 1, fine);
}

/* The coarse mesh covers the fine one. Its errors are made smaller, for they count for a larger spacing. What the fine
 * mesh has differs from 1 / r within `reach`, at least. */
static bool lay_coarse(const vf_grid *grid, double reach, ewald_shape *out)
{
    ewald_layout *fine = &out->fine, *coarse = &out->coarse;
    const double longest = fmax(fine->step[0], fmax(fine->step[1], fine->step[2]));
    const double step[3] = {EWALD_COARSER * longest, EWALD_COARSER * longest, EWALD_COARSER * longest};
    coarse->width = fine->width + (fine->width < EWALD_LEAST_WIDTH + WINDOWS - 1);
    coarse->window = windows[coarse->width - EWALD_LEAST_WIDTH].bandwidth * pi / 2 * coarse->width;
    coarse->bandwidth = fine->bandwidth + 1.5;
    if (coarse->periodic) {
        int64_t mesh[3];
        if (!points_in_cell(grid, step[0], coarse->width, mesh))
            return false;
        lay_cell(grid, mesh, coarse);
        set_cutoff(coarse);
        /* A small cell has a coarse mesh finer than needed: its cutoff may be any larger one. */
        coarse->cutoff = fmax(coarse->cutoff, coarse->bandwidth * EWALD_COARSER * longest / pi);
        return true;
    }
    double hi[3];
    for (int a = 0; a < 3; a++)
        hi[a] = fine->origin[a] + fine->step[a] * (double)(fine->mesh[a] - 1);
    if (!lay_free(fine->origin, hi, step, ceil(0.5 * coarse->width) + 1, coarse))
        return false;
    set_cutoff(coarse);
    coarse->cutoff = fmax(coarse->cutoff, reach);
    for (int a = 0; a < 3; a++) {
        /* Images of the fine mesh's part are as far away as it reaches, and tails of the window's inverse transform. */
        const double margin = coarse->cutoff / fine->step[a] + fine->width;
        coarse->mesh[a] = vf_fft_good_length(coarse->mesh[a]);
        coarse->length[a] = 2 * coarse->mesh[a];
        fine->length[a] = vf_fft_good_length(fine->mesh[a] + (int64_t)ceil(margin));
    }
    return true;
}

/* ---- costs ---- */

/* Seconds of one thread for transforms of `lines` lines of length n, to and fro. */
static double fft_seconds(double lines, int64_t n, bool twice)
{
    return 2 * lines * (double)n * (log2((double)n) + 2) * (twice ? 1.4e-9 : 0.9e-9);
}

static double spread_seconds(const ewald_layout *s, double charges, bool twice)
{
    return charges * (pow(s->width, 2) * (twice ? 3e-9 : 2e-9) + 2e-7);
}

static double level_seconds(const ewald_layout *s, bool twice)
{
    const double n1 = (double)s->mesh[1], n2 = (double)s->mesh[2], l1 = (double)s->length[1];
    const double half = (double)s->length[0] / 2 + 1;
    return fft_seconds(n1 * n2 / 2, s->length[0], twice) + fft_seconds(half * n2, s->length[1], twice) +
           fft_seconds(half * l1, s->length[2], twice);
}

/* Whether it matters, if charges go from the fine mesh to the coarse one, that a mesh in single precision has not quite the charge
 * that there is: where a few kinds of charges come again and again, each rounds always alike. By hand, it was up to 1.2e-8 of the sum of all
 * |q| for boxes of molecules of two to five kinds (test_ewald_many). The potential has that with it, 2 / the box's edge for a unit
 * charge in the mean; in a cell, too, if molecules do not fill it. sum |q| <= sqrt(n sum q^2). */
static bool loses_charge(const vf_ewald_options *o, const ewald_summary *s)
{
    const double charge = 1.5e-8 * sqrt((double)s->count * s->squares);
    double volume = 1;
    for (int a = 0; a < 3; a++)
        volume *= s->hi[a] - s->lo[a];
    return 2 * charge > 0.4 * o->tolerance * s->rms * cbrt(fmin(volume, s->volume));
}

/* In single precision, rounding errors of transforms are about 3e-8 of the charges on the mesh, and multiplied by the
 * law within rc'. Where the potential is small because charges cancel, or are far away, that is too much. */
static vf_dtype mesh_precision(vf_device_kind kind, const vf_ewald_options *o, const ewald_summary *s,
                               const ewald_shape *shape)
{
    double volume = 1;
    for (int a = 0; a < 3; a++)
        volume *= shape->fine.step[a] * (double)shape->fine.mesh[a];
    const double noise = 3e-8 * sqrt(s->squares / volume * 4 * pi * shape->coarse.cutoff);
    const bool noisy = noise > 0.4 * o->tolerance * s->rms || (kind == VF_DEVICE_CUDA && loses_charge(o, s));
    return shape->arithmetic == VF_F64 || noisy ? VF_F64 : VF_F32;
}

/* Whether rounding errors of near pairs, each of about the smooth part at 0, matter in single precision: for a small
 * potential of charges that cancel, or are far away. Then arithmetic is in double precision. If the cutoff is larger
 * than the grid, terms are as large as if it were the radius of a ball of the grid's volume. */
static bool is_noisy(const vf_grid *grid, const vf_ewald_options *o, const ewald_summary *s, const ewald_shape *shape)
{
    const double squares = s->squares / fmax((double)s->count, 1) * shape->pairs / (double)vf_grid_points(grid);
    const double ball = shape->fine.periodic ? INFINITY : cbrt(0.75 / pi * s->volume);
    const double error = 6e-8 * 3.5 / fmin(shape->fine.cutoff, ball) * sqrt(squares);
    return o->precision == VF_F32 && error > 0.7 * o->tolerance * s->rms;
}

static double numbers(const int64_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

/* On an H100, measured at bench_ewald's cases. Transforms are of complex numbers. */
static void find_gpu_costs(const vf_grid *grid, const ewald_summary *s, double near, ewald_shape *out)
{
    const double twice = out->arithmetic == VF_F64 ? 2.5 : 1, twice_mesh = out->precision == VF_F64 ? 2 : 1;
    out->making = 1e-3 +
                  twice_mesh * (numbers(out->fine.length) * 5.5e-11 + numbers(out->fine.mesh) * 3.5e-11 +
                                (double)s->count * pow(out->fine.width, 3) * 2.2e-12) +
                  numbers(out->coarse.length) * 1.5e-10 + ((double)s->count + near) * 5e-10;
    out->executing = 1e-4 + out->pairs * 3.5e-12 * twice +
                     (double)vf_grid_points(grid) * (out->interpolates ? 1e-11 * twice_mesh : 4e-12);
}

/* Pairs of a charge and a point within rc, about. Adds the charges to *near. Of the sphere about a charge that is up to
 * rc outside a face, 3/16 is inside, in the mean. */
static double near_pairs(const vf_grid *grid, const ewald_summary *s, double rc, double *near)
{
    const double outside = 3.0 / 16;
    const double sphere = 4 * pi / 3 * pow(rc, 3) / (grid->spacing[0] * grid->spacing[1] * grid->spacing[2]);
    const double charges = near_charges(s, grid, rc), inside = near_charges(s, grid, 0);
    *near += charges;
    return (inside + outside * (charges - inside)) * fmin(sphere, (double)vf_grid_points(grid));
}

static void find_costs(vf_device_kind kind, const vf_grid *grid, const vf_ewald_options *o, const ewald_summary *s,
                       ewald_shape *out)
{
    const bool twice = out->arithmetic == VF_F64, twice_mesh = out->precision == VF_F64;
    const double points = (double)vf_grid_points(grid);
    double fine = 1, coarse = 1, spectrum = 1;
    for (int a = 0; a < 3; a++) {
        fine *= (double)out->fine.mesh[a];
        coarse *= (double)out->coarse.mesh[a];
        spectrum *= (double)out->fine.length[a] / (out->fine.skewed && a > 0 ? 1 : 2);
    }
    const double again = spread_seconds(&out->coarse, (double)s->count, true), restriction = fine * 4e-9;
    out->restricts = kind == VF_DEVICE_CPU && restriction < again && (out->precision == VF_F64 || !loses_charge(o, s));
    out->making = level_seconds(&out->fine, twice_mesh) + spread_seconds(&out->fine, (double)s->count, twice_mesh) +
                  level_seconds(&out->coarse, true) + (out->restricts ? restriction : again) + spectrum * 5e-8 +
                  fine * 5e-9;
    out->making += coarse * (out->coarse.periodic ? 5e-8 : 2e-7); /* its kernel */
    double near = 0;
    out->pairs = 0;
    if (!(out->fine.sigma > 0))
        out->pairs += near_pairs(grid, s, out->fine.cutoff, &near);
    if (out->correction > 0)
        out->pairs += near_pairs(grid, s, out->correction, &near);
    out->making += near * 3e-8;
    out->executing = out->pairs * (twice ? 2.9e-9 : 1.0e-9) + near * 5e-8 +
                     points * (out->interpolates ? (twice_mesh ? 10e-9 : 5e-9) : 0.5e-9);
    if (kind == VF_DEVICE_CUDA)
        find_gpu_costs(grid, s, near, out);
}

/* Puts Gaussian charges on the fine mesh, if it has enough of their wave numbers, or has near pairs corrected. Beyond
 * K = x / sigma, a kernel of 4 pi / k^2 exp(-sigma^2 k^2 / 2) leaves e^2 = 4 exp(-x^2) / (pi x^2), K = pi / H. */
static bool place_gaussians(double sigma, bool on_mesh, double allowed, ewald_shape *out)
{
    const double each = allowed / sqrt(3), x = sigma * out->fine.bandwidth / out->fine.cutoff;
    if (!on_mesh) {
        out->correction = gaussian_reach(sigma, allowed);
        out->fine.background = out->fine.periodic ? 2 * pi * sigma * sigma : 0; /* the mean of what is subtracted */
        return true;
    }
    out->fine.sigma = sigma;
    return 2 / sqrt(pi) * exp(-0.5 * x * x) / x <= each;
}

/* The shape for a fine mesh of spacing H = coarseness times the smallest spacing. `direct`: the map's points are mesh
 * points. `on_mesh`: of Gaussian charges, which have no near pairs then. Returns false if there is none. */
static bool shape_for(vf_device_kind kind, const vf_grid *grid, const vf_ewald_options *o, const ewald_summary *s,
                      double coarseness, bool direct, bool on_mesh, ewald_shape *out)
{
    const ewald_layout empty = {.periodic = grid->cell.kind != VF_CELL_NONE,
                                .skewed = grid->cell.kind == VF_CELL_TRICLINIC};
    *out = (ewald_shape){.fine = empty, .coarse = empty, .interpolates = !direct};
    double h = coarseness * smallest_spacing(grid);
    for (int a = 0; direct && a < 3; a++)
        h = fmax(h, grid->spacing[a]);
    const double allowed = allowed_error(s, o->tolerance, h);
    choose_window(allowed, &out->fine);
    if ((direct && !can_be_direct(grid, out->fine.width)) || !lay_fine(grid, s, h, out))
        return false;
    set_cutoff(&out->fine);
    if ((o->sigma > 0 && !place_gaussians(o->sigma, on_mesh, allowed, out)) ||
        !lay_coarse(grid, out->fine.sigma > 0 ? gaussian_reach(o->sigma, allowed) : 0, out))
        return false;
    out->arithmetic = o->precision;
    out->precision = mesh_precision(kind, o, s, out);
    find_costs(kind, grid, o, s, out);
    if (is_noisy(grid, o, s, out)) {
        out->arithmetic = out->precision = VF_F64;
        find_costs(kind, grid, o, s, out);
    }
    return out->fine.cutoff >= ewald_r_min(o) && out->correction <= VF_COULOMB_MAX_COORDINATE &&
           out->fine.cutoff <= 0x1p19 * smallest_spacing(grid) && out->fine.cutoff <= VF_COULOMB_MAX_COORDINATE;
}

/* ---- scattered points ---- */

bool ewald_layout_for_points(const vf_cell *cell, const double lo[3], const double hi[3], const ewald_summary *s,
                             double tolerance, double sigma, double h, ewald_points_layout *out)
{
    const vf_grid grid = {.cell = *cell};
    const double allowed = allowed_error(s, tolerance, h), step[3] = {h, h, h};
    ewald_layout *mesh = &out->mesh;
    *out = (ewald_points_layout){0};
    *mesh = (ewald_layout){.periodic = cell->kind != VF_CELL_NONE, .skewed = cell->kind == VF_CELL_TRICLINIC};
    choose_window(allowed, mesh);
    if (mesh->periodic) {
        int64_t points[3];
        if (!points_in_cell(&grid, h, mesh->width, points))
            return false;
        lay_cell(&grid, points, mesh);
    } else {
        if (!lay_free(lo, hi, step, ceil(0.5 * mesh->width) + 1, mesh))
            return false;
        for (int a = 0; a < 3; a++) {
            mesh->mesh[a] = vf_fft_good_length(mesh->mesh[a]);
            mesh->length[a] = 2 * mesh->mesh[a];
        }
    }
    set_cutoff(mesh);
    if (sigma > 0) {
        out->correction = gaussian_reach(sigma, allowed);
        mesh->background = mesh->periodic ? 2 * pi * sigma * sigma : 0; /* the mean of what is subtracted */
    }
    out->seconds = level_seconds(mesh, true) + spread_seconds(mesh, (double)s->count, true) +
                   numbers(mesh->mesh) * (mesh->periodic ? 5e-8 : 2e-7);
    return true;
}

vf_status ewald_choose(vf_device *device, const vf_ewald_backend *backend, const vf_grid *grid,
                       const vf_coulomb_atoms *charges, ewald_loaded *loaded, const vf_ewald_options *options,
                       ewald_shape *shape)
{
    static const double coarser[] = {1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0};
    vf_context *ctx = vf_device_context(device);
    ewald_summary s;
    vf_status status = check(ctx, grid, options);
    VF_TRY(status, ewald_summarise(device, backend, grid, charges, loaded, options, &s));
    if (status == VF_OK && options->vacuum)
        status = check_vacuum(ctx, &grid->cell, charges);
    if (status != VF_OK)
        return status;
    double least = INFINITY;
    bool dearer = false; /* coarser meshes have more near pairs: these alone cost more than the best mesh */
    for (int exponent = 0; exponent <= 18 && !dearer; exponent += 3)
        for (int i = -1; i < (int)(sizeof coarser / sizeof *coarser) && !dearer; i++) {
            const bool direct = i < 0;
            const double coarseness =
                options->coarseness != 0 ? options->coarseness : ldexp(coarser[direct ? 0 : i], exponent);
            for (int on_mesh = 0; on_mesh <= (options->sigma > 0); on_mesh++) {
                ewald_shape one;
                if ((direct && coarseness != 1) ||
                    !shape_for(vf_device_get_kind(device), grid, options, &s, coarseness, direct, on_mesh, &one))
                    continue;
                dearer = dearer || (one.executing >= least && !(options->sigma > 0));
                if (!(one.making + one.executing < least))
                    continue;
                least = one.making + one.executing;
                *shape = one;
            }
        }
    return least < INFINITY
               ? VF_OK
               : vf_fail(ctx, VF_ERR_UNSUPPORTED,
                         "Ewald sum: no mesh suits this grid, tolerance and minimal distance %g", options->r_min);
}
