/* The canvas as a PNG file, or its bytes. libpng reports errors by longjmp, so all of its calls are in this file, behind one
 * setjmp. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas_internal.h"
#include "voxfield/output.h"

enum {
    PIXELS_PER_METER = 11811, /* 300 per inch */
    LEVEL = 3                 /* with one filter for all rows: half the time of zlib's default, for 1/15 more bytes */
};

typedef struct sink {
    vf_context *ctx;
    const char *path;
    vf_output *output;
    FILE *memory;     /* in place of the output */
    vf_status status; /* of the first failure */
} sink;

static void on_write(png_structp png, png_bytep data, size_t bytes)
{
    sink *s = png_get_io_ptr(png);
    if (!s->memory)
        s->status = vf_output_write(s->output, data, bytes);
    else if (fwrite(data, 1, bytes, s->memory) != bytes)
        s->status = vf_fail(s->ctx, VF_ERR_MEMORY, "%s: not enough memory for the picture", s->path);
    if (s->status != VF_OK)
        png_error(png, "write failed"); /* the context has the reason */
}

static void on_flush(png_structp png)
{
    (void)png; /* vf_output_commit flushes */
}

static void on_error(png_structp png, png_const_charp text)
{
    sink *s = png_get_error_ptr(png);
    /* libpng has no codes: it says "insufficient memory", "out of memory", and "too many text chunks" of a few. */
    const bool memory = strstr(text, "memory") || strstr(text, "too many");
    if (s->status == VF_OK)
        s->status = vf_fail(s->ctx, memory ? VF_ERR_MEMORY : VF_ERR_OUTPUT, "%s: cannot write the picture: libpng: %s",
                            s->path, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text; /* only for text chunks: a picture without them is still right */
}

static void write_header(png_structp png, png_infop info, const vf_canvas *canvas, const vf_png_text *texts, int count)
{
    png_set_compression_level(png, LEVEL);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_set_IHDR(png, info, (png_uint_32)canvas->width, (png_uint_32)canvas->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB_gAMA_and_cHRM(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_pHYs(png, info, PIXELS_PER_METER, PIXELS_PER_METER, PNG_RESOLUTION_METER);
    for (int i = 0; i < count; i++) {
        png_text text = {.compression = PNG_ITXT_COMPRESSION_NONE, /* iTXt: UTF-8 */
                         .key = (char *)texts[i].keyword,
                         .text = (char *)texts[i].text,
                         .itxt_length = strlen(texts[i].text)};
        png_set_text(png, info, &text, 1);
    }
    png_write_info(png, info);
}

/* The part that longjmp may leave. It owns nothing, and changes no local variable after setjmp. */
static vf_status write_image(sink *s, png_structp png, png_infop info, const vf_canvas *canvas,
                             const vf_png_text *texts, int count)
{
    if (setjmp(png_jmpbuf(png)))
        return s->status;
    png_set_write_fn(png, s, on_write, on_flush);
    write_header(png, info, canvas, texts, count);
    for (int y = 0; y < canvas->height; y++)
        png_write_row(png, canvas->rgb + 3 * (size_t)y * (size_t)canvas->width);
    png_write_end(png, info);
    return VF_OK;
}

/* Into the sink's output or memory. */
static vf_status write_to(sink *s, const vf_canvas *canvas, const vf_png_text *texts, int count)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const vf_status status =
        info ? write_image(s, png, info, canvas, texts, count)
             : vf_fail(s->ctx, VF_ERR_MEMORY, "%s: not enough memory to write the picture", s->path);
    png_destroy_write_struct(&png, &info);
    return status;
}

vf_status vf_canvas_write_png(vf_context *ctx, const vf_canvas *canvas, const char *path, const vf_png_text *texts,
                              int count)
{
    sink s = {.ctx = ctx, .path = path, .status = VF_OK};
    vf_status status = vf_output_open(ctx, path, &s.output);
    VF_TRY(status, write_to(&s, canvas, texts, count));
    VF_TRY(status, vf_output_commit(&s.output));
    vf_output_discard(&s.output);
    return status;
}

vf_status vf_canvas_make_png(vf_context *ctx, const vf_canvas *canvas, const char *path, void **png, size_t *bytes)
{
    char *data = NULL;
    sink s = {.ctx = ctx, .path = path, .memory = open_memstream(&data, bytes), .status = VF_OK};
    vf_status status = s.memory ? write_to(&s, canvas, NULL, 0)
                                : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the picture", path);
    if (s.memory && fclose(s.memory) != 0 && status == VF_OK)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the picture", path);
    if (status != VF_OK) {
        free(data);
        data = NULL;
    }
    *png = data;
    return status;
}
