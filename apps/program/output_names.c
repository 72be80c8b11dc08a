/* The names of outputs that follow from the input's: batch.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "batch.h"
#include "program.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool batch_is_extension(const char *name)
{
    return name[0] == '.' && name[1] != '\0' && name[1] != '.' && !strchr(name, '/');
}

char *batch_output_name(const char *folder, const char *path, const char *const *endings, const char *ending)
{
    char *named = program_replace_ending(folder ? file_name(path) : path, endings, ending), *result = NULL;
    if (!folder || !named)
        return named;
    if (asprintf(&result, "%s/%s", folder, named) < 0)
        result = NULL;
    free(named);
    return result;
}

char *batch_output_of(const program *p, const char *input, const char *extension)
{
    char *ending = NULL, *name = NULL;
    if (asprintf(&ending, "%s%s", p->suffix ? p->suffix : "", extension) >= 0)
        name = batch_output_name(option_text(p->options, &p->given, "output-dir"), input, p->endings, ending);
    else
        ending = NULL;
    free(ending);
    return name;
}

vf_status batch_name_output(vf_context *ctx, program *p, const char **name)
{
    if (!*name || !batch_is_extension(*name))
        return VF_OK;
    char **longer = realloc(p->names, ((size_t)p->name_count + 1) * sizeof *longer);
    if (longer)
        p->names = longer;
    char *made = longer ? batch_output_of(p, p->given.input[0], *name) : NULL;
    if (!made)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    p->names[p->name_count++] = made;
    *name = made;
    return VF_OK;
}

bool batch_writes(const program_option *row)
{
    return row->kind == OPTION_WRITE || row->kind == OPTION_PICTURE;
}

vf_status batch_make_folder(vf_context *ctx, const program *p)
{
    const char *folder = option_text(p->options, &p->given, "output-dir");
    if (!folder || program_given(p, "dry-run") || mkdir(folder, 0777) == 0 || errno == EEXIST)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_OUTPUT, "%s: cannot make this folder: %s", folder, strerror(errno));
}

vf_status batch_name_outputs(vf_context *ctx, program *p)
{
    vf_status status = batch_make_folder(ctx, p);
    for (const program_option *row = p->options; status == VF_OK && row->kind != OPTION_END; row++)
        if (batch_writes(row))
            status = batch_name_output(ctx, p, (const char **)(void *)((char *)p->settings + row->at));
    return status;
}
