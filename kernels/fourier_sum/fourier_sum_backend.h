/* The interface of the Fourier sum's backends, and the contents of a plan; not installed. */
#ifndef VOXFIELD_FOURIER_SUM_BACKEND_H
#define VOXFIELD_FOURIER_SUM_BACKEND_H

#include "backend/variants.h"
#include "fourier_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_fourier_backend {
    vf_variants variants;
    /* Makes plan->state from the rest of the plan; may set plan->variant to the actual one. */
    vf_status (*create)(vf_fourier *plan);
    vf_status (*adjoint)(const vf_fourier *plan, vf_queue *queue, int batch, const void *c, int64_t first,
                         int64_t count, void *y);
    vf_status (*forward)(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c);
    void (*destroy)(vf_fourier *plan);
} vf_fourier_backend;

/* Points of k-space and time, or of space and frequency. A pair has the phase x x' + y y' + z z' + w w', in turns. */
typedef struct vf_fourier_points {
    const double *x, *y, *z, *w; /* w: s or Hz; NULL if there is no off-resonance */
} vf_fourier_points;

/* Limits of vf_fourier_tuning. */
enum {
    VF_FOURIER_LEAST_THREADS = 32,
    VF_FOURIER_MOST_THREADS = 1024,
    VF_FOURIER_THREAD_STEP = 32,
    VF_FOURIER_LEAST_CHUNK = 16,
    VF_FOURIER_MOST_UNROLL = 16
};

/* The steps whose shapes were searched: "tuned-structs" and "bank-4". */
typedef enum vf_fourier_tuned_step {
    VF_FOURIER_STRUCTS,
    VF_FOURIER_BANK_4,
    VF_FOURIER_TUNED_STEPS
} vf_fourier_tuned_step;

/* The tuning for a compute capability; {0, 0} is for all others. */
typedef struct vf_fourier_tuning_row {
    int capability[2];                                   /* major, minor */
    vf_fourier_tuning shapes[VF_FOURIER_TUNED_STEPS][2]; /* [step][vf_trig] */
} vf_fourier_tuning_row;

struct vf_fourier {
    const vf_fourier_backend *backend;
    vf_device *device;
    vf_fourier_options options;
    const char *variant;
    int most_batch;
    int64_t samples, voxels;
    bool has_grid, has_field;
    vf_grid grid;
    double *sample_block;     /* owns k and time */
    double *voxel_block;      /* owns positions and field; NULL if the grid alone is enough */
    vf_fourier_points k;      /* [samples] */
    vf_fourier_points r;      /* [voxels]; x, y, z are NULL with a grid */
    void *state;              /* the backend's own */
    vf_fourier_tuning tuning; /* of GPU steps */
    int most_chunk;           /* of GPU steps whose tuning can be set, else 0 */
    int capability[2];        /* of GPU steps whose tuning is from the table, else 0 */
};

extern const vf_fourier_backend vf_fourier_ref, vf_fourier_cpu, vf_fourier_cuda, vf_fourier_opencl;

/* The tuning for a GPU of this compute capability, from fourier_sum_tuning.h. */
vf_fourier_tuning vf_fourier_find_tuning(const int capability[2], vf_fourier_tuned_step step, vf_trig trig);

/* The shapes that a search tries, by number: every combination of threads and chunks that are powers of two (and
 * most_chunk) with every unrolling. False beyond the last. */
bool vf_fourier_tuning_combination(int number, int most_chunk, vf_fourier_tuning *shape);

/* The usual start of a search: 256 threads, chunks of 4,096 samples or the most, no unrolling. */
vf_fourier_tuning vf_fourier_usual_tuning(int most_chunk);

/* Changes the tuning of a plan for "registers", a step named after structs or arrays, or "bank-4", between executions;
 * for benchmarks, the tuning program and tests. In double precision only "bank-4" unrolls. Errors: VF_ERR_ARGUMENT (out
 * of range), VF_ERR_UNSUPPORTED (another variant); the plan is unchanged then. */
VF_MUST_CHECK vf_status vf_fourier_set_tuning(vf_fourier *plan, const vf_fourier_tuning *tuning);

/* The position of voxel n, for all backends; at[3] is the off-resonance. */
static inline void vf_fourier_voxel(const vf_fourier *plan, int64_t n, double at[4])
{
    const vf_grid *g = &plan->grid;
    at[3] = plan->has_field ? plan->r.w[n] : 0;
    if (!plan->has_grid) {
        at[0] = plan->r.x[n];
        at[1] = plan->r.y[n];
        at[2] = plan->r.z[n];
        return;
    }
    at[0] = g->origin[0] + g->spacing[0] * (double)(n % g->counts[0]);
    at[1] = g->origin[1] + g->spacing[1] * (double)(n / g->counts[0] % g->counts[1]);
    at[2] = g->origin[2] + g->spacing[2] * (double)(n / g->counts[0] / g->counts[1]);
}

#ifdef __cplusplus
}
#endif
#endif
