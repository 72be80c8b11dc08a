/* A tree of boxes: each is cut at the middle atom of its longest edge. The nearest surface is searched for from the top, the nearer box
 * first; boxes that cannot have a nearer surface are left out. */
#include "surface_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 6, STACK = 128 };

typedef struct ball {
    double centre[3], radius;
} ball;

typedef struct tree_node {
    double lo[3], hi[3], radius; /* of the centres; the largest radius */
    int64_t begin, end;          /* balls */
    int64_t left, right;         /* nodes; -1: a leaf */
} tree_node;

struct surface_tree {
    vf_cell cell;
    ball *balls;
    int64_t count;
    tree_node *node;
    int64_t nodes;
};

static void bound(surface_tree *t, tree_node *node)
{
    memcpy(node->lo, t->balls[node->begin].centre, sizeof node->lo);
    memcpy(node->hi, t->balls[node->begin].centre, sizeof node->hi);
    node->radius = t->balls[node->begin].radius;
    for (int64_t i = node->begin + 1; i < node->end; i++) {
        for (int a = 0; a < 3; a++) {
            node->lo[a] = fmin(node->lo[a], t->balls[i].centre[a]);
            node->hi[a] = fmax(node->hi[a], t->balls[i].centre[a]);
        }
        node->radius = fmax(node->radius, t->balls[i].radius);
    }
}

/* Puts the balls [begin, end) in an order where those before `middle` are not above it along the axis (Hoare's selection). */
static void part(ball *b, int64_t begin, int64_t end, int64_t middle, int axis)
{
    while (end - begin > 1) {
        const double pivot = b[begin + (end - begin) / 2].centre[axis];
        int64_t i = begin, j = end - 1;
        while (i <= j) {
            while (b[i].centre[axis] < pivot)
                i++;
            while (b[j].centre[axis] > pivot)
                j--;
            if (i <= j) {
                const ball other = b[i];
                b[i++] = b[j];
                b[j--] = other;
            }
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            begin = i;
        else
            return;
    }
}

/* Nodes are made in order; each cuts its own balls. */
static void build(surface_tree *t)
{
    t->node[0] = (tree_node){.begin = 0, .end = t->count, .left = -1, .right = -1};
    t->nodes = 1;
    for (int64_t n = 0; n < t->nodes; n++) {
        tree_node *node = &t->node[n];
        bound(t, node);
        if (node->end - node->begin <= LEAF)
            continue;
        int axis = 0;
        for (int a = 1; a < 3; a++)
            axis = node->hi[a] - node->lo[a] > node->hi[axis] - node->lo[axis] ? a : axis;
        const int64_t middle = node->begin + (node->end - node->begin) / 2;
        part(t->balls, node->begin, node->end, middle, axis);
        node->left = t->nodes++;
        node->right = t->nodes++;
        t->node[node->left] = (tree_node){.begin = node->begin, .end = middle, .left = -1, .right = -1};
        t->node[node->right] = (tree_node){.begin = middle, .end = node->end, .left = -1, .right = -1};
    }
}

vf_status surface_create(vf_context *ctx, const molecule *m, const vf_cell *cell, surface_tree **out)
{
    surface_tree *t = calloc(1, sizeof *t);
    *out = NULL;
    if (t) {
        t->cell = *cell;
        t->count = m->atoms;
        t->balls = calloc((size_t)m->atoms + 1, sizeof *t->balls);
        t->node = malloc((size_t)(m->atoms + 2) * sizeof *t->node); /* leaves have three balls at least */
    }
    if (!t || !t->balls || !t->node) {
        surface_destroy(t);
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the surface of %lld atoms", (long long)m->atoms);
    }
    for (int64_t i = 0; i < m->atoms; i++)
        t->balls[i] = (ball){.centre = {m->x[i], m->y[i], m->z[i]}, .radius = m->radius[i]};
    build(t);
    *out = t;
    return VF_OK;
}

void surface_destroy(surface_tree *t)
{
    if (t) {
        free(t->balls);
        free(t->node);
    }
    free(t);
}

double surface_largest_radius(const surface_tree *t)
{
    return t->node[0].radius;
}

static double from_ball(const ball *b, const double r[3])
{
    const double x = r[0] - b->centre[0], y = r[1] - b->centre[1], z = r[2] - b->centre[2];
    return sqrt(x * x + y * y + z * z) - b->radius;
}

/* No surface in the box is nearer. */
static double least_of(const tree_node *node, const double r[3])
{
    double square = 0;
    for (int a = 0; a < 3; a++) {
        const double d = fmax(fmax(node->lo[a] - r[a], r[a] - node->hi[a]), 0);
        square += d * d;
    }
    return sqrt(square) - node->radius;
}

typedef struct search {
    const surface_tree *t;
    double best;
    int64_t nearest;
} search;

static void search_image(void *user, const double r[3])
{
    search *s = user;
    const surface_tree *t = s->t;
    int64_t stack[STACK];
    double least[STACK];
    int depth = 0;
    stack[depth] = 0;
    least[depth++] = least_of(&t->node[0], r);
    while (depth > 0) {
        const tree_node *node = &t->node[stack[--depth]];
        if (!(least[depth] < s->best))
            continue;
        if (node->left < 0) {
            for (int64_t i = node->begin; i < node->end; i++) {
                const double d = from_ball(&t->balls[i], r);
                if (d < s->best) {
                    s->best = d;
                    s->nearest = i;
                }
            }
            continue;
        }
        const double left = least_of(&t->node[node->left], r), right = least_of(&t->node[node->right], r);
        const bool left_first = left < right;
        stack[depth] = left_first ? node->right : node->left;
        least[depth++] = left_first ? right : left;
        stack[depth] = left_first ? node->left : node->right;
        least[depth++] = left_first ? left : right;
    }
}

double surface_distance(const surface_tree *t, const double r[3], int64_t *hint)
{
    search s = {.t = t, .nearest = *hint >= 0 && *hint < t->count ? *hint : 0};
    double lo[3], hi[3];
    s.best = from_ball(&t->balls[s.nearest], r);
    if (t->cell.kind == VF_CELL_NONE) {
        search_image(&s, r);
    } else { /* instead of images of the atoms, those of the point */
        for (int a = 0; a < 3; a++) {
            const double beyond = s.best + t->node[0].radius + 1e-9;
            lo[a] = t->node[0].lo[a] - beyond;
            hi[a] = t->node[0].hi[a] + beyond;
        }
        vf_cell_images(&t->cell, r, lo, hi, search_image, &s);
    }
    *hint = s.nearest;
    return s.best;
}
