/* The reference for the test of the search for ions' places: random problems, and an independent search that sums
 * every point in long double. */
#ifndef ION_SEARCH_FIXTURE_H
#define ION_SEARCH_FIXTURE_H

#include <math.h>

#include "device_fixture.h"
#include "free_all.h"
#include "ion_search.h"

typedef struct problem {
    vf_grid grid;
    int64_t points, atoms;
    double *data; /* x, y, z, charge, distance */
    bool about;   /* atoms exclude as places that are not known to be atoms */
    vf_ion_search_options options;
    void *map; /* in options.precision */
} problem;

static inline vf_coulomb_atoms atoms_of(const problem *p)
{
    const int64_t n = p->atoms;
    return (vf_coulomb_atoms){
        .count = n, .x = p->data, .y = p->data + n, .z = p->data + 2 * n, .charge = p->data + 3 * n};
}

static inline const double *distances(const problem *p)
{
    return p->data + 4 * p->atoms;
}

static inline void point(const vf_grid *g, int64_t index, double position[3])
{
    for (int a = 0; a < 3; a++) {
        position[a] = g->origin[a] + g->spacing[a] * (double)(index % g->counts[a]);
        index /= g->counts[a];
    }
}

static inline void *compute_map(const problem *p)
{
    vf_device *host = vf_context_host(ctx);
    vf_coulomb *sums = NULL;
    vf_queue *queue = NULL;
    const vf_coulomb_atoms atoms = atoms_of(p);
    const vf_box box = vf_grid_box(&p->grid);
    void *map = malloc((size_t)p->points * vf_dtype_bytes(p->options.precision));
    assert_non_null(map);
    const vf_pair_potential *pair = &p->options.pair;
    const vf_coulomb_options options = {.scale = pair->scale,
                                        .r_min = pair->r_min,
                                        .distance_dielectric = pair->law == VF_PAIR_DISTANCE_DIELECTRIC,
                                        .precision = p->options.precision};
    assert_int_equal(vf_coulomb_create(host, &p->grid, &atoms, &options, &sums), VF_OK);
    assert_int_equal(vf_queue_create(host, &queue), VF_OK);
    assert_int_equal(vf_coulomb_execute(sums, queue, &box, map), VF_OK);
    vf_queue_destroy(queue);
    vf_coulomb_destroy(sums);
    return map;
}

static inline problem make_problem(int64_t atoms, const int64_t counts[3], double distance, vf_dtype precision,
                                   bool square)
{
    problem p = {.atoms = atoms, .points = counts[0] * counts[1] * counts[2]};
    for (int a = 0; a < 3; a++) {
        p.grid.counts[a] = counts[a];
        p.grid.spacing[a] = 0.3 + 0.4 * uniform();
        p.grid.origin[a] = 20 * (uniform() - 0.5);
    }
    p.data = calloc((size_t)atoms * 5 + 1, sizeof(double));
    assert_non_null(p.data);
    for (int64_t i = 0; i < atoms; i++) {
        for (int a = 0; a < 3; a++)
            p.data[a * atoms + i] = p.grid.origin[a] + p.grid.spacing[a] * (double)counts[a] * (0.25 + 0.5 * uniform());
        p.data[3 * atoms + i] = 2 * uniform() - 1;
        p.data[4 * atoms + i] = distance * (0.5 + uniform());
    }
    p.options.pair = (vf_pair_potential){
        .law = square ? VF_PAIR_DISTANCE_DIELECTRIC : VF_PAIR_COULOMB, .scale = 560.459322, .r_min = 0.1};
    p.options.precision = precision;
    p.map = compute_map(&p);
    return p;
}

static inline void free_problem(problem *p)
{
    free(p->data);
    free(p->map);
}

/* Atoms [first, first + count) exclude as places that are not known to be atoms. */
static inline vf_status exclude_about(vf_ion_search *search, const problem *p, int64_t first, int64_t count)
{
    const int64_t n = p->atoms;
    double *const position[3] = {p->data + first, p->data + n + first, p->data + 2 * n + first};
    return vf_ion_search_exclude_about(search, count, position, p->data + 4 * n + first);
}

static inline vf_ion_search *make_search(const problem *p, const char *variant)
{
    vf_ion_search *search = NULL;
    vf_ion_search_options options = p->options;
    const vf_coulomb_atoms atoms = atoms_of(p);
    options.variant = variant;
    vf_status status = vf_ion_search_create(device, &p->grid, &atoms, p->map, &options, &search);
    if (status == VF_OK)
        status = p->about ? exclude_about(search, p, 0, p->atoms) : vf_ion_search_exclude(search, distances(p));
    if (status != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    return search;
}

/* ---- brute force ---- */

typedef struct brute {
    const problem *problem;
    long double *potential, *magnitude;
    uint8_t *mask;
    int64_t free;
} brute;

/* An artificial pair potential: 1 / (1 + x^2 + 2 y^2 + 3 z^2), with the weights as its state. */
static const double weights[3] = {1, 2, 3};
static inline double uneven(const void *state, const double d[3])
{
    const double *w = state;
    return 1 / (1 + w[0] * d[0] * d[0] + w[1] * d[1] * d[1] + w[2] * d[2] * d[2]);
}

static inline long double inverse(const problem *p, const double at[3], const double from[3])
{
    long double squared = 0;
    if (p->options.pair.law == VF_PAIR_FUNCTION) {
        for (int a = 0; a < 3; a++)
            squared += weights[a] * ((long double)at[a] - from[a]) * ((long double)at[a] - from[a]);
        return (long double)p->options.pair.scale / (1 + squared);
    }
    for (int a = 0; a < 3; a++)
        squared += ((long double)at[a] - from[a]) * ((long double)at[a] - from[a]);
    const vf_pair_potential *pair = &p->options.pair;
    const long double r = fmaxl(sqrtl(squared), pair->r_min);
    if (pair->law == VF_PAIR_SCREENED)
        return (long double)pair->scale * expl(-(long double)pair->kappa * r) / r;
    return (long double)pair->scale / (pair->law == VF_PAIR_DISTANCE_DIELECTRIC ? r * r : r);
}

static inline bool too_near(const double at[3], const double from[3], double distance)
{
    const double dx = at[0] - from[0], dy = at[1] - from[1], dz = at[2] - from[2];
    return dx * dx + (dy * dy + dz * dz) < distance * distance;
}

static inline brute make_brute(const problem *p)
{
    brute b = {.problem = p};
    b.potential = calloc((size_t)p->points, sizeof *b.potential);
    b.magnitude = calloc((size_t)p->points, sizeof *b.magnitude);
    b.mask = calloc((size_t)p->points, 1);
    assert_true(b.potential && b.magnitude && b.mask);
    for (int64_t i = 0; i < p->points; i++) {
        double at[3];
        point(&p->grid, i, at);
        for (int64_t n = 0; n < p->atoms; n++) {
            const double from[3] = {p->data[n], p->data[p->atoms + n], p->data[2 * p->atoms + n]};
            const double q = p->data[3 * p->atoms + n];
            b.potential[i] += q * inverse(p, at, from);
            b.magnitude[i] += fabs(q) * inverse(p, at, from);
            if (too_near(at, from, distances(p)[n]))
                b.mask[i] = VF_ION_SOLUTE;
        }
        b.free += b.mask[i] == VF_ION_FREE;
    }
    return b;
}

static inline int64_t brute_find(const brute *b, double charge)
{
    int64_t least = -1;
    for (int64_t i = 0; i < b->problem->points; i++)
        if (b->mask[i] == VF_ION_FREE && (least < 0 || charge * b->potential[i] < charge * b->potential[least]))
            least = i;
    if (least < 0)
        return -1;
    const long double limit = charge * b->potential[least] + 0x1p-40L * fabs(charge) * b->magnitude[least];
    for (int64_t i = 0; i <= least; i++)
        if (b->mask[i] == VF_ION_FREE && charge * b->potential[i] <= limit)
            return i;
    return least;
}

static inline void brute_add(brute *b, const double from[3], double charge, double distance)
{
    for (int64_t i = 0; i < b->problem->points; i++) {
        double at[3];
        point(&b->problem->grid, i, at);
        b->potential[i] += charge * inverse(b->problem, at, from);
        b->magnitude[i] += fabs(charge) * inverse(b->problem, at, from);
        if (b->mask[i] == VF_ION_FREE && (too_near(at, from, distance) || memcmp(at, from, sizeof at) == 0)) {
            b->mask[i] = VF_ION_ION;
            b->free--;
        }
    }
}

static inline void free_brute(brute *b)
{
    FREE_ALL(b->potential, b->magnitude, b->mask);
}

#endif
