/* The search by cells of the grid. Bounds show which cells can contain the lowest energy; only those are visited.
 *
 * Cells are the leaves of a tree of nodes. Four cells make a cube, eight cubes a larger one, and so on up to a root for
 * the whole grid. Each node has a lower and an upper bound of the potential over its free points. The bounds start as
 * the map's minimum and maximum, less and plus its error. Ions that are added later contribute their potential at the
 * node's middle, its gradient there, and a bound of the rest, by Taylor's theorem. Within rho of the middle, and no
 * nearer to the ion than d, the second derivative of 1/r along any line is between -1/d^3 and 2/d^3. So the rest is
 * between -1/2 and 1 times rho^2/d^3. For 1/r^2 it is between -1 and 3 times rho^2/d^4. An ion close to the node
 * contributes the middle of the range of its potential, and half of the range as the error.
 *
 * To find the lowest energy, nodes are taken in the order of their lower bounds, until no bound is below the lowest
 * energy found. A node is opened: its parts get the ions that they do not know yet, and wait in its place. Most parts
 * are never opened: the bounds of larger nodes cover them, and an ion costs them nothing. A cell is visited: it gets
 * the values of the map and the ions that it lacks, and its minimum and maximum are computed. If several points may
 * have the lowest energy to within the map's error, they are summed in double precision. If they are many, whole cells
 * are summed, once. Bounds that many ions have loosened cost visits, but never give a wrong place.
 */
#include <math.h>
#include <stdlib.h>

#include "ion_search_cells.h"

#include "voxfield/team_size.h"

/* Most nodes per thread between two checks of the lowest energy. */
enum { ROUND = 16 };

/* Pairs of an ion and a point or node. A round with fewer runs on one thread: on a busy machine, waking others may take
 * longer than the round. */
enum { PARALLEL_FROM = 1 << 18 };

/* Up to this many points are summed one by one; with more, their cells are summed first. */
enum { FEW = 16 };

static vf_status create(vf_ion_search *search)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_device *host = vf_context_host(search->ctx);
    cell_state *state = calloc(1, sizeof *state);
    search->state = state;
    if (!state)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for a search");
    state->isa = vf_cpu_isa();
    state->grid = ion_cells_of(&search->grid);
    const size_t n = (size_t)state->grid.count;
    state->count = ion_cells_levels(&search->grid, state);
    state->cells = calloc(n, sizeof *state->cells);
    state->nodes = calloc((size_t)state->count, sizeof *state->nodes);
    state->heap = malloc((size_t)state->count * sizeof *state->heap);
    if (!state->cells || !state->nodes || !state->heap)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld cells", (long long)state->grid.count);
    if (search->options.map_is_exact)
        return VF_OK;
    vf_coulomb_options options = search->options.potential;
    const vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->charge};
    options.scale = 1; /* C is in the sources' charges */
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
    free(state->nodes);
    free(state->heap);
    free(state);
}

/* Nothing to do: bounds include a new ion when they are needed. */
static vf_status add(vf_ion_search *search)
{
    (void)search;
    return VF_OK;
}

/* ---- the heap ---- */

static void push(cell_state *state, double charge, const level *l, int64_t number)
{
    const node *n = &state->nodes[number];
    waiting *heap = state->heap;
    if (n->low > n->high)
        return;
    const double bound = charge * (charge > 0 ? ion_node_low(l, n) : ion_node_high(l, n));
    int64_t at = state->waits++;
    for (; at > 0 && bound < heap[(at - 1) / 2].bound; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = (waiting){bound, number};
}

static int64_t pop(cell_state *state)
{
    waiting *heap = state->heap;
    const int64_t first = heap[0].number, count = --state->waits;
    const waiting moving = heap[count];
    int64_t at = 0;
    for (int64_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1].bound < heap[child].bound;
        if (!(heap[child].bound < moving.bound))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
    return first;
}

/* ---- the search ---- */

/* What is known of the lowest energy during the search. */
typedef struct search_for {
    double charge;
    bool exactly;  /* sum the atoms of cells in double precision */
    double least;  /* upper bound of the lowest energy */
    double window; /* equal energies differ by no more than this */
} search_for;

/* Uses the result of a node that was opened or visited. */
static void take(cell_state *state, int64_t number, search_for *f)
{
    if (number < state->grid.count) {
        const node *b = &state->nodes[number];
        const double twice = 2 * ion_cell_error(state, number);
        state->visited++;
        state->heap[state->count - state->visited].number = number;
        if (b->low > b->high)
            return;
        f->least = fmin(f->least, f->charge * (f->charge > 0 ? b->low + twice : b->high - twice));
        f->window = fmax(f->window, EXACT_ERROR * fabs(f->charge) * b->magnitude);
        return;
    }
    const level *l;
    const vf_box box = ion_node_parts(state, number, &l);
    for (int64_t k = box.lo[2]; k < box.hi[2]; k++)
        for (int64_t j = box.lo[1]; j < box.hi[1]; j++)
            for (int64_t i = box.lo[0]; i < box.hi[0]; i++)
                push(state, f->charge, l, ion_node_number(l, i, j, k));
}

/* The number of pairs to sum when a node is taken. */
static int64_t work(const vf_ion_search *search, const cell_state *state, int64_t number, bool exactly)
{
    enum { PARTS = 8 };
    const int64_t lacks = search->sources[ION_IONS].count - state->nodes[number].settled;
    if (number >= state->grid.count)
        return lacks * PARTS;
    return CELL_POINTS * (lacks + (exactly && !state->cells[number].summed ? search->sources[ION_ATOMS].count : 0));
}

/* Takes waiting nodes until no bound is below the lowest energy. One thread takes one node at a time. Several threads
 * start with one, and take more in each round. */
static vf_status settle(vf_ion_search *search, cell_state *state, search_for *f)
{
    enum { MOST = 4096 };
    const int threads = vf_context_threads(search->ctx);
    const int most = threads == 1 ? 1 : threads * ROUND < MOST ? threads * ROUND : MOST;
    int64_t round[MOST];
    for (int limit = 1;; limit = 2 * limit < most ? 2 * limit : most) {
        int count = 0, failed = 0;
        int64_t pairs = 0;
        while (state->waits > 0 && count < limit && state->heap[0].bound <= f->least + f->window) {
            round[count] = pop(state);
            pairs += work(search, state, round[count++], f->exactly);
        }
        if (count == 0)
            return VF_OK;
        const int64_t work = pairs > PARALLEL_FROM ? pairs : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_for(search->ctx, work)) reduction(| : failed)
        for (int n = 0; n < count; n++)
            if (round[n] < state->grid.count)
                failed |= ion_cell_visit(search, state, round[n], f->exactly) != VF_OK;
            else
                ion_node_open(search, state, round[n]);
        if (failed)
            return vf_context_status(search->ctx);
        if (vf_cancelled(search->ctx))
            return vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
        for (int n = 0; n < count; n++)
            take(state, round[n], f);
    }
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

/* Gathers the points of visited cells whose energies may be the lowest. */
static void gather_all(const vf_ion_search *search, const cell_state *state, const search_for *f, ion_candidates *c)
{
    c->count = 0;
    for (int64_t v = 1; v <= state->visited; v++) {
        const int64_t number = state->heap[state->count - v].number;
        const vf_box box = ion_cell_box(&search->grid, &state->grid, number);
        const double error = fabs(f->charge) * ion_cell_error(state, number);
        gather(search, &box, state->cells[number].values, f->charge, f->least + f->window + error, c);
    }
}

/* Finds the points that may have the lowest energy to within the map's error, or, if `exactly`, that of exact sums. */
static vf_status look(vf_ion_search *search, cell_state *state, double charge, bool exactly, ion_candidates *c)
{
    search_for f = {charge, exactly, INFINITY, 0};
    const int64_t again = exactly ? state->visited : 0, root = state->count - 1;
    state->waits = state->visited = 0;
    /* The visited cells wait again. Each is read before its place in the heap is overwritten. */
    for (int64_t v = again; v > 0; v--)
        push(state, charge, state->level, state->heap[state->count - v].number);
    if (!exactly) {
        ion_node_update(search, state, root);
        push(state, charge, &state->level[state->levels - 1], root);
    }
    vf_status status = settle(search, state, &f);
    if (status == VF_OK)
        gather_all(search, state, &f, c);
    return status;
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    cell_state *state = search->state;
    vf_status status = state->begun ? VF_OK : ion_cells_begin(search, state);
    if (status != VF_OK)
        return status;
    ion_candidates *c = malloc(sizeof *c);
    if (!c)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for a search");
    status = look(search, state, charge, false, c);
    if (status == VF_OK && c->count > FEW)
        status = look(search, state, charge, true, c);
    if (status == VF_OK && c->count > 0)
        status = ion_choose(search, charge, c, &out->index);
    free(c);
    return status;
}

static const char *const variants[] = {"cells", NULL};
const vf_ion_search_backend vf_ion_search_cells = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
