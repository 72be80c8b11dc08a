/* Places ions on the map, one after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ion_search.h"
#include "ions.h"
#include "molecule/molecule_part.h"
#include "potential/periodic_frames.h"
#include "potential/potential_common.h"
#include "water_sites.h"

struct placement {
    vf_context *ctx;
    const ion_settings *settings;
    const molecule *mol;
    solute_frames frames;       /* empty without a trajectory */
    const ion_solvent *solvent; /* NULL: none */
    const void *map;
    vf_grid grid;
    vf_ion_search_options options;
    vf_device *device; /* the device that searches */
    vf_ion_search *search;
    int64_t points;
    water_sites *water; /* ions replace water molecules; NULL: they are on the grid, and the rest of this counts */
    int64_t *replaced, replaced_count; /* in water: indices of oxygens */
};

bool wants_ions(const ion_settings *settings)
{
    return settings->requests > 0 || settings->demand.counter_kinds > 0 || settings->demand.has_concentration;
}

void ion_list_free(ion_list *list)
{
    free(list->kinds);
    free(list->sites);
    *list = (ion_list){0};
}

/* ---- excluded points ---- */

/* Scales a frame's positions to the map's cell; *factor: what distances are multiplied by, at most. */
static vf_status scale_frame(const placement *p, int64_t frame, double *const position[3], double *factor)
{
    vf_grid own;
    *factor = 1;
    if (!p->frames.follows_cells)
        return VF_OK;
    const vf_status status = frame_grid(p->ctx, p->frames.trajectory, frame, &p->grid, &own);
    for (int a = 0; status == VF_OK && a < 3; a++) {
        const double scale = p->grid.spacing[a] / own.spacing[a];
        *factor = a == 0 ? scale : fmax(*factor, scale);
        for (int64_t i = 0; i < p->mol->atoms; i++)
            position[a][i] *= scale;
    }
    return status;
}

/* Excludes points near the atoms of any frame. */
static vf_status exclude_frames(placement *p, const double *distance)
{
    const solute_frames *f = &p->frames;
    const int64_t atoms = p->mol->atoms, whole = molecule_whole_atoms(p->mol);
    double *data = malloc(4 * (size_t)whole * sizeof *data), factor, *scaled = data + 3 * whole;
    if (!data)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory for the positions of %lld atoms", (long long)whole);
    double *const position[3] = {data, data + whole, data + 2 * whole};
    vf_status status = VF_OK;
    for (int64_t n = 0; n < f->selection->count && status == VF_OK; n++) {
        const int64_t frame = f->selection->first + n * f->selection->step;
        status = trajectory_read(f->trajectory, frame, position[0], position[1], position[2]);
        molecule_gather(p->mol, position[0], position[1], position[2]);
        VF_TRY(status, scale_frame(p, frame, position, &factor));
        for (int64_t i = 0; status == VF_OK && i < atoms; i++)
            scaled[i] = distance[i] * factor;
        VF_TRY(status, vf_ion_search_exclude_about(p->search, atoms, position, scaled));
        if (status == VF_OK && vf_cancelled(p->ctx))
            status = vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(data);
    return status;
}

static vf_status exclude_solute(placement *p)
{
    const molecule *mol = p->mol;
    double *distance = malloc((size_t)mol->atoms * sizeof *distance);
    if (!distance)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory for the distances of %lld atoms", (long long)mol->atoms);
    for (int64_t i = 0; i < mol->atoms; i++)
        distance[i] = p->settings->ion_solute + (p->settings->from_surface ? mol->radius[i] : 0);
    for (int64_t i = 0; p->solvent && i < mol->atoms; i++)
        if (mol->radius[i] > 0)
            distance[i] = fmax(distance[i], mol->radius[i] + p->solvent->gap);
    vf_status status = p->frames.trajectory ? exclude_frames(p, distance) : vf_ion_search_exclude(p->search, distance);
    free(distance);
    return status;
}

/* ---- searching; if a device fails, on another one ---- */

/* Opens a search with the excluded points and the ions of the list. */
static vf_status open_search(placement *p, const ion_list *list)
{
    const vf_coulomb_atoms atoms = potential_charges(p->mol);
    vf_ion_search_destroy(p->search);
    vf_status status = vf_ion_search_create(p->device, &p->grid, &atoms, p->map, &p->options, &p->search);
    VF_TRY(status, exclude_solute(p));
    for (int64_t n = 0; status == VF_OK && n < list->count; n++) {
        const ion_site *site = &list->sites[n];
        status =
            vf_ion_search_add(p->search, site->position, list->kinds[site->kind].charge, p->settings->ion_ion, NULL);
    }
    return status;
}

/* After a device failure, the next working device, or finally the CPU, continues after the last ion of the list. Other
 * errors are returned unchanged. */
static vf_status take_over(placement *p, const ion_list *list, vf_status status)
{
    while (vf_is_device_error(status) && p->device != vf_context_host(p->ctx)) {
        vf_device_give_up(p->device, vf_context_message(p->ctx));
        vf_context_clear_error(p->ctx);
        p->device = potential_first_device(p->ctx);
        if (vf_device_failure(p->device)) /* no device is left */
            p->device = vf_context_host(p->ctx);
        status = open_search(p, list);
    }
    return status;
}

vf_status placement_create(vf_context *ctx, const potential_plan *plan, const ion_settings *ions, const molecule *mol,
                           const solute_frames *frames, const ion_solvent *solvent, const void *map, bool map_is_exact,
                           placement **out)
{
    const vf_grid *grid = &plan->problem.grid;
    const ion_list none = {0};
    *out = NULL;
    placement *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to place ions");
    p->ctx = ctx;
    p->settings = ions;
    p->mol = mol;
    if (frames)
        p->frames = *frames;
    p->solvent = solvent;
    p->map = map;
    p->grid = *grid;
    p->options = (vf_ion_search_options){.precision = plan->problem.precision, .map_is_exact = map_is_exact};
    plan->method->pair(&plan->problem, &p->options.pair);
    if (solvent)
        p->options.pair = solvent->pair;
    /* Where the device cannot search, the host does. Of other laws than Coulomb's, the map is as exact as the ions' potential. */
    p->device = potential_first_device(ctx);
    if (!vf_ion_search_supports(p->device, p->options.pair.law))
        p->device = vf_context_host(ctx);
    p->options.map_is_exact |= p->options.pair.law >= VF_PAIR_FUNCTION;
    p->points = vf_grid_points(grid);
    vf_status status = take_over(p, &none, open_search(p, &none));
    if (status == VF_OK)
        *out = p;
    else
        placement_destroy(p);
    return status;
}

vf_status placement_create_in_water(vf_context *ctx, const water_solvent *water, const ion_settings *ions,
                                    const molecule *solute, placement **out)
{
    *out = NULL;
    placement *p = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to place ions");
    p->ctx = ctx;
    p->settings = ions;
    vf_status status = water_sites_create(ctx, water, ions, solute, &p->water);
    if (status == VF_OK)
        *out = p;
    else
        placement_destroy(p);
    return status;
}

void placement_destroy(placement *p)
{
    if (!p)
        return;
    vf_ion_search_destroy(p->search);
    water_sites_destroy(p->water);
    free(p->replaced);
    free(p);
}

const uint8_t *placement_mask(const placement *p)
{
    return vf_ion_search_mask(p->search);
}

const double *placement_potential(const placement *p)
{
    return p->solvent ? vf_ion_search_totals(p->search) : NULL;
}

void placement_points(const placement *p, int64_t points[3])
{
    if (p->water) {
        water_sites_count(p->water, points);
        return;
    }
    const uint8_t *mask = vf_ion_search_mask(p->search);
    points[0] = points[1] = points[2] = 0;
    for (int64_t i = 0; i < p->points; i++)
        points[mask[i]]++;
}

/* ---- order ---- */

/* The request that is next, of those with ions left; -1: none. `turn`: the request served last. */
static int next_request(const ion_request *request, const int64_t *left, int requests, ion_order order, int turn)
{
    int next = -1;
    for (int n = 0; n < requests; n++) {
        const int at = order == ION_ORDER_ALTERNATE ? (turn + 1 + n) % requests : n;
        if (left[at] == 0)
            continue;
        if (next < 0 || (order == ION_ORDER_LARGEST && fabs(request[at].kind.charge) > fabs(request[next].kind.charge)))
            next = at;
    }
    return next;
}

/* ---- placing ---- */

/* Finds the best place and takes it; index -1: no point is free. */
static vf_status take_place(placement *p, double charge, vf_ion_place *place, double *energy)
{
    if (p->water) {
        water_sites_find(p->water, charge, place);
        return place->index < 0 ? VF_OK : water_sites_add(p->water, place, charge, p->settings->ion_ion, energy);
    }
    vf_status status = vf_ion_search_find(p->search, charge, place);
    if (status == VF_OK && place->index >= 0 && p->settings->refine)
        status = vf_ion_search_refine(p->search, charge, place);
    if (status == VF_OK && place->index >= 0)
        status = vf_ion_search_add(p->search, place->position, charge, p->settings->ion_ion, energy);
    return status;
}

/* For one more replaced molecule. */
static bool make_room(placement *p)
{
    int64_t *larger = realloc(p->replaced, (size_t)(p->replaced_count + 1) * sizeof *larger);
    if (larger)
        p->replaced = larger;
    return larger != NULL;
}

const int64_t *placement_replaced(const placement *p)
{
    return p->replaced;
}

static vf_status place_one(placement *p, const ion_kind *kind, int number, ion_list *list, bool *placed)
{
    vf_ion_place place;
    double energy;
    if (p->water && !make_room(p))
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory for %lld ions", (long long)list->count);
    vf_status status = take_place(p, kind->charge, &place, &energy);
    while (vf_is_device_error(status) && (status = take_over(p, list, status)) == VF_OK)
        status = take_place(p, kind->charge, &place, &energy);
    *placed = status == VF_OK && place.index >= 0;
    if (!*placed)
        return status;
    ion_site *site = &list->sites[list->count++];
    site->kind = number;
    site->energy = energy;
    if (p->water)
        p->replaced[p->replaced_count++] = place.index;
    memcpy(site->position, place.position, sizeof site->position);
    return VF_OK;
}

/* Makes room for the requests' kinds and ions. */
static vf_status extend(vf_context *ctx, const ion_request *request, int requests, ion_list *list)
{
    int64_t count = list->count;
    for (int n = 0; n < requests; n++)
        count += request[n].count;
    ion_kind *kinds = realloc(list->kinds, (size_t)(list->kind_count + requests + 1) * sizeof *kinds);
    if (kinds)
        list->kinds = kinds;
    ion_site *sites = realloc(list->sites, (size_t)(count + 1) * sizeof *sites);
    if (sites)
        list->sites = sites;
    if (!kinds || !sites)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld ions", (long long)count);
    for (int n = 0; n < requests; n++)
        list->kinds[list->kind_count + n] = request[n].kind;
    return VF_OK;
}

vf_status placement_place(placement *p, const ion_request *request, int requests, vf_progress *progress, ion_list *list)
{
    const int first_kind = list->kind_count;
    bool placed = true;
    int turn = -1;
    int64_t *left = calloc((size_t)requests + 1, sizeof *left);
    vf_status status = left ? extend(p->ctx, request, requests, list)
                            : vf_fail(p->ctx, VF_ERR_MEMORY, "no memory for %d kinds of ions", requests);
    for (int n = 0; status == VF_OK && n < requests; n++)
        left[n] = request[n].count;
    if (status == VF_OK)
        list->kind_count += requests;
    while (status == VF_OK && placed && (turn = next_request(request, left, requests, p->settings->order, turn)) >= 0) {
        status = place_one(p, &request[turn].kind, first_kind + turn, list, &placed);
        left[turn]--;
        if (status == VF_OK && vf_cancelled(p->ctx))
            status = vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted");
        vf_progress_add(progress, 1);
    }
    free(left);
    return status;
}
