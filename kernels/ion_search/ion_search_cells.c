/* The search by cells of the grid: bounds say which cells can hold the least energy, and only those are looked at.
 *
 * For each cell there are bounds of the least potential over its free points, and of the greatest. They begin as the
 * extremes of the map, give or take its error. What ions add since is kept as their potential at the cell's middle, its
 * gradient there, and a bound of the rest: by Taylor's theorem rho^2 / (r - rho)^3 for 1/r, within rho of the middle,
 * since no second derivative is beyond 2/r^3; for 1/r^2 it is 3 rho^2 / (r - rho)^4. An ion near the cell counts with
 * the middle of what its potential can be, give or take. To find the least
 * energy, cells are taken in the order of their lower bounds, until none is below the least energy that was found. A
 * cell that is looked at takes the values of the map, gets the ions it lacks, and has its extremes found; if it still
 * may hold the least energy to the map's error, its atoms are summed again in double precision (once). A bound that
 * ions have blurred costs a look at the cell, never a wrong place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coulomb_sum_backend.h"
#include "ion_search_internal.h"

/* Errors relative to C sum |q|/r: of the map, see ion_search.h; and what energies that are compared exactly may differ
 * by, many times what rounding in double precision does, so that all points within the tolerance of the least are
 * candidates. */
#define MAP_ERROR (16 * 0x1p-24)
#define EXACT_ERROR 0x1p-39

/* Small, so that an ion's potential differs little within a cell; as wide along x as a vector of the widest kind. */
enum { CELL_X = 8, CELL_Y = 4, CELL_Z = 4, CELL_POINTS = CELL_X * CELL_Y * CELL_Z };
static const int cell_shape[3] = {CELL_X, CELL_Y, CELL_Z};

typedef struct cell {
    double *values;  /* [z][y][x] of its box, in double precision; NULL: not looked at yet */
    bool summed;     /* the values are good to EXACT_ERROR, not only to the map's */
    int64_t applied; /* ions that are in `values` */
    int64_t seen;    /* ions when the bounds were made exact; -1: never */
} cell;

/* Over a cell's free points. Without any low = INFINITY, high = -INFINITY. */
typedef struct bounds {
    /* Of the potential without what follows: low <= the least <= low_top, high_bottom <= the greatest <= high. */
    double low, low_top, high, high_bottom;
    /* Ions' since then: at the middle, its gradient, and how far the rest can be off. */
    double middle, gradient[3], rest;
    double magnitude; /* bound of C sum |q|/r over atoms and ions */
} bounds;

typedef struct cell_state {
    bool begun; /* the bounds are there */
    int64_t along[3], count;
    cell *cells;
    bounds *bounds;   /* [count] */
    double largest;   /* of magnitude */
    double map_error; /* relative to magnitude */
    double half[3];   /* of a cell's edges, from point to point */
    double radius;    /* half its diagonal */
    vf_coulomb *sums; /* the atoms', in double precision, on the CPU */
    vf_queue *queue;
    int64_t *heap; /* [count] cells that wait, the one of the least bound first */
} cell_state;

/* Cells that are looked at before the least energy so far is looked at again, at least. */
enum { ROUND = 16, PARALLEL_FROM = 4096 };

/* ---- what a cell is ---- */

static vf_box cell_box(const vf_ion_search *search, const cell_state *state, int64_t number)
{
    vf_box box;
    for (int a = 0; a < 3; a++) {
        const int64_t end = (number % state->along[a] + 1) * cell_shape[a];
        box.lo[a] = end - cell_shape[a];
        box.hi[a] = end < search->grid.counts[a] ? end : search->grid.counts[a];
        number /= state->along[a];
    }
    return box;
}

/* The first point of row (j, k) of a box in the grid's order, j and k counted from the box's first. */
static int64_t row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k)
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
            const int64_t row = row_start(&search->grid, box, j, k);
            for (int64_t i = 0; i < nx; i++) {
                if (search->mask[row + i] != VF_ION_FREE)
                    continue;
                const double v = values ? values[(k * ny + j) * nx + i] : ion_map_value(search, row + i);
                *low = v < *low ? v : *low;
                *high = v > *high ? v : *high;
            }
        }
}

static vf_status create(vf_ion_search *search)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_device *host = vf_context_host(search->ctx);
    cell_state *state = calloc(1, sizeof *state);
    search->state = state;
    if (!state)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    state->count = 1;
    for (int a = 0; a < 3; a++) {
        const double half = 0.5 * (cell_shape[a] - 1) * search->grid.spacing[a];
        state->along[a] = (search->grid.counts[a] - 1) / cell_shape[a] + 1;
        state->count *= state->along[a];
        state->half[a] = half * (1 + 1e-12);
        state->radius += half * half;
    }
    state->radius = sqrt(state->radius) * (1 + 1e-12);
    const size_t n = (size_t)state->count;
    state->cells = calloc(n, sizeof *state->cells);
    state->bounds = calloc(n, sizeof *state->bounds);
    state->heap = malloc(n * sizeof *state->heap);
    if (!state->cells || !state->bounds || !state->heap)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for %lld cells", (long long)state->count);
    if (search->options.map_is_exact)
        return VF_OK;
    vf_coulomb_options options = search->options.potential;
    const vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->charge};
    options.scale = 1; /* it is in the sources' charges */
    options.precision = VF_F64;
    options.variant = NULL;
    vf_status status = vf_queue_create(host, &state->queue);
    return status == VF_OK ? vf_coulomb_create(host, &search->grid, &atoms, &options, &state->sums) : status;
}

static void destroy(vf_ion_search *search)
{
    cell_state *state = search->state;
    if (!state)
        return;
    for (int64_t n = 0; state->cells && n < state->count; n++)
        free(state->cells[n].values);
    vf_queue_destroy(state->queue);
    vf_coulomb_destroy(state->sums);
    free(state->cells);
    free(state->bounds);
    free(state->heap);
    free(state);
}

/* ---- bounds ---- */

/* Bounds of sum |q|/r over the cells' free points, which are `d` from any atom at least, from that sum with max(r, d +
 * rho) at each cell's middle, rho its radius: a free point is no nearer to an atom than max(d, r - rho), and
 * max(r, d + rho) / max(d, r - rho) is largest at r = d + rho, (d + rho) / d. */
static vf_status bound_atoms(vf_ion_search *search, cell_state *state)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_coulomb_options options = search->options.potential;
    const double d = fmax(search->least_distance, options.r_min), ratio = (d + state->radius) / d;
    const double factor = (options.distance_dielectric ? ratio * ratio : ratio) * (1 + 1e-9);
    vf_grid coarse = search->grid;
    for (int a = 0; a < 3; a++) {
        coarse.origin[a] += 0.5 * (cell_shape[a] - 1) * coarse.spacing[a];
        coarse.spacing[a] *= cell_shape[a];
        coarse.counts[a] = state->along[a];
    }
    const vf_box box = vf_grid_box(&coarse);
    const vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->magnitude};
    vf_coulomb *sums = NULL;
    options.scale = 1; /* it is in the sources' charges */
    options.r_min = d + state->radius;
    options.precision = VF_F64;
    options.variant = NULL;
    double *magnitude = malloc((size_t)state->count * sizeof *magnitude);
    if (!magnitude)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for the bounds of %lld cells", (long long)state->count);
    vf_status status = vf_coulomb_create(vf_context_host(search->ctx), &coarse, &atoms, &options, &sums);
    if (status == VF_OK)
        status = vf_coulomb_execute(sums, state->queue, &box, magnitude);
    vf_coulomb_destroy(sums);
    for (int64_t n = 0; status == VF_OK && n < state->count; n++)
        state->bounds[n].magnitude = factor * magnitude[n];
    free(magnitude);
    return status;
}

/* What must be known of all cells before the first ion, when all is excluded that atoms exclude. */
static vf_status begin(vf_ion_search *search, cell_state *state)
{
    const bool exact = search->options.map_is_exact;
    const double error = exact || search->options.potential.precision == VF_F64 ? EXACT_ERROR : MAP_ERROR;
    state->map_error = error;
    const int threads = vf_context_threads(search->ctx);
    vf_status status = exact ? VF_OK : bound_atoms(search, state);
    if (status != VF_OK)
        return status;
    double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < state->count; n++) {
        const vf_box box = cell_box(search, state, n);
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
    const double r = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]), nearest = r - state->radius;
    if (nearest > state->radius && nearest > least) {
        const double v = square ? 1 / (r * r) : 1 / r, slope = (square ? -2 : -1) * q * v / (r * r);
        const double rest = state->radius * state->radius / (nearest * nearest * nearest);
        b->middle += q * v;
        for (int a = 0; a < 3; a++)
            b->gradient[a] += slope * to[a];
        b->rest += fabs(q) * (square ? 3 * rest / nearest : rest);
        b->magnitude += fabs(q) * (square ? 1 / (nearest * nearest) : 1 / nearest);
        return;
    }
    const double near = fmax(nearest, least), far = fmax(r + state->radius, least);
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
    const int64_t n = ions->count - 1, along[3] = {0, row % state->along[1], row / state->along[1]};
    const double least = fmax(ions->distance[n], search->options.potential.r_min) * (1 - 1e-12);
    const double at[3] = {ions->x[n], ions->y[n], ions->z[n]};
    double to[3], largest = 0;
    for (int a = 0; a < 3; a++)
        to[a] = g->origin[a] + g->spacing[a] * ((double)(along[a] * cell_shape[a]) + 0.5 * (cell_shape[a] - 1)) - at[a];
    const double x = to[0];
    for (int64_t i = 0; i < state->along[0]; i++) {
        bounds *b = &state->bounds[row * state->along[0] + i];
        to[0] = x + g->spacing[0] * (double)(i * CELL_X);
        bound_ion(state, search->options.potential.distance_dielectric, ions->charge[n], to, least, b);
        /* The point that was the least may be excluded now; then there is no upper bound of what is the least. */
        const double reach = ions->distance[n] + state->radius;
        if (to[0] * to[0] + to[1] * to[1] + to[2] * to[2] < reach * reach) {
            b->low_top = INFINITY;
            b->high_bottom = -INFINITY;
        }
        largest = fmax(largest, b->magnitude);
    }
    return largest;
}

static vf_status add(vf_ion_search *search)
{
    cell_state *state = search->state;
    if (!state->begun) { /* an ion before anything was looked for: what it excludes is excluded for the bounds, too */
        vf_status status = begin(search, state);
        if (status != VF_OK)
            return status;
    }
    const int threads = vf_context_threads(search->ctx);
    const int64_t rows = state->along[1] * state->along[2];
    double largest = state->largest;
#pragma omp parallel for schedule(static) reduction(max                                                                \
                                                    : largest)                                                         \
    num_threads(threads) if (state->count > PARALLEL_FROM && threads > 1)
    for (int64_t row = 0; row < rows; row++)
        largest = fmax(largest, bound_row(search, state, row));
    state->largest = largest;
    return VF_OK;
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
        block.centre[a] = vf_coulomb_position(&search->grid, a, box->lo[a] + cell_shape[a] / 2);
        for (int n = 0; n < cell_shape[a]; n++)
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
                values[(k * ny + j) * nx + i] = ion_map_value(search, row_start(&search->grid, box, j, k) + i);
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
static vf_status visit(const vf_ion_search *search, cell_state *state, int64_t number)
{
    const int64_t ions = search->sources[ION_IONS].count;
    const vf_box box = cell_box(search, state, number);
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

/* ---- the search ---- */

/* How far ions' potential can be from that at the middle. */
static double spread(const cell_state *state, const bounds *b)
{
    return fabs(b->gradient[0]) * state->half[0] + fabs(b->gradient[1]) * state->half[1] +
           fabs(b->gradient[2]) * state->half[2] + b->rest;
}

/* The least energy that a cell can have, and one that it has or undercuts. */
static double lower_bound(const cell_state *state, int64_t n, double charge)
{
    const bounds *b = &state->bounds[n];
    if (b->low > b->high)
        return INFINITY;
    return charge * (b->middle + (charge > 0 ? b->low - spread(state, b) : b->high + spread(state, b)));
}
static double upper_bound(const cell_state *state, int64_t n, double charge)
{
    const bounds *b = &state->bounds[n];
    if (b->low > b->high)
        return INFINITY;
    return charge * (b->middle + (charge > 0 ? b->low_top + spread(state, b) : b->high_bottom - spread(state, b)));
}

/* Puts a cell into the heap, at the end and up. */
static void push(const cell_state *state, double charge, int64_t count, int64_t number)
{
    const double bound = lower_bound(state, number, charge);
    int64_t at = count;
    for (; at > 0 && bound < lower_bound(state, state->heap[(at - 1) / 2], charge); at = (at - 1) / 2)
        state->heap[at] = state->heap[(at - 1) / 2];
    state->heap[at] = number;
}

static void sink(const cell_state *state, double charge, int64_t count, int64_t at)
{
    int64_t *heap = state->heap;
    const int64_t moving = heap[at];
    const double bound = lower_bound(state, moving, charge);
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && lower_bound(state, heap[child + 1], charge) < lower_bound(state, heap[child], charge))
            child++;
        if (!(lower_bound(state, heap[child], charge) < bound))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* The cells that have to be looked at, as a heap; the least energy that is known to be there goes to *least. */
static int64_t gather_waiting(const vf_ion_search *search, const cell_state *state, double charge, double window,
                              double *least)
{
    const int64_t ions = search->sources[ION_IONS].count;
    const int threads = vf_context_threads(search->ctx);
    int64_t count = 0;
    double top = INFINITY;
#pragma omp parallel for schedule(static) reduction(min                                                                \
                                                    : top)                                                             \
    num_threads(threads) if (state->count > PARALLEL_FROM && threads > 1)
    for (int64_t n = 0; n < state->count; n++)
        top = fmin(top, upper_bound(state, n, charge));
    *least = top;
#pragma omp parallel for schedule(static) num_threads(threads) if (state->count > PARALLEL_FROM && threads > 1)
    for (int64_t n = 0; n < state->count; n++) {
        const double bound = lower_bound(state, n, charge);
        int64_t place;
        if (state->cells[n].seen == ions || bound == INFINITY || bound - window > top + window)
            continue;
#pragma omp atomic capture
        place = count++;
        state->heap[place] = n;
    }
    for (int64_t at = count / 2 - 1; at >= 0; at--)
        sink(state, charge, count, at);
    return count;
}

/* Looks at cells until no bound is below the least energy, which is returned in *least. */
static vf_status settle(vf_ion_search *search, cell_state *state, double charge, double window, double *least)
{
    enum { MOST = 4096 };
    const int threads = vf_context_threads(search->ctx);
    const int most = threads * ROUND < MOST ? threads * ROUND : MOST;
    int64_t round[MOST], waiting = gather_waiting(search, state, charge, window, least);
    vf_status status = VF_OK;
    while (status == VF_OK && waiting > 0) {
        int count = 0, failed = 0;
        while (waiting > 0 && count < most && lower_bound(state, state->heap[0], charge) - window <= *least + window) {
            round[count++] = state->heap[0];
            state->heap[0] = state->heap[--waiting];
            sink(state, charge, waiting, 0);
        }
        if (count == 0)
            break;
#pragma omp parallel for schedule(dynamic, 1) reduction(| : failed) num_threads(threads) if (count > 1 && threads > 1)
        for (int n = 0; n < count; n++)
            failed |= visit(search, state, round[n]) != VF_OK;
        for (int n = 0; n < count; n++) {
            *least = fmin(*least, upper_bound(state, round[n], charge));
            if (!state->cells[round[n]].summed && lower_bound(state, round[n], charge) < INFINITY)
                push(state, charge, waiting++, round[n]);
        }
        if (failed)
            status = vf_context_status(search->ctx);
        else if (vf_cancelled(search->ctx))
            status = vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return status;
}

/* The free points whose energies are so near the least that only exact sums tell. */
typedef struct candidates {
    int64_t count, first; /* first: the least index */
    int64_t *index;       /* [min(count, MOST_CANDIDATES)] */
} candidates;

/* More only where a map is flat, as without charges: there all points are equal. */
enum { MOST_CANDIDATES = 1 << 14 };

static void gather(const vf_ion_search *search, const vf_box *box, const double *values, double charge, double limit,
                   candidates *c)
{
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++) {
                const int64_t index = row_start(&search->grid, box, j, k) + i;
                if (search->mask[index] != VF_ION_FREE || !(charge * values[(k * ny + j) * nx + i] <= limit))
                    continue;
                if (c->count < MOST_CANDIDATES)
                    c->index[c->count] = index;
                c->first = c->count == 0 || index < c->first ? index : c->first;
                c->count++;
            }
}

/* Of the candidates the first whose energy is the least, to the tolerance of the contract. */
static int64_t choose(const vf_ion_search *search, double charge, const candidates *c, double *energy)
{
    int64_t least = 0, chosen = -1;
    double position[3];
    for (int64_t n = 0; n < c->count; n++) {
        ion_point(&search->grid, c->index[n], position);
        energy[n] = charge * ion_total_potential(search, c->index[n], position);
        least = energy[n] < energy[least] ? n : least;
    }
    ion_point(&search->grid, c->index[least], position);
    const double limit = energy[least] + ion_tolerance(search, c->index[least], position, charge);
    for (int64_t n = 0; n < c->count; n++)
        if (energy[n] <= limit && (chosen < 0 || c->index[n] < chosen))
            chosen = c->index[n];
    return chosen;
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    cell_state *state = search->state;
    vf_status status = state->begun ? VF_OK : begin(search, state);
    if (status != VF_OK)
        return status;
    const int64_t ions = search->sources[ION_IONS].count;
    const double window = EXACT_ERROR * fabs(charge) * state->largest;
    double least = 0;
    candidates c = {0};
    double *energy = malloc(MOST_CANDIDATES * sizeof *energy);
    c.index = malloc(MOST_CANDIDATES * sizeof *c.index);
    status = energy && c.index ? settle(search, state, charge, window, &least)
                               : vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    for (int64_t n = 0; status == VF_OK && n < state->count; n++)
        if (state->cells[n].seen == ions && lower_bound(state, n, charge) <= least + window) {
            const vf_box box = cell_box(search, state, n);
            gather(search, &box, state->cells[n].values, charge, least + window, &c);
        }
    if (status == VF_OK && c.count > 0)
        out->index = c.count == 1 || c.count > MOST_CANDIDATES ? c.first : choose(search, charge, &c, energy);
    free(c.index);
    free(energy);
    return status;
}

static const char *const variants[] = {"cells", NULL};
const vf_ion_search_backend vf_ion_search_cells = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
const vf_ion_search_backend vf_ion_search_cells_cuda = {
    .variants = {VF_DEVICE_CUDA, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
