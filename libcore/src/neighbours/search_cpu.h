/* What the CPU's searches for neighbours share: threads over queries; not installed. */
#ifndef VOXFIELD_SEARCH_CPU_H
#define VOXFIELD_SEARCH_CPU_H

#include "neighbour_keys.h"
#include "neighbours_plan.h"

/* Queries are searched in the order of regions of space, which this many classes number. */
enum { VF_CLASS_BITS = 14, VF_CLASSES = 1 << VF_CLASS_BITS };

/* How a variant searches. A place is a position in the order in which the variant keeps the plan's points, so that
 * points of near places are near each other. */
typedef struct vf_cpu_search {
    /* Puts the k nearest points of q, except `self`, into the heap. */
    void (*find)(const vf_neighbours *plan, const float *q, uint32_t self, int k, vf_neighbour_key *heap);
    int64_t (*places)(const vf_neighbours *plan);
    /* The point at a place, and its index; -1 if there is none. */
    int32_t (*point)(const vf_neighbours *plan, int64_t place, float *q);
    /* Any number in [0, VF_CLASSES), such that queries of one class read nearly the same memory; n > 0. */
    int (*class_of)(const vf_neighbours *plan, const float *q);
} vf_cpu_search;

/* The search of a backend. Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status vf_search_cpu(const vf_neighbours *plan, const vf_cpu_search *how,
                                      const vf_neighbour_search *s);

/* Offers a key to the heap of k. */
static inline void vf_offer(vf_neighbour_key key, uint32_t self, int k, vf_neighbour_key *heap)
{
    if (key < heap[0] && (uint32_t)key != self)
        vf_heap_replace(heap, 1, k, key);
}

#endif
