/* How the threads of a team share an array: each takes a contiguous part. For C files with OpenMP; not installed. */
#ifndef VOXFIELD_THREAD_SHARES_H
#define VOXFIELD_THREAD_SHARES_H

#include <omp.h>
#include <stdint.h>

enum { VF_FEW = 32768 }; /* elements that are worth a part of their own, with its counts */

/* A team of all threads takes at most this many parts, one a thread. */
static inline int vf_parts_of(int threads, int64_t n)
{
    const int64_t worth = n / VF_FEW + 1;
    return worth < threads ? (int)worth : threads;
}

/* The elements of the calling thread, if the first threads of its team share n in parts. */
typedef struct vf_share {
    int64_t at, end;
} vf_share;
static inline vf_share vf_share_of(int64_t n, int parts)
{
    const int64_t t = omp_get_thread_num(), of = parts < omp_get_num_threads() ? parts : omp_get_num_threads();
    const int64_t at = n / of * t + (t < n % of ? t : n % of);
    return t < of ? (vf_share){at, at + n / of + (t < n % of)} : (vf_share){0, 0};
}

#endif
