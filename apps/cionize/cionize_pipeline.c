/* The stages of cionize, in the order data flows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_stage.h"
#include "cell_stage.h"
#include "cionize_facts.h"
#include "cionize_page.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "job.h"
#include "kept_layers_stage.h"
#include "molecule/atom_radii.h"
#include "molecule/molecule_memory.h"
#include "molecule/molecule_part.h"
#include "point_stage.h"
#include "potential/average.h"
#include "potential/potential_common.h"
#include "solvent_stage.h"
#include "surface_stage.h"
#include "voxfield/append.h"
#include "voxfield/version.h"

/* ---- the plan ---- */

static vf_status check_size(cionize_state *r)
{
    const map_output *const outputs[] = {&r->map, &r->after, &r->deviation};
    int64_t points = vf_grid_points(&r->grid);
    for (int n = 0; n < 3; n++) {
        const map_format *format = outputs[n]->format;
        if (format && format->max_points > 0 && points > format->max_points)
            return vf_fail(r->ctx, VF_ERR_UNSUPPORTED, "%s: %lld points are too many for %s: %s", outputs[n]->path,
                           (long long)points, format->name, format->max_reason);
    }
    return VF_OK;
}

static void describe(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    program_time(r->created);
    map_quantity(r->read.ions, s->solvent.on, r->quantity);
    if (s->read_map)
        snprintf(r->method, sizeof r->method, "read from %.100s", s->read_map);
    else if (only_points(r))
        snprintf(r->method, sizeof r->method, "%s", points_asked(r) ? "sum at points, double precision" : "energies");
    else if (r->water.no_map)
        snprintf(r->method, sizeof r->method, "sums at the oxygens of water molecules");
    else if (r->water.solvent)
        snprintf(r->method, sizeof r->method, "%s (%s), %s precision; without %lld water molecules of the file",
                 r->plan.method->title, r->plan.variant, s->precision == VF_F64 ? "double" : "single",
                 (long long)r->water.count);
    else
        snprintf(r->method, sizeof r->method, "%s (%s), %s precision%s", r->plan.method->title, r->plan.variant,
                 s->precision == VF_F64 ? "double" : "single", r->trajectory ? ", mean over frames" : "");
    if (!s->read_map && r->plan.method && r->plan.method->cuts_off) {
        char law[64];
        vf_append(r->method, sizeof r->method, "; %s", cutoff_text(s, law, sizeof law));
    }
    r->info = (map_info){
        .grid = r->grid,
        .type = s->precision,
        .quantity = r->quantity,
        .unit = s->unit,
        .program = "cionize (Voxfield) " VF_VERSION,
        .command = r->command,
        .created = r->created,
        .method = r->method,
        .input = s->input,
        .unit_constant = potential_constant(s->unit, s->temperature),
        .temperature = s->temperature,
        .dielectric = s->dielectric,
        .distance_dielectric = s->distance_dielectric,
        .r_min = s->r_min,
        .sigma = s->sigma,
        .vacuum = s->vacuum,
        .cutoff = s->read_map ? 0 : s->cutoff,
        .error.asked = s->read_map || !r->plan.method || r->plan.method->tolerance[s->precision] == 0 ? 0 : s->accuracy,
        .error.cutoff = s->read_map ? 0 : s->cutoff,
        .molecule = &r->molecule,
        .sources = r->sources,
        .result = s->result,
        .array = "map",
        .selection = r->selection,
    };
    solvent_describe(r);
    r->deviation_info = r->info;
    r->deviation_info.error = (map_error){0};
    r->deviation_info.array = "deviation";
    r->deviation_info.quantity = "standard deviation over frames of the electrostatic potential";
}

/* The grid must hold all averaged frames: finds their bounds. */
static vf_status find_bounds(cionize_state *r)
{
    molecule *m = &r->molecule;
    const int64_t atoms = trajectory_atoms(r->trajectory);
    double *data = malloc((size_t)atoms * 3 * sizeof *data);
    vf_status status = data ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for %lld atoms", (long long)atoms);
    for (int64_t f = 0; status == VF_OK && f < r->frames.count; f++) {
        const int64_t frame = r->frames.first + f * r->frames.step;
        status = trajectory_read(r->trajectory, frame, data, data + atoms, data + 2 * atoms);
        VF_TRY(status, trajectory_check_places(r->trajectory, frame, data, data + atoms, data + 2 * atoms));
        if (status == VF_OK)
            r->frames_digest = vf_fingerprint(r->frames_digest, data, 3 * (size_t)atoms * sizeof *data);
        if (status == VF_OK)
            molecule_gather(m, data, data + atoms, data + 2 * atoms);
        for (int a = 0; status == VF_OK && a < 3; a++)
            for (int64_t i = 0; i < m->atoms; i++) {
                const double x = data[a * atoms + i];
                m->lo[a] = (f == 0 && i == 0) || x < m->lo[a] ? x : m->lo[a];
                m->hi[a] = (f == 0 && i == 0) || x > m->hi[a] ? x : m->hi[a];
            }
        if (status == VF_OK && vf_cancelled(r->ctx))
            status = vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(data);
    return status;
}

static vf_status open_trajectory(cionize_state *r)
{
    vf_status status = trajectory_open(r->ctx, r->settings.trajectory, &r->trajectory);
    VF_TRY(status, parse_frames(r->ctx, r->settings.frames ? r->settings.frames : ":", "the trajectory",
                                trajectory_frames(r->trajectory), &r->frames));
    if (status != VF_OK)
        return status;
    const int64_t atoms = trajectory_atoms(r->trajectory), expected = r->molecule.atoms;
    if (atoms != expected)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s has %lld atom%s, but %s has %lld; both must describe the same system",
                       trajectory_path(r->trajectory), (long long)atoms, vf_plural(atoms), r->settings.input,
                       (long long)expected);
    const molecule *m = &r->molecule;
    return trajectory_compare(r->trajectory, r->frames.first, r->settings.input, m->x, m->y, m->z);
}

static map_order output_order(const cionize_state *r)
{
    return r->map.format ? r->map.format->order : r->deviation.format ? r->deviation.format->order : MAP_X_FASTEST;
}

static vf_status plan_map(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    return potential_prepare(r->ctx, s, r->sources, &r->grid, output_order(r), s->trajectory ? r->frames.count : 1,
                             &r->plan);
}

static bool only_a_part(const cionize_state *r)
{
    return kept_is_part(&r->kept.pieces);
}

/* Neither a map nor its plan is needed. */
static bool makes_no_map(const cionize_state *r)
{
    return only_points(r) || r->water.no_map;
}

static vf_status plan(cionize_state *r)
{
    bool follows = false, differs = false;
    vf_status status = r->settings.trajectory ? open_trajectory(r) : VF_OK;
    VF_TRY(status, take_cell(r, &follows));
    if (status == VF_OK && r->settings.read_map)
        status = open_read_map(r);
    VF_TRY(status, water_prepare(r));
    VF_TRY(status, solvent_take_molecule(r));
    VF_TRY(status, solvent_prepare(r));
    VF_TRY(status, take_selections(r));
    VF_TRY(status, warn_of_cut_molecules(r));
    VF_TRY(status, energies_prepare(r));
    VF_TRY(status, spacing_choose(r));
    if (status == VF_OK && r->trajectory && !energies_asked(r)) /* each frame has a grid of its own for energies */
        status = find_bounds(r);
    if (status == VF_OK && r->settings.read_map) {
        status = take_read_map(r);
        VF_TRY(status, surface_check(r));
        return status;
    }
    r->plan.follows_cells = follows;
    r->grid.cell = r->settings.cell;
    const bool no_map = makes_no_map(r);
    if (!no_map || r->settings.points.field_map || r->settings.solvent.on)
        VF_TRY(status, plan_grid(r->ctx, &r->settings, &r->molecule, &r->grid));
    VF_TRY(status, solvent_check_grid(r));
    VF_TRY(status, surface_check(r));
    if (status != VF_OK || no_map)
        return status;
    status = check_size(r);
    VF_TRY(status, plan_map(r));
    VF_TRY(status, take_job_plan(r, &differs));
    if (status == VF_OK && differs)
        status = plan_map(r);
    r->plan.follows_cells = follows;
    return status;
}

/* From the molecule to the plan. All checks of the input are here, before any work. */
static vf_status prepare(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    vf_stage_begin(&r->stages, "read");
    vf_status status = r->ions.script ? take_script(r) : VF_OK;
    if (status == VF_OK && !s->read_map && !only_points(r))
        potential_warm_up(r->ctx, s, program_file_bytes(s->input));
    VF_TRY(status, prepare_output(r));
    VF_TRY(status, s->arrays ? read_molecule_memory(r->ctx, s->arrays, &r->molecule)
                             : read_molecule_choosing(r->ctx, s->input, s->charges, s->altloc, &r->molecule));
    if (status == VF_OK && s->bondi)
        status = molecule_give_radii(r->ctx, s->input, &r->molecule, &r->radii_given);
    if (status != VF_OK)
        return status;
    if (s->solvent.on || surface_asked(s) || s->radial || r->ions.from_surface)
        molecule_warn_of_small_radii(r->ctx, s->input, &r->molecule);
    status = cionize_tell(r, TELL_MOLECULE, 0, NULL);
    vf_stage_begin(&r->stages, "plan");
    VF_TRY(status, plan(r));
    VF_TRY(status, points_prepare(r));
    if (status == VF_OK && only_points(r)) {
        describe(r);
        forecast_run(r);
        return cionize_tell(r, TELL_PLAN, 0, NULL);
    }
    const bool places = ions_asked(r) && s->pieces.parts == 0 && !job_is_other(&s->pieces);
    if (status == VF_OK && places)
        status = ions_make_store(r);
    if (status == VF_OK && ions_asked(r))
        status = ions_prepare(r);
    if (status == VF_OK && !r->water.no_map)
        status = kept_layers_begin(r);
    if (status != VF_OK)
        return status;
    if (!only_a_part(r) && !job_is_other(&s->pieces)) {
        status = analyses_begin(r);
        VF_TRY(status, surface_begin(r, output_order(r)));
    }
    if (status != VF_OK)
        return status;
    r->evaluations = r->plan.evaluations * (double)r->plan.maps;
    if (r->kept.pieces.items > 0)
        r->evaluations *= (double)kept_missing(&r->kept.pieces) / (double)r->kept.pieces.items;
    describe(r);
    forecast_run(r);
    status = cionize_tell(r, TELL_PLAN, 0, NULL);
    if (status == VF_OK && s->dry_run && !s->quiet && !s->read_map && !r->water.no_map)
        status = plan_job(r);
    return status == VF_OK && places ? cionize_tell(r, TELL_IONS, 0, NULL) : status;
}

/* ---- the map ---- */

/* Shows how much is done: a part of the map's points, or of the frames, after what comes before the first value. So
 * the time left follows from the time that has passed, whatever slows the machine down, writing included. */
static void show_part(void *user, double part)
{
    cionize_state *r = user;
    const double preparing = r->trajectory ? 0 : r->plan.preparing;
    if (r->plan.ranks)
        part = vf_ranks_part(r->plan.ranks);
    vf_progress_update(&r->progress, r->evaluations * (preparing + (1 - preparing) * part));
}

/* Passes layers to all that want them. */
static vf_status pass_layers(cionize_state *r, int64_t first, int64_t count, const void *mean, const void *deviation)
{
    error_points_take(r->check, first, count, mean); /* of the sum */
    vf_status status = solvent_layers(r, first, count, &mean);
    VF_TRY(status, r->stored ? store_layers(r->ctx, &r->grid, r->settings.precision, r->map.order, first, count, mean,
                                            r->stored)
                             : VF_OK);
    VF_TRY(status, map_output_take(&r->map, first, count, mean));
    const map_layers layers = {r->map.order, r->settings.precision, first, count, mean};
    VF_TRY(status, analyses_take(r, &layers));
    return status == VF_OK && r->deviation.path ? map_output_take(&r->deviation, first, count, deviation) : status;
}

static vf_status take_layers(void *user, int64_t first, int64_t count, const void *values)
{
    cionize_state *r = user;
    const int64_t layers = r->grid.counts[potential_slab_axis(r->map.order)], made = r->kept.made + count;
    const int64_t wanted = r->kept.pieces.items > 0 ? kept_missing(&r->kept.pieces) : layers;
    const vf_status status = kept_layers_take(r, first, count, values, NULL, pass_layers);
    show_part(r, (double)made / (double)wanted);
    return status;
}

static vf_status take_averages(void *user, int64_t first, int64_t count, const void *mean, const void *deviation)
{
    return kept_layers_take(user, first, count, mean, deviation, pass_layers);
}

static vf_status check_places(const cionize_state *r)
{
    if (only_a_part(r))
        return VF_OK;
    const map_output *const outputs[] = {&r->map, &r->after, &r->deviation};
    const char *const others[] = {r->settings.picture,
                                  r->settings.page,
                                  r->ions.ionized,
                                  r->ions.ions,
                                  r->ions.mask,
                                  r->settings.profile,
                                  r->settings.radial,
                                  r->settings.surface.mesh,
                                  r->settings.surface.picture,
                                  r->settings.solvent.energies,
                                  r->settings.points.out,
                                  r->field_files > 0 ? r->field_names[0] : NULL};
    enum { OTHERS = sizeof others / sizeof *others };
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && n < 3; n++)
        if (outputs[n]->path)
            status = program_check_place(r->ctx, outputs[n]->path, map_output_bytes(outputs[n]->format, &r->info),
                                         "use a larger --spacing");
    for (int n = 0; status == VF_OK && n < OTHERS; n++)
        if (others[n])
            status = program_check_place(r->ctx, others[n], 0, "");
    for (int n = 0; status == VF_OK && n < r->settings.solvent.maps; n++)
        status = program_check_place(r->ctx, r->settings.solvent.map[n].path, 0, "");
    for (int n = 0; status == VF_OK && n < SCENE_FILES; n++)
        if (r->surface.scene[n])
            status = program_check_place(r->ctx, r->surface.scene[n], 0, "");
    for (int64_t n = 0; status == VF_OK && n < r->script.commands; n++)
        if (r->script.command[n].path)
            status = program_check_place(r->ctx, r->script.command[n].path, 0, "");
    return status;
}

static vf_status begin_outputs(cionize_state *r)
{
    r->info.placed = r->kept.pieces.data;
    vf_status status = map_output_begin(&r->map);
    if (status == VF_OK && r->settings.deviation)
        status = map_output_begin(&r->deviation);
    VF_TRY(status, error_points_make(r->ctx, &r->plan, r->sources, r->trajectory, &r->frames, &r->check));
    return status;
}

/* The layers that are not there yet. */
static vf_status sum_layers(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    r->slabs_done = calloc((size_t)vf_context_device_count(r->ctx), sizeof *r->slabs_done);
    if (!r->slabs_done)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    if (r->kept.pieces.items > 0 && (kept_missing(&r->kept.pieces) == 0 || (r->plan.ranks && r->plan.listed == 0)))
        return VF_OK;
    vf_progress_begin(&r->progress, stderr, s->quiet ? VF_PROGRESS_OFF : s->progress, "computing", r->evaluations, 1e-9,
                      "G evaluations");
    vf_progress_also(&r->progress, call_context(r));
    const vf_status status =
        r->trajectory
            ? average_compute(r->ctx, r->sources, r->trajectory, &r->frames, &r->plan, take_averages, show_part, r)
            : potential_compute(r->ctx, r->sources, &r->plan, take_layers, r, r->slabs_done);
    vf_progress_end(&r->progress);
    return status;
}

static vf_status sum_map(cionize_state *r)
{
    r->map.order = output_order(r);
    r->deviation.order = r->map.order;
    vf_status status = only_a_part(r) ? VF_OK : begin_outputs(r);
    if (status == VF_OK && !only_a_part(r) && !job_is_other(&r->settings.pieces))
        status = solvent_solve(r);
    vf_stage_begin(&r->stages, "compute");
    VF_TRY(status, sum_layers(r));
    status = kept_collect(&r->kept.pieces, status);
    VF_TRY(status, kept_layers_rest(r, pass_layers));
    if (status == VF_OK && r->check)
        r->info.error = error_points_result(r->ctx, r->check, &r->map.figures);
    return status;
}

static vf_status compute(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    vf_status status = check_places(r);
    if (status != VF_OK || makes_no_map(r))
        return status;
    vf_stage_begin(&r->stages, "compute");
    if (s->read_map && job_is_other(&s->pieces))
        return VF_OK;
    if (!s->read_map)
        return sum_map(r);
    const map_layers layers = {MAP_X_FASTEST, r->read.type, 0, r->grid.counts[2], r->stored};
    status = write_stored_map(r->ctx, &r->plan, r->stored, NULL, &r->map);
    return status == VF_OK ? analyses_take(r, &layers) : status;
}

/* Commits the files of the map. */
static vf_status commit(cionize_state *r)
{
    vf_stage_begin(&r->stages, "write");
    vf_status status = analyses_end(r);
    if (status == VF_OK && !r->settings.read_map)
        status = map_output_commit(&r->map);
    if (status == VF_OK && r->settings.deviation)
        status = map_output_commit(&r->deviation);
    VF_TRY(status, analyses_write(r));
    VF_TRY(status, surface_write(r));
    vf_stage_end(&r->stages);
    return status;
}

static vf_status place_ions(cionize_state *r)
{
    const double began = vf_now();
    vf_stage_begin(&r->stages, "place");
    vf_status status = ions_place(r);
    vf_stage_end(&r->stages);
    return status == VF_OK ? cionize_tell(r, TELL_PLACED, vf_now() - began, NULL) : status;
}

static vf_status execute(cionize_state *r, vf_report **report)
{
    vf_status status = compute(r);
    const double seconds = vf_stage_seconds(&r->stages, "compute") + vf_now() - r->stages.since;
    if (status == VF_OK && !only_a_part(r) && !makes_no_map(r))
        status = commit(r);
    if (status == VF_OK && !makes_no_map(r))
        status = cionize_tell(r, TELL_DONE, seconds, NULL);
    VF_TRY(status, points_run(r));
    VF_TRY(status, energies_run(r));
    VF_TRY(status, solvent_write_maps(r));
    if (status == VF_OK && ions_asked(r) && !only_a_part(r) && !job_is_other(&r->settings.pieces))
        status = place_ions(r);
    if (status != VF_OK)
        return status;
    vf_stage_end(&r->stages);
    status = page_write(r, seconds);
    VF_TRY(status, cionize_tell(r, TELL_REPORT, seconds, *report));
    VF_TRY(status, r->settings.result ? result_take_report(r->settings.result, report) : vf_report_commit(report));
    if (status == VF_OK && r->missing > 0)
        status = vf_fail(r->ctx, VF_ERR_INCOMPLETE, "%lld of %lld ion%s did not fit; the files have those that did",
                         (long long)r->missing, (long long)r->wanted, vf_plural(r->wanted));
    return status;
}

static void free_run(cionize_state *r)
{
    map_output_discard(&r->map);
    map_output_discard(&r->after);
    map_output_discard(&r->deviation);
    placement_destroy(r->placement);
    error_points_free(r->check);
    ion_list_free(&r->placed);
    free(r->request);
    if (r->stored != r->read.values)
        free(r->stored);
    map_free(&r->read);
    trajectory_close(r->trajectory);
    script_free(&r->script);
    kept_layers_free(r);
    molecule_free(&r->molecule);
    symmetry_free(&r->cell_symmetry);
    molecule_free(&r->acting);
    free(r->selection);
    free(r->acting_charge);
    water_free(&r->water);
    solvent_free(r);
    free(r->slabs_done);
    free(r->page.sums);
    free(r->default_name);
    free(r->profile_name);
    analyses_free(r);
    surface_free(r);
    free(r->points_name);
    points_free(&r->at_points);
    free(r->command);
}

vf_status cionize_run(vf_context *ctx, const cionize_settings *settings)
{
    cionize_state r = {.ctx = ctx, .began = vf_now(), .settings = *settings, .ions = *settings->ions};
    vf_report *report = NULL;
    vf_status status = VF_OK;
    r.sources = &r.molecule;
    r.command = program_command(settings->program);
    if (!r.command)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    if (settings->result && !settings->dry_run)
        status = vf_report_create_text(ctx, &report);
    else if (settings->report && !settings->dry_run)
        status = vf_report_create(ctx, settings->report, &report);
    VF_TRY(status, prepare(&r));
    if (status == VF_OK && !settings->dry_run)
        status = execute(&r, &report);
    status = kept_end(&r.kept.pieces, status);
    vf_report_discard(&report);
    free_run(&r);
    return status;
}
