/* The inside of stencils: the plan, and the interface of backends; not installed. */
#ifndef VOXFIELD_STENCIL_PLAN_H
#define VOXFIELD_STENCIL_PLAN_H

#include "backend/variants.h"
#include "voxfield/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One pass over the grid, which is not empty: y = A x, or with b a sweep of Jacobi's method. */
typedef struct vf_stencil_pass {
    const void *x, *b; /* b: NULL without a sweep */
    void *y;
    double omega; /* rounded to the type, like the plan's coefficients */
} vf_stencil_pass;

typedef struct vf_stencil_ops {
    vf_variants variants;
    vf_status (*create)(vf_stencil *plan, const char *variant); /* sets plan->state, also for an empty grid */
    void (*destroy)(vf_stencil *plan);                          /* also after a create that failed */
    vf_status (*run)(const vf_stencil *plan, vf_queue *queue, const vf_stencil_pass *pass);
} vf_stencil_ops;

struct vf_stencil {
    vf_device *device;
    const vf_stencil_ops *ops;
    vf_dtype type;
    int64_t counts[3], points;
    bool periodic[3], variable;
    double centre, axis[3]; /* constant coefficients */
    double diagonal;        /* of A, with constant coefficients */
    double weights[3];      /* variable: 1 / spacing^2; 0 along periodic axes of one point, where differences are 0 */
    const void *faces[3], *reaction;
    bool wide;   /* on a GPU, 64-bit indices for any grid, not only for large ones: for tests */
    void *state; /* the backend's own */
};

extern const vf_stencil_ops vf_stencil_ops_cpu, vf_stencil_ops_ref, vf_stencil_ops_cuda;

/* The neighbours of the point with index i of n along an axis: their distance, in points, if there are such. A point of
 * a periodic axis always has both, maybe itself. */
typedef struct vf_stencil_steps {
    int64_t low, high;
    bool has_low, has_high;
} vf_stencil_steps;

#ifdef __CUDACC__
#define VF_STENCIL_FUNCTION __host__ __device__ static inline
#else
#define VF_STENCIL_FUNCTION static inline
#endif

VF_STENCIL_FUNCTION vf_stencil_steps vf_stencil_steps_of(int64_t i, int64_t n, bool periodic)
{
    vf_stencil_steps s;
    s.has_low = i > 0 || periodic;
    s.has_high = i + 1 < n || periodic;
    s.low = i > 0 ? -1 : periodic ? n - 1 : 0;
    s.high = i + 1 < n ? 1 : periodic ? 1 - n : 0;
    return s;
}

/* How many faces there are along an axis of n points. The face above point i of a periodic axis's last point is face
 * 0. */
VF_STENCIL_FUNCTION int64_t vf_stencil_faces(int64_t n, bool periodic)
{
    return n + (periodic ? 0 : 1);
}

#ifdef __cplusplus
}
#endif
#endif
