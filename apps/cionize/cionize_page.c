/* --page: the molecule, the map and the ions as a page for a browser. libcore/src/page has the page, docs/pages.md the rules. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_page.h"
#include "cionize_state.h"
#include "molecule/atom_radii.h"
#include "page_atoms.h"
#include "surface_stage.h"
#include "voxfield/append.h"
#include "voxfield/mesh_picture.h"
#include "voxfield/page.h"

enum {
    MOST_POINTS = 112, /* of the page's map, along an axis */
    MOST_TRIANGLES = 120000,
    PAGE_BYTES = 5000000,
    MAP_BYTES = 2200000, /* in the page, if the rest leaves so much; at least: */
    MAP_LEAST = 400000,
    SCRIPT_BYTES = 150000, /* with the figures of the run */
    PREVIEW = 320
};

/* ---- the map, as its layers pass ---- */

vf_status page_begin(cionize_state *r)
{
    page_map *p = &r->page;
    if (!r->settings.page)
        return VF_OK;
    for (int a = 0; a < 3; a++) {
        p->factor[a] = (r->grid.counts[a] - 1) / MOST_POINTS + 1;
        p->counts[a] = r->grid.counts[a] / p->factor[a]; /* a block that is not whole would have another middle */
    }
    p->sums = calloc((size_t)(p->counts[0] * p->counts[1] * p->counts[2]), sizeof *p->sums);
    return p->sums ? VF_OK : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the page's map");
}

void page_take(cionize_state *r, const map_layers *layers)
{
    const page_map *p = &r->page;
    const int slow = map_layers_slow(layers), fast = 2 - slow;
    const int64_t *n = r->grid.counts, step[3] = {1, p->counts[0], p->counts[0] * p->counts[1]};
    for (int64_t layer = 0; p->sums && layer < layers->count; layer++)
        for (int64_t y = 0; y < n[1]; y++) {
            const int64_t s = (layers->first + layer) / p->factor[slow], v = y / p->factor[1];
            if (s >= p->counts[slow] || v >= p->counts[1])
                continue;
            double *to = p->sums + s * step[slow] + v * step[1];
            const int64_t from = (layer * n[1] + y) * n[fast];
            for (int64_t x = 0; x < p->counts[fast] * p->factor[fast]; x++)
                to[x / p->factor[fast] * step[fast]] += map_layers_value(layers, from + x);
        }
}

/* The mean of a block. */
static double value_of(const page_map *p, int64_t place)
{
    return p->sums[place] / (double)(p->factor[0] * p->factor[1] * p->factor[2]);
}

/* ---- what is shown at first ---- */

typedef struct showing {
    cionize_state *run;
    double range;    /* of colours */
    double isovalue; /* > 0; of both signs */
    double unit; /* the map's numbers are asinh(value / unit): small values are exact, large ones to a part of them */
    double centre[3]; /* of atoms and ions */
    double radius;
    bool simplified;   /* the surface has fewer triangles than its mesh */
    vf_mesh_view view; /* of the surface, if there is one */
} showing;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 1, 2 or 5 times a power of ten, at least x > 0. */
static double round_up(double x)
{
    const double power = pow(10, floor(log10(x)));
    return x <= power ? power : x <= 2 * power ? 2 * power : x <= 5 * power ? 5 * power : 10 * power;
}

/* As asked; or in a solvent -5 to 5 kT/e, and isosurfaces at 1 kT/e, as is usual; else nine tenths of the map are within the range. */
static vf_status choose_range(showing *s)
{
    const cionize_state *r = s->run;
    const page_map *p = &r->page;
    const int64_t points = p->counts[0] * p->counts[1] * p->counts[2];
    s->range = r->settings.surface.range > 0 ? r->settings.surface.range : r->info.range;
    s->isovalue = s->range / 5;
    s->unit = s->range / 5;
    if (s->range > 0)
        return VF_OK;
    double *sizes = malloc((size_t)points * sizeof *sizes);
    if (!sizes)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the page's map");
    for (int64_t n = 0; n < points; n++)
        sizes[n] = fabs(value_of(p, n));
    qsort(sizes, (size_t)points, sizeof *sizes, by_size);
    const double typical = sizes[(points - 1) * 9 / 10];
    free(sizes);
    s->range = typical > 0 ? round_up(typical) : 1;
    if (r->surface.mesh.value && r->surface.range > 0) /* it is not if all of the surface is outside of the map */
        s->range = r->surface.range;
    s->isovalue = s->range / 2;
    s->unit = s->range / 20;
    return VF_OK;
}

static void find_bounds(showing *s)
{
    const cionize_state *r = s->run;
    const molecule *m = &r->molecule;
    double lo[3], hi[3], square = 0;
    memcpy(lo, r->molecule.lo, sizeof lo);
    memcpy(hi, r->molecule.hi, sizeof hi);
    for (int64_t n = 0; n < r->placed.count; n++)
        for (int a = 0; a < 3; a++) {
            lo[a] = fmin(lo[a], r->placed.sites[n].position[a]);
            hi[a] = fmax(hi[a], r->placed.sites[n].position[a]);
        }
    for (int a = 0; a < 3; a++)
        s->centre[a] = (lo[a] + hi[a]) / 2;
    for (int64_t n = 0; n < m->atoms + r->placed.count; n++) {
        const double *ion = n < m->atoms ? NULL : r->placed.sites[n - m->atoms].position;
        const double x = (ion ? ion[0] : m->x[n]) - s->centre[0], y = (ion ? ion[1] : m->y[n]) - s->centre[1];
        const double z = (ion ? ion[2] : m->z[n]) - s->centre[2];
        square = fmax(square, x * x + y * y + z * z);
    }
    s->radius = sqrt(square) + 3; /* with the atoms' radii */
}

/* The surface, for those who see no more. */
static vf_status draw_surface_preview(const showing *s, vf_canvas **out)
{
    const vf_mesh *mesh = &s->run->surface.mesh;
    const vf_color paper = {255, 255, 255, 255};
    vf_colormap map;
    const vf_mesh_paint paint = {&map, -s->range, s->range};
    double extent = 1e-3;
    for (int a = 0; a < 2; a++)
        extent = fmax(extent, s->view.high[a] - s->view.low[a]);
    vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
    float *sky = malloc((size_t)mesh->vertices * sizeof *sky + 1);
    vf_status status = sky ? vf_canvas_create(s->run->ctx, PREVIEW, PREVIEW, paper, out)
                           : vf_fail(s->run->ctx, VF_ERR_MEMORY, "no memory for the page's preview");
    VF_TRY(status, vf_mesh_find_sky(s->run->ctx, mesh, s->view.axis[1], sky));
    VF_TRY(status, vf_canvas_mesh(s->run->ctx, *out, 0, 0, PREVIEW, PREVIEW, mesh, sky, &s->view,
                                  0.96 * PREVIEW / extent, &paint));
    free(sky);
    return status;
}

/* A slice through the middle, if there is no surface. */
static vf_status draw_slice_preview(const showing *s, vf_canvas **out)
{
    const cionize_state *r = s->run;
    const page_map *p = &r->page;
    const int64_t plane = p->counts[0] * p->counts[1], middle = p->counts[2] / 2 * plane;
    const vf_color paper = {255, 255, 255, 255};
    const double wide = (double)p->counts[0] * r->grid.spacing[0] * (double)p->factor[0];
    const double high = (double)p->counts[1] * r->grid.spacing[1] * (double)p->factor[1];
    const int width = (int)fmax(8, PREVIEW * fmin(1, wide / high)),
              height = (int)fmax(8, PREVIEW * fmin(1, high / wide));
    float *values = malloc((size_t)plane * sizeof *values),
          *pixels = malloc((size_t)width * (size_t)height * sizeof *pixels);
    vf_status status = values && pixels ? vf_canvas_create(r->ctx, width, height, paper, out)
                                        : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for the page's preview");
    if (status == VF_OK) {
        vf_colormap map;
        vf_colormap_make(VF_COLORMAP_DIVERGING, &map);
        for (int64_t n = 0; n < plane; n++) /* y upwards */
            values[(p->counts[1] - 1 - n / p->counts[0]) * p->counts[0] + n % p->counts[0]] =
                (float)value_of(p, middle + n);
        vf_resample(values, p->counts[0], p->counts[1], VF_FILTER_BILINEAR, width, height, pixels);
        vf_canvas_image(*out, 0, 0, width, height, pixels, &map, -s->range, s->range);
    }
    free(values);
    free(pixels);
    return status;
}

/* ---- arrays ---- */

static vf_status map_plane(void *user, int64_t frame, int64_t z, float *out)
{
    const showing *s = user;
    const page_map *p = &s->run->page;
    const int64_t plane = p->counts[0] * p->counts[1];
    (void)frame;
    for (int64_t n = 0; n < plane; n++)
        out[n] = (float)asinh(value_of(p, z * plane + n) / s->unit);
    return VF_OK;
}

/* After the other arrays. */
static vf_status write_map(showing *s, vf_page *page)
{
    const cionize_state *r = s->run;
    const int64_t left = PAGE_BYTES - SCRIPT_BYTES - vf_page_bytes(page);
    vf_page_volume volume = {.name = "map",
                             .kind = VF_PAGE_VALUES,
                             .frames = 1,
                             .plane = map_plane,
                             .user = s,
                             .most_bits = 12,
                             .budget = left > MAP_BYTES   ? MAP_BYTES
                                       : left < MAP_LEAST ? MAP_LEAST
                                                          : left};
    for (int a = 0; a < 3; a++) {
        volume.counts[a] = r->page.counts[a];
        volume.spacing[a] = r->grid.spacing[a] * (double)r->page.factor[a];
    }
    return vf_page_add_volume(page, &volume, NULL);
}

/* Values are floats, because those outside of the map are NaN. */
static vf_status write_surface(const cionize_state *r, vf_page *page)
{
    const vf_mesh *mesh = &r->surface.mesh;
    if (!mesh->value)
        return VF_OK;
    vf_status status = vf_page_array(page, "surface_vertices", VF_PAGE_U16, mesh->vertices, 3, mesh->vertex);
    VF_TRY(status, vf_page_array(page, "surface_normals", VF_PAGE_U8, mesh->vertices, 3, mesh->normal));
    VF_TRY(status, vf_page_array(page, "surface_values", VF_PAGE_F32, mesh->vertices, 1, mesh->value));
    VF_TRY(status, vf_page_array(page, "surface_triangles", VF_PAGE_U32, mesh->triangles, 3, mesh->triangle));
    return status;
}

/* ---- the page ---- */

static void list_map(const showing *s, vf_report *json)
{
    const cionize_state *r = s->run;
    double origin[3], spacing[3];
    for (int a = 0; a < 3; a++) {
        spacing[a] = r->grid.spacing[a] * (double)r->page.factor[a];
        origin[a] = r->grid.origin[a] + r->grid.spacing[a] * (double)(r->page.factor[a] - 1) / 2;
    }
    vf_report_begin(json, "map");
    vf_report_text(json, "title", "potential");
    vf_report_numbers(json, "origin", origin, 3);
    vf_report_numbers(json, "spacing", spacing, 3);
    vf_report_number(json, "sinh", s->unit);
    vf_report_end(json);
}

static const char *why_no_surface(const cionize_state *r)
{
    const char *why = no_surface_in_cell(r);
    return !molecule_has_radii(&r->molecule) ? "the atoms have no radii" : why ? why : "the atoms are too far apart";
}

/* What the page has, and what it leaves out. */
static void write_note(const cionize_state *r, char *note, size_t size)
{
    const page_map *p = &r->page;
    (void)snprintf(note, size, "Potential: %s. ", r->method);
    if (r->surface.mesh.value && r->settings.surface.offset > 0)
        (void)vf_append(note, size, "The surface has the colours of the potential %g angstrom outside of it. ",
                        r->settings.surface.offset);
    if (r->surface.values.outside > 0)
        (void)vf_append(note, size, "Where it is grey, it is outside of the map. ");
    if (!r->surface.mesh.value)
        (void)vf_append(note, size, "There is no surface: %s. ", why_no_surface(r));
    if (p->factor[0] * p->factor[1] * p->factor[2] > 1)
        (void)vf_append(note, size, "The page has means of %lld x %lld x %lld points of the map. ",
                        (long long)p->factor[0], (long long)p->factor[1], (long long)p->factor[2]);
    if (r->placed.count > 0)
        (void)vf_append(note, size, "The map is that of the molecule, without the ions. ");
    if (r->molecule.atoms > PAGE_MOST_ATOMS)
        (void)vf_append(note, size, "The page has no atoms: %lld are too many. ", (long long)r->molecule.atoms);
    if (r->trajectory)
        (void)vf_append(note, size,
                        "Atoms and surface are those of the input, the potential is the mean over frames. ");
}

static vf_status write_object(const showing *s, vf_page *page, double seconds)
{
    const cionize_state *r = s->run;
    vf_report *json = vf_page_json(page);
    char text[1024];
    vf_report_begin(json, "scene");
    if (r->surface.mesh.value) {
        vf_report_numbers(json, "axes", s->view.axis[0], 9);
        vf_report_number(json, "surface_offset", r->settings.surface.offset);
    }
    vf_report_numbers(json, "centre", s->centre, 3);
    vf_report_number(json, "radius", s->radius);
    vf_report_number(json, "range", s->range);
    vf_report_number(json, "isovalue", s->isovalue);
    vf_report_text(json, "unit", r->settings.unit);
    (void)snprintf(text, sizeof text, "%lld atoms, %lld ions, electrostatic potential%s%.400s",
                   (long long)r->molecule.atoms, (long long)r->placed.count, r->selection ? " of " : "",
                   r->selection ? r->selection : "");
    vf_report_text(json, "description", text);
    write_note(r, text, sizeof text);
    vf_report_text(json, "note", text);
    list_map(s, json);
    vf_report_end(json);
    vf_report_begin(json, "run");
    return json ? cionize_facts_of_run(r, seconds, json) : VF_OK;
}

vf_status page_write(cionize_state *r, double seconds)
{
    const char *slash = strrchr(r->settings.input, '/');
    showing s = {.run = r};
    vf_page *page = NULL;
    vf_canvas *preview = NULL;
    double side = 0;
    if (!r->page.sums)
        return VF_OK;
    vf_stage_begin(&r->stages, "page");
    find_bounds(&s);
    vf_status status = choose_range(&s);
    const bool surface = r->surface.mesh.value;
    if (status == VF_OK && surface) /* the other files of the surface are written */
        status = vf_mesh_reduce(r->ctx, &r->surface.mesh, MOST_TRIANGLES, &side);
    if (surface)
        vf_mesh_principal_view(&r->surface.mesh, &s.view);
    VF_TRY(status, surface ? draw_surface_preview(&s, &preview) : draw_slice_preview(&s, &preview));
    const vf_page_head head = {VF_PAGE_SCENE, slash ? slash + 1 : r->settings.input, r->info.program, preview,
                               surface ? "the molecule's surface, coloured by the potential"
                                       : "a slice through the middle of the map"};
    VF_TRY(status, vf_page_open(r->ctx, r->settings.page, &head, &page));
    VF_TRY(status, write_surface(r, page));
    VF_TRY(status, page_write_atoms(r, page));
    VF_TRY(status, page_write_backbone(r, page));
    VF_TRY(status, page_write_ions(r, page));
    VF_TRY(status, write_map(&s, page));
    vf_stage_end(&r->stages);
    VF_TRY(status, write_object(&s, page, seconds));
    VF_TRY(status, vf_page_commit(&page));
    vf_page_discard(&page);
    vf_canvas_destroy(preview);
    return status;
}
