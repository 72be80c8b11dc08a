/* The interface of the Coulomb sum's backends, and the contents of a plan; not installed. */
#ifndef VOXFIELD_COULOMB_SUM_BACKEND_H
#define VOXFIELD_COULOMB_SUM_BACKEND_H

#include "backend/variants.h"
#include "coulomb_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_coulomb_backend {
    vf_variants variants;
    /* Makes plan->state from the rest of the plan; may set plan->variant to the actual one. */
    vf_status (*create)(vf_coulomb *plan);
    vf_status (*execute)(const vf_coulomb *plan, vf_queue *queue, const vf_box *box, void *out);
    void (*destroy)(vf_coulomb *plan);
} vf_coulomb_backend;

struct vf_coulomb {
    const vf_coulomb_backend *backend;
    vf_device *device;
    vf_grid grid;
    vf_coulomb_options options;
    const char *variant;
    int64_t atoms;
    double *x, *y, *z, *charge; /* [atoms] host copies; the charge times options.scale */
    void *state;                /* the backend's own */
};

extern const vf_coulomb_backend vf_coulomb_ref, vf_coulomb_cpu, vf_coulomb_cuda, vf_coulomb_dcs, vf_coulomb_opencl;

/* The position of grid point n along an axis. All backends use this, for any box. */
static inline double vf_coulomb_position(const vf_grid *grid, int axis, int64_t n)
{
    return grid->origin[axis] + grid->spacing[axis] * (double)n;
}

#ifdef __cplusplus
}
#endif
#endif
