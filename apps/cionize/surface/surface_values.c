/* The map at a mesh's vertices. Vertices are sorted by the layers of the map between which they lie; each layer adds its part. In a cell,
 * the first point of an axis follows the last. */
#include <math.h>
#include <stdlib.h>

#include "surface_mesh.h"
#include "voxfield/statistics.h"
#include "voxfield/team_size.h"

static bool is_periodic(const vf_grid *grid)
{
    return grid->cell.kind != VF_CELL_NONE;
}

/* The point below a place on an axis of the grid, and the part of a spacing above it. Without a cell, the point is at most the last but
 * one, and it is false outside. */
static bool locate(const vf_grid *grid, int axis, double x, int64_t *point, double *part)
{
    const int64_t count = grid->counts[axis];
    double at = (x - grid->origin[axis]) / grid->spacing[axis];
    if (is_periodic(grid)) {
        at -= floor(at / (double)count) * (double)count;
        *point = at < (double)count ? (int64_t)at : 0; /* rounding may give `count` */
        *part = at < (double)count ? at - (double)*point : 0;
        return true;
    }
    if (!(at >= 0 && at <= (double)(count - 1)))
        return false;
    *point = (int64_t)at < count - 1 ? (int64_t)at : count > 1 ? count - 2 : 0;
    *part = at - (double)*point;
    return true;
}

/* The coordinate at which a vertex gets its value. */
static double place_of(const surface_values *v, int64_t n, int axis)
{
    return (double)v->mesh->vertex[n][axis] + v->offset * (double)v->mesh->normal[n][axis];
}

static bool is_inside(const surface_values *v, int64_t n)
{
    int64_t point;
    double part;
    bool inside = true;
    for (int a = 0; a < 3; a++)
        inside = inside && locate(&v->grid, a, place_of(v, n, a), &point, &part);
    return inside;
}

static int64_t layer_below(const surface_values *v, int64_t n)
{
    int64_t point = 0;
    double part;
    (void)locate(&v->grid, v->slow, place_of(v, n, v->slow), &point, &part);
    return point;
}

vf_status surface_values_begin(vf_context *ctx, const vf_grid *grid, map_order order, double offset, vf_mesh *mesh,
                               surface_values *out)
{
    *out = (surface_values){
        .ctx = ctx, .grid = *grid, .mesh = mesh, .offset = offset, .slow = order == MAP_Z_FASTEST ? 0 : 2};
    const int64_t layers = grid->counts[out->slow];
    out->begin = calloc((size_t)layers + 2, sizeof *out->begin);
    out->vertex = malloc((size_t)mesh->vertices * sizeof *out->vertex + 1);
    if (!out->begin || !out->vertex)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory to sort %lld vertices of the surface", (long long)mesh->vertices);
    /* A counting sort: begin[k + 2] counts layer k. */
    for (int64_t n = 0; n < mesh->vertices; n++) {
        const bool inside = is_inside(out, n);
        mesh->value[n] = inside ? 0 : NAN;
        out->outside += !inside;
        if (inside)
            out->begin[layer_below(out, n) + 2]++;
    }
    for (int64_t k = 2; k <= layers + 1; k++)
        out->begin[k] += out->begin[k - 1];
    for (int64_t n = 0; n < mesh->vertices; n++)
        if (!isnan(mesh->value[n]))
            out->vertex[out->begin[layer_below(out, n) + 1]++] = (uint32_t)n;
    return VF_OK;
}

/* The map's value at a vertex in layer number `layer` of those that came. */
static double value_in(const surface_values *v, const map_layers *layers, int64_t layer, int64_t n)
{
    const int fast = 2 - v->slow;
    const int64_t row = v->grid.counts[fast], rows = v->grid.counts[1];
    int64_t x = 0, y = 0;
    double s = 0, t = 0, value = 0;
    (void)locate(&v->grid, fast, place_of(v, n, fast), &x, &s);
    (void)locate(&v->grid, 1, place_of(v, n, 1), &y, &t);
    for (int c = 0; c < 4; c++) {
        const double weight = (c & 1 ? s : 1 - s) * (c & 2 ? t : 1 - t);
        if (weight > 0) /* along an axis of one point, there is no other */
            value +=
                weight * map_layers_value(layers, (layer * rows + (y + (c >> 1)) % rows) * row + (x + (c & 1)) % row);
    }
    return value;
}

/* Adds the part of a layer to the vertices above layer `below`: that layer itself, or the `upper` one. */
static void add_layer(surface_values *v, const map_layers *layers, int64_t layer, int64_t below, bool upper)
{
    const int64_t begin = v->begin[below], end = v->begin[below + 1];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(v->ctx, 50 * (end - begin)))
    for (int64_t i = begin; i < end; i++) {
        const uint32_t n = v->vertex[i];
        int64_t point = 0;
        double part = 0;
        (void)locate(&v->grid, v->slow, place_of(v, n, v->slow), &point, &part);
        const double weight = upper ? part : 1 - part;
        if (weight > 0)
            v->mesh->value[n] += (float)(weight * value_in(v, layers, layer, n));
    }
}

void surface_values_take(surface_values *v, const map_layers *layers)
{
    for (int64_t n = 0; n < layers->count; n++) {
        const int64_t layer = layers->first + n;
        if (layer > 0 || is_periodic(&v->grid))
            add_layer(v, layers, n, layer > 0 ? layer - 1 : v->grid.counts[v->slow] - 1, true);
        add_layer(v, layers, n, layer, false);
    }
}

void surface_values_free(surface_values *v)
{
    free(v->begin);
    free(v->vertex);
    *v = (surface_values){.mesh = NULL};
}

/* ---- figures ---- */

static double triangle_area(const vf_mesh *m, int64_t t)
{
    uint32_t corner[1][3] = {{m->triangle[t][0], m->triangle[t][1], m->triangle[t][2]}};
    const vf_mesh one = {.vertices = m->vertices, .triangles = 1, .vertex = m->vertex, .triangle = corner};
    return vf_mesh_area(&one);
}

static double mean_value(const vf_mesh *m)
{
    double sum = 0, area = 0;
    for (int64_t t = 0; t < m->triangles; t++) {
        const uint32_t *c = m->triangle[t];
        const double mean = ((double)m->value[c[0]] + (double)m->value[c[1]] + (double)m->value[c[2]]) / 3;
        const double part = isnan(mean) ? 0 : triangle_area(m, t);
        area += part;
        sum += part > 0 ? part * mean : 0;
    }
    return area > 0 ? sum / area : (double)NAN;
}

vf_status surface_figures_find(vf_context *ctx, const vf_mesh *m, surface_figures *out)
{
    float typical = 0, *magnitude = malloc((size_t)m->vertices * sizeof *magnitude + 1);
    int64_t count = 0;
    *out = (surface_figures){.least = INFINITY, .most = -INFINITY, .mean = mean_value(m)};
    if (!magnitude)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld values on the surface", (long long)m->vertices);
    for (int64_t n = 0; n < m->vertices; n++) {
        if (isnan(m->value[n]))
            continue;
        out->least = fmin(out->least, (double)m->value[n]);
        out->most = fmax(out->most, (double)m->value[n]);
        magnitude[count++] = fabsf(m->value[n]);
    }
    const vf_status status = count > 0 ? vf_host_quantile(ctx, count, magnitude, 0.98, &typical) : VF_OK;
    out->typical = (double)typical;
    free(magnitude);
    return status;
}
