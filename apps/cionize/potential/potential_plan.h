/* cionize: how a map is computed, and the stage that does it. */
#ifndef CIONIZE_POTENTIAL_PLAN_H
#define CIONIZE_POTENTIAL_PLAN_H

#include "cut_slabs.h"
#include "maps/map_order.h"
#include "plan_grid.h"

/* How a map is computed: in slabs along the file's slowest axis. */
typedef struct potential_plan {
    const vf_potential_method *method;
    vf_potential_problem problem;      /* the grid, C / dielectric, ... */
    map_order order;                   /* of the layers handed on */
    slab_cut cut;                      /* of the layers */
    int64_t slabs;                     /* slab_count(&cut) */
    bool spare;                        /* devices were chosen here: any that fail to start are left out */
    int workers, slots;                /* queues over all devices; slabs in memory at a time */
    uint64_t host_bytes, device_bytes; /* memory for slabs: in all, and on each GPU */
    double evaluations;                /* of one map: atoms x points for the direct sum */
    double launch_points;              /* of one GPU kernel at most */
    double seconds;                    /* of one map, estimated from a sample run on the device */
    int64_t maps;                      /* so many are computed: frames of a trajectory */
    char variant[32];                  /* what runs */
    char device[640];                  /* on what, and why if that was chosen here */
} potential_plan;

/* The problem that the settings pose on a grid, and the method: the one asked for, or the fastest on a kind of device
 * that solves it. Sets plan->problem and plan->method. Errors: those of vf_potential_check. */
VF_MUST_CHECK vf_status potential_choose_method(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                                const vf_grid *grid, vf_device_kind kind, potential_plan *plan);

/* Begins to start the GPUs that are asked for, or that "auto" might choose for a molecule whose file has so many bytes
 * (vf_device_warm_up): to be called before the molecule is read. */
void potential_warm_up(vf_context *ctx, const cionize_settings *settings, double file_bytes);

/* Chooses the method and the device (settings->device; "auto" weighs the work of so many maps, >= 1), measures how fast
 * a small sample of the work runs on it, and plans slabs of one map that fit the memory; or one slab, for a method that
 * computes only the whole grid. Errors: VF_ERR_DEVICE, VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_ARGUMENT,
 * VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status potential_prepare(vf_context *ctx, const cionize_settings *settings, const molecule *mol,
                                          const vf_grid *grid, map_order order, int64_t maps, potential_plan *plan);

/* ---- compute_potential.c ---- */

/* Computes the map and hands its layers on, in order, from the calling thread (see map_format.write). Devices that
 * fail are given up (vf_device_give_up) while others are left. slabs_done: [the context's devices] how many each has
 * computed. */
typedef vf_status (*potential_sink)(void *user, int64_t first, int64_t count, const void *values);
VF_MUST_CHECK vf_status potential_compute(vf_context *ctx, const molecule *mol, const potential_plan *plan,
                                          potential_sink sink, void *user, int64_t *slabs_done);

#endif
