#include "draw_surface.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/picture_words.h"
#include "voxfield/figure.h"
#include "voxfield/mesh_picture.h"

/* In pixels, as in draw_slices.c: 8 inches at 300 pixels per inch. */
enum {
    WIDTH = 2400,
    MARGIN = 50,
    GAP = 60,             /* between the views */
    EDGE = 6,             /* around a view */
    BESIDE_HEIGHT = 1150, /* most of views side by side */
    BELOW_HEIGHT = 640    /* and of views one below the other */
};

static const vf_color PAPER = {255, 255, 255, 255}, INK = {25, 25, 25, 255}, FAINT_INK = {90, 90, 90, 255};

typedef struct layout {
    bool below; /* the second view is below the first, not beside it */
    double scale;
    int width, height; /* of a view */
} layout;

static double extent(const vf_mesh_view *view, int axis)
{
    return fmax(view->high[axis] - view->low[axis], 1e-3);
}

static layout lay_out(const vf_mesh_view *view)
{
    const double across = extent(view, 0), up = extent(view, 1);
    const int inner = WIDTH - 2 * MARGIN;
    const double beside = fmin(((inner - GAP) / 2.0 - 2 * EDGE) / across, (BESIDE_HEIGHT - 2 * EDGE) / up);
    const double below = fmin((inner - 2 * EDGE) / across, (BELOW_HEIGHT - 2 * EDGE) / up);
    layout l = {.below = below > 1.15 * beside};
    l.scale = l.below ? below : beside;
    l.width = (int)ceil(l.scale * across) + 2 * EDGE;
    l.height = (int)ceil(l.scale * up) + 2 * EDGE;
    return l;
}

double surface_draw_bytes(const vf_context *ctx, int64_t vertices)
{
    return (double)vf_canvas_mesh_bytes(ctx, WIDTH, BESIDE_HEIGHT, vertices) + 3.0 * WIDTH * WIDTH;
}

static vf_status draw_views(vf_context *ctx, const surface_drawing *s, const vf_mesh_view *front, const layout *l,
                            const vf_colormap *map, vf_canvas *canvas, int top)
{
    static const char *const names[2] = {"front", "back: turned by 180° about the vertical axis"};
    const int label = vf_line_height() + 16;
    const vf_mesh_view views[2] = {*front, vf_mesh_view_behind(front)};
    const vf_mesh_paint paint = {map, -s->range, s->range};
    float *sky = malloc((size_t)s->mesh->vertices * sizeof *sky + 1);
    vf_status status = sky ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the light on the surface");
    VF_TRY(status, vf_mesh_find_sky(ctx, s->mesh, front->axis[1], sky));
    for (int n = 0; status == VF_OK && n < 2; n++) {
        const int middle =
            l->below ? WIDTH / 2 : MARGIN + (WIDTH - 2 * MARGIN - GAP) / 4 + n * ((WIDTH - 2 * MARGIN - GAP) / 2 + GAP);
        const int y = top + (l->below ? n * (l->height + label + GAP) : 0);
        status = vf_canvas_mesh(ctx, canvas, middle - l->width / 2, y, l->width, l->height, s->mesh, sky, &views[n],
                                l->scale, &paint);
        vf_canvas_text(canvas, middle, y + l->height + label, VF_FONT_SMALL, VF_ALIGN_CENTER, names[n], FAINT_INK);
    }
    free(sky);
    return status;
}

static void draw_footer(const surface_drawing *s, const layout *l, const vf_colormap *map, vf_canvas *canvas, int y)
{
    enum { BAR = 800 };
    char title[256];
    const vf_colorbar bar = {map, -s->range, s->range, s->levels, s->below, s->above, title};
    (void)snprintf(title, sizeof title, "%s (%s)", s->info->quantity, s->info->unit);
    vf_canvas_colorbar(canvas, (WIDTH - BAR) / 2, y, BAR, &bar);
    vf_canvas_scale_bar(canvas, MARGIN, y, l->scale, 300, "Å");
    const vf_key key = {s->missing, "outside of the map", 0, map->missing};
    vf_canvas_keys(canvas, WIDTH - MARGIN, y, &key, 1);
}

static int caption(const surface_drawing *s, vf_canvas *canvas, int y)
{
    char atoms[PICTURE_WORDS], medium[PICTURE_WORDS], size[128];
    const char *parts[5] = {picture_atoms(s->info, atoms), s->words, size};
    int count = 3;
    (void)snprintf(size, sizeof size, "area %.0f Å²", vf_mesh_area(s->mesh));
    if (*picture_medium(s->info, medium))
        parts[count++] = medium;
    parts[count++] = s->info->method;
    return vf_canvas_paragraph(canvas, MARGIN, y, WIDTH - 2 * MARGIN, parts, count, FAINT_INK);
}

vf_status surface_draw(vf_context *ctx, const surface_drawing *s, const char *path)
{
    enum { TITLE_SPACE = 58, HEADER_GAP = 40, FOOTER_GAP = 120, FOOTER = 80 };
    vf_mesh_view front;
    vf_colormap map;
    vf_canvas *canvas = NULL;
    char title[PICTURE_TITLE], what[256];
    vf_mesh_principal_view(s->mesh, &front);
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    const layout l = lay_out(&front);
    const int top = MARGIN + TITLE_SPACE + caption(s, NULL, 0) + HEADER_GAP;
    const int body = l.below ? 2 * l.height + vf_line_height() + 16 + GAP : l.height;
    const int footer = top + body + vf_line_height() + FOOTER_GAP;
    vf_status status = vf_canvas_create(ctx, WIDTH, footer + FOOTER + MARGIN, PAPER, &canvas);
    if (status != VF_OK)
        return status;
    (void)snprintf(what, sizeof what, "%s at the surface", s->info->quantity);
    picture_title(s->info, what, WIDTH - 2 * MARGIN, title);
    vf_canvas_text(canvas, MARGIN, MARGIN + vf_font_get_size(VF_FONT_LARGE).capital, VF_FONT_LARGE, VF_ALIGN_LEFT,
                   title, INK);
    (void)caption(s, canvas, MARGIN + TITLE_SPACE);
    status = draw_views(ctx, s, &front, &l, &map, canvas, top);
    draw_footer(s, &l, &map, canvas, footer);
    VF_TRY(status, picture_write(ctx, canvas, s->info, path));
    vf_canvas_destroy(canvas);
    return status;
}
