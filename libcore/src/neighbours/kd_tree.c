#include "kd_tree.h"

#include <stdlib.h>
#include <string.h>

#include "point_tree.h"

/* The published position of the node's point, counted from 1, is half + min(half, n - 2 half + 1), where half is
 * 2^(h-2) and h the number of levels. The points before it go to the left. */
int64_t vf_kd_left(int64_t n)
{
    int64_t half = 1;
    while (4 * half <= n)
        half *= 2;
    if (n == 1)
        return 0;
    const int64_t last = n - 2 * half + 1;
    return half + (half < last ? half : last) - 1;
}

typedef struct work {
    vf_kd_tree *tree;
    int dimensions;
} work;

static int level_of(int64_t node)
{
    int level = 0;
    while (node >> (level + 1))
        level++;
    return level;
}

static vf_children make_node(void *tree, int64_t node, vf_item *items, int64_t n)
{
    const work *w = tree;
    const vf_kd_tree *t = w->tree;
    const int64_t left = vf_kd_left(n);
    vf_select(items, n, left, level_of(node) % w->dimensions);
    memcpy(t->nodes + node * t->width, items[left].x, (size_t)t->width * sizeof *t->nodes);
    t->remap[node] = items[left].index;
    return (vf_children){left, n - left - 1};
}

vf_status vf_kd_tree_create(const vf_neighbours *plan, const float *points, vf_kd_tree *tree)
{
    const size_t places = (size_t)plan->n + 1;
    *tree = (vf_kd_tree){.n = plan->n, .width = vf_kd_width(plan->dimensions)};
    const size_t bytes = (places * (size_t)tree->width * sizeof *tree->nodes + 63) / 64 * 64;
    vf_item *items = vf_make_items(plan, points);
    if (!items)
        return VF_ERR_MEMORY;
    tree->nodes = aligned_alloc(64, bytes);
    tree->remap = calloc(places, sizeof *tree->remap);
    if (!tree->nodes || !tree->remap) {
        free(items);
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                       "not enough memory for a k-d tree of %lld points", (long long)plan->n);
    }
    memset(tree->nodes, 0, (size_t)tree->width * sizeof *tree->nodes);
    work w = {tree, plan->dimensions};
    vf_make_tree(vf_device_context(plan->device), make_node, &w, items, plan->n);
    free(items);
    return VF_OK;
}

void vf_kd_tree_free(vf_kd_tree *tree)
{
    free(tree->nodes);
    free(tree->remap);
    *tree = (vf_kd_tree){0};
}
