/* The stage that places ions and writes their files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_state.h"
#include "ion_search.h"
#include "ion_stage.h"
#include "result.h"
#include "solvent_stage.h"
#include "voxfield/version.h"

static bool has_script(const cionize_state *r)
{
    return r->ions.script != NULL;
}

bool ions_asked(const cionize_state *r)
{
    return has_script(r) || wants_ions(&r->ions);
}

/* ---- memory ---- */

/* The memory that ion placement takes: the map, unless it was read, plus either what the summation of the map takes, or
 * later the mask, the bounds of cells, and a second mask in the form of a map. */
static double ions_memory(const cionize_state *r)
{
    static const double kinds[] = {2.1, 11, 25}; /* bytes a point, by the kind of cell: docs/ions.md */
    const double bounds_and_mask = kinds[r->grid.cell.kind];
    const double points = (double)vf_grid_points(&r->grid);
    const double totals = r->settings.solvent.on ? points * (double)sizeof(double) : 0; /* kept by the search */
    const double map = r->stored ? 0 : points * (double)vf_dtype_bytes(r->settings.precision);
    const double search = points * (bounds_and_mask + (r->ions.mask ? sizeof(float) : 0)) + totals;
    const int64_t solver =
        r->settings.solvent.on ? vf_solvent_bytes(&r->grid, r->molecule.atoms, &r->dissolved.options) : 0;
    return map + fmax((double)r->plan.host_bytes + (double)solver, search);
}

/* Asks for all the memory that is needed later in one piece and returns the surplus, so a lack of
 * memory shows now. */
vf_status ions_make_store(cionize_state *r)
{
    if (r->water.solvent && !r->ions.map_with_ions) /* ions that replace water do not need the map */
        return VF_OK;
    const double needed = r->memory = ions_memory(r);
    uint64_t available, total;
    char text[32], text2[32];
    vf_host_memory(&available, &total);
    if (needed > (double)available)
        return vf_fail(
            r->ctx, VF_ERR_MEMORY,
            "not enough memory to place ions: the map, mask and bounds need %s, and %s are available; use a larger "
            "--spacing",
            vf_format_bytes(needed, text, sizeof text), vf_format_bytes((double)available, text2, sizeof text2));
    if (r->stored)
        return VF_OK;
    void *all = malloc((size_t)needed);
    if (!all)
        return vf_fail(
            r->ctx, VF_ERR_MEMORY,
            "not enough memory to place ions: cannot allocate %s for the map, mask and bounds; raise the limit "
            "(ulimit -v), if there is one, or use a larger --spacing",
            vf_format_bytes(needed, text, sizeof text));
    void *less = realloc(all, (size_t)vf_grid_points(&r->grid) * vf_dtype_bytes(r->settings.precision));
    r->stored = less ? less : all;
    return VF_OK;
}

/* ---- which ions to place ---- */

static vf_status add_requests(cionize_state *r, const ion_request *request, int count)
{
    ion_request *larger = realloc(r->request, (size_t)(r->requests + count + 1) * sizeof *larger);
    if (!larger)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %d kinds of ions", r->requests + count);
    r->request = larger;
    for (int n = 0; n < count; n++) {
        r->request[r->requests] = request[n];
        ion_rename(r->ctx, r->ions.names, &r->request[r->requests++].kind);
        r->wanted += request[n].count;
    }
    return VF_OK;
}

/* Whether the number for a concentration follows from the number of water molecules. */
static bool counts_water(const cionize_state *r)
{
    return r->ions.demand.has_concentration && r->water.solvent && r->ions.concentration_by != ION_BY_VOLUME;
}

/* The volume of solvent, on the map's grid, or, if there is no map, on the one that it would have. */
static vf_status measure_solvent(cionize_state *r)
{
    const solute_frames frames = {r->trajectory, &r->frames, r->plan.follows_cells};
    vf_grid grid = r->grid;
    vf_status status = VF_OK;
    if (r->water.solvent && r->settings.cell.kind == VF_CELL_NONE)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--concentration-by volume needs the volume of the box of water: add --cell, or use "
                       "--concentration-by water");
    if (r->molecule.atoms == 0) {
        r->solvent = vf_cell_volume(&r->settings.cell);
        return VF_OK;
    }
    if (r->water.no_map)
        status = plan_grid(r->ctx, &r->settings, &r->molecule, &grid);
    return status == VF_OK ? solvent_volume(r->ctx, &r->molecule, r->trajectory ? &frames : NULL, &grid, &r->solvent)
                           : status;
}

/* Ions by rule: they count the charge of the solute and of the ions requested by number. */
static vf_status add_by_rule(cionize_state *r)
{
    double charge = r->molecule.total_charge;
    ion_request request[2];
    int kinds = 0;
    int64_t waters = r->water.count;
    for (int n = 0; n < r->requests; n++) {
        charge += (double)r->request[n].count * r->request[n].kind.charge;
        waters -= r->request[n].count;
    }
    const bool by_water = counts_water(r);
    vf_status status = VF_OK;
    if (by_water && waters <= 0)
        return vf_fail(
            r->ctx, VF_ERR_ARGUMENT,
            "--place asks for as many ions as there are water molecules (%lld), or more, so none is left for "
            "--concentration; place fewer",
            (long long)r->water.count);
    if (r->ions.demand.has_concentration && !by_water)
        status = measure_solvent(r);
    if (status == VF_OK && by_water)
        status = count_ions_in_water(r->ctx, &r->ions.demand, charge, waters, request, &kinds);
    else if (status == VF_OK)
        status = count_ions(r->ctx, &r->ions.demand, charge, r->solvent, request, &kinds);
    VF_TRY(status, add_requests(r, request, kinds));
    if (status == VF_OK && r->wanted == 0)
        vf_warn(r->ctx, "the rule asks for 0 ions; none are placed");
    return status;
}

static vf_status check_radii(const cionize_state *r)
{
    for (int64_t i = 0; i < r->molecule.atoms; i++)
        if (r->molecule.radius[i] > 0)
            return VF_OK;
    return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                   "--from-surface: %s has no radii, or all are 0; leave out the option, or use a PQR file with radii",
                   r->settings.charges ? r->settings.charges : r->settings.input);
}

/* An ion is nearer to its own images than ions may be to each other if the shortest vector of the lattice says so. */
static void warn_of_small_cell(const cionize_state *r)
{
    const double(*v)[3] = r->settings.cell.vectors;
    double least = INFINITY;
    for (int n = 0; n < 27; n++) {
        double square = 0;
        for (int a = 0; a < 3; a++)
            square += pow((n % 3 - 1) * v[0][a] + (n / 3 % 3 - 1) * v[1][a] + (n / 9 - 1) * v[2][a], 2);
        if (n != 13)
            least = fmin(least, sqrt(square));
    }
    if (r->settings.cell.kind != VF_CELL_NONE && least < r->ions.ion_ion)
        vf_warn(r->ctx, "the images of an ion are %g A apart, nearer than the %g A between ions", least,
                r->ions.ion_ion);
}

vf_status ions_prepare(cionize_state *r)
{
    vf_status status = r->ions.from_surface ? check_radii(r) : VF_OK;
    warn_of_small_cell(r);
    if (status == VF_OK && r->ions.ionized)
        status = check_ions_room(r->ctx, r->ions.ionized, whole_molecule(r), r->ions.renumber);
    for (int64_t n = 0; status == VF_OK && n < r->script.commands; n++)
        if (r->script.command[n].verb == SCRIPT_PLACEION)
            status = add_requests(r, &r->script.command[n].request, 1);
    if (status != VF_OK || has_script(r))
        return status;
    status = add_requests(r, r->ions.request, r->ions.requests);
    if (status == VF_OK && (r->ions.demand.counter_kinds > 0 || r->ions.demand.has_concentration))
        status = add_by_rule(r);
    return status;
}

/* ---- files ---- */

/* The atoms as the run saw them: in the cell of --cell, if there is one. If this is the file's, it keeps the file's numbers. */
static molecule in_cell_of_run(const cionize_state *r, const molecule *all)
{
    const double rounding = 1e-9;
    molecule solute = *all;
    bool same = solute.cell.state == UNIT_CELL_NUMBERS;
    unit_cell used = {.state = UNIT_CELL_NUMBERS};
    if (r->settings.cell.kind == VF_CELL_NONE)
        return solute;
    vf_cell_shape(&r->settings.cell, used.lengths, used.angles);
    for (int a = 0; a < 3; a++)
        same = same && fabs(used.lengths[a] - solute.cell.lengths[a]) <= rounding * used.lengths[a] &&
               fabs(used.angles[a] - solute.cell.angles[a]) <= rounding * used.angles[a];
    if (!same)
        solute.cell = used;
    return solute;
}

static vf_status write_list(const cionize_state *r, const char *path, const ion_list *list, const molecule *solute)
{
    char comment[80];
    snprintf(comment, sizeof comment, "cionize (Voxfield) %s: %lld ion%s", VF_VERSION, (long long)list->count,
             vf_plural(list->count));
    const molecule *all = whole_molecule(r);
    const molecule in_cell = in_cell_of_run(r, all);
    return write_ions(r->ctx, path, list, solute, &in_cell.cell, comment);
}

/* The map with all ions placed so far. */
static vf_status write_map_with_ions(cionize_state *r, map_output *out)
{
    const ion_list *list = &r->placed;
    const size_t n = r->settings.solvent.on ? 0 : (size_t)list->count; /* in a solvent, the map has them already */
    double *data = malloc((4 * n + 1) * sizeof *data);
    if (!data)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %zu ions", n);
    const molecule ions = {.atoms = list->count, .x = data, .y = data + n, .z = data + 2 * n, .charge = data + 3 * n};
    for (size_t i = 0; i < n; i++) {
        ions.x[i] = list->sites[i].position[0];
        ions.y[i] = list->sites[i].position[1];
        ions.z[i] = list->sites[i].position[2];
        ions.charge[i] = list->kinds[list->sites[i].kind].charge;
    }
    map_quantity(r->read.ions + list->count, r->settings.solvent.on, r->ions_quantity);
    r->ions_info = r->info;
    r->ions_info.placed = NULL;
    r->ions_info.quantity = r->ions_quantity;
    out->info = &r->ions_info;
    vf_status status = write_stored_map(r->ctx, &r->plan, r->stored, n > 0 ? &ions : NULL, out);
    free(data);
    return status;
}

/* In a solvent, the ions' potential is not a method's: the map takes what the search has kept. */
static void add_ions_to_map(cionize_state *r)
{
    const double *potential = placement_potential(r->placement);
    const int64_t points = vf_grid_points(&r->grid);
    for (int64_t i = 0; potential && i < points; i++) {
        if (r->settings.precision == VF_F64)
            ((double *)r->stored)[i] = potential[i];
        else
            ((float *)r->stored)[i] = (float)potential[i];
    }
}

static vf_status save_grid(cionize_state *r, const char *path)
{
    map_output out = {.ctx = r->ctx, .path = path};
    vf_status status = map_format_for(r->ctx, path, &out.format);
    VF_TRY(status, write_map_with_ions(r, &out));
    map_output_discard(&out);
    return status;
}

static vf_status write_mask(cionize_state *r)
{
    const int64_t points = vf_grid_points(&r->grid);
    const uint8_t *mask = placement_mask(r->placement);
    map_output out = {.ctx = r->ctx, .path = r->ions.mask, .info = &r->mask_info};
    r->mask_info = r->info;
    r->mask_info.type = VF_F32;
    r->mask_info.quantity = "what excludes ions: 0 nothing, 1 the solute, 2 an ion";
    r->mask_info.unit = "";
    r->mask_info.array = "mask";
    float *values = malloc((size_t)points * sizeof *values);
    if (!values)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %lld points", r->ions.mask, (long long)points);
    for (int64_t i = 0; i < points; i++)
        values[i] = (float)mask[i];
    vf_status status = map_format_for(r->ctx, r->ions.mask, &out.format);
    VF_TRY(status, write_stored_map(r->ctx, &r->plan, values, NULL, &out));
    map_output_discard(&out);
    free(values);
    return status;
}

/* ---- placing ---- */

static void note_missing(cionize_state *r, const ion_request *request, int requests, const ion_list *list,
                         int64_t before)
{
    int64_t wanted = 0, points[3];
    const bool border = r->grid.cell.kind == VF_CELL_NONE; /* the grid may be larger */
    for (int n = 0; n < requests; n++)
        wanted += request[n].count;
    const int64_t placed = list->count - before;
    r->missing += wanted - placed;
    if (placed == wanted)
        return;
    placement_points(r->placement, points);
    if (r->water.solvent) {
        vf_warn(r->ctx,
                "only %lld of %lld ion%s placed: no water molecule is left whose oxygen is at least %g A from the "
                "solute's %s and %g A from every ion (of %lld water molecule%s, the solute excludes %lld and ions "
                "%lld); %s",
                (long long)placed, (long long)wanted, vf_plural(wanted), r->ions.ion_solute,
                r->ions.from_surface ? "surface" : "atoms", r->ions.ion_ion, (long long)r->water.count,
                vf_plural(r->water.count), (long long)points[VF_ION_SOLUTE], (long long)points[VF_ION_ION],
                points[VF_ION_ION] > points[VF_ION_SOLUTE]
                    ? "ions exclude most of them: lower --ion-ion, or use a larger box of water"
                    : "the solute excludes most of them: lower --ion-solute, or use a larger box of water");
        return;
    }
    vf_warn(r->ctx,
            "only %lld of %lld ion%s placed: no grid point is left at least %g A from the solute's %s and "
            "%g A from every ion (of %lld point%s, the solute excludes %lld and ions %lld); %s",
            (long long)placed, (long long)wanted, vf_plural(wanted), r->ions.ion_solute,
            r->ions.from_surface ? "surface" : "atoms", r->ions.ion_ion, (long long)vf_grid_points(&r->grid),
            vf_plural(vf_grid_points(&r->grid)), (long long)points[VF_ION_SOLUTE], (long long)points[VF_ION_ION],
            points[VF_ION_ION] > points[VF_ION_SOLUTE]
                ? border ? "ions exclude most of them: lower --ion-ion, or use a larger --border"
                         : "ions exclude most of them: lower --ion-ion"
            : border ? "the solute excludes most of them: use a larger --border, or lower --ion-solute"
                     : "the solute excludes most of them: lower --ion-solute");
}

static vf_status place(cionize_state *r, const ion_request *request, int requests)
{
    const int64_t before = r->placed.count;
    vf_status status = placement_place(r->placement, request, requests, &r->progress, &r->placed);
    if (status == VF_OK)
        note_missing(r, request, requests, &r->placed, before);
    return status;
}

/* Writes the ions of the script's last PLACEION, which end the list. */
static vf_status save_ions(const cionize_state *r, const script_command *command, int64_t first)
{
    const ion_list last = {.kind_count = r->placed.kind_count,
                           .kinds = r->placed.kinds,
                           .count = r->placed.count - first,
                           .sites = r->placed.sites + first};
    return write_list(r, command->path, &last, NULL);
}

static vf_status run_commands(cionize_state *r)
{
    int64_t last = 0;
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < r->script.commands; n++) {
        const script_command *command = &r->script.command[n];
        switch (command->verb) {
        case SCRIPT_PLACEION:
            last = r->placed.count;
            status = place(r, &command->request, 1);
            break;
        case SCRIPT_SAVEGRID:
            status = save_grid(r, command->path);
            break;
        case SCRIPT_SAVEION:
            status = save_ions(r, command, last);
            break;
        }
    }
    return status;
}

static vf_status write_files(cionize_state *r)
{
    molecule *all = r->water.solvent ? &r->water.whole : &r->molecule;
    vf_status status = r->water.solvent ? water_replace(r) : VF_OK;
    if (status == VF_OK && r->ions.ionized && r->ions.renumber)
        status = renumber_residues(r->ctx, all);
    const molecule written = in_cell_of_run(r, all);
    if (status == VF_OK && r->ions.ionized)
        status = write_list(r, r->ions.ionized, &r->placed, all->atoms > 0 ? &written : NULL);
    if (status == VF_OK && is_in_memory(r->ions.ions))
        status = keep_ions(r->settings.result, &r->placed);
    else if (status == VF_OK && r->ions.ions)
        status = write_list(r, r->ions.ions, &r->placed, NULL);
    if (status == VF_OK && r->ions.mask)
        status = write_mask(r);
    if (status == VF_OK && r->ions.map_with_ions)
        add_ions_to_map(r);
    if (status == VF_OK && r->ions.map_with_ions)
        status = write_map_with_ions(r, &r->after);
    return status;
}

vf_status ions_place(cionize_state *r)
{
    const solute_frames frames = {r->trajectory, &r->frames, r->plan.follows_cells};
    vf_status status;
    if (r->water.solvent) {
        r->water.places = (water_solvent){.count = r->water.count,
                                          .oxygen = (const double(*)[3])r->water.oxygen,
                                          .pair = potential_pair(&r->settings),
                                          .cell = r->settings.cell};
        status = placement_create_in_water(r->ctx, &r->water.places, &r->ions, &r->molecule, &r->placement);
    } else {
        status = solvent_for_ions(r);
        VF_TRY(status, placement_create(r->ctx, &r->plan, &r->ions, &r->molecule, r->trajectory ? &frames : NULL,
                                        r->settings.solvent.on ? &r->dissolved.of_ions : NULL, r->stored,
                                        r->settings.read_map || r->settings.trajectory || r->sources != &r->molecule,
                                        &r->placement));
    }
    if (status != VF_OK)
        return status;
    vf_progress_begin(&r->progress, stderr, r->settings.quiet ? VF_PROGRESS_OFF : r->settings.progress, "placing ions",
                      (double)r->wanted, 1, "ions");
    vf_progress_also(&r->progress, call_context(r));
    status = has_script(r) ? run_commands(r) : place(r, r->request, r->requests);
    vf_progress_end(&r->progress);
    placement_points(r->placement, r->points);
    return status == VF_OK ? write_files(r) : status;
}
