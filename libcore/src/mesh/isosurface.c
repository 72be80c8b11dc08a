/* Marching cubes over layers. A layer's vertices are made when the next two layers are there, for the gradient's sake; then the
 * triangles of the cubes below it. Rows are counted first, so that each knows where its vertices and triangles go. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isosurface_cases.h"
#include "voxfield/mesh.h"
#include "voxfield/team_size.h"

enum { WINDOW = 4 }; /* layers in memory */

struct vf_isosurface {
    vf_context *ctx;
    vf_grid grid;
    double level;
    bool has_values;
    int64_t taken, numbered; /* layers */
    float *field[WINDOW];    /* [y][x] of layer k at k % WINDOW */
    float *value[WINDOW];    /* the same, if there are values */
    uint32_t (*number[2])
        [3];      /* [y][x] of layer k at k % 2: vertices on the edges from a point along x, y, z; if they are cut */
    int64_t *row; /* [y + 1]: where rows begin in the mesh */
    cube_cases cases;
    vf_mesh mesh;
    int64_t rooms[2]; /* vertices and triangles that the mesh has memory for */
};

static int64_t layer_points(const vf_grid *grid)
{
    return grid->counts[0] * grid->counts[1];
}

int64_t vf_isosurface_bytes(const vf_grid *grid, bool values)
{
    const int64_t bytes = (WINDOW * (values ? 2 : 1) + 2 * 3) * (int64_t)sizeof(float);
    return bytes * layer_points(grid) + (int64_t)sizeof(vf_isosurface);
}

vf_status vf_isosurface_create(vf_context *ctx, const vf_grid *grid, double level, bool values, vf_isosurface **out)
{
    *out = NULL;
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "isosurface: the grid is invalid");
    if (!isfinite(level))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "isosurface: the level %g is not finite", level);
    vf_isosurface *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "isosurface: not enough memory");
    plan->ctx = ctx;
    plan->grid = *grid;
    plan->level = level;
    plan->has_values = values;
    cube_cases_make(&plan->cases);
    const size_t points = (size_t)layer_points(grid);
    bool fits = (plan->row = malloc(((size_t)grid->counts[1] + 1) * sizeof *plan->row)) != NULL;
    for (int w = 0; w < WINDOW; w++) {
        fits = fits && (plan->field[w] = malloc(points * sizeof **plan->field)) != NULL;
        fits = fits && (!values || (plan->value[w] = malloc(points * sizeof **plan->value)) != NULL);
    }
    for (int w = 0; w < 2; w++)
        fits = fits && (plan->number[w] = malloc(points * sizeof **plan->number)) != NULL;
    if (!fits) {
        vf_isosurface_destroy(plan);
        return vf_fail(ctx, VF_ERR_MEMORY, "isosurface: not enough memory for layers of %zu points", points);
    }
    *out = plan;
    return VF_OK;
}

void vf_isosurface_destroy(vf_isosurface *plan)
{
    if (!plan)
        return;
    for (int w = 0; w < WINDOW; w++) {
        free(plan->field[w]);
        free(plan->value[w]);
    }
    for (int w = 0; w < 2; w++)
        free(plan->number[w]);
    free(plan->row);
    vf_mesh_free(&plan->mesh);
    free(plan);
}

static vf_status enlarge(vf_isosurface *plan, void **array, size_t size, int64_t count)
{
    void *larger = realloc(*array, (size_t)count * size);
    if (!larger)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "isosurface: not enough memory for %lld vertices or triangles",
                       (long long)count);
    *array = larger;
    return VF_OK;
}

/* Makes room for more vertices (kind 0) or triangles (1). */
static vf_status make_room(vf_isosurface *plan, int kind, int64_t more)
{
    vf_mesh *m = &plan->mesh;
    const int64_t count = (kind == 0 ? m->vertices : m->triangles) + more;
    if (count >= UINT32_MAX)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "isosurface: more than 2^32 - 2 %s; use a coarser grid",
                       kind == 0 ? "vertices" : "triangles");
    if (count <= plan->rooms[kind])
        return VF_OK;
    const int64_t room = count + count / 2 + 1024;
    vf_status status = VF_OK;
    if (kind == 1) {
        status = enlarge(plan, (void **)&m->triangle, sizeof *m->triangle, room);
    } else {
        status = enlarge(plan, (void **)&m->vertex, sizeof *m->vertex, room);
        VF_TRY(status, enlarge(plan, (void **)&m->normal, sizeof *m->normal, room));
        if (plan->has_values)
            VF_TRY(status, enlarge(plan, (void **)&m->value, sizeof *m->value, room));
    }
    if (status == VF_OK)
        plan->rooms[kind] = room;
    return status;
}

/* Counts of rows become places; returns their sum. */
static int64_t place_rows(int64_t *row, int64_t rows, int64_t begin)
{
    int64_t at = begin;
    for (int64_t j = 0; j < rows; j++) {
        const int64_t count = row[j];
        row[j] = at;
        at += count;
    }
    return at - begin;
}

/* ---- vertices ---- */

static const float *layer_of(const vf_isosurface *plan, int64_t k)
{
    return plan->field[k % WINDOW];
}

static double value_at(const vf_isosurface *plan, const int64_t p[3])
{
    return layer_of(plan, p[2])[p[1] * plan->grid.counts[0] + p[0]];
}

static bool is_below(const vf_isosurface *plan, const int64_t p[3])
{
    return value_at(plan, p) < plan->level;
}

/* Whether the edge from point p along an axis is cut. */
static bool is_cut(const vf_isosurface *plan, const int64_t p[3], int axis)
{
    int64_t other[3] = {p[0], p[1], p[2]};
    return ++other[axis] < plan->grid.counts[axis] && is_below(plan, p) != is_below(plan, other);
}

/* By central differences; at the border one-sided. */
static void add_gradient(const vf_isosurface *plan, const int64_t p[3], double weight, double sum[3])
{
    for (int a = 0; a < 3; a++) {
        int64_t low[3] = {p[0], p[1], p[2]}, high[3] = {p[0], p[1], p[2]};
        low[a] -= p[a] > 0;
        high[a] += p[a] + 1 < plan->grid.counts[a];
        if (high[a] > low[a])
            sum[a] += weight * (value_at(plan, high) - value_at(plan, low)) /
                      ((double)(high[a] - low[a]) * plan->grid.spacing[a]);
    }
}

static void make_vertex(vf_isosurface *plan, const int64_t p[3], int axis, int64_t n)
{
    const vf_grid *grid = &plan->grid;
    int64_t q[3] = {p[0], p[1], p[2]};
    q[axis]++;
    const double low = value_at(plan, p), high = value_at(plan, q), t = (plan->level - low) / (high - low);
    double gradient[3] = {0, 0, 0};
    add_gradient(plan, p, 1 - t, gradient);
    add_gradient(plan, q, t, gradient);
    double length = sqrt(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
    if (!(length > 0 && length < HUGE_VAL)) { /* as between opposite sheets: along the edge, the field does increase */
        memset(gradient, 0, sizeof gradient);
        gradient[axis] = low < high ? 1 : -1;
        length = 1;
    }
    for (int a = 0; a < 3; a++) {
        plan->mesh.vertex[n][a] = (float)(grid->origin[a] + ((double)p[a] + (a == axis ? t : 0)) * grid->spacing[a]);
        plan->mesh.normal[n][a] = (float)(gradient[a] / length);
    }
    if (plan->has_values) {
        const double from = plan->value[p[2] % WINDOW][p[1] * grid->counts[0] + p[0]];
        const double to = plan->value[q[2] % WINDOW][q[1] * grid->counts[0] + q[0]];
        plan->mesh.value[n] = (float)(from + t * (to - from));
    }
}

/* The vertices on edges that begin in row j of layer k. With `make` they are numbered from `n` on and made, else only counted. */
static int64_t row_vertices(vf_isosurface *plan, int64_t j, int64_t k, bool make, int64_t n)
{
    const int64_t columns = plan->grid.counts[0], begin = n;
    for (int64_t i = 0; i < columns; i++)
        for (int axis = 0; axis < 3; axis++) {
            const int64_t p[3] = {i, j, k};
            if (!is_cut(plan, p, axis))
                continue;
            if (make) {
                plan->number[k % 2][j * columns + i][axis] = (uint32_t)n;
                make_vertex(plan, p, axis, n);
            }
            n++;
        }
    return n - begin;
}

static vf_status make_vertices(vf_isosurface *plan, int64_t k)
{
    const int64_t rows = plan->grid.counts[1], work = 10 * layer_points(&plan->grid);
    (void)work;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, work))
    for (int64_t j = 0; j < rows; j++)
        plan->row[j] = row_vertices(plan, j, k, false, 0);
    const int64_t more = place_rows(plan->row, rows, plan->mesh.vertices);
    const vf_status status = make_room(plan, 0, more);
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, work))
    for (int64_t j = 0; j < rows; j++)
        (void)row_vertices(plan, j, k, true, plan->row[j]);
    plan->mesh.vertices += more;
    return VF_OK;
}

/* ---- triangles ---- */

static int case_of(const vf_isosurface *plan, int64_t i, int64_t j, int64_t k)
{
    const int64_t columns = plan->grid.counts[0], at = j * columns + i;
    int below = 0;
    for (int c = 0; c < CUBE_CORNERS; c++) {
        const float value = layer_of(plan, k + (c >> 2))[at + (c >> 1 & 1) * columns + (c & 1)];
        below |= ((double)value < plan->level) << c;
    }
    return below;
}

static uint32_t number_of(const vf_isosurface *plan, int64_t i, int64_t j, int64_t k, int edge)
{
    const int axis = edge / 4, first = edge & 1, second = edge >> 1 & 1;
    const int64_t x = i + (axis == 0 ? 0 : first), y = j + (axis == 0 ? first : axis == 1 ? 0 : second);
    const int64_t z = k + (axis == 2 ? 0 : second);
    return plan->number[z % 2][y * plan->grid.counts[0] + x][axis];
}

/* The triangles of the cubes above row j of layer k; made from `n` on, or only counted. */
static int64_t row_triangles(vf_isosurface *plan, int64_t j, int64_t k, bool make, int64_t n)
{
    const int64_t begin = n;
    for (int64_t i = 0; i + 1 < plan->grid.counts[0]; i++) {
        const int which = case_of(plan, i, j, k);
        for (int t = 0; make && t < plan->cases.triangles[which]; t++)
            for (int c = 0; c < 3; c++)
                plan->mesh.triangle[n + t][c] = number_of(plan, i, j, k, plan->cases.edge[which][t][c]);
        n += plan->cases.triangles[which];
    }
    return n - begin;
}

static vf_status make_triangles(vf_isosurface *plan, int64_t k)
{
    const int64_t rows = plan->grid.counts[1] - 1, work = 10 * layer_points(&plan->grid);
    (void)work;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, work))
    for (int64_t j = 0; j < rows; j++)
        plan->row[j] = row_triangles(plan, j, k, false, 0);
    const int64_t more = place_rows(plan->row, rows, plan->mesh.triangles);
    const vf_status status = make_room(plan, 1, more);
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(plan->ctx, work))
    for (int64_t j = 0; j < rows; j++)
        (void)row_triangles(plan, j, k, true, plan->row[j]);
    plan->mesh.triangles += more;
    return VF_OK;
}

/* ---- layers ---- */

static vf_status finish_layer(vf_isosurface *plan, int64_t k)
{
    if (vf_cancelled(plan->ctx))
        return vf_fail(plan->ctx, VF_ERR_CANCELLED, "interrupted");
    vf_status status = make_vertices(plan, k);
    if (k > 0)
        VF_TRY(status, make_triangles(plan, k - 1));
    plan->numbered = k + 1;
    return status;
}

static vf_status take_layer(vf_isosurface *plan, const float *field, const float *values)
{
    const int64_t points = layer_points(&plan->grid);
    for (int64_t i = 0; i < points; i++)
        if (!isfinite(field[i]))
            return vf_fail(plan->ctx, VF_ERR_ARGUMENT,
                           "isosurface: the field at point (%lld, %lld, %lld) is %g; it must be finite",
                           (long long)(i % plan->grid.counts[0]), (long long)(i / plan->grid.counts[0]),
                           (long long)plan->taken, (double)field[i]);
    memcpy(plan->field[plan->taken % WINDOW], field, (size_t)points * sizeof *field);
    if (plan->has_values)
        memcpy(plan->value[plan->taken % WINDOW], values, (size_t)points * sizeof *values);
    plan->taken++;
    return plan->taken >= 3 ? finish_layer(plan, plan->taken - 3) : VF_OK;
}

vf_status vf_isosurface_layers(vf_isosurface *plan, int64_t count, const float *field, const float *values)
{
    if (count < 0 || count > plan->grid.counts[2] - plan->taken)
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "isosurface: %lld layers after %lld, but the grid has %lld",
                       (long long)count, (long long)plan->taken, (long long)plan->grid.counts[2]);
    vf_status status = VF_OK;
    const int64_t points = layer_points(&plan->grid);
    for (int64_t k = 0; status == VF_OK && k < count; k++)
        status = take_layer(plan, field + k * points, plan->has_values ? values + k * points : NULL);
    return status;
}

vf_status vf_isosurface_finish(vf_isosurface *plan, vf_mesh *out)
{
    memset(out, 0, sizeof *out);
    if (plan->taken < plan->grid.counts[2])
        return vf_fail(plan->ctx, VF_ERR_ARGUMENT, "isosurface: %lld of %lld layers came", (long long)plan->taken,
                       (long long)plan->grid.counts[2]);
    vf_status status = VF_OK;
    while (status == VF_OK && plan->numbered < plan->taken)
        status = finish_layer(plan, plan->numbered);
    if (status != VF_OK)
        return status;
    *out = plan->mesh;
    memset(&plan->mesh, 0, sizeof plan->mesh);
    memset(plan->rooms, 0, sizeof plan->rooms);
    return VF_OK;
}
