/* The frame of a page: its head, its binary block, its JSON object and its scripts. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "files/text_utf8.h"
#include "page_internal.h"
#include "picture/canvas_internal.h"

/* The sources in web/, by CMake (voxfield_texts). */
extern const char vf_text_page_style[], vf_text_page_index[], vf_text_page_frame[], vf_text_page_slices[],
    vf_text_page_images[], vf_text_page_scene[], vf_text_page_gl[], vf_text_page_shaders[], vf_text_page_surface[],
    vf_text_page_ribbon[];

vf_status page_put(vf_page *page, const char *text)
{
    page->bytes += (int64_t)strlen(text);
    return vf_output_write(page->output, text, strlen(text));
}

/* Text between tags or in a quoted attribute. */
vf_status page_put_escaped(vf_page *page, const char *text)
{
    vf_status status = VF_OK;
    for (const unsigned char *s = (const unsigned char *)text; *s && status == VF_OK;) {
        const size_t n = vf_utf8_length(s);
        char one[8] = "\xef\xbf\xbd"; /* U+FFFD: the replacement character */
        if (n > 1 || (n == 1 && *s >= 0x20 && *s != 0x7f && !strchr("&<>\"'", *s))) {
            memcpy(one, s, n);
            one[n] = '\0';
        } else if (n == 1 && *s >= 0x20 && *s != 0x7f) {
            (void)snprintf(one, sizeof one, "&#%d;", *s);
        }
        status = page_put(page, one);
        s += n > 0 ? n : 1;
    }
    return status;
}

/* Three bytes become four letters. A long text is written in pieces. */
static vf_status put_base64(vf_page *page, const unsigned char *data, size_t bytes)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { PIECE = 3 * 4096 };
    char text[PIECE / 3 * 4 + 1];
    vf_status status = VF_OK;
    for (size_t at = 0; at < bytes && status == VF_OK; at += PIECE) {
        const size_t end = bytes - at < PIECE ? bytes : at + PIECE;
        char *to = text;
        for (size_t i = at; i < end; i += 3, to += 4) {
            const unsigned a = data[i], b = i + 1 < end ? data[i + 1] : 0, c = i + 2 < end ? data[i + 2] : 0;
            const unsigned all = a << 16 | b << 8 | c;
            to[0] = letter[all >> 18];
            to[1] = letter[all >> 12 & 63];
            to[2] = i + 1 < end ? letter[all >> 6 & 63] : '=';
            to[3] = i + 2 < end ? letter[all & 63] : '=';
        }
        *to = '\0';
        status = page_put(page, text);
    }
    return status;
}

static vf_status put_preview(vf_page *page)
{
    void *png = NULL;
    size_t bytes = 0;
    if (!page->head.preview)
        return VF_OK;
    vf_status status = vf_canvas_make_png(page->ctx, page->head.preview, vf_output_path(page->output), &png, &bytes);
    VF_TRY(status, page_put(page, "<img id=\"preview\" alt=\""));
    VF_TRY(status, page_put_escaped(page, page->head.preview_text ? page->head.preview_text : "preview"));
    VF_TRY(status, page_put(page, "\" src=\"data:image/png;base64,"));
    VF_TRY(status, put_base64(page, png, bytes));
    VF_TRY(status, page_put(page, "\">\n"));
    free(png);
    return status;
}

/* Nothing is loaded from anywhere, whatever is in the page. */
static const char before_title[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">\n<title>";

vf_status page_put_head(vf_page *page, bool is_index)
{
    vf_status status = page_put(page, before_title);
    VF_TRY(status, page_put_escaped(page, page->head.title));
    VF_TRY(status, page_put(page, "</title>\n<meta name=\"generator\" content=\""));
    VF_TRY(status, page_put_escaped(page, page->head.program));
    VF_TRY(status, page_put(page, "\">\n<style>\n"));
    VF_TRY(status, page_put(page, vf_text_page_style));
    if (is_index)
        VF_TRY(status, page_put(page, vf_text_page_index));
    VF_TRY(status, page_put(page, "</style>\n</head>\n<body>\n<header><h1>"));
    VF_TRY(status, page_put_escaped(page, page->head.title));
    VF_TRY(status, page_put(page, "</h1><p>"));
    VF_TRY(status, page_put_escaped(page, page->head.program));
    VF_TRY(status, page_put(page, "</p></header>\n"));
    return status;
}

static vf_status put_body(vf_page *page)
{
    vf_status status = page_put(page, "<p id=\"message\" role=\"status\"></p>\n<main id=\"main\"></main>\n");
    VF_TRY(status, put_preview(page));
    VF_TRY(status,
           page_put(page, "<noscript><p>The views need JavaScript. Without it, this page shows only the picture "
                          "above.</p></noscript>\n"
                          "<script type=\"text/plain\" id=\"voxfield-data\">\n"));
    return status;
}

vf_status vf_page_open(vf_context *ctx, const char *path, const vf_page_head *head, vf_page **out)
{
    *out = NULL;
    vf_page *page = calloc(1, sizeof *page);
    if (!page)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the page", path);
    page->ctx = ctx;
    page->head = *head;
    vf_status status = vf_output_open(ctx, path, &page->output);
    VF_TRY(status, page_put_head(page, false));
    VF_TRY(status, put_body(page));
    if (status != VF_OK)
        vf_page_discard(&page);
    *out = page;
    return status;
}

int64_t vf_page_bytes(const vf_page *page)
{
    return page->bytes;
}

vf_status page_put_array(vf_page *page, const page_array *of, const page_pack *pack)
{
    page_array *more = realloc(page->array, ((size_t)page->arrays + 1) * sizeof *more);
    if (!more)
        return vf_fail(page->ctx, VF_ERR_MEMORY, "%s: not enough memory for the page", vf_output_path(page->output));
    page->array = more;
    page->array[page->arrays++] = *of;
    const vf_status status = put_base64(page, pack->data, pack->bytes);
    return status == VF_OK ? page_put(page, "\n") : status;
}

/* ---- the JSON object ---- */

static void list_volume(vf_report *json, const page_array *a)
{
    const int64_t factor[3] = {a->kept.factor[0], a->kept.factor[1], a->kept.factor[2]};
    vf_report_integer(json, "bits", a->kept.bits);
    vf_report_integers(json, "reduced", factor, 3);
    vf_report_integer(json, "frame_step", a->kept.frame_step);
    vf_report_number(json, "error", a->kept.error);
    if (a->angles)
        vf_report_bool(json, "angles", true);
}

static void list_arrays(const vf_page *page)
{
    vf_report *json = page->json;
    vf_report_begin(json, "arrays");
    for (int n = 0; n < page->arrays; n++) {
        const page_array *a = &page->array[n];
        vf_report_begin(json, a->name);
        vf_report_integer(json, "line", n);
        vf_report_text(json, "type", a->type);
        vf_report_integers(json, "shape", a->shape, a->dimensions);
        if (a->columns > 0) {
            vf_report_bool(json, "differences", a->volume);
            vf_report_numbers(json, "offset", a->offset, a->columns);
            vf_report_numbers(json, "step", a->step, a->columns);
        }
        if (a->volume)
            list_volume(json, a);
        vf_report_end(json);
    }
    vf_report_end(json);
}

vf_report *vf_page_json(vf_page *page)
{
    static const char *const views[] = {"images", "scene"};
    if (page->json)
        return page->json;
    vf_status status = page_put(page, "</script>\n<script type=\"application/json\" id=\"voxfield-json\">\n");
    VF_TRY(status, vf_report_within(page->ctx, page->output, &page->json));
    if (status != VF_OK)
        return NULL; /* the commit finds it missing */
    vf_report_begin(page->json, "page");
    vf_report_integer(page->json, "format", 1);
    vf_report_text(page->json, "view", views[page->head.view]);
    vf_report_text(page->json, "title", page->head.title);
    vf_report_text(page->json, "program", page->head.program);
    vf_report_end(page->json);
    list_arrays(page);
    return page->json;
}

/* ---- the end ---- */

static vf_status put_scripts(vf_page *page)
{
    static const char *const images[] = {vf_text_page_frame, vf_text_page_slices, vf_text_page_images};
    static const char *const scene[] = {vf_text_page_frame, vf_text_page_slices,  vf_text_page_shaders,
                                        vf_text_page_gl,    vf_text_page_surface, vf_text_page_ribbon,
                                        vf_text_page_scene};
    const bool is_scene = page->head.view == VF_PAGE_SCENE;
    const size_t count = is_scene ? sizeof scene / sizeof *scene : sizeof images / sizeof *images;
    vf_status status = page_put(page, "</script>\n<script>\n\"use strict\";\n");
    for (size_t n = 0; n < count && status == VF_OK; n++)
        status = page_put(page, is_scene ? scene[n] : images[n]);
    VF_TRY(status, page_put(page, "</script>\n</body>\n</html>\n"));
    return status;
}

vf_status vf_page_commit(vf_page **page)
{
    vf_page *p = *page;
    vf_status status =
        vf_page_json(p) ? VF_OK
                        : vf_fail(p->ctx, VF_ERR_OUTPUT, "%s: cannot write the page's data", vf_output_path(p->output));
    VF_TRY(status, vf_report_commit(&p->json));
    VF_TRY(status, put_scripts(p));
    VF_TRY(status, vf_output_commit(&p->output));
    vf_page_discard(page);
    return status;
}

void vf_page_discard(vf_page **page)
{
    if (!*page)
        return;
    vf_report_discard(&(*page)->json);
    vf_output_discard(&(*page)->output);
    free((*page)->array);
    free(*page);
    *page = NULL;
}
