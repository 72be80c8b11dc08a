/* The programs as functions: arrays and options by name. */
#include "binding_programs.h"

#include <stdlib.h>
#include <string.h>

#include "binding_session.h"
#include "cionize.h"
#include "mri_recon.h"

static const struct {
    const char *name;
    vf_dtype type;
} types[] = {{"f4", VF_F32}, {"f8", VF_F64}, {"c8", VF_C64}, {"c16", VF_C128},
             {"i4", VF_I32}, {"i8", VF_I64}, {"u1", VF_U8}};
enum { TYPES = sizeof types / sizeof *types };

static vf_status view_of(vf_context *ctx, const binding_array *array, vf_view *out)
{
    *out = (vf_view){.data = array->data, .rank = array->rank};
    for (int i = 0; i < array->rank && i < VF_VIEW_RANK; i++)
        out->dims[i] = array->dims[i];
    for (int t = 0; t < TYPES; t++)
        if (strcmp(types[t].name, array->type) == 0) {
            out->type = types[t].type;
            return VF_OK;
        }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: arrays of type %s are not supported", array->name, array->type);
}

/* ---- listeners ---- */

static void tell_log(void *user, vf_log_level level, const char *text)
{
    const binding_listener *listener = user;
    listener->log(listener->user, level == VF_LOG_WARNING, text);
}

static void tell_progress(void *user, const char *stage, double share)
{
    const binding_listener *listener = user;
    listener->progress(listener->user, stage, share);
}

static void listen(vf_context *ctx, const binding_listener *listener)
{
    vf_context_set_log(ctx, listener && listener->log ? tell_log : NULL, (void *)listener);
    vf_context_set_progress(ctx, listener && listener->progress ? tell_progress : NULL, (void *)listener);
}

/* The options, and the listener for as long as the call runs. */
static vf_status begin(binding_session *session, const binding_listener *listener, int options,
                       const char *const *option, vf_option **list)
{
    *list = calloc((size_t)options + 1, sizeof **list);
    if (!*list)
        return vf_fail(session->ctx, VF_ERR_MEMORY, "no memory for the options");
    for (int i = 0; i < options; i++)
        (*list)[i] = (vf_option){option[2 * i], option[2 * i + 1]};
    listen(session->ctx, listener);
    return VF_OK;
}

static void end(binding_session *session, vf_option *list)
{
    listen(session->ctx, NULL);
    free(list);
}

/* ---- mri_recon ---- */

static vf_view *member(vf_mri_scan *scan, const char *name)
{
    const struct {
        const char *name;
        vf_view *view;
    } members[] = {{"data", &scan->data},
                   {"trajectory", &scan->trajectory},
                   {"mask", &scan->mask},
                   {"weights", &scan->weights},
                   {"time", &scan->time},
                   {"phi", &scan->phi},
                   {"sensitivity", &scan->sensitivity},
                   {"field_map", &scan->field_map},
                   {"reference", &scan->reference},
                   {"truth", &scan->truth},
                   {"noise", &scan->noise}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].name, name) == 0)
            return members[i].view;
    return NULL;
}

int binding_reconstruct(binding_session *session, const binding_listener *listener, const char *file, int arrays,
                        const binding_array *array, const int64_t matrix[3], const double fov_mm[3], int slices,
                        int options, const char *const *option, vf_result **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    vf_option *list = NULL;
    vf_mri_scan scan = {.file = file, .slices = slices != 0};
    memcpy(scan.matrix, matrix, sizeof scan.matrix);
    memcpy(scan.fov_mm, fov_mm, sizeof scan.fov_mm);
    vf_status status = begin(session, listener, options, option, &list);
    for (int i = 0; i < arrays && status == VF_OK; i++) {
        vf_view *view = member(&scan, array[i].name);
        status = view ? view_of(session->ctx, &array[i], view)
                      : vf_fail(session->ctx, VF_ERR_ARGUMENT, "a scan has no array %s", array[i].name);
    }
    VF_TRY(status, vf_mri_reconstruct(session->ctx, &scan, list, out));
    end(session, list);
    return binding_end(session, &watch, status);
}

int binding_read_scan(binding_session *session, const binding_listener *listener, const char *file, int options,
                      const char *const *option, vf_result **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    vf_option *list = NULL;
    vf_status status = begin(session, listener, options, option, &list);
    VF_TRY(status, vf_mri_read(session->ctx, file, list, out));
    end(session, list);
    return binding_end(session, &watch, status);
}

int binding_write_image(binding_session *session, const binding_array *image, const double voxel_mm[3],
                        const char *path)
{
    binding_watch watch = binding_begin(session);
    vf_view view;
    vf_status status = view_of(session->ctx, image, &view);
    VF_TRY(status, vf_mri_write_image(session->ctx, &view, voxel_mm, path));
    return binding_end(session, &watch, status);
}

int binding_write_result(binding_session *session, const vf_result *result, const char *path)
{
    binding_watch watch = binding_begin(session);
    return binding_end(session, &watch, vf_mri_write_result(session->ctx, result, path));
}

/* ---- cionize ---- */

int binding_cionize(binding_session *session, const binding_listener *listener, const char *file, int arrays,
                    const binding_array *array, const binding_texts *texts, const double cell[6], int options,
                    const char *const *option, vf_result **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    vf_option *list = NULL;
    vf_view points = {0};
    vf_molecule molecule = {.file = file,
                            .names = texts->names,
                            .residues = texts->residues,
                            .chains = texts->chains,
                            .elements = texts->elements,
                            .residue_numbers = texts->residue_numbers,
                            .space_group = texts->space_group};
    const struct {
        const char *name;
        vf_view *view;
    } members[] = {{"positions", &molecule.positions},
                   {"charges", &molecule.charges},
                   {"radii", &molecule.radii},
                   {"points", &points}};
    memcpy(molecule.cell, cell, sizeof molecule.cell);
    vf_status status = begin(session, listener, options, option, &list);
    for (int i = 0; i < arrays; i++)
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            if (strcmp(array[i].name, members[m].name) == 0)
                VF_TRY(status, view_of(session->ctx, &array[i], members[m].view));
    VF_TRY(status, vf_cionize(session->ctx, &molecule, points.data ? &points : NULL, list, out));
    end(session, list);
    return binding_end(session, &watch, status);
}

int binding_read_molecule(binding_session *session, const binding_listener *listener, const char *file, int options,
                          const char *const *option, vf_result **out)
{
    *out = NULL;
    binding_watch watch = binding_begin(session);
    vf_option *list = NULL;
    vf_status status = begin(session, listener, options, option, &list);
    VF_TRY(status, vf_molecule_read(session->ctx, file, list, out));
    end(session, list);
    return binding_end(session, &watch, status);
}

/* ---- results ---- */

int binding_result_count(const vf_result *result)
{
    return vf_result_count(result);
}

const char *binding_result_name(const vf_result *result, int index)
{
    return vf_result_name(result, index);
}

const char *binding_result_text(const vf_result *result, const char *name)
{
    return vf_result_text(result, name);
}

binding_array binding_result_array(const vf_result *result, const char *name)
{
    const vf_view view = vf_result_view(result, name);
    binding_array array = {.name = name, .data = view.data, .type = "", .rank = view.rank};
    for (int t = 0; t < TYPES; t++)
        if (types[t].type == view.type)
            array.type = types[t].name;
    for (int i = 0; i < view.rank && i < VF_VIEW_RANK; i++)
        array.dims[i] = view.dims[i];
    return array;
}

void binding_result_free(vf_result *result)
{
    vf_result_free(result);
}
