/* What reductions and scans by C functions share; not installed. */
#ifndef VOXFIELD_MONOID_INTERNAL_H
#define VOXFIELD_MONOID_INTERNAL_H

#include "reduce_internal.h"

/* A state on a cache line of its own, so that threads do not share lines. */
typedef union vf_monoid_state {
    _Alignas(64) unsigned char bytes[VF_MOST_STATE];
} vf_monoid_state;

/* Refuses what is wrong; `what` begins messages. x and the other pointer may be NULL if n is 0. */
VF_MUST_CHECK vf_status vf_monoid_check(const char *what, vf_queue *queue, const vf_monoid *op, int64_t n,
                                        const void *x);

/* The states of the chunks of x, with all threads; returns their number. */
int vf_monoid_chunks(vf_queue *queue, const vf_monoid *op, int64_t n, const void *x,
                     vf_monoid_state states[VF_MOST_CHUNKS]);

#endif
