/* What the files of the published kernels share; not installed. */
#ifndef VOXFIELD_CUTOFF_SUM_PUBLISHED_CUH
#define VOXFIELD_CUTOFF_SUM_PUBLISHED_CUH

#include <math.h>

#include "coulomb_sum_backend.h"
#include "cutoff_sum_cuda.cuh"

namespace vf_cutoff_gpu
{

using namespace vf_bin_order;

/* x, y, z from the grid's origin. */
template <typename T>
struct __align__(16) atom
{
    T x, y, z, charge;
};

/* Of a block of points, and of a small bin, unless the cutoff is very long: there are at most MOST_LAYERS bins within it. */
enum { SIDE = 8, POINTS = SIDE * SIDE * SIDE, MOST_LAYERS = 4 };

struct published_state {
    bool large, overlapped, uses_bank;
    vf_prolate_powers law;
    int64_t edge[3];   /* of bins, in points; of large-bin, of subvolumes, which are its bins */
    int64_t layers[3]; /* of bins around each bin, within the cutoff */
    int64_t bins[3];   /* with `layers` more at each end */
    /* large-bin */
    int64_t *first; /* [bins + 1] */
    void *atoms;    /* atom<T>, by bin; on the host */
    /* small-bin */
    int64_t capacity;
    int offsets;             /* bins around a bin, and itself */
    vf_array places, around; /* atom<T> [bins][capacity]; int32 [offsets], differences of bins' numbers */
    vf_cutoff *overflow;     /* on the CPU; NULL: none */
    vf_box overflow_near;    /* the points that it reaches */
};

template <typename T>
struct sum_task {
    pair_law<T> law;
    T spacing[3];
    int64_t lo[3], hi[3]; /* the box */
    int64_t from[3],
        n[3]; /* large-bin: the subvolume's first point and extent; small-bin: the first block, and blocks */
    bool add;
};

template <typename T, int LAW>
__device__ inline T term(const pair_law<T> &law, const atom<T> &a, T x, T y, T z)
{
    const T dx = x - a.x, dy = y - a.y, dz = z - a.z, s = dx * dx + dy * dy + dz * dz;
    return s < law.cutoff_squared ? a.charge * pair_value<T, LAW>(law, s) : (T)0;
}

template <typename T>
__device__ inline void put(const sum_task<T> &task, const int64_t at[3], T sum, T *out)
{
    T *to = out + ((at[2] - task.lo[2]) * (task.hi[1] - task.lo[1]) + at[1] - task.lo[1]) * (task.hi[0] - task.lo[0]) +
            at[0] - task.lo[0];
    *to = sum + (task.add ? *to : (T)0);
}

/* Without `from` and `n`. */
template <typename T>
sum_task<T> make_task(const vf_cutoff *plan, const vf_box *box, bool add)
{
    const published_state *s = static_cast<const published_state *>(plan->state);
    sum_task<T> task = {};
    task.law = make_law<T>(plan, s->law);
    for (int a = 0; a < 3; a++) {
        task.spacing[a] = (T)plan->grid.spacing[a];
        task.lo[a] = box->lo[a];
        task.hi[a] = box->hi[a];
    }
    task.add = add;
    return task;
}

template <typename T>
atom<T> atom_of(const vf_cutoff *plan, int64_t i)
{
    const double *origin = plan->grid.origin;
    return {(T)(plan->x[i] - origin[0]), (T)(plan->y[i] - origin[1]), (T)(plan->z[i] - origin[2]), (T)plan->charge[i]};
}

/* ---- cutoff_sum_published.cu ---- */

/* The bin of charge i of the plan. */
int64_t published_bin(const vf_cutoff *plan, int64_t i);

/* first[b + 1]: the number of charges of bin b, for a caller that adds them up. NULL: no memory. */
int64_t *published_count(const vf_cutoff *plan, int64_t bins);

/* ---- cutoff_sum_large_bin.cu, cutoff_sum_small_bin.cu ---- */

/* Sorts the plan's charges. The queue's work is done afterwards. Errors: VF_ERR_MEMORY, VF_ERR_DEVICE,
 * VF_ERR_DEVICE_MEMORY; VF_ERR_UNSUPPORTED (too many places). */
vf_status large_create(vf_cutoff *plan, int64_t bins);
vf_status small_create(vf_cutoff *plan, vf_queue *queue, int64_t bins);

vf_status large_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out);
vf_status small_execute(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out);

void large_destroy(vf_cutoff *plan);
void small_destroy(vf_cutoff *plan);

} // namespace vf_cutoff_gpu

#endif
