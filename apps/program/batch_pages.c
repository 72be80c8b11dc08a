/* The index of a batch's pages. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "program.h"
#include "voxfield/page.h"
#include "voxfield/version.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "cionize-pages.html", in the folder of --output-dir, or here. free() it. */
static char *index_path(const program *p, const char *folder)
{
    char *path = NULL;
    return asprintf(&path, "%s%s%s-pages.html", folder ? folder : "", folder ? "/" : "", p->name) < 0 ? NULL : path;
}

vf_status batch_write_index(vf_context *ctx, const program *p, const char *const *input, int64_t count)
{
    const char *ending = option_text(p->options, &p->given, "page");
    const char *folder = option_text(p->options, &p->given, "output-dir");
    if (!ending || program_given(p, "dry-run") || program_given(p, "part"))
        return VF_OK;
    vf_page_entry *entry = calloc((size_t)count + 1, sizeof *entry);
    char **page = calloc((size_t)count + 1, sizeof *page), *path = index_path(p, folder), program_name[64];
    vf_status status = entry && page && path ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the index of pages");
    for (int64_t n = 0; n < count && status == VF_OK; n++) {
        page[n] = batch_output_of(p, input[n], ending);
        if (!page[n])
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the index of pages");
        else
            entry[n] = (vf_page_entry){page[n], folder ? last_part(page[n]) : page[n], last_part(input[n])};
    }
    (void)snprintf(program_name, sizeof program_name, "%s (Voxfield) " VF_VERSION, p->name);
    VF_TRY(status, vf_page_write_index(ctx, path, "Results", program_name, entry, count));
    if (status == VF_OK && !p->quiet)
        printf("pages      %s\n", path);
    for (int64_t n = 0; page && n < count; n++)
        free(page[n]);
    free(page);
    free(entry);
    free(path);
    return status;
}
