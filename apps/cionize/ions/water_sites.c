/* Ions in the place of water molecules. The free oxygens are kept together with their potentials; each ion takes out those
 * near it, and adds its potential to the others. */
#include "water_sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ewald_sum.h"
#include "molecule/near_places.h"
#include "point_sum.h"
#include "potential/potential_common.h"

struct water_sites {
    vf_context *ctx;
    vf_pair_potential pair;
    vf_cell cell;
    vf_ewald_pair *images; /* of an ion, in a cell; NULL: free space */
    double charges;        /* sum of the magnitudes of all charges, e */
    double distance;       /* the least of an atom, for the size of rounding errors */
    int64_t count;         /* free oxygens */
    int64_t *index;        /* [count] of the caller's, rising */
    double *at;            /* [count][3] */
    double *value;         /* [count] the potential */
    int64_t total, near_solute;
};

void water_sites_destroy(water_sites *s)
{
    if (!s)
        return;
    free(s->index);
    free(s->at);
    free(s->value);
    vf_ewald_pair_destroy(s->images);
    free(s);
}

/* Keeps the oxygens that are not near any of the places. */
static vf_status exclude(water_sites *s, int64_t count, const double *const place[3], const double *distance)
{
    near_places *near;
    int64_t kept = 0;
    double reach = 0;
    for (int64_t i = 0; i < count; i++)
        reach = fmax(reach, distance[i]);
    const vf_status status = near_places_create(s->ctx, &s->cell, count, place[0], place[1], place[2], reach, &near);
    if (status != VF_OK)
        return status;
    for (int64_t n = 0; n < s->count; n++) {
        if (near_places_any(near, s->at + 3 * n, distance))
            continue;
        s->index[kept] = s->index[n];
        s->value[kept] = s->value[n];
        memmove(s->at + 3 * kept++, s->at + 3 * n, 3 * sizeof *s->at);
    }
    s->count = kept;
    near_places_destroy(near);
    return VF_OK;
}

static vf_status exclude_solute(water_sites *s, const ion_settings *ions, const molecule *solute)
{
    const double *const place[3] = {solute->x, solute->y, solute->z};
    double *distance = malloc((size_t)(solute->atoms + 1) * sizeof *distance);
    if (!distance)
        return vf_fail(s->ctx, VF_ERR_MEMORY, "no memory for the distances of %lld atoms", (long long)solute->atoms);
    for (int64_t i = 0; i < solute->atoms; i++)
        distance[i] = ions->ion_solute + (ions->from_surface ? solute->radius[i] : 0);
    const vf_status status = exclude(s, solute->atoms, place, distance);
    free(distance);
    s->near_solute = s->total - s->count;
    return status;
}

/* Sums the solute's potential at the free oxygens: in free space exactly. */
static vf_status sum_solute(water_sites *s, const vf_coulomb_atoms *atoms)
{
    const vf_point_options options = {.cell = s->cell,
                                      .scale = s->pair.scale,
                                      .r_min = s->pair.r_min,
                                      .distance_dielectric = s->pair.law == VF_PAIR_DISTANCE_DIELECTRIC,
                                      .tolerance = s->cell.kind == VF_CELL_NONE ? 0 : WATER_SITES_TOLERANCE};
    const vf_point_list oxygens = {.count = s->count, .points = s->at};
    vf_point_sum *sum;
    if (atoms->count == 0 || s->count == 0)
        return VF_OK;
    for (int64_t i = 0; i < atoms->count; i++)
        s->charges += fabs(atoms->charge[i]);
    vf_status status = vf_point_sum_create(s->ctx, atoms, &options, &oxygens, (double)s->count, &sum);
    VF_TRY(status, vf_point_sum_execute(sum, &oxygens, s->value, NULL));
    vf_point_sum_destroy(sum);
    return status;
}

vf_status water_sites_create(vf_context *ctx, const water_solvent *water, const ion_settings *ions,
                             const molecule *solute, water_sites **out)
{
    const size_t count = (size_t)water->count;
    const vf_coulomb_atoms charges = potential_charges(solute);
    water_sites *s = *out = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to place ions");
    s->ctx = ctx;
    s->pair = water->pair;
    s->cell = water->cell;
    s->distance = fmax(ions->ion_solute, water->pair.r_min);
    s->total = s->count = water->count;
    s->index = malloc((count + 1) * sizeof *s->index);
    s->at = malloc((3 * count + 1) * sizeof *s->at);
    s->value = calloc(count + 1, sizeof *s->value);
    vf_status status = VF_OK;
    if (!s->index || !s->at || !s->value)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld water molecules", (long long)water->count);
    for (int64_t n = 0; status == VF_OK && n < s->count; n++) {
        s->index[n] = n;
        memcpy(s->at + 3 * n, water->oxygen[n], 3 * sizeof *s->at);
    }
    VF_TRY(status, exclude_solute(s, ions, solute));
    VF_TRY(status, sum_solute(s, &charges));
    if (status == VF_OK && s->cell.kind != VF_CELL_NONE)
        status = vf_ewald_pair_create(ctx, &s->cell, s->pair.r_min, 100 * WATER_SITES_TOLERANCE, &s->images);
    if (status == VF_OK)
        return VF_OK;
    water_sites_destroy(s);
    *out = NULL;
    return status;
}

/* Potentials that differ by no more count as equal: rounding in sums of all charges; in a cell, the tolerance of a potential that
 * is of the order of all charges on the cell's edge. */
static double least_difference(const water_sites *s)
{
    const double scale = fabs(s->pair.scale) * s->charges;
    if (s->cell.kind != VF_CELL_NONE)
        return WATER_SITES_EQUAL * scale / cbrt(vf_cell_volume(&s->cell));
    return 0x1p-40 * scale / (s->pair.law == VF_PAIR_DISTANCE_DIELECTRIC ? s->distance * s->distance : s->distance);
}

void water_sites_find(const water_sites *s, double charge, vf_ion_place *out)
{
    double least = INFINITY;
    *out = (vf_ion_place){.index = -1};
    for (int64_t n = 0; n < s->count; n++)
        least = fmin(least, charge * s->value[n]);
    least += fabs(charge) * least_difference(s);
    for (int64_t n = 0; n < s->count; n++)
        if (charge * s->value[n] <= least) {
            out->index = s->index[n];
            memcpy(out->position, s->at + 3 * n, sizeof out->position);
            return;
        }
}

/* Where a free oxygen is in the list. */
static int64_t find_index(const water_sites *s, int64_t index)
{
    int64_t lo = 0, hi = s->count;
    while (lo + 1 < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (s->index[middle] <= index)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

vf_status water_sites_add(water_sites *s, const vf_ion_place *place, double charge, double distance, double *energy)
{
    const double *at = place->position;
    const double *const places[3] = {&at[0], &at[1], &at[2]};
    const double least = fmax(distance, s->pair.r_min); /* its own oxygen goes, too */
    *energy = charge * s->value[find_index(s, place->index)];
    vf_status status = exclude(s, 1, places, &least);
    if (status != VF_OK)
        return status;
    s->charges += fabs(charge);
    if (s->images)
        return vf_ewald_pair_add(s->ctx, s->images, at, charge * s->pair.scale, s->count, s->at, s->value);
    for (int64_t n = 0; n < s->count; n++) {
        const double d[3] = {s->at[3 * n] - at[0], s->at[3 * n + 1] - at[1], s->at[3 * n + 2] - at[2]};
        s->value[n] += charge * vf_pair_value(&s->pair, d);
    }
    return VF_OK;
}

void water_sites_count(const water_sites *s, int64_t counts[3])
{
    counts[VF_ION_FREE] = s->count;
    counts[VF_ION_SOLUTE] = s->near_solute;
    counts[VF_ION_ION] = s->total - s->near_solute - s->count;
}
