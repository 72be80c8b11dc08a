/* What the CPU's searches for neighbours share: threads over queries; not installed. */
#ifndef VOXFIELD_SEARCH_CPU_H
#define VOXFIELD_SEARCH_CPU_H

#include "neighbour_keys.h"
#include "neighbours_plan.h"

/* How a variant searches. A place is a position in the order in which the variant keeps the plan's points, so that
 * points of near places are near each other. */
typedef struct vf_cpu_search {
    /* Puts the k nearest points of q, except `self`, into the heap. Bits are not changed by other queries. */
    void (*find)(const vf_neighbours *plan, const float *q, uint32_t self, int k, vf_neighbour_key *heap);
    int64_t (*places)(const vf_neighbours *plan);
    /* The point at a place, and its index; -1 if there is none. */
    int32_t (*point)(const vf_neighbours *plan, int64_t place, float *q);
} vf_cpu_search;

/* The search of a backend. */
void vf_search_cpu(const vf_neighbours *plan, const vf_cpu_search *how, const vf_neighbour_search *s);

/* Offers a key to the heap of k. */
static inline void vf_offer(vf_neighbour_key key, uint32_t self, int k, vf_neighbour_key *heap)
{
    if (key < heap[0] && (uint32_t)key != self)
        vf_heap_replace(heap, 1, k, key);
}

#endif
