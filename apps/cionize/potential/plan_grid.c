#include <math.h>
#include <string.h>

#include "coulomb_sum.h"
#include "plan_grid.h"
#include "voxfield/fft.h"
#include "voxfield/multigrid.h"

const char *const potential_units = "kT/e, V, kcal/mol/e, e/A";

double potential_constant(const char *unit, double temperature)
{
    /* CODATA 2022; these three are exact. */
    const double elementary_charge = 1.602176634e-19, boltzmann = 1.380649e-23, avogadro = 6.02214076e23;
    const double vacuum_permittivity = 8.8541878188e-12, calorie = 4.184, angstrom = 1e-10;
    const double volt = elementary_charge / (4 * acos(-1.0) * vacuum_permittivity * angstrom);
    if (strcmp(unit, "e/A") == 0)
        return 1;
    if (strcmp(unit, "V") == 0)
        return volt;
    if (strcmp(unit, "kcal/mol/e") == 0)
        return volt * elementary_charge * avogadro / (1000 * calorie);
    if (strcmp(unit, "kT/e") == 0)
        return volt * elementary_charge / (boltzmann * temperature);
    return 0;
}

/* The origin of an axis and its number of points (a double, because it may be huge). */
static void plan_axis(const cionize_settings *s, const molecule *m, int axis, double *origin, double *count)
{
    double h = s->spacing[axis], lo = m->lo[axis] - s->border, hi = m->hi[axis] + s->border;
    /* 1e-6: a bound on a grid point, except for rounding, needs no extra point. */
    double first = floor(lo / h + 1e-6), last = ceil(hi / h - 1e-6);
    *origin = s->has_origin ? s->origin[axis] : first * h;
    if (s->has_counts)
        *count = (double)s->counts[axis];
    else if (s->has_size)
        *count = floor(s->size[axis] / h + 1e-6) + 1;
    else if (s->has_origin)
        *count = fmax(ceil((hi - s->origin[axis]) / h - 1e-6), 0) + 1;
    else
        *count = last - first + 1;
    if (!s->has_origin && (s->has_counts || s->has_size)) /* centred on the molecule */
        *origin = round((m->lo[axis] + m->hi[axis]) / 2 / h - (*count - 1) / 2) * h;
}

/* How far a cell's other vectors are from points along this axis, in spacings, at most. */
static double off_points(const vf_cell *cell, int axis, double count)
{
    double most = 0;
    for (int v = axis + 1; v < 3; v++) {
        const double at = cell->vectors[v][axis] / cell->vectors[axis][axis] * count;
        most = fmax(most, fabs(at - round(at)));
    }
    return most;
}

/* The number of points along an axis of a triclinic cell in a solvent: of those from 3 % fewer to 10 % more than wanted that suit Fourier
 * transforms, the nearest at which the other vectors end, or come nearest to ending. */
static double sheared_count(const vf_cell *cell, int axis, double wanted)
{
    const double close = 1e-3; /* of a spacing: the rounding of cells in files */
    double best = (double)vf_fft_good_length((int64_t)fmax(round(wanted), 1)), least = off_points(cell, axis, best);
    for (int64_t n = (int64_t)fmax(0.97 * wanted, 1); wanted < 1e6 && (double)n <= 1.1 * wanted + 3; n++) {
        const double off = off_points(cell, axis, (double)n);
        const bool nearer = fabs((double)n - wanted) < fabs(best - wanted);
        if (vf_fft_good_length(n) != n || !(off < least - close || (off <= close && least <= close && nearer)))
            continue;
        best = (double)n;
        least = off;
    }
    return best;
}

double cell_to_points(vf_grid *grid)
{
    double most = 0;
    for (int v = 1; v < 3; v++)
        for (int a = 0; a < v; a++) {
            double *const at = &grid->cell.vectors[v][a], whole = round(*at / grid->spacing[a]) * grid->spacing[a];
            most = fmax(most, fabs(whole - *at));
            *at = whole;
        }
    return most;
}

/* An axis of a grid that covers the cell once: the spacing that divides the edge of the box, and in a solvent a number of points that can
 * be halved often. */
static void plan_cell_axis(const cionize_settings *s, const molecule *m, int axis, vf_grid *grid, double *count)
{
    const double edge = grid->cell.vectors[axis][axis];
    if (s->has_counts)
        *count = (double)s->counts[axis];
    else if (s->solvent.on && edge / s->spacing[axis] < 0x1p31 && grid->cell.kind == VF_CELL_TRICLINIC)
        *count = sheared_count(&grid->cell, axis, edge / s->spacing[axis]);
    else if (s->solvent.on && edge / s->spacing[axis] < 0x1p31)
        *count = (double)vf_multigrid_periodic_count(edge / s->spacing[axis]);
    else
        *count = fmax(round(edge / s->spacing[axis]), 1);
    const double h = grid->spacing[axis] = edge / *count;
    grid->origin[axis] = s->has_origin ? s->origin[axis] : round((m->lo[axis] + m->hi[axis] - edge) / 2 / h) * h + 0.0;
}

void expected_size(const cionize_settings *settings, double file_bytes, double *atoms, double *points)
{
    const double record_bytes = 70, atom_volume = 16; /* angstrom^3: for proteins, whose boxes are partly empty */
    *atoms = fmax(file_bytes / record_bytes, 1);
    const double edge = cbrt(*atoms * atom_volume);
    const molecule cube = {.hi = {edge, edge, edge}};
    double origin, count;
    *points = 1;
    for (int a = 0; a < 3; a++) {
        plan_axis(settings, &cube, a, &origin, &count);
        *points *= count;
    }
}

vf_status plan_grid(vf_context *ctx, const cionize_settings *settings, const molecule *mol, vf_grid *out)
{
    /* DX readers use 32-bit indices, MRC headers 32-bit counts. No reader supports more. */
    const double most_along_axis = 2147483647;
    double counts[3];
    char size[32];
    out->cell = settings->cell;
    for (int a = 0; a < 3; a++) {
        out->spacing[a] = settings->spacing[a];
        if (out->cell.kind != VF_CELL_NONE)
            plan_cell_axis(settings, mol, a, out, &counts[a]);
        else
            plan_axis(settings, mol, a, &out->origin[a], &counts[a]);
    }
    double points = counts[0] * counts[1] * counts[2];
    for (int a = 0; a < 3; a++)
        if (!(counts[a] >= 1 && counts[a] <= most_along_axis) || !(points <= 0x1p53))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "a grid of %.0f x %.0f x %.0f points is too large (%s); use a larger --spacing or a "
                           "smaller --border, --size or --counts",
                           counts[0], counts[1], counts[2], vf_format_bytes(points * sizeof(float), size, sizeof size));
    for (int a = 0; a < 3; a++) {
        double last = out->origin[a] + (counts[a] - 1) * out->spacing[a];
        if (!(fabs(out->origin[a]) <= VF_COULOMB_MAX_COORDINATE && fabs(last) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "the grid reaches from %g to %g A along %c, beyond the limit of +-%g A; use a smaller "
                           "--spacing, --counts or --size",
                           out->origin[a], last, "xyz"[a], VF_COULOMB_MAX_COORDINATE);
        if (settings->has_origin && !settings->has_size && !settings->has_counts && out->cell.kind == VF_CELL_NONE &&
            out->origin[a] > mol->hi[a] + settings->border)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--origin: %c = %g A is beyond the molecule and its border, which end at %g A; if this is "
                           "intended, add --size or "
                           "--counts",
                           "xyz"[a], out -> origin[a], mol -> hi[a] + settings -> border);
        out->counts[a] = (int64_t)counts[a];
    }
    if (settings->solvent.on && out->cell.kind == VF_CELL_TRICLINIC)
        (void)cell_to_points(out);
    return VF_OK;
}
