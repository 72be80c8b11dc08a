/* The search by blocks of the grid: bounds say which blocks can hold the least energy, and only those are looked at.
 *
 * A block begins with the extremes of the map over its free points, give or take the map's error. Each ion that is
 * added moves the bounds by what its potential is at the nearest and at the farthest place of the block. To find the
 * least energy, blocks are taken in the order of their lower bounds: their points are summed in double precision
 * (once), get the ions they lack, and have their extremes found, until no other block's bound is below the least that
 * was found. A bound that ions have blurred costs a look at the block, never a wrong place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coulomb_sum_backend.h"
#include "ion_search_internal.h"

/* Errors relative to C sum |q|/r: see ion_search.h; sums of a few roundings a term in double precision; and what
 * energies that are compared exactly may differ by, so that all points within the tolerance of the least are there. */
#define MAP_ERROR (16 * 0x1p-24)
#define EXACT_ERROR 0x1p-39

typedef struct ion_block {
    vf_box box;
    double low, high;   /* bounds of the potential over the free points; low > high: there are none */
    double atoms, ions; /* bounds of C sum |q|/r over the free points */
    double *values;     /* [z][y][x] of the box, in double precision; NULL: not summed yet */
    int64_t applied;    /* ions that are in `values` */
    bool exact;         /* low and high are those of `values`, with all ions and all that is excluded */
} ion_block;

typedef struct block_state {
    bool begun; /* the bounds are there */
    int64_t count;
    ion_block *blocks;
    vf_coulomb *sums; /* the atoms', in double precision */
    vf_queue *queue;
    vf_array scratch; /* on a GPU: a round's sums */
    int64_t *order;   /* [count] of the blocks to look at */
    double largest;   /* of atoms + ions over the blocks */
} block_state;

enum { BLOCK_POINTS = BLOCK_X * BLOCK_Y * BLOCK_Z, ROUND_ON_GPU = 64, PARALLEL_FROM = 1024 };

static const int block_shape[3] = {BLOCK_X, BLOCK_Y, BLOCK_Z};

/* ---- what a block is ---- */

static void place_block(const vf_grid *grid, int64_t number, ion_block *b)
{
    for (int a = 0; a < 3; a++) {
        const int64_t along = (grid->counts[a] - 1) / block_shape[a] + 1;
        b->box.lo[a] = number % along * block_shape[a];
        b->box.hi[a] =
            b->box.lo[a] + block_shape[a] < grid->counts[a] ? b->box.lo[a] + block_shape[a] : grid->counts[a];
        number /= along;
    }
}

static int64_t count_blocks(const vf_grid *grid)
{
    int64_t count = 1;
    for (int a = 0; a < 3; a++)
        count *= (grid->counts[a] - 1) / block_shape[a] + 1;
    return count;
}

/* The block's row (j, k), counted from its first, in the grid's order. */
static int64_t row_start(const vf_grid *grid, const vf_box *box, int64_t j, int64_t k)
{
    return ((box->lo[2] + k) * grid->counts[1] + box->lo[1] + j) * grid->counts[0] + box->lo[0];
}

/* The extremes over the free points, of the block's values or of the map. */
static void look_at(const vf_ion_search *search, ion_block *b)
{
    const int64_t nx = vf_box_extent(&b->box, 0), ny = vf_box_extent(&b->box, 1), nz = vf_box_extent(&b->box, 2);
    b->low = INFINITY;
    b->high = -INFINITY;
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++) {
            const int64_t row = row_start(&search->grid, &b->box, j, k);
            for (int64_t i = 0; i < nx; i++) {
                if (search->mask[row + i] != VF_ION_FREE)
                    continue;
                const double v = b->values ? b->values[(k * ny + j) * nx + i] : ion_map_value(search, row + i);
                b->low = v < b->low ? v : b->low;
                b->high = v > b->high ? v : b->high;
            }
        }
}

/* Bounds of sum |q|/r over each block's free points, which are `d` from any atom at least, from that sum with
 * max(r, d + rho) at its middle, rho half its diagonal: a free point is no nearer to an atom than max(d, r - rho), and
 * max(r, d + rho) / max(d, r - rho) is largest at r = d + rho, (d + rho) / d. */
static vf_status bound_atoms(vf_ion_search *search, block_state *state)
{
    const vf_grid *g = &search->grid;
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_coulomb_options options = search->options.potential;
    const double d = fmax(search->least_distance, options.r_min);
    double squared = 0;
    vf_grid coarse = *g;
    for (int a = 0; a < 3; a++) {
        const double half = 0.5 * (block_shape[a] - 1) * g->spacing[a];
        squared += half * half;
        coarse.origin[a] += half;
        coarse.spacing[a] *= block_shape[a];
        coarse.counts[a] = (g->counts[a] - 1) / block_shape[a] + 1;
    }
    const double ratio = (d + sqrt(squared)) / d, factor = options.distance_dielectric ? ratio * ratio : ratio;
    const vf_box box = vf_grid_box(&coarse);
    vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->magnitude};
    vf_device *host = vf_context_host(search->ctx);
    vf_coulomb *sums = NULL;
    vf_queue *queue = NULL;
    options.scale = 1; /* it is in the sources' charges */
    options.r_min = d + sqrt(squared);
    options.precision = VF_F64;
    options.variant = NULL;
    double *bounds = malloc((size_t)state->count * sizeof *bounds);
    vf_status status = bounds ? vf_coulomb_create(host, &coarse, &atoms, &options, &sums)
                              : vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for bounds");
    if (status == VF_OK)
        status = vf_queue_create(host, &queue);
    if (status == VF_OK)
        status = vf_coulomb_execute(sums, queue, &box, bounds);
    for (int64_t n = 0; status == VF_OK && n < state->count; n++)
        state->blocks[n].atoms = factor * bounds[n] * (1 + 1e-9);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(sums);
    free(bounds);
    return status;
}

static vf_status make_sums(vf_ion_search *search, block_state *state)
{
    const ion_sources *s = &search->sources[ION_ATOMS];
    vf_coulomb_options options = search->options.potential;
    vf_coulomb_atoms atoms = {.count = s->count, .x = s->x, .y = s->y, .z = s->z, .charge = s->charge};
    options.scale = 1; /* it is in the sources' charges */
    options.precision = VF_F64;
    options.variant = NULL;
    vf_status status = vf_queue_create(search->device, &state->queue);
    if (status == VF_OK)
        status = vf_coulomb_create(search->device, &search->grid, &atoms, &options, &state->sums);
    if (status == VF_OK && !vf_device_is_host(search->device))
        status = vf_array_create(search->device, VF_SPACE_DEVICE, VF_F64, (int64_t)ROUND_ON_GPU * BLOCK_POINTS,
                                 &state->scratch);
    return status;
}

static vf_status create(vf_ion_search *search)
{
    const int64_t count = count_blocks(&search->grid);
    block_state *state = calloc(1, sizeof *state);
    search->state = state;
    if (!state)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    state->count = count;
    state->blocks = calloc((size_t)count, sizeof *state->blocks);
    state->order = malloc((size_t)count * sizeof *state->order);
    if (!state->blocks || !state->order)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for %lld blocks", (long long)count);
    for (int64_t n = 0; n < count; n++)
        place_block(&search->grid, n, &state->blocks[n]);
    return search->options.map_is_exact ? VF_OK : make_sums(search, state);
}

static void destroy(vf_ion_search *search)
{
    block_state *state = search->state;
    for (int64_t n = 0; state && state->blocks && n < state->count; n++)
        free(state->blocks[n].values);
    if (state) {
        vf_array_free(&state->scratch);
        vf_queue_destroy(state->queue);
        vf_coulomb_destroy(state->sums);
        free(state->blocks);
        free(state->order);
    }
    free(state);
}

/* ---- bounds ---- */

/* What must be known of all blocks before the first ion: when all is excluded that atoms exclude. */
static vf_status begin(vf_ion_search *search, block_state *state)
{
    const int64_t count = state->count;
    const int threads = vf_context_threads(search->ctx);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < count; n++) {
        ion_block *b = &state->blocks[n];
        look_at(search, b);
        if (search->options.map_is_exact)
            b->atoms = b->low <= b->high ? fmax(fabs(b->low), fabs(b->high)) : 0;
    }
    vf_status status = search->options.map_is_exact ? VF_OK : bound_atoms(search, state);
    state->begun = status == VF_OK;
    for (int64_t n = 0; status == VF_OK && n < count; n++) {
        ion_block *b = &state->blocks[n];
        const double error =
            search->options.map_is_exact || search->options.potential.precision == VF_F64 ? EXACT_ERROR : MAP_ERROR;
        b->low -= error * b->atoms;
        b->high += error * b->atoms;
        state->largest = fmax(state->largest, b->atoms);
    }
    return status;
}

/* Moves a block's bounds for the last ion. */
static void bound_ion(const vf_ion_search *search, const ion_sources *ions, ion_block *b)
{
    const vf_grid *g = &search->grid;
    const vf_coulomb_options *potential = &search->options.potential;
    const int64_t n = ions->count - 1;
    const double centre[3] = {ions->x[n], ions->y[n], ions->z[n]};
    double nearest = 0, farthest = 0;
    for (int a = 0; a < 3; a++) {
        const double lo = g->origin[a] + g->spacing[a] * (double)b->box.lo[a] - centre[a];
        const double hi = g->origin[a] + g->spacing[a] * (double)(b->box.hi[a] - 1) - centre[a];
        const double out = fmax(fmax(lo, -hi), 0), far = fmax(fabs(lo), fabs(hi));
        nearest += out * out;
        farthest += far * far;
    }
    const double least = fmax(ions->distance[n], potential->r_min) * (1 - 1e-12);
    nearest = fmax(sqrt(nearest) * (1 - 1e-12), least);
    farthest = fmax(sqrt(farthest) * (1 + 1e-12), least);
    if (potential->distance_dielectric) {
        nearest *= nearest;
        farthest *= farthest;
    }
    const double q = ions->charge[n];
    b->low += q > 0 ? q / farthest : q / nearest;
    b->high += q > 0 ? q / nearest : q / farthest;
    b->ions += ions->magnitude[n] / nearest;
    b->exact = false;
}

static vf_status add(vf_ion_search *search)
{
    block_state *state = search->state;
    const ion_sources *ions = &search->sources[ION_IONS];
    if (!state->begun) { /* an ion that is there before anything was looked for */
        vf_status status = begin(search, state);
        if (status != VF_OK)
            return status;
    }
    const int threads = vf_context_threads(search->ctx);
    double largest = state->largest;
#pragma omp parallel for schedule(static) reduction(max                                                                \
                                                    : largest)                                                         \
    num_threads(threads) if (state->count > PARALLEL_FROM && threads > 1)
    for (int64_t n = 0; n < state->count; n++) {
        ion_block *b = &state->blocks[n];
        bound_ion(search, ions, b);
        largest = fmax(largest, b->atoms + b->ions);
    }
    state->largest = largest;
    return VF_OK;
}

/* ---- looking at blocks ---- */

/* Adds the ions that the block lacks. */
static void apply_ions(const vf_ion_search *search, ion_block *b)
{
    const ion_sources *ions = &search->sources[ION_IONS];
    const vf_coulomb_options *potential = &search->options.potential;
    double sums[BLOCK_POINTS];
    const int64_t points = vf_box_points(&b->box), first = b->applied;
    coulomb_block block = {
        .atoms = ions->count - first,
        .x = ions->x + first,
        .y = ions->y + first,
        .z = ions->z + first,
        .charge = ions->charge + first,
        .nx = (int)vf_box_extent(&b->box, 0),
        .ny = (int)vf_box_extent(&b->box, 1),
        .nz = (int)vf_box_extent(&b->box, 2),
        .r_min = potential->r_min,
        .distance_dielectric = potential->distance_dielectric,
        .out = sums,
        .stride_y = vf_box_extent(&b->box, 0),
        .stride_z = vf_box_extent(&b->box, 0) * vf_box_extent(&b->box, 1),
    };
    double *const positions[3] = {block.px, block.py, block.pz};
    for (int a = 0; a < 3; a++) {
        block.centre[a] = vf_coulomb_position(&search->grid, a, b->box.lo[a] + block_shape[a] / 2);
        for (int n = 0; n < block_shape[a]; n++)
            positions[a][n] = vf_coulomb_position(&search->grid, a, b->box.lo[a] + n) - block.centre[a];
    }
    search->simd->f64(&block);
    for (int64_t i = 0; i < points; i++)
        b->values[i] += sums[i];
    b->applied = ions->count;
}

static void copy_map(const vf_ion_search *search, ion_block *b)
{
    const int64_t nx = vf_box_extent(&b->box, 0), ny = vf_box_extent(&b->box, 1), nz = vf_box_extent(&b->box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++)
                b->values[(k * ny + j) * nx + i] = ion_map_value(search, row_start(&search->grid, &b->box, j, k) + i);
}

/* On a GPU: puts the sums of a block into the queue, to its place in the scratch memory, and the copy back. */
static vf_status sum_on_gpu(const block_state *state, ion_block *b, int64_t place)
{
    double *at = (double *)state->scratch.data + place * BLOCK_POINTS;
    vf_status status = vf_coulomb_execute(state->sums, state->queue, &b->box, at);
    return status == VF_OK
               ? vf_queue_copy(state->queue, b->values, at, (size_t)vf_box_points(&b->box) * sizeof *b->values)
               : status;
}

/* Makes the values of the blocks order[0], ..., order[count - 1] exact. */
static vf_status make_exact(vf_ion_search *search, block_state *state, int64_t count)
{
    const bool host = vf_device_is_host(search->device), map = search->options.map_is_exact;
    const int threads = vf_context_threads(search->ctx);
    vf_status status = VF_OK;
    bool *new = calloc((size_t)count, sizeof *new);
    if (!new)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    for (int64_t n = 0; status == VF_OK && n < count; n++) {
        ion_block *b = &state->blocks[state->order[n]];
        new[n] = !b->values;
        if (new[n]) {
            b->values = malloc((size_t)vf_box_points(&b->box) * sizeof *b->values);
            if (!b->values)
                status = vf_fail(search->ctx, VF_ERR_MEMORY,
                                 "no memory for another block of the search for ions; use a larger --spacing");
        }
        if (status == VF_OK && new[n] && !map && !host)
            status = sum_on_gpu(state, b, n);
    }
    if (status == VF_OK && !map && !host)
        status = vf_queue_sync(state->queue);
    int failed = status != VF_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(| : failed) num_threads(threads) if (count > 1 && threads > 1)
    for (int64_t n = 0; n < count; n++) {
        ion_block *b = &state->blocks[state->order[n]];
        if (failed || vf_cancelled(search->ctx))
            continue;
        if (new[n] && map)
            copy_map(search, b);
        else if (new[n] && host)
            failed |= vf_coulomb_execute(state->sums, state->queue, &b->box, b->values) != VF_OK;
        if (b->applied < search->sources[ION_IONS].count)
            apply_ions(search, b);
        look_at(search, b);
        b->exact = true;
    }
    free(new);
    if (status == VF_OK && failed)
        status = vf_context_status(search->ctx);
    return status == VF_OK && vf_cancelled(search->ctx) ? vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted")
                                                        : status;
}

/* ---- the search ---- */

/* The least energy that the block can have. */
static double lower_bound(const ion_block *b, double charge)
{
    return b->low > b->high ? INFINITY : charge * (charge > 0 ? b->low : b->high);
}

/* Moves the `count` blocks of least bounds to the front of order[0], ..., order[all - 1]: as many rounds of a
 * selection. */
static void select_least(block_state *state, double charge, int64_t all, int64_t count)
{
    for (int64_t n = 0; n < count; n++) {
        int64_t least = n;
        for (int64_t m = n + 1; m < all; m++)
            if (lower_bound(&state->blocks[state->order[m]], charge) <
                lower_bound(&state->blocks[state->order[least]], charge))
                least = m;
        const int64_t block = state->order[least];
        state->order[least] = state->order[n];
        state->order[n] = block;
    }
}

/* Looks at blocks until no bound is below the least energy that was found, which is returned in *least. */
static vf_status settle(vf_ion_search *search, block_state *state, double charge, double window, double *least)
{
    const int64_t most = vf_device_is_host(search->device) ? vf_context_threads(search->ctx) : ROUND_ON_GPU;
    for (;;) {
        int64_t waiting = 0;
        *least = INFINITY;
        for (int64_t n = 0; n < state->count; n++)
            if (state->blocks[n].exact)
                *least = fmin(*least, lower_bound(&state->blocks[n], charge));
        for (int64_t n = 0; n < state->count; n++) {
            const ion_block *b = &state->blocks[n];
            const double bound = lower_bound(b, charge);
            if (!b->exact && bound < INFINITY && bound - window <= *least + window)
                state->order[waiting++] = n;
        }
        if (waiting == 0)
            return VF_OK;
        const int64_t count = waiting < most ? waiting : most;
        select_least(state, charge, waiting, count);
        vf_status status = make_exact(search, state, count);
        if (status != VF_OK)
            return status;
    }
}

/* The free points whose energies are so near the least that only exact sums tell. */
typedef struct candidates {
    int64_t count, first; /* first: the least index */
    int64_t *index;       /* [min(count, MOST_CANDIDATES)] */
} candidates;

/* More only where a map is flat, as without charges: there all points are equal. */
enum { MOST_CANDIDATES = 1 << 14 };

static void gather(const vf_ion_search *search, const ion_block *b, double charge, double limit, candidates *c)
{
    const int64_t nx = vf_box_extent(&b->box, 0), ny = vf_box_extent(&b->box, 1), nz = vf_box_extent(&b->box, 2);
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++) {
                const int64_t index = row_start(&search->grid, &b->box, j, k) + i;
                if (search->mask[index] != VF_ION_FREE || !(charge * b->values[(k * ny + j) * nx + i] <= limit))
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
    block_state *state = search->state;
    vf_status status = state->begun ? VF_OK : begin(search, state);
    if (status != VF_OK)
        return status;
    const double window = EXACT_ERROR * fabs(charge) * state->largest;
    double least = 0;
    candidates c = {0};
    double *energy = malloc(MOST_CANDIDATES * sizeof *energy);
    c.index = malloc(MOST_CANDIDATES * sizeof *c.index);
    status = energy && c.index ? settle(search, state, charge, window, &least)
                               : vf_fail(search->ctx, VF_ERR_MEMORY, "no memory for a search");
    for (int64_t n = 0; status == VF_OK && n < state->count; n++) {
        const ion_block *b = &state->blocks[n];
        if (b->exact && lower_bound(b, charge) <= least + window)
            gather(search, b, charge, least + window, &c);
    }
    if (status == VF_OK && c.count > 0)
        out->index = c.count == 1 || c.count > MOST_CANDIDATES ? c.first : choose(search, charge, &c, energy);
    free(c.index);
    free(energy);
    return status;
}

static const char *const variants[] = {"blocks", NULL};
const vf_ion_search_backend vf_ion_search_blocks = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
const vf_ion_search_backend vf_ion_search_blocks_cuda = {
    .variants = {VF_DEVICE_CUDA, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
