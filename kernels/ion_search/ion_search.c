/* The backend-independent part: checks, the sources, and the choice of the backend. */
#include "ion_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "backend/simulation.h"
#include "ewald_sum.h"
#include "ion_search_internal.h"

static const vf_backend backends[] = {
    {&vf_ion_search_cells.variants, &vf_ion_search_cells},
    {&vf_ion_search_images.variants, &vf_ion_search_images},
    {&vf_ion_search_kept.variants, &vf_ion_search_kept},
    {&vf_ion_search_ref.variants, &vf_ion_search_ref},
    {&vf_ion_search_cuda.variants, &vf_ion_search_cuda},
    {&vf_ion_search_opencl.variants, &vf_ion_search_opencl},
    {0},
};

bool vf_ion_search_supports(const vf_device *device, vf_pair_law law)
{
    return vf_device_is_host(device) ||
           (law < VF_PAIR_FUNCTION && !strstr(vf_device_traits(device), "no double precision"));
}

/* The default variant of a law on the CPU; NULL: that of the list. */
static const char *preferred_variant(vf_pair_law law)
{
    return law == VF_PAIR_PERIODIC ? "images" : law >= VF_PAIR_FUNCTION ? "totals" : NULL;
}

/* Chooses the backend for the device, the pair potential and the requested variant. The reference supports all, and
 * "images" periodic cells, "totals" other laws in free space; the others bound energies by Coulomb's law. */
static vf_status choose_backend(vf_ion_search *search, const char *wish, const void **backend)
{
    const bool special = preferred_variant(search->pair.law) != NULL;
    const bool on_cpu = vf_device_get_kind(search->device) == VF_DEVICE_CPU;
    const bool suits = on_cpu && (!wish || strcmp(wish, "ref") == 0 ||
                                  (special && strcmp(wish, preferred_variant(search->pair.law)) == 0));
    if (!special && wish && strcmp(wish, "images") == 0)
        return vf_fail(search->ctx, VF_ERR_UNSUPPORTED, "search for ions: variant images needs a periodic cell");
    if (!special && wish && strcmp(wish, "totals") == 0)
        return vf_fail(search->ctx, VF_ERR_UNSUPPORTED,
                       "search for ions: variant totals is for pair potentials other than Coulomb's law");
    if (special && !suits)
        return vf_fail(
            search->ctx, VF_ERR_UNSUPPORTED,
            "search for ions: %s%s supports only Coulomb's law, not this method's pair potential; use ref on "
            "the CPU",
            wish ? "variant " : vf_device_spec(search->device), wish ? wish : "");
    return vf_backend_choose(backends, "the search for ions", search->device,
                             wish ? wish : preferred_variant(search->pair.law), backend, &search->variant);
}

/* ---- sources ---- */

static bool grow(double **array, int64_t capacity)
{
    double *larger = realloc(*array, (size_t)capacity * sizeof *larger);
    if (larger)
        *array = larger;
    return larger != NULL;
}

static vf_status make_room(vf_context *ctx, ion_sources *s, int64_t count)
{
    if (count <= s->capacity)
        return VF_OK;
    const int64_t capacity = count > 2 * s->capacity ? count : 2 * s->capacity;
    if (!grow(&s->x, capacity) || !grow(&s->y, capacity) || !grow(&s->z, capacity) || !grow(&s->charge, capacity) ||
        !grow(&s->magnitude, capacity) || !grow(&s->distance, capacity))
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for %lld charges", (long long)count);
    s->capacity = capacity;
    return VF_OK;
}

static void free_sources(ion_sources *s)
{
    free(s->x);
    free(s->y);
    free(s->z);
    free(s->charge);
    free(s->magnitude);
    free(s->distance);
}

static vf_status add_source(vf_ion_search *search, int kind, const double position[3], double charge, double distance)
{
    ion_sources *s = &search->sources[kind];
    vf_status status = make_room(search->ctx, s, s->count + 1);
    if (status != VF_OK)
        return status;
    const double scaled = search->options.potential.scale * charge;
    s->x[s->count] = position[0];
    s->y[s->count] = position[1];
    s->z[s->count] = position[2];
    s->charge[s->count] = scaled;
    s->magnitude[s->count] = fabs(scaled);
    s->distance[s->count] = distance;
    s->count++;
    return VF_OK;
}

/* ---- plans ---- */

static vf_status check_map(const vf_ion_search *search)
{
    const int64_t points = vf_grid_points(&search->grid);
    for (int64_t i = 0; i < points; i++)
        if (!isfinite(ion_map_value(search, i)))
            return vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: value %lld of the map is not finite",
                           (long long)i);
    return VF_OK;
}

/* Translates the pair potential for backends. */
static vf_status take_pair(vf_ion_search *search, const vf_ion_search_options *options)
{
    const vf_pair_potential *pair = &options->pair;
    if ((unsigned)pair->law >= VF_PAIR_LAWS || (pair->law == VF_PAIR_FUNCTION && !pair->value) ||
        ((pair->law < VF_PAIR_FUNCTION || pair->law == VF_PAIR_SCREENED) && pair->value) ||
        (pair->law == VF_PAIR_SCREENED && !(pair->kappa >= 0 && isfinite(pair->kappa))))
        return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                       "search for ions: the pair potential's law %d is unknown, or its "
                       "function or kappa is missing",
                       (int)pair->law);
    search->pair = *pair;
    search->options = (ion_search_setup){.potential = {.scale = pair->scale,
                                                       .r_min = pair->r_min,
                                                       .distance_dielectric = pair->law == VF_PAIR_DISTANCE_DIELECTRIC,
                                                       .precision = options->precision},
                                         .map_is_exact = options->map_is_exact};
    return VF_OK;
}

/* Lets the Coulomb sum check its input, by a plan that is not used otherwise. With a function, the grid may have a
 * cell; Coulomb sums reject one. */
static vf_status check_sums(vf_ion_search *search, const vf_coulomb_atoms *atoms)
{
    vf_coulomb *sums = NULL;
    vf_grid grid = search->grid;
    if (!vf_grid_valid(&grid))
        return vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: the grid is invalid");
    if (search->pair.law >= VF_PAIR_FUNCTION)
        grid.cell = (vf_cell){.kind = VF_CELL_NONE};
    vf_status status = vf_coulomb_create(vf_context_host(search->ctx), &grid, atoms, &search->options.potential, &sums);
    vf_coulomb_destroy(sums);
    return status;
}

static vf_status take_atoms(vf_ion_search *search, const vf_coulomb_atoms *atoms)
{
    vf_status status = make_room(search->ctx, &search->sources[ION_ATOMS], atoms->count);
    for (int64_t i = 0; status == VF_OK && i < atoms->count; i++)
        status = add_source(search, ION_ATOMS, (double[3]){atoms->x[i], atoms->y[i], atoms->z[i]}, atoms->charge[i], 0);
    return status;
}

vf_status vf_ion_search_create(vf_device *device, const vf_grid *grid, const vf_coulomb_atoms *atoms, const void *map,
                               const vf_ion_search_options *options, vf_ion_search **out)
{
    vf_context *ctx = vf_device_context(device);
    *out = NULL;
    vf_ion_search *search = calloc(1, sizeof *search);
    if (!search)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a search");
    search->device = device;
    search->ctx = ctx;
    search->grid = *grid;
    search->map = map;
    search->simd = coulomb_simd_for(vf_cpu_isa());
    const void *backend = NULL;
    vf_status status = take_pair(search, options);
    VF_TRY(status, choose_backend(search, options->variant, &backend));
    VF_TRY(status, vf_simulation_of(device, &search->fail_at));
    VF_TRY(status, check_sums(search, atoms));
    VF_TRY(status, check_map(search));
    VF_TRY(status, take_atoms(search, atoms));
    if (status == VF_OK) {
        search->free = vf_grid_points(grid);
        search->mask = calloc((size_t)search->free, 1);
        if (!search->mask)
            status =
                vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the mask of %lld points", (long long)search->free);
    }
    if (status == VF_OK) {
        search->backend = backend;
        status = search->backend->create(search);
    }
    if (status == VF_OK)
        *out = search;
    else
        vf_ion_search_destroy(search);
    return status;
}

void vf_ion_search_destroy(vf_ion_search *search)
{
    if (!search)
        return;
    if (search->backend)
        search->backend->destroy(search);
    vf_ewald_field_destroy(search->field);
    for (int kind = 0; kind < ION_SOURCES; kind++)
        free_sources(&search->sources[kind]);
    free(search->mask);
    free(search);
}

vf_status vf_ion_search_exclude(vf_ion_search *search, const double *distance)
{
    ion_sources *atoms = &search->sources[ION_ATOMS];
    if (search->sources[ION_IONS].count > 0)
        return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                       "search for ions: exclude the points near atoms before adding ions");
    for (int64_t i = 0; i < atoms->count; i++)
        if (!(distance[i] >= 0) || !(distance[i] <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: distance %g of atom %lld is out of range",
                           distance[i], (long long)i + 1);
    search->least_distance = atoms->count > 0 ? VF_COULOMB_MAX_COORDINATE : 0;
    for (int64_t i = 0; i < atoms->count; i++) {
        atoms->distance[i] = distance[i];
        search->least_distance = fmin(search->least_distance, distance[i]);
    }
    return search->backend->exclude ? search->backend->exclude(search)
                                    : ion_exclude(search, ION_ATOMS, atoms, 0, atoms->count);
}

vf_status vf_ion_search_exclude_about(vf_ion_search *search, int64_t count, double *const position[3], double *distance)
{
    if (search->sources[ION_IONS].count > 0)
        return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                       "search for ions: exclude the points near atoms before adding ions");
    for (int64_t i = 0; i < count; i++)
        if (!(distance[i] >= 0) || !(distance[i] <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(position[0][i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(position[1][i]) <= VF_COULOMB_MAX_COORDINATE) ||
            !(fabs(position[2][i]) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(search->ctx, VF_ERR_ARGUMENT,
                           "search for ions: distance %g from (%g, %g, %g) is out of range", distance[i],
                           position[0][i], position[1][i], position[2][i]);
    const ion_sources places = {
        .count = count, .x = position[0], .y = position[1], .z = position[2], .distance = distance};
    return ion_exclude(search, ION_ATOMS, &places, 0, count);
}

int64_t vf_ion_search_free(const vf_ion_search *search)
{
    return search->free;
}

const double *vf_ion_search_totals(const vf_ion_search *search)
{
    return search->totals;
}

const uint8_t *vf_ion_search_mask(const vf_ion_search *search)
{
    return search->mask;
}

static vf_status check_charge(vf_ion_search *search, double charge)
{
    return isfinite((float)(search->options.potential.scale * charge))
               ? VF_OK
               : vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: charge %g is out of range", charge);
}

vf_status vf_ion_search_find(vf_ion_search *search, double charge, vf_ion_place *out)
{
    *out = (vf_ion_place){.index = -1};
    vf_status status = check_charge(search, charge);
    if (status == VF_OK && search->fail_at >= 0 && search->fail_at-- <= 1)
        status = vf_simulation_fail(search->device);
    if (status != VF_OK || search->free == 0)
        return status;
    if (charge == 0)
        out->index =
            (const uint8_t *)memchr(search->mask, VF_ION_FREE, (size_t)vf_grid_points(&search->grid)) - search->mask;
    else
        status = search->backend->find(search, charge, out);
    if (status == VF_OK && out->index >= 0)
        ion_point(&search->grid, out->index, out->position);
    return status;
}

/* The grid point at a position, or -1. */
static int64_t point_at(const vf_grid *grid, const double position[3])
{
    int64_t index = 0;
    for (int a = 2; a >= 0; a--) {
        const double n = round((position[a] - grid->origin[a]) / grid->spacing[a]);
        if (!(n >= 0) || !(n < (double)grid->counts[a]) || grid->origin[a] + grid->spacing[a] * n != position[a])
            return -1;
        index = index * grid->counts[a] + (int64_t)n;
    }
    return index;
}

vf_status vf_ion_search_add(vf_ion_search *search, const double position[3], double charge, double distance,
                            double *energy)
{
    vf_status status = check_charge(search, charge);
    if (status != VF_OK)
        return status;
    for (int a = 0; a < 3; a++)
        if (!(fabs(position[a]) <= VF_COULOMB_MAX_COORDINATE))
            return vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: an ion at (%g, %g, %g) is out of range",
                           position[0], position[1], position[2]);
    if (!(distance >= 0) || !(distance <= VF_COULOMB_MAX_COORDINATE))
        return vf_fail(search->ctx, VF_ERR_ARGUMENT, "search for ions: distance %g is out of range", distance);
    const int64_t point = point_at(&search->grid, position);
    const bool known = search->totals && point >= 0;
    if (known && energy)
        *energy = charge * search->totals[point];
    status = add_source(search, ION_IONS, position, charge, distance);
    if (status == VF_OK) /* a GPU works on this while the host continues */
        status = search->backend->add(search);
    if (status == VF_OK && energy && !known) {
        search->sources[ION_IONS].count--; /* the energy is without the ion itself */
        if (search->field)
            status = vf_ewald_field_values(search->field, 1, position, energy);
        else
            *energy = ion_total_potential(search, point, position);
        *energy *= charge;
        search->sources[ION_IONS].count++;
    }
    if (status == VF_OK && search->field)
        status = vf_ewald_field_add(search->field, position, search->options.potential.scale * charge);
    VF_TRY(status, ion_exclude(search, ION_IONS, &search->sources[ION_IONS], search->sources[ION_IONS].count - 1, 1));
    if (status == VF_OK && point >= 0 && search->mask[point] == VF_ION_FREE) {
        search->mask[point] = VF_ION_ION;
        search->free--;
    }
    return status;
}
