/* What all searches for neighbours share: distances, and the k nearest points so far. For C and CUDA; not installed.
 *
 * A neighbour is one number, its key: the bits of the squared distance, and the point's index below them. Distances are
 * not negative, so keys are ordered by distance, then by index. */
#ifndef VOXFIELD_NEIGHBOUR_KEYS_H
#define VOXFIELD_NEIGHBOUR_KEYS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "voxfield/neighbours.h"

#ifdef __CUDACC__
#define VF_HOST_DEVICE __host__ __device__
#else
#define VF_HOST_DEVICE
#endif

typedef uint64_t vf_neighbour_key;

/* Index -1 at distance infinity: farther than any point. */
#define VF_NO_NEIGHBOUR UINT64_C(0x7f800000ffffffff)

/* In place of a point's index, if a search leaves out none. */
#define VF_NOBODY UINT32_MAX

VF_HOST_DEVICE static inline vf_neighbour_key vf_key_of(float squared, uint32_t index)
{
    uint32_t bits;
    memcpy(&bits, &squared, sizeof bits);
    return (uint64_t)bits << 32 | index;
}

VF_HOST_DEVICE static inline float vf_key_squared(vf_neighbour_key key)
{
    const uint32_t bits = (uint32_t)(key >> 32);
    float squared;
    memcpy(&squared, &bits, sizeof squared);
    return squared;
}

VF_HOST_DEVICE static inline int32_t vf_key_index(vf_neighbour_key key)
{
    return (int32_t)(uint32_t)key;
}

/* Whether points at a squared distance of at least `bound` may be nearer than `key`: at the same distance they may have
 * a smaller index. */
VF_HOST_DEVICE static inline bool vf_may_be_nearer(float bound, vf_neighbour_key key)
{
    return vf_key_of(bound, 0) < key;
}

/* Whether a query has neighbours. */
VF_HOST_DEVICE static inline bool vf_can_search(int dimensions, const float *q)
{
    bool all = true;
    for (int a = 0; a < dimensions; a++)
        all = all && fabsf(q[a]) <= VF_NEIGHBOURS_MOST;
    return all;
}

/* Every operation is rounded; files that include this are compiled without contraction to fused multiply-add.
 *
 * Rounding is monotonic. So if a box has the distances o_a >= 0 from q along the axes, the sum of their squares, rounded
 * in the same way and order, is at most the squared distance of any point in the box: a bound without tolerance. */
VF_HOST_DEVICE static inline float vf_difference(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fsub_rn(a, b);
#else
    return a - b;
#endif
}

/* sum + x^2 */
VF_HOST_DEVICE static inline float vf_add_square(float sum, float x)
{
#ifdef __CUDA_ARCH__
    return __fadd_rn(sum, __fmul_rn(x, x));
#else
    return sum + x * x;
#endif
}

VF_HOST_DEVICE static inline float vf_squared_distance(int dimensions, const float *q, const float *p)
{
    float sum = 0; /* 0 + x^2 is exact */
    for (int a = 0; a < dimensions; a++)
        sum = vf_add_square(sum, vf_difference(q[a], p[a]));
    return sum;
}

/* ---- the k nearest so far: a heap of k keys, the farthest at the top, key i at heap[i * stride]. It begins full of
 * VF_NO_NEIGHBOUR. ---- */

/* Replaces the top by a nearer key, and sifts it down. */
VF_HOST_DEVICE static inline void vf_heap_replace(vf_neighbour_key *heap, int stride, int k, vf_neighbour_key key)
{
    int i = 0;
    for (int child = 1; child < k; child = 2 * i + 1) {
        if (child + 1 < k && heap[(child + 1) * stride] > heap[child * stride])
            child++;
        if (heap[child * stride] <= key)
            break;
        heap[i * stride] = heap[child * stride];
        i = child;
    }
    heap[i * stride] = key;
}

/* Sorts the keys of a heap, nearest first. */
VF_HOST_DEVICE static inline void vf_heap_sort(vf_neighbour_key *heap, int stride, int k)
{
    for (int last = k - 1; last > 0; last--) {
        const vf_neighbour_key farthest = heap[0];
        vf_heap_replace(heap, stride, last, heap[last * stride]);
        heap[last * stride] = farthest;
    }
}

#endif
