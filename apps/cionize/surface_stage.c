/* The stage of the molecule's surface (--surface-mesh, --surface-picture, --scene): a mesh is made before the map, gets the potential
 * as the map's layers pass, and is written after them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "ions/ions.h"
#include "molecule/atom_radii.h"
#include "surface/draw_surface.h"
#include "surface_stage.h"
#include "voxfield/append.h"
#include "voxfield/device.h"
#include "voxfield/mesh_files.h"

bool surface_asked(const cionize_settings *s)
{
    return s->surface.mesh || s->surface.picture || s->surface.scene;
}

static vf_surface_kind kind_of(const cionize_state *r)
{
    const int kind = r->settings.solvent.surface;
    return kind == VF_SURFACE_SMOOTH ? VF_SURFACE_EXCLUDED : (vf_surface_kind)kind;
}

static const char *kind_text(const cionize_state *r, const char *angstrom, char *text, size_t size)
{
    static const char *const names[] = {[VF_SURFACE_VAN_DER_WAALS] = "van der Waals surface",
                                        [VF_SURFACE_ACCESSIBLE] = "solvent-accessible surface",
                                        [VF_SURFACE_EXCLUDED] = "solvent-excluded surface"};
    (void)snprintf(text, size, "%s", names[kind_of(r)]);
    if (kind_of(r) != VF_SURFACE_VAN_DER_WAALS)
        (void)vf_append(text, size, ", probe %g %s", r->settings.solvent.probe, angstrom);
    if (r->settings.surface.offset > 0)
        (void)vf_append(text, size, "; potential %g %s outside of it", r->settings.surface.offset, angstrom);
    return text;
}

/* ---- before the map ---- */

vf_status surface_name_files(cionize_state *r)
{
    if (!r->settings.surface.scene || scene_names(r->settings.surface.scene, r->surface.scene))
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the names of the scene's files");
}

/* The map that viewers read. */
static const char *map_path(const cionize_state *r)
{
    return r->settings.read_map ? r->settings.read_map : r->map.path;
}

const char *no_surface_in_cell(const cionize_state *r)
{
    if (r->grid.cell.kind == VF_CELL_NONE)
        return NULL;
    if (r->plan.follows_cells)
        return "the cell differs from frame to frame";
    return r->grid.cell.kind == VF_CELL_TRICLINIC ? "the cell is triclinic" : NULL;
}

vf_status surface_check(const cionize_state *r)
{
    const cionize_settings *s = &r->settings;
    if (!surface_asked(s))
        return VF_OK;
    const char *why = no_surface_in_cell(r);
    if (why)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "there is no surface: %s; use --picture, or --page, which has slices",
                       why);
    if (s->surface.scene && r->grid.cell.kind != VF_CELL_NONE)
        return vf_fail(
            r->ctx, VF_ERR_ARGUMENT,
            "--scene: the viewers do not repeat a periodic map; use --surface-mesh, --surface-picture or --page");
    vf_status status = s->surface.mesh ? vf_mesh_check_path(r->ctx, s->surface.mesh) : VF_OK;
    if (s->surface.scene)
        VF_TRY(status, scene_check(r->ctx, s->surface.scene, map_path(r)));
    VF_TRY(status, molecule_check_radii(r->ctx, s->input, &r->molecule));
    return status;
}

/* Vertices: 1.5 of them for each square of the spacing, on 3 square angstrom an atom, as proteins have; or, of a few atoms, those of a
 * sphere on the grid. Each takes some 100 bytes, with its triangles and with arrays that grow. */
static double plan_bytes(const cionize_state *r, const vf_grid *grid)
{
    const double h = grid->spacing[0], of_atoms = 1.5 * 3 * (double)r->molecule.atoms / (h * h);
    const double vertices = fmax(8 * pow((double)vf_grid_points(grid), 2.0 / 3), of_atoms);
    const double picture = r->settings.surface.picture ? surface_draw_bytes(r->ctx, (int64_t)vertices) : 0;
    return surface_bytes(grid) + 100 * vertices + picture;
}

static vf_status check_memory(const cionize_state *r, double bytes)
{
    char need[32], have[32];
    uint64_t available = 0, total = 0;
    vf_host_memory(&available, &total);
    if (bytes <= (double)available)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_MEMORY, "the molecule's surface takes about %s of memory, and %s is available",
                   vf_format_bytes(bytes, need, sizeof need), vf_format_bytes((double)available, have, sizeof have));
}

/* A page has the surface if there can be one. */
static bool page_has_surface(const cionize_state *r)
{
    return r->settings.page && !no_surface_in_cell(r) && molecule_has_radii(&r->molecule);
}

static vf_status make_mesh(cionize_state *r, map_order order)
{
    surface_state *s = &r->surface;
    vf_status status = surface_make(r->ctx, &r->molecule, kind_of(r), r->settings.solvent.probe, &s->grid, &s->mesh);
    if (status == VF_ERR_UNSUPPORTED && !surface_asked(&r->settings)) {
        char why[512];
        (void)snprintf(why, sizeof why, "%s", vf_context_message(r->ctx));
        vf_context_clear_error(r->ctx);
        vf_warn(r->ctx, "the page has no surface: %s", why);
        return VF_OK;
    }
    VF_TRY(status, surface_values_begin(r->ctx, &r->grid, order, r->settings.surface.offset, &s->mesh, &s->values));
    return status;
}

vf_status surface_begin(cionize_state *r, map_order order)
{
    surface_state *s = &r->surface;
    if (!surface_asked(&r->settings) && !page_has_surface(r))
        return VF_OK;
    s->grid = surface_grid(&r->molecule, kind_of(r), r->settings.solvent.probe);
    s->memory = plan_bytes(r, &s->grid);
    vf_status status = check_memory(r, s->memory);
    if (r->settings.dry_run)
        return status;
    if (r->trajectory && surface_asked(&r->settings))
        vf_note(r->ctx,
                "the surface is that of %s, and its colours are the mean over frames: they match if the frames are "
                "fitted to it",
                r->settings.input);
    vf_stage_begin(&r->stages, "surface");
    VF_TRY(status, make_mesh(r, order));
    vf_stage_end(&r->stages);
    return status;
}

/* ---- after it ---- */

static void choose_range(cionize_state *r)
{
    surface_state *s = &r->surface;
    s->levels = vf_ticks_symmetric(s->figures.typical, &s->range);
    const bool most = r->info.range > 0 && s->range > r->info.range; /* in a solvent */
    const double asked = r->settings.surface.range > 0 ? r->settings.surface.range : most ? r->info.range : 0;
    if (asked > 0) {
        s->range = asked;
        s->levels = vf_ticks_make(-asked, asked, asked / 5);
    }
}

static vf_status draw(const cionize_state *r)
{
    const surface_state *s = &r->surface;
    char words[128];
    const surface_drawing drawing = {.mesh = &s->mesh,
                                     .info = &r->info,
                                     .words = kind_text(r, "Å", words, sizeof words),
                                     .range = s->range,
                                     .levels = s->levels,
                                     .below = s->figures.least<-s->range, .above = s->figures.most> s->range,
                                     .missing = s->values.outside > 0};
    return surface_draw(r->ctx, &drawing, r->settings.surface.picture);
}

static vf_status write_mesh(const cionize_state *r)
{
    const surface_state *s = &r->surface;
    vf_colormap map;
    char words[128], comment[1024];
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    const vf_mesh_paint paint = {&map, -s->range, s->range};
    (void)snprintf(comment, sizeof comment, "%s at the %s of %s", r->info.quantity,
                   kind_text(r, "A", words, sizeof words), r->settings.input);
    const vf_mesh_words text = {"potential", r->settings.unit, "angstrom", comment, r->info.program};
    return vf_mesh_write(r->ctx, r->settings.surface.mesh, &s->mesh, &paint, &text);
}

static vf_status write_scene(cionize_state *r)
{
    const surface_state *s = &r->surface;
    const ion_list none = {0};
    char title[1024];
    (void)snprintf(title, sizeof title, "%s of %s", r->info.quantity, r->settings.input);
    const scene of = {.molecule = s->scene[SCENE_MOLECULE],
                      .map = map_path(r),
                      .title = title,
                      .program = r->info.program,
                      .unit = r->settings.unit,
                      .range = s->range,
                      .probe = r->settings.solvent.probe,
                      .offset = r->settings.surface.offset,
                      .accessible = kind_of(r) == VF_SURFACE_ACCESSIBLE};
    vf_status status = write_ions(r->ctx, of.molecule, &none, &r->molecule, NULL, NULL);
    VF_TRY(status, scene_write(r->ctx, &of, s->scene));
    return status;
}

vf_status surface_write(cionize_state *r)
{
    surface_state *s = &r->surface;
    if (!s->mesh.value)
        return VF_OK;
    if (s->values.outside > 0)
        vf_warn(r->ctx,
                "%lld of %lld vertices of the molecule's surface are outside of the map, where the potential is not "
                "known; use a larger grid",
                (long long)s->values.outside, (long long)s->mesh.vertices);
    vf_status status = surface_figures_find(r->ctx, &s->mesh, &s->figures);
    choose_range(r);
    if (status == VF_OK && r->settings.surface.mesh)
        status = write_mesh(r);
    if (status == VF_OK && r->settings.surface.picture)
        status = draw(r);
    if (status == VF_OK && s->scene[0])
        status = write_scene(r);
    return status;
}

void surface_free(cionize_state *r)
{
    surface_values_free(&r->surface.values);
    vf_mesh_free(&r->surface.mesh);
    for (int n = 0; n < SCENE_FILES; n++)
        free(r->surface.scene[n]);
}

/* ---- what is told ---- */

void surface_facts(facts *f, const cionize_state *r)
{
    const surface_state *s = &r->surface;
    const surface_settings *of = &r->settings.surface;
    char words[128], memory[32];
    if (!surface_asked(&r->settings))
        return;
    fact_begin(f, "surface");
    fact_text(f, "kind", kind_text(r, "A", words, sizeof words));
    fact_number(f, "spacing", s->grid.spacing[0]);
    fact_number(f, "memory", s->memory);
    fact_say(f, LINE_SURFACE_PLAN, "surface    %s; found every %.3g A, about %s of memory",
             kind_text(r, "A", words, sizeof words), s->grid.spacing[0],
             vf_format_bytes(s->memory, memory, sizeof memory));
    if (s->mesh.value) {
        fact_integer(f, "vertices", s->mesh.vertices);
        fact_integer(f, "triangles", s->mesh.triangles);
        fact_integer(f, "vertices_outside_of_the_map", s->values.outside);
        fact_number(f, "area", vf_mesh_area(&s->mesh));
        fact_number(f, "volume", vf_mesh_volume(&s->mesh));
        fact_number(f, "minimum", s->figures.least);
        fact_number(f, "maximum", s->figures.most);
        fact_number(f, "mean", s->figures.mean);
        fact_number(f, "range", s->range);
        fact_say(f, LINE_SURFACE,
                 "surface    area %.6g A^2, volume %.6g A^3, %lld triangles; potential %.4g to %.4g, mean %.4g %s",
                 vf_mesh_area(&s->mesh), vf_mesh_volume(&s->mesh), (long long)s->mesh.triangles, s->figures.least,
                 s->figures.most, s->figures.mean, r->settings.unit);
    }
    if (of->mesh)
        fact_text(f, "mesh", of->mesh);
    if (of->picture)
        fact_text(f, "picture", of->picture);
    if (of->scene)
        fact_text(f, "scene", of->scene);
    const char *const paths[] = {of->mesh,
                                 of->picture,
                                 s->scene[SCENE_PYMOL],
                                 s->scene[SCENE_CHIMERAX],
                                 s->scene[SCENE_VMD],
                                 s->scene[SCENE_MOLECULE]};
    for (size_t n = 0; s->mesh.value && n < sizeof paths / sizeof *paths; n++)
        if (paths[n])
            fact_say(f, LINE_SURFACE, "\n           %s", paths[n]);
    fact_end(f);
}
