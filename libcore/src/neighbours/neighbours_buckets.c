/* Searches in a k-d tree whose leaves are buckets of up to LANES points, coordinates in separate vectors. A node splits its
 * points evenly, where they spread most. The tree of splits is small enough for the caches, and a bucket is read from
 * consecutive memory. A subtree is skipped if the box of space in which it lies is too far from the query, not only the
 * last plane (Arya and Mount, Data Compression Conference 1993, 381). */
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "point_tree.h"
#include "search_cpu.h"

enum { LANES = 8, DEEPEST = 32 };

static const char *const names[] = {"buckets", NULL};

typedef struct node {
    float split;
    int32_t axis;
} node;

/* Nodes [1, first) split; node first + b is bucket b. Its vectors: a coordinate of all points for each axis, then their
 * indices. Lanes without a point have coordinate infinity and index -1. */
typedef struct buckets {
    int dimensions;
    int64_t first, count;
    node *nodes;  /* [first] */
    float *lanes; /* [count][dimensions + 1][LANES] */
} buckets;

static float *lanes_of(const buckets *t, int64_t bucket)
{
    return t->lanes + bucket * (t->dimensions + 1) * LANES;
}

static void fill_bucket(const buckets *t, int64_t bucket, const vf_item *items, int64_t n)
{
    float *lanes = lanes_of(t, bucket);
    for (int64_t i = 0; i < LANES; i++) {
        const int32_t index = i < n ? items[i].index : -1;
        for (int a = 0; a < t->dimensions; a++)
            lanes[a * LANES + i] = i < n ? items[i].x[a] : INFINITY;
        memcpy(lanes + t->dimensions * LANES + i, &index, sizeof index);
    }
}

static int widest_axis(int dimensions, const vf_item *items, int64_t n)
{
    int widest = 0;
    float most = -1;
    for (int a = 0; a < dimensions; a++) {
        float low = items[0].x[a], high = low;
        for (int64_t i = 1; i < n; i++) {
            low = items[i].x[a] < low ? items[i].x[a] : low;
            high = items[i].x[a] > high ? items[i].x[a] : high;
        }
        if (high - low > most) {
            most = high - low;
            widest = a;
        }
    }
    return widest;
}

static vf_children make_node(void *tree, int64_t number, vf_item *items, int64_t n)
{
    const buckets *t = tree;
    if (number >= t->first) {
        fill_bucket(t, number - t->first, items, n);
        return (vf_children){0, 0};
    }
    const int axis = widest_axis(t->dimensions, items, n);
    vf_select(items, n, n / 2, axis);
    t->nodes[number] = (node){items[n / 2].x[axis], axis};
    return (vf_children){n / 2, n - n / 2};
}

static vf_status create(vf_neighbours *plan, const float *points)
{
    vf_context *ctx = vf_device_context(plan->device);
    buckets *t = plan->state = calloc(1, sizeof *t);
    if (!t)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a k-d tree");
    t->dimensions = plan->dimensions;
    for (t->first = 1; plan->n > LANES * t->first;)
        t->first *= 2;
    t->count = plan->n > 0 ? t->first : 0;
    const size_t bytes = sizeof(float) * LANES * (size_t)(t->dimensions + 1) * (size_t)t->first;
    t->nodes = calloc((size_t)t->first, sizeof *t->nodes);
    t->lanes = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!t->nodes || !t->lanes)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a k-d tree of %lld points", (long long)plan->n);
    vf_item *items = vf_make_items(plan, points);
    if (!items)
        return VF_ERR_MEMORY;
    vf_make_tree(ctx, make_node, t, items, plan->n);
    free(items);
    return VF_OK;
}

static void destroy(vf_neighbours *plan)
{
    buckets *t = plan->state;
    if (t) {
        free(t->nodes);
        free(t->lanes);
    }
    free(t);
}

/* Offers the points of a bucket. */
static inline __attribute__((always_inline)) void
search_bucket(const float *lanes, const int dimensions, const float *q, uint32_t self, int k, vf_neighbour_key *heap)
{
    float squared[LANES];
    const float farthest = vf_key_squared(heap[0]);
    int near = 0;
#if defined(__SSE2__)
    for (int half = 0; half < LANES; half += 4) {
        __m128 sum = _mm_setzero_ps();
        for (int a = 0; a < dimensions; a++) {
            const __m128 off = _mm_sub_ps(_mm_set1_ps(q[a]), _mm_load_ps(lanes + a * LANES + half));
            sum = _mm_add_ps(sum, _mm_mul_ps(off, off));
        }
        _mm_storeu_ps(squared + half, sum);
        near |= _mm_movemask_ps(_mm_cmple_ps(sum, _mm_set1_ps(farthest))) << half;
    }
#else
    for (int i = 0; i < LANES; i++) {
        squared[i] = 0;
        for (int a = 0; a < dimensions; a++)
            squared[i] = vf_add_square(squared[i], vf_difference(q[a], lanes[a * LANES + i]));
        near |= (squared[i] <= farthest) << i;
    }
#endif
    for (; near; near &= near - 1) {
        const int i = __builtin_ctz((unsigned)near);
        uint32_t index;
        memcpy(&index, lanes + dimensions * LANES + i, sizeof index);
        vf_offer(vf_key_of(squared[i], index), self, k, heap);
    }
}

/* A subtree to visit, the distances of its box from the query along the axes, and the sum of their squares. */
typedef struct visit {
    uint32_t node;
    float bound;
    float off[VF_MOST_DIMENSIONS];
} visit;

/* Inlined into a function for each number of dimensions, so that loops over axes have a constant length. */
static inline __attribute__((always_inline)) void search_tree(const buckets *t, const int dimensions, const float *q,
                                                              uint32_t self, int k, vf_neighbour_key *heap)
{
    const uint32_t first = (uint32_t)t->first;
    visit stack[DEEPEST + 1], v = {1, 0, {0}};
    for (int used = 0;;) {
        while (v.node < first) {
            const node *split = t->nodes + v.node;
            const float plane = vf_difference(q[split->axis], split->split);
            visit *other = stack + used;
            *other = v;
            other->node = 2 * v.node + (plane <= 0);
            other->off[split->axis] = plane;
            other->bound = 0;
            for (int a = 0; a < dimensions; a++)
                other->bound = vf_add_square(other->bound, other->off[a]);
            used += vf_may_be_nearer(other->bound, heap[0]);
            v.node = 2 * v.node + (plane > 0);
        }
        search_bucket(t->lanes + (int64_t)(v.node - first) * (dimensions + 1) * LANES, dimensions, q, self, k, heap);
        do {
            if (used == 0)
                return;
            v = stack[--used];
        } while (!vf_may_be_nearer(v.bound, heap[0]));
    }
}

static void find(const vf_neighbours *plan, const float *q, uint32_t self, int k, vf_neighbour_key *heap)
{
    const buckets *t = plan->state;
    if (t->count == 0)
        return;
    if (plan->dimensions == 2)
        search_tree(t, 2, q, self, k, heap);
    else if (plan->dimensions == 3)
        search_tree(t, 3, q, self, k, heap);
    else
        search_tree(t, 4, q, self, k, heap);
}

static int64_t places(const vf_neighbours *plan)
{
    const buckets *t = plan->state;
    return t->count * LANES;
}

static int32_t point(const vf_neighbours *plan, int64_t place, float *q)
{
    const buckets *t = plan->state;
    const float *lanes = lanes_of(t, place / LANES) + place % LANES;
    int32_t index;
    for (int a = 0; a < t->dimensions; a++)
        q[a] = lanes[a * LANES];
    memcpy(&index, lanes + t->dimensions * LANES, sizeof index);
    return index;
}

static int class_of(const vf_neighbours *plan, const float *q)
{
    const buckets *t = plan->state;
    int64_t at = 1;
    while (at < t->first && at < VF_CLASSES)
        at = 2 * at + (q[t->nodes[at].axis] > t->nodes[at].split);
    return (int)(at & (VF_CLASSES - 1));
}

static vf_status search(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *s)
{
    static const vf_cpu_search how = {find, places, point, class_of};
    (void)queue;
    return vf_search_cpu(plan, &how, s);
}

const vf_neighbours_ops vf_neighbours_ops_buckets = {{VF_DEVICE_CPU, names}, create, destroy, search};
