/* Reads a PNG file back, for the tests of the functions that draw. */
#ifndef READ_PNG_H
#define READ_PNG_H

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/colormap.h"

typedef struct png_picture {
    int width, height, bit_depth, color_type;
    unsigned pixels_per_meter;
    unsigned char *rgb; /* [height][width][3] */
    png_structp png;    /* kept for the texts */
    png_infop info;
} png_picture;

static inline void png_picture_free(png_picture *picture)
{
    free(picture->rgb);
    png_destroy_read_struct(&picture->png, &picture->info, NULL);
    *picture = (png_picture){0};
}

/* Returns false unless it is a complete 8-bit RGB picture with a correct checksum. */
static inline bool png_picture_read(const char *path, png_picture *out)
{
    *out = (png_picture){0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    out->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    out->info = png_create_info_struct(out->png);
    if (setjmp(png_jmpbuf(out->png))) {
        fclose(file);
        png_picture_free(out);
        return false;
    }
    png_init_io(out->png, file);
    png_read_info(out->png, out->info);
    out->width = (int)png_get_image_width(out->png, out->info);
    out->height = (int)png_get_image_height(out->png, out->info);
    out->bit_depth = png_get_bit_depth(out->png, out->info);
    out->color_type = png_get_color_type(out->png, out->info);
    out->pixels_per_meter = png_get_pixels_per_meter(out->png, out->info);
    if (out->bit_depth != 8 || out->color_type != PNG_COLOR_TYPE_RGB)
        png_error(out->png, "not 8-bit RGB");
    out->rgb = malloc((size_t)out->width * (size_t)out->height * 3);
    for (int y = 0; y < out->height; y++)
        png_read_row(out->png, out->rgb + (size_t)y * (size_t)out->width * 3, NULL);
    png_read_end(out->png, out->info);
    fclose(file);
    return true;
}

static inline vf_color png_picture_at(const png_picture *picture, int x, int y)
{
    if (x < 0 || y < 0 || x >= picture->width || y >= picture->height)
        return (vf_color){0};
    const unsigned char *rgb = picture->rgb + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
    return (vf_color){rgb[0], rgb[1], rgb[2], 255};
}

/* The text of a keyword, or NULL. */
static inline const char *png_picture_text(const png_picture *picture, const char *keyword)
{
    png_textp texts = NULL;
    const int count = png_get_text(picture->png, picture->info, &texts, NULL);
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i].key, keyword) == 0)
            return texts[i].text;
    return NULL;
}

#endif
