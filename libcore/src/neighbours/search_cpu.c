#include "search_cpu.h"

#include "voxfield/team_size.h"

enum { CHUNK = 256, NANOSECONDS = 500 }; /* queries that a thread takes at a time; time of one, about */

static void search_one(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s,
                       const float *q, uint32_t self, int64_t to)
{
    vf_neighbour_key heap[VF_NEIGHBOURS_MOST_K];
    const bool can = vf_can_search(plan->dimensions, q);
    for (int j = 0; j < s->k; j++)
        heap[j] = VF_NO_NEIGHBOUR;
    if (can)
        how->find(plan, q, self, s->k, heap);
    vf_heap_sort(heap, 1, s->k);
    for (int j = 0; j < s->k; j++) {
        s->index[to * s->k + j] = vf_key_index(heap[j]);
        s->squared[to * s->k + j] = can ? vf_key_squared(heap[j]) : NAN;
    }
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
    for (int a = 0; a < plan->dimensions; a++)
        q[a] = s->queries[at * plan->dimensions + a];
    search_one(plan, how, s, q, VF_NOBODY, at);
}

void vf_search_cpu(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s)
{
    const int64_t places = s->queries ? s->count : how->places(plan);
    const int64_t work = places <= CHUNK ? 0 : NANOSECONDS * places;
#pragma omp parallel for schedule(dynamic) num_threads(vf_threads_for(vf_device_context(plan->device), work))
    for (int64_t first = 0; first < places; first += CHUNK)
        for (int64_t at = first; at < places && at < first + CHUNK; at++)
            search_at(plan, how, s, at);
}
