/* Refines a place off the grid in steps; each goes to the best of the 26 neighbours that are allowed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_sum.h"
#include "ion_search_internal.h"

/* Expected points of an Ewald field, some 200 for each ion; its accuracy, relative to the rms potential. */
enum { EXPECTED_POINTS = 20000 };
static const double field_tolerance = 1e-12;

/* The sources that can exclude a position within one spacing of the start, or their images. */
typedef struct neighbours {
    const double *start;
    double reach, own;     /* of the source that is looked at */
    int64_t count, room;   /* only counted without room */
    double (*position)[3]; /* [room] */
    double *distance;
} neighbours;

static void take_neighbour(void *user, const double image[3])
{
    neighbours *near = user;
    const double *r = near->start;
    if (!ion_too_near(ion_distance_squared(r[0] - image[0], r[1] - image[1], r[2] - image[2]), near->own + near->reach))
        return;
    if (near->count < near->room) {
        near->distance[near->count] = near->own;
        memcpy(near->position[near->count], image, sizeof near->position[0]);
    }
    near->count++;
}

static bool gather(const vf_ion_search *search, neighbours *near)
{
    const double *h = search->grid.spacing;
    near->reach = sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * (1 + 1e-12);
    for (int pass = 0; pass < 2; pass++) {
        near->count = 0;
        for (int kind = 0; kind < ION_SOURCES; kind++) {
            const ion_sources *s = &search->sources[kind];
            for (int64_t i = 0; i < s->count; i++) {
                near->own = s->distance[i];
                ion_images(search, (double[3]){s->x[i], s->y[i], s->z[i]}, near->own + near->reach, take_neighbour,
                           near);
            }
        }
        if (pass == 0) {
            near->room = near->count;
            near->position = malloc((size_t)(near->count + 1) * sizeof *near->position);
            near->distance = malloc((size_t)(near->count + 1) * sizeof *near->distance);
            if (!near->position || !near->distance)
                return false;
        }
    }
    return true;
}

static bool allowed(const vf_ion_search *search, const neighbours *near, const double p[3])
{
    const vf_grid *g = &search->grid;
    const bool bounded = search->pair.law != VF_PAIR_PERIODIC;
    for (int a = 0; a < 3; a++) {
        const double end = g->origin[a] + g->spacing[a] * (double)(g->counts[a] - 1);
        if ((bounded && (p[a] < g->origin[a] || p[a] > end)) || fabs(p[a] - near->start[a]) > g->spacing[a])
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

/* The potential of atoms and ions at positions. */
static vf_status potentials(const vf_ion_search *search, int64_t count, const double (*position)[3], double *out)
{
    if (search->field)
        return vf_ewald_field_values(search->field, count, position[0], out);
    for (int64_t i = 0; i < count; i++)
        out[i] = ion_total_potential(search, -1, position[i]);
    return VF_OK;
}

/* Moves to the best of the 26 neighbours at a step, if it is better than the place by more than `tolerance`. *moved:
 * whether it did. */
static vf_status step(const vf_ion_search *search, const neighbours *near, double charge, double fraction,
                      double tolerance, site *place, bool *moved)
{
    double trial[27][3], potential[27];
    int64_t trials = 0, best = -1;
    for (int n = 0; n < 27; n++) {
        const int way[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        for (int a = 0; a < 3; a++)
            trial[trials][a] = place->position[a] + fraction * search->grid.spacing[a] * way[a];
        trials += n != 13 && allowed(search, near, trial[trials]);
    }
    const vf_status status = potentials(search, trials, (const double(*)[3])trial, potential);
    double least = place->energy;
    for (int64_t n = 0; status == VF_OK && n < trials; n++)
        if (charge * potential[n] < least - tolerance) {
            least = charge * potential[n];
            best = n;
        }
    *moved = best >= 0;
    if (*moved) {
        memcpy(place->position, trial[best], sizeof place->position);
        place->energy = least;
    }
    return status;
}

/* In a periodic cell, the first call makes the field of all sources so far, unless there is a function for it. */
static vf_status make_field(vf_ion_search *search)
{
    const ion_sources *atoms = &search->sources[ION_ATOMS], *ions = &search->sources[ION_IONS];
    const vf_coulomb_atoms charges = {atoms->count, atoms->x, atoms->y, atoms->z, atoms->charge}; /* with C */
    const vf_ewald_options options = {.scale = 1, .r_min = search->pair.r_min, .tolerance = field_tolerance};
    if (search->field || search->pair.law != VF_PAIR_PERIODIC || search->pair.value)
        return VF_OK;
    vf_status status =
        vf_ewald_field_create(search->ctx, &search->pair.cell, &charges, &options, EXPECTED_POINTS, &search->field);
    for (int64_t i = 0; status == VF_OK && i < ions->count; i++)
        status = vf_ewald_field_add(search->field, (double[3]){ions->x[i], ions->y[i], ions->z[i]}, ions->charge[i]);
    return status;
}

/* Energies that differ by less are equal. In a cell, by what a field leaves out. */
static double tolerance_at(const vf_ion_search *search, const vf_ion_place *place, double charge)
{
    double sum = 0;
    if (!search->field)
        return ion_tolerance(search, place->index, place->position, charge);
    for (int kind = 0; kind < ION_SOURCES; kind++)
        for (int64_t i = 0; i < search->sources[kind].count; i++)
            sum += search->sources[kind].magnitude[i];
    return field_tolerance * fabs(charge) * sum / cbrt(vf_cell_volume(&search->pair.cell));
}

vf_status vf_ion_search_refine(vf_ion_search *search, double charge, vf_ion_place *place)
{
    const double start[3] = {place->position[0], place->position[1], place->position[2]};
    neighbours near = {.start = start};
    site best = {{start[0], start[1], start[2]}, 0};
    if (search->options.map_is_exact && search->pair.law < VF_PAIR_FUNCTION)
        return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                       "search for ions: a map from a file has no energies between its points");
    vf_status status = make_field(search);
    if (status == VF_OK && !gather(search, &near))
        status = vf_fail(search->ctx, VF_ERR_MEMORY, "not enough memory for %lld neighbours", (long long)near.count);
    VF_TRY(status, potentials(search, 1, (const double(*)[3])start, &best.energy));
    best.energy *= charge;
    const double tolerance = status == VF_OK ? tolerance_at(search, place, charge) : 0;
    for (int halvings = 1; status == VF_OK && halvings <= 6; halvings++) {
        bool moved = true;
        while (status == VF_OK && moved) {
            status = step(search, &near, charge, ldexp(1, -halvings), tolerance, &best, &moved);
            if (status == VF_OK && vf_cancelled(search->ctx))
                status = vf_fail(search->ctx, VF_ERR_CANCELLED, "interrupted");
        }
    }
    memcpy(place->position, best.position, sizeof best.position);
    free(near.position);
    free(near.distance);
    return status;
}
