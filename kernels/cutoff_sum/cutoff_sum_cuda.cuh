/* What the files of the CUDA backend share; not installed. */
#ifndef VOXFIELD_CUTOFF_SUM_CUDA_CUH
#define VOXFIELD_CUTOFF_SUM_CUDA_CUH

#include "backend/bin_order.cuh"
#include "cutoff_sum_backend.h"

namespace vf_cutoff_gpu
{

/* A charge at grid point `at` plus `offset`, which is at most half a spacing: so differences from near points are
 * accurate in single precision. */
template <typename T>
struct __align__(16) charge_at
{
    int32_t at[3];
    T charge, offset[3];
};

struct cuda_state {
    vf_bin_order::binned charges; /* charge_at<T>, in bins of any size, or in `capacity` places a bin */
    int64_t bins[3], edge[3];     /* the number of bins, and their edges in points */
    int64_t reach[3];             /* the cutoff, in points, rounded up */
    int64_t capacity;             /* 0: any */
    vf_prolate_powers law;
    vf_cutoff *overflow;  /* the charges beyond the capacity of their bins, on the CPU; NULL: none */
    vf_box overflow_near; /* the points that they reach */
};

/* ---- cutoff_sum_capacity.cu ---- */

/* Moves sorted charges into bins of a fixed capacity. Waits for the queue, and frees nothing of `sorted`. */
vf_status limit_bins(vf_cutoff *plan, vf_queue *queue, const vf_bin_order::binned &sorted);

/* out += the overflow's sum over a box, which the CPU computes while the GPU works on what is in the queue. */
vf_status add_overflow(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, void *out);

} // namespace vf_cutoff_gpu

#endif
