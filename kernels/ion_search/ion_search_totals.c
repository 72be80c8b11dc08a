/* The search with pair potentials other than Coulomb's law in free space: the potential of all points in double precision, and an ion's
 * added to all of them, by all threads. The arithmetic of a point is that of the reference. */
#include <math.h>
#include <stdlib.h>

#include "ion_search_internal.h"
#include "voxfield/team_size.h"

typedef struct totals_state {
    double *potential; /* [z][y][x] */
    double *least;     /* [z] of the layers, for find */
} totals_state;

/* Nanoseconds of one value of a pair potential. */
enum { PAIR_WORK = 15 };

static vf_status create(vf_ion_search *search)
{
    const int64_t points = vf_grid_points(&search->grid);
    const bool exact = search->options.map_is_exact;
    totals_state *s = calloc(1, sizeof *s);
    search->state = s;
    if (s) {
        s->potential = malloc((size_t)points * sizeof *s->potential);
        s->least = malloc((size_t)search->grid.counts[2] * sizeof *s->least);
    }
    if (!s || !s->potential || !s->least)
        return vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld points", (long long)points);
#pragma omp parallel for schedule(static)                                                                              \
    num_threads(vf_threads_for(search->ctx, points *(exact ? 1 : PAIR_WORK * search->sources[ION_ATOMS].count)))
    for (int64_t i = 0; i < points; i++) {
        double at[3];
        ion_point(&search->grid, i, at);
        s->potential[i] = exact ? ion_map_value(search, i) : ion_potential(search, ION_ATOMS, at, false);
    }
    search->totals = s->potential;
    return VF_OK;
}

static double energy_at(const vf_ion_search *search, const totals_state *s, double charge, int64_t i)
{
    return search->mask[i] == VF_ION_FREE ? charge * s->potential[i] : INFINITY;
}

/* The first point whose energy is at most `limit`, by the least of the layers. */
static int64_t first_below(const vf_ion_search *search, const totals_state *s, double charge, double limit)
{
    const int64_t layers = search->grid.counts[2], layer = search->grid.counts[0] * search->grid.counts[1];
    for (int64_t k = 0; k < layers; k++)
        for (int64_t i = k * layer; s->least[k] <= limit && i < (k + 1) * layer; i++)
            if (energy_at(search, s, charge, i) <= limit)
                return i;
    return -1;
}

static vf_status find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    const totals_state *s = search->state;
    const int64_t layers = search->grid.counts[2], layer = search->grid.counts[0] * search->grid.counts[1];
    double least = INFINITY, position[3];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, 2 * layers * layer))
    for (int64_t k = 0; k < layers; k++) {
        double lowest = INFINITY;
        for (int64_t i = k * layer; i < (k + 1) * layer; i++) {
            const double energy = energy_at(search, s, charge, i);
            lowest = energy < lowest ? energy : lowest;
        }
        s->least[k] = lowest;
    }
    for (int64_t k = 0; k < layers; k++)
        least = s->least[k] < least ? s->least[k] : least;
    const int64_t at = first_below(search, s, charge, least);
    if (at < 0)
        return VF_OK;
    ion_point(&search->grid, at, position);
    out->index = first_below(search, s, charge, least + ion_tolerance(search, at, position, charge));
    return VF_OK;
}

static vf_status add(vf_ion_search *search)
{
    const totals_state *s = search->state;
    const ion_sources *ions = &search->sources[ION_IONS];
    const vf_grid *grid = &search->grid;
    const int64_t nx = grid->counts[0], rows = grid->counts[1] * grid->counts[2], n = ions->count - 1;
    vf_pair_potential pair = search->pair;
    pair.scale = ions->charge[n]; /* C is included */
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(search->ctx, PAIR_WORK *nx *rows))
    for (int64_t row = 0; row < rows; row++) {
        double at[3], *to = s->potential + row * nx;
        ion_point(grid, row * nx, at);
        const double y = at[1] - ions->y[n], z = at[2] - ions->z[n];
        for (int64_t i = 0; i < nx; i++) {
            const double d[3] = {grid->origin[0] + grid->spacing[0] * (double)i - ions->x[n], y, z};
            to[i] += vf_pair_value(&pair, d);
        }
    }
    return VF_OK;
}

static void destroy(vf_ion_search *search)
{
    totals_state *s = search->state;
    if (s) {
        free(s->potential);
        free(s->least);
    }
    free(s);
}

static const char *const variants[] = {"totals", NULL};
const vf_ion_search_backend vf_ion_search_kept = {
    .variants = {VF_DEVICE_CPU, variants}, .create = create, .find = find, .add = add, .destroy = destroy};
