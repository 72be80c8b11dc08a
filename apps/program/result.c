#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char in_memory[] = "memory";

typedef struct part {
    char name[48];
    vf_view view; /* of an array */
    void *owned;  /* its data, or a text */
    bool text;
} part;

struct vf_result {
    vf_context *ctx;
    part *part;
    int count, room;
    const char *program; /* whose it is: */
    void *kept;
    void (*release)(void *kept);
};

vf_status result_create(vf_context *ctx, vf_result **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the result");
    (*out)->ctx = ctx;
    return VF_OK;
}

static vf_status add(vf_result *r, const char *name, part new)
{
    if (r->count == r->room) {
        const int room = r->room > 0 ? 2 * r->room : 16;
        part *more = realloc(r->part, (size_t)room * sizeof *more);
        if (more) {
            r->part = more;
            r->room = room;
        }
    }
    if (!new.owned || r->count == r->room) {
        free(new.owned);
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the result '%s'", name);
    }
    snprintf(new.name, sizeof new.name, "%s", name);
    r->part[r->count++] = new;
    return VF_OK;
}

static size_t view_bytes(vf_dtype type, int rank, const int64_t *dims)
{
    size_t bytes = vf_dtype_bytes(type);
    for (int d = 0; d < rank; d++)
        bytes *= (size_t)dims[d];
    return bytes;
}

vf_status result_add(vf_result *r, const char *name, vf_dtype type, int rank, const int64_t *dims, void *data)
{
    part new = {.view = {.data = data, .type = type, .rank = rank}, .owned = data};
    for (int d = 0; d < rank; d++)
        new.view.dims[d] = dims[d];
    return add(r, name, new);
}

vf_status result_new(vf_result *r, const char *name, vf_dtype type, int rank, const int64_t *dims, void *data)
{
    void *new = calloc(view_bytes(type, rank, dims) + 1, 1);
    memcpy(data, &new, sizeof new);
    return result_add(r, name, type, rank, dims, new);
}

vf_status result_copy(vf_result *r, const char *name, vf_dtype type, int rank, const int64_t *dims, const void *data)
{
    void *new;
    const size_t bytes = view_bytes(type, rank, dims);
    if (!data || bytes == 0)
        return VF_OK;
    const vf_status status = result_new(r, name, type, rank, dims, &new);
    if (status == VF_OK)
        memcpy(new, data, bytes);
    return status;
}

vf_status result_add_text(vf_result *r, const char *name, const char *text)
{
    return add(r, name, (part){.owned = strdup(text), .text = true});
}

vf_status result_take_report(vf_result *r, vf_report **report)
{
    char *text = NULL;
    const vf_status status = vf_report_take(report, &text);
    return status == VF_OK ? add(r, "report", (part){.owned = text, .text = true}) : status;
}

void result_keep(vf_result *r, const char *program, void *kept, void (*release)(void *kept))
{
    r->program = program;
    r->kept = kept;
    r->release = release;
}

void *result_kept(const vf_result *r, const char *program)
{
    return r->kept && strcmp(r->program, program) == 0 ? r->kept : NULL;
}

static const part *find(const vf_result *r, const char *name, bool text)
{
    for (int n = 0; n < r->count; n++)
        if (r->part[n].text == text && strcmp(r->part[n].name, name) == 0)
            return &r->part[n];
    return NULL;
}

vf_view vf_result_view(const vf_result *r, const char *name)
{
    const part *found = find(r, name, false);
    return found ? found->view : (vf_view){0};
}

const char *vf_result_text(const vf_result *r, const char *name)
{
    const part *found = find(r, name, true);
    return found ? found->owned : NULL;
}

int vf_result_count(const vf_result *r)
{
    return r->count;
}

const char *vf_result_name(const vf_result *r, int index)
{
    return index >= 0 && index < r->count ? r->part[index].name : NULL;
}

void vf_result_free(vf_result *r)
{
    if (!r)
        return;
    for (int n = 0; n < r->count; n++)
        free(r->part[n].owned);
    if (r->release)
        r->release(r->kept);
    free(r->part);
    free(r);
}
