/* Point charges and boxes of grids, for the tests of sums over charges. */
#ifndef CLOUD_FIXTURE_H
#define CLOUD_FIXTURE_H

#include "coulomb_sum.h"
#include "device_fixture.h"

typedef struct cloud {
    int64_t count;
    double *data; /* x, y, z, charge */
} cloud;

static inline cloud make_cloud(int64_t count)
{
    return (cloud){.count = count, .data = room(4 * count, sizeof(double))};
}

static inline vf_coulomb_atoms charges_of(const cloud *c)
{
    const int64_t n = c->count;
    return (vf_coulomb_atoms){
        .count = n, .x = c->data, .y = c->data + n, .z = c->data + 2 * n, .charge = c->data + 3 * n};
}

static inline vf_box random_box(const vf_grid *g)
{
    vf_box box;
    for (int a = 0; a < 3; a++) {
        box.lo[a] = (int64_t)(uniform() * (double)g->counts[a]);
        box.hi[a] = box.lo[a] + 1 + (int64_t)(uniform() * (double)(g->counts[a] - box.lo[a]));
        box.hi[a] = box.hi[a] < g->counts[a] ? box.hi[a] : g->counts[a];
    }
    return box;
}

/* Of grid point n. */
static inline void position(const vf_grid *g, int64_t n, double r[3])
{
    const int64_t at[3] = {n % g->counts[0], n / g->counts[0] % g->counts[1], n / g->counts[0] / g->counts[1]};
    for (int a = 0; a < 3; a++)
        r[a] = g->origin[a] + g->spacing[a] * (double)at[a];
}

#endif
