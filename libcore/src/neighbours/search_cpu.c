#include "search_cpu.h"

#include <stdlib.h>

#include "voxfield/team_size.h"

/* CHUNK: queries that a thread takes at a time. NANOSECONDS: of one query, about. MANY points do not fit the caches next to
 * a core, so the order of MANY_QUERIES matters. */
enum { CHUNK = 256, NANOSECONDS = 500, MANY = 16384, MANY_QUERIES = 4096 };

static int team(const vf_neighbours *plan, int64_t queries)
{
    return vf_threads_for(vf_device_context(plan->device), queries <= CHUNK ? 0 : NANOSECONDS * queries);
}

static void search_one(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s,
                       const float *q, uint32_t self, int64_t to)
{
    vf_neighbour_key heap[VF_NEIGHBOURS_MOST_K] = {0};
    const int k = s->k;
    const bool can = vf_can_search(plan->dimensions, q);
    for (int j = 0; j < k; j++)
        heap[j] = VF_NO_NEIGHBOUR;
    if (can)
        how->find(plan, q, self, k, heap);
    vf_heap_sort(heap, 1, k);
    for (int j = 0; j < k; j++) {
        s->index[to * k + j] = vf_key_index(heap[j]);
        s->squared[to * k + j] = can ? vf_key_squared(heap[j]) : NAN;
    }
}

static void load_query(const vf_neighbours *plan, const vf_neighbour_search *s, int64_t i, float *q)
{
    for (int a = 0; a < plan->dimensions; a++)
        q[a] = s->queries[i * plan->dimensions + a];
}

static void search_at(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s, int64_t at)
{
    float q[VF_MOST_DIMENSIONS] = {0};
    if (!s->queries) {
        const int32_t self = how->point(plan, at, q);
        if (self >= 0)
            search_one(plan, how, s, q, (uint32_t)self, self);
        return;
    }
    load_query(plan, s, at, q);
    search_one(plan, how, s, q, VF_NOBODY, at);
}

/* ---- the order of queries ---- */

/* The queries by class, a counting sort, so that consecutive ones find what they read in the caches. NULL: they are
 * searched in their own order, with the same results, because they are few, or there is no memory. */
static int64_t *order_queries(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s)
{
    const int64_t m = s->count;
    if (!s->queries || m < MANY_QUERIES || plan->n < MANY)
        return NULL;
    int64_t *order = malloc((size_t)m * sizeof *order), *next = calloc(VF_CLASSES + 1, sizeof *next);
    uint16_t *class = malloc((size_t)m * sizeof *class);
    if (order && next && class) {
#pragma omp parallel for num_threads(team(plan, m))
        for (int64_t i = 0; i < m; i++) {
            float q[VF_MOST_DIMENSIONS] = {0};
            load_query(plan, s, i, q);
            class[i] = (uint16_t)how->class_of(plan, q);
        }
        for (int64_t i = 0; i < m; i++)
            next[class[i] + 1]++;
        for (int c = 1; c <= VF_CLASSES; c++)
            next[c] += next[c - 1];
        for (int64_t i = 0; i < m; i++)
            order[next[class[i]]++] = i;
    } else {
        free(order);
        order = NULL;
    }
    free(next);
    free(class);
    return order;
}

vf_status vf_search_cpu(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s)
{
    vf_context *ctx = vf_device_context(plan->device);
    const int64_t places = s->queries ? s->count : how->places(plan);
    int64_t *order = order_queries(plan, how, s);
#pragma omp parallel for schedule(dynamic) num_threads(team(plan, places))
    for (int64_t first = 0; first < places; first += CHUNK)
        for (int64_t at = first; at < places && at < first + CHUNK && !vf_cancelled(ctx); at++)
            search_at(plan, how, s, order ? order[at] : at);
    free(order);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}
