/* The interface of the backends of the singular value thresholds, the contents of a plan, and where blocks lie; not
 * installed. */
#ifndef VOXFIELD_LOW_RANK_BACKEND_H
#define VOXFIELD_LOW_RANK_BACKEND_H

#include "low_rank.h"

#ifdef __CUDACC__
#define LOW_RANK_HOST_DEVICE __host__ __device__
#else
#define LOW_RANK_HOST_DEVICE
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct low_rank_grid {
    int64_t counts[3], block[3], blocks[3]; /* block: at most counts; blocks: their number along each axis */
    int64_t voxels, frames, all_blocks;
    int64_t shift[3]; /* 0 to counts - 1 */
} low_rank_grid;

/* A task for a backend: the threshold, or the norm if z is NULL. */
typedef struct low_rank_task {
    low_rank_grid grid;
    double threshold;
    const void *v;
    void *z;
    double *sum; /* of the norm, 0 on entry */
} low_rank_task;

typedef struct vf_low_rank_backend {
    vf_device_kind kind;
    /* Makes plan->state from the rest of the plan, and sets plan->bytes. If it fails and plan->state is set, `destroy`
     * is called. */
    vf_status (*create)(vf_low_rank *plan);
    vf_status (*execute)(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task);
    void (*destroy)(vf_low_rank *plan);
} vf_low_rank_backend;

struct vf_low_rank {
    const vf_low_rank_backend *backend;
    const char *variant;
    vf_device *device;
    vf_dtype type;
    low_rank_grid grid; /* with shift 0 */
    int side;           /* the largest shorter side of a block */
    /* A Gram matrix is the sum of those of `segments` pieces of at most `segment` elements of the longer side, so that
     * few large blocks still give work to all threads. Both depend on the grid alone, and so do the bits. */
    int segments;
    int64_t segment;
    int batch; /* blocks whose matrices are in memory at a time */
    int64_t bytes;
    void *state; /* the backend's own */
};

extern const vf_low_rank_backend vf_low_rank_ref, vf_low_rank_cpu, vf_low_rank_cuda, vf_low_rank_opencl;

/* From the Gram matrix to P = V diag(max(0, 1 - t / s_i)) V^H, in place: gram[k][k], double complex, Hermitian.
 * `vectors`: [k][k], double complex, and `values`: [k] are scratch. */
void low_rank_weigh(int k, double threshold, void *gram, void *vectors, double *values);

/* The sum of the singular values; overwrites gram. NaN if the matrix is not finite. */
double low_rank_sum(int k, void *gram, void *vectors, double *values);

/* ---- where blocks lie ---- */

/* The matrix of a block as [longer side][shorter side]; `turned` if its voxels are the shorter side. */
typedef struct low_rank_block {
    int64_t first[3], extent[3]; /* the first voxel, and voxels along each axis */
    int64_t longer;
    int shorter;
    bool turned;
} low_rank_block;

LOW_RANK_HOST_DEVICE static inline low_rank_block low_rank_block_at(const low_rank_grid *g, int64_t number)
{
    low_rank_block b;
    int64_t voxels = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t start = number % g->blocks[a] * g->block[a];
        number /= g->blocks[a];
        b.extent[a] = g->counts[a] - start < g->block[a] ? g->counts[a] - start : g->block[a];
        b.first[a] = (start + g->shift[a]) % g->counts[a];
        voxels *= b.extent[a];
    }
    b.turned = voxels < g->frames;
    b.longer = b.turned ? g->frames : voxels;
    b.shorter = (int)(b.turned ? voxels : g->frames);
    return b;
}

/* The index in the grid of a voxel of a block. */
LOW_RANK_HOST_DEVICE static inline int64_t low_rank_voxel(const low_rank_grid *g, const low_rank_block *b,
                                                          int64_t voxel)
{
    int64_t index = 0, step = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = b->first[a] + voxel % b->extent[a];
        voxel /= b->extent[a];
        index += step * (n < g->counts[a] ? n : n - g->counts[a]);
        step *= g->counts[a];
    }
    return index;
}

/* Element (i, j) of a block's matrix, i along the longer side, is at low_rank_longer(i) + low_rank_shorter(j) of the
 * series. */
LOW_RANK_HOST_DEVICE static inline int64_t low_rank_longer(const low_rank_grid *g, const low_rank_block *b, int64_t i)
{
    return b->turned ? i * g->voxels : low_rank_voxel(g, b, i);
}

LOW_RANK_HOST_DEVICE static inline int64_t low_rank_shorter(const low_rank_grid *g, const low_rank_block *b, int64_t j)
{
    return b->turned ? low_rank_voxel(g, b, j) : j * g->voxels;
}

#ifdef __cplusplus
}
#endif
#endif
