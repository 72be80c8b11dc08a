/* Searches in the left-balanced tree, as published: a stack of nodes, each with how far the plane is behind which it
 * lies. Departures: distances are compared squared, as is the plane's, and a node at the distance of the farthest
 * neighbour so far is still visited, because of equal distances. */
#include <stdlib.h>
#include <string.h>

#include "kd_tree.h"
#include "search_cpu.h"

enum { DEEPEST = 32 };

static const char *const names[] = {"kd-tree", NULL};

static vf_status create(vf_neighbours *plan, const float *points)
{
    vf_kd_tree *tree = plan->state = calloc(1, sizeof *tree);
    if (!tree)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a k-d tree");
    return vf_kd_tree_create(plan, points, tree);
}

static void destroy(vf_neighbours *plan)
{
    if (plan->state)
        vf_kd_tree_free(plan->state);
    free(plan->state);
}

/* A node to visit, its axis, and the squared distance of the plane between it and the query; 0 if there is none. */
typedef struct visit {
    uint32_t node;
    int axis;
    float bound;
} visit;

/* Inlined into a function for each number of dimensions, so that loops over axes have a constant length. */
static inline __attribute__((always_inline)) void
search_tree(const vf_kd_tree *tree, const int dimensions, const float *q, uint32_t self, int k, vf_neighbour_key *heap)
{
    const int width = vf_kd_width(dimensions);
    const uint32_t n = (uint32_t)tree->n;
    visit stack[DEEPEST + 1] = {{1, 0, 0}};
    for (int used = n > 0; used > 0;) {
        const visit v = stack[--used];
        if (!vf_may_be_nearer(v.bound, heap[0]))
            continue;
        const float *p = tree->nodes + (size_t)v.node * (size_t)width;
        const float squared = vf_squared_distance(dimensions, q, p);
        if (vf_may_be_nearer(squared, heap[0]))
            vf_offer(vf_key_of(squared, (uint32_t)tree->remap[v.node]), self, k, heap);
        const float plane = vf_difference(q[v.axis], p[v.axis]), bound = vf_add_square(0, plane);
        const uint32_t onside = 2 * v.node + (plane > 0), offside = onside ^ 1;
        const int axis = v.axis + 1 < dimensions ? v.axis + 1 : 0;
        if (offside <= n && vf_may_be_nearer(bound, heap[0]))
            stack[used++] = (visit){offside, axis, bound};
        if (onside <= n)
            stack[used++] = (visit){onside, axis, 0};
    }
}

static void find(const vf_neighbours *plan, const float *q, uint32_t self, int k, vf_neighbour_key *heap)
{
    if (plan->dimensions == 2)
        search_tree(plan->state, 2, q, self, k, heap);
    else if (plan->dimensions == 3)
        search_tree(plan->state, 3, q, self, k, heap);
    else
        search_tree(plan->state, 4, q, self, k, heap);
}

static int64_t places(const vf_neighbours *plan)
{
    return plan->n;
}

static int32_t point(const vf_neighbours *plan, int64_t place, float *q)
{
    const vf_kd_tree *tree = plan->state;
    memcpy(q, tree->nodes + (place + 1) * tree->width, (size_t)tree->width * sizeof *q);
    return tree->remap[place + 1];
}

static int class_of(const vf_neighbours *plan, const float *q)
{
    const vf_kd_tree *tree = plan->state;
    int64_t node = 1;
    for (int axis = 0; node <= tree->n && node < VF_CLASSES; axis = (axis + 1) % plan->dimensions)
        node = 2 * node + (q[axis] > tree->nodes[node * tree->width + axis]);
    return (int)(node & (VF_CLASSES - 1));
}

static vf_status search(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *s)
{
    static const vf_cpu_search how = {find, places, point, class_of};
    (void)queue;
    return vf_search_cpu(plan, &how, s);
}

const vf_neighbours_ops vf_neighbours_ops_kd_tree = {{VF_DEVICE_CPU, names}, create, destroy, search};
