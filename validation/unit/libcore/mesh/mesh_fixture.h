/* Isosurfaces of functions, and what a mesh is as a surface. */
#ifndef MESH_FIXTURE_H
#define MESH_FIXTURE_H

#include <math.h>

#include "context_fixture.h"
#include "random_fixture.h"
#include "voxfield/mesh.h"

typedef double (*field_function)(double x, double y, double z);

/* `n` points a side over [-1, 1]^3. */
static inline vf_grid cube_grid(int64_t n)
{
    const double h = 2.0 / (double)(n - 1);
    return (vf_grid){.origin = {-1, -1, -1}, .spacing = {h, h, h}, .counts = {n, n, n}};
}

static inline float *sample(const vf_grid *grid, field_function f)
{
    float *out = room(vf_grid_points(grid), sizeof *out), *at = out;
    for (int64_t k = 0; k < grid->counts[2]; k++)
        for (int64_t j = 0; j < grid->counts[1]; j++)
            for (int64_t i = 0; i < grid->counts[0]; i++)
                *at++ = (float)f(grid->origin[0] + (double)i * grid->spacing[0],
                                 grid->origin[1] + (double)j * grid->spacing[1],
                                 grid->origin[2] + (double)k * grid->spacing[2]);
    return out;
}

/* The layers come `step` at a time. */
static inline vf_mesh surface_of(const vf_grid *grid, const float *field, const float *values, double level,
                                 int64_t step)
{
    vf_isosurface *plan = NULL;
    vf_mesh mesh;
    const int64_t points = grid->counts[0] * grid->counts[1];
    need(vf_isosurface_create(ctx, grid, level, values != NULL, &plan));
    for (int64_t k = 0; k < grid->counts[2]; k += step) {
        const int64_t count = k + step < grid->counts[2] ? step : grid->counts[2] - k;
        need(vf_isosurface_layers(plan, count, field + k * points, values ? values + k * points : NULL));
    }
    need(vf_isosurface_finish(plan, &mesh));
    vf_isosurface_destroy(plan);
    return mesh;
}

static inline int by_edge(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

/* The edges of triangles, from corner to corner, sorted: [3 * triangles][2]. */
static inline uint32_t (*directed_edges(const vf_mesh *mesh))[2]
{
    uint32_t(*edge)[2] = room(3 * mesh->triangles, sizeof *edge);
    for (int64_t t = 0; t < mesh->triangles; t++)
        for (int c = 0; c < 3; c++) {
            assert_true(mesh->triangle[t][c] < mesh->vertices);
            edge[3 * t + c][0] = mesh->triangle[t][c];
            edge[3 * t + c][1] = mesh->triangle[t][(c + 1) % 3];
        }
    qsort(edge, (size_t)(3 * mesh->triangles), sizeof *edge, by_edge);
    return edge;
}

/* How often an edge occurs. */
static inline int64_t occurrences(uint32_t (*edge)[2], int64_t count, uint32_t from, uint32_t to)
{
    const uint32_t wanted[2] = {from, to};
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (by_edge(edge[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t found = 0;
    while (low + found < count && by_edge(edge[low + found], wanted) == 0)
        found++;
    return found;
}

/* No holes: each edge is passed as often in one direction as in the other. In a manifold that is once. */
static inline void assert_closed(const vf_mesh *mesh, bool manifold)
{
    const int64_t count = 3 * mesh->triangles;
    uint32_t(*edge)[2] = directed_edges(mesh);
    for (int64_t e = 0; e < count; e++) {
        const int64_t there = occurrences(edge, count, edge[e][0], edge[e][1]);
        assert_int_not_equal(edge[e][0], edge[e][1]);
        assert_int_equal(there, occurrences(edge, count, edge[e][1], edge[e][0]));
        if (manifold)
            assert_int_equal(there, 1);
    }
    free(edge);
}

/* The triangles around each vertex are one fan: going from neighbour to neighbour passes all of them. For closed manifolds by edges. */
static inline void assert_fans(const vf_mesh *mesh)
{
    const int64_t count = 3 * mesh->triangles;
    uint32_t(*spoke)[3] = room(count, sizeof *spoke); /* vertex, and a side of a triangle opposite to it */
    for (int64_t t = 0; t < mesh->triangles; t++)
        for (int c = 0; c < 3; c++)
            for (int n = 0; n < 3; n++)
                spoke[3 * t + c][n] = mesh->triangle[t][(c + n) % 3];
    qsort(spoke, (size_t)count, sizeof *spoke, by_edge);
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && spoke[end][0] == spoke[first][0];)
            end++;
        int64_t passed = 0;
        uint32_t at = spoke[first][1];
        do {
            int64_t s = first;
            while (s < end && spoke[s][1] != at)
                s++;
            assert_true(s < end);
            at = spoke[s][2];
            passed++;
        } while (at != spoke[first][1] && passed <= end - first);
        assert_int_equal(passed, end - first);
    }
    free(spoke);
}

static inline int64_t euler_characteristic(const vf_mesh *mesh)
{
    return mesh->vertices - 3 * mesh->triangles / 2 + mesh->triangles;
}

static inline int64_t root_of(int64_t *parent, int64_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

static inline int64_t components(const vf_mesh *mesh)
{
    int64_t *parent = room(mesh->vertices, sizeof *parent), count = mesh->vertices;
    for (int64_t v = 0; v < mesh->vertices; v++)
        parent[v] = v;
    for (int64_t t = 0; t < mesh->triangles; t++)
        for (int c = 1; c < 3; c++) {
            const int64_t a = root_of(parent, mesh->triangle[t][0]), b = root_of(parent, mesh->triangle[t][c]);
            count -= a != b;
            parent[a] = b;
        }
    free(parent);
    return count;
}

#endif
