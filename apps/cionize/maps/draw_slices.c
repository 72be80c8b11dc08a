/* Draws a map: three slices through its middle, with the molecule's outline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_slices.h"
#include "picture_words.h"
#include "slice_outline.h"
#include "voxfield/figure.h"
#include "voxfield/statistics.h"
#include "voxfield/timer.h"

/* ---- gathering the planes ---- */

static const char *const AXIS_NAME[3] = {"x", "y", "z"};

struct slices {
    vf_context *ctx;
    vf_grid grid;
    int64_t middle[3]; /* the plane normal to axis p lies at index middle[p] */
    int u[3], v[3];    /* and shows axis u[p] to the right, v[p] upwards */
    float *plane[3]; /* [counts[v]][counts[u]], the largest coordinate along v first; NaN where no layer has come yet */
};

static double extent(const vf_grid *grid, int axis)
{
    return grid->spacing[axis] * (double)grid->counts[axis];
}

/* Puts z upwards, or y if z is not shown. The long axis of a rod goes across: pages are wide. */
static void orient(slices *planes)
{
    const vf_grid *grid = &planes->grid;
    for (int p = 0; p < 3; p++) {
        planes->u[p] = p == 0 ? 1 : 0;
        planes->v[p] = p == 2 ? 1 : 2;
        const int u = planes->u[p], v = planes->v[p];
        if (extent(grid, v) > 3 * extent(grid, u) && extent(grid, v) > 3 * extent(grid, p)) {
            planes->u[p] = v;
            planes->v[p] = u;
        }
    }
}

vf_status slices_create(vf_context *ctx, const vf_grid *grid, slices **out)
{
    *out = NULL;
    slices *planes = calloc(1, sizeof *planes);
    if (!planes)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the picture's slices");
    planes->ctx = ctx;
    planes->grid = *grid;
    orient(planes);
    for (int p = 0; p < 3; p++) {
        const int64_t columns = grid->counts[planes->u[p]], rows = grid->counts[planes->v[p]];
        size_t bytes = sizeof(float);
        bool fits = !__builtin_mul_overflow(bytes, (size_t)columns, &bytes) &&
                    !__builtin_mul_overflow(bytes, (size_t)rows, &bytes);
        planes->middle[p] = grid->counts[p] / 2;
        planes->plane[p] = fits ? malloc(bytes) : NULL;
        if (!planes->plane[p]) {
            slices_destroy(planes);
            return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a slice of the picture, %lld x %lld values",
                           (long long)columns, (long long)rows);
        }
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            planes->plane[p][i] = NAN;
    }
    *out = planes;
    return VF_OK;
}

void slices_destroy(slices *planes)
{
    if (!planes)
        return;
    for (int p = 0; p < 3; p++)
        free(planes->plane[p]);
    free(planes);
}

/* Copies a row of `n` values from element `begin`, `stride` apart. */
static void take_row(float *row, vf_dtype type, const void *values, int64_t begin, int64_t stride, int64_t n)
{
    if (type == VF_F64) {
        const double *from = (const double *)values + begin;
        for (int64_t i = 0; i < n; i++)
            row[i] = (float)from[i * stride];
    } else {
        const float *from = (const float *)values + begin;
        for (int64_t i = 0; i < n; i++)
            row[i] = from[i * stride];
    }
}

void slices_take(slices *planes, map_order order, vf_dtype type, int64_t first, int64_t count, const void *values)
{
    const int64_t *counts = planes->grid.counts;
    const int slow = order == MAP_X_FASTEST ? 2 : 0;
    int64_t lo[3] = {0}, hi[3] = {counts[0], counts[1], counts[2]}, stride[3];
    lo[slow] = first;
    hi[slow] = first + count;
    stride[2 - slow] = 1;
    stride[1] = counts[2 - slow];
    stride[slow] = stride[1] * counts[1];
    for (int p = 0; p < 3; p++) {
        const int u = planes->u[p], v = planes->v[p];
        if (planes->middle[p] < lo[p] || planes->middle[p] >= hi[p])
            continue;
        const int64_t base = (planes->middle[p] - lo[p]) * stride[p];
        for (int64_t j = lo[v]; j < hi[v]; j++)
            take_row(planes->plane[p] + (counts[v] - 1 - j) * counts[u] + lo[u], type, values,
                     base + (j - lo[v]) * stride[v], stride[u], hi[u] - lo[u]);
    }
}

/* ---- layout ---- */

/* In pixels. The widest picture is 8 inches at 300 pixels per inch. */
enum {
    MAX_WIDTH = 2400,
    MIN_WIDTH = 1800,
    MAX_BODY = 1500, /* height of all panels together */
    MARGIN = 50,
    GAP = 40,       /* between panels */
    TITLE_GAP = 10, /* between a panel and its title */
    THINNEST = 8,   /* minimum side of a panel: in a long map, a plane one point wide would vanish */
};

static const vf_color PAPER = {255, 255, 255, 255}, INK = {25, 25, 25, 255}, FAINT_INK = {90, 90, 90, 255};
static const vf_color OUTLINE = {35, 35, 35, 255}, ISOLINE = {0, 0, 0, 100};
static const double OUTLINE_WIDTH = 1.8, ISOLINE_WIDTH = 1.2;

typedef struct panel {
    int normal, u, v;        /* axis normal to the plane; axes across and up */
    double position;         /* of the plane along its normal, in angstrom */
    vf_axis across, up;      /* in angstrom; they end at the edges of the outermost points' cells */
    int x, y, width, height; /* the image on the canvas */
    float *values;           /* [height][width] */
    float *distance;         /* [height][width]: to the molecule's outline, negative inside, clipped to a few pixels */
} panel;

typedef struct picture {
    const slices *planes;
    const map_info *info;
    panel panel[3];
    double scale;                /* pixels per angstrom */
    int decimals;                /* decimals of positions at this scale */
    int body_width, body_height; /* of all panels together */
    double range;                /* the colours range from -range to range */
    vf_ticks levels;             /* of the colour bar and the isolines */
    bool below, above, missing;  /* whether there are values below or above the range, or NaN */
    bool outline, isolines;      /* whether any were drawn */
    vf_colormap map;
    vf_canvas *canvas;
} picture;

static const char *plane_title(const picture *pic, const panel *p, char title[64])
{
    char number[VF_LABEL_TEXT];
    vf_label_text(p->position, pic->decimals, VF_LABEL_TRIM, number);
    (void)snprintf(title, 64, "%s = %s Å", AXIS_NAME[p->normal], number);
    return title;
}

/* Sets an axis of a panel; returns the panel's size in pixels along it. */
static int scale_axis(const picture *pic, int axis, vf_axis *out)
{
    const vf_grid *grid = &pic->planes->grid;
    out->lo = grid->origin[axis] - grid->spacing[axis] / 2;
    out->hi = grid->origin[axis] + grid->spacing[axis] * ((double)grid->counts[axis] - 0.5);
    out->ticks = vf_ticks_make(out->lo, out->hi, VF_AXIS_TICK_STEP / pic->scale);
    if (out->ticks.last <= out->ticks.first) /* a short axis needs closer ticks, to have more than one */
        out->ticks = vf_ticks_make(out->lo, out->hi, VF_AXIS_TICK_STEP / 2 / pic->scale);
    out->decimals = pic->decimals;
    (void)snprintf(out->label, sizeof out->label, "%s (Å)", AXIS_NAME[axis]);
    return (int)fmax(rint(extent(grid, axis) * pic->scale), THINNEST);
}

/* Sets a panel except for its place. */
static void scale_panel(const picture *pic, int normal, panel *p)
{
    const slices *planes = pic->planes;
    const vf_grid *grid = &planes->grid;
    p->normal = normal;
    p->u = planes->u[normal];
    p->v = planes->v[normal];
    p->position = grid->origin[normal] + grid->spacing[normal] * (double)planes->middle[normal];
    p->width = scale_axis(pic, p->u, &p->across);
    p->height = scale_axis(pic, p->v, &p->up);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Where the second and third panels go: right of the previous one, below all, or right of all. */
typedef enum move { RIGHT, BELOW, BESIDE } move;
typedef struct arrangement {
    move second, third;
} arrangement;

/* Places the panels from (0, 0) on, at pic->scale. */
static void place_panels(picture *pic, arrangement how)
{
    const move moves[3] = {RIGHT, how.second, how.third};
    const int above = vf_line_height() + TITLE_GAP + VF_AXES_FRAME, below = vf_axes_below();
    int left = 0, x = -GAP, y = 0;
    pic->decimals = (int)fmin(fmax(ceil(log10(pic->scale)), 1), 9);
    pic->body_width = pic->body_height = 0;
    for (int i = 0; i < 3; i++) {
        scale_panel(pic, i, &pic->panel[i]);
        left = larger(left, vf_axes_left(&pic->panel[i].up)); /* the same for all panels, to align rows */
    }
    for (int i = 0; i < 3; i++) {
        panel *p = &pic->panel[i];
        char title[64];
        x = moves[i] == RIGHT ? x + GAP : moves[i] == BESIDE ? pic->body_width + GAP : 0;
        y = moves[i] == RIGHT ? y : moves[i] == BESIDE ? 0 : pic->body_height + GAP;
        p->x = x + left;
        p->y = y + above;
        x = p->x + larger(p->width + VF_AXES_FRAME, vf_text_width(VF_FONT_SMALL, plane_title(pic, p, title)));
        pic->body_width = larger(pic->body_width, x);
        pic->body_height = larger(pic->body_height, p->y + p->height + below);
    }
}

/* The largest scale at which the panels fit, by bisection: the picture grows with the scale. */
static double largest_scale(picture *pic, arrangement how)
{
    const vf_grid *grid = &pic->planes->grid;
    double longest = 0;
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, extent(grid, a));
    double fits = 1 / longest, too_large = MAX_WIDTH / longest;
    for (int i = 0; i < 30; i++) {
        pic->scale = sqrt(fits) * sqrt(too_large);
        place_panels(pic, how);
        if (pic->body_width <= MAX_WIDTH - 2 * MARGIN && pic->body_height <= MAX_BODY)
            fits = pic->scale;
        else
            too_large = pic->scale;
    }
    return fits;
}

/* Places the panels in a row, or in another arrangement if they become much larger, as for rods and slabs. */
static void lay_out_panels(picture *pic)
{
    static const arrangement row = {RIGHT, RIGHT};
    static const arrangement others[] = {{BELOW, RIGHT}, {RIGHT, BELOW}, {BELOW, BELOW}, {BELOW, BESIDE}};
    arrangement best = row;
    const double in_row = largest_scale(pic, row);
    double scale = in_row;
    for (int i = 0; i < 4; i++) {
        const double other = largest_scale(pic, others[i]);
        if (other > fmax(scale, 1.3 * in_row)) {
            scale = other;
            best = others[i];
        }
    }
    pic->scale = scale;
    place_panels(pic, best);
}

/* ---- values ---- */

static size_t pixels_of(const panel *p)
{
    return (size_t)p->width * (size_t)p->height;
}

static vf_status sample_panel(const picture *pic, panel *p)
{
    const int64_t *counts = pic->planes->grid.counts;
    p->values = malloc(pixels_of(p) * sizeof *p->values);
    p->distance = malloc(pixels_of(p) * sizeof *p->distance);
    if (!p->values || !p->distance)
        return vf_fail(pic->planes->ctx, VF_ERR_MEMORY, "not enough memory for %zu pixels of the picture",
                       pixels_of(p));
    vf_resample(pic->planes->plane[p->normal], counts[p->u], counts[p->v], VF_FILTER_BILINEAR, p->width, p->height,
                p->values);
    const slice_plane plane = {
        .normal = p->normal,
        .u = p->u,
        .v = p->v,
        .position = p->position,
        .lo = {p->across.lo, p->up.lo},
        .pixel = {extent(&pic->planes->grid, p->u) / p->width, extent(&pic->planes->grid, p->v) / p->height},
        .width = p->width,
        .height = p->height};
    return slice_outline(pic->planes->ctx, pic->info, &plane, p->distance);
}

/* Collects finite magnitudes, of all pixels or only of those outside the molecule. */
static int64_t collect_magnitudes(const picture *pic, bool outside, float *out)
{
    int64_t found = 0;
    for (int i = 0; i < 3; i++) {
        const panel *p = &pic->panel[i];
        for (size_t k = 0; k < pixels_of(p); k++)
            if (isfinite(p->values[k]) && !(outside && p->distance[k] < 0))
                out[found++] = fabsf(p->values[k]);
    }
    return found;
}

/* Finds out which values are outside the colours' range. */
static void find_extremes(picture *pic)
{
    for (int i = 0; i < 3; i++) {
        const panel *p = &pic->panel[i];
        for (size_t k = 0; k < pixels_of(p); k++) {
            pic->missing |= isnan(p->values[k]);
            pic->below |= (double)p->values[k] < -pic->range;
            pic->above |= (double)p->values[k] > pic->range;
        }
    }
}

/* The colours' range includes 98 of 100 pixels outside the molecule, rounded up. The potential is unbounded at the
 * atoms; a range that included it would leave everything else white. */
static vf_status choose_range(picture *pic)
{
    if (pic->info->range > 0) {
        pic->range = pic->info->range;
        pic->levels = vf_ticks_make(-pic->range, pic->range, pic->range / 5);
        find_extremes(pic);
        return VF_OK;
    }
    const size_t pixels = pixels_of(&pic->panel[0]) + pixels_of(&pic->panel[1]) + pixels_of(&pic->panel[2]);
    float limit = 0, *magnitudes = malloc(pixels * sizeof *magnitudes);
    if (!magnitudes)
        return vf_fail(pic->planes->ctx, VF_ERR_MEMORY, "not enough memory for %zu pixels of the picture", pixels);
    int64_t n = collect_magnitudes(pic, true, magnitudes);
    if (n == 0)
        n = collect_magnitudes(pic, false, magnitudes);
    const vf_status status = vf_host_quantile(pic->planes->ctx, n, magnitudes, 0.98, &limit);
    free(magnitudes);
    if (status != VF_OK)
        return status;
    pic->levels = vf_ticks_symmetric((double)limit, &pic->range); /* 0: the map is 0 or NaN everywhere */
    find_extremes(pic);
    return VF_OK;
}

/* ---- drawing ---- */

/* Draws isolines at the colour bar's ticks, outside the molecule only: inside, they crowd around the atoms. Overwrites
 * the panel's values. */
static void draw_isolines(picture *pic, panel *p)
{
    for (size_t k = 0; k < pixels_of(p); k++)
        if (p->distance[k] < 0)
            p->values[k] = NAN;
    for (int64_t n = pic->levels.first; n <= pic->levels.last; n++)
        if (n != 0) /* where the map is flat, the zero line is noise */
            pic->isolines |= vf_canvas_contour(pic->canvas, p->x, p->y, p->width, p->height, p->values,
                                               vf_tick_value(&pic->levels, n), ISOLINE_WIDTH, ISOLINE);
}

static void draw_panel(picture *pic, panel *p)
{
    char title[64];
    vf_canvas_image(pic->canvas, p->x, p->y, p->width, p->height, p->values, &pic->map, -pic->range, pic->range);
    draw_isolines(pic, p);
    pic->outline |=
        vf_canvas_contour(pic->canvas, p->x, p->y, p->width, p->height, p->distance, 0, OUTLINE_WIDTH, OUTLINE);
    vf_canvas_axes(pic->canvas, p->x, p->y, p->width, p->height, &p->across, &p->up);
    const bool wide = vf_text_width(VF_FONT_SMALL, plane_title(pic, p, title)) > p->width;
    vf_canvas_text(pic->canvas, wide ? p->x : p->x + p->width / 2, p->y - VF_AXES_FRAME - TITLE_GAP, VF_FONT_SMALL,
                   wide ? VF_ALIGN_LEFT : VF_ALIGN_CENTER, title, INK);
}

/* What the picture shows, in parts. */
typedef struct caption {
    char title[PICTURE_TITLE], points[160], atoms[PICTURE_WORDS], medium[PICTURE_WORDS];
    const char *part[4];
    int parts;
} caption;

static void describe(const picture *pic, int width, caption *out)
{
    const map_info *info = pic->info;
    const vf_grid *grid = &pic->planes->grid;
    char number[3][VF_LABEL_TEXT];
    picture_title(info, info->quantity, width, out->title);
    for (int a = 0; a < 3; a++)
        vf_label_text(grid->spacing[a], 4, VF_LABEL_TRIM, number[a]);
    const bool even = strcmp(number[0], number[1]) == 0 && strcmp(number[0], number[2]) == 0;
    (void)snprintf(out->points, sizeof out->points, "%lld × %lld × %lld points, spacing %s%s%s%s%s Å",
                   (long long)grid->counts[0], (long long)grid->counts[1], (long long)grid->counts[2], number[0],
                   even ? "" : " × ", even ? "" : number[1], even ? "" : " × ", even ? "" : number[2]);
    out->parts = 0;
    out->part[out->parts++] = picture_atoms(info, out->atoms);
    out->part[out->parts++] = out->points;
    if (*picture_medium(info, out->medium))
        out->part[out->parts++] = out->medium;
    out->part[out->parts++] = info->method;
}

static void draw_footer(picture *pic, int left, int right, int y)
{
    enum { SIDE = 540 }; /* room for the scale bar and the key */
    char title[256];
    int widest = 0;
    const int room = right - left - 2 * SIDE, width = room < 800 ? room : 800, x = (left + right - width) / 2;
    const vf_colorbar bar = {&pic->map, -pic->range, pic->range, pic->levels, pic->below, pic->above, title};
    (void)snprintf(title, sizeof title, "%s (%s)", pic->info->quantity, pic->info->unit);
    vf_canvas_colorbar(pic->canvas, x, y, width, &bar);
    for (int i = 0; i < 3; i++)
        widest = larger(widest, pic->panel[i].width);
    vf_canvas_scale_bar(pic->canvas, left, y, pic->scale, fmin(fmax(widest / 4.0, 60), 240), "Å");
    const vf_key key[] = {{pic->outline,
                           pic->info->surface ? "surface of the molecule" : "molecule (union of atom radii)",
                           OUTLINE_WIDTH, OUTLINE},
                          {pic->isolines, pic->outline ? "isolines outside it, at the ticks" : "isolines at the ticks",
                           ISOLINE_WIDTH, ISOLINE},
                          {pic->missing, "NaN", 0, pic->map.missing}};
    vf_canvas_keys(pic->canvas, right, y, key, 3);
}

static vf_status compose(picture *pic)
{
    enum { TITLE_SPACE = 58, HEADER_GAP = 30, FOOTER_GAP = 70, FOOTER = 80 };
    const int width = larger(pic->body_width + 2 * MARGIN, MIN_WIDTH);
    const int inner = width - 2 * MARGIN;
    caption text;
    describe(pic, inner, &text);
    const int paragraph = vf_canvas_paragraph(NULL, 0, 0, inner, text.part, text.parts, FAINT_INK);
    const int body = MARGIN + TITLE_SPACE + paragraph + HEADER_GAP, footer = body + pic->body_height + FOOTER_GAP;
    vf_status status = vf_canvas_create(pic->planes->ctx, width, footer + FOOTER + MARGIN, PAPER, &pic->canvas);
    if (status != VF_OK)
        return status;
    vf_canvas_text(pic->canvas, MARGIN, MARGIN + vf_font_get_size(VF_FONT_LARGE).capital, VF_FONT_LARGE, VF_ALIGN_LEFT,
                   text.title, INK);
    (void)vf_canvas_paragraph(pic->canvas, MARGIN, MARGIN + TITLE_SPACE, inner, text.part, text.parts, FAINT_INK);
    for (int i = 0; i < 3; i++) {
        pic->panel[i].x += (width - pic->body_width) / 2;
        pic->panel[i].y += body;
        draw_panel(pic, &pic->panel[i]);
    }
    draw_footer(pic, MARGIN, width - MARGIN, footer);
    return VF_OK;
}

vf_status slices_draw(const slices *planes, const map_info *info, const char *path)
{
    picture pic = {.planes = planes, .info = info};
    vf_status status = VF_OK;
    vf_colormap_make(VF_COLORMAP_DIVERGING, &pic.map);
    lay_out_panels(&pic);
    for (int i = 0; i < 3; i++) {
        status = sample_panel(&pic, &pic.panel[i]);
        if (status != VF_OK)
            goto done;
    }
    status = choose_range(&pic);
    if (status != VF_OK)
        goto done;
    status = compose(&pic);
    if (status != VF_OK)
        goto done;
    status = picture_write(planes->ctx, pic.canvas, info, path);
done:
    vf_canvas_destroy(pic.canvas);
    for (int i = 0; i < 3; i++) {
        free(pic.panel[i].values);
        free(pic.panel[i].distance);
    }
    return status;
}
