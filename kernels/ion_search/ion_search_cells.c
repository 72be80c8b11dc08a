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

#include "coulomb_sum_backend.h"
#include "ion_search_cells.h"

/* Cells that are looked at before the least energy so far is looked at again, at least, for each thread. */
enum { ROUND = 16 };

static vf_status create(vf_ion_search *search)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_device *host = vf_context_host(search->ctx);
    cell_state *state = calloc(1, sizeof *state);
    search->state = state;
    if (!state)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    state->grid = ion_cells_of(&search->grid);
    const size_t n = (size_t)state->grid.count;
    state->cells = calloc(n, sizeof *state->cells);
    state->bounds = calloc(n, sizeof *state->bounds);
    state->heap = malloc(n * sizeof *state->heap);
    if (!state->cells || !state->bounds || !state->heap)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for %lld cells", (long long)state->grid.count);
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
    for (int64_t n = 0; state->cells && n < state->grid.count; n++)
        free(state->cells[n].values);
    vf_queue_destroy(state->queue);
    vf_coulomb_destroy(state->sums);
    free(state->cells);
    free(state->bounds);
    free(state->heap);
    free(state);
}

static vf_status add(vf_ion_search *search)
{
    cell_state *state = search->state;
    if (!state->begun) { /* an ion before anything was looked for: what it excludes is excluded for the bounds, too */
        vf_status status = ion_cells_begin(search, state);
        if (status != VF_OK)
            return status;
    }
    ion_cells_add(search, state);
    return VF_OK;
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
    num_threads(threads) if (state->grid.count > PARALLEL_FROM && threads > 1)
    for (int64_t n = 0; n < state->grid.count; n++)
        top = fmin(top, upper_bound(state, n, charge));
    *least = top;
#pragma omp parallel for schedule(static) num_threads(threads) if (state->grid.count > PARALLEL_FROM && threads > 1)
    for (int64_t n = 0; n < state->grid.count; n++) {
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
            failed |= ion_cell_visit(search, state, round[n]) != VF_OK;
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

static void gather(const vf_ion_search *search, const vf_box *box, const double *values, double charge, double limit,
                   ion_candidates *c)
{
    const int64_t nx = vf_box_extent(box, 0), ny = vf_box_extent(box, 1), nz = vf_box_extent(box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++) {
                const int64_t index = ion_row_start(&search->grid, box, j, k) + i;
                if (search->mask[index] != VF_ION_FREE || !(charge * values[(k * ny + j) * nx + i] <= limit))
                    continue;
                if (c->count < MOST_CANDIDATES)
                    c->index[c->count] = index;
                c->first = c->count == 0 || index < c->first ? index : c->first;
                c->count++;
            }
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    cell_state *state = search->state;
    vf_status status = state->begun ? VF_OK : ion_cells_begin(search, state);
    if (status != VF_OK)
        return status;
    const int64_t ions = search->sources[ION_IONS].count;
    const double window = EXACT_ERROR * fabs(charge) * state->largest;
    double least = 0;
    ion_candidates *c = malloc(sizeof *c);
    if (!c)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    c->count = 0;
    status = settle(search, state, charge, window, &least);
    for (int64_t n = 0; status == VF_OK && n < state->grid.count; n++)
        if (state->cells[n].seen == ions && lower_bound(state, n, charge) <= least + window) {
            const vf_box box = ion_cell_box(&search->grid, &state->grid, n);
            gather(search, &box, state->cells[n].values, charge, least + window, c);
        }
    if (status == VF_OK && c->count > 0)
        status = ion_choose(search, charge, c, &out->index);
    free(c);
    return status;
}

static const char *const variants[] = {"cells", NULL};
const vf_ion_search_backend vf_ion_search_cells = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
