/* Canvases to draw on, the ink in their regions, and a folder for the pictures. */
#ifndef VOXFIELD_CANVAS_FIXTURE_H
#define VOXFIELD_CANVAS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "voxfield/canvas.h"

static const vf_color WHITE = {255, 255, 255, 255}, BLACK = {0, 0, 0, 255}, HALF_BLACK = {0, 0, 0, 128};

typedef struct fixture {
    vf_context *ctx;
    char directory[64];
    char path[96];
} fixture;

static inline int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(vf_context_create(&f->ctx), VF_OK);
    strcpy(f->directory, "/tmp/test_canvas.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof f->path, "%s/out.png", f->directory);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    fixture *f = *state;
    (void)unlink(f->path);
    assert_int_equal(rmdir(f->directory), 0); /* fails if any file is left */
    vf_context_destroy(f->ctx);
    free(f);
    return 0;
}

static inline vf_canvas *new_canvas(fixture *f, int width, int height)
{
    vf_canvas *canvas = NULL;
    assert_int_equal(vf_canvas_create(f->ctx, width, height, WHITE, &canvas), VF_OK);
    return canvas;
}

static inline bool same(vf_color a, vf_color b)
{
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

static inline void assert_color(vf_color actual, vf_color expected)
{
    assert_int_equal(actual.r, expected.r);
    assert_int_equal(actual.g, expected.g);
    assert_int_equal(actual.b, expected.b);
}

/* The amount of black on a white canvas, in pixels. */
static inline double ink_on(const vf_canvas *canvas)
{
    double ink = 0;
    for (int y = 0; y < vf_canvas_height(canvas); y++)
        for (int x = 0; x < vf_canvas_width(canvas); x++)
            ink += (255 - vf_canvas_pixel(canvas, x, y).r) / 255.0;
    return ink;
}

/* Whether everything drawn lies in columns [x0, x1) and rows [y0, y1). */
static inline bool ink_inside(const vf_canvas *canvas, int x0, int y0, int x1, int y1)
{
    for (int y = 0; y < vf_canvas_height(canvas); y++)
        for (int x = 0; x < vf_canvas_width(canvas); x++)
            if (!same(vf_canvas_pixel(canvas, x, y), WHITE) && (x < x0 || x >= x1 || y < y0 || y >= y1))
                return false;
    return true;
}

static inline bool equal_canvases(const vf_canvas *a, const vf_canvas *b)
{
    for (int y = 0; y < vf_canvas_height(a); y++)
        for (int x = 0; x < vf_canvas_width(a); x++)
            if (!same(vf_canvas_pixel(a, x, y), vf_canvas_pixel(b, x, y)))
                return false;
    return true;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
