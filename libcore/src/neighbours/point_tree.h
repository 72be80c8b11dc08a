/* Trees over points: the selection of a median, and the order in which nodes are made; not installed. */
#ifndef VOXFIELD_POINT_TREE_H
#define VOXFIELD_POINT_TREE_H

#include "neighbours_plan.h"

typedef struct vf_item {
    float x[VF_MOST_DIMENSIONS]; /* 0 beyond the dimensions */
    int32_t index;               /* in the caller's order */
} vf_item;

/* The plan's points as items, in the caller's order; free() them. `points` as in vf_neighbours_create. NULL: no memory,
 * and the context has the error. */
vf_item *vf_make_items(const vf_neighbours *plan, const float *points);

/* Reorders items, so that those before number `at` are not above it along the axis, and those after it not below.
 * Quickselect with a median of three. The same items always get the same order. */
void vf_select(vf_item *items, int64_t n, int64_t at, int axis);

/* The points of a node's children: the first `left` and the last `right` of its items. */
typedef struct vf_children {
    int64_t left, right;
} vf_children;

/* Makes a node of n > 0 items, and returns its children; 0 points is no child. */
typedef vf_children (*vf_make_node)(void *tree, int64_t node, vf_item *items, int64_t n);

/* Makes all nodes: the root is 1, the children of i are 2i and 2i + 1. Parents come before children. Threads share the
 * nodes; since these have separate items, the tree does not depend on the threads. */
void vf_make_tree(vf_context *ctx, vf_make_node make, void *tree, vf_item *items, int64_t n);

#endif
