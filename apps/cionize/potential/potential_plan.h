/* cionize: the plan of a map's computation, and the stage that computes it. */
#ifndef CIONIZE_POTENTIAL_PLAN_H
#define CIONIZE_POTENTIAL_PLAN_H

#include "cut_slabs.h"
#include "map_order.h"
#include "plan_grid.h"
#include "voxfield/ranks.h"

/* The plan: a map is computed in slabs along the file's slowest axis. */
typedef struct potential_plan {
    const vf_potential_method *method;
    vf_potential_problem problem;      /* the grid, C / dielectric, ... */
    map_order order;                   /* of the layers passed to the sink */
    slab_cut cut;                      /* of the layers */
    int64_t slabs;                     /* of the layers to compute */
    int64_t ranges;                    /* 0: all layers are to be computed */
    const layer_range *range;          /* [ranges] in order, apart from each other; not owned */
    int64_t listed;                    /* 0: the slabs follow from cut and ranges */
    const layer_range *list;           /* [listed] the slabs; not owned */
    vf_ranks *ranks;                   /* who share the slabs; NULL: this process computes them all */
    bool spare;                        /* devices were chosen automatically: those that fail to start are left out */
    int workers, slots;                /* queues of all devices; maximum number of slabs in memory */
    uint64_t host_bytes, device_bytes; /* memory for slabs: total on the host, and on each GPU */
    double evaluations;                /* of one map: atoms x points for the direct sum */
    double launch_points;              /* maximum of one GPU kernel */
    double seconds;                    /* for one map, estimated from a sample run on the device */
    double parallel;                   /* what `seconds` of one device is divided by */
    double preparing;                  /* part of `seconds`, 0 to 1, before the first value */
    bool follows_cells;                /* frames have cells of their own (periodic_frames.h) */
    int64_t maps;                      /* number of maps: frames of a trajectory */
    char variant[32];                  /* of the method */
    char device[640];                  /* the device, and the reason for an automatic choice */
} potential_plan;

/* The potential of one charge by the settings, without a cell. */
vf_pair_potential potential_pair(const cionize_settings *settings);

/* Sets plan->problem to the problem of the settings on a grid, and plan->method to the requested method or the
 * fastest one for this kind of device. Errors: those of vf_potential_check. */
VF_MUST_CHECK vf_status potential_choose_method(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                                const vf_grid *grid, vf_device_kind kind, potential_plan *plan);

/* Starts the GPUs that are requested, or that "auto" may choose for a molecule with a file of this size
 * (vf_device_warm_up). Call it before reading the molecule. */
void potential_warm_up(vf_context *ctx, const cionize_settings *settings, double file_bytes);

/* Chooses the method and the device (settings->device; "auto" considers the work of this many maps, >= 1), measures
 * a small sample of the work on it, and plans slabs of one map that fit in memory; or one slab, if the method can
 * only compute the whole grid. Errors: VF_ERR_DEVICE, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_ARGUMENT,
 * VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                          const vf_grid *grid, map_order order, int64_t maps, potential_plan *plan);

/* ---- compute_potential.c ---- */

/* Cuts slabs for so many ranks: thinner towards the end, so that all end together, but not so thin that handing them out takes
 * long. */
void potential_cut_for_ranks(potential_plan *plan, int ranks);

/* The slabs that potential_compute will compute. free() the result. NULL: no memory. */
layer_range *potential_slabs(const potential_plan *plan, int64_t *count);

/* Computes the map, or the plan's ranges of it, and passes the layers, in order, from the calling thread (see
 * map_format.write). Failing devices
 * are given up (vf_device_give_up) while others are left. slabs_done: [the context's devices] slabs that each has
 * computed. */
typedef vf_status (*potential_sink)(void *user, int64_t first, int64_t count, const void *values);
VF_MUST_CHECK vf_status potential_compute(vf_context *ctx, const molecule *mol, const potential_plan *plan,
                                          potential_sink sink, void *user, int64_t *slabs_done);

#endif
