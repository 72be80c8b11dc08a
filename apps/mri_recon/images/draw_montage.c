/* Draws an image: slices side by side, or frames if each has one slice. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_files.h"
#include "voxfield/figure.h"

/* In pixels. The picture is at most 8 inches wide at 300 pixels per inch. */
enum {
    MAX_WIDTH = 2400,
    MIN_WIDTH = 1800,
    MAX_BODY = 1800, /* height of all panels together */
    MARGIN = 50,
    GAP = 24,        /* between panels */
    CAPTION_GAP = 8, /* between a panel and its caption */
    FRAME_LINE = 2,
    SIDE = 60,            /* beside the panels, for the orientation letters */
    LARGEST_STEP = 16,    /* maximum pixels per voxel: more would show nothing new ... */
    SMALLEST_PANEL = 400, /* ... unless the panel would be smaller than this */
    THINNEST = 8,
    MOST_PANELS = 20
};

static const vf_color PAPER = {255, 255, 255, 255}, INK = {25, 25, 25, 255}, FAINT_INK = {90, 90, 90, 255},
                      FRAME = {150, 150, 150, 255}; /* around panels, which may be white up to their edges */

/* How a slice is turned, and the names of its edges: "L", "RA", or "" for none. */
typedef struct view {
    int u, v; /* axes of the image to the right and downwards */
    bool flip_u, flip_v;
    char left[4], right[4], top[4], bottom[4];
} view;

typedef struct montage {
    vf_context *ctx;
    const recon_image *image;
    view view;
    bool frames;   /* panels are frames, not slices */
    int64_t total; /* number of items (frames or slices) in the image */
    int panels;
    int64_t item[MOST_PANELS]; /* the frame or slice of each panel */
    double white;
    double scale;                     /* pixels per mm */
    int columns, rows, width, height; /* number of panels; size of a panel */
    vf_colormap map;
    vf_canvas *canvas;
} montage;

/* ---- orientation ---- */

/* The patient's direction nearest to a vector, and a second one if the vector is more than 20 degrees off. */
static void name_direction(const double d[3], double sign, char out[4])
{
    static const char names[3][2] = {{'L', 'R'}, {'P', 'A'}, {'H', 'F'}};
    const double second = 0.342; /* sin 20 degrees */
    int first = 0, n = 0;
    for (int a = 1; a < 3; a++)
        if (fabs(d[a]) > fabs(d[first]))
            first = a;
    out[n++] = names[first][sign * d[first] < 0];
    int other = first == 0 ? 1 : 0;
    for (int a = 0; a < 3; a++)
        if (a != first && fabs(d[a]) > fabs(d[other]))
            other = a;
    if (fabs(d[other]) > second)
        out[n++] = names[other][sign * d[other] < 0];
    out[n] = '\0';
}

/* The radiologists' convention: transverse slices from the feet with the front up, coronal slices from the front and
 * sagittal slices from the left with the head up. If the patient's position is unknown, the image is shown as in
 * memory. */
static view choose_view(const scan_geometry *g)
{
    view out = {.u = 0, .v = 1}; /* the caption explains the axes */
    if (!g->known)
        return out;
    int normal = 0;
    for (int a = 1; a < 3; a++)
        if (fabs(g->direction[2][a]) >= fabs(g->direction[2][normal]))
            normal = a;
    const int down = normal == 2 ? 1 : 2, right = normal == 0 ? 1 : 0; /* the patient's axes */
    const double down_sign = normal == 2 ? 1 : -1;                     /* to the back, or to the feet */
    if (fabs(g->direction[0][down]) > fabs(g->direction[1][down])) {
        out.u = 1;
        out.v = 0;
    }
    const double *across = g->direction[out.u], *along = g->direction[out.v];
    out.flip_u = across[right] < 0;
    out.flip_v = along[down] * down_sign < 0;
    name_direction(across, out.flip_u ? 1 : -1, out.left);
    name_direction(across, out.flip_u ? -1 : 1, out.right);
    name_direction(along, out.flip_v ? 1 : -1, out.top);
    name_direction(along, out.flip_v ? -1 : 1, out.bottom);
    return out;
}

/* ---- choice of panels ---- */

/* Counts the voxels of a slice with at least a fifth of white. */
static int64_t count_bright(const montage *m, int64_t slice, float *values)
{
    const int64_t voxels = m->image->counts[0] * m->image->counts[1];
    const float least = (float)(0.2 * m->white);
    int64_t bright = 0;
    image_magnitude(m->image->data + slice * voxels, voxels, values);
    for (int64_t i = 0; i < voxels; i++)
        bright += values[i] >= least;
    return bright;
}

/* Trims slices at both ends with at most `least` bright voxels. False if none is left. */
static bool trim_slices(const montage *m, int64_t least, float *values, int64_t *first, int64_t *last)
{
    *first = 0;
    *last = m->total - 1;
    while (*first < m->total && count_bright(m, *first, values) <= least)
        ++*first;
    if (*first == m->total)
        return false;
    while (count_bright(m, *last, values) <= least)
        --*last;
    return true;
}

/* Selects all items from `first` to `last`, or as many as fit, evenly spaced. */
static void spread(montage *m, int64_t first, int64_t last)
{
    const int64_t count = last - first + 1;
    m->panels = count < MOST_PANELS ? (int)count : MOST_PANELS;
    for (int p = 0; p < m->panels; p++)
        m->item[p] = first + (2 * p + 1) * count / (2 * m->panels);
}

/* The number of places that volumes are at. The panels show the first, unless each has one slice of one time. */
static int slabs(const montage *m)
{
    const bool single = m->image->counts[2] == 1 && m->image->frames == m->image->places;
    return m->image->place_geometry && !single ? m->image->places : 1;
}

static vf_status choose_panels(montage *m)
{
    const recon_image *image = m->image;
    const int64_t voxels = image->counts[0] * image->counts[1];
    m->frames = image->counts[2] == 1 && image->frames > slabs(m);
    m->total = m->frames ? (image->frames - 1) / slabs(m) + 1 : image->counts[2];
    vf_status status = image_white(m->ctx, image, 0, m->frames ? image->frames : 1, &m->white);
    if (status != VF_OK)
        return status;
    int64_t first = 0, last = m->total - 1;
    if (!m->frames && m->total > MOST_PANELS) {
        float *values = malloc((size_t)voxels * sizeof *values);
        if (!values)
            return vf_fail(m->ctx, VF_ERR_MEMORY, "not enough memory for a slice of the picture");
        /* one voxel in 200; for small objects, any */
        if (!trim_slices(m, voxels / 200, values, &first, &last) && !trim_slices(m, 0, values, &first, &last)) {
            first = 0;
            last = m->total - 1;
        }
        free(values);
    }
    spread(m, first, last);
    return VF_OK;
}

/* ---- layout ---- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* No caption if there is nothing to distinguish. */
static int caption_height(const montage *m)
{
    return m->total > 1 ? vf_line_height() + CAPTION_GAP : 0;
}

/* The size of a slice on paper, in mm. */
static double extent(const montage *m, int axis)
{
    return m->image->voxel[axis] * (double)m->image->counts[axis];
}

/* Chooses the number of columns with the largest panels; of several, the one with the fewest empty places and the most
 * columns. */
static void lay_out(montage *m)
{
    const double across = extent(m, m->view.u), down = extent(m, m->view.v);
    const double step = fmin(m->image->voxel[0], m->image->voxel[1]);
    const double most = fmax(LARGEST_STEP / step, SMALLEST_PANEL / fmax(across, down));
    m->scale = 0;
    for (int columns = 1; columns <= m->panels; columns++) {
        const int rows = (m->panels + columns - 1) / columns;
        const double width = (MAX_WIDTH - 2 * MARGIN - 2 * SIDE - (columns - 1) * GAP) / columns;
        const double height = (MAX_BODY - (rows - 1) * GAP) / (double)rows - caption_height(m);
        const double scale = fmin(fmin(width / across, height / down), most);
        const bool fuller = columns * rows <= m->columns * m->rows;
        if (scale > m->scale * 1.0001 || (scale >= m->scale * 0.9999 && fuller)) {
            m->scale = scale;
            m->columns = columns;
            m->rows = rows;
        }
    }
    m->width = larger((int)(across * m->scale), THINNEST);
    m->height = larger((int)(down * m->scale), THINNEST);
}

/* ---- drawing ---- */

/* The plane of a panel as shown, [counts[v]][counts[u]]. */
static void take_plane(const montage *m, int panel, float *magnitude, float *out)
{
    const view *v = &m->view;
    const int64_t *counts = m->image->counts, voxels = counts[0] * counts[1];
    const int64_t step_u = v->u == 0 ? 1 : counts[0], step_v = v->v == 0 ? 1 : counts[0];
    const int64_t plane =
        m->frames ? m->item[panel] * slabs(m) : m->item[panel]; /* index of the plane; a frame has one */
    image_magnitude(m->image->data + plane * voxels, voxels, magnitude);
    for (int64_t row = 0; row < counts[v->v]; row++)
        for (int64_t column = 0; column < counts[v->u]; column++) {
            const int64_t j = v->flip_v ? counts[v->v] - 1 - row : row;
            const int64_t i = v->flip_u ? counts[v->u] - 1 - column : column;
            out[row * counts[v->u] + column] = magnitude[j * step_v + i * step_u];
        }
}

static void draw_caption(const montage *m, int panel, int x, int y)
{
    char text[64];
    if (m->total == 1)
        return;
    const char *what = m->frames ? "frame" : m->image->geometry.slice_step != 0 ? "slice" : "z =";
    (void)snprintf(text, sizeof text, "%s %lld", what, (long long)m->item[panel]);
    if (vf_text_width(VF_FONT_SMALL, text) > m->width + GAP - 8)
        (void)snprintf(text, sizeof text, "%lld", (long long)m->item[panel]);
    vf_canvas_text(m->canvas, x + m->width / 2, y - CAPTION_GAP, VF_FONT_SMALL, VF_ALIGN_CENTER, text, FAINT_INK);
}

static vf_status draw_panels(const montage *m, int left, int top)
{
    vf_status status = VF_OK;
    const int64_t voxels = m->image->counts[0] * m->image->counts[1];
    float *planes = malloc(2 * (size_t)voxels * sizeof *planes);
    float *pixels = malloc((size_t)m->width * (size_t)m->height * sizeof *pixels);
    if (!planes || !pixels) {
        status = vf_fail(m->ctx, VF_ERR_MEMORY, "not enough memory for the panels of the picture");
        goto done;
    }
    for (int p = 0; p < m->panels; p++) {
        const int x = left + p % m->columns * (m->width + GAP);
        const int y = top + p / m->columns * (m->height + caption_height(m) + GAP) + caption_height(m);
        take_plane(m, p, planes, planes + voxels);
        vf_resample(planes + voxels, m->image->counts[m->view.u], m->image->counts[m->view.v], VF_FILTER_BILINEAR,
                    m->width, m->height, pixels);
        vf_canvas_frame(m->canvas, x, y, m->width, m->height, FRAME_LINE, FRAME);
        vf_canvas_image(m->canvas, x, y, m->width, m->height, pixels, &m->map, 0, m->white);
        draw_caption(m, p, x, y);
    }
done:
    free(planes);
    free(pixels);
    return status;
}

/* Draws the letters at the middle of the outer edges. All panels have the same orientation. */
static void draw_letters(const montage *m, int left, int top, int width, int height)
{
    const int capital = vf_font_get_size(VF_FONT_LARGE).capital, gap = 16;
    const int x = left + width / 2, y = top + caption_height(m) + (height - caption_height(m) + capital) / 2;
    vf_canvas_text(m->canvas, left - gap, y, VF_FONT_LARGE, VF_ALIGN_RIGHT, m->view.left, INK);
    vf_canvas_text(m->canvas, left + width + gap, y, VF_FONT_LARGE, VF_ALIGN_LEFT, m->view.right, INK);
    vf_canvas_text(m->canvas, x, top - gap, VF_FONT_LARGE, VF_ALIGN_CENTER, m->view.top, INK);
    vf_canvas_text(m->canvas, x, top + height + gap + capital, VF_FONT_LARGE, VF_ALIGN_CENTER, m->view.bottom, INK);
}

/* The picture's description, in parts. */
enum { MOST_PARTS = 16 };
typedef struct caption {
    char title[1200], voxels[200], shown[240], method[1024];
    const char *part[MOST_PARTS];
    int parts;
} caption;

/* Splits the method at its commas, to break lines there. */
static void describe_method(const char *method, caption *out)
{
    (void)snprintf(out->method, sizeof out->method, "%s", method);
    for (char *at = out->method; at && out->parts < MOST_PARTS;) {
        out->part[out->parts++] = at;
        char *comma = out->parts < MOST_PARTS ? strstr(at, ", ") : NULL;
        if (comma)
            *comma = '\0';
        at = comma ? comma + 2 : NULL;
    }
}

static void describe_voxels(const recon_image *image, caption *out)
{
    char number[3][VF_LABEL_TEXT];
    const bool stack = image->geometry.slice_step != 0;
    for (int a = 0; a < 3; a++)
        vf_label_text(a == 2 && stack ? fabs(image->geometry.slice_step) : image->voxel[a], 3, VF_LABEL_TRIM,
                      number[a]);
    const long long x = image->counts[0], y = image->counts[1], z = image->counts[2];
    if (stack)
        (void)snprintf(out->voxels, sizeof out->voxels, "%lld × %lld voxels of %s × %s mm, %lld slices %s mm apart", x,
                       y, number[0], number[1], z, number[2]);
    else if (z == 1)
        (void)snprintf(out->voxels, sizeof out->voxels, "%lld × %lld voxels of %s × %s mm, slice of %s mm", x, y,
                       number[0], number[1], number[2]);
    else
        (void)snprintf(out->voxels, sizeof out->voxels, "%lld × %lld × %lld voxels of %s × %s × %s mm", x, y, z,
                       number[0], number[1], number[2]);
}

/* "all 5 slices of slab 0 (of 2), numbered from 0" */
static void describe_shown(const montage *m, caption *out)
{
    const recon_image *image = m->image;
    const long long total = m->total, frames = (image->frames - 1) / slabs(m) + 1;
    char slab[64] = "", frame[64] = "", items[64] = "";
    if (slabs(m) > 1)
        (void)snprintf(slab, sizeof slab, " of slab 0 (of %d)", slabs(m));
    if (!m->frames && frames > 1)
        (void)snprintf(frame, sizeof frame, " of frame 0 (of %lld)", frames);
    const char *what = m->frames ? "frames" : "slices";
    if (total > m->panels)
        (void)snprintf(items, sizeof items, "%d of %lld %s", m->panels, total, what);
    else if (total > 1)
        (void)snprintf(items, sizeof items, "all %lld %s", total, what);
    else if (slab[0])
        (void)snprintf(items, sizeof items, "the slice");
    (void)snprintf(out->shown, sizeof out->shown, "%s%s%s%s", items, slab, frame, total > 1 ? ", numbered from 0" : "");
    if (items[0])
        out->part[out->parts++] = out->shown;
}

static void describe(const montage *m, int width, caption *out)
{
    const recon_image *image = m->image;
    const char *input = image->input ? image->input : "scan", *slash = strrchr(input, '/');
    char name[1024];
    vf_text_shorten(VF_FONT_LARGE, slash ? slash + 1 : input, width - vf_text_width(VF_FONT_LARGE, ": magnitude"), name,
                    sizeof name);
    (void)snprintf(out->title, sizeof out->title, "%s: magnitude", name);
    describe_voxels(image, out);
    out->parts = 0;
    out->part[out->parts++] = out->voxels;
    describe_shown(m, out);
    if (!image->geometry.known)
        out->part[out->parts++] = "x to the right, y down: the scan does not say how the patient lies";
    if (image->method)
        describe_method(image->method, out);
}

/* The bar of the window. Very small and very large numbers are written without their power of ten. */
static void draw_window(const montage *m, int x, int y, int width)
{
    const int exponent = (int)floor(log10(m->white));
    const bool scaled = exponent < -3 || exponent > 4;
    const double white = scaled ? m->white / pow(10, exponent) : m->white;
    char title[96] = "magnitude (arbitrary unit)";
    if (scaled)
        (void)snprintf(title, sizeof title, "magnitude / 1e%d (arbitrary unit)", exponent);
    const vf_colorbar bar = {&m->map, 0, white, vf_ticks_make(0, white, white / 6), false, true, title};
    vf_canvas_colorbar(m->canvas, x, y, width, &bar);
}

static void draw_footer(const montage *m, int left, int right, int y)
{
    enum { BESIDE = 560 }; /* room for the scale bar and the program's name */
    const recon_image *image = m->image;
    char line[256];
    const int room = right - left - 2 * BESIDE, width = room < 800 ? room : 800;
    draw_window(m, (left + right - width) / 2, y, width);
    vf_canvas_scale_bar(m->canvas, left, y, m->scale, fmin(fmax(m->width, 60), 300), "mm");
    const char *const texts[] = {image->program, image->created};
    for (int i = 0; i < 2; i++) {
        vf_text_shorten(VF_FONT_SMALL, texts[i] ? texts[i] : "", BESIDE - VF_COLORBAR_POINT - 40, line, sizeof line);
        vf_canvas_text(m->canvas, right, y + vf_font_get_size(VF_FONT_SMALL).capital + i * (vf_line_height() + 6),
                       VF_FONT_SMALL, VF_ALIGN_RIGHT, line, FAINT_INK);
    }
}

static vf_status compose(montage *m)
{
    enum { TITLE_SPACE = 58, HEADER_GAP = 62, FOOTER_GAP = 120, FOOTER = 80 };
    const int body_width = m->columns * (m->width + GAP) - GAP;
    const int body_height = m->rows * (m->height + caption_height(m) + GAP) - GAP;
    const int width = larger(body_width + 2 * MARGIN + 2 * SIDE, MIN_WIDTH), inner = width - 2 * MARGIN;
    caption text;
    describe(m, inner, &text);
    const int paragraph = vf_canvas_paragraph(NULL, 0, 0, inner, text.part, text.parts, FAINT_INK);
    const int top = MARGIN + TITLE_SPACE + paragraph + HEADER_GAP, footer = top + body_height + FOOTER_GAP;
    const int left = (width - body_width) / 2;
    vf_status status = vf_canvas_create(m->ctx, width, footer + FOOTER + MARGIN, PAPER, &m->canvas);
    if (status != VF_OK)
        return status;
    vf_canvas_text(m->canvas, MARGIN, MARGIN + vf_font_get_size(VF_FONT_LARGE).capital, VF_FONT_LARGE, VF_ALIGN_LEFT,
                   text.title, INK);
    (void)vf_canvas_paragraph(m->canvas, MARGIN, MARGIN + TITLE_SPACE, inner, text.part, text.parts, FAINT_INK);
    status = draw_panels(m, left, top);
    draw_letters(m, left, top, body_width, body_height);
    draw_footer(m, MARGIN, width - MARGIN, footer);
    return status;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

vf_status draw_montage(vf_context *ctx, const recon_image *image, const char *path)
{
    const vf_png_text texts[] = {{"Title", "magnetic resonance image (magnitude)"},
                                 {"Description", or_empty(image->input)},
                                 {"Software", or_empty(image->program)},
                                 {"Comment", or_empty(image->command)},
                                 {"Creation Time", or_empty(image->created)}};
    montage m = {.ctx = ctx, .image = image, .view = choose_view(&image->geometry)};
    vf_colormap_make(VF_COLORMAP_GRAY, &m.map);
    vf_status status = choose_panels(&m);
    if (status != VF_OK)
        return status;
    lay_out(&m);
    status = compose(&m);
    VF_TRY(status, vf_canvas_write_png(ctx, m.canvas, path, texts, (int)(sizeof texts / sizeof *texts)));
    vf_canvas_destroy(m.canvas);
    return status;
}

vf_status draw_middle_slice(vf_context *ctx, const recon_image *image, int size, vf_canvas **out)
{
    montage m = {.ctx = ctx,
                 .image = image,
                 .view = choose_view(&image->geometry),
                 .panels = 1,
                 .item[0] = image->counts[2] / 2};
    const int64_t voxels = image->counts[0] * image->counts[1];
    const double across = extent(&m, m.view.u), down = extent(&m, m.view.v), scale = size / fmax(across, down);
    m.width = larger((int)(across * scale), THINNEST);
    m.height = larger((int)(down * scale), THINNEST);
    float *planes = malloc(2 * (size_t)voxels * sizeof *planes);
    float *pixels = malloc((size_t)m.width * (size_t)m.height * sizeof *pixels);
    vf_status status = planes && pixels ? image_white(ctx, image, 0, 1, &m.white)
                                        : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a preview");
    VF_TRY(status, vf_canvas_create(ctx, m.width, m.height, PAPER, out));
    if (status == VF_OK) {
        vf_colormap_make(VF_COLORMAP_GRAY, &m.map);
        take_plane(&m, 0, planes, planes + voxels);
        vf_resample(planes + voxels, image->counts[m.view.u], image->counts[m.view.v], VF_FILTER_BILINEAR, m.width,
                    m.height, pixels);
        vf_canvas_image(*out, 0, 0, m.width, m.height, pixels, &m.map, 0, m.white);
    }
    free(planes);
    free(pixels);
    return status;
}
