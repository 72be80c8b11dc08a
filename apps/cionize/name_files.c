/* Decides which files a run writes, and checks their names before any work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_stage.h"
#include "batch.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "point_stage.h"
#include "surface_stage.h"

/* ---- names of files ---- */

const char *const cionize_endings[] = {
    ".pqr",      ".pqr.gz",  ".pdb",   ".pdb.gz", ".ent", ".ent.gz", ".gro",   ".gro.gz",   ".inpcrd", ".inpcrd.gz",
    ".rst7",     ".rst7.gz", ".rst",   ".rst.gz", ".crd", ".crd.gz", ".cor",   ".cor.gz",   ".coor",   ".coor.gz",
    ".ncrst.gz", ".nc.gz",   ".ncrst", ".nc",     ".cif", ".cif.gz", ".mmcif", ".mmcif.gz", NULL};

/* "a/b.pqr" -> "a/b.dx". Extensions that are not a molecule's are kept: "a/b.txt" -> "a/b.txt.dx". An input in /dev or
 * /proc (/dev/stdin, /dev/fd/63) may be a pipe, and nobody would look for a map beside it. */
static vf_status default_name(cionize_state *r, const char *ending, char **store, const char **name)
{
    const char *input = r->settings.input;
    char numbered[64];
    const bool file = strncmp(input, "/dev/shm/", 9) == 0;
    if (!file && (strncmp(input, "/dev/", 5) == 0 || strncmp(input, "/proc/", 6) == 0))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "%s: cannot make an output name from this input; use %s to name the output", input,
                       store == &r->points_name ? "--points-out" : "-o");
    if (r->settings.select_number > 0) { /* of several selections: "_2.dx" */
        const char *extension = strrchr(ending, '.');
        snprintf(numbered, sizeof numbered, "%.*s_%d%s", (int)(extension - ending), ending, r->settings.select_number,
                 extension);
        ending = numbered;
    }
    *store = batch_output_name(r->settings.pieces.folder, r->settings.input, cionize_endings, ending);
    *name = *store;
    return *store ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
}

/* An output must not replace an input, nor another output. */
static vf_status check_names(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool read_anyway = s->cell_file && (strcmp(s->cell_file, s->input) == 0 ||
                                              (s->trajectory && strcmp(s->cell_file, s->trajectory) == 0));
    const bool with_itself = s->compare && s->read_map && strcmp(s->compare, s->read_map) == 0;
    const char *points = s->points.points;
    const char *points_file = points && strcmp(points, "atoms") != 0 && strcmp(points, s->input) != 0 ? points : NULL;
    const program_file files[] = {{"the input", s->input},
                                  {"the charges", s->charges},
                                  {"the map to read", s->read_map},
                                  {"the trajectory", s->trajectory},
                                  {"the script", r->ions.script},
                                  {"the map", r->map.path ? r->map.path : r->after.path},
                                  {"the deviation map", s->deviation},
                                  {"the map to compare with", with_itself ? NULL : s->compare},
                                  {"the picture", s->picture},
                                  {"the page", s->page},
                                  {"the profile", s->profile},
                                  {"the distribution by distance", s->radial},
                                  {"the surface's mesh", s->surface.mesh},
                                  {"the surface's picture", s->surface.picture},
                                  {"the report", s->report},
                                  {"the output with ions", r->ions.ionized},
                                  {"the ions", r->ions.ions},
                                  {"the mask", r->ions.mask},
                                  {"the energies", s->solvent.energies},
                                  {"the points", points_file},
                                  {"the values at points", s->points.out},
                                  {"the field map", r->field_files > 0 ? r->field_names[0] : NULL},
                                  {"the field map along y", r->field_files > 1 ? r->field_names[1] : NULL},
                                  {"the field map along z", r->field_files > 2 ? r->field_names[2] : NULL},
                                  {"the file with the cell", read_anyway ? NULL : s->cell_file}};
    enum { FILES = sizeof files / sizeof *files };
    program_file *all = malloc((FILES + MOST_SOLVENT_MAPS + SCENE_FILES + (size_t)r->script.commands) * sizeof *all);
    if (!all)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the names of %lld files", (long long)r->script.commands);
    memcpy(all, files, sizeof files);
    int count = FILES;
    for (int n = 0; n < s->solvent.maps; n++)
        all[count++] = (program_file){"a map of --solvent-map", s->solvent.map[n].path};
    for (int n = 0; n < SCENE_FILES; n++)
        all[count++] = (program_file){"a file of --scene", r->surface.scene[n]};
    for (int64_t n = 0; n < r->script.commands; n++)
        all[count++] = (program_file){"a file of the script", r->script.command[n].path};
    vf_status status = program_check_names(r->ctx, all, count);
    free(all);
    return status;
}

/* Checks the extensions of files that the script names, before any work. */
static vf_status check_script_formats(const cionize_state *r)
{
    const map_format *format;
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < r->script.commands; n++) {
        const script_command *command = &r->script.command[n];
        if (command->verb == SCRIPT_SAVEGRID)
            status = map_format_for(r->ctx, command->path, &format);
        else if (command->verb == SCRIPT_SAVEION)
            status = check_ions_path(r->ctx, command->path);
    }
    return status;
}

/* Rejects options that exclude each other, and options whose prerequisite is missing. */
static vf_status check_combinations(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool ions = ions_asked(r);
    const char *const needs_ions[][2] = {{"--ions", r->ions.ions},
                                         {"--mask", r->ions.mask},
                                         {"-o with .pdb, .pqr, .gro or .xyz", r->ions.ionized},
                                         {"--map-with-ions", r->ions.map_with_ions ? "" : NULL},
                                         {"--refine", r->ions.refine ? "" : NULL},
                                         {"--from-surface", r->ions.from_surface ? "" : NULL}};
    for (size_t n = 0; !ions && n < sizeof needs_ions / sizeof *needs_ions; n++)
        if (needs_ions[n][1])
            return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                           "%s needs ions: add --place, --neutralize or "
                           "--concentration",
                           needs_ions[n][0]);
    if (s->read_map && !ions && !analyses_asked(s) && !surface_asked(s))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--read-map needs ions or a study of the map: add --place, --neutralize, --concentration, "
                       "--compare, --profile, --radial, --surface-picture, --surface-mesh, --scene or --page");
    if (s->read_map && s->trajectory)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--read-map cannot be combined with --trajectory");
    if (s->read_map && (s->selected || s->minus || points_asked(r)))
        return vf_fail(
            r->ctx, VF_ERR_ARGUMENT,
            "%s: an existing map cannot be combined with --select, --minus, --points or --field-map; leave them "
            "out, or let the map be computed",
            s->read_map);
    if (s->profile && s->pieces.folder)
        return vf_fail(
            r->ctx, VF_ERR_ARGUMENT,
            "--profile: all inputs of --output-dir would write %s; give the axis alone, and the table is named after "
            "each input",
            s->profile);
    if (s->symmetry == SYMMETRY_EXPAND && s->trajectory)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--symmetry expand cannot be combined with --trajectory: frames have no symmetry");
    if (s->read_map && s->variant)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--method variants apply to computed maps, but the map is read from %s; leave out one of them",
                       s->read_map);
    if (r->ions.map_with_ions && !s->map && !s->picture)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--map-with-ions needs a map or a picture: add --map or --picture");
    if (r->ions.refine && (s->read_map || s->trajectory))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT,
                       "--refine needs the potential between grid points, which %s does not give",
                       s->read_map ? "an existing map" : "an average over frames");
    return VF_OK;
}

/* The files of points and of the field map. */
static vf_status name_points(cionize_state *r)
{
    point_settings *p = &r->settings.points;
    vf_status status = VF_OK;
    if (p->points && !p->out)
        status = default_name(r, "_points.csv", &r->points_name, &p->out);
    if (status == VF_OK && p->points && !is_in_memory(p->out))
        status = points_check_path(r->ctx, p->out);
    if (status == VF_OK && p->field_map)
        status = field_map_names(r->ctx, p->field_map, &r->field_files, r->field_names);
    return status;
}

vf_status prepare_output(cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    const bool ions = ions_asked(r);
    const char *map = s->map;
    vf_status status = check_combinations(r);
    const bool unnamed = !map && !ions && !s->read_map && !only_points(r);
    if (status == VF_OK && unnamed && s->result)
        map = in_memory;
    else if (status == VF_OK && unnamed)
        status = default_name(r, ".dx", &r->default_name, &map);
    if (status == VF_OK && s->has_profile && !s->profile) {
        const char *const endings[] = {"_profile_x.csv", "_profile_y.csv", "_profile_z.csv"};
        status = default_name(r, endings[s->profile_axis], &r->profile_name, &r->settings.profile);
    }
    VF_TRY(status, name_points(r));
    VF_TRY(status, surface_name_files(r));
    if (status == VF_OK && ions && !r->ions.script && !r->ions.ionized && !r->ions.ions && !r->ions.mask &&
        !r->ions.map_with_ions)
        status = default_name(r, "_ionized.pdb", &r->default_name, &r->ions.ionized);
    map_output *out = r->ions.map_with_ions ? &r->after : &r->map;
    r->map = r->after = r->deviation = (map_output){.ctx = r->ctx, .info = &r->info};
    r->deviation.info = &r->deviation_info;
    out->path = map;
    out->picture = s->picture;
    r->deviation.path = s->deviation;
    if (status == VF_OK && map)
        status = map_format_for(r->ctx, map, &out->format);
    if (status == VF_OK && s->deviation)
        status = map_format_for(r->ctx, s->deviation, &r->deviation.format);
    if (status == VF_OK && s->deviation && r->map.format && r->map.format->order != r->deviation.format->order)
        status = vf_fail(r->ctx, VF_ERR_ARGUMENT, "%s and %s have different value orders; use the same format for both",
                         map, s->deviation);
    const char *const lists[] = {r->ions.ionized, r->ions.ions};
    for (int n = 0; status == VF_OK && n < 2; n++)
        if (lists[n] && !is_in_memory(lists[n]))
            status = check_ions_path(r->ctx, lists[n]);
    const map_format *mask;
    if (status == VF_OK && r->ions.mask)
        status = map_format_for(r->ctx, r->ions.mask, &mask);
    VF_TRY(status, check_script_formats(r));
    return status == VF_OK ? check_names(r) : status;
}
