#include "point_tree.h"

#include <stdlib.h>

#include "voxfield/team_size.h"

/* Levels whose nodes are shared by the threads one by one; below them, whole subtrees are. FEW points are not worth the
 * barriers between levels. DEEPEST: levels of any tree. */
enum { SHARED = 6, FEW = 4096, DEEPEST = 32 };

vf_item *vf_make_items(const vf_neighbours *plan, const float *points)
{
    const int d = plan->dimensions;
    vf_item *items = calloc((size_t)plan->n + 1, sizeof *items);
    if (!items) {
        (void)vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY,
                      "not enough memory to sort %lld points for a search for neighbours", (long long)plan->n);
        return NULL;
    }
    for (int64_t i = 0; i < plan->n; i++) {
        for (int a = 0; a < d; a++)
            items[i].x[a] = points[i * d + a];
        items[i].index = (int32_t)i;
    }
    return items;
}

static float median_of_three(float a, float b, float c)
{
    const float low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The median of three items whose numbers are mixed from the range (the finaliser of splitmix64), so that no usual order
 * of points leads to bad pivots. */
static float choose_pivot(const vf_item *items, int64_t low, int64_t high, int axis)
{
    enum { BITS = 21 };
    const uint64_t count = (uint64_t)(high - low + 1), mask = (1 << BITS) - 1;
    uint64_t z = ((uint64_t)high << 32 | (uint64_t)low) * UINT64_C(0x9e3779b97f4a7c15);
    float x[3];
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    for (int i = 0; i < 3; i++)
        x[i] = items[low + (int64_t)((z >> (BITS * i) & mask) * count >> BITS)].x[axis];
    return median_of_three(x[0], x[1], x[2]);
}

void vf_select(vf_item *items, int64_t n, int64_t at, int axis)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const float pivot = choose_pivot(items, low, high, axis);
        int64_t i = low, j = high;
        while (i <= j) {
            while (items[i].x[axis] < pivot)
                i++;
            while (items[j].x[axis] > pivot)
                j--;
            if (i <= j) {
                const vf_item moved = items[i];
                items[i++] = items[j];
                items[j--] = moved;
            }
        }
        if (at <= j)
            high = j;
        else if (at >= i)
            low = i;
        else
            return;
    }
}

typedef struct range {
    int64_t node, begin, n;
} range;

/* Makes a subtree, with a stack. Each turn takes one range and puts back two. */
static void make_subtree(vf_make_node make, void *tree, vf_item *items, range root)
{
    range stack[DEEPEST + 1] = {root};
    for (int used = root.n > 0; used > 0;) {
        const range r = stack[--used];
        const vf_children c = make(tree, r.node, items + r.begin, r.n);
        if (c.right > 0)
            stack[used++] = (range){2 * r.node + 1, r.begin + r.n - c.right, c.right};
        if (c.left > 0)
            stack[used++] = (range){2 * r.node, r.begin, c.left};
    }
}

void vf_make_tree(vf_context *ctx, vf_make_node make, void *tree, vf_item *items, int64_t n)
{
    range top[2 << SHARED] = {{0}};
    top[1] = (range){1, 0, n};
#pragma omp parallel num_threads(vf_threads_for(ctx, n <= FEW ? 0 : 100 * n))
    {
        for (int first = 1; first < 1 << SHARED; first *= 2) {
#pragma omp for schedule(dynamic)
            for (int i = first; i < 2 * first; i++) {
                const range r = top[i];
                const vf_children c = r.n > 0 ? make(tree, r.node, items + r.begin, r.n) : (vf_children){0, 0};
                top[2 * i] = (range){2 * i, r.begin, c.left};
                top[2 * i + 1] = (range){2 * i + 1, r.begin + r.n - c.right, c.right};
            }
        }
#pragma omp for schedule(dynamic)
        for (int i = 1 << SHARED; i < 2 << SHARED; i++)
            make_subtree(make, tree, items, top[i]);
    }
}
