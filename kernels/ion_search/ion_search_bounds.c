/* What the cells hold: bounds, which ions move, and values. See ion_search_cells.c for the whole. */
#include <stdlib.h>

#include "coulomb_sum_backend.h"
#include "ion_search_cells.h"

/* ---- values ---- */

/* The first point of row (j, k) of a box in the grid's order, j and k counted from the box's first. */
int64_t ion_row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k)
{
    return ((box->lo[2] + k) * grid->counts[1] + box->lo[1] + j) * grid->counts[0] + box->lo[0];
}

/* The extremes over the free points, of the cell's values or of the map. */
static void look_at(const vf_ion_search *search, const vf_box *box, const double *values, double *low, double *high)
{
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++) {
            const int64_t row = ion_row_start(&search->grid, box, j, k);
            for (int64_t i = 0; i < nx; i++) {
                if (search->mask[row + i] != VF_ION_FREE)
                    continue;
                const double v = values ? values[(k * ny + j) * nx + i] : ion_map_value(search, row + i);
                *low = v < *low ? v : *low;
                *high = v > *high ? v : *high;
            }
        }
}

/* ---- bounds ---- */

static vf_status bound_atoms(const vf_ion_search *search, cell_state *state)
{
    double factor = 0;
    float *magnitude = malloc((size_t)state->grid.count * sizeof *magnitude);
    if (!magnitude)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for the bounds of %lld cells",
                       (long long)state->grid.count);
    vf_status status = ion_bound_atoms(search, &state->grid, state->queue, magnitude, &factor);
    for (int64_t n = 0; status == VF_OK && n < state->grid.count; n++)
        state->bounds[n].magnitude = factor * (double)magnitude[n];
    free(magnitude);
    return status;
}

/* What must be known of all cells before the first ion, when all is excluded that atoms exclude. */
vf_status ion_cells_begin(vf_ion_search *search, cell_state *state)
{
    const bool exact = search->options.map_is_exact;
    const double error = state->map_error = ion_map_error(search);
    const int threads = vf_context_threads(search->ctx);
    vf_status status = exact ? VF_OK : bound_atoms(search, state);
    if (status != VF_OK)
        return status;
    double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < state->grid.count; n++) {
        const vf_box box = ion_cell_box(&search->grid, &state->grid, n);
        bounds *b = &state->bounds[n];
        look_at(search, &box, NULL, &b->low, &b->high);
        if (exact)
            b->magnitude = b->low <= b->high ? fmax(fabs(b->low), fabs(b->high)) : 0;
        b->low_top = b->low + error * b->magnitude;
        b->high_bottom = b->high - error * b->magnitude;
        b->low -= error * b->magnitude;
        b->high += error * b->magnitude;
        state->cells[n].seen = -1;
        largest = fmax(largest, b->magnitude);
    }
    state->largest = largest;
    state->begun = true;
    return VF_OK;
}

/* An ion of charge q, C in it, at `to` from the cell's middle, and no nearer to any free point than `least`. */
static void bound_ion(const cell_state *state, bool square, double q, const double to[3], double least, bounds *b)
{
    const double r = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]), nearest = r - state->grid.radius;
    if (nearest > state->grid.radius && nearest > least) {
        const double v = square ? 1 / (r * r) : 1 / r, slope = (square ? -2 : -1) * q * v / (r * r);
        const double rest = state->grid.radius * state->grid.radius / (nearest * nearest * nearest);
        b->middle += q * v;
        for (int a = 0; a < 3; a++)
            b->gradient[a] += slope * to[a];
        b->rest += fabs(q) * (square ? 3 * rest / nearest : rest);
        b->magnitude += fabs(q) * (square ? 1 / (nearest * nearest) : 1 / nearest);
        return;
    }
    const double near = fmax(nearest, least), far = fmax(r + state->grid.radius, least);
    const double most = square ? 1 / (near * near) : 1 / near, fewest = square ? 1 / (far * far) : 1 / far;
    b->middle += 0.5 * q * (most + fewest);
    b->rest += 0.5 * fabs(q) * (most - fewest);
    b->magnitude += fabs(q) * most;
}

/* Moves the bounds of a row of cells along x for the last ion. */
static double bound_row(const vf_ion_search *search, cell_state *state, int64_t row)
{
    const vf_grid *g = &search->grid;
    const ion_sources *ions = &search->sources[ION_IONS];
    const int64_t n = ions->count - 1, along[3] = {0, row % state->grid.along[1], row / state->grid.along[1]};
    const double least = fmax(ions->distance[n], search->options.potential.r_min) * (1 - 1e-12);
    const double at[3] = {ions->x[n], ions->y[n], ions->z[n]};
    double to[3], largest = 0;
    for (int a = 0; a < 3; a++)
        to[a] = g->origin[a] +
                g->spacing[a] * ((double)(along[a] * ion_cell_shape[a]) + 0.5 * (ion_cell_shape[a] - 1)) - at[a];
    const double x = to[0];
    for (int64_t i = 0; i < state->grid.along[0]; i++) {
        bounds *b = &state->bounds[row * state->grid.along[0] + i];
        if (b->low > b->high) /* nothing is free there, nor will be */
            continue;
        to[0] = x + g->spacing[0] * (double)(i * CELL_X);
        bound_ion(state, search->options.potential.distance_dielectric, ions->charge[n], to, least, b);
        /* The point that was the least may be excluded now; then there is no upper bound of what is the least. */
        const double reach = ions->distance[n] + state->grid.radius;
        if (to[0] * to[0] + to[1] * to[1] + to[2] * to[2] < reach * reach) {
            b->low_top = INFINITY;
            b->high_bottom = -INFINITY;
        }
        largest = fmax(largest, b->magnitude);
    }
    return largest;
}

void ion_cells_add(vf_ion_search *search, cell_state *state)
{
    const int threads = vf_context_threads(search->ctx);
    const int64_t rows = state->grid.along[1] * state->grid.along[2];
    double largest = state->largest;
#pragma omp parallel for schedule(static) reduction(max                                                                \
                                                    : largest)                                                         \
    num_threads(threads) if (state->grid.count > PARALLEL_FROM && threads > 1)
    for (int64_t row = 0; row < rows; row++)
        largest = fmax(largest, bound_row(search, state, row));
    state->largest = largest;
}

/* ---- looking at cells ---- */

/* Adds the ions that the cell lacks. */
static void apply_ions(const vf_ion_search *search, const vf_box *box, cell *c)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    const vf_coulomb_options *potential = &search->options.potential;
    double sums[CELL_POINTS];
    const int64_t points = vf_box_points(box), first = c->applied;
    coulomb_block block = {
        .atoms = ions->count - first,
        .x = ions->x + first,
        .y = ions->y + first,
        .z = ions->z + first,
        .charge = ions->charge + first,
        .nx = (int)vf_box_extent(box, 0),
        .ny = (int)vf_box_extent(box, 1),
        .nz = (int)vf_box_extent(box, 2),
        .r_min = potential->r_min,
        .distance_dielectric = potential->distance_dielectric,
        .out = sums,
        .stride_y = vf_box_extent(box, 0),
        .stride_z = vf_box_extent(box, 0) * vf_box_extent(box, 1),
    };
    double *const positions[3] = {block.px, block.py, block.pz};
    for (int a = 0; a < 3; a++) {
        block.centre[a] = vf_coulomb_position(&search->grid, a, box->lo[a] + ion_cell_shape[a] / 2);
        for (int n = 0; n < ion_cell_shape[a]; n++)
            positions[a][n] = vf_coulomb_position(&search->grid, a, box->lo[a] + n) - block.centre[a];
    }
    search->simd->f64(&block);
    for (int64_t i = 0; i < points; i++)
        c->values[i] += sums[i];
    c->applied = ions->count;
}

static void copy_map(const vf_ion_search *search, const vf_box *box, double *values)
{
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++)
                values[(k * ny + j) * nx + i] = ion_map_value(search, ion_row_start(&search->grid, box, j, k) + i);
}

/* Puts the sum of the atoms, in double precision, in place of what the values have from the map. */
static vf_status sum_atoms(const vf_ion_search *search, const cell_state *state, const vf_box *box, cell *c)
{
    double sums[CELL_POINTS] = {0}, map[CELL_POINTS] = {0};
    const int64_t points = vf_box_points(box);
    vf_status status = vf_coulomb_execute(state->sums, state->queue, box, sums);
    copy_map(search, box, map);
    for (int64_t i = 0; status == VF_OK && i < points; i++)
        c->values[i] += sums[i] - map[i];
    c->summed = status == VF_OK;
    return status;
}

/* Looks at a cell: its bounds become exact, or, the first time, good to the map's error. */
vf_status ion_cell_visit(const vf_ion_search *search, cell_state *state, int64_t number)
{
    const int64_t ions = search->sources[ION_IONS].count;
    const vf_box box = ion_cell_box(&search->grid, &state->grid, number);
    cell *c = &state->cells[number];
    bounds *b = &state->bounds[number];
    vf_status status = VF_OK;
    if (!c->values) {
        c->values = malloc((size_t)vf_box_points(&box) * sizeof *c->values);
        if (!c->values)
            return vf_fail(search->ctx, VF_ERR_MEMORY,
                           "no memory for another cell of the search for ions; use a larger --spacing");
        copy_map(search, &box, c->values);
        c->summed = state->map_error <= EXACT_ERROR;
    } else if (!c->summed && c->applied == ions) { /* the map is not enough to tell */
        status = sum_atoms(search, state, &box, c);
    }
    if (c->applied < ions)
        apply_ions(search, &box, c);
    look_at(search, &box, c->values, &b->low, &b->high);
    const double error = c->summed ? 0 : state->map_error * b->magnitude;
    b->low_top = b->low + error;
    b->high_bottom = b->high - error;
    b->low -= error;
    b->high += error;
    b->middle = b->rest = b->gradient[0] = b->gradient[1] = b->gradient[2] = 0;
    c->seen = c->summed ? ions : -1;
    return status;
}
