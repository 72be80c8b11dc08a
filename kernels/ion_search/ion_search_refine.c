/* Refines a place off the grid in steps; each goes to the best of the 26 neighbours that are allowed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ion_search_internal.h"

/* The sources that can exclude a position within one spacing of the start. */
typedef struct neighbours {
    int64_t count;
    double (*position)[3];
    double *distance;
} neighbours;

static bool gather(const vf_ion_search *search, const double start[3], neighbours *near)
{
    const double *h = search->grid.spacing;
    const double reach = sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * (1 + 1e-12);
    for (int pass = 0; pass < 2; pass++) {
        near->count = 0;
        for (int kind = 0; kind < ION_SOURCES; kind++) {
            const ion_sources *s = &search->sources[kind];
            for (int64_t i = 0; i < s->count; i++) {
                const double squared = ion_distance_squared(start[0] - s->x[i], start[1] - s->y[i], start[2] - s->z[i]);
                if (!ion_too_near(squared, s->distance[i] + reach))
                    continue;
                if (pass == 1) {
                    near->distance[near->count] = s->distance[i];
                    near->position[near->count][0] = s->x[i];
                    near->position[near->count][1] = s->y[i];
                    near->position[near->count][2] = s->z[i];
                }
                near->count++;
            }
        }
        if (pass == 0) {
            near->position = malloc((size_t)(near->count + 1) * sizeof *near->position);
            near->distance = malloc((size_t)(near->count + 1) * sizeof *near->distance);
            if (!near->position || !near->distance)
                return false;
        }
    }
    return true;
}

static bool allowed(const vf_ion_search *search, const neighbours *near, const double start[3], const double p[3])
{
    const vf_grid *g = &search->grid;
    for (int a = 0; a < 3; a++) {
        const double end = g->origin[a] + g->spacing[a] * (double)(g->counts[a] - 1);
        if (p[a] < g->origin[a] || p[a] > end || fabs(p[a] - start[a]) > g->spacing[a])
            return false;
    }
    for (int64_t i = 0; i < near->count; i++) {
        const double *q = near->position[i];
        if (ion_too_near(ion_distance_squared(p[0] - q[0], p[1] - q[1], p[2] - q[2]), near->distance[i]))
            return false;
    }
    return true;
}

typedef struct site {
    double position[3], energy;
} site;

/* Moves to the best of the 26 neighbours at a step, if it is better than the place by more than `tolerance`. Returns
 * whether it moved. */
static bool step(const vf_ion_search *search, const neighbours *near, const double start[3], double charge,
                 double fraction, double tolerance, site *place)
{
    site best = *place;
    for (int n = 0; n < 27; n++) {
        const int way[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        site trial;
        for (int a = 0; a < 3; a++)
            trial.position[a] = place->position[a] + fraction * search->grid.spacing[a] * way[a];
        if (n == 13 || !allowed(search, near, start, trial.position))
            continue;
        trial.energy = charge * ion_total_potential(search, -1, trial.position);
        if (trial.energy < best.energy - tolerance)
            best = trial;
    }
    const bool better = best.energy < place->energy;
    *place = best;
    return better;
}

vf_status vf_ion_search_refine(vf_ion_search *search, double charge, vf_ion_place *place)
{
    const double start[3] = {place->position[0], place->position[1], place->position[2]};
    neighbours near = {0};
    site best;
    vf_status status = VF_OK;
    if (search->options.map_is_exact)
        return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                       "search for ions: a map from a file has no energies between its points");
    if (!gather(search, start, &near))
        status = vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld neighbours", (long long)near.count);
    const double tolerance = status == VF_OK ? ion_tolerance(search, place->index, start, charge) : 0;
    memcpy(best.position, start, sizeof best.position);
    best.energy = status == VF_OK ? charge * ion_total_potential(search, -1, start) : 0;
    for (int halvings = 1; status == VF_OK && halvings <= 6; halvings++)
        while (status == VF_OK && step(search, &near, start, charge, ldexp(1, -halvings), tolerance, &best))
            if (vf_cancelled(search->ctx))
                status = vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
    memcpy(place->position, best.position, sizeof best.position);
    free(near.position);
    free(near.distance);
    return status;
}
