/* Several selections: a run for each, whose outputs have its number in their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_settings.h"
#include "ions/ions.h"
#include "voxfield/output.h"

/* "a/b.dx.gz" -> "a/b_2.dx.gz"; NULL: no memory */
static char *numbered(const char *path, int number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t size = strlen(path) + 16;
    size_t stem = strlen(path);
    for (int dots = vf_path_has_extension(path, ".gz") ? 2 : 1; dots > 0; dots--) {
        size_t at = stem;
        while (at > (size_t)(name - path) + 1 && path[at - 1] != '.')
            at--;
        stem = at > (size_t)(name - path) + 1 ? at - 1 : stem;
    }
    char *out = malloc(size);
    if (out)
        snprintf(out, size, "%.*s_%d%s", (int)stem, path, number, path + stem);
    return out;
}

static vf_status check(vf_context *ctx, const cionize_settings *s)
{
    if (wants_ions(s->ions) || s->ions->script)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "several --select make several maps, but ions are placed on one; use one --select with 'or'");
    if (s->pieces.ranks)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "several --select cannot be combined with several MPI ranks; start a job for each selection");
    if (strncmp(s->input, "/dev/", 5) == 0 || (s->charges && strncmp(s->charges, "/dev/", 5) == 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "several --select read the molecule several times, which standard input does not allow; give a "
                       "file");
    return VF_OK;
}

static vf_status run_one(vf_context *ctx, const cionize_settings *settings, int number)
{
    cionize_settings s = *settings;
    const char **outputs[] = {&s.map,          &s.picture,         &s.report,       &s.deviation,
                              &s.profile,      &s.radial,          &s.points.out,   &s.points.field_map,
                              &s.surface.mesh, &s.surface.picture, &s.surface.scene};
    enum { OUTPUTS = sizeof outputs / sizeof *outputs };
    char *names[OUTPUTS] = {NULL};
    vf_status status = VF_OK;
    s.selected = settings->select[number - 1];
    s.select_number = number;
    for (int n = 0; n < OUTPUTS; n++) {
        if (!*outputs[n] || strncmp(*outputs[n], "/dev/", 5) == 0)
            continue;
        names[n] = numbered(*outputs[n], number);
        if (!names[n])
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the names of outputs");
        *outputs[n] = names[n];
    }
    VF_TRY(status, cionize_run(ctx, &s));
    for (int n = 0; n < OUTPUTS; n++)
        free(names[n]);
    return status;
}

vf_status cionize_run_selections(vf_context *ctx, const cionize_settings *settings)
{
    cionize_settings s = *settings;
    if (s.selects <= 1) {
        s.selected = s.selects == 1 ? s.select[0] : NULL;
        return cionize_run(ctx, &s);
    }
    vf_status status = check(ctx, settings);
    for (int n = 1; status == VF_OK && n <= settings->selects; n++)
        status = run_one(ctx, settings, n);
    return status;
}
