/* The contents of the cells: bounds, their changes by ions, and values. ion_search_cells.c describes the method. */
#include <stdlib.h>

#include "coulomb_sum_backend.h"
#include "ion_search_cells.h"
#include "voxfield/team_size.h"

/* ---- values ---- */

int64_t ion_row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k)
{
    return ((box->lo[2] + k) * grid->counts[1] + box->lo[1] + j) * grid->counts[0] + box->lo[0];
}

/* The minimum and maximum over the free points, of the cell's values or of the map. */
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
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for the bounds of %lld cells",
                       (long long)state->grid.count);
    vf_status status = ion_bound_atoms(search, &state->grid, state->queue, magnitude, &factor);
    for (int64_t n = 0; status == VF_OK && n < state->grid.count; n++)
        state->nodes[n].magnitude = factor * (double)magnitude[n];
    free(magnitude);
    return status;
}

int64_t ion_cells_levels(const vf_grid *grid, cell_state *state)
{
    level *l = state->level;
    int64_t first = 0, nodes;
    for (int a = 0; a < 3; a++)
        l->shape[a] = ion_cell_shape[a];
    do {
        double squared = 0;
        nodes = 1;
        for (int a = 0; a < 3; a++) {
            const double half = 0.5 * (double)(l->shape[a] - 1) * grid->spacing[a];
            l->along[a] = (grid->counts[a] - 1) / l->shape[a] + 1;
            l->half[a] = half * (1 + 1e-12);
            squared += half * half;
            nodes *= l->along[a];
            /* Cells are longer along x. The next level consists of cubes. */
            l[1].shape[a] = l->shape[a] < CELL_X ? CELL_X : 2 * l->shape[a];
        }
        l[1].shape[0] = l[1].shape[1];
        l->radius = sqrt(squared) * (1 + 1e-12);
        l->first = first;
        first += nodes;
        l++;
    } while (nodes > 1);
    state->levels = (int)(l - state->level);
    return first;
}

static const level *level_of(const cell_state *state, int64_t number)
{
    const level *l = state->level + state->levels - 1;
    while (number < l->first)
        l--;
    return l;
}

vf_box ion_node_parts(const cell_state *state, int64_t number, const level **below)
{
    const level *l = level_of(state, number);
    vf_box box;
    *below = l - 1;
    number -= l->first;
    for (int a = 0; a < 3; a++) {
        const int64_t parts = l->shape[a] / l[-1].shape[a], lo = number % l->along[a] * parts;
        box.lo[a] = lo;
        box.hi[a] = lo + parts < l[-1].along[a] ? lo + parts : l[-1].along[a];
        number /= l->along[a];
    }
    return box;
}

static ion_bound_ions *const bound_ions[VF_ISA_COUNT] = {
    ion_bound_ions_baseline,
#if defined(__x86_64__)
    ion_bound_ions_avx2,
    ion_bound_ions_avx512,
#endif
};

void ion_node_update(const vf_ion_search *search, cell_state *state, int64_t number)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    const level *l = level_of(state, number);
    const vf_coulomb_options *potential = &search->options.potential;
    node *b = &state->nodes[number];
    double middle[3];
    if (b->low > b->high) /* no free points, now or later */
        return;
    number -= l->first;
    for (int a = 0; a < 3; a++) {
        middle[a] = search->grid.origin[a] + search->grid.spacing[a] * ((double)(number % l->along[a] * l->shape[a]) +
                                                                        0.5 * (double)(l->shape[a] - 1));
        number /= l->along[a];
    }
    bound_ions[state->isa](ions, b->known, l, middle, potential->r_min, potential->distance_dielectric, b);
    b->known = ions->count;
}

/* Marks the ions that a node knows as included in its `low` and `high`. */
static void settle_ions(node *b, int64_t ions)
{
    b->middle = b->rest = b->gradient[0] = b->gradient[1] = b->gradient[2] = 0;
    b->known = b->settled = ions;
}

void ion_node_open(const vf_ion_search *search, cell_state *state, int64_t number)
{
    const level *l;
    const vf_box box = ion_node_parts(state, number, &l);
    node *b = &state->nodes[number];
    double low = INFINITY, high = -INFINITY;
    for (int64_t k = box.lo[2]; k < box.hi[2]; k++)
        for (int64_t j = box.lo[1]; j < box.hi[1]; j++)
            for (int64_t i = box.lo[0]; i < box.hi[0]; i++) {
                const int64_t part = ion_node_number(l, i, j, k);
                const node *p = &state->nodes[part];
                ion_node_update(search, state, part);
                if (p->low > p->high)
                    continue;
                const double p_low = ion_node_low(l, p), p_high = ion_node_high(l, p);
                low = p_low < low ? p_low : low;
                high = p_high > high ? p_high : high;
            }
    b->low = low;
    b->high = high;
    settle_ions(b, search->sources[ION_IONS].count);
}

vf_status ion_cells_begin(vf_ion_search *search, cell_state *state)
{
    const bool exact = search->options.map_is_exact;
    const double error = state->map_error = ion_map_error(search);
    vf_status status = exact ? VF_OK : bound_atoms(search, state);
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, vf_grid_points(&search->grid)))
    for (int64_t n = 0; n < state->grid.count; n++) {
        const vf_box box = ion_cell_box(&search->grid, &state->grid, n);
        node *b = &state->nodes[n];
        look_at(search, &box, NULL, &b->low, &b->high);
        if (exact)
            b->magnitude = b->low <= b->high ? fmax(fabs(b->low), fabs(b->high)) : 0;
        b->low -= error * b->magnitude;
        b->high += error * b->magnitude;
    }
    for (int64_t n = state->grid.count; n < state->count; n++)
        ion_node_open(search, state, n);
    state->begun = true;
    return VF_OK;
}

/* ---- visiting cells ---- */

/* Adds the potential of the ions that the cell does not have yet. */
static void apply_ions(const vf_ion_search *search, const vf_box *box, int64_t settled, cell *c)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    const vf_coulomb_options *potential = &search->options.potential;
    double sums[CELL_POINTS];
    const int64_t points = vf_box_points(box), first = settled;
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
}

static void copy_map(const vf_ion_search *search, const vf_box *box, double *values)
{
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++)
                values[(k * ny + j) * nx + i] = ion_map_value(search, ion_row_start(&search->grid, box, j, k) + i);
}

/* Replaces the map's part of the values by the sum over the atoms in double precision. */
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

vf_status ion_cell_visit(const vf_ion_search *search, cell_state *state, int64_t number, bool exactly)
{
    const int64_t ions = search->sources[ION_IONS].count;
    const vf_box box = ion_cell_box(&search->grid, &state->grid, number);
    cell *c = &state->cells[number];
    node *b = &state->nodes[number];
    vf_status status = VF_OK;
    if (!c->values) {
        c->values = calloc((size_t)vf_box_points(&box), sizeof *c->values);
        if (!c->values)
            return vf_fail(search->ctx, VF_ERR_MEMORY,
                           "not enough memory for another cell of the search for ions; use a larger --spacing");
        copy_map(search, &box, c->values);
        c->summed = state->map_error <= EXACT_ERROR;
    }
    if (exactly && !c->summed)
        status = sum_atoms(search, state, &box, c);
    if (b->settled < ions)
        apply_ions(search, &box, b->settled, c);
    look_at(search, &box, c->values, &b->low, &b->high);
    b->low -= ion_cell_error(state, number);
    b->high += ion_cell_error(state, number);
    settle_ions(b, ions);
    return status;
}
