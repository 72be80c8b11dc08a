/* Voxfield - the electrostatic potential of point charges on a regular grid, by one of several methods.
 *
 *     V(r) = C sum_i q_i g(r - r_i)        g: the potential of a unit charge, vf_pair_potential
 *
 * A method is a table (vf_potential_method): what it can do, what it costs, and how it is run. Programs choose one by
 * name or by cost and call the vf_potential_* functions below, which check every request against the table. A new
 * method is a new table in the list of potential.c; the tests then run it.
 *
 * A plan is made once for a device, a problem and a set of charges. What depends on the charges alone (sorting, a mesh)
 * is done then and shared by all boxes that are computed afterwards. A point's value does not depend on the box it is
 * computed in.
 *
 * Boundary: a grid without a cell (vf_grid.cell) means charges in free space, one with a cell charges and all their
 * periodic images.
 *
 * Lengths are in the grid's unit, charges in any unit, potentials in C's.
 */
#ifndef VOXFIELD_POTENTIAL_H
#define VOXFIELD_POTENTIAL_H

#include "coulomb_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the potential of one charge ---- */

typedef enum vf_pair_law {
    VF_PAIR_COULOMB,             /* g(d) = 1 / max(|d|, r_min) */
    VF_PAIR_DISTANCE_DIELECTRIC, /* g(d) = 1 / max(|d|, r_min)^2 */
    VF_PAIR_FUNCTION,            /* g(d) = value(state, d): any other, such as that of a charge and its images */
    VF_PAIR_LAWS
} vf_pair_law;

typedef struct vf_pair_potential {
    vf_pair_law law;
    double scale; /* C: finite */
    double r_min; /* >= VF_COULOMB_MIN_R_MIN; of a function: the least distance at which it is asked, beyond 0 */
    /* Of VF_PAIR_FUNCTION: called from several threads at a time; must be finite. `state` must outlive its users. */
    double (*value)(const void *state, const double d[3]);
    const void *state;
} vf_pair_potential;

/* C g(d). */
double vf_pair_value(const vf_pair_potential *pair, const double d[3]);

/* ---- problems ---- */

typedef struct vf_potential_problem {
    vf_grid grid;
    vf_pair_potential pair;
    vf_dtype precision;  /* VF_F32 or VF_F64: of the arithmetic and the values */
    double tolerance;    /* wanted: rms error over the grid / rms potential; 0: as exact as the precision allows */
    const char *variant; /* of the method; NULL: the device's default. Must outlive the problem. */
} vf_potential_problem;

/* What a plan takes, without the memory for its results. */
typedef struct vf_potential_estimate {
    char variant[32];      /* what would run */
    double evaluations;    /* of g over the whole grid, about */
    double seconds;        /* for the whole grid on this device alone */
    uint64_t host_bytes;   /* on the host */
    uint64_t device_bytes; /* on the device, if it has memory of its own */
} vf_potential_estimate;

/* ---- methods ---- */

typedef enum vf_potential_extent {
    VF_POTENTIAL_BOXES, /* any box of the grid, in any order */
    VF_POTENTIAL_WHOLE, /* only the whole grid at once */
} vf_potential_extent;

typedef struct vf_potential_method {
    const char *name;  /* "direct": what users ask for */
    const char *title; /* "direct sum": for reports */
    unsigned devices;  /* set of 1u << vf_device_kind */
    unsigned cells;    /* set of 1u << vf_cell_kind: the boundaries it knows; VF_CELL_NONE is free space */
    unsigned laws;     /* set of 1u << vf_pair_law: what it can sum */
    vf_potential_extent extent;
    double tolerance[2]; /* the smallest it can keep, by vf_dtype of the precision (VF_F32, VF_F64); 0: it is exact */

    /* The names of variants on a kind of device, the default first; NULL beyond the last. */
    const char *(*variant_name)(vf_device_kind kind, int index);

    /* Seconds on a typical device of a kind, from numbers alone: to choose before a device is started. Neither the
     * problem's grid nor its variant counts. */
    double (*expected_seconds)(const vf_potential_problem *problem, vf_device_kind kind, int threads, double charges,
                               double points);

    /* The same for this device, measured by running a small part of it. `maps`: how many such maps the device will
     * compute, which bounds the time worth spending on this. */
    vf_status (*estimate)(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                          double maps, vf_potential_estimate *out);

    /* A plan's state, NULL after an error. The charges may go afterwards. */
    vf_status (*create)(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                        void **state);
    vf_status (*compute)(const void *state, vf_queue *queue, const vf_box *box, void *out);
    void (*destroy)(void *state);              /* never called with NULL */
    const char *(*variant)(const void *state); /* what runs */

    /* The potential that this method gives one more charge of the problem, such as an ion placed on the map. */
    void (*pair)(const vf_potential_problem *problem, vf_pair_potential *out);
} vf_potential_method;

/* The methods there are; NULL beyond the last. */
const vf_potential_method *vf_potential_method_at(int index);

/* The method of a name; NULL for "auto", which leaves it to vf_potential_choose. `where` begins the message:
 * "--method". Errors: VF_ERR_ARGUMENT (the message lists all names). */
VF_MUST_CHECK vf_status vf_potential_method_named(vf_context *ctx, const char *where, const char *name,
                                                  const vf_potential_method **out);

/* Whether the method can solve the problem on a kind of device. Errors: VF_ERR_UNSUPPORTED (device, boundary, pair
 * potential or tolerance: the message says which), VF_ERR_ARGUMENT (NaN; out of range). */
VF_MUST_CHECK vf_status vf_potential_check(vf_context *ctx, const vf_potential_method *method,
                                           const vf_potential_problem *problem, vf_device_kind kind);

/* Of the methods that can solve the problem on a kind of device, the one that is expected to be the fastest for so many
 * charges. Errors: those of vf_potential_check for the first method, if none can. */
VF_MUST_CHECK vf_status vf_potential_choose(vf_context *ctx, const vf_potential_problem *problem, vf_device_kind kind,
                                            int64_t charges, const vf_potential_method **out);

/* ---- plans ---- */

typedef struct vf_potential vf_potential;

/* Makes a plan. Blocking. Errors: those of vf_potential_check; VF_ERR_ARGUMENT (charges out of range, a variant that
 * the message replaces by a list), VF_ERR_UNSUPPORTED, VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. *out is NULL
 * then. */
VF_MUST_CHECK vf_status vf_potential_create(vf_device *device, const vf_potential_method *method,
                                            const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                                            vf_potential **out);

/* Puts the potential over a box into the queue. `out`: memory of the queue's device (VF_SPACE_DEVICE),
 * vf_box_points(box) elements of the problem's precision, [z][y][x] of the box without padding, overwritten; must not
 * be read until the queue is synchronised. Asynchronous on a GPU, blocking on the CPU. Several queues of the plan's
 * device may run one plan at the same time. Errors: VF_ERR_ARGUMENT (the box is not inside the grid, or is not the
 * whole grid where the method needs that; a queue of another device), VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_potential_compute(const vf_potential *plan, vf_queue *queue, const vf_box *box, void *out);

/* NULL is allowed. Work in the queues must be done. */
void vf_potential_destroy(vf_potential *plan);

/* What runs: "avx512" where "simd" was asked for. */
const char *vf_potential_variant(const vf_potential *plan);

#ifdef __cplusplus
}
#endif
#endif
