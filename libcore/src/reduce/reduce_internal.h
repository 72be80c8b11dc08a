/* The inside of reductions: the plan, the interface of devices, and the CPU's chunks; not installed. */
#ifndef VOXFIELD_REDUCE_INTERNAL_H
#define VOXFIELD_REDUCE_INTERNAL_H

#include "voxfield/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_REDUCTION_COUNT = VF_REDUCE_OR + 1, VF_DTYPE_COUNT = VF_U8 + 1 };

typedef struct vf_reduce_ops {
    vf_status (*create)(vf_reduce *plan); /* sets plan->state */
    void (*destroy)(vf_reduce *plan);
    vf_status (*execute)(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                         vf_reduced *result);
    vf_status (*now)(const vf_reduce *plan, vf_queue *queue, int64_t n, const void *x, const void *y,
                     vf_reduced *result);
} vf_reduce_ops;

struct vf_reduce {
    vf_device *device;
    const vf_reduce_ops *ops;
    vf_reduction reduction;
    vf_dtype type;
    int64_t most;
    void *state; /* the backend's own */
};

extern const vf_reduce_ops vf_reduce_ops_cpu, vf_reduce_ops_cuda, vf_reduce_ops_opencl;

/* Whether the reduction supports the type. */
bool vf_reduce_exists(vf_reduction reduction, vf_dtype type);

/* The result for an empty array. */
vf_reduced vf_reduce_identity(vf_reduction reduction, vf_dtype type);

/* The definition: one element after the other, sums and products of floating-point numbers in long double. */
vf_reduced vf_reduce_ref(vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y);

/* ---- on the CPU ---- */

/* Appends the next state to the first. */
typedef void (*vf_reduce_append)(void *state, const void *next);
vf_reduce_append vf_reduce_append_of(vf_reduction reduction, vf_dtype type); /* of states that are vf_reduced */

/* A reduction in chunks: `chunk` reduces elements [at, at + count) into *state, `combine` appends the next state to the
 * first. For any associative operator; a state has at most VF_STATE_BYTES bytes. */
typedef struct vf_chunked {
    const void *user;
    void (*chunk)(const void *user, int64_t at, int64_t count, void *state);
    vf_reduce_append combine;
} vf_chunked;
enum { VF_STATE_BYTES = 64 };

/* The length of the chunks of n elements, at most VF_MOST_CHUNKS. */
enum { VF_MOST_CHUNKS = 1024 };
int64_t vf_reduce_chunk_length(int64_t n);

/* Reduces n elements with the threads of the queue's context. Chunks depend only on n and are combined in order, so the
 * bits do not depend on the threads. *state must be the identity on entry. */
void vf_reduce_in_chunks(vf_queue *queue, int64_t n, const vf_chunked *what, void *state);

/* vf_reduce_now without a plan; the reduction must support the type. */
void vf_reduce_on_cpu(vf_queue *queue, vf_reduction reduction, vf_dtype type, int64_t n, const void *x, const void *y,
                      vf_reduced *result);

/* Reduces `count` >= 1 elements starting at x (and y); the `index` of an extreme is relative to x. One table for each
 * instruction set; all give the same bits. */
typedef void (*vf_reduce_chunk)(int64_t count, const void *x, const void *y, vf_reduced *state);
typedef vf_reduce_chunk vf_reduce_chunks[VF_REDUCTION_COUNT][VF_DTYPE_COUNT];
vf_reduce_chunk vf_reduce_chunk_of(vf_reduction reduction, vf_dtype type); /* for the instruction set in use */
extern const vf_reduce_chunks vf_reduce_chunks_baseline, vf_reduce_chunks_avx2, vf_reduce_chunks_avx512;

#ifdef __cplusplus
}
#endif
#endif
