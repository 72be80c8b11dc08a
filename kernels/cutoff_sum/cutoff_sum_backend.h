/* The interface of the cutoff sum's backends, and the contents of a plan; not installed. */
#ifndef VOXFIELD_CUTOFF_SUM_BACKEND_H
#define VOXFIELD_CUTOFF_SUM_BACKEND_H

#include "backend/variants.h"
#include "cutoff_sum.h"
#include "prolate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_cutoff_backend {
    vf_variants variants;
    /* Makes plan->state from the rest of the plan; may set plan->variant to the actual one. */
    vf_status (*create)(vf_cutoff *plan);
    vf_status (*execute)(const vf_cutoff *plan, vf_queue *queue, const vf_box *box, bool add, void *out);
    void (*destroy)(vf_cutoff *plan);
} vf_cutoff_backend;

/* The factor of 1 / s, s = max(r, r_min): (1 - v)^2 (a + b v), v = max((s / rc)^2, on). */
typedef struct vf_cutoff_window {
    bool used; /* else it is 1 */
    double on, a, b;
} vf_cutoff_window;

struct vf_cutoff {
    const vf_cutoff_backend *backend;
    vf_device *device;
    vf_grid grid;
    vf_cutoff_options options;
    const char *variant;
    vf_prolate psi; /* of a split */
    vf_cutoff_window window;
    /* For the time of create: the caller's charges; or, on a GPU, x, y, z and charge of `count` ones in its memory. */
    const vf_coulomb_atoms *source;
    const double *loaded;
    vf_queue *queue;            /* with loaded charges: where they are, and where the plan's work goes */
    int64_t count;              /* charges and images within the cutoff of the grid's box */
    double *x, *y, *z, *charge; /* [count]; the charge times options.scale; a backend may copy them, and free them */
    int64_t overflow;           /* set by backends whose bins have a capacity */
    uint64_t bytes;
    void *state; /* the backend's own */
};

/* Calls `take` for each image, within the cutoff of the grid's box, of charges begin <= n < end of `source`, in a fixed
 * order: i counts from 0; the charge is multiplied by options.scale. Returns their number. During create. */
typedef void vf_cutoff_take(void *user, int64_t i, const double position[3], double charge);
int64_t vf_cutoff_images(const vf_cutoff *plan, int64_t begin, int64_t end, vf_cutoff_take *take, void *user);

/* Sets count, x, y, z and charge from `source`. */
VF_MUST_CHECK vf_status vf_cutoff_copy_charges(vf_cutoff *plan);

/* S(r) in double precision. */
double vf_cutoff_plan_value(const vf_cutoff *plan, double r);

/* What is subtracted from the window's part, as a polynomial: the smooth part of a split; else of degree 0. */
void vf_cutoff_fit(const vf_cutoff *plan, double accuracy, vf_prolate_powers *out);

/* The smooth part of a split without a plan: of psi, or of Gaussian charges if sigma > 0; psi is not used then. */
void vf_cutoff_fit_law(const vf_prolate *psi, double cutoff, double sigma, double accuracy, vf_prolate_powers *out);

/* As vf_cutoff_create without a cell, for charges in the memory of a GPU that have been checked: x, y, z and charge,
 * each [count]. Puts its work into the queue and does not wait: the charges must last until it is done. */
VF_MUST_CHECK vf_status vf_cutoff_create_loaded(vf_queue *queue, const vf_grid *grid, int64_t count,
                                                const double *loaded, const vf_cutoff_options *options,
                                                vf_cutoff **out);

extern const vf_cutoff_backend vf_cutoff_ref, vf_cutoff_cpu, vf_cutoff_scatter, vf_cutoff_cuda, vf_cutoff_published,
    vf_cutoff_opencl;

#ifdef __cplusplus
}
#endif
#endif
