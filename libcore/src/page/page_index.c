/* A page of links to pages, with their previews. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_internal.h"

/* The preview comes before the data, so it is in the beginning of a page. */
enum { BEGINNING = 1 << 20 };
static const char before_preview[] = "<img id=\"preview\"", before_png[] = "src=\"data:image/png;base64,";
static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

/* The preview of a page, as base64, in `text` [BEGINNING + 1]. NULL: there is none. Only letters of base64 are taken. */
static const char *read_preview(const char *path, char *text)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    const size_t bytes = fread(text, 1, BEGINNING, file);
    (void)fclose(file);
    text[bytes] = '\0';
    char *at = strstr(text, before_preview);
    at = at ? strstr(at, before_png) : NULL;
    if (!at)
        return NULL;
    at += sizeof before_png - 1;
    const size_t length = strspn(at, base64);
    if (at[length] != '"')
        return NULL;
    at[length] = '\0';
    return at;
}

/* A relative link, or one from the root: bytes that mean something in a URL are written by number, also ':', so that no link is a
 * program. */
static vf_status put_link(vf_page *page, const char *link)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    vf_status status = VF_OK;
    for (const unsigned char *c = (const unsigned char *)link; *c && status == VF_OK; c++) {
        char one[8];
        (void)snprintf(one, sizeof one, strchr(plain, *c) ? "%c" : "%%%02X", *c);
        status = page_put(page, one);
    }
    return status;
}

static vf_status put_entry(vf_page *page, const vf_page_entry *entry, char *text)
{
    const char *preview = read_preview(entry->path, text);
    vf_status status = page_put(page, "<li>");
    if (preview) {
        VF_TRY(status, page_put(page, "<a href=\""));
        VF_TRY(status, put_link(page, entry->link));
        VF_TRY(status, page_put(page, "\"><img alt=\"\" loading=\"lazy\" src=\"data:image/png;base64,"));
        VF_TRY(status, page_put(page, preview));
        VF_TRY(status, page_put(page, "\"><br>"));
    }
    VF_TRY(status, page_put_escaped(page, entry->title));
    VF_TRY(status, page_put(page, preview ? "</a></li>\n" : ": no page</li>\n"));
    return status;
}

vf_status vf_page_write_index(vf_context *ctx, const char *path, const char *title, const char *program,
                              const vf_page_entry *entry, int64_t count)
{
    vf_page page = {.ctx = ctx, .head = {.title = title, .program = program}};
    char *text = malloc(BEGINNING + 1);
    vf_status status = text ? vf_output_open(ctx, path, &page.output)
                            : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the page", path);
    VF_TRY(status, page_put_head(&page, true));
    VF_TRY(status, page_put(&page, "<ul class=\"index\">\n"));
    for (int64_t n = 0; n < count && status == VF_OK; n++)
        status = put_entry(&page, &entry[n], text);
    VF_TRY(status, page_put(&page, "</ul>\n</body>\n</html>\n"));
    VF_TRY(status, vf_output_commit(&page.output));
    vf_output_discard(&page.output);
    free(text);
    return status;
}
