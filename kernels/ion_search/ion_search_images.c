/* The search in periodic cells. The potential of all points is kept in double precision; an ion adds that of a charge
 * with its images, from a table.
 *
 * A point's displacement from an ion on the grid is (i, j, k) steps, where i counts modulo the points along x, for the
 * cell's first vector is that many steps. In an orthorhombic cell the same is true of j and k, and g is even in each:
 * the table has rows for j and k from 0 to half. In a triclinic cell the other vectors are not whole steps. There g(-d)
 * = g(d) leaves k from 0 on, and j of either sign. */
#include <math.h>
#include <stdlib.h>

#include "ewald_sum.h"
#include "ion_search_internal.h"
#include "voxfield/team_size.h"

static const double table_tolerance = 1e-9, equal_energies = 1e-8;
static const double rounding = 1e-3; /* of a step: map files round origin and spacing */

typedef struct images_state {
    bool skewed;
    double *potential; /* [z][y][x] */
    vf_grid table;     /* its displacements are the points of a grid around 0 */
    double *values;    /* of the table, C = 1 */
    double charges;    /* C sum |q| over ions */
} images_state;

/* ---- the table ---- */

static vf_status check(const vf_ion_search *search)
{
    const vf_grid *grid = &search->grid;
    const vf_cell *cell = &search->pair.cell;
    if (!search->options.map_is_exact)
        return vf_fail(search->ctx, VF_ERR_UNSUPPORTED,
                       "search for ions: in a periodic cell, the map must count as exact");
    for (int a = 0; a < 3; a++) {
        const double edge = grid->spacing[a] * (double)grid->counts[a];
        if (cell->kind == VF_CELL_NONE || !(fabs(edge - cell->vectors[a][a]) <= rounding * grid->spacing[a]))
            return vf_fail(search->ctx, VF_ERR_UNSUPPORTED,
                           "search for ions: the grid must cover the periodic cell once, but its points cover %g along "
                           "%c instead of %g",
                           edge, "xyz"[a], cell -> vectors[a][a]);
    }
    return VF_OK;
}

/* By the pair potential's function. */
static void call_function(const vf_ion_search *search, const vf_grid *grid, const double at[3], double *out)
{
    const vf_pair_potential *pair = &search->pair;
    const int64_t rows = grid->counts[1] * grid->counts[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, 20 * vf_grid_points(grid)))
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < grid->counts[0]; i++) {
            double d[3];
            ion_point(grid, r * grid->counts[0] + i, d);
            for (int a = 0; a < 3; a++)
                d[a] -= at[a];
            out[r * grid->counts[0] + i] = pair->value(pair->state, d);
        }
}

/* The potential of a charge at a position, C = 1, on a grid in the search's cell. */
static vf_status sum_charge(const vf_ion_search *search, const vf_grid *grid, const double at[3], double *out)
{
    if (search->pair.value) {
        call_function(search, grid, at, out);
        return VF_OK;
    }
    vf_device *host = vf_context_host(search->ctx);
    const double one = 1;
    const vf_coulomb_atoms unit = {.count = 1, .x = &at[0], .y = &at[1], .z = &at[2], .charge = &one};
    const vf_ewald_options options = {
        .scale = 1, .r_min = search->pair.r_min, .tolerance = table_tolerance, .precision = VF_F64};
    const vf_box all = vf_grid_box(grid);
    vf_ewald *plan = NULL;
    vf_queue *queue = NULL;
    vf_status status = vf_ewald_create(host, grid, &unit, &options, &plan);
    VF_TRY(status, vf_queue_create(host, &queue));
    VF_TRY(status, vf_ewald_execute(plan, queue, &all, out));
    vf_queue_destroy(queue);
    vf_ewald_destroy(plan);
    return status;
}

static vf_status make_table(const vf_ion_search *search, images_state *s)
{
    s->table = search->grid;
    s->table.cell = search->pair.cell;
    for (int a = 0; a < 3; a++) {
        s->table.origin[a] = 0;
        s->table.spacing[a] = s->table.cell.vectors[a][a] / (double)s->table.counts[a];
    }
    if (s->skewed) {
        s->table.counts[1] = 2 * search->grid.counts[1] - 1;
        s->table.origin[1] = -s->table.spacing[1] * (double)(search->grid.counts[1] - 1);
    } else {
        for (int a = 1; a < 3; a++)
            s->table.counts[a] = search->grid.counts[a] / 2 + 1;
    }
    s->values = malloc((size_t)vf_grid_points(&s->table) * sizeof *s->values);
    if (!s->values)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for the potential of an ion and its images");
    return sum_charge(search, &s->table, (double[3]){0}, s->values);
}

static vf_status create(vf_ion_search *search)
{
    const int64_t points = vf_grid_points(&search->grid);
    vf_status status = check(search);
    if (status != VF_OK)
        return status;
    images_state *s = calloc(1, sizeof *s);
    search->state = s;
    if (s) {
        s->skewed = search->pair.cell.kind == VF_CELL_TRICLINIC;
        s->potential = malloc((size_t)points * sizeof *s->potential);
    }
    if (!s || !s->potential)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld points", (long long)points);
    for (int64_t i = 0; i < points; i++)
        s->potential[i] = ion_map_value(search, i);
    search->totals = s->potential;
    return make_table(search, s);
}

/* ---- an ion ---- */

/* out[i] += q row[(i - from) mod n], or, backwards, row[(from - i) mod n]. */
static void add_row(int64_t n, int64_t from, double q, const double *row, bool backwards, double *out)
{
    if (!backwards) {
        for (int64_t i = 0; i < from; i++)
            out[i] += q * row[i - from + n];
        for (int64_t i = from; i < n; i++)
            out[i] += q * row[i - from];
    } else {
        for (int64_t i = 0; i <= from; i++)
            out[i] += q * row[from - i];
        for (int64_t i = from + 1; i < n; i++)
            out[i] += q * row[from - i + n];
    }
}

/* The table's row for displacements j and k; *backwards: x has the opposite sign. */
static const double *table_row(const images_state *s, const int64_t counts[3], int64_t j, int64_t k, bool *backwards)
{
    *backwards = s->skewed && k < 0;
    if (*backwards) {
        j = -j;
        k = -k;
    }
    if (s->skewed) {
        j += counts[1] - 1;
    } else {
        j = llabs(j) <= counts[1] / 2 ? llabs(j) : counts[1] - llabs(j);
        k = llabs(k) <= counts[2] / 2 ? llabs(k) : counts[2] - llabs(k);
    }
    return s->values + (k * s->table.counts[1] + j) * counts[0];
}

static void add_on_grid(const vf_ion_search *search, images_state *s, const int64_t at[3], double q)
{
    const int64_t *n = search->grid.counts;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, vf_grid_points(&search->grid)))
    for (int64_t r = 0; r < n[1] * n[2]; r++) {
        bool backwards;
        const double *row = table_row(s, n, r % n[1] - at[1], r / n[1] - at[2], &backwards);
        add_row(n[0], at[0], q, row, backwards, s->potential + r * n[0]);
    }
}

static vf_status add_elsewhere(const vf_ion_search *search, images_state *s, const double position[3], double q)
{
    const int64_t points = vf_grid_points(&search->grid);
    vf_grid grid = search->grid;
    double *values = malloc((size_t)points * sizeof *values);
    if (!values)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld points", (long long)points);
    grid.cell = search->pair.cell;
    const vf_status status = sum_charge(search, &grid, position, values);
    for (int64_t i = 0; status == VF_OK && i < points; i++)
        s->potential[i] += q * values[i];
    free(values);
    return status;
}

static vf_status add(vf_ion_search *search)
{
    images_state *s = search->state;
    const ion_sources *ions = &search->sources[ION_IONS];
    const vf_grid *grid = &search->grid;
    const double position[3] = {ions->x[ions->count - 1], ions->y[ions->count - 1], ions->z[ions->count - 1]};
    const double q = ions->charge[ions->count - 1]; /* C is included */
    int64_t at[3];
    bool on_grid = true;
    s->charges += fabs(q);
    for (int a = 0; a < 3; a++) {
        const double n = round((position[a] - grid->origin[a]) / grid->spacing[a]);
        on_grid = on_grid && n >= 0 && n < (double)grid->counts[a] &&
                  fabs(grid->origin[a] + grid->spacing[a] * n - position[a]) <= 1e-9 * grid->spacing[a];
        at[a] = (int64_t)n;
    }
    if (!on_grid)
        return add_elsewhere(search, s, position, q);
    add_on_grid(search, s, at, q);
    return VF_OK;
}

/* ---- the search ---- */

/* The lowest energy in a layer; INFINITY if no point is free. */
static double lowest_in(const vf_ion_search *search, const images_state *s, double charge, int64_t layer)
{
    const int64_t points = search->grid.counts[0] * search->grid.counts[1];
    const double *potential = s->potential + layer * points;
    const uint8_t *mask = search->mask + layer * points;
    double least = INFINITY;
    for (int64_t i = 0; i < points; i++) {
        const double energy = mask[i] == VF_ION_FREE ? charge * potential[i] : INFINITY;
        least = energy < least ? energy : least;
    }
    return least;
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    const images_state *s = search->state;
    const int64_t points = vf_grid_points(&search->grid), layers = search->grid.counts[2];
    double least = INFINITY;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, points)) reduction(min : least)
    for (int64_t k = 0; k < layers; k++) {
        const double here = lowest_in(search, s, charge, k);
        least = here < least ? here : least;
    }
    const double limit = least + equal_energies * fabs(charge) * s->charges / cbrt(vf_cell_volume(&search->pair.cell));
    for (int64_t i = 0; i < points && out->index < 0; i++)
        if (search->mask[i] == VF_ION_FREE && charge * s->potential[i] <= limit)
            out->index = i;
    return VF_OK;
}

static void destroy(vf_ion_search *search)
{
    images_state *s = search->state;
    if (s) {
        free(s->potential);
        free(s->values);
    }
    free(s);
}

static const char *const variants[] = {"images", NULL};
const vf_ion_search_backend vf_ion_search_images = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
