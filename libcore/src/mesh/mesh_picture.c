/* Drawing: bands of rows, each by one thread, with several samples a pixel. A sample shows the triangle in front, with normal, value and
 * light between those of its corners. Light is added up as light, not as sRGB. */
#include <stdlib.h>

#include "mesh_raster.h"
#include "voxfield/team_size.h"

enum { SAMPLES = 3, BAND = 16 }; /* samples along a pixel's side; rows of pixels */

static const double g_albedo = 0.93, g_sky = 0.61, g_lamp = 0.43, g_gloss = 0.055, g_shine = 28;
static const double g_rim =
    0.20; /* how much darker the surface is where it is seen edge-on, so that white stands out from paper */
static const double g_fog = 0.12; /* how much of the paper the farthest places have */

typedef struct drawing {
    vf_context *ctx;
    const vf_mesh *mesh;
    const vf_mesh_view *view;
    const vf_mesh_paint *paint;
    int width, height;
    double half[3];                                /* between the lamp and the viewer */
    double step[VF_COLORMAP_STEPS][3], missing[3]; /* the map's colours as light */
    float (*place)[3];                             /* [vertices]: column and row of samples, depth */
    const float *sky;                              /* [vertices] */
    float *lamp;                                   /* [vertices] */
    float *depth;                                  /* [threads][samples of a band] */
    uint32_t *triangle;                            /* the same */
    float (*pixel)[4];                             /* [height][width]: light, and the part that is covered */
} drawing;

static void make_colors(drawing *d)
{
    for (int n = 0; n <= VF_COLORMAP_STEPS; n++) {
        const vf_color c = n < VF_COLORMAP_STEPS ? d->paint->map->step[n] : d->paint->map->missing;
        double *to = n < VF_COLORMAP_STEPS ? d->step[n] : d->missing;
        to[0] = vf_light_of_srgb(c.r / 255.0);
        to[1] = vf_light_of_srgb(c.g / 255.0);
        to[2] = vf_light_of_srgb(c.b / 255.0);
    }
    double square = 0;
    for (int a = 0; a < 3; a++) {
        d->half[a] = mesh_lamp[a] + (a == 2);
        square += d->half[a] * d->half[a];
    }
    for (int a = 0; a < 3; a++)
        d->half[a] /= sqrt(square);
}

static void place_vertices(drawing *d, double scale)
{
    for (int64_t n = 0; n < d->mesh->vertices; n++) {
        double at[3] = {0, 0, 0};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                at[a] += ((double)d->mesh->vertex[n][b] - d->view->center[b]) * d->view->axis[a][b];
        d->place[n][0] = (float)((d->width / 2.0 + scale * at[0]) * SAMPLES - 0.5);
        d->place[n][1] = (float)((d->height / 2.0 - scale * at[1]) * SAMPLES - 0.5);
        d->place[n][2] = (float)at[2];
    }
}

static const double *color_of(const drawing *d, double value)
{
    const double t = (value - d->paint->low) / (d->paint->high - d->paint->low);
    if (isnan(t))
        return d->missing;
    return d->step[lrint(fmin(fmax(t, 0), 1) * (VF_COLORMAP_STEPS - 1))];
}

/* The light that comes from a sample to the viewer. */
static void shade(const drawing *d, uint32_t triangle, int column, int row, float depth, double out[3])
{
    const uint32_t *v = d->mesh->triangle[triangle];
    const float *const corner[3] = {d->place[v[0]], d->place[v[1]], d->place[v[2]]};
    const mesh_weights w = mesh_weights_at(corner, 1 / mesh_doubled_area(corner[0], corner[1], corner[2]), column, row);
    double normal[3] = {0, 0, 0}, n[3] = {0, 0, 0}, value = 0, sky = 0, lamp = 0;
    for (int c = 0; c < 3; c++) {
        for (int a = 0; a < 3; a++)
            normal[a] += w.at[c] * (double)d->mesh->normal[v[c]][a];
        value += w.at[c] * (d->mesh->value ? (double)d->mesh->value[v[c]] : (double)NAN);
        sky += w.at[c] * (double)d->sky[v[c]];
        lamp += w.at[c] * (double)d->lamp[v[c]];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            n[a] += d->view->axis[a][b] * normal[b];
    const double length = fmax(sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), 1e-12);
    const double to_lamp = (n[0] * mesh_lamp[0] + n[1] * mesh_lamp[1] + n[2] * mesh_lamp[2]) / length;
    const double to_half = (n[0] * d->half[0] + n[1] * d->half[1] + n[2] * d->half[2]) / length;
    const double aside = 1 - fmin(fmax(n[2] / length, 0), 1), rim = 1 - g_rim * aside * aside;
    const double diffuse = rim * g_albedo * (g_sky * sky + g_lamp * lamp * fmax(to_lamp, 0));
    const double gloss = to_lamp > 0 && to_half > 0 ? g_gloss * lamp * pow(to_half, g_shine) : 0;
    const double *color = color_of(d, value);
    const double reach = fmax(d->view->high[2] - d->view->low[2], 1e-12);
    const double fog = g_fog * fmin(fmax((d->view->high[2] - (double)depth) / reach, 0), 1);
    for (int a = 0; a < 3; a++)
        out[a] = fmin((1 - fog) * (diffuse * color[a] + gloss) + fog, 1);
}

/* Rows [first, first + BAND) of pixels. */
static void draw_band(const drawing *d, int first, int64_t room)
{
    const int rows = d->height - first < BAND ? d->height - first : BAND;
    const size_t band = (size_t)BAND * SAMPLES * (size_t)d->width * SAMPLES;
    const mesh_raster r = {d->width * SAMPLES, first * SAMPLES, rows * SAMPLES, d->depth + (size_t)room * band,
                           d->triangle + (size_t)room * band};
    mesh_raster_draw(&r, d->mesh, (const float(*)[3])d->place, false);
    for (int y = 0; y < rows * SAMPLES; y++)
        for (int x = 0; x < r.columns; x++) {
            const size_t at = (size_t)y * (size_t)r.columns + (size_t)x;
            float *pixel = d->pixel[(size_t)(first + y / SAMPLES) * (size_t)d->width + (size_t)(x / SAMPLES)];
            double light[3];
            if (r.triangle[at] == (uint32_t)NO_TRIANGLE)
                continue;
            shade(d, r.triangle[at], x, r.first + y, r.depth[at], light);
            for (int a = 0; a < 3; a++)
                pixel[a] += (float)(light[a] / (SAMPLES * SAMPLES));
            pixel[3] += 1.0F / (SAMPLES * SAMPLES);
        }
}

static vf_status draw_bands(drawing *d, int threads)
{
    const int bands = (d->height + BAND - 1) / BAND;
    const int64_t work = 1000 * d->mesh->triangles;
    (void)work;
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_of_plan(d->ctx, threads, work))
    for (int n = 0; n < bands; n++)
        draw_band(d, n * BAND, vf_room_of(threads, bands, n));
    return vf_cancelled(d->ctx) ? vf_fail(d->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

static void put_pixels(const drawing *d, vf_canvas *canvas, int x, int y)
{
    for (int j = 0; j < d->height; j++)
        for (int i = 0; i < d->width; i++) {
            const float *p = d->pixel[(size_t)j * (size_t)d->width + (size_t)i];
            uint8_t byte[3];
            if (!(p[3] > 0))
                continue;
            for (int a = 0; a < 3; a++)
                byte[a] = (uint8_t)lrint(255 * vf_srgb_of_light(fmin((double)p[a] + fmax(1 - (double)p[3], 0), 1)));
            vf_canvas_fill(canvas, x + i, y + j, 1, 1, (vf_color){byte[0], byte[1], byte[2], 255});
        }
}

static size_t band_bytes(int width, int threads)
{
    return (size_t)threads * BAND * SAMPLES * (size_t)width * SAMPLES * sizeof(float);
}

int64_t vf_canvas_mesh_bytes(const vf_context *ctx, int width, int height, int64_t vertices)
{
    return (int64_t)(2 * band_bytes(width, vf_context_threads(ctx))) + 16 * (int64_t)width * height +
           (int64_t)sizeof(float[5]) * vertices + mesh_light_bytes(ctx, vertices);
}

vf_status vf_canvas_mesh(vf_context *ctx, vf_canvas *canvas, int x, int y, int width, int height, const vf_mesh *mesh,
                         const float *sky, const vf_mesh_view *view, double scale, const vf_mesh_paint *paint)
{
    const int threads = vf_threads_for(ctx, 1000 * mesh->triangles);
    const size_t vertices = (size_t)mesh->vertices;
    drawing *d = calloc(1, sizeof *d);
    if (!d)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a picture of a mesh");
    *d =
        (drawing){.ctx = ctx, .mesh = mesh, .view = view, .paint = paint, .sky = sky, .width = width, .height = height};
    d->place = malloc(vertices * sizeof *d->place + 1);
    d->lamp = malloc(vertices * sizeof *d->lamp + 1);
    d->depth = malloc(band_bytes(width, threads));
    d->triangle = malloc(band_bytes(width, threads));
    d->pixel = calloc((size_t)width * (size_t)height, sizeof *d->pixel);
    vf_status status = VF_OK;
    if (!d->place || !d->lamp || !d->depth || !d->triangle || !d->pixel)
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a picture of %zu vertices", vertices);
    VF_TRY(status, mesh_find_lamp(ctx, mesh, view, d->lamp));
    if (status == VF_OK) {
        make_colors(d);
        place_vertices(d, scale);
        status = draw_bands(d, threads);
    }
    if (status == VF_OK)
        put_pixels(d, canvas, x, y);
    free(d->place);
    free(d->lamp);
    free(d->depth);
    free(d->triangle);
    free(d->pixel);
    free(d);
    return status;
}
