/* The left-balanced k-d tree of Brown, PhD thesis, University of North Carolina (2015), chapter 7; not installed.
 *
 * One point a node, in an array from 1: the root is 1, the children of i are 2i and 2i + 1, and nodes beyond n do not
 * exist. So all levels are full, except the last, which is filled from the left. The axis of a node is its level,
 * modulo the dimensions. Points of the left child are not above the node's point along its axis, those of the right
 * child not below. */
#ifndef VOXFIELD_KD_TREE_H
#define VOXFIELD_KD_TREE_H

#include "neighbours_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of floats of a node: aligned loads of 8 or 16 bytes. */
static inline int vf_kd_width(int dimensions)
{
    return dimensions == 2 ? 2 : 4;
}

typedef struct vf_kd_tree {
    int64_t n;
    int width;
    float *nodes;   /* [n + 1][width], aligned to 16 bytes; 0 beyond the dimensions; node 0 is not used */
    int32_t *remap; /* [n + 1]: the indices of the nodes' points in the caller's order */
} vf_kd_tree;

/* Of n > 0 points, how many belong to the left child. */
int64_t vf_kd_left(int64_t n);

/* Makes the tree of the plan's points. Errors: VF_ERR_MEMORY; vf_kd_tree_free is then still allowed. */
VF_MUST_CHECK vf_status vf_kd_tree_create(const vf_neighbours *plan, const float *points, vf_kd_tree *tree);
void vf_kd_tree_free(vf_kd_tree *tree);

#ifdef __cplusplus
}
#endif
#endif
