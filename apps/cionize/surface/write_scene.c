#include "write_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/output.h"

/* How viewers call the formats that all three read; "": by the ending. */
typedef struct map_words {
    const char *endings, *pymol, *vmd;
} map_words;
static const map_words formats[] = {
    {".dx", "dx", "dx"}, {".mrc .ccp4 .map", "ccp4", "ccp4"}, {".cube .cub", "cube", "cube"}};

static const map_words *format_of(const char *map)
{
    for (size_t n = 0; n < sizeof formats / sizeof *formats; n++)
        if (vf_path_has_extension(map, formats[n].endings))
            return &formats[n];
    return NULL;
}

bool scene_names(const char *name, char *out[SCENE_FILES])
{
    static const char *const endings[SCENE_FILES] = {".pml", ".cxc", ".vmd", "_molecule.pqr"};
    const int stem = (int)strlen(name) - (vf_path_has_extension(name, ".pml .cxc .vmd") ? 4 : 0);
    bool made = true;
    for (int n = 0; n < SCENE_FILES; n++)
        if (asprintf(&out[n], "%.*s%s", stem, name, endings[n]) < 0) {
            out[n] = NULL;
            made = false;
        }
    return made;
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    return true;
}

vf_status scene_check(vf_context *ctx, const char *name, const char *map)
{
    if (!map)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--scene needs a map for the viewers to read; add --map FILE");
    if (!is_plain(name) || !is_plain(map))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--scene: viewers cannot read names with control characters");
    if (!format_of(map))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--scene: not all viewers read %s; use a map in .dx, .mrc, .ccp4 or .cube",
                       map);
    return VF_OK;
}

/* ---- names within scripts ---- */

/* The folder of a path, resolved; free() it. NULL: it cannot be found. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    char *resolved = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return resolved;
}

/* The path as seen from the script's folder; free() it. */
static char *name_from(const char *script, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *here = folder_of(script), *there = folder_of(path), *name = NULL;
    if (here && there && strcmp(here, there) == 0)
        name = strdup(slash ? slash + 1 : path);
    else if (there && asprintf(&name, "%s/%s", strcmp(there, "/") == 0 ? "" : there, slash ? slash + 1 : path) < 0)
        name = NULL;
    free(here);
    free(there);
    return name;
}

/* Writes a text in double quotes, with backslashes before the characters that mean something there. */
static vf_status write_quoted(vf_output *out, const char *text, const char *special)
{
    vf_status status = vf_output_write(out, "\"", 1);
    for (; status == VF_OK && *text; text++) {
        if (strchr(special, *text))
            status = vf_output_write(out, "\\", 1);
        VF_TRY(status, vf_output_write(out, text, 1));
    }
    VF_TRY(status, vf_output_write(out, "\"", 1));
    return status;
}

/* A line that viewers do not read. The title may have any characters. */
static vf_status write_comment(vf_output *out, const scene *s, const char *how)
{
    vf_status status = vf_output_printf(out, "# ");
    for (const char *c = s->title; status == VF_OK && *c; c++)
        status = vf_output_write(out, *c >= ' ' && *c <= '~' && *c != '\\' ? c : "_", 1); /* a backslash would go on */
    VF_TRY(status, vf_output_printf(out, "\n# %s, in %s. Open with: %s\n", s->program, s->unit, how));
    return status;
}

/* ---- the scripts ---- */

static vf_status write_pymol(vf_output *out, const scene *s, const char *molecule, const char *map)
{
    const char *special = "\\\"";
    vf_status status = write_comment(out, s, "pymol FILE.pml");
    VF_TRY(status, vf_output_printf(out, "set normalize_ccp4_maps, 0\n"
                                         "python\n"
                                         "import os, pymol\n"
                                         "here = os.path.dirname(os.path.abspath(getattr(pymol, '__script__', '')))\n"
                                         "cmd.load(os.path.join(here, "));
    VF_TRY(status, write_quoted(out, molecule, special));
    VF_TRY(status, vf_output_printf(out, "), 'molecule', format='pqr')\ncmd.load(os.path.join(here, "));
    VF_TRY(status, write_quoted(out, map, special));
    VF_TRY(status, vf_output_printf(out, "), 'potential', format='%s')\npython end\n", format_of(s->map)->pymol));
    VF_TRY(status, vf_output_printf(out,
                                    "hide everything\n"
                                    "bg_color white\n"
                                    "set solvent_radius, %.9g\n"
                                    "set surface_solvent, %d\n"
                                    "# 1: colours are those of the potential a solvent radius above the surface\n"
                                    "set surface_ramp_above_mode, %d\n"
                                    "ramp_new scale, potential, [%.9g, 0, %.9g], [red, white, blue]\n"
                                    "show surface, molecule\n"
                                    "set surface_color, scale, molecule\n"
                                    "orient molecule\n",
                                    s->probe, s->accessible, s->offset > 0, -s->range, s->range));
    return status;
}

static vf_status write_chimerax(vf_output *out, const scene *s, const char *molecule, const char *map)
{
    const char *special = "\\\"";
    vf_status status = write_comment(out, s, "chimerax FILE.cxc");
    VF_TRY(status, vf_output_printf(out, "close session\nopen ")); /* so that the models are #1 and #2 */
    VF_TRY(status, write_quoted(out, molecule, special));
    VF_TRY(status, vf_output_printf(out, "\nopen "));
    VF_TRY(status, write_quoted(out, map, special));
    VF_TRY(status, vf_output_printf(out,
                                    "\n"
                                    "hide #1 atoms\n"
                                    "hide #1 cartoons\n"
                                    "hide #2 models\n"
                                    "surface #1 probeRadius %.9g\n"
                                    "color electrostatic #1 map #2 palette %.9g,red:0,white:%.9g,blue offset %.9g "
                                    "key true\n"
                                    "set bgColor white\n"
                                    "lighting soft\n"
                                    "view #1\n",
                                    s->probe, -s->range, s->range, s->offset));
    return status;
}

static vf_status write_vmd(vf_output *out, const scene *s, const char *molecule, const char *map)
{
    const char *special = "\\\"$[]{}";
    vf_status status = write_comment(out, s, "vmd -e FILE.vmd, in its folder; or, in VMD: source FILE.vmd");
    VF_TRY(status, vf_output_printf(out, "set here [file dirname [file normalize [info script]]]\n"
                                         "set molecule [mol new [file join $here "));
    VF_TRY(status, write_quoted(out, molecule, special));
    VF_TRY(status, vf_output_printf(out, "] type pqr waitfor all]\nmol addfile [file join $here "));
    VF_TRY(status, write_quoted(out, map, special));
    VF_TRY(status, vf_output_printf(out, "] type %s waitfor all\n", format_of(s->map)->vmd));
    VF_TRY(status, vf_output_printf(out,
                                    "mol delrep 0 $molecule\n"
                                    "mol representation QuickSurf 0.5 0.7 0.5 3\n"
                                    "mol color Volume 0\n"
                                    "mol selection all\n"
                                    "mol material AOChalky\n"
                                    "mol addrep $molecule\n"
                                    "mol scaleminmax $molecule 0 %.9g %.9g\n"
                                    "color scale method RWB\n"
                                    "color Display Background white\n"
                                    "display projection Orthographic\n"
                                    "display depthcue off\n"
                                    "display shadows on\n"
                                    "display ambientocclusion on\n"
                                    "axes location Off\n"
                                    "display resetview\n",
                                    -s->range, s->range));
    return status;
}

vf_status scene_write(vf_context *ctx, const scene *s, char *const names[SCENE_FILES])
{
    static vf_status (*const write[])(vf_output *, const scene *, const char *, const char *) = {
        [SCENE_PYMOL] = write_pymol, [SCENE_CHIMERAX] = write_chimerax, [SCENE_VMD] = write_vmd};
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && n <= SCENE_VMD; n++) {
        vf_output *out = NULL;
        char *molecule = name_from(names[n], s->molecule), *map = name_from(names[n], s->map);
        if (!molecule || !map)
            status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for the names of its files", names[n]);
        VF_TRY(status, vf_output_open(ctx, names[n], &out));
        VF_TRY(status, write[n](out, s, molecule, map));
        VF_TRY(status, vf_output_commit(&out));
        vf_output_discard(&out);
        free(molecule);
        free(map);
    }
    return status;
}
