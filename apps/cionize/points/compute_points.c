/* The sums at points, frame by frame, their statistics and their error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "molecule/massless_sites.h"
#include "molecule/residues.h"
#include "points.h"
#include "potential/periodic_frames.h"
#include "potential/plan_grid.h"
#include "potential/potential_common.h"

enum { ERROR_POINTS = 256, ERROR_LEAST = 16 };
static const double most_exclusions = 2e8, error_pairs = 1.6e6; /* of charges and points, in a cell */

vf_point_options point_options(const cionize_settings *s, const vf_cell *cell, bool fields)
{
    const bool exact = s->distance_dielectric || (s->method && s->method->tolerance[VF_F64] == 0);
    return (vf_point_options){.cell = *cell,
                              .scale = potential_constant(s->unit, s->temperature) / s->dielectric,
                              .r_min = s->r_min,
                              .distance_dielectric = s->distance_dielectric,
                              .sigma = s->sigma,
                              .vacuum = s->vacuum,
                              .tolerance = exact ? 0 : s->accuracy,
                              .fields = fields};
}

/* ---- exclusions ---- */

/* Sets group[i] to the atom's residue, or to the atom itself: atoms of a group are neighbours, and exclude each other. A Drude
 * particle is a part of its atom: force fields leave out what the two do to each other. */
static vf_status group_atoms(vf_context *ctx, const point_run *r, int64_t *group)
{
    int64_t residues;
    if (r->settings->points.exclude == EXCLUDE_RESIDUE)
        return find_residues(ctx, r->mol, group, &residues);
    for (int64_t i = 0; i < r->mol->atoms; i++)
        group[i] = i > 0 && drude_of(r->mol, i, i - 1) ? i - 1 : i;
    return VF_OK;
}

static int64_t group_end(const int64_t *group, int64_t atoms, int64_t first)
{
    int64_t end = first + 1;
    while (end < atoms && group[end] == group[first])
        end++;
    return end;
}

static vf_status list_excluded(vf_context *ctx, point_run *r, const int64_t *group)
{
    const int64_t atoms = r->mol->atoms;
    double all = 0;
    for (int64_t i = 0, end; i < atoms; i = end) {
        end = group_end(group, atoms, i);
        all += (double)(end - i) * (double)(end - i);
    }
    if (all > most_exclusions)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --exclude residue: residues have so many atoms that %.3g pairs would be excluded; give "
                       "residues numbers of their own, or use --exclude atom",
                       r->settings->input, all);
    r->first = malloc((size_t)(atoms + 1) * sizeof *r->first);
    r->excluded = malloc((size_t)all * sizeof *r->excluded);
    if (!r->first || !r->excluded)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %.3g excluded pairs", all);
    int64_t n = 0;
    for (int64_t i = 0, end; i < atoms; i = end) {
        end = group_end(group, atoms, i);
        for (int64_t at = i; at < end; at++) {
            r->first[at] = n;
            for (int64_t e = i; e < end; e++)
                r->excluded[n++] = e;
        }
    }
    r->first[atoms] = n;
    return VF_OK;
}

static vf_status exclude(vf_context *ctx, point_run *r)
{
    if (r->settings->points.exclude == EXCLUDE_NOTHING || !r->set.atoms)
        return VF_OK;
    int64_t *group = malloc((size_t)r->mol->atoms * sizeof *group);
    vf_status status =
        group ? group_atoms(ctx, r, group)
              : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the residues of %lld atoms", (long long)r->mol->atoms);
    VF_TRY(status, list_excluded(ctx, r, group));
    free(group);
    return status;
}

/* ---- the error ---- */

/* Relative to the rms over all points; or to `least`, where charges cancel to rounding errors by symmetry. */
static void compare(int64_t points, int64_t width, const int64_t *at, const double *exact, const double *seen,
                    double squares, double least, double asked, map_error *out)
{
    const double rms = fmax(sqrt(squares), least);
    *out = (map_error){.asked = asked, .points = points};
    for (int64_t n = 0; n < points; n++) {
        double off = 0;
        for (int64_t a = 0; a < width; a++)
            off += pow(exact[width * n + a] - seen[width * at[n] + a], 2);
        out->rms += off / (rms * rms) / (double)points;
        out->largest = fmax(out->largest, sqrt(off) / rms);
    }
    out->rms = sqrt(out->rms);
}

static void warn(vf_context *ctx, const char *what, const map_error *e)
{
    if (e->points > 0 && !(e->rms <= e->asked && e->largest <= 10 * e->asked))
        vf_warn(
            ctx,
            "%s at the points is less accurate than asked: at %lld of them, its error is %.2g of the rms, and %.2g at "
            "most, but --accuracy %g allows %g and %g; use --method exact, or a smaller --accuracy",
            what, (long long)e->points, e->rms, e->largest, e->asked, e->asked, 10 * e->asked);
}

static double mean_square(int64_t n, int64_t points, const double *values)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum / (double)points;
}

/* Which points are compared: one of each part of the list, or all. */
static int64_t choose_points(const point_run *r, int64_t at[ERROR_POINTS])
{
    double most = ERROR_POINTS;
    if (r->cell.kind != VF_CELL_NONE)
        most = fmin(fmax(error_pairs / (double)r->mol->atoms, ERROR_LEAST), ERROR_POINTS);
    const int64_t n = r->set.count < (int64_t)most ? r->set.count : (int64_t)most;
    uint64_t state = 18;
    for (int64_t i = 0; i < n; i++) { /* Knuth's linear congruential generator */
        const int64_t first = i * r->set.count / n, behind = (i + 1) * r->set.count / n;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at[i] = first + (int64_t)((state >> 33) % (uint64_t)(behind - first));
    }
    return n;
}

/* At some points of the first frame, by the exact sums. */
static vf_status measure(vf_context *ctx, point_run *r, const vf_coulomb_atoms *charges,
                         const vf_point_options *options, const vf_point_list *list, const double *values,
                         const double *fields)
{
    int64_t at[ERROR_POINTS], first[ERROR_POINTS + 1];
    double place[3 * ERROR_POINTS], exact[4 * ERROR_POINTS];
    const int64_t n = choose_points(r, at);
    const double least =
        1e-300 + 1e-9 * fabs(options->scale) * sqrt(mean_square(charges->count, charges->count, charges->charge));
    int64_t size = 1;
    for (int64_t i = 0; list->first && i < n; i++)
        size += list->first[at[i] + 1] - list->first[at[i]];
    int64_t *excluded = malloc((size_t)size * sizeof *excluded), used = 0;
    if (!excluded)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    for (int64_t i = 0; i < n; i++) {
        memcpy(place + 3 * i, list->points + 3 * at[i], 3 * sizeof *place);
        first[i] = used;
        for (int64_t e = list->first ? list->first[at[i]] : 0; list->first && e < list->first[at[i] + 1]; e++)
            excluded[used++] = list->excluded[e];
    }
    first[n] = used;
    const vf_point_list some = {n, place, list->first ? first : NULL, list->first ? excluded : NULL};
    vf_point_options truth = *options;
    truth.tolerance = 0;
    truth.exactness = options->tolerance;
    vf_point_sum *plan = NULL;
    vf_status status = vf_point_sum_create(ctx, charges, &truth, &some, (double)n, &plan);
    VF_TRY(status, vf_point_sum_execute(plan, &some, exact, fields ? exact + ERROR_POINTS : NULL));
    vf_point_sum_destroy(plan);
    free(excluded);
    if (status != VF_OK)
        return status;
    compare(n, 1, at, exact, values, mean_square(list->count, list->count, values), least, options->tolerance,
            &r->error);
    warn(ctx, "the potential", &r->error);
    if (!fields)
        return VF_OK;
    compare(n, 3, at, exact + ERROR_POINTS, fields, mean_square(3 * list->count, list->count, fields), least,
            options->tolerance, &r->field_error);
    warn(ctx, "the field", &r->field_error);
    return VF_OK;
}

/* ---- frames ---- */

/* One frame's numbers: coordinates of atoms, points, and results. */
typedef struct frame_data {
    double *atoms; /* [3][atoms]; NULL: the molecule's own */
    double *place; /* [count][3]; NULL: those of the set */
    double *values, *fields;
} frame_data;

vf_status points_check_grid(vf_context *ctx, const point_run *r, const vf_grid *grid)
{
    const bool periodic = grid->cell.kind != VF_CELL_NONE; /* no place is outside then */
    for (int64_t n = 0; !periodic && r->set.place && n < r->set.count; n++)
        for (int a = 0; a < 3; a++) {
            const double *at = r->set.place + 3 * n, last = grid->spacing[a] * (double)(grid->counts[a] - 1);
            if (!(at[a] >= grid->origin[a] && at[a] <= grid->origin[a] + last))
                return vf_fail(ctx, VF_ERR_INPUT,
                               "%s: point %lld at (%g, %g, %g) is outside the grid, on which the potential in solvent "
                               "is known; use a larger --border, or leave out the point",
                               r->settings->points.points, (long long)n + 1, at[0], at[1], at[2]);
        }
    return VF_OK;
}

static vf_status compute_frame(vf_context *ctx, point_run *r, const vf_coulomb_atoms *charges, const vf_cell *cell,
                               const double *place, const frame_data *d)
{
    const bool fields = r->settings->points.field;
    const vf_point_options options = point_options(r->settings, cell, fields);
    const vf_point_list list = {r->set.count, place, r->first, r->excluded};
    vf_point_sum *plan = NULL;
    vf_point_info info;
    vf_status status = vf_point_sum_create(ctx, charges, &options, &list, (double)list.count, &plan);
    VF_TRY(status, vf_point_sum_execute(plan, &list, d->values, fields ? d->fields : NULL));
    if (status == VF_OK) {
        vf_point_sum_get_info(plan, &info);
        if (r->done == 0)
            r->info = info;
    }
    vf_point_sum_destroy(plan);
    if (status == VF_OK && r->done == 0 && info.fast)
        status = measure(ctx, r, charges, &options, &list, d->values, fields ? d->fields : NULL);
    if (status == VF_OK && r->solvent) {
        const double constant = potential_constant(r->settings->unit, r->settings->temperature);
        status = vf_solvent_add_at(r->solvent, list.count, place, r->set.atoms, constant, d->values,
                                   fields ? d->fields : NULL);
    }
    return status;
}

/* Welford's mean and sum of squares (frame_sums.h). */
static void take_frame(point_run *r, const double *place, const frame_data *d)
{
    const double k = (double)++r->done;
    for (int64_t n = 0; n < r->set.count; n++) {
        for (int a = 0; a < 3; a++)
            r->place[3 * n + a] += (place[3 * n + a] - r->place[3 * n + a]) / k;
        for (int c = 0; c < (r->settings->points.field ? 4 : 1); c++) {
            const double value = c == 0 ? d->values[n] : d->fields[3 * n + c - 1], off = value - r->mean[4 * n + c];
            r->mean[4 * n + c] += off / k;
            r->squares[4 * n + c] += off * (value - r->mean[4 * n + c]);
        }
    }
}

static vf_status one_frame(vf_context *ctx, point_run *r, int64_t frame, frame_data *d, point_sink sink, void *user)
{
    const molecule *m = r->mol;
    vf_coulomb_atoms charges = potential_charges(m);
    charges.charge = r->charge;
    vf_cell cell = r->cell;
    vf_status status = VF_OK;
    if (r->trajectory) {
        const int64_t n = r->frames->first + frame * r->frames->step;
        charges = (vf_coulomb_atoms){.count = m->atoms,
                                     .x = d->atoms,
                                     .y = d->atoms + m->atoms,
                                     .z = d->atoms + 2 * m->atoms,
                                     .charge = r->charge};
        status = trajectory_read(r->trajectory, n, d->atoms, d->atoms + m->atoms, d->atoms + 2 * m->atoms);
        if (status == VF_OK && r->follows) {
            const vf_grid whole = {.spacing = {1, 1, 1}, .counts = {1, 1, 1}, .cell = r->cell};
            vf_grid own;
            status = frame_grid(ctx, r->trajectory, n, &whole, &own);
            cell = own.cell;
        }
    }
    for (int64_t i = 0; status == VF_OK && r->set.atoms && i < m->atoms; i++) {
        d->place[3 * i] = charges.x[i];
        d->place[3 * i + 1] = charges.y[i];
        d->place[3 * i + 2] = charges.z[i];
    }
    const double *place = r->set.atoms ? d->place : r->set.place;
    VF_TRY(status, compute_frame(ctx, r, &charges, &cell, place, d));
    if (status == VF_OK) {
        take_frame(r, place, d);
        status = sink(user, frame, place, d->values, r->settings->points.field ? d->fields : NULL);
    }
    return status;
}

static vf_status make_room(vf_context *ctx, point_run *r, frame_data *d)
{
    const size_t n = (size_t)r->set.count, number = sizeof(double);
    r->place = calloc(3 * n, number);
    r->mean = calloc(4 * n, number);
    r->squares = calloc(4 * n, number);
    d->values = malloc(n * number);
    d->fields = malloc(3 * n * number);
    d->place = r->set.atoms ? malloc(3 * n * number) : NULL;
    d->atoms = r->trajectory ? malloc((size_t)r->mol->atoms * 3 * number) : NULL;
    return r->place && r->mean && r->squares && d->values && d->fields && (d->place || !r->set.atoms) &&
                   (d->atoms || !r->trajectory)
               ? VF_OK
               : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the values at %lld points", (long long)r->set.count);
}

vf_status points_compute(vf_context *ctx, point_run *r, point_sink sink, void *user)
{
    frame_data d = {0};
    const int64_t frames = r->trajectory ? r->frames->count : 1;
    vf_status status = make_room(ctx, r, &d);
    VF_TRY(status, exclude(ctx, r));
    for (int64_t f = 0; status == VF_OK && f < frames; f++)
        status = one_frame(ctx, r, f, &d, sink, user);
    r->least = INFINITY;
    r->most = -INFINITY;
    for (int64_t n = 0; status == VF_OK && n < r->set.count; n++) {
        r->least = fmin(r->least, r->mean[4 * n]);
        r->most = fmax(r->most, r->mean[4 * n]);
        r->rms += r->mean[4 * n] * r->mean[4 * n] / (double)r->set.count;
    }
    r->rms = sqrt(r->rms);
    free(d.atoms);
    free(d.place);
    free(d.values);
    free(d.fields);
    return status;
}

void points_free(point_run *r)
{
    point_set_free(&r->set);
    free(r->first);
    free(r->excluded);
    free(r->place);
    free(r->mean);
    free(r->squares);
}
