/* Vertex clustering. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/splitmix.h"
#include "voxfield/mesh.h"

/* A cube of the lattice, in an open hash table. */
typedef struct cluster {
    int64_t cell[3];
    int64_t number; /* -1: an empty place */
} cluster;

typedef struct clusters {
    vf_context *ctx;
    double side;
    float low[3];
    cluster *place; /* [mask + 1] */
    uint64_t mask;
    uint32_t *of;  /* [vertices]: a vertex's cluster, in the order of their first vertices */
    int64_t count; /* clusters */
} clusters;

static vf_status no_memory(vf_context *ctx, const vf_mesh *mesh)
{
    return vf_fail(ctx, VF_ERR_MEMORY, "mesh: not enough memory to reduce %lld triangles", (long long)mesh->triangles);
}

static vf_status create_clusters(vf_context *ctx, const vf_mesh *mesh, clusters *c)
{
    uint64_t places = 16;
    while (places < 2 * (uint64_t)mesh->vertices)
        places *= 2;
    *c = (clusters){.ctx = ctx, .mask = places - 1};
    c->place = malloc(places * sizeof *c->place);
    c->of = malloc((size_t)mesh->vertices * sizeof *c->of);
    if (!c->place || !c->of)
        return no_memory(ctx, mesh);
    memcpy(c->low, mesh->vertex[0], sizeof c->low);
    for (int64_t v = 1; v < mesh->vertices; v++)
        for (int a = 0; a < 3; a++)
            c->low[a] = fminf(c->low[a], mesh->vertex[v][a]);
    return VF_OK;
}

static void free_clusters(clusters *c)
{
    free(c->place);
    free(c->of);
}

static int64_t number_of(clusters *c, const float *vertex)
{
    int64_t cell[3];
    uint64_t key = 0;
    for (int a = 0; a < 3; a++) {
        cell[a] = (int64_t)floor(((double)vertex[a] - (double)c->low[a]) / c->side);
        key ^= (uint64_t)cell[a];
        key = vf_splitmix64(&key);
    }
    uint64_t at = key & c->mask;
    while (c->place[at].number >= 0 && memcmp(c->place[at].cell, cell, sizeof cell) != 0)
        at = (at + 1) & c->mask;
    if (c->place[at].number < 0) {
        memcpy(c->place[at].cell, cell, sizeof cell);
        c->place[at].number = c->count++;
    }
    return c->place[at].number;
}

static bool remains(const clusters *c, const uint32_t *triangle)
{
    const uint32_t i = c->of[triangle[0]], j = c->of[triangle[1]], k = c->of[triangle[2]];
    return i != j && j != k && k != i;
}

/* Returns how many triangles remain. */
static int64_t assign(const vf_mesh *mesh, double side, clusters *c)
{
    c->side = side;
    c->count = 0;
    for (uint64_t at = 0; at <= c->mask; at++)
        c->place[at].number = -1;
    for (int64_t v = 0; v < mesh->vertices; v++)
        c->of[v] = (uint32_t)number_of(c, mesh->vertex[v]);
    int64_t count = 0;
    for (int64_t t = 0; t < mesh->triangles; t++)
        count += remains(c, mesh->triangle[t]);
    return count;
}

/* sum[n]: the sums of position, normal and value, and the number of vertices. */
typedef struct cluster_sum {
    double position[3], normal[3], value, vertices;
} cluster_sum;

static void set_vertex(vf_mesh *mesh, int64_t n, const cluster_sum *s)
{
    const double length = sqrt(s->normal[0] * s->normal[0] + s->normal[1] * s->normal[1] + s->normal[2] * s->normal[2]);
    for (int a = 0; a < 3; a++) {
        mesh->vertex[n][a] = (float)(s->position[a] / s->vertices);
        mesh->normal[n][a] = length > 0 ? (float)(s->normal[a] / length) : a == 2;
    }
    if (mesh->value)
        mesh->value[n] = (float)(s->value / s->vertices);
}

static vf_status join(vf_mesh *mesh, const clusters *c)
{
    cluster_sum *sum = calloc((size_t)c->count, sizeof *sum);
    if (!sum)
        return no_memory(c->ctx, mesh);
    for (int64_t v = 0; v < mesh->vertices; v++) {
        cluster_sum *s = &sum[c->of[v]];
        for (int a = 0; a < 3; a++) {
            s->position[a] += (double)mesh->vertex[v][a];
            s->normal[a] += (double)mesh->normal[v][a];
        }
        s->value += mesh->value ? (double)mesh->value[v] : 0;
        s->vertices++;
    }
    for (int64_t n = 0; n < c->count; n++)
        set_vertex(mesh, n, &sum[n]);
    mesh->vertices = c->count;
    int64_t left = 0;
    for (int64_t t = 0; t < mesh->triangles; t++) {
        if (!remains(c, mesh->triangle[t]))
            continue;
        for (int k = 0; k < 3; k++)
            mesh->triangle[left][k] = c->of[mesh->triangle[t][k]];
        left++;
    }
    mesh->triangles = left;
    free(sum);
    return VF_OK;
}

vf_status vf_mesh_reduce(vf_context *ctx, vf_mesh *mesh, int64_t most, double *side)
{
    *side = 0;
    if (most < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "mesh: at most %lld triangles", (long long)most);
    if (mesh->triangles <= most)
        return VF_OK;
    clusters c = {0};
    vf_status status = create_clusters(ctx, mesh, &c);
    double edge = sqrt(2 * vf_mesh_area(mesh) / (double)most) / 2;
    edge = edge > 0 ? edge : 1e-3;
    while (status == VF_OK && assign(mesh, edge, &c) > most)
        edge *= 1.1;
    VF_TRY(status, join(mesh, &c));
    free_clusters(&c);
    *side = status == VF_OK ? edge : 0;
    return status;
}
